/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of lookup.c (users' threads: keys) and lookups.c (loop: requests). */
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
fl_lookup *fl_lookup_ref(fl_lookup *lookup);
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
    fluss_error_t err; /* the first failure */
};
/** Queue the keys. takes the call. Thread: loop. */
void fl_lookup_call_run(fl_task *task);
#endif
