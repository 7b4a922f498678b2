/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_read: the subscribed buckets up to stop offsets as an Arrow stream.
 *
 * The offsets to stop at are settled before the stream is given out. Pulling runs in the caller's
 * thread: it polls the scanner, which stops fetching a bucket at its stop offset; rows from the
 * stop offset on are cut off; the end is where every position has reached its stop. */
#include <errno.h>
#include <fluss/fluss_scan.h>
#include <string.h>

#include "base/alloc.h"
#include "client/op.h"
#include "client/scan_private.h"
#include "format/arrow.h"
#include "net/loop.h"

enum { POLL_MS = 1000, SETTLE_SLICE_MS = 50 };

typedef struct stream {
    fl_scanner *scanner; /* shares */
    fl_client *client;   /* shares */
    fluss_batches_t *batches;
    size_t next;
    fluss_error_t err;
} stream;

/* ---- settling the stops ---- */

typedef struct settling {
    fl_scanner *scanner; /* shares */
    fl_resolve_item *items;
    size_t count;
} settling;

static void on_resolved(void *context, const fluss_error_t *err)
{
    fl_op *op = context;
    settling *s = op->state;
    fl_scanner *scanner = s->scanner;
    if (err != NULL) {
        const fluss_error_t copy = *err;
        fl_scanner_unref(scanner);
        fl_op_fail(op, &copy);
        return;
    }
    (void)pthread_mutex_lock(&scanner->lock);
    const bool is_wanted = !fl_future_is_abandoned(op->future);
    for (size_t i = 0; i < s->count && is_wanted; i++) {
        fl_scan_bucket *bucket = fl_scanner_find(scanner, &s->items[i].bucket);
        const bool is_start = i % 2 == 0; /* pairs: where it begins, where it stops */
        if (bucket != NULL && is_start && bucket->position < 0) {
            bucket->position = s->items[i].offset;
            if (bucket->fetch_offset < 0) {
                bucket->fetch_offset = bucket->position;
            }
        } else if (bucket != NULL && !is_start) {
            bucket->stop_offset = s->items[i].offset;
        }
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    fl_scanner_unref(scanner);
    fl_op_complete(op, (fl_value){.kind = FL_VALUE_VOID});
}

static void start_settling(fl_op *op)
{
    settling *s = op->state;
    fl_resolve_offsets(op->client, s->scanner->plans, s->scanner->plan_count, s->items, s->count,
                       op->deadline_ms, on_resolved, op);
}

static const fl_op_kind settle_kind = {.start = start_settling};

/* For each bucket its position and its stop, as far as they are known. */
static fluss_code_t fill_items(fl_scanner *scanner, const fluss_position_t *stop, size_t n,
                               size_t bucket_count, settling *s, fluss_error_t *err)
{
    for (const fl_scan_bucket *bucket = scanner->buckets;
         bucket != NULL && s->count < 2 * bucket_count; bucket = bucket->next) {
        int64_t offset = stop == NULL ? FLUSS_LATEST : INT64_MIN;
        for (size_t i = 0; i < n && stop != NULL; i++) {
            if (fl_bucket_equal(&stop[i].bucket, &bucket->id)) {
                offset = stop[i].offset;
            }
        }
        if (offset < FLUSS_EARLIEST) {
            return fl_error_argument(err, "no stop offset for bucket %d of table %lld",
                                     bucket->id.bucket, (long long)bucket->id.table_id);
        }
        s->items[s->count++] = (fl_resolve_item){bucket->id, bucket->position};
        s->items[s->count++] = (fl_resolve_item){bucket->id, offset};
    }
    return 0;
}

/* Wait for the stops, or until the scanner is woken up, which a read that is ready leaves to what
 * follows. The lock keeps stops that come late away from what the scanner does next. */
static fluss_code_t await_stops(fl_scanner *scanner, fluss_future_t *future, fluss_error_t *err)
{
    bool is_over = false;
    while (!is_over) {
        (void)fluss_future_wait(future, SETTLE_SLICE_MS, NULL);
        (void)pthread_mutex_lock(&scanner->lock);
        if (scanner->is_woken && fluss_future_cancel(future)) {
            scanner->is_woken = false;
        }
        is_over = fluss_future_ready(future);
        (void)pthread_mutex_unlock(&scanner->lock);
    }
    return fluss_await(future, -1, err);
}

static fluss_code_t settle(fluss_scanner_t *scanner, const fluss_position_t *stop, size_t n,
                           fluss_error_t *err)
{
    fl_scanner *core = scanner->scanner;
    fl_op *op = fl_op_new(scanner->client, &settle_kind);
    settling *s = fl_op_array(op, 1, sizeof(*s));
    const size_t count = fluss_positions(scanner, NULL, 0);
    fl_resolve_item *items = fl_op_array(op, 2 * count, sizeof(*items));
    if (s != NULL && items != NULL) {
        fluss_error_t reason;
        s->items = items;
        op->state = s;
        (void)pthread_mutex_lock(&core->lock);
        const fluss_code_t rc = fill_items(core, stop, n, count, s, &reason);
        (void)pthread_mutex_unlock(&core->lock);
        if (rc != 0) {
            fl_op_reject(op, &reason);
        }
        if (op->err.code == 0) {
            s->scanner = fl_scanner_ref(core);
        }
    }
    return await_stops(core, fl_op_submit(op), err);
}

/* ---- the stream ---- */

static bool is_finished(fl_scanner *scanner)
{
    bool is_finished = true;
    (void)pthread_mutex_lock(&scanner->lock);
    for (const fl_scan_bucket *bucket = scanner->buckets; bucket != NULL; bucket = bucket->next) {
        is_finished = is_finished && bucket->position >= bucket->stop_offset;
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    return is_finished;
}

static int64_t stop_of(fl_scanner *scanner, const fluss_bucket_t *id)
{
    (void)pthread_mutex_lock(&scanner->lock);
    const fl_scan_bucket *bucket = fl_scanner_find(scanner, id);
    const int64_t stop = bucket != NULL ? bucket->stop_offset : INT64_MAX;
    (void)pthread_mutex_unlock(&scanner->lock);
    return stop;
}

/* How many rows of a piece lie before an offset. */
static int64_t count_before(const fl_piece *piece, int64_t stop)
{
    int64_t count = piece->count;
    while (count > 0 && fl_chunk_offset(piece->chunk, piece->from + count - 1) >= stop) {
        count--;
    }
    return count;
}

/* Cut off the rows from the stop offset on. */
static fluss_code_t cut_end(int64_t wanted, struct ArrowArray *array, fluss_error_t *err)
{
    if (wanted >= array->length) {
        return 0;
    }
    struct ArrowArray part = {0};
    FL_TRY(fl_arrow_slice(array, 0, wanted, &part, err));
    *array = part;
    return 0;
}

/* The next batch with rows, or one that was released: the end. until_ms < 0: no limit. */
static fluss_code_t pull(stream *s, int64_t until_ms, struct ArrowArray *out, fluss_error_t *err)
{
    while (true) {
        while (s->next < fluss_batches_count(s->batches)) {
            struct ArrowSchema schema;
            const fl_piece *piece = fl_batches_piece(s->batches, s->next);
            const int64_t wanted = count_before(piece, stop_of(s->scanner, &piece->bucket));
            FL_TRY(fluss_batches_take(s->batches, s->next++, &schema, out, NULL, NULL, err));
            schema.release(&schema);
            const fluss_code_t rc = cut_end(wanted, out, err);
            if (rc != 0 || out->length == 0) {
                out->release(out);
                memset(out, 0, sizeof(*out));
                FL_TRY(rc);
                continue;
            }
            return 0;
        }
        fluss_batches_free(s->batches);
        s->batches = NULL;
        s->next = 0;
        if (is_finished(s->scanner)) {
            return 0;
        }
        FL_TRY(fl_client_check(s->client, err));
        const int64_t left = until_ms < 0 ? POLL_MS : until_ms - fl_clock_ms();
        if (left <= 0) {
            return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_TIMEOUT, "no rows came in time");
        }
        FL_TRY(fluss_await_batches(
            fl_scanner_poll(s->scanner, s->client, left < POLL_MS ? left : POLL_MS, true), -1,
            &s->batches, err));
    }
}

static int get_next(struct ArrowArrayStream *out, struct ArrowArray *array)
{
    stream *s = out->private_data;
    memset(array, 0, sizeof(*array));
    return pull(s, -1, array, &s->err) == 0 ? 0 : EIO;
}

fluss_code_t fluss_read_next(struct ArrowArrayStream *from, int64_t timeout_ms,
                             struct ArrowArray *batch, fluss_error_t *err)
{
    if (from == NULL || batch == NULL) {
        return fl_error_argument(err, "stream and batch must not be NULL");
    }
    memset(batch, 0, sizeof(*batch));
    if (from->release == NULL || from->get_next != get_next) {
        return fl_error_argument(err, "the stream is not one of fluss_read, or was released");
    }
    const int64_t until = timeout_ms < 0 ? -1 : fl_clock_ms() + timeout_ms;
    return pull(from->private_data, until, batch, err);
}

static int get_schema(struct ArrowArrayStream *out, struct ArrowSchema *schema)
{
    stream *s = out->private_data;
    const fl_scan_plan *plan = &s->scanner->plans[0];
    if (fl_arrow_schema_from(plan->output, schema, &s->err) != 0) {
        return ENOMEM;
    }
    if (fl_table_is_keyed(plan->table) && fl_prepend_types_schema(schema, &s->err) != 0) {
        schema->release(schema);
        return ENOMEM;
    }
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *out)
{
    const stream *s = out->private_data;
    return s->err.code != 0 ? s->err.message : NULL;
}

/* Lock: held. The offset of the first row of a bucket that was not pulled. */
static int64_t first_left(const stream *s, const fl_scan_bucket *bucket)
{
    int64_t offset =
        bucket->position < bucket->stop_offset ? bucket->position : bucket->stop_offset;
    for (size_t i = s->next; i < fluss_batches_count(s->batches); i++) {
        const fl_piece *piece = fl_batches_piece(s->batches, i);
        if (piece->generation == bucket->generation && piece->start_offset < offset &&
            fl_bucket_equal(&piece->bucket, &bucket->id)) {
            offset = piece->start_offset;
        }
    }
    return offset;
}

/* Lock: held. What lies behind the stops, and what nobody pulled, is for whoever reads next. */
static void go_back(const stream *s)
{
    for (fl_scan_bucket *bucket = s->scanner->buckets; bucket != NULL; bucket = bucket->next) {
        const int64_t left = first_left(s, bucket);
        bucket->stop_offset = INT64_MAX;
        if (left != bucket->position) {
            fl_scanner_move(s->scanner, bucket, left);
        }
    }
}

static void release(struct ArrowArrayStream *out)
{
    stream *s = out->private_data;
    (void)pthread_mutex_lock(&s->scanner->lock);
    go_back(s);
    s->scanner->is_reading = false;
    const bool is_dropped = s->scanner->is_dropped;
    (void)pthread_mutex_unlock(&s->scanner->lock);
    fluss_batches_free(s->batches);
    fl_client *client = s->client;
    if (is_dropped && !fl_client_is_forked(client)) {
        fl_scanner_end(s->scanner, client);
    }
    fl_scanner_unref(s->scanner);
    fl_free(s);
    out->release = NULL;
    fl_client_unref(client);
}

static fluss_code_t begin(fl_scanner *scanner, fluss_error_t *err)
{
    fluss_code_t rc = 0;
    (void)pthread_mutex_lock(&scanner->lock);
    if (scanner->is_reading || scanner->poll != NULL) {
        rc = fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "the scanner is in use");
    } else if (scanner->buckets == NULL) {
        rc = fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                      "the scanner is not subscribed to any bucket");
    } else {
        scanner->is_reading = true;
        scanner->is_woken = false;
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    return rc;
}

