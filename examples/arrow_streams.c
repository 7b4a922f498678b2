/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow in and out: a batch made by hand goes into a table, and comes back as an Arrow stream that
 * ends at the offsets of now. Any library that speaks the Arrow C interfaces takes and gives the
 * same structs (nanoarrow, Arrow C++, DuckDB, polars); nothing is copied between it and libfluss.
 *
 *   arrow_streams HOST:PORT | embedded:DIR */
#include <fluss/fluss_arrow.h>
#include <inttypes.h>

#include "example.h"

enum { ROWS = 10000 };

static const fluss_path_t path = {"fluss", "example_arrow"};

/* The owner of a struct array with one int64 column. */
typedef struct numbers {
    struct ArrowArray column;
    struct ArrowArray *children[1];
    const void *struct_buffers[1], *column_buffers[2];
    int64_t values[ROWS];
} numbers;

static void release_column(struct ArrowArray *array)
{
    array->release = NULL;
}

static void release_numbers(struct ArrowArray *array)
{
    free(array->private_data);
    array->release = NULL;
}

static void make_batch(int64_t first, struct ArrowArray *out)
{
    numbers *n = calloc(1, sizeof(*n));
    CHECK(n != NULL);
    for (int64_t i = 0; i < ROWS; i++) {
        n->values[i] = first + i;
    }
    n->column_buffers[1] = n->values;
    n->column = (struct ArrowArray){
        .length = ROWS, .n_buffers = 2, .buffers = n->column_buffers, .release = release_column};
    n->children[0] = &n->column;
    *out = (struct ArrowArray){.length = ROWS,
                               .n_buffers = 1,
                               .buffers = n->struct_buffers,
                               .n_children = 1,
                               .children = n->children,
                               .release = release_numbers,
                               .private_data = n};
}

int main(int argc, char **argv)
{
    fluss_error_t err;
    fluss_writer_t *writer;
    fluss_scanner_t *scanner;
    struct ArrowSchema schema;
    struct ArrowArray array;
    fluss_conn_t *conn = example_connect(argc, argv);
    fluss_table_t *table =
        example_table(conn, path, (const char *const[]){"n BIGINT NOT NULL", NULL}, NULL,
                      FLUSS_OPTS(fluss_desc_opts_t, .buckets = 1));
    MUST(fluss_append_open(table, &writer, &err));
    for (int64_t i = 0; i < 3; i++) {
        MUST(fluss_schema_to_arrow(fluss_table_info(table)->schema, &schema, &err));
        make_batch(i * ROWS, &array);
        MUST(fluss_write_arrow(writer, &schema, &array, false, NULL, &err));
        CHECK(schema.release == NULL && array.release == NULL); /* both were moved */
    }
    MUST(fluss_await(fluss_flush(writer), WAIT_MS, &err));

    struct ArrowArrayStream stream;
    MUST(fluss_scanner_open(&table, 1, FLUSS_OPTS(fluss_scan_opts_t, .batches = true), &scanner,
                            &err));
    MUST(fluss_await(fluss_subscribe_all(scanner, FLUSS_EARLIEST), WAIT_MS, &err));
    MUST(fluss_read(scanner, NULL, 0, &stream, &err));
    fluss_scanner_free(scanner); /* the stream keeps what it needs */
    int64_t rows = 0, sum = 0;
    for (;;) {
        if (stream.get_next(&stream, &array) != 0) {
            (void)fprintf(stderr, "%s\n", stream.get_last_error(&stream));
            return 1;
        }
        if (array.release == NULL) {
            break; /* the end */
        }
        const int64_t *values = array.children[0]->buffers[1];
        for (int64_t i = 0; i < array.length; i++) {
            sum += values[array.children[0]->offset + i];
        }
        rows += array.length;
        array.release(&array);
    }
    stream.release(&stream);
    (void)printf("%" PRId64 " rows, sum %" PRId64 "\n", rows, sum);
    CHECK(rows == 3 * ROWS && sum == (int64_t)3 * ROWS * (3 * ROWS - 1) / 2);
    fluss_writer_free(writer);
    fluss_table_free(table);
    fluss_conn_free(conn);
    return 0;
}
