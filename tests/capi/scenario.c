/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a client that torture programs repeat with one failure each; see scenario.h. A step
 * that fails ends it; what is open is released in the order of its making. */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_MS = 8000, POLL_MS = 3000, ROWS = 5, LIVES_MAX = 65536 };

static const fluss_path_t log_path = {"fluss", "scenario_log"};
static const fluss_path_t key_path = {"fluss", "scenario_keys"};

/* The number of a life is in its rows. */
static int lives;
static bool is_acknowledged[LIVES_MAX];

typedef struct life {
    const char *servers;
    char number[16];
    fluss_config_t *config;
    fluss_conn_t *conn;
    fluss_schema_t *schema;
    fluss_desc_t *desc;
    fluss_table_t *log, *keyed;
    fluss_writer_t *appender, *upserter;
    fluss_lookup_t *lookup;
    fluss_scanner_t *scanner, *reader;
    fluss_pred_t *filter;
    fluss_position_t start; /* of this life's rows */
    fluss_error_t *err;
} life;

void scenario_prepare(const char *servers)
{
    fluss_conn_t *conn = connect_to(servers);
    fluss_table_free(make_table(conn, log_path.table, "id INT, name STRING", NULL, NULL));
    fluss_table_free(make_table(conn, key_path.table, "id INT, name STRING", "id", NULL));
    fluss_conn_free(conn);
}

static fluss_code_t not_expected(fluss_error_t *err, const char *what)
{
    err->code = FLUSS_E_CLIENT;
    err->kind = FLUSS_KIND_CORRUPT;
    (void)snprintf(err->message, sizeof(err->message), "WRONG: %s", what);
    return FLUSS_E_CLIENT;
}

/* A constructor that answers NULL when memory is out. */
static fluss_code_t made(const void *object, fluss_error_t *err)
{
    if (object != NULL) {
        return 0;
    }
    *err = (fluss_error_t){.code = FLUSS_E_CLIENT, .kind = FLUSS_KIND_NOMEM, .message = "NULL"};
    return FLUSS_E_CLIENT;
}

static fluss_code_t join_cluster(life *l)
{
    static const fluss_kv_t settings[] = {{"request-timeout", "4000"},
                                          {"writer.retries", "5"},
                                          {"lookup.max-retries", "5"},
                                          {"scanner.log.fetch.wait-max-time-ms", "50"}};
    l->config = fluss_config_new();
    fluss_code_t rc = made(l->config, l->err);
    rc = rc != 0 ? rc : fluss_config_set(l->config, "bootstrap.servers", l->servers, l->err);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]) && rc == 0; i++) {
        rc = fluss_config_set(l->config, settings[i].key, settings[i].value, l->err);
    }
    rc = rc != 0 ? rc : fluss_await_conn(fluss_connect(l->config), STEP_MS, &l->conn, l->err);
    return rc;
}

static fluss_code_t create(life *l)
{
    l->schema = fluss_schema_new();
    fluss_code_t rc = made(l->schema, l->err);
    rc = rc != 0 ? rc : fluss_schema_add(l->schema, "id", "INT", NULL, l->err);
    rc = rc != 0 ? rc : fluss_schema_add(l->schema, "name", "STRING", "of it", l->err);
    rc = rc != 0 ? rc : fluss_desc_new(l->schema, NULL, &l->desc, l->err);
    rc = rc != 0 ? rc
                 : fluss_await(fluss_create_table(l->conn, log_path, l->desc, FLUSS_IF_NOT_EXISTS),
                               STEP_MS, l->err);
    rc = rc != 0 ? rc
                 : fluss_await_table(fluss_open_table(l->conn, log_path), STEP_MS, &l->log, l->err);
    rc = rc != 0
             ? rc
             : fluss_await_table(fluss_open_table(l->conn, key_path), STEP_MS, &l->keyed, l->err);
    return rc;
}

