/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a request that writes to several buckets: it is answered when the walk over the shards
 * is over and every log that it appended to is on disk, all syncs running at the same time. */
#ifndef FL_WRITE_JOIN_H
#define FL_WRITE_JOIN_H
#include "server/tablet.h"

typedef struct fl_join_wait fl_join_wait;
typedef struct fl_write_join {
    fl_request *request;
    fl_join_wait *waits; /* one a bucket */
    size_t started;      /* by the walk */
    size_t over;         /* at home */
    bool is_walked;      /* at home */
    void (*failed)(fl_request *request, size_t index, fluss_code_t code, const char *reason);
    fl_request_step done;
} fl_write_join;

/**
 * Prepare for `count` buckets.
 *
 * @param failed the log of a bucket did not get to disk; reason is static text. Thread: home
 * @param done   everything is over. Thread: home
 */
FLUSS_CHECKED fluss_code_t fl_write_join_init(fl_write_join *join, fl_request *request,
                                              size_t count,
                                              void (*failed)(fl_request *request, size_t index,
                                                             fluss_code_t code, const char *reason),
                                              fl_request_step done, fluss_error_t *err);
/** Wait for a bucket's log to be on disk up to an offset. Thread: the tablet's shard. */
void fl_write_join_sync(fl_write_join *join, size_t index, fl_tablet *tablet,
                        int64_t log_end_offset);
/** The walk is over. `done` may run at once. Thread: home. */
void fl_write_join_walked(fl_write_join *join);
#endif
