/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: who owns what.
 *
 *   fl_scanner       one a handle; the buckets, what was fetched ahead, the poll that waits
 *     fl_scan_bucket   position, and decoded pieces that were not delivered yet
 *   fl_fetch         one request to one server, from sending to decoded
 *   fl_chunk         one decoded batch, shared by the results that show parts of it
 *   fl_piece         some rows of a chunk
 *   fl_bounds        what makes a scanner end: a read is a scanner of its own, with bounds, that
 *                    was made of the subscriptions of the user's
 *
 * State of a scanner is guarded by its lock, which the loop and users' threads take briefly;
 * futures complete without it. Decoding of large answers runs on pool threads. */
#ifndef FL_SCAN_PRIVATE_H
#define FL_SCAN_PRIVATE_H
#include <fluss/fluss_arrow.h>
#include <pthread.h>

#include "client/table.h"
#include "format/filter.h"
#include "format/log_batch.h"
#include "net/loop.h"

typedef struct fl_scanner fl_scanner;
typedef struct fl_scan_bucket fl_scan_bucket;

/** How batches of one table become what the user wants. Immutable. */
typedef struct fl_scan_plan {
    fl_table *table;          /* shares */
    fl_schema *output;        /* the columns that are delivered; shares */
    uint32_t *columns;        /* their indexes in the table, in the user's order; NULL: all */
    int32_t *wire_columns;    /* ascending, for the server; NULL: no projection there */
    size_t column_count;      /* of columns */
    size_t wire_column_count; /* more than column_count when an exact filter wants others */
    bool is_batches, is_write_time, check_crc;
    fl_filter *filter; /* NULL: none; lies in the arena */
    fl_arena arena;
    bool is_exact;
} fl_scan_plan;

typedef struct fl_chunk {
    atomic_int refs;
    fluss_bucket_t bucket;
    int64_t first_offset, timestamp_ms;
    int64_t row_count;
    fl_schema *schema; /* shares */
    struct ArrowArray array;
    struct fl_arrow_rows *rows;  /* records mode */
    const uint8_t *change_types; /* one a row; NULL: all APPEND_ONLY */
    int64_t *offsets;            /* of rows that are not consecutive; NULL: they are */
    uint8_t *owned_types;
    fl_frame *frame; /* holds change_types; shares */
    size_t bytes;
} fl_chunk;
/** Log offset of a row. */
static inline int64_t fl_chunk_offset(const fl_chunk *chunk, int64_t row)
{
    return chunk->offsets != NULL ? chunk->offsets[row] : chunk->first_offset + row;
}
fl_chunk *fl_chunk_ref(fl_chunk *chunk);
void fl_chunk_unref(fl_chunk *chunk);

/** Rows [from, from + count) of a chunk; chunk NULL: nothing but progress. */
typedef struct fl_piece {
    struct fl_piece *next;
    fl_chunk *chunk; /* shares */
    int64_t from, count;
    int64_t next_offset; /* the position once it is delivered */
    size_t bytes;
    fluss_bucket_t bucket;
    uint64_t generation;
    int64_t start_offset; /* the position before it */
} fl_piece;
void fl_pieces_free(fl_piece *piece);

struct fl_scan_bucket {
    fl_scan_bucket *next;
    const fl_scan_plan *plan;
    fluss_bucket_t id;
    int64_t position, fetch_offset;
    int64_t start_offset, stop_offset; /* of a read; else where it was placed, and none */
    uint64_t generation;
    fl_piece *first, **last;
    size_t buffered_bytes, fetch_bytes_max;
    bool is_fetching;
    bool wants_whole; /* the server can't project what comes next: ask for all columns */
    bool is_gone;     /* its partition was dropped, which a poll has said */
    int failed_count;
    int64_t not_before_ms;
    bool has_failure;       /* for the next poll */
    fluss_error_t *failure; /* what it says; NULL: memory was out */
};

typedef struct fl_resolve_item {
    fluss_bucket_t bucket;
    int64_t offset; /* FLUSS_EARLIEST or FLUSS_LATEST; then the number */
} fl_resolve_item;

/** What a poll waits for. A read also has its end to tell: no rows. */
typedef enum {
    FL_WANTS_ROWS,
    FL_WANTS_REST,   /* of a read: all rows up to its end at once */
    FL_WANTS_SETTLED /* of a read: nothing but its bounds */
} fl_wish;

typedef struct fl_poll {
    fl_task task;
    struct fl_poll *next; /* that is posted */
    fl_scanner *scanner;  /* shares */
    fl_client *client;    /* shares */
    fluss_future_t *future;
    int64_t deadline_ms;
    bool is_immediate;
    fl_wish wish;
    fl_piece *pieces, **last; /* REST: what came so far */
} fl_poll;

