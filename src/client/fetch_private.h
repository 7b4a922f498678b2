/* SPDX-License-Identifier: Apache-2.0 */
/* A fetch between the sources that send it, read files for it and decode it. Everything: Thread:
 * loop. */
#ifndef FL_FETCH_PRIVATE_H
#define FL_FETCH_PRIVATE_H
#include "client/remote_reads.h"
#include "client/scan_private.h"

/* One bucket's part of a fetch. */
typedef struct fl_fetch_part {
    fluss_bucket_t id;
    const fl_scan_plan *plan;
    uint64_t generation;
    int64_t offset; /* asked for; then: the next one */
    bool is_answered, is_remote;
    bool is_projected;    /* asked for chosen columns */
    bool lacks_columns;   /* its last batch has not all of the columns that are chosen */
    fluss_error_t err;    /* code 0: none */
    fl_remote_log remote; /* where the records are, when they are tiered */
    fl_remote_read *read; /* of them; in the fetch's `reads` */
    fl_frame *frame;      /* of tiered records, else the answer's; shares */
    fl_slice records;     /* views the frame */
    int64_t filtered_end;
    fl_piece *pieces, **pieces_last;
    size_t bytes;
} fl_fetch_part;

typedef struct fl_fetch {
    fl_work work;
    fl_scanner *scanner; /* shares */
    fl_client *client;   /* shares */
    char address[FL_ADDRESS_SIZE_MAX];
    fl_frame *frame; /* shares */
    bool is_whole;   /* asks for all columns, whatever the plan says */
    fl_fetch_part *parts;
    size_t part_count;
    fl_remote_read *reads; /* of tiered parts */
    size_t bytes;
} fl_fetch;

/* ---- fetch_decode.c ---- */
/** Turn the records of all parts into pieces, then finish. Schemas that are missing are fetched; a
 * part whose rows can't be read has a failure, after the rows before them. */
void fl_fetch_decode(fl_fetch *fetch);

/* ---- fetch_answer.c ---- */
/** The callback of the call (fl_call_done); the context is the fetch. takes it. */
void fl_fetch_answered(void *context, const fl_reply *reply, const fluss_error_t *failure,
                       bool was_sent);

/* ---- fetcher.c ---- */
/** Hand pieces and failures to their buckets. takes the fetch. */
void fl_fetch_finish(fl_fetch *fetch);
/** The same when nothing came: all parts have failed that had not yet. takes the fetch. */
void fl_fetch_fail(fl_fetch *fetch, const fluss_error_t *err);
#endif
