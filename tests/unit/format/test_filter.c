/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a condition passes the rows that SQL says, and a batch is left out only when no row of it
 * could pass. Method: tables of truth; then every pair of values as the batch [a, b] under every
 * condition: what one of its rows passes, its statistics must let through. */
#include "format/filter.h"

#include <math.h>

#include "value_support.h"

enum { VALUE_MAX = 12 };

static const fl_filter_op comparisons[] = {FL_FILTER_EQ, FL_FILTER_NE, FL_FILTER_LT,
                                           FL_FILTER_LE, FL_FILTER_GT, FL_FILTER_GE};
static const fluss_datum_t null_datum = {.type = FLUSS_NULL};

static fluss_datum_t number(double value)
{
    return (fluss_datum_t){.type = FLUSS_DOUBLE, .v.f = value};
}

static fluss_datum_t text(const char *value)
{
    return (fluss_datum_t){.type = FLUSS_STRING, .v.s = {.ptr = value, .len = strlen(value)}};
}

typedef struct column {
    fl_schema *schema;
    struct ArrowArray array;
    fl_arrow_rows *rows;
} column;

/* A column of these values. */
static column column_of(const char *type, const fluss_datum_t *values, size_t count)
{
    column c = {.schema = SCHEMA(type)};
    fl_arrow_builder *builder;
    assert_int_equal(fl_arrow_builder_new(c.schema, &builder, &error), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(fl_arrow_builder_append(builder, &values[i], &error), 0);
    }
    assert_int_equal(fl_arrow_builder_finish(builder, &c.array, &error), 0);
    fl_arrow_builder_free(builder);
    assert_int_equal(fl_arrow_rows_new(c.schema, &c.array, &c.rows, &error), 0);
    return c;
}

static void free_column(column *c)
{
    fl_arrow_rows_free(c->rows);
    c->array.release(&c->array);
    fl_schema_unref(c->schema);
}

static fl_filter condition(const column *c, fl_filter_op op, const fluss_datum_t *literals,
                           size_t count)
{
    return (fl_filter){.op = op,
                       .column_id = c->schema->columns[0].id,
                       .type = c->schema->columns[0].type,
                       .literals = literals,
                       .count = count};
}

static bool passes(const column *c, const fl_filter *filter, int64_t row)
{
    fl_arena arena;
    bool result;
    fl_arena_init(&arena);
    assert_int_equal(fl_filter_test_row(filter, c->schema, c->rows, row, &arena, &result, &error),
                     0);
    fl_arena_deinit(&arena);
    return result;
}

/* Whether the statistics of all rows of the column let them through. */
static bool may_match(const column *c, const fl_filter *filter)
{
    const uint32_t columns[] = {0};
    fl_statistics_column *found;
    size_t count;
    fl_buf block;
    fl_arena arena;
    fl_arena_init(&arena);
    fl_buf_init(&block, 1 << 16);
    assert_int_equal(
        fl_statistics_write(c->schema, &c->array, 0, c->array.length, columns, 1, &block, &error),
        0);
    assert_int_equal(
        fl_statistics_read(fl_buf_slice(&block), c->schema, &arena, &found, &count, &error), 0);
    const bool result = fl_filter_may_match(filter, c->schema, c->array.length, found, count);
    fl_buf_deinit(&block);
    fl_arena_deinit(&arena);
    return result;
}

/* ---- rows ---- */

static void a_comparison_with_null_does_not_pass(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {number(1), null_datum};
    column c = column_of("x DOUBLE", values, 2);
    for (size_t i = 0; i < FL_COUNT_OF(comparisons); i++) {
        const fl_filter with_null = condition(&c, comparisons[i], &null_datum, 1);
        assert_false(passes(&c, &with_null, 0));
        assert_false(passes(&c, &with_null, 1));
        assert_false(may_match(&c, &with_null));
        const fl_filter with_value = condition(&c, comparisons[i], values, 1);
        assert_false(passes(&c, &with_value, 1));
    }
    free_column(&c);
}

static void null_tests_see_nulls(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {number(1), null_datum};
    column c = column_of("x DOUBLE", values, 2);
    const fl_filter is_null = condition(&c, FL_FILTER_IS_NULL, NULL, 0);
    const fl_filter is_not = condition(&c, FL_FILTER_NOT_NULL, NULL, 0);
    assert_true(!passes(&c, &is_null, 0) && passes(&c, &is_null, 1));
    assert_true(passes(&c, &is_not, 0) && !passes(&c, &is_not, 1));
    free_column(&c);
}