/** The bounds of a read. Guarded by its scanner's lock, but for `items` while they are settled. */
typedef struct fl_bounds {
    fl_task settling;
    fl_scanner *scanner;    /* it lies in */
    fl_resolve_item *items; /* a start and a stop for each bucket, until they are settled */
    size_t count;           /* of items */
    bool is_settled;
    bool holds_origin; /* guarded by the origin's lock */
    fluss_error_t end; /* why it can't go on, from now on; code 0: it can */
} fl_bounds;

struct fl_scanner {
    atomic_int refs;
    fl_client *client;           /* borrowed: handle, polls and fetches hold it */
    fl_scanner *next, *previous; /* in the client's list; loop */
    fl_scan_plan *plans;
    size_t plan_count;
    bool is_batches;
    fl_scanner *origin; /* of a read: whose plans these are; shares. Its lock is taken first */
    fl_bounds *bounds;  /* of a read; NULL: it reads without end */

    pthread_mutex_t lock; /* guards: all below */
    fl_scan_bucket *buckets, **bucket_last;
    uint64_t generations;
    size_t buffered_bytes;
    fl_poll *poll;
    fl_poll *posted;     /* polls on their way to the loop; borrowed */
    size_t readers;      /* reads that hold it: nobody polls */
    fl_scanner *opening; /* the read whose bounds a fluss_read waits for: a wake-up stops it */
    bool is_woken, is_closed;
    bool is_short;           /* memory was out: the poll that waits fails */
    bool is_failure_due;     /* a poll delivered rows while a bucket held a failure */
    struct fl_held *untaken; /* results that the user has not got yet */
    const fl_piece *leaving; /* pieces on their way into a result, or back out of one */
    int64_t polled_ms;
    /* loop only */
    fl_timer *timer; /* made before the first poll waits */
    int64_t timer_at_ms;
    bool is_refreshing, is_listed;
    fl_task ending;   /* posted once, when the handle is gone; needs no memory then */
    fl_client *ender; /* shares, while `ending` is posted */
    fl_task waking;
    atomic_bool is_waking; /* posted: shares scanner and client */
};

struct fluss_scanner {
    fl_scanner *scanner; /* shares */
    fl_client *client;   /* shares */
};
struct fluss_read {
    fl_scanner *scanner; /* shares; has an origin and bounds */
    fl_client *client;   /* shares */
};

/** A scanner without plans and buckets. NULL: out of memory. */
fl_scanner *fl_scanner_new(fl_client *client, bool is_batches);
/** Have the client know of the scanner. Thread: loop. */
void fl_scanner_list(fl_scanner *scanner);
/** Have the loop see what has changed for whoever waits. Thread: any. */
void fl_scanner_wake(fl_scanner *scanner);
/** Let the loop end a scanner whose handle is gone. */
void fl_scanner_end(fl_scanner *scanner, fl_client *client);
fl_scanner *fl_scanner_ref(fl_scanner *scanner);
void fl_scanner_unref(fl_scanner *scanner);
/** Lock: held. */
fl_scan_bucket *fl_scanner_find(const fl_scanner *scanner, const fluss_bucket_t *id);
/** Read one bucket more. Lock: held. @return NULL: out of memory */
fl_scan_bucket *fl_scanner_add(fl_scanner *scanner, const fl_scan_plan *plan,
                               const fluss_position_t *position);
/** Where the user is in a bucket: before what lies in results that he has not got. Lock: held. */
int64_t fl_scanner_reached(const fl_scanner *scanner, const fl_scan_bucket *bucket);
/** Forget the rows that were fetched and not delivered. Lock: held. */
void fl_scanner_forget(fl_scanner *scanner, fl_scan_bucket *bucket);
/** Read a bucket from another offset on. Lock: held. */
void fl_scanner_move(fl_scanner *scanner, fl_scan_bucket *bucket, int64_t offset);
/** Stop reading a bucket; nothing when it is not read. Lock: held. */
void fl_scanner_remove(fl_scanner *scanner, const fluss_bucket_t *id);
static inline bool fl_bucket_equal(const fluss_bucket_t *a, const fluss_bucket_t *b)
{
    return a->table_id == b->table_id && a->partition_id == b->partition_id &&
           a->bucket == b->bucket;
}

/* ---- scan_poll.c: loop ---- */
/** Complete the poll that waits, if there is something for it. */
void fl_scanner_serve(fl_scanner *scanner);
/** Start a poll. Thread: any. */
fluss_future_t *fl_scanner_poll(fl_scanner *scanner, fl_client *client, int64_t timeout_ms,
                                fl_wish wish);
/** What a poll gives, from pieces, which are taken on success. */
FLUSS_CHECKED fluss_code_t fl_scanner_value(fl_scanner *scanner, fl_client *client,
                                            fl_piece *pieces, fl_value *value, fluss_error_t *err);
/** Whether a poll waits, or is on its way. Lock: held. */
bool fl_scanner_is_polled(const fl_scanner *scanner);
/** Serve and pump then. Once a poll has been started. */
void fl_scanner_wake_at(fl_scanner *scanner, int64_t at_ms);
/** Put a result that nobody took back in front. takes the pieces. Thread: loop. */
void fl_scanner_give_back(fl_scanner *scanner, fl_piece *pieces);

