/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: merging has the rules of Fluss 1.0 also where the official server at hand, 0.9.1, has
 * others or none, and where clients do what theirs do not. Method: tables of cases over plain
 * values; everything else is compared with that server (tests/golden/test_merge.py). */
#include "../format/value_support.h"
#include "server/aggregate.h"
#include "server/merge.h"

enum { COLUMNS = 4 }; /* id, a, b, c */

static fl_arena arena;

/* ---- functions ---- */

static fl_column column_of(const char *type, const char *function)
{
    return (fl_column){.name = "x", .type = type_of(type), .agg_function = function};
}

static fluss_code_t aggregate(const fl_column *column, fluss_datum_t old, fluss_datum_t value,
                              fluss_datum_t *out)
{
    const fl_aggregator aggregator = fl_aggregator_of(column);
    return fl_aggregate(&aggregator, &old, &value, &arena, out, &error);
}

static void names_of_functions_have_any_case_and_hyphens(void **state)
{
    (void)state;
    fl_agg_function function;
    assert_true(fl_agg_function_find("last-value_IGNORE-nulls", &function));
    assert_int_equal(function, FL_AGG_LAST_VALUE_IGNORE_NULLS);
    assert_true(fl_agg_function_find("rbm64", &function));
    assert_string_equal(fl_agg_function_name(function), "RBM64");
    assert_false(fl_agg_function_find("sum ", &function));
    assert_false(fl_agg_function_find("", &function));
}

static void a_function_refuses_types_and_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *type, *function, *parameter, *value, *named;
    } cases[] = {{"STRING", "SUM", NULL, NULL, "a number"},
                 {"BYTES", "MAX", NULL, NULL, "date"},
                 {"BINARY(4)", "RBM32", NULL, NULL, "BYTES"},
                 {"INT", "BOOL_AND", NULL, NULL, "BOOLEAN"},
                 {"INT", "LISTAGG", NULL, NULL, "STRING"},
                 {"INT", "SUM", "delimiter", ";", "no parameter"},
                 {"STRING", "LISTAGG", "delimiter", "", "empty"},
                 {"STRING", "STRING_AGG", "separator", ";", "no parameter"}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        const fluss_kv_t parameter = {.key = cases[i].parameter, .value = cases[i].value};
        fl_column column = column_of(cases[i].type, cases[i].function);
        column.agg_parameters = &parameter;
        column.agg_parameter_count = parameter.key != NULL;
        assert_int_equal(fl_agg_function_check(&column, &error), FLUSS_E_INVALID_CONFIG);
        assert_non_null(strstr(error.message, cases[i].named));
    }
}

static void a_decimal_sum_of_few_digits_that_exceeds_them_is_refused(void **state)
{
    (void)state;
    const fl_column few = column_of("DECIMAL(4,2)", "SUM"),
                    many = column_of("DECIMAL(20,2)", "SUM");
    fluss_datum_t out;
    OK(aggregate(&few, decimal_value("99.98", 4, 2), decimal_value("0.01", 4, 2), &out));
    assert_int_equal(out.v.dec.lo, 9999);
    assert_int_equal(
        aggregate(&few, decimal_value("99.99", 4, 2), decimal_value("0.01", 4, 2), &out),
        FLUSS_E_SERVER_UNKNOWN);
    assert_non_null(strstr(error.message, "'x'"));
    OK(aggregate(&many, decimal_value("999999999999999999.99", 20, 2), decimal_value("0.01", 20, 2),
                 &out));
    assert_int_equal(out.type, FLUSS_NULL);
}

static void bytes_that_are_no_bitmap_are_refused_once_and_for_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const fl_column column = column_of("BYTES", i == 0 ? "RBM32" : "RBM64");
        fluss_datum_t out;
        OK(aggregate(&column, null_value(), bytes_value("junk", 4), &out)); /* as it was sent */
        assert_int_equal(aggregate(&column, bytes_value("junk", 4), bytes_value("junk", 4), &out),
                         FLUSS_E_SERVER_UNKNOWN);
        assert_non_null(strstr(error.message, "column 'x', RBM"));
    }
}

/* ---- rows ---- */

static fl_schema *make_schema(bool is_strict)
{
    static const char *const names[COLUMNS] = {"id", "a", "b", "c"};
    const char *types[COLUMNS] = {"INT NOT NULL", is_strict ? "INT NOT NULL" : "INT", "STRING",
                                  "INT"};
    fl_schema *schema = fl_schema_new();
    assert_non_null(schema);
    for (size_t i = 0; i < COLUMNS; i++) {
        const fl_type type = type_of(types[i]);
        OK(fl_schema_add(schema, names[i], &type, NULL, &error));
    }
    OK(fl_schema_set_primary_key(schema, names, 1, &error));
    return schema;
}

static const int32_t all_columns[COLUMNS] = {0, 1, 2, 3};

static void targets_that_cover_the_table_are_a_whole_row(void **state)
{
    (void)state;
    fl_schema *schema = make_schema(true);
    bool is_target[COLUMNS];
    fl_merge merge = {.schema = schema, .engine = FL_MERGE_NONE};
    OK(fl_merge_set_targets(&merge, all_columns, COLUMNS, is_target, &error));
    assert_null(merge.is_target);
    assert_false(fl_merge_needs_old(&merge));
    /* Not with an engine, which has rules of its own for each column. */
    merge.engine = FL_MERGE_AGGREGATION;
    assert_int_equal(fl_merge_set_targets(&merge, all_columns, COLUMNS, is_target, &error),
                     FLUSS_E_INVALID_TARGET_COLUMN);
    fl_schema_unref(schema);
}

