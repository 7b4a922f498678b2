/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregation functions of columns: their names, and the types and parameters that they take.
 * What they compute is the server's business. Source: AggFunctionType, Fluss 1.0. */
#ifndef FL_AGG_FUNCTION_H
#define FL_AGG_FUNCTION_H
#include "format/schema.h"

typedef enum {
    FL_AGG_LAST_VALUE_IGNORE_NULLS, /* of a column that names none */
    FL_AGG_LAST_VALUE,
    FL_AGG_FIRST_VALUE,
    FL_AGG_FIRST_VALUE_IGNORE_NULLS,
    FL_AGG_SUM,
    FL_AGG_PRODUCT,
    FL_AGG_MAX,
    FL_AGG_MIN,
    FL_AGG_LISTAGG,
    FL_AGG_STRING_AGG,
    FL_AGG_BOOL_AND,
    FL_AGG_BOOL_OR,
    FL_AGG_RBM32,
    FL_AGG_RBM64
} fl_agg_function;

/** Find a function by its name, in any case, '-' as good as '_'. false: there is none. */
bool fl_agg_function_find(const char *name, fl_agg_function *function);
/** The canonical name, static. */
const char *fl_agg_function_name(fl_agg_function function);
/** The function of a column, by its name. A name that is not known: as if there were none. */
fl_agg_function fl_agg_function_of(const fl_column *column);
/** What LISTAGG and STRING_AGG put between two values: a parameter of the column, or ",". */
const char *fl_agg_delimiter(const fl_column *column);
/** Whether the column's function takes its type and parameters. No function: always.
 * @return FLUSS_E_INVALID_CONFIG names the column, the function and what it takes */
FLUSS_CHECKED fluss_code_t fl_agg_function_check(const fl_column *column, fluss_error_t *err);
#endif
