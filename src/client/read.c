/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reads: the buckets of a scanner up to stop offsets.
 *
 * A read is a scanner of its own, made of the user's: the same plans, the same buckets from where
 * they are, and bounds. So neither has to know how the other goes on or ends. It begins with
 * settling its bounds; no bucket is fetched before. Then each is fetched up to its stop, polls
 * deliver (scan_poll.c), and the end is where every position has reached its stop. What keeps it
 * from going on - the bounds that can't be settled, a stop - is kept in the bounds, so that it is
 * told to whatever waits and to all that comes later. */
#include <fluss/fluss_read.h>

#include "base/alloc.h"
#include "client/future.h"
#include "client/scan_private.h"

/* ---- settling the bounds ---- */

/* Lock: held. The buckets are in the order of the items: nothing was read yet. */
static void set_bounds(fl_scanner *scanner)
{
    const fl_resolve_item *item = scanner->bounds->items;
    for (fl_scan_bucket *bucket = scanner->buckets; bucket != NULL; bucket = bucket->next) {
        bucket->start_offset = bucket->position = bucket->fetch_offset = item++->offset;
        bucket->stop_offset = item++->offset;
    }
    scanner->bounds->is_settled = true;
}

static void on_settled(void *context, const fluss_error_t *err)
{
    fl_scanner *scanner = context;
    fl_client *client = scanner->client;
    (void)pthread_mutex_lock(&scanner->lock);
    if (err == NULL) {
        set_bounds(scanner);
    } else if (scanner->bounds->end.code == 0) {
        scanner->bounds->end = *err;
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    fl_scanner_serve(scanner);
    fl_scanner_pump(scanner);
    fl_scanner_unref(scanner);
    fl_client_unref(client);
}

static void run_settling(fl_task *task)
{
    fl_bounds *bounds = FL_CONTAINER_OF(task, fl_bounds, settling);
    fl_scanner *scanner = bounds->scanner;
    fl_scanner_list(scanner);
    fl_resolve_offsets(
        scanner->client, scanner->plans, scanner->plan_count, bounds->items, bounds->count,
        fl_clock_ms() + scanner->client->config->request_timeout_ms.number, on_settled, scanner);
}

static void start_settling(fl_scanner *scanner)
{
    (void)fl_scanner_ref(scanner);
    (void)fl_client_ref(scanner->client);
    scanner->bounds->settling.run = run_settling;
    fl_loop_post(scanner->client->loop, &scanner->bounds->settling);
}

/* ---- beginning ---- */

/* Where a bucket is to stop. INT64_MIN: nobody says. */
static int64_t wanted_stop(const fluss_bucket_t *bucket, const fluss_position_t *stop, size_t n)
{
    int64_t offset = stop == NULL ? FLUSS_LATEST : INT64_MIN;
    for (size_t i = 0; i < n && stop != NULL; i++) {
        if (fl_bucket_equal(&stop[i].bucket, bucket)) {
            offset = stop[i].offset;
        }
    }
    return offset;
}

/* Lock: of the origin, held. */
static fluss_code_t copy_buckets(fl_scanner *scanner, const fluss_position_t *stop, size_t n,
                                 fluss_error_t *err)
{
    const fl_scanner *origin = scanner->origin;
    fl_bounds *bounds = scanner->bounds;
    size_t count = 0;
    for (const fl_scan_bucket *from = origin->buckets; from != NULL; from = from->next) {
        count += 2;
    }
    bounds->items = fl_calloc(count + 1, sizeof(*bounds->items));
    if (bounds->items == NULL) {
        return fl_error_nomem(err);
    }
    for (const fl_scan_bucket *from = origin->buckets; from != NULL; from = from->next) {
        const fluss_position_t at = {from->id, fl_scanner_reached(origin, from)};
        const int64_t end = wanted_stop(&from->id, stop, n);
        if (end < FLUSS_EARLIEST) {
            return fl_error_argument(err, "no stop offset for bucket %d of table %lld",
                                     from->id.bucket, (long long)from->id.table_id);
        }
        fl_scan_bucket *bucket = fl_scanner_add(scanner, from->plan, &at);
        if (bucket == NULL) {
            return fl_error_nomem(err);
        }
        bucket->stop_offset = INT64_MIN; /* nothing is fetched until it is settled */
        bounds->items[bounds->count++] = (fl_resolve_item){at.bucket, at.offset};
        bounds->items[bounds->count++] = (fl_resolve_item){at.bucket, end};
    }
    return 0;
}

/* Lock: of the origin, held. */
static fluss_code_t require_free(const fl_scanner *origin, bool is_alone, fluss_error_t *err)
{
    if (fl_scanner_is_polled(origin) || (is_alone && origin->readers > 0)) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "the scanner is in use");
    }
    if (origin->buckets == NULL) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                        "the scanner is not subscribed to any bucket");
    }
    return 0;
}

