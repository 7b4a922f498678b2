/* SPDX-License-Identifier: Apache-2.0 */
/* The writing half: who owns what.
 *
 *   fl_sender           one a client; buffer memory; what is ready to be sent (loop)
 *     fl_write_table    one a table id: its partitions, the sticky bucket, flushes that wait
 *       fl_write_partition   one a partition name; one without a name for other tables
 *         fl_write_bucket    the open batch, closed ones, those in flight, sequences
 *           fl_batch         rows on their way, and the futures that wait for them
 *
 * Users' threads touch a bucket under its lock: they fill the open batch and close it when it is
 * full. The loop takes closed batches, and open ones when nothing of the bucket is in flight. */
#ifndef FL_SENDER_PRIVATE_H
#define FL_SENDER_PRIVATE_H
#include <pthread.h>

#include "base/containers.h"
#include "client/sender.h"
#include "client/table.h"
#include "net/loop.h"

typedef struct fl_batch fl_batch;
typedef struct fl_write_bucket fl_write_bucket;
typedef struct fl_write_partition fl_write_partition;
typedef struct fl_write_table fl_write_table;
typedef struct fl_writer fl_writer;
typedef struct fl_encoder fl_encoder;

/** What rows of one batch have in common. */
typedef struct fl_stream {
    fl_table *table; /* schema and formats; borrowed from the writer or shared by the batch */
    bool is_keyed;   /* PUT_KV, else PRODUCE_LOG */
    bool overwrite;
    const int32_t *targets; /* sorted columns of a partial update; NULL: whole rows */
    size_t target_count;
} fl_stream;
/** Whether rows may share a batch. */
bool fl_stream_equal(const fl_stream *a, const fl_stream *b);

/** One future for many parts: an Arrow batch that is spread over buckets. */
typedef struct fl_ack_group {
    atomic_int pending;   /* parts, and one for whoever adds them */
    pthread_mutex_t lock; /* guards: err, last */
    fluss_error_t err;
    fluss_ack_t last;
    fluss_future_t *future;
} fl_ack_group;

typedef struct fl_ack {
    fluss_future_t *future; /* one row's; or NULL */
    fl_ack_group *group;    /* or NULL */
} fl_ack;

/** Consecutive rows of a batch that one writer wrote. */
typedef struct fl_batch_run {
    fl_writer *writer; /* shares: its next flush reports what nobody else hears */
    int32_t row_count;
    size_t ack_count;      /* the next ones of the batch's acks */
    int64_t unheard_count; /* rows given up without anybody waiting for them */
} fl_batch_run;

typedef enum {
    FL_BATCH_OPEN,
    FL_BATCH_ENCODING, /* closed; a thread turns it into bytes */
    FL_BATCH_READY,
    FL_BATCH_IN_FLIGHT
} fl_batch_state;

struct fl_batch {
    fl_batch *next;
    fl_write_bucket *bucket;
    fl_batch_state state;
    uint64_t id;                /* rises with the time of opening; for flushes */
    fl_stream stream;           /* the table is shared */
    struct fl_content *content; /* rows before they are encoded */
    fl_frame *frame;            /* the encoded batch */
    fluss_error_t *failure;     /* encoding failed */
    int32_t row_count;
    size_t reserved; /* of the buffer memory */
    int64_t opened_ms;
    fl_ack *acks;
    size_t ack_count, ack_capacity;
    fl_batch_run *runs; /* all rows, in order */
    size_t run_count, run_capacity;
    /* loop only */
    int attempts, breaks; /* breaks: of the connection that it was sent on */
    uint64_t turn;        /* in which its bucket's batches are sent; 0: not sent yet */
    int32_t sequence;     /* -1: not numbered yet */
    int64_t writer_id;
    fluss_bucket_t sent_to;           /* a partition that is made anew has another id than this */
    bool is_renumbered, is_uncertain; /* uncertain: the server may have it */
};

