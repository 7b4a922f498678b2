/* SPDX-License-Identifier: Apache-2.0 */
/* Which aggregation functions take which types and parameters. Source: AggFunctionType, Fluss 1.0.
 */
#include "format/table_rules.h"

enum {
    NUMERIC = 1 << FLUSS_TINYINT | 1 << FLUSS_SMALLINT | 1 << FLUSS_INT | 1 << FLUSS_BIGINT |
        1 << FLUSS_FLOAT | 1 << FLUSS_DOUBLE | 1 << FLUSS_DECIMAL,
    TEXT = 1 << FLUSS_CHAR | 1 << FLUSS_STRING,
    ORDERED = NUMERIC | TEXT | 1 << FLUSS_DATE | 1 << FLUSS_TIME | 1 << FLUSS_TIMESTAMP |
        1 << FLUSS_TIMESTAMP_LTZ,
    ANY = 0xFFFFFF
};

static const struct {
    const char *name;
    uint32_t types;
    bool has_delimiter;
    const char *wanted;
} functions[] = {
    {"SUM", NUMERIC, false, "a number"},
    {"PRODUCT", NUMERIC, false, "a number"},
    {"MAX", ORDERED, false, "a number, text, date or time"},
    {"MIN", ORDERED, false, "a number, text, date or time"},
    {"LISTAGG", TEXT, true, "STRING or CHAR"},
    {"STRING_AGG", TEXT, true, "STRING or CHAR"},
    {"BOOL_AND", 1 << FLUSS_BOOLEAN, false, "BOOLEAN"},
    {"BOOL_OR", 1 << FLUSS_BOOLEAN, false, "BOOLEAN"},
    {"RBM32", 1 << FLUSS_BYTES, false, "BYTES"},
    {"RBM64", 1 << FLUSS_BYTES, false, "BYTES"},
    {"LAST_VALUE", ANY, false, ""},
    {"LAST_VALUE_IGNORE_NULLS", ANY, false, ""},
    {"FIRST_VALUE", ANY, false, ""},
    {"FIRST_VALUE_IGNORE_NULLS", ANY, false, ""},
};

static bool is_primary_key(const fl_schema *schema, size_t column)
{
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        if (schema->primary_key[i] == column) {
            return true;
        }
    }
    return false;
}

static fluss_code_t check_parameters(const fl_column *column, bool has_delimiter,
                                     fluss_error_t *err)
{
    for (size_t i = 0; i < column->agg_parameter_count; i++) {
        const fluss_kv_t *parameter = &column->agg_parameters[i];
        if (!has_delimiter || strcmp(parameter->key, "delimiter") != 0) {
            return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                            "column '%s': aggregation function %s has no parameter '%.100s'",
                            column->name, column->agg_function, parameter->key);
        }
        if (parameter->value[0] == '\0') {
            return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                            "column '%s': the delimiter of %s is empty", column->name,
                            column->agg_function);
        }
    }
    return 0;
}

static fluss_code_t check_column(const fl_column *column, fluss_error_t *err)
{
    for (size_t i = 0; i < FL_COUNT_OF(functions); i++) {
        if (strcmp(functions[i].name, column->agg_function) != 0) {
            continue;
        }
        FL_TRY(check_parameters(column, functions[i].has_delimiter, err));
        if ((functions[i].types & 1u << column->type.root) == 0) {
            return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                            "column '%s' is %s; aggregation function %s takes %s", column->name,
                            fl_type_root_name(column->type.root), column->agg_function,
                            functions[i].wanted);
        }
    }
    return 0;
}

fluss_code_t fl_table_rules_check_aggregation(const fl_schema *schema, fl_merge_engine engine,
                                              fluss_error_t *err)
{
    for (size_t i = 0; i < schema->column_count; i++) {
        const fl_column *column = &schema->columns[i];
        if (column->agg_function == NULL) {
            continue;
        }
        if (is_primary_key(schema, i)) {
            return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                            "column '%s' is part of the primary key and can't have an aggregation "
                            "function",
                            column->name);
        }
        if (engine != FL_MERGE_AGGREGATION) {
            return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                            "column '%s' has aggregation function %s, which needs "
                            "'table.merge-engine' aggregation",
                            column->name, column->agg_function);
        }
        FL_TRY(check_column(column, err));
    }
    return 0;
}