/* The stops may have been set right before the read was cancelled: polls are not to heed them. */
static void give_up(fl_scanner *scanner)
{
    (void)pthread_mutex_lock(&scanner->lock);
    for (fl_scan_bucket *bucket = scanner->buckets; bucket != NULL; bucket = bucket->next) {
        bucket->stop_offset = INT64_MAX;
    }
    scanner->is_reading = false;
    (void)pthread_mutex_unlock(&scanner->lock);
}

fluss_code_t fluss_read_error(const struct ArrowArrayStream *in, fluss_error_t *err)
{
    if (in == NULL || in->release != release) {
        return 0;
    }
    const stream *s = in->private_data;
    if (err != NULL) {
        *err = s->err;
    }
    return s->err.code;
}

fluss_code_t fluss_read(fluss_scanner_t *scanner, const fluss_position_t *stop, size_t n,
                        struct ArrowArrayStream *out, fluss_error_t *err)
{
    if (scanner == NULL || out == NULL) {
        return fl_error_argument(err, "scanner and out must not be NULL");
    }
    memset(out, 0, sizeof(*out));
    FL_TRY(fl_client_check(scanner->client, err));
    FL_TRY(fl_future_may_wait(err));
    fl_scanner *core = scanner->scanner;
    if (!core->is_batches || core->plan_count != 1 || core->plans[0].is_write_time) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                        "a stream wants a scanner of one table, opened for batches, with rows "
                        "aligned to the table's schema");
    }
    FL_TRY(begin(core, err));
    stream *s = fl_calloc(1, sizeof(*s));
    const fluss_code_t rc = s == NULL ? fl_error_nomem(err) : settle(scanner, stop, n, err);
    if (rc != 0) {
        give_up(core);
        fl_free(s);
        return rc;
    }
    s->scanner = fl_scanner_ref(core);
    s->client = fl_client_ref(scanner->client);
    *out = (struct ArrowArrayStream){
        .get_schema = get_schema,
        .get_next = get_next,
        .get_last_error = get_last_error,
        .release = release,
        .private_data = s,
    };
    return 0;
}
