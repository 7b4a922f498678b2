/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads: one connection, one table handle and one writer shared by all, a scanner each.
 * Rows of one thread keep their order; those of different threads mix.
 *
 *   many_threads HOST:PORT | embedded:DIR */
#include <inttypes.h>
#include <pthread.h>

#include "example.h"

enum { WRITERS = 4, READERS = 3, ROWS = 2000 };

static const fluss_path_t path = {"fluss", "example_threads"};

typedef struct task {
    fluss_table_t *table;
    fluss_writer_t *writer;
    int32_t number;
} task;

static void *write_rows(void *context)
{
    const task *t = context;
    fluss_error_t err;
    for (int32_t i = 0; i < ROWS; i++) {
        MUST(fluss_append(t->writer, FLUSS_ROW(fluss_int(t->number), fluss_int(i)), NULL, &err));
    }
    MUST(fluss_await(fluss_flush(t->writer), WAIT_MS, &err));
    return NULL;
}

static void *read_rows(void *context)
{
    const task *t = context;
    fluss_error_t err;
    fluss_scanner_t *scanner;
    int64_t next[WRITERS] = {0}; /* the row that each writer's order wants now */
    MUST(fluss_scanner_open(&t->table, 1, NULL, &scanner, &err));
    MUST(fluss_await(fluss_subscribe_all(scanner, FLUSS_EARLIEST), WAIT_MS, &err));
    for (size_t rows = 0; rows < (size_t)WRITERS * ROWS;) {
        fluss_records_t *records;
        MUST(fluss_await_records(fluss_poll(scanner, WAIT_MS), -1, &records, &err));
        for (size_t i = 0; i < fluss_records_count(records); i++) {
            fluss_record_t record;
            fluss_records_get(records, i, &record);
            const int64_t writer = fluss_row_i64(record.row, "writer", -1);
            CHECK(writer >= 0 && writer < WRITERS);
            CHECK(fluss_row_i64(record.row, "n", -1) == next[writer]++);
        }
        rows += fluss_records_count(records);
        fluss_records_free(records);
    }
    fluss_scanner_free(scanner);
    return NULL;
}

int main(int argc, char **argv)
{
    fluss_error_t err;
    fluss_writer_t *writer;
    task tasks[WRITERS + READERS];
    pthread_t threads[WRITERS + READERS];
    fluss_conn_t *conn = example_connect(argc, argv);
    fluss_table_t *table =
        example_table(conn, path, (const char *const[]){"writer INT", "n INT", NULL}, NULL,
                      FLUSS_OPTS(fluss_desc_opts_t, .buckets = 1));
    MUST(fluss_append_open(table, &writer, &err));
    for (int32_t i = 0; i < WRITERS + READERS; i++) {
        tasks[i] = (task){.table = table, .writer = writer, .number = i};
        CHECK(pthread_create(&threads[i], NULL, i < WRITERS ? write_rows : read_rows, &tasks[i]) ==
              0);
    }
    for (int32_t i = 0; i < WRITERS + READERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    fluss_writer_free(writer);
    fluss_table_free(table);
    fluss_conn_free(conn);
    (void)printf("%d threads wrote %d rows each; %d threads read all of them in order\n", WRITERS,
                 ROWS, READERS);
    return 0;
}
