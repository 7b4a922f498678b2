/* SPDX-License-Identifier: Apache-2.0 */
/* A read as an Arrow stream. Pulling runs in the caller's thread and waits for the parts of the
 * read one after the other.
 *
 * The stream of fluss_read also moves its scanner: its bounds are settled before it is given out,
 * and what was pulled is behind the scanner once it is released. */
#include <errno.h>
#include <fluss/fluss_future.h>
#include <fluss/fluss_read.h>
#include <fluss/fluss_scan.h>
#include <string.h>

#include "base/alloc.h"
#include "client/scan_private.h"
#include "format/arrow.h"

typedef struct stream {
    fluss_read_t *read;
    fluss_batches_t *batches;
    size_t next;
    bool moves_scanner;
    fluss_error_t err;
} stream;

/* ---- pulling ---- */

/* The next batch, or one that was released: the end. timeout_ms < 0: no limit */
static fluss_code_t pull(stream *s, int64_t timeout_ms, struct ArrowArray *out, fluss_error_t *err)
{
    if (s->next >= fluss_batches_count(s->batches)) {
        fluss_batches_free(s->batches);
        s->batches = NULL;
        s->next = 0;
        FL_TRY(fluss_await_batches(fluss_read_some(s->read), timeout_ms, &s->batches, err));
    }
    if (s->next < fluss_batches_count(s->batches)) {
        struct ArrowSchema schema;
        FL_TRY(fluss_batches_take(s->batches, s->next++, &schema, out, NULL, NULL, err));
        schema.release(&schema);
    }
    return 0;
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
        return fl_error_argument(err, "the stream is not one of a read, or was released");
    }
    return pull(from->private_data, timeout_ms, batch, err);
}

static int get_schema(struct ArrowArrayStream *out, struct ArrowSchema *schema)
{
    stream *s = out->private_data;
    const fl_scan_plan *plan = &s->read->scanner->plans[0];
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

/* ---- the scanner's positions ---- */

/* Lock: of the read, held. The offset of the first row of a bucket that was not pulled. */
static int64_t first_left(const stream *s, const fl_scan_bucket *bucket)
{
    const int64_t reached = fl_scanner_reached(s->read->scanner, bucket);
    int64_t offset = reached < bucket->stop_offset ? reached : bucket->stop_offset;
    for (size_t i = s->next; i < fluss_batches_count(s->batches); i++) {
        const fl_piece *piece = fl_batches_piece(s->batches, i);
        if (piece->start_offset < offset && fl_bucket_equal(&piece->bucket, &bucket->id)) {
            offset = piece->start_offset;
        }
    }
    return offset;
}

/* Let the scanner go on after what was pulled. */
static void move_scanner(const stream *s)
{
    fl_scanner *scanner = s->read->scanner, *origin = scanner->origin;
    (void)pthread_mutex_lock(&origin->lock);
    (void)pthread_mutex_lock(&scanner->lock);
    for (fl_scan_bucket *bucket = scanner->buckets; bucket != NULL; bucket = bucket->next) {
        const int64_t left = first_left(s, bucket);
        fl_scan_bucket *moved = fl_scanner_find(origin, &bucket->id);
        if (moved != NULL && moved->position != left) {
            fl_scanner_move(origin, moved, left);
        }
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    (void)pthread_mutex_unlock(&origin->lock);
}

static void release(struct ArrowArrayStream *out)
{
    stream *s = out->private_data;
    if (s->moves_scanner && !fl_client_is_forked(s->read->client)) {
        move_scanner(s);
    }
    fluss_batches_free(s->batches);
    fluss_read_free(s->read);
    fl_free(s);
    out->release = NULL;
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

/* ---- beginning ---- */

static fluss_code_t require_one_schema(const fl_scanner *scanner, fluss_error_t *err)
{
    if (!scanner->is_batches || scanner->plan_count != 1 || scanner->plans[0].is_write_time) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                        "a stream wants a scanner of one table, opened for batches, with rows "
                        "aligned to the table's schema");
    }
    return 0;
}

/* takes the read on success. */
static fluss_code_t open_stream(fluss_read_t *read, bool moves_scanner,
                                struct ArrowArrayStream *out, fluss_error_t *err)
{
    stream *s = fl_calloc(1, sizeof(*s));
    if (s == NULL) {
        return fl_error_nomem(err);
    }
    s->read = read;
    s->moves_scanner = moves_scanner;
    *out = (struct ArrowArrayStream){
        .get_schema = get_schema,
        .get_next = get_next,
        .get_last_error = get_last_error,
        .release = release,
        .private_data = s,
    };
    return 0;
}

fluss_code_t fluss_read_stream(fluss_read_t *read, struct ArrowArrayStream *out, fluss_error_t *err)
{
    if (read == NULL || out == NULL) {
        return fl_error_argument(err, "read and out must not be NULL");
    }
    memset(out, 0, sizeof(*out));
    FL_TRY(require_one_schema(read->scanner, err));
    return open_stream(read, false, out, err);
}

/* Wait for the bounds, or for a wake-up of the scanner, which may have come before. */
static fluss_code_t await_bounds(fl_scanner *scanner, fluss_read_t *read, fluss_error_t *err)
{
    (void)pthread_mutex_lock(&scanner->lock);
    scanner->opening = read->scanner;
    if (scanner->is_woken) {
        scanner->is_woken = false;
        fl_read_stop(read->scanner);
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    const fluss_code_t rc = fluss_await(fluss_read_settled(read), -1, err);
    (void)pthread_mutex_lock(&scanner->lock);
    scanner->opening = NULL;
    (void)pthread_mutex_unlock(&scanner->lock);
    return rc;
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
    FL_TRY(require_one_schema(scanner->scanner, err));
    fluss_read_t *read;
    FL_TRY(fl_read_begin(scanner, stop, n, true, &read, err));
    fluss_code_t rc = await_bounds(scanner->scanner, read, err);
    if (rc == 0) {
        rc = open_stream(read, true, out, err);
    }
    if (rc != 0) {
        fluss_read_free(read);
        return rc;
    }
    move_scanner(out->private_data); /* from the earliest offset to its number */
    return 0;
}
