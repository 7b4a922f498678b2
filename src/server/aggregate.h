/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the aggregation merge engine: one column, the value that is there and the value
 * that comes. Pure functions. */
#ifndef FL_AGGREGATE_H
#define FL_AGGREGATE_H
#include "format/schema.h"

/** Whether a column's function exists and takes its type and parameters; no function: always.
 * @return FLUSS_E_INVALID_CONFIG names the column, the function and the types it takes */
FLUSS_CHECKED fluss_code_t fl_aggregate_check(const fl_column *column, fluss_error_t *err);
/**
 * Aggregate. A null on one side gives the other side, where the function does not say otherwise.
 *
 * @param column checked by fl_aggregate_check; no function: the last value that is not null
 * @param out    views `old` or `new`, or comes from the arena
 */
FLUSS_CHECKED fluss_code_t fl_aggregate(const fl_column *column, const fluss_datum_t *old,
                                        const fluss_datum_t *new_value, fl_arena *arena,
                                        fluss_datum_t *out, fluss_error_t *err);
#endif