/* Give the origin free, once. */
static void leave_origin(fl_scanner *scanner)
{
    fl_scanner *origin = scanner->origin;
    (void)pthread_mutex_lock(&origin->lock);
    if (scanner->bounds->holds_origin) {
        scanner->bounds->holds_origin = false;
        origin->readers--;
    }
    (void)pthread_mutex_unlock(&origin->lock);
}

/* A scanner with the plans of another, and empty bounds. NULL: out of memory. */
static fl_scanner *scanner_of(fl_scanner *origin)
{
    fl_scanner *scanner = fl_scanner_new(origin->client, origin->is_batches);
    if (scanner != NULL) {
        scanner->plans = origin->plans;
        scanner->plan_count = origin->plan_count;
        scanner->origin = fl_scanner_ref(origin);
        scanner->bounds = fl_calloc(1, sizeof(*scanner->bounds));
        if (scanner->bounds == NULL) {
            fl_scanner_unref(scanner);
            return NULL;
        }
        scanner->bounds->scanner = scanner;
    }
    return scanner;
}

fluss_code_t fl_read_begin(fluss_scanner_t *from, const fluss_position_t *stop, size_t n,
                           bool is_alone, fluss_read_t **out, fluss_error_t *err)
{
    if (n > SIZE_MAX / sizeof(*stop)) {
        return fl_error_argument(err, "%zu stop offsets are more than memory holds", n);
    }
    fl_scanner *origin = from->scanner;
    fluss_read_t *read = fl_calloc(1, sizeof(*read));
    fl_scanner *scanner = read != NULL ? scanner_of(origin) : NULL;
    if (scanner == NULL) {
        fl_free(read);
        return fl_error_nomem(err);
    }
    (void)pthread_mutex_lock(&origin->lock);
    fluss_code_t rc = require_free(origin, is_alone, err);
    if (rc == 0 && (rc = copy_buckets(scanner, stop, n, err)) == 0) {
        scanner->bounds->holds_origin = true;
        origin->readers++;
    }
    (void)pthread_mutex_unlock(&origin->lock);
    if (rc != 0) {
        fl_scanner_unref(scanner);
        fl_free(read);
        return rc;
    }
    read->scanner = scanner;
    read->client = fl_client_ref(from->client);
    start_settling(scanner);
    *out = read;
    return 0;
}

fluss_code_t fluss_read_begin(fluss_scanner_t *scanner, const fluss_position_t *stop, size_t n,
                              fluss_read_t **out, fluss_error_t *err)
{
    if (scanner == NULL || out == NULL) {
        return fl_error_argument(err, "scanner and out must not be NULL");
    }
    *out = NULL;
    FL_TRY(fl_client_check(scanner->client, err));
    return fl_read_begin(scanner, stop, n, false, out, err);
}

/* ---- going on ---- */

bool fl_read_is_over(const fl_scanner *scanner)
{
    bool is_over = scanner->bounds != NULL && scanner->bounds->is_settled;
    for (const fl_scan_bucket *b = scanner->buckets; b != NULL && is_over; b = b->next) {
        is_over = b->position >= b->stop_offset;
    }
    return is_over;
}

