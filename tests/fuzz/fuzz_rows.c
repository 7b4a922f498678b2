/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the decoders of rows. The first byte picks the row format and one of the schemas below;
 * the rest is a row.
 *
 * What must hold for any input: no access outside it, an error with a text or values; values encode
 * again, decode to equal values, and the arena stays within a multiple of the input's size. */
#include "base/alloc.h"
#include "format/row_codec.h"

enum {
    FORMAT_COUNT = 3,
    COLUMN_COUNT_MAX = 24,
    ROW_SIZE_MAX = 1 << 26,
    ARENA_SIZE_MIN = 1 << 16,
    GROWTH_MAX = 1024
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const schemas[] = {
    "ROW<a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h CHAR(3), i STRING,"
    " j BINARY(4), k BYTES, l DECIMAL(5,2), m DECIMAL(20,0), n DATE, o TIME(3), p TIMESTAMP(3), "
    "q TIMESTAMP(9), r TIMESTAMP_LTZ(9), s INT NOT NULL>",
    "ROW<a ARRAY<STRING>, b ARRAY<INT NOT NULL>, c MAP<STRING,ARRAY<DECIMAL(25,3)>>, d INT>",
    "ROW<a ROW<x INT, y ARRAY<ROW<p STRING, q TIMESTAMP(9)>>>, b ARRAY<ARRAY<ARRAY<BOOLEAN>>>>",
};

static void check_row(fl_row_format format, const fl_type *schema, fl_slice row)
{
    const fl_type *types[COLUMN_COUNT_MAX];
    fluss_datum_t values[COLUMN_COUNT_MAX];
    fluss_datum_t again[COLUMN_COUNT_MAX];
    for (size_t i = 0; i < schema->field_count; i++) {
        types[i] = &schema->fields[i].type;
    }
    fl_arena arena;
    fl_buf out;
    fluss_error_t err;
    fl_arena_init(&arena);
    fl_buf_init(&out, ROW_SIZE_MAX);
    err.message[0] = '\0';
    const fluss_code_t rc =
        fl_row_decode(format, types, row, schema->field_count, &arena, values, &err);
    FL_ASSERT(arena.size_total <= ARENA_SIZE_MIN + GROWTH_MAX * row.size);
    FL_ASSERT(rc == 0 || err.message[0] != '\0');
    /* Overlapping texts can make the row much larger than it was. */
    if (rc == 0 && fl_row_encode(format, types, values, schema->field_count, &out, &err) == 0) {
        const fluss_code_t back_rc = fl_row_decode(format, types, fl_buf_slice(&out),
                                                   schema->field_count, &arena, again, &err);
        FL_ASSERT(back_rc == 0);
        for (size_t i = 0; i < schema->field_count; i++) {
            FL_ASSERT(fl_datum_equal(&values[i], &again[i]));
        }
    }
    fl_buf_deinit(&out);
    fl_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    fl_arena arena;
    fl_type schema;
    fl_arena_init(&arena);
    const fluss_code_t rc = fl_type_parse(schemas[data[0] / FORMAT_COUNT % FL_COUNT_OF(schemas)],
                                          &arena, &schema, NULL);
    FL_ASSERT(rc == 0);
    check_row((fl_row_format)(data[0] % FORMAT_COUNT), &schema, fl_slice_of(data + 1, size - 1));
    fl_arena_deinit(&arena);
    return 0;
}
