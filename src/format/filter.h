/* SPDX-License-Identifier: Apache-2.0 */
/* Filters bound to a schema: conditions on columns, joined by AND and OR. A row is tested by its
 * values; a batch by its statistics, which tell that no row can match, or nothing. */
#ifndef FL_FILTER_H
#define FL_FILTER_H
#include "format/arrow.h"
#include "format/statistics.h"

/** What a node does; conditions have the numbers that they have on the wire. */
typedef enum fl_filter_op {
    FL_FILTER_EQ,
    FL_FILTER_NE,
    FL_FILTER_LT,
    FL_FILTER_LE,
    FL_FILTER_GT,
    FL_FILTER_GE,
    FL_FILTER_IS_NULL,
    FL_FILTER_NOT_NULL,
    FL_FILTER_STARTS,
    FL_FILTER_CONTAINS,
    FL_FILTER_ENDS,
    FL_FILTER_IN,
    FL_FILTER_NOT_IN,
    FL_FILTER_ALL, /* every child passes; no child: true */
    FL_FILTER_ANY  /* some child passes; no child: false */
} fl_filter_op;

enum { FL_FILTER_DEPTH_MAX = 32 };

/** One node; it and all it points to lie in one arena. */
typedef struct fl_filter {
    fl_filter_op op;
    int32_t column_id;             /* conditions: id of a top-level column */
    fl_type type;                  /* of that column, views its schema */
    const fluss_datum_t *literals; /* in the column's form; FLUSS_NULL allowed */
    const struct fl_filter *children;
    size_t count; /* of literals or children */
} fl_filter;

/** Check a condition that was filled in: a known operation, the right number of literals, text for
 * the text tests. @return FLUSS_KIND_ARGUMENT naming the column */
FLUSS_CHECKED fluss_code_t fl_filter_check(const fl_filter *condition, const char *column,
                                           fluss_error_t *err);

/**
 * Test one row of an array. SQL's rules: a comparison with null is unknown, and what is unknown
 * does not pass; a column that `schema` lacks is null. Floats have the order of Java's
 * Float.compare, as the statistics have: NaN is the greatest and equals itself, -0.0 < 0.0.
 *
 * @param schema of the rows
 * @param arena  takes nested values; reset by the caller
 */
FLUSS_CHECKED fluss_code_t fl_filter_test_row(const fl_filter *filter, const fl_schema *schema,
                                              const fl_arrow_rows *rows, int64_t row,
                                              fl_arena *arena, bool *passes, fluss_error_t *err);

/**
 * Whether some row of a batch may pass.
 *
 * @param schema  that the batch was written with
 * @param columns the batch's statistics; a column that is not in them, or has no bounds though not
 *                all of its values are null, may hold anything
 */
bool fl_filter_may_match(const fl_filter *filter, const fl_schema *schema, int64_t row_count,
                         const fl_statistics_column *columns, size_t column_count);
#endif