static fluss_code_t append(life *l)
{
    fluss_code_t rc = fluss_append_open(l->log, &l->appender, l->err);
    for (int32_t i = 0; i < ROWS && rc == 0; i++) {
        rc = fluss_append(l->appender, FLUSS_ROW(fluss_int(i), fluss_str(l->number)), NULL, l->err);
    }
    fluss_future_t *ack = NULL;
    fluss_ack_t where;
    rc = rc != 0 ? rc
                 : fluss_append(l->appender, FLUSS_ROW(fluss_int(ROWS), fluss_str(l->number)), &ack,
                                l->err);
    rc = rc != 0 ? rc : fluss_await_ack(ack, STEP_MS, &where, l->err);
    rc = rc != 0 ? rc : fluss_await(fluss_flush(l->appender), STEP_MS, l->err);
    if (rc == 0) {
        l->start = (fluss_position_t){where.bucket, where.log_end_offset - 1 - ROWS};
        is_acknowledged[lives] = true;
    }
    return rc;
}

static fluss_code_t upsert(life *l)
{
    fluss_code_t rc = fluss_upsert_open(l->keyed, NULL, &l->upserter, l->err);
    for (int32_t i = 0; i < ROWS && rc == 0; i++) {
        rc = fluss_upsert(l->upserter, FLUSS_ROW(fluss_int(i), fluss_str("one")), NULL, l->err);
    }
    rc = rc != 0 ? rc : fluss_delete(l->upserter, FLUSS_ROW(fluss_int(0)), NULL, l->err);
    rc = rc != 0 ? rc : fluss_await(fluss_flush(l->upserter), STEP_MS, l->err);
    return rc;
}

/* What was found goes back in as an Arrow batch. */
static fluss_code_t write_back(life *l, const fluss_records_t *records)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    fluss_code_t rc = fluss_records_to_arrow(records, &schema, &array, l->err);
    rc = rc != 0 ? rc : fluss_write_arrow(l->upserter, &schema, &array, false, NULL, l->err);
    rc = rc != 0 ? rc : fluss_await(fluss_flush(l->upserter), STEP_MS, l->err);
    if (array.release != NULL) {
        array.release(&array);
    }
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    return rc;
}

static fluss_code_t look(life *l)
{
    const fluss_datum_t keys[] = {fluss_int(0), fluss_int(1), fluss_int(2)};
    fluss_records_t *records = NULL;
    fluss_code_t rc = fluss_lookup_open(l->keyed, NULL, &l->lookup, l->err);
    rc = rc != 0
             ? rc
             : fluss_await_records(fluss_lookup(l->lookup, keys, 1, 3), STEP_MS, &records, l->err);
    if (rc == 0 && fluss_records_count(records) != 2) {
        rc = not_expected(l->err, "lookup of three keys of which two are there");
    }
    rc = rc != 0 ? rc : write_back(l, records);
    fluss_records_free(records);
    return rc;
}

static fluss_code_t scan(life *l)
{
    const fluss_datum_t low = fluss_int(0);
    l->filter = fluss_pred("id", FLUSS_CMP_GE, &low, 1);
    fluss_code_t rc = made(l->filter, l->err);
    const fluss_scan_opts_t opts = {
        .size = sizeof(opts), .filter = l->filter, .exact_filter = true};
    rc = rc != 0 ? rc : fluss_scanner_open(&l->log, 1, &opts, &l->scanner, l->err);
    rc = rc != 0 ? rc : fluss_await(fluss_subscribe(l->scanner, &l->start, 1), STEP_MS, l->err);
    fluss_records_t *records = NULL;
    rc = rc != 0 ? rc
                 : fluss_await_records(fluss_poll(l->scanner, POLL_MS), STEP_MS, &records, l->err);
    if (rc == 0 && fluss_records_count(records) == 0) {
        /* The fetch may have been the one that failed. */
        *l->err = (fluss_error_t){
            .code = FLUSS_E_CLIENT, .kind = FLUSS_KIND_TIMEOUT, .message = "no rows in time"};
        rc = FLUSS_E_CLIENT;
    }
    fluss_records_free(records);
    return rc;
}

static fluss_code_t read_all(life *l)
{
    const fluss_scan_opts_t opts = {.size = sizeof(opts), .batches = true};
    fluss_code_t rc = fluss_scanner_open(&l->log, 1, &opts, &l->reader, l->err);
    rc = rc != 0 ? rc : fluss_await(fluss_subscribe(l->reader, &l->start, 1), STEP_MS, l->err);
    struct ArrowArrayStream stream = {0};
    rc = rc != 0 ? rc : fluss_read(l->reader, NULL, 0, &stream, l->err);
    if (stream.release != NULL) {
        struct ArrowArray array = {0};
        while (fluss_read_next(&stream, POLL_MS, &array, NULL) == 0 && array.release != NULL) {
            array.release(&array);
        }
        stream.release(&stream);
    }
    return rc;
}

