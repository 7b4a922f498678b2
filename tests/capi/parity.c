/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of the parity programs; see parity.h. The output is read like cmocka's. */
#include "parity.h"

#include <stdio.h>
#include <string.h>

int parity_main(const parity_test *tests, size_t count, int argc, char **argv)
{
    static const fluss_kv_t settings[] = {{"log.flush", "os"}};
    const char *servers = server_start(settings, 1);
    fluss_conn_t *conn = connect_to(servers);
    size_t passed = 0;
    for (size_t i = 0; i < count; i++) {
        if (argc < 2 || strcmp(argv[1], tests[i].name) == 0) {
            (void)fprintf(stderr, "[ RUN      ] parity_%s\n", tests[i].name);
            tests[i].run(servers, conn);
            passed++;
        }
    }
    fluss_conn_free(conn);
    server_stop();
    (void)printf("[  PASSED  ] %zu test(s).\n", passed);
    return passed > 0 ? 0 : 1;
}

void fill(fluss_table_t *table, int32_t from, int32_t count)
{
    fluss_error_t err = {0};
    fluss_writer_t *writer = open_writer(table);
    const bool is_keyed = fluss_table_info(table)->n_primary_keys > 0;
    for (int32_t i = from; i < from + count; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "r%d", i);
        const fluss_datum_t row[] = {fluss_int(i), fluss_str(text)};
        must(is_keyed ? fluss_upsert(writer, row, 2, NULL, &err)
                      : fluss_append(writer, row, 2, NULL, &err));
    }
    flush(writer);
    fluss_writer_free(writer);
}

int64_t read_sum(fluss_scanner_t *scanner, int64_t count)
{
    fluss_error_t err = {0};
    int64_t sum = 0, rows = 0;
    bool is_over = false;
    while (!is_over) {
        fluss_records_t *records;
        must(fluss_await_records(fluss_poll(scanner, rows < count ? WAIT_MS : 50), WAIT_MS,
                                 &records, &err));
        for (size_t i = 0; i < fluss_records_count(records); i++) {
            fluss_record_t record;
            fluss_records_get(records, i, &record);
            sum += fluss_row_i64(record.row, "n", -1);
            rows++;
        }
        is_over = fluss_records_count(records) == 0;
        fluss_records_free(records);
    }
    expect(rows == count);
    return sum;
}