struct fl_write_bucket {
    fl_write_partition *partition;
    int32_t index;
    atomic_bool is_leaderless; /* its batches wait for a leader */
    pthread_mutex_t lock;      /* guards: to the next mark */
    fl_batch *open;
    fl_batch *queue, **queue_last;
    int in_flight_count;
    bool is_scheduled;
    /* loop only */
    fl_task task;
    fl_write_bucket *ready_next;
    bool is_ready, is_waiting; /* waiting: for metadata, a writer id or back-off */
    fl_batch *in_flight;       /* in order of sequence */
    uint64_t turns;
    int32_t sequence_next, sequence_acked;
    int64_t writer_id;      /* the sequences belong to it; -1: none yet */
    bool is_writer_lost;    /* the id is of no use any more: another one before the next batch */
    int64_t stuck_since_ms; /* without a leader; 0: not */
    int64_t not_before_ms;  /* back-off, throttle */
    int failed_count;
};

struct fl_write_partition {
    fl_write_partition *next;
    fl_write_table *table;
    char *name;         /* NULL: the table is not partitioned */
    atomic_llong id;    /* FL_NO_PARTITION until known */
    bool is_being_made; /* loop */
    fl_write_bucket *buckets;
};

typedef struct fl_flush {
    fl_task task;
    struct fl_flush *next;
    fl_writer *writer; /* shares */
    fl_client *client; /* shares */
    uint64_t upto;     /* batch ids */
    fluss_future_t *future;
} fl_flush;

struct fl_write_table {
    fl_write_table *next;
    fl_sender *sender;
    int64_t table_id;
    int32_t bucket_count;
    char *database, *name;
    char **partition_keys; /* names */
    size_t partition_key_count;
    pthread_mutex_t lock; /* guards: partitions */
    fl_write_partition *partitions;
    atomic_int sticky;        /* bucket for rows without a key */
    atomic_uint turn;         /* round robin */
    atomic_llong batch_bytes; /* where an open batch counts as full; follows recent ones */
    /* loop only */
    fl_flush *flushes;
    uint64_t flush_upto;
    bool is_replaced; /* its name is that of another table: it never comes back */
};

/** Rows that were given up without anybody being told; loop. */
typedef struct fl_losses {
    fl_writer *writers;          /* shares: those with such rows */
    int64_t count;               /* of writers that nobody has any more */
    fluss_error_t err;           /* the first of them, */
    const fl_write_table *table; /* and where */
    bool is_mixed;               /* of more than one table */
} fl_losses;

struct fl_sender {
    fl_client *client;
    pthread_mutex_t lock; /* guards: tables, encoders */
    fl_write_table *tables;
    fl_encoder *encoders; /* idle ones */
    atomic_bool is_closed;
    atomic_ullong batch_ids;
    atomic_llong memory_used;
    atomic_int memory_waiters;
    pthread_mutex_t memory_lock; /* guards: nothing but the wait */
    pthread_cond_t memory_freed;
    /* loop only */
    fl_write_bucket *ready, **ready_last;
    fl_task send;
    bool is_send_posted;
    fl_timer *timer;
    int64_t timer_at_ms;
    int64_t writer_id; /* for buckets that need one; -1: none */
    bool is_writer_asked;
    int writer_failures;
    int64_t writer_failing_ms; /* since then; of the first failure in a row */
    void (*drained)(void *context);
    void *drained_context;
    int64_t drain_until_ms;
    fl_losses losses;
};

