/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions: make them, write to each by the values of a row, list them, read one, drop one.
 *
 *   partitions HOST:PORT | embedded:DIR */
#include <inttypes.h>

#include "example.h"

enum { ROWS = 50 };

static const fluss_path_t path = {"fluss", "example_partitions"};
static const char *const days[] = {"2026-06-01", "2026-06-02", "2026-06-03"};

static fluss_code_t change(fluss_conn_t *conn, const char *day, bool drop, fluss_error_t *err)
{
    const fluss_kv_t spec = {"day", day};
    return fluss_await(drop ? fluss_drop_partition(conn, path, &spec, 1, 0)
                            : fluss_create_partition(conn, path, &spec, 1, 0),
                       WAIT_MS, err);
}

static void write_days(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_writer_t *writer;
    MUST(fluss_append_open(table, &writer, &err));
    for (int32_t i = 0; i < 3 * ROWS; i++) {
        /* The row's own value says to which partition it goes. */
        MUST(fluss_append(writer, FLUSS_ROW(fluss_int(i), fluss_str(days[i % 3])), NULL, &err));
    }
    MUST(fluss_await(fluss_flush(writer), WAIT_MS, &err));
    fluss_writer_free(writer);
}

/* The id of a partition, or -1. */
static int64_t find(fluss_conn_t *conn, const char *day)
{
    fluss_error_t err;
    fluss_result_t *found;
    const fluss_kv_t filter = {"day", day};
    MUST(fluss_await_result(fluss_list_partitions(conn, path, &filter, 1), WAIT_MS, &found, &err));
    const int64_t id = fluss_result_i64(found, 0, "partition_id", -1);
    fluss_result_free(found);
    return id;
}

static void read_day(fluss_table_t *table, int64_t partition_id, const char *day)
{
    fluss_error_t err;
    fluss_scanner_t *scanner;
    const fluss_position_t start = {{fluss_table_info(table)->table_id, partition_id, 0},
                                    FLUSS_EARLIEST};
    MUST(fluss_scanner_open(&table, 1, NULL, &scanner, &err));
    MUST(fluss_await(fluss_subscribe(scanner, &start, 1), WAIT_MS, &err));
    for (size_t rows = 0; rows < ROWS;) {
        fluss_records_t *records;
        MUST(fluss_await_records(fluss_poll(scanner, WAIT_MS), -1, &records, &err));
        for (size_t i = 0; i < fluss_records_count(records); i++) {
            fluss_record_t record;
            size_t len;
            fluss_records_get(records, i, &record);
            const char *text = fluss_row_text(record.row, "day", &len);
            CHECK(len == strlen(day) && memcmp(text, day, len) == 0);
        }
        rows += fluss_records_count(records);
        fluss_records_free(records);
    }
    fluss_scanner_free(scanner);
}

int main(int argc, char **argv)
{
    fluss_error_t err;
    fluss_conn_t *conn = example_connect(argc, argv);
    fluss_table_t *table =
        example_table(conn, path, (const char *const[]){"n INT", "day STRING", NULL}, NULL,
                      FLUSS_OPTS(fluss_desc_opts_t, .n_partition_keys = 1, .buckets = 1,
                                 .partition_keys = (const char *const[]){"day"}));
    for (size_t i = 0; i < 3; i++) {
        MUST(change(conn, days[i], false, &err));
    }
    CHECK(change(conn, days[0], false, &err) == FLUSS_E_PARTITION_ALREADY_EXISTS);
    write_days(table);
    const int64_t second = find(conn, days[1]);
    CHECK(second >= 0);
    read_day(table, second, days[1]);
    MUST(change(conn, days[1], true, &err));
    CHECK(find(conn, days[1]) == -1 && find(conn, days[2]) >= 0);
    fluss_table_free(table);
    fluss_conn_free(conn);
    (void)printf("three partitions of %d rows each; one of them is gone again\n", ROWS);
    return 0;
}