static void lists_know_what_is_unknown(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {number(1), number(2), null_datum};
    const fluss_datum_t list[] = {number(1), null_datum};
    column c = column_of("x DOUBLE", values, 3);
    static const struct {
        fl_filter_op op;
        size_t count;
        bool passes[3]; /* of 1, 2 and null */
    } cases[] = {
        {FL_FILTER_IN, 0, {false, false, false}},    {FL_FILTER_IN, 1, {true, false, false}},
        {FL_FILTER_IN, 2, {true, false, false}},     {FL_FILTER_NOT_IN, 0, {true, true, false}},
        {FL_FILTER_NOT_IN, 1, {false, true, false}}, {FL_FILTER_NOT_IN, 2, {false, false, false}},
    };
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        const fl_filter filter = condition(&c, cases[i].op, list, cases[i].count);
        for (int64_t row = 0; row < 3; row++) {
            assert_int_equal(passes(&c, &filter, row), cases[i].passes[row]);
        }
    }
    free_column(&c);
}

static void a_column_that_came_later_is_null(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {number(1)};
    column c = column_of("x DOUBLE", values, 1);
    fl_filter filter = condition(&c, FL_FILTER_IS_NULL, NULL, 0);
    filter.column_id = 99;
    assert_true(passes(&c, &filter, 0));
    assert_true(may_match(&c, &filter));
    filter = condition(&c, FL_FILTER_EQ, values, 1);
    filter.column_id = 99;
    assert_false(passes(&c, &filter, 0));
    assert_true(may_match(&c, &filter)); /* it is not known */
    free_column(&c);
}

static void and_and_or_join(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {number(1), number(2)};
    column c = column_of("x DOUBLE", values, 2);
    const fl_filter both[] = {condition(&c, FL_FILTER_EQ, &values[0], 1),
                              condition(&c, FL_FILTER_EQ, &values[1], 1)};
    const fl_filter all = {.op = FL_FILTER_ALL, .children = both, .count = 2};
    const fl_filter any = {.op = FL_FILTER_ANY, .children = both, .count = 2};
    const fl_filter none = {.op = FL_FILTER_ANY}, every = {.op = FL_FILTER_ALL};
    assert_true(!passes(&c, &all, 0) && passes(&c, &any, 0) && passes(&c, &any, 1));
    assert_true(!passes(&c, &none, 0) && passes(&c, &every, 0));
    assert_true(may_match(&c, &all) && may_match(&c, &any) && may_match(&c, &every));
    assert_false(may_match(&c, &none));
    free_column(&c);
}

/* ---- batches ---- */

/* Each pair of values as a batch, under each condition with each literal. */
static void check_pairs(const char *type, const fluss_datum_t *values, size_t count, bool is_text)
{
    int left_out = 0;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < count; b++) {
            const fluss_datum_t rows[] = {values[a], values[b]};
            column c = column_of(type, rows, 2);
            for (size_t i = 0; i < count; i++) {
                for (int op = FL_FILTER_EQ; op <= FL_FILTER_NOT_IN; op++) {
                    const bool is_null_test = op == FL_FILTER_IS_NULL || op == FL_FILTER_NOT_NULL;
                    if (!is_text && op >= FL_FILTER_STARTS && op <= FL_FILTER_ENDS) {
                        continue;
                    }
                    const fl_filter filter =
                        condition(&c, (fl_filter_op)op, &values[i], is_null_test ? 0 : 1);
                    const bool may = may_match(&c, &filter);
                    left_out += !may;
                    assert_true(may || !(passes(&c, &filter, 0) || passes(&c, &filter, 1)));
                }
            }
            free_column(&c);
        }
    }
    assert_true(left_out > 0);
}

static void no_row_is_lost_among_floats(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {null_datum,  number(-INFINITY), number(-1.5), number(-0.0),
                                    number(0.0), number(1e-300),    number(7),    number(INFINITY),
                                    number(NAN), number(-NAN)};
    check_pairs("x DOUBLE", values, FL_COUNT_OF(values), false);
}