/** A public writer's core. */
struct fl_writer {
    atomic_int refs;
    fl_client *client; /* borrowed: the handle shares it */
    fl_table *table;   /* shares */
    fl_write_table *target;
    fl_stream stream;
    fl_hash_variant hash;
    uint32_t *given; /* columns that rows give, in the user's order; NULL: all */
    size_t given_count;
    int32_t *targets; /* the same, ascending */
    /* loop only */
    fluss_error_t err;  /* of a row whose failure nobody waits for; code 0: none */
    int64_t lost_count; /* such rows */
    bool is_loser;      /* in the sender's list */
    fl_writer *loser_next;
};
struct fluss_writer {
    fl_writer *writer; /* shares */
    fl_client *client; /* shares */
};
void fl_writer_unref(fl_writer *writer);
fl_writer *fl_writer_ref(fl_writer *writer);

/* ---- batch.c: rows into bytes ---- */
/** Rows of a batch before they are encoded: columns, or records one after the other. */
typedef struct fl_content fl_content;
FLUSS_CHECKED fluss_code_t fl_content_new(const fl_stream *stream, fl_content **content,
                                          fluss_error_t *err);
/** A content of a finished array from a row on, which is borrowed until the batch is encoded. */
FLUSS_CHECKED fluss_code_t fl_content_of_array(const struct ArrowArray *array, int64_t row_from,
                                               fl_content **content, fluss_error_t *err);
void fl_content_free(fl_content *content);
size_t fl_content_bytes(const fl_content *content);
/** Append a row. @param values coerced, all columns; NULL: a delete @param key of keyed tables */
FLUSS_CHECKED fluss_code_t fl_content_append(fl_content *content, const fl_stream *stream,
                                             const fluss_datum_t *values, fl_slice key,
                                             fluss_error_t *err);
/** Turn a closed batch's content into its frame. Thread: any, one a batch. */
void fl_batch_encode(fl_sender *sender, fl_batch *batch);
/** Set writer id and sequence in the bytes. */
void fl_batch_stamp(fl_batch *batch);
/** gives (fl_batch_free). */
fl_batch *fl_batch_new(fl_sender *sender, fl_write_bucket *bucket,
                       const fl_stream *stream) FLUSS_CHECKED;
void fl_batch_free(fl_batch *batch);
/** Make room for one more ack and run, so that adding can't fail. */
FLUSS_CHECKED fluss_code_t fl_batch_reserve(fl_batch *batch, fluss_error_t *err);
/** Count rows that were appended: of this writer, with this ack. */
void fl_batch_add(fl_batch *batch, int32_t row_count, fl_ack ack, fl_writer *writer);
/** Complete everything that waits for the batch, and free it. Thread: loop, no lock held. */
void fl_batch_settle(fl_batch *batch, const fluss_ack_t *ack, const fluss_error_t *err);
void fl_encoders_free(fl_sender *sender);
void fl_ack_group_part_done(fl_ack_group *group, const fluss_ack_t *ack, const fluss_error_t *err);

/* ---- accumulator.c: users' threads ---- */
/** The write table of a table; made once. */
FLUSS_CHECKED fluss_code_t fl_sender_table(fl_sender *sender, fl_table *table, fl_write_table **out,
                                           fluss_error_t *err);
/** The partition of a name (NULL: none); made once. */
FLUSS_CHECKED fluss_code_t fl_write_table_partition(fl_write_table *table, const char *name,
                                                    fl_write_partition **out, fluss_error_t *err);
void fl_sender_charge(fl_sender *sender, int64_t bytes); /* < 0: give back */
/** Append a row to a bucket's open batch. */
FLUSS_CHECKED fluss_code_t fl_accumulate_row(fl_writer *writer, fl_write_bucket *bucket,
                                             const fluss_datum_t *values, fl_slice key, fl_ack ack,
                                             fluss_error_t *err);
/** Append rows of an array, which has the table's columns, as a batch of their own, encoded before
 * this returns. */
FLUSS_CHECKED fluss_code_t fl_accumulate_array(fl_writer *writer, fl_write_bucket *bucket,
                                               const struct ArrowArray *array, int64_t row_from,
                                               int64_t row_count, fl_ack ack, fluss_error_t *err);
