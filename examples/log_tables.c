/* SPDX-License-Identifier: Apache-2.0 */
/* Log tables: append rows, wait for one acknowledgement, follow only what is new, start at a time,
 * project columns, filter rows.
 *
 *   log_tables HOST:PORT | embedded:DIR
 *
 * Each figure is compared with what was written; the status is 0 when all are right. */
#include <fluss/fluss.h>
#include <inttypes.h>
#include <stdio.h>

#include "example.h"

enum { ROWS = 1000 };

static const fluss_path_t path = {"fluss", "example_log"};

static void append_rows(fluss_table_t *table, int64_t first, int64_t count)
{
    fluss_error_t err;
    fluss_writer_t *writer;
    MUST(fluss_append_open(table, &writer, &err));
    for (int64_t i = first; i < first + count; i++) {
        MUST(fluss_append(writer, FLUSS_ROW(fluss_bigint(i), fluss_str("a reading")), NULL, &err));
    }
    MUST(fluss_await(fluss_flush(writer), WAIT_MS, &err));
    fluss_writer_free(writer);
}

/* One row whose place in the log the server tells. */
static void append_acknowledged(fluss_table_t *table)
{
    fluss_error_t err;
    fluss_writer_t *writer;
    fluss_future_t *ack;
    fluss_ack_t where;
    MUST(fluss_append_open(table, &writer, &err));
    MUST(fluss_append(writer, FLUSS_ROW(fluss_bigint(ROWS), fluss_null()), &ack, &err));
    MUST(fluss_await_ack(ack, WAIT_MS, &where, &err));
    (void)printf("the last row is in bucket %d; its log ends at %" PRId64 "\n", where.bucket.bucket,
                 where.log_end_offset);
    CHECK(where.log_end_offset == ROWS + 1);
    fluss_writer_free(writer);
}

/* Rows until `count` are there; the sum of their column n. */
static int64_t read_sum(fluss_table_t *table, const fluss_scan_opts_t *opts, int64_t from,
                        int64_t count)
{
    fluss_error_t err;
    fluss_scanner_t *scanner;
    int64_t sum = 0;
    MUST(fluss_scanner_open(&table, 1, opts, &scanner, &err));
    MUST(fluss_await(fluss_subscribe_all(scanner, from), WAIT_MS, &err));
    while (count > 0) {
        fluss_records_t *records;
        MUST(fluss_await_records(fluss_poll(scanner, WAIT_MS), -1, &records, &err));
        for (size_t i = 0; i < fluss_records_count(records); i++, count--) {
            fluss_record_t record;
            fluss_records_get(records, i, &record);
            sum += fluss_row_i64(record.row, "n", 0);
        }
        fluss_records_free(records);
    }
    fluss_scanner_free(scanner);
    return sum;
}

int main(int argc, char **argv)
{
    fluss_error_t err;
    fluss_conn_t *conn = example_connect(argc, argv);
    fluss_table_t *table = example_table(
        conn, path, (const char *const[]){"n BIGINT NOT NULL", "text STRING", NULL}, NULL, NULL);
    append_rows(table, 0, ROWS);
    append_acknowledged(table);

    CHECK(read_sum(table, NULL, FLUSS_EARLIEST, ROWS + 1) == (int64_t)ROWS * (ROWS + 1) / 2);
    CHECK(
        read_sum(table,
                 FLUSS_OPTS(fluss_scan_opts_t, .names = (const char *const[]){"n"}, .n_columns = 1),
                 ROWS - 10, 11) == 10 * (2 * ROWS - 11) / 2 + ROWS);

    /* A filter is a hint for the server; exact_filter tests every row here as well. */
    const fluss_datum_t bound = fluss_bigint(ROWS - 2);
    fluss_pred_t *filter = fluss_pred("n", FLUSS_CMP_GE, &bound, 1);
    CHECK(read_sum(table, FLUSS_OPTS(fluss_scan_opts_t, .filter = filter, .exact_filter = true),
                   FLUSS_EARLIEST, 3) == 3 * ROWS - 3);
    fluss_pred_free(filter);

    /* FLUSS_LATEST is resolved when the scanner subscribes: only later rows come. */
    fluss_scanner_t *follower;
    fluss_records_t *records;
    fluss_record_t record;
    MUST(fluss_scanner_open(&table, 1, NULL, &follower, &err));
    MUST(fluss_await(fluss_subscribe_all(follower, FLUSS_LATEST), WAIT_MS, &err));
    append_rows(table, 77, 1);
    MUST(fluss_await_records(fluss_poll(follower, WAIT_MS), -1, &records, &err));
    fluss_records_get(records, 0, &record);
    CHECK(fluss_records_count(records) == 1 && fluss_row_i64(record.row, "n", 0) == 77);
    fluss_records_free(records);
    fluss_scanner_free(follower);

    fluss_table_free(table);
    fluss_conn_free(conn);
    (void)printf("all as written\n");
    return 0;
}
