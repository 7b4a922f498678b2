/* SPDX-License-Identifier: Apache-2.0 */
/* Filters, of rows and of batches. Both tests use one order of values, fl_datum_compare, the one
 * that statistics are made with; so a batch is left out only when each of its rows fails. There is
 * no NOT: unknown and false need not be told apart. Source: predicate package, Fluss 1.0. */
#include "format/filter.h"

#include <string.h>

static bool is_null(const fluss_datum_t *value)
{
    return value->type == FLUSS_NULL;
}

/* ---- conditions ---- */

fluss_code_t fl_filter_check(const fl_filter *condition, const char *column, fluss_error_t *err)
{
    const fl_filter_op op = condition->op;
    if ((unsigned)op > FL_FILTER_NOT_IN) {
        return fl_error_argument(err, "filter on '%.100s': unknown comparison %d", column, (int)op);
    }
    const bool is_null_test = op == FL_FILTER_IS_NULL || op == FL_FILTER_NOT_NULL;
    const bool is_list = op == FL_FILTER_IN || op == FL_FILTER_NOT_IN;
    if (!is_list && condition->count != (is_null_test ? 0u : 1u)) {
        return fl_error_argument(err, "filter on '%.100s': %zu literals, expected %d", column,
                                 condition->count, is_null_test ? 0 : 1);
    }
    const bool is_text_test =
        op == FL_FILTER_STARTS || op == FL_FILTER_CONTAINS || op == FL_FILTER_ENDS;
    if (is_text_test && condition->type.root != FLUSS_STRING &&
        condition->type.root != FLUSS_CHAR) {
        return fl_error_argument(err, "filter on '%.100s': the column is not text", column);
    }
    if (!is_null_test && fl_type_root_is_nested(condition->type.root)) {
        return fl_error_argument(err, "filter on '%.100s': nested columns have no order", column);
    }
    return 0;
}

/* ---- rows ---- */

static bool text_matches(fl_filter_op op, const fluss_datum_t *value, const fluss_datum_t *part)
{
    const size_t size = part->v.s.len;
    if (size > value->v.s.len) {
        return false;
    }
    const char *text = value->v.s.ptr;
    if (size == 0) {
        return true;
    }
    if (op == FL_FILTER_CONTAINS) {
        return memmem(text, value->v.s.len, part->v.s.ptr, size) != NULL;
    }
    const size_t at = op == FL_FILTER_ENDS ? value->v.s.len - size : 0;
    return memcmp(text + at, part->v.s.ptr, size) == 0;
}

/* Whether a value is one of the literals; a null among them leaves that unknown for the others. */
static bool passes_list(const fl_filter *condition, const fluss_datum_t *value)
{
    bool has_null = false;
    for (size_t i = 0; i < condition->count; i++) {
        const fluss_datum_t *literal = &condition->literals[i];
        has_null |= is_null(literal);
        if (!is_null(literal) && fl_datum_compare(value, literal) == 0) {
            return condition->op == FL_FILTER_IN;
        }
    }
    return condition->op == FL_FILTER_NOT_IN && !has_null;
}

