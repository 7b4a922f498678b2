/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before an attempt is repeated. The wait doubles with each failure up to a bound,
 * and a part of it is random, so that those who failed together do not come back together. */
#ifndef FL_BACKOFF_H
#define FL_BACKOFF_H
#include "client/random.h"

/** `least_ms`, doubled for each of the failures before this one, up to `most_ms`. */
static inline int64_t fl_backoff_ms(int failures_before, int64_t least_ms, int64_t most_ms)
{
    const int64_t delay_ms = least_ms << (failures_before < 16 ? failures_before : 16);
    return delay_ms < most_ms ? delay_ms : most_ms;
}

/** Between half of the delay and all of it. */
static inline int64_t fl_jitter_ms(int64_t delay_ms)
{
    return delay_ms / 2 + (int64_t)(fl_random() % (uint64_t)(delay_ms / 2 + 1));
}
#endif