static void wrong_targets_name_the_column(void **state)
{
    (void)state;
    fl_schema *schema = make_schema(false), *strict = make_schema(true);
    static const int32_t no_key[] = {1, 2}, twice[] = {0, 1, 1}, beyond[] = {0, 4}, few[] = {0, 2};
    const struct {
        const fl_schema *schema;
        fl_merge_engine engine;
        const int32_t *columns;
        size_t count;
        const char *named;
    } cases[] = {{schema, FL_MERGE_NONE, no_key, 2, "'id'"},
                 {schema, FL_MERGE_NONE, twice, 3, "'a'"},
                 {schema, FL_MERGE_NONE, beyond, 2, "index 4"},
                 {strict, FL_MERGE_NONE, few, 2, "'a'"},
                 {strict, FL_MERGE_AGGREGATION, few, 2, "'a'"},
                 {schema, FL_MERGE_FIRST_ROW, few, 2, "first_row"},
                 {schema, FL_MERGE_VERSIONED, few, 2, "versioned"}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        bool is_target[COLUMNS];
        fl_merge merge = {.schema = cases[i].schema, .engine = cases[i].engine};
        assert_int_equal(
            fl_merge_set_targets(&merge, cases[i].columns, cases[i].count, is_target, &error),
            FLUSS_E_INVALID_TARGET_COLUMN);
        assert_non_null(strstr(error.message, cases[i].named));
    }
    fl_schema_unref(schema);
    fl_schema_unref(strict);
}

/* Values outside the target columns, which no official client sends, are not stored. */
static void the_first_row_of_a_key_has_only_its_targets(void **state)
{
    (void)state;
    fl_schema *schema = make_schema(false);
    static const int32_t targets[] = {0, 2};
    const fluss_datum_t row[COLUMNS] = {int_value(FLUSS_INT, 1), int_value(FLUSS_INT, 99),
                                        text_value("b"), int_value(FLUSS_INT, 7)};
    static const fl_merge_engine engines[] = {FL_MERGE_NONE, FL_MERGE_AGGREGATION};
    for (size_t i = 0; i < FL_COUNT_OF(engines); i++) {
        bool is_target[COLUMNS];
        fluss_datum_t out[COLUMNS];
        fl_merged merged;
        fl_merge merge = {.schema = schema, .engine = engines[i]};
        OK(fl_merge_set_targets(&merge, targets, 2, is_target, &error));
        OK(fl_merge_upsert(&merge, NULL, row, &arena, out, &merged, &error));
        assert_int_equal(merged, FL_MERGED_OUT);
        assert_true(fl_datum_equal(&out[0], &row[0]) && fl_datum_equal(&out[2], &row[2]));
        assert_true(out[1].type == FLUSS_NULL && out[3].type == FLUSS_NULL);
    }
    fl_schema_unref(schema);
}

static void a_null_version_is_the_smallest(void **state)
{
    (void)state;
    fl_schema *schema = make_schema(false);
    const fl_merge merge = {.schema = schema, .engine = FL_MERGE_VERSIONED, .version_column = 1};
    static const struct {
        int old, written; /* version; 0: null */
        fl_merged wanted;
    } cases[] = {{5, 3, FL_MERGED_OLD}, {5, 5, FL_MERGED_NEW}, {5, 6, FL_MERGED_NEW},
                 {5, 0, FL_MERGED_OLD}, {0, 5, FL_MERGED_NEW}, {0, 0, FL_MERGED_NEW}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        fluss_datum_t old[COLUMNS] = {int_value(FLUSS_INT, 1), int_value(FLUSS_INT, cases[i].old)};
        fluss_datum_t row[COLUMNS] = {int_value(FLUSS_INT, 1),
                                      int_value(FLUSS_INT, cases[i].written)};
        fluss_datum_t out[COLUMNS];
        fl_merged merged;
        old[1] = cases[i].old == 0 ? null_value() : old[1];
        row[1] = cases[i].written == 0 ? null_value() : row[1];
        OK(fl_merge_upsert(&merge, old, row, &arena, out, &merged, &error));
        assert_int_equal(merged, cases[i].wanted);
    }
    fl_schema_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_functions_have_any_case_and_hyphens),
        cmocka_unit_test(a_function_refuses_types_and_parameters),
        cmocka_unit_test(a_decimal_sum_of_few_digits_that_exceeds_them_is_refused),
        cmocka_unit_test(bytes_that_are_no_bitmap_are_refused_once_and_for_all),
        cmocka_unit_test(targets_that_cover_the_table_are_a_whole_row),
        cmocka_unit_test(wrong_targets_name_the_column),
        cmocka_unit_test(the_first_row_of_a_key_has_only_its_targets),
        cmocka_unit_test(a_null_version_is_the_smallest),
    };
    fl_arena_init(&arena);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_arena_deinit(&arena);
    fl_arena_deinit(&type_arena);
    return failed;
}
