/* SPDX-License-Identifier: Apache-2.0 */
/* Polls: one waits at a time, until something is there, its time is over or it is woken up.
 *
 * What a poll delivers leaves the buckets and moves their positions; of a read it is cut off at the
 * stop. When the user never takes the result (a cancelled or dropped future), the pieces come back
 * and the positions with them, as long as nothing else was delivered from the bucket meanwhile. */
#include <string.h>

#include "base/alloc.h"
#include "client/scan_private.h"
#include "client/scanners.h"

enum { BATCH_COUNT_MAX = 100, BATCH_BYTES_MAX = 64 << 20 };

/* ---- gathering ---- */

/* Lock: held. Take the bucket's first piece, or the first rows of it. */
static fl_piece *take_piece(fl_scanner *scanner, fl_scan_bucket *bucket, int64_t row_count_max)
{
    fl_piece *piece = bucket->first;
    if (piece->count > row_count_max) {
        fl_piece *part = fl_calloc(1, sizeof(*part));
        if (part == NULL) {
            return NULL;
        }
        *part = *piece;
        part->next = NULL;
        part->chunk = fl_chunk_ref(piece->chunk);
        part->count = row_count_max;
        part->next_offset = fl_chunk_offset(piece->chunk, piece->from + row_count_max - 1) + 1;
        part->bytes = 0; /* stays with the rest */
        piece->from += row_count_max;
        piece->count -= row_count_max;
        return part;
    }
    bucket->first = piece->next;
    if (bucket->first == NULL) {
        bucket->last = &bucket->first;
    }
    piece->next = NULL;
    bucket->buffered_bytes -= piece->bytes;
    scanner->buffered_bytes -= piece->bytes;
    return piece;
}

typedef struct gathering {
    fl_piece *first, **last;
    int64_t rows, rows_max;
    size_t batches, bytes;
} gathering;

/* Cut off the rows from an offset on. */
static void cut_piece(fl_piece *piece, int64_t stop)
{
    if (piece->next_offset > stop) {
        while (piece->count > 0 &&
               fl_chunk_offset(piece->chunk, piece->from + piece->count - 1) >= stop) {
            piece->count--;
        }
        piece->next_offset = stop;
    }
}

/* Lock: held. */
static void gather_bucket(fl_scanner *scanner, fl_scan_bucket *bucket, gathering *g)
{
    while (bucket->first != NULL && g->rows < g->rows_max && g->bytes < BATCH_BYTES_MAX) {
        fl_piece *piece =
            take_piece(scanner, bucket, scanner->is_batches ? INT64_MAX : g->rows_max - g->rows);
        if (piece == NULL) {
            scanner->is_short = true;
            return;
        }
        cut_piece(piece, bucket->stop_offset);
        piece->start_offset = bucket->position;
        bucket->position = piece->next_offset;
        if (bucket->position >= bucket->stop_offset) {
            fl_scanner_forget(scanner, bucket);
        }
        if (piece->count == 0) {
            fl_pieces_free(piece);
            continue;
        }
        g->rows += scanner->is_batches ? 1 : piece->count;
        g->bytes += piece->bytes;
        *g->last = piece;
        g->last = &piece->next;
    }
}

/* Lock: held. What there is for one poll; buckets take turns in being first. */
static fl_piece *gather(fl_scanner *scanner)
{
    gathering g = {
        .rows_max = scanner->is_batches ? BATCH_COUNT_MAX
                                        : scanner->client->config->scan_poll_records.number,
    };
    g.last = &g.first;
    for (fl_scan_bucket *bucket = scanner->buckets; bucket != NULL; bucket = bucket->next) {
        gather_bucket(scanner, bucket, &g);
    }
    fl_scan_bucket *first = scanner->buckets;
    if (g.first != NULL && first != NULL && first->next != NULL) {
        scanner->buckets = first->next;
        first->next = NULL;
        *scanner->bucket_last = first;
        scanner->bucket_last = &first->next;
    }
    return g.first;
}

/* Lock: held. */
static void forget_failure(fl_scan_bucket *bucket)
{
    fl_free(bucket->failure);
    bucket->failure = NULL;
    bucket->has_failure = false;
}

/* Lock: held. A dropped partition never comes back, for its id is not used again: one failure is
 * all that is said of it. What was fetched before stays until a poll takes it. */