/* ---- read.c ---- */
/** fluss_read_begin; `is_alone`: no other read may hold the scanner. */
FLUSS_CHECKED fluss_code_t fl_read_begin(fluss_scanner_t *scanner, const fluss_position_t *stop,
                                         size_t n, bool is_alone, fluss_read_t **out,
                                         fluss_error_t *err);
/** Whether a scanner is a read whose rows were all delivered. Lock: held. */
bool fl_read_is_over(const fl_scanner *scanner);
/** Stop a read for good. Lock: of its origin may be held. Thread: any. */
void fl_read_stop(fl_scanner *scanner);

/* ---- fetcher.c: loop ---- */
/** Send what fetches there is room for. */
void fl_scanner_pump(fl_scanner *scanner);

/* ---- scan_decode.c: any thread ---- */
/** A batch as it arrived. */
typedef struct fl_wire_batch {
    fl_log_batch batch;
    fl_frame *frame;   /* that it views; borrowed */
    bool is_projected; /* to the plan's wire_columns */
} fl_wire_batch;
/** Decode one batch. @param from first log offset wanted @param chunk NULL when no row remains */
FLUSS_CHECKED fluss_code_t fl_scan_decode(const fl_scan_plan *plan, const fluss_bucket_t *bucket,
                                          const fl_wire_batch *wire, int64_t from, fl_chunk **chunk,
                                          fluss_error_t *err);
/** Whether a batch's statistics leave room for a row that passes the plan's filter. */
bool fl_scan_batch_may_match(const fl_scan_plan *plan, const fl_log_batch *batch);
/** Whether batches of a schema lack some of the plan's wire_columns. */
bool fl_scan_lacks_columns(const fl_scan_plan *plan, int32_t schema_id);
/** A chunk of rows that came one by one: limit scans and lookups. takes the array. */
FLUSS_CHECKED fluss_code_t fl_chunk_new(const fluss_bucket_t *bucket, fl_schema *schema,
                                        struct ArrowArray *array, bool with_rows, fl_chunk **out,
                                        fluss_error_t *err);

/* ---- records.c, batches.c ---- */
/** Results from pieces. takes the pieces on success. @param scanner NULL: nobody to give back to */
FLUSS_CHECKED fluss_code_t fl_records_new(fl_piece *pieces, fl_scanner *scanner, fl_client *client,
                                          fluss_records_t **out, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_batches_new(fl_piece *pieces, fl_scanner *scanner, fl_client *client,
                                          fluss_batches_t **out, fluss_error_t *err);
/** What both have in common: pieces, and where they go when nobody takes them. */
typedef struct fl_held {
    fl_task task;
    struct fl_held *next, **link; /* in the scanner's untaken, while there is a scanner */
    fl_piece *pieces;
    fl_scanner *scanner;                   /* shares; NULL after it was taken */
    fl_client *client;                     /* shares; NULL with scanner */
    void (*release)(struct fl_held *held); /* frees the object around it */
} fl_held;
void fl_held_init(fl_held *held, fl_piece *pieces, fl_scanner *scanner, fl_client *client,
                  void (*release)(fl_held *held));
/** Free pieces and object; first give the pieces back when nobody took them. */
void fl_held_end(fl_held *held);
fl_held *fl_batches_held(fluss_batches_t *batches);
/** The rows of a batch that was not taken out. @param i below the count */
const fl_piece *fl_batches_piece(const fluss_batches_t *batches, size_t i);
/** A leading `__change_type` column. */
FLUSS_CHECKED fluss_code_t fl_prepend_types_schema(struct ArrowSchema *schema, fluss_error_t *err);

/* ---- scan_options.c ---- */
FLUSS_CHECKED fluss_code_t fl_scan_opts_read(const fluss_scan_opts_t *in, fluss_scan_opts_t *out,
                                             fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_scan_plan_init(fl_scan_plan *plan, fl_table *table,
                                             const fluss_scan_opts_t *opts, fluss_error_t *err);
void fl_scan_plan_deinit(fl_scan_plan *plan);

/* ---- limit_scan.c ---- */
/** fluss_scan_bucket that ends after so long at most. Thread: any. */
fluss_future_t *fl_scan_bucket_within(fluss_table_t *table, fluss_bucket_t bucket,
                                      const fluss_scan_opts_t *opts, int64_t limit_ms);

/* ---- offsets.c: loop: EARLIEST and LATEST into numbers ---- */
/** Resolve all items that are negative; `items` live until `done`. */
void fl_resolve_offsets(fl_client *client, const fl_scan_plan *plans, size_t plan_count,
                        fl_resolve_item *items, size_t count, int64_t deadline_ms,
                        void (*done)(void *context, const fluss_error_t *err), void *context);
#endif
