/* SPDX-License-Identifier: Apache-2.0 */
/* A request that writes to several buckets: it is answered when the walk over the shards is over
 * and every log that it appended to is on disk, all syncs running at the same time; or when its
 * time is over. */
#ifndef FL_WRITE_JOIN_H
#define FL_WRITE_JOIN_H
#include "server/visit.h"

/** What a handler does. */
typedef struct fl_write_steps {
    /** Write to a bucket. Thread: the tablet's shard */
    void (*each)(fl_request *request, size_t index, fl_tablet *tablet);
    /** What was written to a bucket did not get to disk, or not in time. Thread: home */
    void (*failed)(fl_request *request, size_t index, const fluss_error_t *error);
    /** Everything is over. Thread: home */
    fl_request_step done;
} fl_write_steps;

typedef struct fl_join_wait fl_join_wait;
/** The state of the request. */
typedef struct fl_write_join {
    fl_visit visit;
    const fl_write_steps *steps;
    fl_join_wait *waits; /* one a bucket */
    size_t started;      /* by the walk */
    size_t over;         /* at home: syncs that ended */
    size_t withdrawn;    /* by a later walk: waits that were taken back */
    bool is_walked;      /* at home: no walk is under way */
    int32_t timeout_ms;
    fl_timer *timer; /* NULL: none is needed */
} fl_write_join;

/**
 * Make the request's state (fl_visit_new).
 *
 * @param steps      outlive the request
 * @param timeout_ms how long syncs may take once the walk is over; what was written stays
 */
FLUSS_CHECKED fluss_code_t fl_write_join_new(fl_request *request, const fl_write_steps *steps,
                                             size_t count, size_t answer_size, int32_t timeout_ms,
                                             fluss_error_t *err);
/** Wait for a bucket's log to be on disk up to an offset. Thread: the tablet's shard. */
void fl_write_join_sync(fl_request *request, size_t index, fl_tablet *tablet,
                        int64_t log_end_offset);
#endif
