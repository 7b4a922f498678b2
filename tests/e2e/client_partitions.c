/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: the C client follows partitions as they come and go. Method: one server, named by the
 * argument (`embedded:DIR`, or HOST:PORT of any); a table that each test makes anew. */
#include <stdio.h>
#include <string.h>

#include "calls.h"

enum { BUCKETS = 2 };

static const fluss_path_t path = {.database = "fluss", .table = "client_partitions"};

typedef struct world {
    fluss_conn_t *conn, *maker; /* maker: makes partitions on demand */
    fluss_table_t *table;
} world;

/* ---- life ---- */

static fluss_conn_t *connect_to(const char *servers, const char *wait_ms, const char *creates)
{
    fluss_error_t err;
    fluss_conn_t *conn = NULL;
    fluss_config_t *config = fluss_config_new();
    must(fluss_config_set(config, "bootstrap.servers", servers, &err), &err);
    must(fluss_config_set(config, "writer.partition-wait-timeout-ms", wait_ms, &err), &err);
    must(fluss_config_set(config, "writer.dynamic-create-partition.enabled", creates, &err), &err);
    must(fluss_await_conn(fluss_connect(config), WAIT_MS, &conn, &err), &err);
    fluss_config_free(config);
    return conn;
}

static int make_table(void **state)
{
    world *w = *state;
    fluss_error_t err;
    fluss_desc_t *desc = NULL;
    const char *partition = "region";
    fluss_schema_t *schema = fluss_schema_new();
    must(fluss_schema_add(schema, "id", "INT", NULL, &err), &err);
    must(fluss_schema_add(schema, "region", "STRING", NULL, &err), &err);
    must(fluss_desc_new(schema,
                        FLUSS_OPTS(fluss_desc_opts_t, .buckets = BUCKETS,
                                   .partition_keys = &partition, .n_partition_keys = 1),
                        &desc, &err),
         &err);
    done(fluss_drop_table(w->conn, path, FLUSS_IF_EXISTS));
    done(fluss_create_table(w->conn, path, desc, 0));
    fluss_desc_free(desc);
    fluss_schema_free(schema);
    must(fluss_await_table(fluss_open_table(w->conn, path), WAIT_MS, &w->table, &err), &err);
    return 0;
}

static int free_table(void **state)
{
    world *w = *state;
    fluss_table_free(w->table);
    w->table = NULL;
    done(fluss_drop_table(w->conn, path, FLUSS_IF_EXISTS));
    return 0;
}

/* ---- steps ---- */

static void change(const world *w, const char *region, bool is_made)
{
    const fluss_kv_t spec = {"region", region};
    done(is_made ? fluss_create_partition(w->conn, path, &spec, 1, 0)
                 : fluss_drop_partition(w->conn, path, &spec, 1, 0));
}

static size_t partition_count(const world *w)
{
    fluss_error_t err;
    fluss_result_t *listed = NULL;
    must(fluss_await_result(fluss_list_partitions(w->conn, path, NULL, 0), WAIT_MS, &listed, &err),
         &err);
    const size_t count = fluss_result_rows(listed);
    fluss_result_free(listed);
    return count;
}

static fluss_code_t append(fluss_writer_t *writer, int32_t id, const char *region)
{
    fluss_error_t err;
    fluss_future_t *ack = NULL;
    must(fluss_append(writer, FLUSS_ROW(fluss_int(id), fluss_str(region)), &ack, &err), &err);
    return fluss_await_ack(ack, WAIT_MS, NULL, &err);
}

static fluss_writer_t *open_writer(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_writer_t *writer = NULL;
    must(fluss_append_open(table, &writer, &err), &err);
    return writer;
}

/* Poll until `wanted` rows came; how many failures there were, and the last code. */
static size_t poll_rows(fluss_scanner_t *scanner, size_t wanted, int64_t *sum, fluss_code_t *code)
{
    size_t seen = 0, failures = 0;
    *sum = 0;
    for (int i = 0; i < 200 && (seen < wanted || (wanted == 0 && failures == 0)); i++) {
        fluss_error_t err;
        fluss_records_t *records = NULL;
        const fluss_code_t rc =
            fluss_await_records(fluss_poll(scanner, 500), WAIT_MS, &records, &err);
        if (rc != 0) {
            failures++;
            *code = rc;
            continue;
        }
        for (size_t j = 0; j < fluss_records_count(records); j++) {
            fluss_record_t record;
            fluss_records_get(records, j, &record);
            *sum += fluss_row_i64(record.row, "id", -1);
        }
        seen += fluss_records_count(records);
        fluss_records_free(records);
    }
    assert_int_equal(seen, wanted);
    return failures;
}