static void no_row_is_lost_among_texts(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {null_datum,
                                    text(""),
                                    text("a"),
                                    text("ab"),
                                    text("ab\x7f"),
                                    text("abcdefgh"),
                                    text("abcdefghi"),
                                    text("b"),
                                    text("\xc3\xa9"),
                                    text("\xef\xbf\xbf"),
                                    text("\xf0\x9f\x98\x80")};
    check_pairs("x STRING", values, FL_COUNT_OF(values), true);
    check_pairs("x CHAR(10)", values, FL_COUNT_OF(values), true);
}

static void no_row_is_lost_among_wide_decimals(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "-99999999999999999999.99999", "-1", "0", "0.00001", "18446744073709551616",
        "99999999999999999999.99999"};
    fluss_datum_t values[FL_COUNT_OF(texts) + 1] = {null_datum};
    for (size_t i = 0; i < FL_COUNT_OF(texts); i++) {
        assert_int_equal(fl_decimal_parse(texts[i], 25, 5, &values[i + 1], &error), 0);
    }
    check_pairs("x DECIMAL(25, 5)", values, FL_COUNT_OF(values), false);
}

static void no_row_is_lost_among_moments(void **state)
{
    (void)state;
    fluss_datum_t values[VALUE_MAX] = {null_datum};
    for (int i = 1; i < VALUE_MAX; i++) {
        values[i] =
            (fluss_datum_t){.type = FLUSS_TIMESTAMP, .v.i = (i - 5) / 2, .nanos = i % 2 * 999999};
    }
    check_pairs("x TIMESTAMP(9)", values, VALUE_MAX, false);
}

static void bounds_that_are_not_known_let_all_through(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {number(1)};
    column c = column_of("x DOUBLE", values, 1);
    /* As Java writes it for CHAR: no bounds though no value is null. */
    const fl_statistics_column unknown = {.null_count = 0};
    for (size_t i = 0; i < FL_COUNT_OF(comparisons); i++) {
        const fl_filter filter = condition(&c, comparisons[i], values, 1);
        assert_true(fl_filter_may_match(&filter, c.schema, 5, &unknown, 1));
        assert_true(fl_filter_may_match(&filter, c.schema, 5, NULL, 0));
    }
    const fl_statistics_column nulls = {.null_count = 5};
    const fl_filter equal = condition(&c, FL_FILTER_EQ, values, 1);
    assert_false(fl_filter_may_match(&equal, c.schema, 5, &nulls, 1));
    free_column(&c);
}

static void a_type_that_differs_tells_nothing(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {number(1)}, other[] = {number(100)};
    column c = column_of("x DOUBLE", values, 1);
    fl_filter filter = condition(&c, FL_FILTER_EQ, other, 1);
    assert_false(may_match(&c, &filter));
    filter.type.root = FLUSS_FLOAT;
    assert_true(may_match(&c, &filter));
    free_column(&c);
}

static void wrong_conditions_are_refused(void **state)
{
    (void)state;
    const fluss_datum_t values[] = {number(1), number(2)};
    column c = column_of("x DOUBLE", values, 2);
    const fl_filter wrong[] = {
        condition(&c, FL_FILTER_EQ, values, 0),      condition(&c, FL_FILTER_EQ, values, 2),
        condition(&c, FL_FILTER_IS_NULL, values, 1), condition(&c, FL_FILTER_STARTS, values, 1),
        condition(&c, (fl_filter_op)13, values, 1),  condition(&c, (fl_filter_op)-1, values, 1),
    };
    for (size_t i = 0; i < FL_COUNT_OF(wrong); i++) {
        assert_int_not_equal(fl_filter_check(&wrong[i], "x", &error), 0);
        assert_non_null(strstr(error.message, "'x'"));
    }
    free_column(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comparison_with_null_does_not_pass),
        cmocka_unit_test(null_tests_see_nulls),
        cmocka_unit_test(lists_know_what_is_unknown),
        cmocka_unit_test(a_column_that_came_later_is_null),
        cmocka_unit_test(and_and_or_join),
        cmocka_unit_test(no_row_is_lost_among_floats),
        cmocka_unit_test(no_row_is_lost_among_texts),
        cmocka_unit_test(no_row_is_lost_among_wide_decimals),
        cmocka_unit_test(no_row_is_lost_among_moments),
        cmocka_unit_test(bounds_that_are_not_known_let_all_through),
        cmocka_unit_test(a_type_that_differs_tells_nothing),
        cmocka_unit_test(wrong_conditions_are_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_frame_pool_drain();
    return failed;
}
