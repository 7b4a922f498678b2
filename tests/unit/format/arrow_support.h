/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of Arrow, log batches, projection and statistics share: schemas from text, values,
 * hexadecimal, comparisons. */
#ifndef FL_TEST_ARROW_SUPPORT_H
#define FL_TEST_ARROW_SUPPORT_H
#include <nanoarrow/nanoarrow.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka.h needs the above first */
#include <cmocka.h>

#include "base/alloc.h"
#include "format/arrow.h"
#include "format/datum.h"
#include "format/projection.h"
#include "format/statistics.h"

/** End the test with the error's message unless the call succeeded. */
#define OK(expr)                                      \
    do {                                              \
        if ((expr) != 0) {                            \
            fail_msg("%s: %s", #expr, error.message); \
        }                                             \
    } while (0)

static FL_UNUSED fluss_error_t error;

/** A schema from "name TYPE" texts, NULL at the end. */
static FL_UNUSED fl_schema *schema_of(const char *const *columns)
{
    fl_schema *schema = fl_schema_new();
    fl_arena arena;
    fl_arena_init(&arena);
    for (; *columns != NULL; columns++) {
        const char *space = strchr(*columns, ' ');
        char name[64];
        (void)snprintf(name, sizeof(name), "%.*s", (int)(space - *columns), *columns);
        fl_type type;
        OK(fl_type_parse(space + 1, &arena, &type, &error));
        OK(fl_schema_add(schema, name, &type, NULL, &error));
    }
    fl_arena_deinit(&arena);
    return schema;
}
#define SCHEMA(...) schema_of((const char *const[]){__VA_ARGS__, NULL})

static FL_UNUSED fluss_datum_t null_value(void)
{
    return (fluss_datum_t){.type = FLUSS_NULL};
}
static FL_UNUSED fluss_datum_t int_value(fluss_type_t type, int64_t value)
{
    return (fluss_datum_t){.type = (uint8_t)type, .v.i = value};
}
static FL_UNUSED fluss_datum_t text_value(const char *text)
{
    return (fluss_datum_t){.type = FLUSS_STRING, .v.s = {.ptr = text, .len = strlen(text)}};
}

/** Bytes of a hexadecimal text, blanks ignored; free with fl_free. */
static FL_UNUSED fl_slice from_hex(const char *text)
{
    uint8_t *bytes = fl_alloc(strlen(text) / 2 + 1);
    size_t size = 0;
    unsigned high = 0;
    bool half = false;
    for (; *text != '\0'; text++) {
        unsigned digit;
        if (*text >= '0' && *text <= '9') {
            digit = (unsigned)(*text - '0');
        } else if (*text >= 'a' && *text <= 'f') {
            digit = (unsigned)(*text - 'a') + 10;
        } else {
            continue;
        }
        if (half) {
            bytes[size++] = (uint8_t)(high << 4 | digit);
        }
        high = digit;
        half = !half;
    }
    return fl_slice_of(bytes, size);
}
static FL_UNUSED void free_bytes(fl_slice bytes)
{
    fl_free((void *)(uintptr_t)bytes.data);
}

/** A copy of bytes in a frame, `lead` bytes after its start. */
static FL_UNUSED fl_frame *frame_of(fl_slice bytes, size_t lead)
{
    fl_frame *frame = fl_frame_new(bytes.size + lead);
    assert_non_null(frame);
    memcpy(frame->data + lead, bytes.data, bytes.size);
    frame->size = bytes.size + lead;
    return frame;
}

static FL_UNUSED void assert_rows_equal(const fl_schema *schema, const struct ArrowArray *a,
                                        int64_t a_from, const struct ArrowArray *b, int64_t b_from,
                                        int64_t count)
{
    fl_arrow_rows *rows_a, *rows_b;
    OK(fl_arrow_rows_new(schema, a, &rows_a, &error));
    OK(fl_arrow_rows_new(schema, b, &rows_b, &error));
    fl_arena arena;
    fl_arena_init(&arena);
    for (int64_t row = 0; row < count; row++) {
        for (size_t column = 0; column < schema->column_count; column++) {
            fluss_datum_t left, right;
            OK(fl_arrow_rows_get(rows_a, a_from + row, column, &arena, &left, &error));
            OK(fl_arrow_rows_get(rows_b, b_from + row, column, &arena, &right, &error));
            if (!fl_datum_equal(&left, &right)) {
                fail_msg("row %lld column '%s' differs", (long long)row,
                         schema->columns[column].name);
            }
        }
        fl_arena_reset(&arena);
    }
    fl_arena_deinit(&arena);
    fl_arrow_rows_free(rows_a);
    fl_arrow_rows_free(rows_b);
}

static FL_UNUSED void release(struct ArrowArray *array)
{
    if (array->release != NULL) {
        array->release(array);
    }
}

/** xorshift, seeded: the same values in each run. */
static FL_UNUSED uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static FL_UNUSED fluss_datum_t *list_items(fl_arena *arena, size_t count)
{
    fluss_datum_t *items = fl_arena_array(arena, count + 1, sizeof(*items));
    assert_non_null(items);
    return items;
}

static FL_UNUSED fluss_datum_t random_value(const fl_type *type, unsigned null_percent,
                                            uint64_t *state, fl_arena *arena);

/** Text or bytes of at most 20 letters, sometimes one that takes two bytes. */
static FL_UNUSED void random_bytes(const fl_type *type, uint64_t *state, fl_arena *arena,
                                   fluss_datum_t *value)
{
    size_t size = type->root == FLUSS_BINARY ? (size_t)type->length : next_random(state) % 20;
    if (type->root == FLUSS_CHAR && size > (size_t)type->length) {
        size = (size_t)type->length;
    }
    char *text = fl_arena_alloc(arena, size + 1);
    for (size_t i = 0; i < size; i++) {
        text[i] = (char)('a' + next_random(state) % 26);
    }
    if (type->root == FLUSS_STRING && size >= 2 && text[0] < 'f') {
        memcpy(text, "\xc3\xa9", 2);
    }
    value->v.s.ptr = text;
    value->v.s.len = size;
}

static FL_UNUSED void random_time(const fl_type *type, uint64_t wide, fluss_datum_t *value)
{
    const int64_t seconds = type->root == FLUSS_TIME ? (int64_t)(wide % 86400)
                                                     : (int64_t)(wide % 4000000000u) - 2000000000;
    value->v.i = seconds * 1000;
    if (type->precision >= 3) {
        value->v.i += (int64_t)(wide >> 40) % 1000;
    }
    if (type->root != FLUSS_TIME && type->precision >= 6) {
        value->nanos = (int32_t)(wide >> 44) % 1000 * 1000;
    }
    if (type->root != FLUSS_TIME && type->precision >= 9) {
        value->nanos += (int32_t)(wide >> 48) % 1000;
    }
}

static FL_UNUSED void random_nested(const fl_type *type, unsigned null_percent, uint64_t *state,
                                    fl_arena *arena, fluss_datum_t *value)
{
    const size_t step = type->field_count;
    const size_t count = type->root == FLUSS_ROW ? step : next_random(state) % 5 * step;
    fluss_datum_t *items = list_items(arena, count);
    for (size_t i = 0; i < count; i++) {
        items[i] = random_value(&type->fields[i % step].type, null_percent, state, arena);
    }
    value->v.list.items = items;
    value->v.list.len = count;
}

/** A value of a type, null in `null_percent` of the cases where the type allows it. */
static FL_UNUSED fluss_datum_t random_value(const fl_type *type, unsigned null_percent,
                                            uint64_t *state, fl_arena *arena)
{
    if (type->nullable && next_random(state) % 100 < null_percent) {
        return null_value();
    }
    fluss_datum_t value = {.type = type->root};
    const uint64_t wide = next_random(state);
    switch (type->root) {
    case FLUSS_BOOLEAN:
        value.v.b = wide & 1;
        break;
    case FLUSS_TINYINT:
        value.v.i = (int8_t)wide;
        break;
    case FLUSS_SMALLINT:
        value.v.i = (int16_t)wide;
        break;
    case FLUSS_INT:
        value.v.i = (int32_t)wide;
        break;
    case FLUSS_BIGINT:
        value.v.i = (int64_t)wide;
        break;
    case FLUSS_FLOAT:
        value.v.f = (float)(int32_t)wide / 16.0f;
        break;
    case FLUSS_DOUBLE:
        value.v.f = (double)(int64_t)wide / 16.0;
        break;
    case FLUSS_DATE:
        value.v.i = (int64_t)(wide % 100000) - 50000;
        break;
    case FLUSS_TIME:
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        random_time(type, wide, &value);
        break;
    case FLUSS_DECIMAL:
        value.precision = type->precision;
        value.scale = type->scale;
        value.v.dec.hi = (wide & 1) != 0 ? -1 : 0;
        value.v.dec.lo = (uint64_t)value.v.dec.hi ^ (wide >> 1) % 500000000;
        break;
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW:
        random_nested(type, null_percent, state, arena, &value);
        break;
    default:
        random_bytes(type, state, arena, &value);
    }
    return value;
}

/** A struct array of random rows. */
static FL_UNUSED struct ArrowArray random_array(const fl_schema *schema, int64_t rows,
                                                unsigned null_percent, uint64_t seed)
{
    fl_arrow_builder *builder;
    OK(fl_arrow_builder_new(schema, &builder, &error));
    fl_arena arena;
    fl_arena_init(&arena);
    uint64_t state = seed * 2654435761u + 1;
    fluss_datum_t *values = fl_calloc(schema->column_count, sizeof(*values));
    for (int64_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < schema->column_count; i++) {
            values[i] = random_value(&schema->columns[i].type, null_percent, &state, &arena);
        }
        OK(fl_arrow_builder_append(builder, values, &error));
        fl_arena_reset(&arena);
    }
    struct ArrowArray array;
    OK(fl_arrow_builder_finish(builder, &array, &error));
    fl_free(values);
    fl_arena_deinit(&arena);
    fl_arrow_builder_free(builder);
    return array;
}