static bool passes_order(fl_filter_op op, int order)
{
    switch (op) {
    case FL_FILTER_EQ:
        return order == 0;
    case FL_FILTER_NE:
        return order != 0;
    case FL_FILTER_LT:
        return order < 0;
    case FL_FILTER_LE:
        return order <= 0;
    case FL_FILTER_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

static bool passes_value(const fl_filter *condition, const fluss_datum_t *value)
{
    switch (condition->op) {
    case FL_FILTER_IS_NULL:
        return is_null(value);
    case FL_FILTER_NOT_NULL:
        return !is_null(value);
    case FL_FILTER_IN:
    case FL_FILTER_NOT_IN:
        return !is_null(value) && passes_list(condition, value);
    case FL_FILTER_STARTS:
    case FL_FILTER_CONTAINS:
    case FL_FILTER_ENDS:
        return !is_null(value) && !is_null(&condition->literals[0]) &&
               text_matches(condition->op, value, &condition->literals[0]);
    default:
        return !is_null(value) && !is_null(&condition->literals[0]) &&
               passes_order(condition->op, fl_datum_compare(value, &condition->literals[0]));
    }
}

fluss_code_t fl_filter_test_row(const fl_filter *filter, const fl_schema *schema,
                                const fl_arrow_rows *rows, int64_t row, fl_arena *arena,
                                bool *passes, fluss_error_t *err)
{
    if (filter->op != FL_FILTER_ALL && filter->op != FL_FILTER_ANY) {
        fluss_datum_t value = {.type = FLUSS_NULL};
        const ptrdiff_t column = fl_schema_find_id(schema, filter->column_id);
        if (column >= 0) {
            FL_TRY(fl_arrow_rows_get(rows, row, (size_t)column, arena, &value, err));
        }
        *passes = passes_value(filter, &value);
        return 0;
    }
    const bool is_all = filter->op == FL_FILTER_ALL;
    *passes = is_all;
    for (size_t i = 0; i < filter->count && *passes == is_all; i++) {
        FL_TRY(fl_filter_test_row(&filter->children[i], schema, rows, row, arena, passes, err));
    }
    return 0;
}

/* ---- batches ---- */

typedef struct bounds {
    const fluss_datum_t *min, *max;
} bounds;

static bool lies_within(bounds b, const fluss_datum_t *literal)
{
    return fl_datum_compare(literal, b.min) >= 0 && fl_datum_compare(literal, b.max) <= 0;
}

/* All values that are not null are this one. */
static bool is_only(bounds b, const fluss_datum_t *literal)
{
    return fl_datum_compare(literal, b.min) == 0 && fl_datum_compare(literal, b.max) == 0;
}

static bool list_may_match(const fl_filter *condition, bounds b)
{
    for (size_t i = 0; i < condition->count; i++) {
        const fluss_datum_t *literal = &condition->literals[i];
        if (condition->op == FL_FILTER_IN) {
            if (!is_null(literal) && lies_within(b, literal)) {
                return true;
            }
        } else if (is_null(literal) || is_only(b, literal)) {
            return false;
        }
    }
    return condition->op == FL_FILTER_NOT_IN;
}

/* Some value between the bounds begins with the prefix: those that do follow each other. */
static bool prefix_may_match(bounds b, const fluss_datum_t *prefix)
{
    const bool is_before =
        fl_datum_compare(b.max, prefix) < 0; /* what begins with it is not smaller */
    const bool is_behind =
        fl_datum_compare(b.min, prefix) > 0 && !text_matches(FL_FILTER_STARTS, b.min, prefix);
    return !is_before && !is_behind;
}

static bool order_may_match(const fl_filter *condition, bounds b)
{
    const fluss_datum_t *literal = &condition->literals[0];
    switch (condition->op) {
    case FL_FILTER_EQ:
        return lies_within(b, literal);
    case FL_FILTER_NE:
        return !is_only(b, literal);
    case FL_FILTER_LT:
    case FL_FILTER_LE:
        return passes_order(condition->op, fl_datum_compare(b.min, literal));
    default:
        return passes_order(condition->op, fl_datum_compare(b.max, literal));
    }
}

static bool condition_may_match(const fl_filter *condition, int64_t row_count,
                                const fl_statistics_column *column)
{
    const bool is_all_null = column->null_count >= row_count;
    switch (condition->op) {
    case FL_FILTER_IS_NULL:
        return column->null_count > 0 || is_null(&column->min);
    case FL_FILTER_NOT_NULL:
        return !is_all_null;
    default:
        break;
    }
    const bool is_list = condition->op == FL_FILTER_IN || condition->op == FL_FILTER_NOT_IN;
    if (is_all_null || (!is_list && is_null(&condition->literals[0]))) {
        return false;
    }
    if (is_null(&column->min) || is_null(&column->max)) {
        return true;
    }
    const bounds b = {&column->min, &column->max};
    switch (condition->op) {
    case FL_FILTER_IN:
    case FL_FILTER_NOT_IN:
        return list_may_match(condition, b);
    case FL_FILTER_STARTS:
        return prefix_may_match(b, &condition->literals[0]);
    case FL_FILTER_CONTAINS:
    case FL_FILTER_ENDS:
        return true;
    default:
        return order_may_match(condition, b);
    }
}

/* A type that changed between the schemas says nothing. */
static bool has_same_order(const fl_type *a, const fl_type *b)
{
    return a->root == b->root && (a->root != FLUSS_DECIMAL || a->scale == b->scale);
}

bool fl_filter_may_match(const fl_filter *filter, const fl_schema *schema, int64_t row_count,
                         const fl_statistics_column *columns, size_t column_count)
{
    if (filter->op != FL_FILTER_ALL && filter->op != FL_FILTER_ANY) {
        for (size_t i = 0; i < column_count; i++) {
            const fl_column *column = &schema->columns[columns[i].column];
            if (column->id == filter->column_id && has_same_order(&column->type, &filter->type)) {
                return condition_may_match(filter, row_count, &columns[i]);
            }
        }
        return true;
    }
    const bool is_all = filter->op == FL_FILTER_ALL;
    bool may_match = is_all;
    for (size_t i = 0; i < filter->count && may_match == is_all; i++) {
        may_match =
            fl_filter_may_match(&filter->children[i], schema, row_count, columns, column_count);
    }
    return may_match;
}