static void forget_partition(fl_scanner *scanner, fluss_bucket_t of)
{
    for (fl_scan_bucket *bucket = scanner->buckets, *next; bucket != NULL; bucket = next) {
        next = bucket->next;
        if (bucket->id.table_id != of.table_id || bucket->id.partition_id != of.partition_id) {
            continue;
        }
        if (bucket->first == NULL) {
            const fluss_bucket_t id = bucket->id;
            fl_scanner_remove(scanner, &id);
        } else {
            forget_failure(bucket);
            bucket->is_gone = true;
        }
    }
}

/* Lock: held. The first bucket that holds a failure; `is_drained`: without rows before it. */
static fl_scan_bucket *find_failed(const fl_scanner *scanner, bool is_drained)
{
    fl_scan_bucket *bucket = scanner->buckets;
    while (bucket != NULL && (!bucket->has_failure || (is_drained && bucket->first != NULL))) {
        bucket = bucket->next;
    }
    return bucket;
}

/* Lock: held. The bucket's failure, which is forgotten; the bucket stays where it is, unless its
 * partition is gone. */
static void take_failure(fl_scanner *scanner, fl_scan_bucket *bucket, fluss_error_t *err)
{
    (void)fl_error_nomem(err);
    if (bucket->failure != NULL) {
        *err = *bucket->failure;
    }
    forget_failure(bucket);
    bucket->not_before_ms = fl_clock_ms() + 100;
    if (err->code == FLUSS_E_PARTITION_NOT_EXISTS) {
        forget_partition(scanner, bucket->id);
    }
}

/* Lock: held. What a poll is told: rows or, where there are none, a failure. A failure that one
 * poll passed over for the rows of other buckets comes before theirs in the next. @return failed */
static bool take_news(fl_scanner *scanner, fl_piece **pieces, fluss_error_t *err)
{
    fl_scan_bucket *failed = scanner->is_failure_due ? find_failed(scanner, true) : NULL;
    *pieces = failed == NULL ? gather(scanner) : NULL;
    scanner->is_failure_due = *pieces != NULL && find_failed(scanner, false) != NULL;
    if (*pieces != NULL) {
        return false;
    }
    failed = failed != NULL ? failed : find_failed(scanner, false);
    if (scanner->is_short) {
        (void)fl_error_nomem(err);
    } else if (failed != NULL) {
        take_failure(scanner, failed, err);
    }
    return scanner->is_short || failed != NULL;
}

/* ---- ending a poll ---- */

static void free_poll(fl_poll *poll)
{
    fl_client *client = poll->client;
    fl_scanner_unref(poll->scanner);
    fl_free(poll);
    fl_client_unref(client);
}

/* What it had gathered is there for the next one. No lock held. */
static void fail_poll(fl_poll *poll, const fluss_error_t *err)
{
    if (poll->pieces != NULL) {
        fl_scanner_give_back(poll->scanner, poll->pieces);
    }
    fl_future_fail(poll->future, err);
    free_poll(poll);
}

static void count_rows(fl_client *client, const fl_piece *pieces)
{
    long long rows = 0, batches = 0;
    for (const fl_piece *piece = pieces; piece != NULL; piece = piece->next) {
        rows += piece->count;
        batches++;
    }
    fl_metric_add(&client->metrics.rows_read, rows);
    fl_metric_add(&client->metrics.batches_read, batches);
}

fluss_code_t fl_scanner_value(fl_scanner *scanner, fl_client *client, fl_piece *pieces,
                              fl_value *value, fluss_error_t *err)
{
    if (scanner->is_batches) {
        fluss_batches_t *batches = NULL;
        FL_TRY(fl_batches_new(pieces, scanner, client, &batches, err));
        *value = (fl_value){.kind = FL_VALUE_BATCHES, .v.object = batches};
    } else {
        fluss_records_t *records = NULL;
        FL_TRY(fl_records_new(pieces, scanner, client, &records, err));
        *value = (fl_value){.kind = FL_VALUE_RECORDS, .v.object = records};
    }
    return 0;
}

/* Hand over what was gathered. takes the poll. No lock held. */
static void deliver(fl_poll *poll)
{
    fl_value value = {.kind = FL_VALUE_VOID};
    fluss_error_t err;
    count_rows(poll->client, poll->pieces);
    if (poll->wish != FL_WANTS_SETTLED &&
        fl_scanner_value(poll->scanner, poll->client, poll->pieces, &value, &err) != 0) {
        fail_poll(poll, &err);
        return;
    }
    fl_future_complete_or_free(poll->future, value);
    free_poll(poll);
}

