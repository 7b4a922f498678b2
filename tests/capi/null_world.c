/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: no public function crashes or hangs on a NULL, or on numbers and texts at their worst, and
 * each that must not have a NULL says so.
 * Method: null_calls.py makes the calls out of the headers; this program gives them a world. */
#include "null_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void on_ready(fluss_future_t *future, void *user)
{
    (void)user;
    (void)future;
}

const fluss_row_t *row_of(const null_world *w)
{
    fluss_record_t record;
    fluss_records_get(w->records, 0, &record);
    return record.row;
}

void give_arrow(null_world *w, struct ArrowSchema *schema, struct ArrowArray *array)
{
    fluss_error_t err = {0};
    must(fluss_records_to_arrow(w->records, schema, array, &err));
}

static void complain(const char *function, const char *missing, const char *what,
                     const fluss_error_t *err)
{
    (void)fprintf(stderr, "FAILED: %s without %s: %s (code %d, kind %d: %s)\n", function, missing,
                  what, err->code, err->kind, err->message);
    exit(1);
}

void check_code(const char *function, const char *missing, fluss_code_t rc,
                const fluss_error_t *err, bool must_fail)
{
    if (must_fail && rc == 0) {
        complain(function, missing, "succeeded", err);
    }
    if (must_fail && err->code != 0 && err->kind != FLUSS_KIND_ARGUMENT) {
        complain(function, missing, "has the wrong kind", err);
    }
    if (err->code != 0 && (err->code != rc || err->message[0] == '\0')) {
        complain(function, missing, "has an error that differs from its code", err);
    }
}

void check_future(const char *function, const char *missing, fluss_future_t *future, bool must_fail)
{
    fluss_error_t err = {0};
    if (future == NULL) {
        complain(function, missing, "gave no future", &err);
    }
    const fluss_code_t rc = fluss_future_wait(future, 10000, &err);
    if (rc != 0 && err.kind == FLUSS_KIND_TIMEOUT && !fluss_future_ready(future)) {
        complain(function, missing, "hangs", &err);
    }
    check_code(function, missing, rc, &err, must_fail);
    fluss_future_free(future);
}

static const char *long_text(void)
{
    static char letters[1000001];
    memset(letters, 'x', sizeof(letters) - 1);
    return letters;
}

static void fill_worst(null_world *w)
{
    w->texts[0] = "";
    w->texts[1] = long_text();
    w->texts[2] = "\xff\xfe\xc0";
    w->texts[3] = "a\x01\n\x1b[31m\x7f";
    w->texts[4] = "%s%n%d";
    w->worst_buckets[0] = (fluss_bucket_t){INT64_MIN, INT64_MIN, INT32_MIN};
    w->worst_buckets[1] = (fluss_bucket_t){INT64_MAX, INT64_MAX, INT32_MAX};
}

static void fill_world(null_world *w, const char *servers)
{
    fluss_error_t err = {0};
    w->conn = connect_to(servers);
    w->table = make_table(w->conn, "null_keyed", "n INT, text STRING", "n", NULL);
    w->log_table = make_table(w->conn, "null_log", "n INT, text STRING", NULL, NULL);
    w->tables[0] = w->table;
    w->config = fluss_config_new();
    must(fluss_config_set(w->config, "bootstrap.servers", servers, &err));
    w->schema = fluss_schema_new();
    must(fluss_schema_add(w->schema, "n", "INT", NULL, &err));
    must(fluss_desc_new(w->schema, NULL, &w->desc, &err));
    must(fluss_schema_to_arrow(w->schema, &w->arrow_schema, &err));
    w->writer = open_writer(w->table);
    w->log_writer = open_writer(w->log_table);
    must(fluss_lookup_open(w->table, NULL, &w->lookup, &err));
    w->queue = fluss_queue_new();
    w->row[0] = fluss_int(1);
    w->row[1] = fluss_str("a");
    w->pred = fluss_pred("n", FLUSS_CMP_EQ, w->row, 1);
    must(fluss_upsert(w->writer, w->row, 2, NULL, &err));
    flush(w->writer);
    w->scanner = open_scanner(w->table, NULL, FLUSS_EARLIEST);
    w->records = poll_some(w->scanner);
    fluss_scanner_t *from = open_scanner(w->table, NULL, FLUSS_EARLIEST);
    must(fluss_read_begin(from, NULL, 0, &w->read, &err));
    fluss_scanner_free(from); /* the read keeps what it needs */
    must(fluss_await_batches(fluss_scan_bucket(w->table, bucket_of(w->table, 0),
                                               FLUSS_OPTS(fluss_scan_opts_t, .limit = 1)),
                             WAIT_MS, &w->batches, &err));
    w->result = answer_of(fluss_list_databases(w->conn));
    w->path = fluss_table_info(w->table)->path;
    w->names[0] = "n";
    w->pairs[0] = (fluss_kv_t){"key", "value"};
    w->acl[0] = (fluss_acl_t){"TABLE", "fluss.t", "User", "u", "*", "READ", "ALLOW"};
    w->buckets[0] = bucket_of(w->table, 0);
    w->positions[0] = (fluss_position_t){w->buckets[0], 0};
    fill_worst(w);
    w->changes[0] = (fluss_table_change_t){.what = FLUSS_SET_OPTION, .name = "k", .value = "v"};
}

static void empty_world(null_world *w)
{
    fluss_config_free(w->config);
    fluss_schema_free(w->schema);
    fluss_desc_free(w->desc);
    fluss_writer_free(w->writer);
    fluss_writer_free(w->log_writer);
    fluss_lookup_free(w->lookup);
    fluss_scanner_free(w->scanner);
    fluss_read_free(w->read);
    fluss_pred_free(w->pred);
    fluss_queue_free(w->queue);
    fluss_records_free(w->records);
    fluss_batches_free(w->batches);
    fluss_result_free(w->result);
    fluss_table_free(w->table);
    fluss_table_free(w->log_table);
    fluss_conn_free(w->conn);
    w->arrow_schema.release(&w->arrow_schema);
}

int main(void)
{
    const char *servers = server_start(NULL, 0);
    /* Each function gets a world of its own: some calls succeed and change it. */
    for (size_t i = 0; i < null_call_count; i++) {
        null_world w = {0};
        (void)fprintf(stderr, "%s\n", null_calls[i].name);
        fill_world(&w, servers);
        null_calls[i].run(&w);
        empty_world(&w);
    }
    server_stop();
    (void)printf("[  PASSED  ] %zu test(s).\n", null_call_count);
    return null_call_count > 100 ? 0 : 1;
}
