/* SPDX-License-Identifier: Apache-2.0 */
/* `fluss append db.t < rows.jsonl`: one JSON object a line; into a table with primary key it
 * upserts. Stops at the first line that is refused, after sending those before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "remote.h"
#include "values.h"

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
    size_t column_count;
    const char **names;
    cli_type *types;
    fluss_datum_t *row;
    cli_pool *pool;
    int64_t row_count;
} appender;

static fluss_code_t open_columns(appender *app)
{
    const fluss_schema_t *schema = fluss_table_info(app->table)->schema;
    const size_t count = fluss_schema_columns(schema);
    app->names = calloc(count, sizeof(*app->names));
    app->types = calloc(count, sizeof(*app->types));
    app->row = calloc(count, sizeof(*app->row));
    app->pool = cli_pool_new();
    if (app->names == NULL || app->types == NULL || app->row == NULL || app->pool == NULL) {
        (void)snprintf(app->remote.err.message, sizeof(app->remote.err.message), "out of memory");
        return FLUSS_E_CLIENT;
    }
    for (size_t i = 0; i < count; i++) {
        const char *type;
        if (fluss_schema_column(schema, i, &app->names[i], &type, NULL) != 0 ||
            !cli_type_parse(type, &app->types[i])) {
            (void)snprintf(app->remote.err.message, sizeof(app->remote.err.message),
                           "column %zu has a type that this version does not know", i);
            return FLUSS_E_CLIENT;
        }
        app->column_count++;
    }
    return 0;
}

static fluss_code_t open_writer(appender *app, fluss_path_t path)
{
    cli_remote *remote = &app->remote;
    fluss_code_t rc = fluss_await_table(fluss_open_table(remote->conn, path), remote->timeout_ms,
                                        &app->table, &remote->err);
    if (rc == 0) {
        rc = open_columns(app);
    }
    if (rc == 0) {
        app->upserts = fluss_table_info(app->table)->n_primary_keys != 0;
        rc = app->upserts ? fluss_upsert_open(app->table, NULL, &app->writer, &remote->err)
                          : fluss_append_open(app->table, &app->writer, &remote->err);
    }
    return rc;
}

/* A key that is no column is a mistake, and would be lost silently. */
static fluss_code_t check_keys(const appender *app, json_t *object, fluss_error_t *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (i < app->column_count && strcmp(app->names[i], key) != 0) {
            i++;
        }
        if (i == app->column_count) {
            (void)snprintf(err->message, sizeof(err->message), "the table has no column '%s'", key);
            return FLUSS_E_CLIENT;
        }
    }
    return 0;
}

static void name_column(fluss_error_t *err, const char *name)
{
    const fluss_error_t inner = *err;
    (void)snprintf(err->message, sizeof(err->message), "column '%.100s': %.800s", name,
                   inner.message);
}

static fluss_code_t append_object(appender *app, json_t *object)
{
    fluss_error_t *err = &app->remote.err;
    fluss_code_t rc = check_keys(app, object, err);
    for (size_t i = 0; rc == 0 && i < app->column_count; i++) {
        rc = cli_value_from_json(json_object_get(object, app->names[i]), &app->types[i], app->pool,
                                 &app->row[i], err);
        if (rc != 0) {
            name_column(err, app->names[i]);
        }
    }
    if (rc == 0) {
        rc = app->upserts ? fluss_upsert(app->writer, app->row, app->column_count, NULL, err)
                          : fluss_append(app->writer, app->row, app->column_count, NULL, err);
    }
    cli_pool_reset(app->pool);
    return rc;
}

static fluss_code_t append_line(appender *app, const char *line, size_t size)
{
    json_error_t wrong;
    if (memchr(line, '\0', size) != NULL) {
        (void)snprintf(app->remote.err.message, sizeof(app->remote.err.message),
                       "no JSON object: a zero byte in the line");
        return FLUSS_E_CLIENT;
    }
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &wrong);
    if (!json_is_object(object)) {
        (void)snprintf(app->remote.err.message, sizeof(app->remote.err.message),
                       "no JSON object: %s at column %d", object == NULL ? wrong.text : "an array",
                       object == NULL ? wrong.column : 1);
        json_decref(object);
        return FLUSS_E_CLIENT;
    }
    const fluss_code_t rc = append_object(app, object);
    json_decref(object);
    return rc;
}

/* All lines of standard input; then whatever was queued is sent, also when a line was refused. */
static int append_all(appender *app)
{
    char *line = NULL;
    size_t capacity = 0;
    int64_t line_number = 0;
    int status = CLI_OK;
    ssize_t size;
    while (status == CLI_OK && (size = getline(&line, &capacity, stdin)) >= 0) {
        line_number++;
        if (strspn(line, " \t\r\n") == (size_t)size) {
            continue;
        }
        if (append_line(app, line, (size_t)size) != 0) {
            (void)fprintf(stderr, "fluss append: line %lld: %s\n", (long long)line_number,
                          app->remote.err.message);
            status = CLI_FAILED;
        } else {
            app->row_count++;
        }
    }
    free(line);
    if (status == CLI_OK && ferror(stdin) != 0) {
        (void)fprintf(stderr, "fluss append: standard input can't be read\n");
        status = CLI_FAILED;
    }
    if (fluss_await(fluss_flush(app->writer), app->remote.timeout_ms, &app->remote.err) != 0) {
        return cli_fail(&app->remote);
    }
    (void)fprintf(stderr, "%lld rows %s\n", (long long)app->row_count,
                  app->upserts ? "upserted" : "appended");
    return status;
}

static void close_columns(appender *app)
{
    for (size_t i = 0; i < app->column_count; i++) {
        cli_type_deinit(&app->types[i]);
    }
    free(app->names);
    free(app->types);
    free(app->row);
    cli_pool_free(app->pool);
}

int cmd_append(int argc, char **argv)
{
    static const struct option options[] = {CLI_REMOTE_OPTIONS};
    appender app = {0};
    cli_begin(&app.remote, argv, usage);
    int option;
    while ((option = getopt_long(argc, argv, "s:j", options, NULL)) != -1) {
        const int status = cli_option(&app.remote, option);
        if (status != -1) {
            return status;
        }
    }
    fluss_path_t path;
    if (argc - optind != 1 || !cli_parse_path(argv[optind], &path)) {
        return cli_usage(&app.remote, "one argument is wanted, DATABASE.TABLE");
    }
    int status = cli_connect(&app.remote);
    if (status == CLI_OK) {
        status = open_writer(&app, path) == 0 ? append_all(&app) : cli_fail(&app.remote);
    }
    fluss_writer_free(app.writer);
    close_columns(&app);
    fluss_table_free(app.table);
    return cli_end(&app.remote, status);
}
