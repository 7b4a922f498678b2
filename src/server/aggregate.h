/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the aggregation merge engine: one column, the value that is there and the value
 * that comes. Pure functions. */
#ifndef FL_AGGREGATE_H
#define FL_AGGREGATE_H
#include "base/arena.h"
#include "format/agg_function.h"

/** How a column aggregates. */
typedef struct fl_aggregator {
    const fl_column *column; /* outlives it */
    fl_agg_function function;
    fl_slice delimiter; /* LISTAGG, STRING_AGG */
} fl_aggregator;

/** @param column checked by fl_agg_function_check */
fl_aggregator fl_aggregator_of(const fl_column *column);
/**
 * Aggregate. A null on one side gives the other side, but for LAST_VALUE.
 *
 * @param old   what is there
 * @param value what comes
 * @param out   views `old` or `value`, or comes from the arena
 * @return FLUSS_E_SERVER_UNKNOWN: the value of an RBM32 or RBM64 column is not such a bitmap
 */
FLUSS_CHECKED fluss_code_t fl_aggregate(const fl_aggregator *aggregator, const fluss_datum_t *old,
                                        const fluss_datum_t *value, fl_arena *arena,
                                        fluss_datum_t *out, fluss_error_t *err);
#endif