/* Lock: held. Add what there is to what the poll has. @return failed */
static bool fill_poll(fl_scanner *scanner, fl_poll *poll, fluss_error_t *err)
{
    fl_piece *pieces;
    bool is_failed;
    do {
        is_failed = take_news(scanner, &pieces, err);
        *poll->last = pieces;
        while (*poll->last != NULL) {
            poll->last = &(*poll->last)->next;
        }
    } while (pieces != NULL && poll->wish == FL_WANTS_REST);
    scanner->leaving = poll->pieces;
    return is_failed;
}

/* Lock: held. Whether a poll is over. @param err its code is not 0: that is how */
static bool ends_poll(fl_scanner *scanner, fl_poll *poll, fluss_error_t *err)
{
    const fl_bounds *bounds = scanner->bounds;
    if (fl_future_is_abandoned(poll->future)) {
        return true;
    }
    if (poll->wish == FL_WANTS_SETTLED && bounds->is_settled) {
        return true;
    }
    if (!fl_read_is_over(scanner)) {
        if (scanner->is_closed) {
            return fl_client_closed_error(err) != 0;
        }
        if (bounds != NULL && bounds->end.code != 0) {
            *err = bounds->end;
            return true;
        }
        if (poll->wish != FL_WANTS_SETTLED && fill_poll(scanner, poll, err)) {
            return true;
        }
    }
    return (poll->pieces != NULL && poll->wish == FL_WANTS_ROWS) || fl_read_is_over(scanner) ||
           poll->is_immediate || scanner->is_woken || fl_clock_ms() >= poll->deadline_ms;
}

void fl_scanner_serve(fl_scanner *scanner)
{
    fluss_error_t err = {0};
    (void)pthread_mutex_lock(&scanner->lock);
    fl_poll *poll = scanner->poll;
    const bool is_over = poll != NULL && ends_poll(scanner, poll, &err);
    if (is_over) {
        scanner->poll = NULL;
        scanner->is_woken = false;
        scanner->polled_ms = fl_clock_ms();
    }
    const int64_t deadline_ms = poll != NULL && !is_over ? poll->deadline_ms : INT64_MAX;
    (void)pthread_mutex_unlock(&scanner->lock);
    if (deadline_ms != INT64_MAX) {
        fl_scanner_wake_at(scanner, deadline_ms);
    }
    if (is_over && err.code != 0) {
        fail_poll(poll, &err);
    } else if (is_over) {
        deliver(poll);
    }
}

/* ---- starting a poll ---- */

static void on_timer(void *context)
{
    fl_scanner *scanner = context;
    fl_client *client = fl_client_ref(scanner->client);
    (void)fl_scanner_ref(scanner);
    fl_scanner_serve(scanner);
    fl_scanner_pump(scanner);
    fl_scanner_unref(scanner);
    fl_client_unref(client);
}

/* Nothing that a poll waits for needs memory for its timer. */
static fluss_code_t need_timer(fl_scanner *scanner, fluss_error_t *err)
{
    return scanner->timer != NULL
               ? 0
               : fl_timer_new(scanner->client->loop, on_timer, scanner, &scanner->timer, err);
}

/* Lock: held. */
static void forget_posted(fl_scanner *scanner, const fl_poll *poll)
{
    fl_poll **at = &scanner->posted;
    while (*at != poll) {
        at = &(*at)->next;
    }
    *at = poll->next;
}

