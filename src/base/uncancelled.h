/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches in which pthread_cancel does not end the calling thread, which may be the user's: a
 * lock would stay held, or a wake-up would be lost, for all other threads. */
#ifndef FL_UNCANCELLED_H
#define FL_UNCANCELLED_H
#include <pthread.h>

/** @return what fl_uncancelled_end wants. They nest. */
static inline int fl_uncancelled_begin(void)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void fl_uncancelled_end(int before)
{
    (void)pthread_setcancelstate(before, &before);
}
#endif
