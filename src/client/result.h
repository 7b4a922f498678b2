/* SPDX-License-Identifier: Apache-2.0 */
/* Building the small tables that administrative calls answer with. */
#ifndef FL_RESULT_H
#define FL_RESULT_H
#include <fluss/fluss_future.h>

#include "base/error.h"
#include "base/slice.h"

/** Columns of a kind of result: names, in order; text or number. */
typedef struct fl_result_column {
    const char *name;
    bool is_number;
} fl_result_column;

/** An empty result. `columns` is static. gives (fluss_result_free). NULL: out of memory. */
fluss_result_t *fl_result_new(const fl_result_column *columns, size_t count) FLUSS_CHECKED;

/** One value of a row. */
typedef struct fl_cell {
    enum { FL_CELL_NULL, FL_CELL_TEXT, FL_CELL_NUMBER } kind;
    fl_slice text;
    int64_t number;
} fl_cell;
static inline fl_cell fl_cell_text(fl_slice text)
{
    return (fl_cell){.kind = FL_CELL_TEXT, .text = text};
}
/** A text that may be missing. */
static inline fl_cell fl_cell_text_if(bool has, fl_slice text)
{
    return has ? fl_cell_text(text) : (fl_cell){0};
}
static inline fl_cell fl_cell_number(int64_t number)
{
    return (fl_cell){.kind = FL_CELL_NUMBER, .number = number};
}
/** A number that may be missing. */
static inline fl_cell fl_cell_number_if(bool has, int64_t number)
{
    return (fl_cell){.kind = has ? FL_CELL_NUMBER : FL_CELL_NULL, .number = number};
}
/** Append a whole row, one cell a column. */
FLUSS_CHECKED fluss_code_t fl_result_append(fluss_result_t *result, const fl_cell *cells,
                                            fluss_error_t *err);
#endif