static void run_poll(fl_task *task)
{
    fl_poll *poll = FL_CONTAINER_OF(task, fl_poll, task);
    fl_scanner *scanner = fl_scanner_ref(poll->scanner);
    fl_client *client = fl_client_ref(poll->client);
    fluss_error_t err = {0};
    fl_poll *stale = NULL;
    (void)pthread_mutex_lock(&scanner->lock);
    forget_posted(scanner, poll);
    if (scanner->is_closed) {
        (void)fl_client_closed_error(&err);
    } else if (scanner->poll != NULL && !fl_future_is_abandoned(scanner->poll->future)) {
        (void)fl_error(&err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                       "the scanner is in use: another poll waits");
    } else if (scanner->buckets == NULL) {
        (void)fl_error(&err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                       "the scanner is not subscribed to any bucket");
    } else if (need_timer(scanner, &err) == 0) {
        stale = scanner->poll;
        scanner->is_short = false;
        scanner->poll = poll;
        scanner->polled_ms = fl_clock_ms();
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    if (stale != NULL) {
        (void)fl_error(&err, FLUSS_E_CLIENT, FLUSS_KIND_CANCELLED, "the call was cancelled");
        fail_poll(stale, &err);
        err.code = 0;
    }
    if (err.code != 0) {
        fail_poll(poll, &err);
    } else {
        fl_scanner_pump(scanner);
        fl_scanner_serve(scanner);
        fl_scanner_pump(scanner);
    }
    fl_scanner_unref(scanner);
    fl_client_unref(client);
}

bool fl_scanner_is_polled(const fl_scanner *scanner)
{
    const fl_poll *poll = scanner->posted;
    while (poll != NULL && fl_future_is_abandoned(poll->future)) {
        poll = poll->next;
    }
    return poll != NULL ||
           (scanner->poll != NULL && !fl_future_is_abandoned(scanner->poll->future));
}

fluss_future_t *fl_scanner_poll(fl_scanner *scanner, fl_client *client, int64_t timeout_ms,
                                fl_wish wish)
{
    fl_poll *poll = fl_calloc(1, sizeof(*poll));
    if (poll == NULL) {
        fluss_error_t err;
        (void)fl_error_nomem(&err);
        return fl_future_failed(&err);
    }
    fluss_future_t *future = fl_future_new();
    const int64_t now = fl_clock_ms();
    *poll = (fl_poll){
        .task.run = run_poll,
        .scanner = fl_scanner_ref(scanner),
        .client = fl_client_ref(client),
        .future = future,
        .deadline_ms =
            timeout_ms < 0 || timeout_ms > INT64_MAX - now ? INT64_MAX : now + timeout_ms,
        .is_immediate = timeout_ms == 0,
        .wish = wish,
    };
    poll->last = &poll->pieces;
    (void)pthread_mutex_lock(&scanner->lock);
    poll->next = scanner->posted;
    scanner->posted = poll;
    (void)pthread_mutex_unlock(&scanner->lock);
    fl_loop_post(client->loop, &poll->task);
    return future;
}

void fl_scanner_wake_at(fl_scanner *scanner, int64_t at_ms)
{
    if (scanner->timer == NULL) { /* ended: nobody waits */
        return;
    }
    if (!fl_timer_is_set(scanner->timer) || at_ms < scanner->timer_at_ms) {
        scanner->timer_at_ms = at_ms;
        fl_timer_start(scanner->timer, at_ms - fl_clock_ms());
    }
}

/* ---- giving back ---- */

/* Lock: held. Whether the piece was the last that its bucket delivered. */
static bool return_piece(fl_scanner *scanner, fl_piece *piece)
{
    fl_scan_bucket *bucket = fl_scanner_find(scanner, &piece->bucket);
    if (bucket == NULL || bucket->generation != piece->generation ||
        bucket->position != piece->next_offset) {
        return false;
    }
    piece->next = bucket->first;
    if (bucket->first == NULL) {
        bucket->last = &piece->next;
    }
    bucket->first = piece;
    bucket->position = piece->start_offset;
    bucket->buffered_bytes += piece->bytes;
    scanner->buffered_bytes += piece->bytes;
    return true;
}

void fl_scanner_give_back(fl_scanner *scanner, fl_piece *pieces)
{
    /* The last piece first: each goes to the front of its bucket. */
    fl_piece *reversed = NULL;
    while (pieces != NULL) {
        fl_piece *next = pieces->next;
        pieces->next = reversed;
        reversed = pieces;
        pieces = next;
    }
    (void)pthread_mutex_lock(&scanner->lock);
    while (reversed != NULL) {
        fl_piece *piece = reversed;
        reversed = piece->next;
        piece->next = NULL;
        if (!return_piece(scanner, piece)) {
            fl_pieces_free(piece);
        }
    }
    scanner->leaving = NULL;
    (void)pthread_mutex_unlock(&scanner->lock);
    fl_scanner_serve(scanner);
}

void fl_pieces_free(fl_piece *piece)
{
    while (piece != NULL) {
        fl_piece *next = piece->next;
        fl_chunk_unref(piece->chunk);
        fl_free(piece);
        piece = next;
    }
}
