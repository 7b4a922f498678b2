/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: no log batch from disk or network makes the readers crash, read behind it or take memory on
 * a claim. The first byte chooses the schema and whether the batch is Arrow; the rest is the batch:
 * size, header, CRC, payload and every value of it, projection, statistics. The payload is also
 * tried alone, so that the fuzzer need not find a header first. */
#include <nanoarrow/nanoarrow.h>

#include "base/alloc.h"
#include "format/arrow.h"
#include "format/projection.h"
#include "format/statistics.h"

enum { SCHEMA_COUNT = 4, ROWS_MAX = 256, BUF_MAX = 1 << 26 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const schemas[SCHEMA_COUNT][12] = {
    {"a INT", "b STRING"},
    {"a BOOLEAN", "b BIGINT", "c DOUBLE", "d CHAR(3)", "e BINARY(5)", "f BYTES", "g DECIMAL(20,3)",
     "h TIME(9)", "i TIMESTAMP(6)", "j TIMESTAMP_LTZ(0)"},
    {"a ARRAY<STRING>", "b MAP<STRING NOT NULL, INT>", "c ROW<x TINYINT, y ARRAY<BOOLEAN>>"},
    {"a TIMESTAMP(9)", "b ARRAY<ROW<x DECIMAL(5,1), y MAP<INT NOT NULL, BYTES>>>"},
};

static fl_schema *make_schema(size_t index)
{
    fl_schema *schema = fl_schema_new();
    fl_arena arena;
    fl_arena_init(&arena);
    for (const char *const *column = schemas[index]; *column != NULL; column++) {
        const char name[] = {**column, '\0'};
        fl_type type;
        const bool made = fl_type_parse(*column + 2, &arena, &type, NULL) == 0 &&
                          fl_schema_add(schema, name, &type, NULL, NULL) == 0;
        FL_ASSERT(made);
    }
    fl_arena_deinit(&arena);
    return schema;
}

static void read_rows(const fl_schema *schema, const struct ArrowArray *array)
{
    fl_arrow_rows *rows;
    if (fl_arrow_rows_new(schema, array, &rows, NULL) != 0) {
        return;
    }
    fl_arena arena;
    fl_arena_init(&arena);
    volatile unsigned touched = 0;
    for (int64_t row = 0; row < array->length && row < ROWS_MAX; row++) {
        for (size_t i = 0; i < schema->column_count; i++) {
            fluss_datum_t value;
            if (fl_arrow_rows_get(rows, row, i, &arena, &value, NULL) != 0) {
                continue;
            }
            if ((value.type == FLUSS_STRING || value.type == FLUSS_BYTES) && value.v.s.len != 0) {
                const uint8_t *bytes = value.v.s.ptr;
                touched += bytes[0] + bytes[value.v.s.len - 1];
            }
        }
        fl_arena_reset(&arena);
    }
    fl_arena_deinit(&arena);
    fl_arrow_rows_free(rows);
}

/* What can be read can be written, and is the same size again when read once more. */
static void write_again(const fl_schema *schema, const struct ArrowArray *array)
{
    fl_arrow_writer *writer =
        fl_arrow_writer_new((fl_arrow_write_opts){.compression = FL_COMPRESS_NONE});
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    struct ArrowArray again;
    if (fl_arrow_write(writer, schema, array, 0, array->length, &out, NULL) == 0) {
        const fluss_code_t rc = fl_arrow_read(schema, fl_buf_slice(&out), NULL, &again, NULL);
        FL_ASSERT(rc == 0 && again.length == array->length);
        again.release(&again);
    }
    fl_buf_deinit(&out);
    fl_arrow_writer_free(writer);
}

static void read_payload(const fl_schema *schema, fl_slice payload)
{
    struct ArrowArray array;
    if (fl_arrow_read(schema, payload, NULL, &array, NULL) == 0) {
        read_rows(schema, &array);
        write_again(schema, &array);
        array.release(&array);
    }
}

static void read_statistics(const fl_schema *schema, fl_slice block)
{
    fl_arena arena;
    fl_arena_init(&arena);
    fl_statistics_column *columns;
    size_t count;
    (void)!fl_statistics_read(block, schema, &arena, &columns, &count, NULL);
    fl_arena_deinit(&arena);
}

static void read_batch(const fl_schema *schema, fl_slice bytes, bool is_arrow)
{
    fl_log_batch batch;
    size_t size;
    if (fl_log_batch_size(bytes, &size, NULL) != 0 || size == 0 ||
        fl_log_batch_open(bytes, is_arrow, &batch, NULL) != 0) {
        return;
    }
    (void)!fl_log_batch_check_crc(&batch, NULL);
    read_statistics(schema, batch.statistics);
    if (!is_arrow) {
        return;
    }
    if (batch.record_count != 0) {
        read_payload(schema, batch.payload);
    }
    fl_buf out;
    fl_buf_init(&out, BUF_MAX);
    const uint32_t columns[] = {0, 1};
    if (fl_log_batch_project(&batch, &(fl_projection){schema, schema, columns, 2}, &out, NULL) ==
        0) {
        fl_log_batch projected;
        const fluss_code_t rc = fl_log_batch_open(fl_buf_slice(&out), true, &projected, NULL);
        FL_ASSERT(rc == 0 && projected.bytes.size == out.size);
    }
    fl_buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    fl_schema *schema = make_schema(data[0] % SCHEMA_COUNT);
    const fl_slice bytes = fl_slice_of(data + 1, size - 1);
    const unsigned way = data[0] / SCHEMA_COUNT % 4;
    if (way == 0 || way == 1) {
        read_batch(schema, bytes, way == 0);
    } else if (way == 2) {
        read_payload(schema, bytes);
    } else {
        read_statistics(schema, bytes);
    }
    fl_schema_unref(schema);
    return 0;
}
