/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics block of V1 and V2 batches: null counts, smallest and
 * largest value of chosen columns. */
#ifndef FL_STATISTICS_H
#define FL_STATISTICS_H
#include "format/arrow.h"

typedef struct fl_statistics_column {
    uint32_t column;
    int32_t null_count;
    fluss_datum_t min, max; /* FLUSS_NULL: not known */
} fl_statistics_column;

/** Whether a type has statistics. */
bool fl_statistics_supports(const fl_type *type);
/** Append the block for rows of an array of the table's schema. */
FLUSS_CHECKED fluss_code_t fl_statistics_write(const fl_schema *schema,
                                               const struct ArrowArray *array, int64_t row_from,
                                               int64_t row_count, const uint32_t *columns,
                                               size_t column_count, fl_buf *out,
                                               fluss_error_t *err);
/** Read a block; 0 columns when version or count say "none". Values come from the arena or view
 * `block`. */
FLUSS_CHECKED fluss_code_t fl_statistics_read(fl_slice block, const fl_schema *schema,
                                              fl_arena *arena, fl_statistics_column **columns,
                                              size_t *count, fluss_error_t *err);
#endif