/* Lock: held. Whether nothing is left to say, nor will anything come back that was delivered. */
static bool is_told(const fl_scanner *scanner)
{
    return fl_read_is_over(scanner) && !fl_scanner_is_polled(scanner) && scanner->untaken == NULL &&
           scanner->leaving == NULL;
}

/* At the end nothing is waited for, nor does it matter that the connection was closed. */
static fluss_future_t *end_reached(fluss_read_t *read, fl_wish wish)
{
    fl_value value = {.kind = FL_VALUE_VOID};
    fluss_error_t err;
    if (wish != FL_WANTS_SETTLED &&
        fl_scanner_value(read->scanner, read->client, NULL, &value, &err) != 0) {
        return fl_future_failed(&err);
    }
    fluss_future_t *future = fl_future_new();
    fl_future_complete_or_free(future, value);
    return future;
}

static fluss_future_t *start_poll(fluss_read_t *read, fl_wish wish)
{
    fluss_error_t err;
    if (read == NULL) {
        (void)fl_error_argument(&err, "the read must not be NULL");
        return fl_future_failed(&err);
    }
    bool is_over = false;
    if (!fl_client_is_forked(read->client)) {
        (void)pthread_mutex_lock(&read->scanner->lock);
        is_over = is_told(read->scanner);
        (void)pthread_mutex_unlock(&read->scanner->lock);
    }
    if (is_over) {
        return end_reached(read, wish);
    }
    if (fl_client_check(read->client, &err) != 0) {
        return fl_future_failed(&err);
    }
    return fl_scanner_poll(read->scanner, read->client, -1, wish);
}

fluss_future_t *fluss_read_settled(fluss_read_t *read)
{
    return start_poll(read, FL_WANTS_SETTLED);
}

fluss_future_t *fluss_read_some(fluss_read_t *read)
{
    return start_poll(read, FL_WANTS_ROWS);
}

fluss_future_t *fluss_read_rest(fluss_read_t *read)
{
    return start_poll(read, FL_WANTS_REST);
}

size_t fluss_read_progress(const fluss_read_t *read, fluss_read_bucket_t *out, size_t cap)
{
    if (read == NULL || fl_client_is_forked(read->client)) {
        return 0;
    }
    fl_scanner *scanner = read->scanner;
    size_t count = 0;
    (void)pthread_mutex_lock(&scanner->lock);
    const bool is_settled = scanner->bounds->is_settled;
    for (const fl_scan_bucket *b = scanner->buckets; b != NULL; b = b->next, count++) {
        if (count < cap && out != NULL) {
            out[count] = (fluss_read_bucket_t){
                .bucket = b->id,
                .start = b->start_offset,
                .position = fl_scanner_reached(scanner, b),
                .stop = is_settled ? b->stop_offset : FLUSS_LATEST,
            };
        }
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    return count;
}

/* ---- ending ---- */

void fl_read_stop(fl_scanner *scanner)
{
    (void)pthread_mutex_lock(&scanner->lock);
    if (scanner->bounds->end.code == 0) {
        (void)fl_error(&scanner->bounds->end, FLUSS_E_CLIENT, FLUSS_KIND_CANCELLED,
                       "the read was stopped");
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    fl_scanner_wake(scanner);
}

void fluss_read_stop(fluss_read_t *read)
{
    if (read != NULL && !fl_client_is_forked(read->client)) {
        fl_read_stop(read->scanner);
        leave_origin(read->scanner);
    }
}

void fluss_read_free(fluss_read_t *read)
{
    if (read == NULL || fl_client_is_forked(read->client)) {
        return;
    }
    fl_client *client = read->client;
    leave_origin(read->scanner);
    fl_scanner_end(read->scanner, client);
    fl_scanner_unref(read->scanner);
    fl_free(read);
    fl_client_unref(client);
}
