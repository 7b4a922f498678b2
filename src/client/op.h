/* SPDX-License-Identifier: Apache-2.0 */
/* A remote call in the making: an arena for its request and copies of the arguments, a future, and
 * what to do with the answer. Administrative calls are one fl_op_kind each.
 *
 * The public function builds the op in the user's thread; the first wrong argument is kept and
 * reported by the future. On the loop it is sent, repeated with back-off while that can help and
 * the request timeout has not run out, and finished. */
#ifndef FL_OP_H
#define FL_OP_H
#include "client/client.h"
#include "client/result.h"
#include "protocol/messages.h"

typedef struct fl_op fl_op;

typedef enum { FL_TARGET_COORDINATOR, FL_TARGET_ANY_SERVER } fl_op_target;

typedef struct fl_op_kind {
    fl_api_key key;
    fl_op_target target;
    bool is_read;            /* may be repeated although the server may have done it */
    fluss_code_t final_code; /* an answer that stays so, though the code is retriable; 0: none */
    size_t request_size;
    /** Turn the response into the future's value. NULL: void. Thread: loop. */
    fluss_code_t (*finish)(fl_op *op, const fl_reply *reply, fl_value *value, fluss_error_t *err);
    /** Instead of `finish`, when the answer is a table: its columns, and what appends the rows of a
     * response. Thread: loop. */
    const fl_result_column *columns;
    size_t column_count;
    fluss_code_t (*rows)(const void *message, fluss_result_t *result, fluss_error_t *err);
    /** What follows a `finish` that gave a value, instead of completing with it; takes both. NULL:
     * nothing. Thread: loop. */
    void (*after)(fl_op *op, fl_value value);
    /** Instead of sending `request`: a call of several steps, ended by fl_op_fail or
     * fl_op_complete. Thread: loop. */
    void (*start)(fl_op *op);
} fl_op_kind;

struct fl_op {
    fl_task task;
    const fl_op_kind *kind;
    fl_client *client;      /* shares; NULL: connection handle was NULL */
    fluss_future_t *future; /* the producer's reference */
    fl_arena arena;
    void *request;    /* zeroed struct of the kind's request message */
    void *state;      /* of kinds with `start` */
    int64_t limit_ms; /* for the whole call; 0: the request timeout */
    int64_t deadline_ms;
    int attempt;
    int64_t attempt_ms; /* when the last one began; 0: the first */
    fl_timer *timer;
    void (*then)(fl_op *op); /* when the timer fires, or the servers are known */
    fluss_error_t err;       /* the first failure while building */
    fluss_error_t cause;     /* why the last attempt was made */
};

/** gives (fl_op_submit). NULL: out of memory, which all functions here accept. Thread: any. */
fl_op *fl_op_new(fl_client *client, const fl_op_kind *kind) FLUSS_CHECKED;
/** Copy an argument; NULL is an error that names `what`. Thread: any. */
fl_slice fl_op_text(fl_op *op, const char *text, const char *what);
/** The same for a text that may be missing: sets *has. */
fl_slice fl_op_text_or_none(fl_op *op, const char *text, bool *has);
/** A zeroed array; NULL after a failure. */
void *fl_op_array(fl_op *op, size_t count, size_t size);
fl_msg_pb_table_path fl_op_path(fl_op *op, fluss_path_t path);
/** Copy key-value pairs. */
fl_msg_pb_key_value *fl_op_pairs(fl_op *op, const fluss_kv_t *pairs, size_t n, const char *what);
/** Remember a failure of building; the first one stays. */
void fl_op_reject(fl_op *op, const fluss_error_t *err);
/** Start, or fail the future with the first failure. takes the op. gives the future. Thread: any.
 */
fluss_future_t *fl_op_submit(fl_op *op);

/* ---- on the loop ---- */
/** Complete the future and free the op. takes the value. */
void fl_op_complete(fl_op *op, fl_value value);
/** The same with the rows that op's kind makes of a message; fails the op when it cannot. */
void fl_op_complete_rows(fl_op *op, const void *message);
/** Fail the future and free the op. Where the last attempt had only the last moments of the time,
 * the answer that made it necessary tells more than its time-out, and is the error. */
void fl_op_fail(fl_op *op, const fluss_error_t *err);
/** Whether another attempt can help and there is time for it. */
bool fl_op_may_retry(const fl_op *op, const fluss_error_t *err);
/** Call `then` after the back-off of this attempt, which failed with `err`; fails the op when
 * memory is out. */
void fl_op_retry(fl_op *op, const fluss_error_t *err, void (*then)(fl_op *op));
/** One of both, as fl_op_may_retry says. */
void fl_op_retry_or_fail(fl_op *op, const fluss_error_t *err, void (*then)(fl_op *op));
/** Milliseconds until the deadline, at least 1. */
int64_t fl_op_time_left(const fl_op *op);
/** Send a request to an address; `done` as in fl_call_spec with the op as context. */
FLUSS_CHECKED fluss_code_t fl_op_call(fl_op *op, const char *address, fl_api_key key,
                                      const void *request, fl_call_done done, fluss_error_t *err);

/** The same to the coordinator, if the cluster names one. */
FLUSS_CHECKED fluss_code_t fl_op_call_coordinator(fl_op *op, fl_api_key key, const void *request,
                                                  fl_call_done done, fluss_error_t *err);
/** Learn the servers anew, then go on with `then`; tries again while none is the coordinator, and
 * fails the op at its deadline. */
void fl_op_learn_servers(fl_op *op, void (*then)(fl_op *op));

/* ---- finding a table, for calls of several steps ---- */
typedef struct fl_located {
    int64_t table_id, partition_id; /* -1: not partitioned */
    int32_t bucket_count;
    bool may_be_partitioned; /* set before: a partitioned table is found without naming a partition;
                                no leader is waited for then */
    bool is_partitioned;
} fl_located;

/**
 * Ask for a table's id and bucket count, the partition's id, and wait until every bucket has a
 * leader. Fails the op itself; on success calls `then`.
 *
 * @param partition name, or NULL; lives as long as the op
 */
void fl_op_locate(fl_op *op, const fl_msg_pb_table_path *path, const char *partition,
                  fl_located *located, void (*then)(fl_op *op));
#endif