/** A batch ended with so many bytes, full or by its timeout. */
void fl_write_table_learn(fl_write_table *table, size_t bytes);
/** A bucket for a row without a key: one with a leader, as far as that is known. */
int32_t fl_write_partition_next_bucket(fl_write_partition *partition);
/** Close the open batch, which is not empty, and queue it as ENCODING. Lock: bucket held. */
fl_batch *fl_bucket_close_open(fl_write_bucket *bucket);

/* ---- sender.c: loop ---- */
/** Look at a bucket: something may be ready to be sent. */
void fl_sender_look_at(fl_write_bucket *bucket);
void fl_sender_run_bucket(fl_task *task);
/** Look at everything once more at this time. */
void fl_sender_wake_at(fl_sender *sender, int64_t at_ms);
/** Look at all buckets. */
void fl_sender_look_at_all(fl_sender *sender);
/** Call `visit` for each bucket of each table. */
typedef void (*fl_visit_bucket)(fl_write_bucket *bucket, void *context);
void fl_sender_visit(fl_sender *sender, fl_visit_bucket visit, void *context);
/** A batch ended: flushes and draining may be done. */
void fl_sender_check_waiters(fl_write_table *table);
/** Fail everything that waits in a bucket. */
void fl_bucket_fail_all(fl_write_bucket *bucket, const fluss_error_t *err);
fluss_bucket_t fl_write_bucket_id(const fl_write_bucket *bucket);

/* ---- losses.c: loop: what was given up and nobody was told ---- */
/** The batch was given up; its runs say of how many rows nobody waits for the end. */
void fl_losses_note(fl_losses *losses, const fl_batch *batch, const fluss_error_t *err);
/** Take the error of a writer, which is told now. @return its code, 0: none */
fluss_code_t fl_losses_take_writer(fl_losses *losses, fl_writer *writer, fluss_error_t *err);
/** Take everything: the first error, with the number of rows. @return its code, 0: none */
fluss_code_t fl_losses_take(fl_losses *losses, fluss_error_t *err);
void fl_losses_free(fl_losses *losses);

/* ---- route.c: loop: where does a bucket's batch go ---- */
/** The leader's address; NULL: not known, steps are taken and the bucket is looked at again. */
const char *fl_bucket_route(fl_write_bucket *bucket);
/** The leader was wrong or gone. */
void fl_bucket_forget_route(fl_write_bucket *bucket);

/* ---- sequences.c: loop: writer ids, and the numbers of batches ---- */
/** Whether the bucket's next batch can be numbered, or needs no number; else a writer id is asked
 * for, or batches under a lost one are waited for. */
bool fl_bucket_has_writer(fl_write_bucket *bucket);
/** Number a batch that is about to be sent, and stamp its bytes. */
void fl_batch_number(fl_batch *batch);
/** Whether the batch can go out under its bucket's writer id without being there twice. */
bool fl_batch_is_safe(const fl_batch *batch);
/** The batch is acknowledged: its sequence is used up. */
void fl_batch_sequence_done(fl_batch *batch);
/** The batch, which is in no list, is given up. */
void fl_batch_sequence_failed(fl_batch *batch);
/** Whether the batch's sequence is that after the last acknowledged one. */
bool fl_batch_is_next(const fl_batch *batch);
/** Whether a batch with this sequence or a later one was acknowledged. */
bool fl_batch_was_acked(const fl_batch *batch);
/** Sequences under the bucket's writer id lead nowhere. */
void fl_bucket_lose_writer(fl_write_bucket *bucket);

/* ---- produce.c: loop: requests and their answers ---- */
typedef struct fl_produce fl_produce;
/** Requests under construction in one round. */
typedef struct fl_round {
    fl_sender *sender;
    fl_produce *requests;
} fl_round;
/** Put a batch, just taken out of its bucket's queue, into a request to `address`. */
void fl_round_add(fl_round *round, const char *address, fl_batch *batch);
void fl_round_send(fl_round *round);
#endif
