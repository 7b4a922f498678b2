/* SPDX-License-Identifier: Apache-2.0 */
/* One table of the functions; the rules of CREATE_TABLE for them. */
#include "format/agg_function.h"

#include <ctype.h>

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
    [FL_AGG_LAST_VALUE_IGNORE_NULLS] = {"LAST_VALUE_IGNORE_NULLS", ANY, false, ""},
    [FL_AGG_LAST_VALUE] = {"LAST_VALUE", ANY, false, ""},
    [FL_AGG_FIRST_VALUE] = {"FIRST_VALUE", ANY, false, ""},
    [FL_AGG_FIRST_VALUE_IGNORE_NULLS] = {"FIRST_VALUE_IGNORE_NULLS", ANY, false, ""},
    [FL_AGG_SUM] = {"SUM", NUMERIC, false, "a number"},
    [FL_AGG_PRODUCT] = {"PRODUCT", NUMERIC, false, "a number"},
    [FL_AGG_MAX] = {"MAX", ORDERED, false, "a number, text, date or time"},
    [FL_AGG_MIN] = {"MIN", ORDERED, false, "a number, text, date or time"},
    [FL_AGG_LISTAGG] = {"LISTAGG", TEXT, true, "STRING or CHAR"},
    [FL_AGG_STRING_AGG] = {"STRING_AGG", TEXT, true, "STRING or CHAR"},
    [FL_AGG_BOOL_AND] = {"BOOL_AND", 1 << FLUSS_BOOLEAN, false, "BOOLEAN"},
    [FL_AGG_BOOL_OR] = {"BOOL_OR", 1 << FLUSS_BOOLEAN, false, "BOOLEAN"},
    [FL_AGG_RBM32] = {"RBM32", 1 << FLUSS_BYTES, false, "BYTES"},
    [FL_AGG_RBM64] = {"RBM64", 1 << FLUSS_BYTES, false, "BYTES"},
};

static bool is_name(const char *text, const char *name)
{
    size_t at = 0;
    while (text[at] != '\0' &&
           (text[at] == '-' ? '_' : toupper((unsigned char)text[at])) == name[at]) {
        at++;
    }
    return text[at] == '\0' && name[at] == '\0';
}

bool fl_agg_function_find(const char *name, fl_agg_function *function)
{
    for (size_t i = 0; i < FL_COUNT_OF(functions); i++) {
        if (is_name(name, functions[i].name)) {
            *function = (fl_agg_function)i;
            return true;
        }
    }
    return false;
}

const char *fl_agg_function_name(fl_agg_function function)
{
    return functions[function].name;
}

fl_agg_function fl_agg_function_of(const fl_column *column)
{
    fl_agg_function function = FL_AGG_LAST_VALUE_IGNORE_NULLS;
    if (column->agg_function != NULL) {
        (void)fl_agg_function_find(column->agg_function, &function);
    }
    return function;
}

const char *fl_agg_delimiter(const fl_column *column)
{
    for (size_t i = 0; i < column->agg_parameter_count; i++) {
        if (strcmp(column->agg_parameters[i].key, "delimiter") == 0) {
            return column->agg_parameters[i].value;
        }
    }
    return ",";
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

fluss_code_t fl_agg_function_check(const fl_column *column, fluss_error_t *err)
{
    const fl_agg_function function = fl_agg_function_of(column);
    if (column->agg_function == NULL) {
        return 0;
    }
    FL_TRY(check_parameters(column, functions[function].has_delimiter, err));
    if ((functions[function].types & 1u << column->type.root) == 0) {
        return fl_error(err, FLUSS_E_INVALID_CONFIG, FLUSS_KIND_ARGUMENT,
                        "column '%s' is %s; aggregation function %s takes %s", column->name,
                        fl_type_root_name(column->type.root), column->agg_function,
                        functions[function].wanted);
    }
    return 0;
}

static bool is_primary_key(const fl_schema *schema, size_t column)
{
    for (size_t i = 0; i < schema->primary_key_count; i++) {
        if (schema->primary_key[i] == column) {
            return true;
        }
    }
    return false;
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
        FL_TRY(fl_agg_function_check(column, err));
    }
    return 0;
}
