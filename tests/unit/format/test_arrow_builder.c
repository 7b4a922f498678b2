/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: rows become columns whole or not at all, and values at the edges of their types come back
 * as they went in. Method: tables of values; rows that fail in their last column. */
#include "arrow_support.h"

static fl_arrow_builder *builder_of(const fl_schema *schema)
{
    fl_arrow_builder *builder;
    OK(fl_arrow_builder_new(schema, &builder, &error));
    return builder;
}

static fluss_datum_t timestamp(fluss_type_t type, int64_t ms, int32_t nanos)
{
    return (fluss_datum_t){.type = (uint8_t)type, .nanos = nanos, .v.i = ms};
}

static fluss_datum_t decimal(int64_t hi, uint64_t lo)
{
    return (fluss_datum_t){.type = FLUSS_DECIMAL, .precision = 38, .v.dec = {.hi = hi, .lo = lo}};
}

static fluss_datum_t real(fluss_type_t type, double value)
{
    return (fluss_datum_t){.type = (uint8_t)type, .v.f = value};
}

typedef struct edge {
    const char *type;
    fluss_datum_t value;
} edge;

/* Known fault A10: times far from 1970 and before it. */
static void values_at_the_edges_come_back(void **state)
{
    (void)state;
    const fluss_datum_t yes = {.type = FLUSS_BOOLEAN, .v.b = true};
    const fluss_datum_t no = {.type = FLUSS_BOOLEAN};
    const edge edges[] = {
        {"x BOOLEAN", yes},
        {"x BOOLEAN", no},
        {"x TINYINT", int_value(FLUSS_TINYINT, INT8_MIN)},
        {"x SMALLINT", int_value(FLUSS_SMALLINT, INT16_MIN)},
        {"x INT", int_value(FLUSS_INT, INT32_MIN)},
        {"x BIGINT", int_value(FLUSS_BIGINT, INT64_MIN)},
        {"x BIGINT", int_value(FLUSS_BIGINT, INT64_MAX)},
        {"x FLOAT", real(FLUSS_FLOAT, -0.0)},
        {"x FLOAT", real(FLUSS_FLOAT, __builtin_nan(""))},
        {"x DOUBLE", real(FLUSS_DOUBLE, 5e-324)},
        {"x DATE", int_value(FLUSS_DATE, INT32_MIN)},
        {"x TIME(0)", int_value(FLUSS_TIME, 86399000)},
        {"x TIME(3)", int_value(FLUSS_TIME, 86399999)},
        {"x TIME(6)", int_value(FLUSS_TIME, 86399999)},
        {"x TIME(9)", int_value(FLUSS_TIME, 86399999)},
        {"x TIMESTAMP(0)", timestamp(FLUSS_TIMESTAMP, -1000, 0)},
        {"x TIMESTAMP(3)", timestamp(FLUSS_TIMESTAMP, -2147483648999, 0)},
        {"x TIMESTAMP(3)", timestamp(FLUSS_TIMESTAMP, INT64_MIN, 0)},
        {"x TIMESTAMP(6)", timestamp(FLUSS_TIMESTAMP, -1, 999000)},
        {"x TIMESTAMP(6)", timestamp(FLUSS_TIMESTAMP, 253402300799999, 999000)},
        {"x TIMESTAMP(9)", timestamp(FLUSS_TIMESTAMP, -1, 999999)},
        {"x TIMESTAMP(9)", timestamp(FLUSS_TIMESTAMP, 9223372036854, 775807)},
        {"x TIMESTAMP(9)", timestamp(FLUSS_TIMESTAMP, -9223372036855, 224192)},
        {"x TIMESTAMP_LTZ(6)", timestamp(FLUSS_TIMESTAMP_LTZ, -62135596800000, 1000)},
        {"x DECIMAL(38,0)", decimal(0x4b3b4ca85a86c47a, 0x098a223fffffffff)},
        {"x DECIMAL(38,0)", decimal(-1, UINT64_MAX)},
        {"x STRING", text_value("")},
        {"x CHAR(3)", text_value("abc")},
    };
    for (size_t i = 0; i < FL_COUNT_OF(edges); i++) {
        fl_schema *schema = SCHEMA(edges[i].type);
        fl_arrow_builder *builder = builder_of(schema);
        struct ArrowArray array;
        fl_arrow_rows *rows;
        OK(fl_arrow_builder_append(builder, &edges[i].value, &error));
        OK(fl_arrow_builder_finish(builder, &array, &error));
        OK(fl_arrow_rows_new(schema, &array, &rows, &error));
        fluss_datum_t found, wanted = edges[i].value;
        OK(fl_arrow_rows_get(rows, 0, 0, NULL, &found, &error));
        wanted.type = schema->columns[0].type.root;
        if (!fl_datum_equal(&found, &wanted)) {
            fail_msg("edge %zu of %s: %lld and %d", i, edges[i].type, (long long)found.v.i,
                     found.nanos);
        }
        fl_arrow_rows_free(rows);
        release(&array);
        fl_arrow_builder_free(builder);
        fl_schema_unref(schema);
    }
}

