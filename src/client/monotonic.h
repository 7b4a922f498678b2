/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting on a condition with a limit on the monotonic clock. */
#ifndef FL_MONOTONIC_H
#define FL_MONOTONIC_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/uncancelled.h"

/** A point in time, or none. */
typedef struct fl_deadline {
    bool is_set;
    struct timespec at; /* CLOCK_MONOTONIC */
} fl_deadline;

/** @param timeout_ms < 0 or INT64_MAX: none */
static inline fl_deadline fl_deadline_in(int64_t timeout_ms)
{
    fl_deadline deadline = {.is_set = timeout_ms >= 0 && timeout_ms < INT64_MAX / 1000000};
    if (deadline.is_set) {
        (void)clock_gettime(CLOCK_MONOTONIC, &deadline.at);
        const int64_t nanos = deadline.at.tv_nsec + timeout_ms % 1000 * 1000000;
        deadline.at.tv_sec += (time_t)(timeout_ms / 1000 + nanos / 1000000000);
        deadline.at.tv_nsec = (long)(nanos % 1000000000);
    }
    return deadline;
}

/** A condition for fl_cond_wait. */
static inline void fl_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

/** Wait; false when the deadline has passed. */
static inline bool fl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
                                const fl_deadline *deadline)
{
    const int before = fl_uncancelled_begin();
    const int rc = deadline->is_set ? pthread_cond_timedwait(cond, lock, &deadline->at)
                                    : pthread_cond_wait(cond, lock);
    fl_uncancelled_end(before);
    return rc == 0;
}
#endif
