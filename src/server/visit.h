/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of a request over the shards of the buckets that it names: on each shard, the part of
 * the handler for each bucket there; at the end, home. */
#ifndef FL_VISIT_H
#define FL_VISIT_H
#include "server/tablet.h"

enum { FL_SHARDS_MAX = 64, FL_VISIT_MAX = 1 << 16 /* buckets of a request */ };

typedef struct fl_visit fl_visit;
struct fl_visit {
    size_t count;
    fl_tablet_key *keys; /* in the request's arena */
    void *answers;       /* the same: one of the handler's for each bucket, in the same order */
    size_t answer_size;
    /** @param tablet NULL: not on this server. Thread: the tablet's shard */
    void (*each)(fl_request *request, size_t index, fl_tablet *tablet);
    fl_request_step done;       /* at home */
    fl_request_step write_done; /* of a write: what follows when the next one may walk */
    uint8_t shards[FL_SHARDS_MAX];
    size_t shard_count, shard_at;
};

/**
 * Begin a request about buckets: make its state, which begins with a fl_visit.
 *
 * @param state_size  bytes of request->state, zeroed
 * @param count       of buckets; the caller sets their keys
 * @param answer_size bytes of the answer for a bucket; `count` of them, zeroed, in visit->answers
 */
FLUSS_CHECKED fluss_code_t fl_visit_new(fl_request *request, size_t state_size, size_t count,
                                        size_t answer_size, fluss_error_t *err);
/** Make room for the keys of `count` buckets, which the caller fills, in a state that is there. */
FLUSS_CHECKED fluss_code_t fl_visit_init(fl_visit *visit, fl_request *request, size_t count,
                                         fluss_error_t *err);
/** The answer for the bucket at `index` of a request whose state fl_visit_new made. */
static inline void *fl_visit_answer(const fl_request *request, size_t index)
{
    const fl_visit *visit = request->state;
    return (char *)visit->answers + index * visit->answer_size;
}
/** Name a bucket as requests do. */
static inline void fl_visit_set(fl_visit *visit, size_t index, int64_t table_id,
                                bool has_partition_id, int64_t partition_id, int32_t bucket)
{
    visit->keys[index] = (fl_tablet_key){.table_id = table_id,
                                         .partition_id = has_partition_id ? partition_id : -1,
                                         .bucket = bucket};
}
/** The walk of a write. Those of one connection walk one after the other, so that a bucket sees its
 * batches in the order in which they came, whatever shards lie between. Thread: home. */
void fl_visit_run_write(fl_request *request);
/** Walk. request->state must point to a struct that begins with the visit. Can be run again. */
void fl_visit_run(fl_request *request);
/** The error for a bucket that is not here, or that is denied to the request. */
fluss_code_t fl_visit_unknown(const fl_request *request, const fl_tablet_key *key,
                              fluss_error_t *err);
#endif
