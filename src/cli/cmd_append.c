/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss append db.t < rows.jsonl`: one JSON object a line; into a table with primary key it
 * upserts. Stops at the first line that is refused, after sending those before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "interrupt.h"
#include "lines.h"
#include "remote.h"
#include "row_json.h"

static const char usage[] =
    "usage: fluss append DATABASE.TABLE [OPTION …] < ROWS\n"
    "\n"
    "Append rows to a log table, or upsert them into a table with primary key. ROWS is one JSON\n"
    "object a line, with column names as keys; a column that is left out is null. Bytes are in\n"
    "base64, decimals in strings, times like 2026-06-01T12:30:00 (with Z for TIMESTAMP_LTZ).\n"
    "\n" CLI_REMOTE_USAGE;

typedef struct appender {
    cli_remote remote;
    fluss_table_t *table;
    fluss_writer_t *writer;
    bool upserts;
    cli_columns columns;
    int64_t row_count;
} appender;

static fluss_code_t open_writer(appender *app, fluss_path_t path)
{
    cli_remote *remote = &app->remote;
    fluss_code_t rc = fluss_await_table(fluss_open_table(remote->conn, path), remote->timeout_ms,
                                        &app->table, &remote->err);
    if (rc == 0) {
        rc = cli_columns_open(&app->columns, fluss_table_info(app->table)->schema, NULL, 0,
                              &remote->err);
    }
    if (rc == 0) {
        app->upserts = fluss_table_info(app->table)->n_primary_keys != 0;
        rc = app->upserts ? fluss_upsert_open(app->table, NULL, &app->writer, &remote->err)
                          : fluss_append_open(app->table, &app->writer, &remote->err);
    }
    return rc;
}

static fluss_code_t append_line(appender *app, const char *line, size_t size)
{
    fluss_error_t *err = &app->remote.err;
    cli_columns *columns = &app->columns;
    json_t *object = cli_row_parse(line, size, err);
    fluss_code_t rc = object != NULL ? cli_row_read(columns, object, err) : FLUSS_E_CLIENT;
    if (rc == 0) {
        rc = app->upserts ? fluss_upsert(app->writer, columns->row, columns->count, NULL, err)
                          : fluss_append(app->writer, columns->row, columns->count, NULL, err);
    }
    json_decref(object);
    return rc;
}

/* All lines of standard input; then whatever was queued is sent, also when a line was refused or a
 * signal ended the input. */
static int append_all(appender *app)
{
    cli_lines lines = {0};
    fluss_error_t *err = &app->remote.err;
    int status = CLI_OK;
    cli_interrupt_catch();
    while (status == CLI_OK && cli_lines_next(&lines, err)) {
        if (append_line(app, lines.text, lines.size) == 0) {
            app->row_count++;
        } else {
            cli_lines_blame(&lines, err);
            status = cli_fail(&app->remote);
        }
    }
    if (status == CLI_OK && err->code != 0) {
        status = cli_fail(&app->remote);
    }
    cli_lines_close(&lines);
    if (fluss_await(fluss_flush(app->writer), app->remote.timeout_ms, &app->remote.err) != 0) {
        return cli_fail(&app->remote);
    }
    (void)fprintf(stderr, "%lld rows %s\n", (long long)app->row_count,
                  app->upserts ? "upserted" : "appended");
    return status;
}

int cmd_append(int argc, char **argv)
{
    appender app = {0};
    cli_begin(&app.remote, argv, usage);
    int status = cli_read_options(&app.remote, argc, argv);
    if (status != -1) {
        return status;
    }
    fluss_path_t path;
    if (argc - optind != 1 || !cli_parse_path(argv[optind], &path)) {
        return cli_usage(&app.remote, "one argument is wanted, DATABASE.TABLE");
    }
    status = cli_connect(&app.remote);
    if (status == CLI_OK) {
        status = open_writer(&app, path) == 0 ? append_all(&app) : cli_fail(&app.remote);
    }
    fluss_writer_free(app.writer);
    cli_columns_close(&app.columns);
    fluss_table_free(app.table);
    return cli_end(&app.remote, status);
}