static fluss_scanner_t *scan_all(const world *w)
{
    fluss_error_t err;
    fluss_scanner_t *scanner = NULL;
    must(fluss_scanner_open(&w->table, 1, NULL, &scanner, &err), &err);
    done(fluss_subscribe_all(scanner, FLUSS_EARLIEST));
    return scanner;
}

/* ---- claims ---- */

static void new_partitions_reach_a_running_scanner_from_their_beginning(void **state)
{
    const world *w = *state;
    int64_t sum;
    fluss_code_t code = 0;
    change(w, "a", true);
    fluss_writer_t *writer = open_writer(w->table);
    fluss_scanner_t *scanner = scan_all(w);
    assert_int_equal(append(writer, 1, "a"), 0);
    assert_int_equal(poll_rows(scanner, 1, &sum, &code), 0);
    change(w, "b", true);
    assert_int_equal(append(writer, 20, "b"), 0);
    done(fluss_subscribe_new(scanner, FLUSS_EARLIEST));
    assert_int_equal(append(writer, 300, "a"), 0);
    assert_int_equal(poll_rows(scanner, 2, &sum, &code), 0);
    assert_int_equal(sum, 320); /* what was read of `a` does not come again */
    fluss_scanner_free(scanner);
    fluss_writer_free(writer);
}

static void a_dropped_partition_fails_its_own_reads_and_writes_once(void **state)
{
    const world *w = *state;
    int64_t sum;
    fluss_code_t code = 0;
    change(w, "gone", true);
    change(w, "stays", true);
    fluss_writer_t *writer = open_writer(w->table);
    fluss_scanner_t *scanner = scan_all(w);
    assert_int_equal(append(writer, 1, "gone"), 0);
    assert_int_equal(append(writer, 2, "stays"), 0);
    assert_int_equal(poll_rows(scanner, 2, &sum, &code), 0);
    change(w, "gone", false);
    assert_true(poll_rows(scanner, 0, &sum, &code) > 0);
    assert_int_equal(code, FLUSS_E_PARTITION_NOT_EXISTS);
    assert_int_equal(append(writer, 3, "gone"), FLUSS_E_PARTITION_NOT_EXISTS);
    assert_int_equal(append(writer, 4, "stays"), 0);
    assert_int_equal(poll_rows(scanner, 1, &sum, &code), 0); /* it was said once */
    assert_int_equal(sum, 4);
    fluss_scanner_free(scanner);
    fluss_writer_free(writer);
}

static void partitions_are_made_on_demand_where_that_is_asked_for(void **state)
{
    const world *w = *state;
    fluss_error_t err;
    fluss_table_t *table = NULL;
    fluss_writer_t *writer = open_writer(w->table);
    assert_int_equal(append(writer, 1, "none"), FLUSS_E_PARTITION_NOT_EXISTS);
    assert_int_equal(partition_count(w), 0);
    fluss_writer_free(writer);
    must(fluss_await_table(fluss_open_table(w->maker, path), WAIT_MS, &table, &err), &err);
    writer = open_writer(table);
    for (int32_t i = 0; i < 20; i++) {
        char region[8];
        (void)snprintf(region, sizeof(region), "p%d", (int)(i % 5));
        must(fluss_append(writer, FLUSS_ROW(fluss_int(i), fluss_str(region)), NULL, &err), &err);
    }
    done(fluss_flush(writer));
    assert_int_equal(partition_count(w), 5);
    fluss_writer_free(writer);
    fluss_table_free(table);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s SERVERS\n", argv[0]);
        return 2;
    }
    world w = {.conn = connect_to(argv[1], "500", "false"),
               .maker = connect_to(argv[1], "30000", "true")};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(
            new_partitions_reach_a_running_scanner_from_their_beginning, make_table, free_table,
            &w),
        cmocka_unit_test_prestate_setup_teardown(
            a_dropped_partition_fails_its_own_reads_and_writes_once, make_table, free_table, &w),
        cmocka_unit_test_prestate_setup_teardown(
            partitions_are_made_on_demand_where_that_is_asked_for, make_table, free_table, &w),
    };
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    done(fluss_close(w.maker));
    done(fluss_close(w.conn));
    fluss_conn_free(w.maker);
    fluss_conn_free(w.conn);
    return failures;
}