static fluss_code_t list(life *l)
{
    fluss_result_t *result = NULL, *metrics = NULL;
    fluss_batches_t *batches = NULL;
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    const fluss_scan_opts_t opts = {.size = sizeof(opts), .limit = 3};
    fluss_code_t rc =
        fluss_await_result(fluss_list_offsets(l->conn, log_path, NULL, NULL, 0, FLUSS_LATEST),
                           STEP_MS, &result, l->err);
    rc = rc != 0 ? rc : fluss_result_to_arrow(result, &schema, &array, l->err);
    rc = rc != 0 ? rc : fluss_metrics(l->conn, &metrics, l->err);
    rc = rc != 0 ? rc
                 : fluss_await_batches(fluss_scan_bucket(l->keyed, bucket_of(l->keyed, 0), &opts),
                                       STEP_MS, &batches, l->err);
    if (array.release != NULL) {
        array.release(&array);
    }
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    fluss_batches_free(batches);
    fluss_result_free(metrics);
    fluss_result_free(result);
    return rc;
}

static void release(life *l)
{
    fluss_error_t ignored;
    if (l->conn != NULL) {
        (void)fluss_await(fluss_close(l->conn), STEP_MS, &ignored);
    }
    fluss_config_free(l->config);
    fluss_conn_free(l->conn);
    fluss_schema_free(l->schema);
    fluss_desc_free(l->desc);
    fluss_table_free(l->log);
    fluss_table_free(l->keyed);
    fluss_writer_free(l->appender);
    fluss_writer_free(l->upserter);
    fluss_lookup_free(l->lookup);
    fluss_scanner_free(l->scanner);
    fluss_scanner_free(l->reader);
    fluss_pred_free(l->filter);
}

fluss_code_t scenario_run(const char *servers, const char **reached, fluss_error_t *err)
{
    fluss_code_t (*const steps[])(life *) = {join_cluster, create, append,   upsert,
                                             look,         scan,   read_all, list};
    static const char *const names[] = {"connect", "create", "append", "upsert",
                                        "lookup",  "scan",   "read",   "list"};
    life l = {.servers = servers, .err = err};
    fluss_code_t rc = 0;
    expect(++lives < LIVES_MAX);
    (void)snprintf(l.number, sizeof(l.number), "%d", lives);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && rc == 0; i++) {
        rc = steps[i](&l);
        *reached = names[i];
    }
    release(&l);
    return rc;
}

/* ---- what is left of all lives ---- */

static void count_rows_of(const fluss_records_t *records, int32_t next[LIVES_MAX])
{
    for (size_t i = 0; i < fluss_records_count(records); i++) {
        fluss_record_t record;
        fluss_records_get(records, i, &record);
        size_t size;
        const char *number = fluss_row_text(record.row, "name", &size);
        char text[16] = "";
        memcpy(text, number, size < sizeof(text) ? size : 0);
        const long writer = strtol(text, NULL, 10);
        expect(writer > 0 && writer <= lives);
        expect(fluss_row_i64(record.row, "id", -1) == next[writer]++);
    }
}

void scenario_check_rows(const char *servers)
{
    static int32_t next[LIVES_MAX];
    fluss_error_t err = {0};
    fluss_table_t *table;
    fluss_conn_t *conn = connect_to(servers);
    must(fluss_await_table(fluss_open_table(conn, log_path), WAIT_MS, &table, &err));
    fluss_result_t *ends =
        answer_of(fluss_list_offsets(conn, log_path, NULL, NULL, 0, FLUSS_LATEST));
    const int64_t end = fluss_result_i64(ends, 0, "offset", -1);
    fluss_result_free(ends);
    fluss_scanner_t *scanner = open_scanner(table, NULL, FLUSS_EARLIEST);
    fluss_position_t at = {.offset = 0};
    while (at.offset < end) {
        fluss_records_t *records = poll_some(scanner);
        count_rows_of(records, next);
        fluss_records_free(records);
        expect(fluss_positions(scanner, &at, 1) == 1);
    }
    for (int i = 1; i <= lives; i++) {
        expect(!is_acknowledged[i] || next[i] == ROWS + 1);
    }
    fluss_scanner_free(scanner);
    fluss_table_free(table);
    fluss_conn_free(conn);
}
