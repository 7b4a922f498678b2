/* SPDX-License-Identifier: Apache-2.0 */
/* How fast rows become Arrow batches and batches become rows, for a row of five columns: BIGINT,
 * STRING of 12 bytes, DOUBLE, INT, TIMESTAMP(6).
 *
 * Expected per row: an append is five stores and a copy of 12 bytes, 20 to 40 ns; a write without
 * compression is one copy of 44 bytes, a few ns; a read that shares only looks at offsets and text;
 * a scalar by fl_arrow_rows_get is a test and a load. Prints the best of several rounds. */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "format/arrow.h"
#include "format/projection.h"

enum { ROW_COUNT = 10000, ROUND_COUNT = 40, COLUMN_COUNT = 5, BUF_MAX = 1 << 28 };

static const char *const columns[COLUMN_COUNT][2] = {{"id", "BIGINT"},
                                                     {"name", "STRING"},
                                                     {"price", "DOUBLE"},
                                                     {"count", "INT"},
                                                     {"at", "TIMESTAMP(6)"}};

typedef struct bench {
    fl_schema *schema;
    fl_arrow_builder *builder;
    struct ArrowArray array;
    fl_arrow_writer *writer;
    fl_buf out;      /* header of a log batch and message */
    fl_frame *frame; /* the message, aligned */
    size_t payload_size;
} bench;

static double now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void must(fluss_code_t rc)
{
    FL_ASSERT(rc == 0);
}

static void release(struct ArrowArray *array)
{
    if (array->release != NULL) {
        array->release(array);
    }
}

static void append_rows(bench *b)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        char name[16];
        (void)memcpy(name, "name-0000000", 12);
        name[11] = (char)('0' + i % 10);
        const fluss_datum_t row[COLUMN_COUNT] = {
            {.type = FLUSS_BIGINT, .v.i = i},
            {.type = FLUSS_STRING, .v.s = {.ptr = name, .len = 12}},
            {.type = FLUSS_DOUBLE, .v.f = i * 0.25},
            {.type = FLUSS_INT, .v.i = i % 100},
            {.type = FLUSS_TIMESTAMP, .nanos = 1000, .v.i = 1700000000000 + i},
        };
        must(fl_arrow_builder_append(b->builder, row, NULL));
    }
    release(&b->array);
    must(fl_arrow_builder_finish(b->builder, &b->array, NULL));
}

static void write_batch(bench *b)
{
    fl_buf_reset(&b->out);
    const size_t header_size = fl_log_batch_header_size(0, 0);
    must(fl_buf_append_zeros(&b->out, header_size, NULL));
    must(fl_arrow_write(b->writer, b->schema, &b->array, 0, ROW_COUNT, &b->out, NULL));
    const fl_log_batch_spec spec = {.is_append_only = true, .record_count = ROW_COUNT};
    fl_log_batch_finish(b->out.data, b->out.size, &spec);
}

static void read_batch(bench *b)
{
    struct ArrowArray array;
    const fl_slice payload = fl_slice_of(b->frame->data, b->payload_size);
    must(fl_arrow_read(b->schema, payload, b->frame, &array, NULL));
    release(&array);
}

static void get_rows(bench *b)
{
    fl_arrow_rows *rows;
    must(fl_arrow_rows_new(b->schema, &b->array, &rows, NULL));
    volatile int64_t sum = 0;
    for (int64_t row = 0; row < ROW_COUNT; row++) {
        for (size_t column = 0; column < COLUMN_COUNT; column++) {
            fluss_datum_t value;
            must(fl_arrow_rows_get(rows, row, column, NULL, &value, NULL));
            sum += value.v.i;
        }
    }
    fl_arrow_rows_free(rows);
}

static void project_batch(bench *b)
{
    const uint32_t chosen[] = {0, 3};
    fl_log_batch batch;
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    must(fl_log_batch_open(fl_buf_slice(&b->out), true, &batch, NULL));
    must(fl_log_batch_project(&batch, b->schema, chosen, 2, &out, NULL));
    fl_buf_deinit(&out);
}

static void check_batch(bench *b)
{
    fl_log_batch batch;
    must(fl_log_batch_open(fl_buf_slice(&b->out), true, &batch, NULL));
    must(fl_log_batch_check_crc(&batch, NULL));
}

static void measure(const char *name, void (*run)(bench *b), bench *b, size_t bytes)
{
    double best = 1e18;
    for (int round = 0; round < ROUND_COUNT; round++) {
        const double start = now_ns();
        run(b);
        const double took = now_ns() - start;
        best = took < best ? took : best;
    }
    const double rows = ROW_COUNT;
    printf("%-24s %9.2f ns/row %9.1f M rows/s %9.0f MB/s\n", name, best / rows, rows / best * 1e3,
           (double)bytes / best * 1e3);
}

static void measure_codec(bench *b, const char *codec, fl_arrow_write_opts opts, size_t raw_size)
{
    char name[64];
    b->writer = fl_arrow_writer_new(opts);
    (void)snprintf(name, sizeof(name), "write %s", codec);
    measure(name, write_batch, b, raw_size);
    b->payload_size = b->out.size - fl_log_batch_header_size(0, 0);
    b->frame = fl_frame_new(b->payload_size);
    FL_ASSERT(b->frame != NULL);
    memcpy(b->frame->data, b->out.data + fl_log_batch_header_size(0, 0), b->payload_size);
    (void)snprintf(name, sizeof(name), "read %s", codec);
    measure(name, read_batch, b, raw_size);
    (void)snprintf(name, sizeof(name), "check CRC %s", codec);
    measure(name, check_batch, b, b->out.size);
    (void)snprintf(name, sizeof(name), "project 2 of 5 %s", codec);
    measure(name, project_batch, b, b->out.size);
    printf("  %s: %zu bytes for %zu\n", codec, b->out.size, raw_size);
    fl_frame_unref(b->frame);
    fl_arrow_writer_free(b->writer);
}

int main(void)
{
    bench b = {.schema = fl_schema_new(), .array = {.release = NULL}};
    fl_arena arena;
    fl_arena_init(&arena);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        fl_type type;
        must(fl_type_parse(columns[i][1], &arena, &type, NULL));
        must(fl_schema_add(b.schema, columns[i][0], &type, NULL, NULL));
    }
    fl_arena_deinit(&arena);
    must(fl_arrow_builder_new(b.schema, &b.builder, NULL));
    fl_buf_init(&b.out, BUF_MAX);
    append_rows(&b);
    const size_t raw_size = ROW_COUNT * (8 + 12 + 4 + 8 + 4 + 8);
    measure("append and finish", append_rows, &b, raw_size);
    measure("get, five values", get_rows, &b, raw_size);
    measure_codec(&b, "none", (fl_arrow_write_opts){.compression = FL_COMPRESS_NONE}, raw_size);
    measure_codec(&b, "lz4", (fl_arrow_write_opts){.compression = FL_COMPRESS_LZ4_FRAME}, raw_size);
    measure_codec(&b, "zstd", (fl_arrow_write_opts){.compression = FL_COMPRESS_ZSTD, .level = 3},
                  raw_size);
    release(&b.array);
    fl_buf_deinit(&b.out);
    fl_arrow_builder_free(b.builder);
    fl_schema_unref(b.schema);
    fl_frame_pool_drain();
    return 0;
}
