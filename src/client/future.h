/* SPDX-License-Identifier: Apache-2.0 */
/* Futures as their producers see them. A future has two references: the user's and the producer's.
 * The producer completes or fails it, once, which also gives its reference up. */
#ifndef FL_FUTURE_H
#define FL_FUTURE_H
#include <fluss/fluss_future.h>

#include "base/error.h"

typedef enum {
    FL_VALUE_VOID,
    FL_VALUE_I64,
    FL_VALUE_CONN,
    FL_VALUE_TABLE,
    FL_VALUE_SCHEMA,
    FL_VALUE_RESULT,
    FL_VALUE_RECORDS,
    FL_VALUE_BATCHES,
    FL_VALUE_ACK
} fl_value_kind;

typedef struct fl_value {
    fl_value_kind kind;
    int32_t schema_id; /* SCHEMA */
    union {
        int64_t i64;
        void *object; /* of every kind with a release function */
        fluss_ack_t ack;
    } v;
} fl_value;

/** A pending future with both references; when memory is out one that has failed with that, never
 * NULL. Completing that one does nothing. Thread: any. */
fluss_future_t *fl_future_new(void) __attribute__((returns_nonnull));
/** Tell the futures of a parent process from one's own from now on. */
void fl_future_watch_forks(void);
/** A future that has failed already. Thread: any. */
fluss_future_t *fl_future_failed(const fluss_error_t *err);
/** Complete; drops the producer's reference in any case. takes the value's object only when it
 * returns true; false: the user cancelled. Callbacks run inside. Thread: any, no lock held. */
bool fl_future_complete(fluss_future_t *future, fl_value value);
/** Complete, and free the object when nobody wants it. */
void fl_future_complete_or_free(fluss_future_t *future, fl_value value);
void fl_future_complete_void(fluss_future_t *future);
/** Fail; drops the producer's reference. Nothing when it is ready. Thread: any, no lock held. */
void fl_future_fail(fluss_future_t *future, const fluss_error_t *err);
/** Whether this thread may wait for the library. @return FLUSS_KIND_STATE: inside a callback, where
 * waiting would keep what is waited for from coming. Thread: any. */
FLUSS_CHECKED fluss_code_t fl_future_may_wait(fluss_error_t *err);
/** Whether nobody waits any more: cancelled, or freed by the user. Thread: any. */
bool fl_future_is_abandoned(const fluss_future_t *future);

/* ---- between future.c and queue.c ---- */
typedef struct fl_queue_link {
    fluss_queue_t *queue; /* shares while waiting */
    void *tag;
    fluss_future_t *next;
    bool is_queued, is_withdrawn; /* guarded by the queue's lock */
} fl_queue_link;
fl_queue_link *fl_future_link(fluss_future_t *future);
void fl_queue_ref(fluss_queue_t *queue);
void fl_queue_unref(fluss_queue_t *queue);
void fl_queue_push(fluss_queue_t *queue, fluss_future_t *future);
void fl_queue_withdraw(fluss_queue_t *queue, fluss_future_t *future);
#endif
