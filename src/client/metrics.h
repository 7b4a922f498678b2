/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a connection, by the table in metrics.def. */
#ifndef FL_CLIENT_METRICS_H
#define FL_CLIENT_METRICS_H
#include <stdatomic.h>

typedef struct fl_metrics {
#define FL_METRIC(field, name, type) atomic_llong field;
#include "client/metrics.def"
#undef FL_METRIC
} fl_metrics;

/** Thread: any. */
static inline void fl_metric_add(atomic_llong *metric, long long amount)
{
    (void)atomic_fetch_add_explicit(metric, amount, memory_order_relaxed);
}
#endif
