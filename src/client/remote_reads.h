/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of several tiered logs at once, on pool threads. */
#ifndef FL_REMOTE_READS_H
#define FL_REMOTE_READS_H
#include "client/remote_log.h"
#include "net/loop.h"

/** One step of one log. */
typedef struct fl_remote_read {
    const fl_remote_log *remote; /* borrowed until the end, with what it views */
    int64_t offset;
    size_t size_max;
    fl_frame *frame;   /* gives (fl_frame_unref); NULL: a failure, or there was no room for it */
    fluss_error_t err; /* code 0: none */
} fl_remote_read;

/** How much at once. */
typedef struct fl_remote_limits {
    size_t threads;   /* at least 1 */
    size_t bytes_max; /* once so many are there no read begins; reads that run go on */
} fl_remote_limits;

/**
 * Read, each log on one thread, in the order of `reads`.
 *
 * @param reads borrowed until `done`
 * @param done  once, on the loop, never from inside
 * @return out of memory: `done` is not called
 * Thread: loop.
 */
FLUSS_CHECKED fluss_code_t fl_remote_reads_start(fl_loop *loop, fl_remote_read *reads, size_t count,
                                                 const fl_remote_limits *limits,
                                                 void (*done)(void *context), void *context,
                                                 fluss_error_t *err);
#endif