static void values_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const edge edges[] = {
        {"x INT NOT NULL", null_value()},
        {"x INT", text_value("1")},
        {"x STRING", int_value(FLUSS_INT, 1)},
        {"x BIGINT", int_value(FLUSS_INT, 1)},
        {"x BINARY(3)", {.type = FLUSS_BINARY, .v.s = {.ptr = "abcd", .len = 4}}},
        {"x TIMESTAMP(9)", timestamp(FLUSS_TIMESTAMP, 9223372036854, 775808)},
        {"x TIMESTAMP(9)", timestamp(FLUSS_TIMESTAMP, -9223372036855, 224191)},
        {"x TIMESTAMP(6)", timestamp(FLUSS_TIMESTAMP, INT64_MAX / 1000 + 1, 0)},
        {"x ROW<a INT>", {.type = FLUSS_ROW}},
    };
    for (size_t i = 0; i < FL_COUNT_OF(edges); i++) {
        fl_schema *schema = SCHEMA(edges[i].type);
        fl_arrow_builder *builder = builder_of(schema);
        assert_int_equal(fl_arrow_builder_append(builder, &edges[i].value, &error), FLUSS_E_CLIENT);
        assert_int_equal(error.kind, FLUSS_KIND_ARGUMENT);
        assert_int_equal(strncmp(error.message, "Field 'x': ", 11), 0);
        assert_int_equal(fl_arrow_builder_rows(builder), 0);
        fl_arrow_builder_free(builder);
        fl_schema_unref(schema);
    }
}

/* Rows of every type, each second one failing in its last column. */
static void a_row_that_fails_leaves_nothing_behind(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA(ALL_TYPES);
    const size_t last = schema->column_count - 1; /* INT NOT NULL */
    fl_arrow_builder *plain = builder_of(schema), *broken = builder_of(schema);
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_datum_t *values = fl_calloc(schema->column_count, sizeof(*values));
    uint64_t random = 5;
    for (int row = 0; row < 300; row++) {
        for (size_t i = 0; i <= last; i++) {
            values[i] = random_value(&schema->columns[i].type, 30, &random, &arena);
        }
        OK(fl_arrow_builder_append(plain, values, &error));
        OK(fl_arrow_builder_append(broken, values, &error));
        for (size_t i = 0; i < last; i++) {
            values[i] = random_value(&schema->columns[i].type, 30, &random, &arena);
        }
        values[last] = null_value();
        const size_t bytes = fl_arrow_builder_bytes(broken);
        assert_int_not_equal(fl_arrow_builder_append(broken, values, &error), 0);
        assert_int_equal(fl_arrow_builder_rows(broken), row + 1);
        assert_true(fl_arrow_builder_bytes(broken) - bytes < 64); /* bitmaps may stay */
        fl_arena_reset(&arena);
    }
    struct ArrowArray a, b;
    OK(fl_arrow_builder_finish(plain, &a, &error));
    OK(fl_arrow_builder_finish(broken, &b, &error));
    assert_rows_equal(schema, &a, 0, &b, 0, 300);
    for (size_t i = 0; i <= last; i++) {
        assert_int_equal(a.children[i]->null_count, b.children[i]->null_count);
    }
    release(&a);
    release(&b);
    fl_free(values);
    fl_arena_deinit(&arena);
    fl_arrow_builder_free(plain);
    fl_arrow_builder_free(broken);
    fl_schema_unref(schema);
}

/* A list whose last element fails leaves no elements, a struct whose last field fails no fields. */
static void a_nested_value_that_fails_half_way_is_undone(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("a ARRAY<ROW<x INT NOT NULL, y STRING NOT NULL>>");
    fl_arrow_builder *builder = builder_of(schema);
    fluss_datum_t good[] = {int_value(FLUSS_INT, 1), text_value("one")};
    fluss_datum_t bad[] = {int_value(FLUSS_INT, 2), null_value()};
    fluss_datum_t items[] = {{.type = FLUSS_ROW, .v.list = {.items = good, .len = 2}},
                             {.type = FLUSS_ROW, .v.list = {.items = bad, .len = 2}}};
    fluss_datum_t value = {.type = FLUSS_ARRAY, .v.list = {.items = items, .len = 2}};
    for (int i = 0; i < 3; i++) {
        value.v.list.len = 2;
        assert_int_not_equal(fl_arrow_builder_append(builder, &value, &error), 0);
        value.v.list.len = 1;
        OK(fl_arrow_builder_append(builder, &value, &error));
    }
    struct ArrowArray array;
    OK(fl_arrow_builder_finish(builder, &array, &error));
    assert_int_equal(array.length, 3);
    const struct ArrowArray *rows = array.children[0]->children[0];
    assert_int_equal(rows->length, 3);
    assert_int_equal(rows->children[0]->length, 3);
    assert_memory_equal(rows->children[1]->buffers[2], "oneoneone", 9);
    release(&array);
    fl_arrow_builder_free(builder);
    fl_schema_unref(schema);
}