/** Every scalar type, and nested ones. */
#define ALL_TYPES                                                                                  \
    "b BOOLEAN", "i8 TINYINT", "i16 SMALLINT", "i32 INT", "i64 BIGINT", "f32 FLOAT", "f64 DOUBLE", \
        "c CHAR(7)", "s STRING", "bin BINARY(3)", "by BYTES", "d1 DECIMAL(10,2)",                  \
        "d2 DECIMAL(38,18)", "d DATE", "t0 TIME(0)", "t3 TIME(3)", "t6 TIME(6)", "t9 TIME(9)",     \
        "ts0 TIMESTAMP(0)", "ts3 TIMESTAMP(3)", "ts6 TIMESTAMP(6)", "ts9 TIMESTAMP(9)",            \
        "lt0 TIMESTAMP_LTZ(0)", "lt3 TIMESTAMP_LTZ(3)", "lt6 TIMESTAMP_LTZ(6)",                    \
        "lt9 TIMESTAMP_LTZ(9)", "arr ARRAY<INT>", "arr2 ARRAY<ARRAY<STRING>>",                     \
        "m MAP<STRING NOT NULL, INT>", "m2 MAP<INT NOT NULL, ROW<x STRING, y BOOLEAN>>",           \
        "r ROW<a INT, b STRING, c ROW<d DOUBLE, e ARRAY<BOOLEAN>>>",                               \
        "ar ARRAY<ROW<x BIGINT, y DECIMAL(20,3)>>", "nn INT NOT NULL"
#endif
