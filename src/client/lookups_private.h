/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of lookup.c (users' threads: keys), lookups.c (loop: queue) and lookup_request.c (loop:
 * requests and answers). */
#ifndef FL_LOOKUPS_PRIVATE_H
#define FL_LOOKUPS_PRIVATE_H
#include "client/lookups.h"
#include "client/scan_private.h"

/** A public lookup's core. Immutable. */
typedef struct fl_lookup {
    atomic_int refs;
    fl_table *table;   /* shares */
    fl_scan_plan plan; /* all columns, as records */
    bool is_prefix, inserts;
    uint32_t *columns; /* that a key gives, in order */
    size_t column_count;
} fl_lookup;
void fl_lookup_unref(fl_lookup *lookup);

struct fluss_lookup {
    fl_lookup *lookup; /* shares */
    fl_client *client; /* shares */
};

typedef struct fl_lookup_call fl_lookup_call;

/** One key on its way. */
typedef struct fl_lookup_key {
    struct fl_lookup_key *next; /* in a queue */
    fl_lookup_call *call;
    size_t index;          /* which of the user's keys */
    const char *partition; /* name, or NULL */
    int32_t bucket;
    int32_t other_bucket; /* to ask when `bucket` has no row; -1: none */
    fl_slice bytes;
    fl_slice *values; /* the answer; views the frame */
    size_t value_count;
    fl_frame *frame; /* shares */
    int attempts;
    /* loop */
    struct fl_lookup_target *target; /* the server that leads its bucket */
    int64_t queued_ms, not_before_ms;
    bool is_counted; /* among those in the queue */
} fl_lookup_key;

/** One fluss_lookup. */
struct fl_lookup_call {
    fl_task task;
    fl_client *client; /* shares */
    fl_lookup *lookup; /* shares */
    fluss_future_t *future;
    fl_arena arena;
    fl_lookup_key *keys;
    size_t count, pending;
    int64_t deadline_ms;
    fluss_error_t err;   /* the first failure */
    fluss_error_t cause; /* why a key is asked for again */
};
/** Queue the keys, for which there is room. takes the call. Thread: loop. */
void fl_lookup_call_run(fl_task *task);

/** A server, and what is on its way to it. */
typedef struct fl_lookup_target {
    struct fl_lookup_target *next;
    int64_t in_flight;
    int64_t waiting_count, oldest_ms; /* keys in the queue, while the send task runs */
    char address[FL_ADDRESS_SIZE_MAX];
} fl_lookup_target;

struct fl_lookups {
    fl_client *client;
    pthread_mutex_t lock; /* guards: queued, is_shut */
    pthread_cond_t room;
    int64_t queued; /* keys that wait to be sent */
    bool is_shut;
    /* loop only */
    fl_lookup_key *waiting, **last;
    fl_lookup_target *targets;
    fl_task send;
    bool is_send_posted, is_closed;
    int64_t in_flight;
    fl_timer *timer;
    int64_t timer_at_ms;
};

/* ---- lookups.c ---- */
/** Wait for room in the queue, and take it. Thread: any; on the loop it does not wait. */
FLUSS_CHECKED fluss_code_t fl_lookups_enter(fl_lookups *lookups, size_t count, fluss_error_t *err);
/** Look at the queue soon. Thread: loop, as all below. */
void fl_lookups_post(fl_lookups *lookups);
void fl_lookup_key_queue(fl_lookups *lookups, fl_lookup_key *key);
/** The end of a key; err NULL: answered. */
void fl_lookup_key_done(fl_lookup_key *key, const fluss_error_t *err);
/** Queue the key again, after a back-off, or end it when that can't help. */
void fl_lookup_key_again(fl_lookups *lookups, fl_lookup_key *key, const fluss_error_t *err);
fluss_bucket_t fl_lookup_key_bucket(const fl_lookup_key *key, const fl_metadata *metadata);

/* ---- lookup_request.c ---- */
typedef struct fl_lookup_request fl_lookup_request;
/** gives (fl_lookup_request_send). NULL: out of memory. */
fl_lookup_request *fl_lookup_request_new(fl_lookups *lookups,
                                         const fl_lookup_key *first) FLUSS_CHECKED;
/** Whether the key may join the request, which has one already. */
bool fl_lookup_request_fits(const fl_lookup_request *request, const fl_lookup_key *key);
void fl_lookup_request_add(fl_lookup_request *request, fl_lookup_key *key);
/** takes the request. */
void fl_lookup_request_send(fl_lookup_request *request);
#endif