static void a_builder_is_used_again_after_finish(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("id INT", "s STRING", "b BOOLEAN");
    fl_arrow_builder *builder = builder_of(schema);
    struct ArrowArray kept[3];
    for (int batch = 0; batch < 3; batch++) {
        for (int i = 0; i < 5000 * batch; i++) {
            const fluss_datum_t row[] = {int_value(FLUSS_INT, i),
                                         i % 3 == batch ? null_value() : text_value("text"),
                                         {.type = FLUSS_BOOLEAN, .v.b = i % 2 == 0}};
            OK(fl_arrow_builder_append(builder, row, &error));
        }
        assert_int_equal(fl_arrow_builder_rows(builder), 5000 * batch);
        OK(fl_arrow_builder_finish(builder, &kept[batch], &error));
        assert_int_equal(fl_arrow_builder_rows(builder), 0);
    }
    fl_arrow_builder_free(builder); /* arrays live on */
    for (int batch = 0; batch < 3; batch++) {
        assert_int_equal(kept[batch].length, 5000 * batch);
        fl_arrow_rows *rows;
        OK(fl_arrow_rows_new(schema, &kept[batch], &rows, &error));
        for (int64_t i = 0; i < kept[batch].length; i++) {
            fluss_datum_t value;
            OK(fl_arrow_rows_get(rows, i, 0, NULL, &value, &error));
            assert_int_equal(value.v.i, i);
            OK(fl_arrow_rows_get(rows, i, 1, NULL, &value, &error));
            assert_int_equal(value.type, i % 3 == batch ? FLUSS_NULL : FLUSS_STRING);
        }
        fl_arrow_rows_free(rows);
        release(&kept[batch]);
    }
    fl_schema_unref(schema);
}

static void columns_of_an_older_schema_are_filled_with_nulls(void **state)
{
    (void)state;
    fl_schema *new = SCHEMA(ALL_TYPES);
    const uint32_t chosen[] = {3, 8, 26};
    fl_schema *old;
    OK(fl_schema_project(new, chosen, FL_COUNT_OF(chosen), &old, &error));
    struct ArrowArray array = random_array(old, 50, 20, 8), again = random_array(old, 50, 20, 8);
    struct ArrowArray wide;
    OK(fl_arrow_realign(old, &array, new, &wide, &error));
    assert_null(array.release);
    fl_arrow_rows *rows, *before;
    OK(fl_arrow_rows_new(new, &wide, &rows, &error));
    OK(fl_arrow_rows_new(old, &again, &before, &error));
    fl_arena arena;
    fl_arena_init(&arena);
    for (int64_t row = 0; row < 50; row++) {
        size_t next = 0;
        for (size_t i = 0; i < new->column_count; i++) {
            fluss_datum_t found, wanted = null_value();
            OK(fl_arrow_rows_get(rows, row, i, &arena, &found, &error));
            if (next < FL_COUNT_OF(chosen) && chosen[next] == i) {
                OK(fl_arrow_rows_get(before, row, next++, &arena, &wanted, &error));
            }
            assert_true(fl_datum_equal(&found, &wanted));
        }
    }
    fl_arena_deinit(&arena);
    fl_arrow_rows_free(rows);
    fl_arrow_rows_free(before);
    struct ArrowArray narrow;
    OK(fl_arrow_realign(new, &wide, old, &narrow, &error));
    assert_rows_equal(old, &again, 0, &narrow, 0, 50);
    release(&narrow);
    release(&again);
    fl_schema_unref(old);
    fl_schema_unref(new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_at_the_edges_come_back),
        cmocka_unit_test(values_that_do_not_fit_are_refused),
        cmocka_unit_test(a_row_that_fails_leaves_nothing_behind),
        cmocka_unit_test(a_nested_value_that_fails_half_way_is_undone),
        cmocka_unit_test(a_builder_is_used_again_after_finish),
        cmocka_unit_test(columns_of_an_older_schema_are_filled_with_nulls),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_frame_pool_drain();
    return failed;
}
