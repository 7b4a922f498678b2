/* SPDX-License-Identifier: Apache-2.0 */
/* Writer ids and the sequences of batches, by which the server drops what it has already.
 *
 * Each bucket numbers its batches from 0 under a writer id. The client has one for all buckets, but
 * a bucket whose numbers lead nowhere any more takes another, alone: the rest keep theirs, and with
 * it the right to send a batch again whose fate is not known.
 *
 * A batch that is given up leaves a hole that the server would not accept. If it surely did not
 * arrive, the later batches move down by one. If it may have arrived, its number must not be used
 * for other rows, which the server would take for known ones and drop: the bucket takes another id.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "client/backoff.h"
#include "client/metadata.h"
#include "client/sender_private.h"
#include "protocol/messages.h"

enum { RETRY_MS_MIN = 20, RETRY_MS_MAX = 640 };

static int32_t next_of(int32_t sequence)
{
    return sequence == INT32_MAX ? 0 : sequence + 1;
}

static int32_t previous_of(int32_t sequence)
{
    return sequence == 0 ? INT32_MAX : sequence - 1;
}

/* Whether a comes after b, also where the numbers have begun again; -1 is before all. */
static bool is_after(int32_t a, int32_t b)
{
    return (a > b) == ((int64_t)a - b < INT32_MAX / 2 && (int64_t)b - a < INT32_MAX / 2);
}

static bool is_own(const fl_batch *batch)
{
    const fl_write_bucket *bucket = batch->bucket;
    return batch->sequence >= 0 && batch->writer_id == bucket->writer_id && !bucket->is_writer_lost;
}

/* ---- numbers ---- */

void fl_batch_number(fl_batch *batch)
{
    fl_write_bucket *bucket = batch->bucket;
    if (bucket->writer_id < 0) {
        return; /* without idempotence */
    }
    if (batch->writer_id != bucket->writer_id) {
        batch->writer_id = bucket->writer_id;
        batch->sequence = bucket->sequence_next;
        bucket->sequence_next = next_of(bucket->sequence_next);
        fl_batch_stamp(batch);
    } else if (batch->is_renumbered) {
        fl_batch_stamp(batch);
    }
    batch->is_renumbered = false;
}

bool fl_batch_is_safe(const fl_batch *batch)
{
    return batch->writer_id < 0 || !batch->is_uncertain || is_own(batch);
}

bool fl_batch_is_next(const fl_batch *batch)
{
    return is_own(batch) && batch->sequence == next_of(batch->bucket->sequence_acked);
}

bool fl_batch_was_acked(const fl_batch *batch)
{
    return batch->sequence >= 0 && batch->writer_id == batch->bucket->writer_id &&
           !is_after(batch->sequence, batch->bucket->sequence_acked);
}

void fl_batch_sequence_done(fl_batch *batch)
{
    if (batch->writer_id == batch->bucket->writer_id && batch->sequence >= 0 &&
        is_after(batch->sequence, batch->bucket->sequence_acked)) {
        batch->bucket->sequence_acked = batch->sequence;
    }
}

static void move_down(fl_batch *first, const fl_batch *failed)
{
    for (fl_batch *batch = first; batch != NULL; batch = batch->next) {
        if (batch->writer_id == failed->writer_id && batch->sequence >= 0 &&
            is_after(batch->sequence, failed->sequence)) {
            batch->sequence = previous_of(batch->sequence);
            batch->is_renumbered = true;
        }
    }
}

void fl_batch_sequence_failed(fl_batch *batch)
{
    fl_write_bucket *bucket = batch->bucket;
    if (!is_own(batch)) {
        return;
    }
    if (batch->is_uncertain) {
        fl_bucket_lose_writer(bucket);
        return;
    }
    move_down(bucket->in_flight, batch);
    (void)pthread_mutex_lock(&bucket->lock);
    move_down(bucket->queue, batch);
    (void)pthread_mutex_unlock(&bucket->lock);
    bucket->sequence_next = previous_of(bucket->sequence_next);
}

/* ---- writer ids ---- */

void fl_bucket_lose_writer(fl_write_bucket *bucket)
{
    if (bucket->writer_id >= 0 && !bucket->is_writer_lost) {
        bucket->is_writer_lost = true;
        fl_log(FL_LOG_WARNING, "writer", "table %s.%s, bucket %d: leaves writer id %lld",
               bucket->partition->table->database, bucket->partition->table->name, bucket->index,
               (long long)bucket->writer_id);
    }
}

static bool needs_writer(const fl_write_bucket *bucket)
{
    return bucket->writer_id < 0 || bucket->is_writer_lost;
}

static void fail_without_writer(fl_write_bucket *bucket, void *context)
{
    if (needs_writer(bucket)) {
        fl_bucket_fail_all(bucket, context);
    }
}

static void fail_waiting(fl_sender *sender, const fluss_error_t *err)
{
    fluss_error_t copy = *err;
    fl_sender_visit(sender, fail_without_writer, &copy);
    for (fl_write_table *table = sender->tables; table != NULL; table = table->next) {
        fl_sender_check_waiters(table);
    }
}

static void ask_again_soon(fl_sender *sender)
{
    const int64_t delay_ms = fl_backoff_ms(sender->writer_failures, RETRY_MS_MIN, RETRY_MS_MAX);
    fl_sender_wake_at(sender, fl_clock_ms() + delay_ms);
}

static void on_servers(void *context, const fluss_error_t *err)
{
    (void)err; /* asking tells */
    fl_sender *sender = context;
    sender->is_writer_asked = false;
    ask_again_soon(sender);
}

static void writer_id_failed(fl_sender *sender, const fluss_error_t *failure)
{
    const int64_t now = fl_clock_ms();
    if (sender->writer_failures++ == 0) {
        sender->writer_failing_ms = now;
    }
    const int64_t limit_ms = sender->client->config->request_timeout_ms.number;
    if (!failure->retriable || now - sender->writer_failing_ms >= limit_ms) {
        sender->writer_failures = 0;
        fail_waiting(sender, failure);
        return;
    }
    fl_log(FL_LOG_DEBUG, "writer", "a writer id is asked for again: %.800s", failure->message);
    const fl_metadata_want servers = {.partition_id = FL_NO_PARTITION};
    sender->is_writer_asked =
        failure->kind != FLUSS_KIND_SERVER &&
        fl_metadata_refresh(sender->client->metadata, servers, on_servers, sender, NULL) == 0;
    if (!sender->is_writer_asked) {
        ask_again_soon(sender);
    }
}

static void on_writer_id(void *context, const fl_reply *reply, const fluss_error_t *failure,
                         bool was_sent)
{
    (void)was_sent;
    fl_sender *sender = context;
    sender->is_writer_asked = false;
    if (atomic_load(&sender->is_closed)) {
        return;
    }
    if (reply == NULL) {
        writer_id_failed(sender, failure);
        return;
    }
    const fl_msg_init_writer_response *response = reply->message;
    sender->writer_id = response->writer_id;
    sender->writer_failures = 0;
    fl_sender_look_at_all(sender);
}

static fluss_code_t ask_writer_id(fl_sender *sender, fluss_error_t *err)
{
    fl_client *client = sender->client;
    const char *address = fl_metadata_any_server(client->metadata);
    if (address == NULL) {
        return fl_error(err, FLUSS_E_NETWORK_EXCEPTION, FLUSS_KIND_NETWORK,
                        "the cluster names no tablet server");
    }
    (void)pthread_mutex_lock(&sender->lock);
    size_t count = 0;
    for (const fl_write_table *table = sender->tables; table != NULL; table = table->next) {
        count++;
    }
    fl_msg_pb_table_path *paths = fl_calloc(count + 1, sizeof(*paths));
    size_t filled = 0;
    for (const fl_write_table *table = sender->tables; table != NULL && paths != NULL;
         table = table->next) {
        paths[filled].database_name = fl_slice_str(table->database);
        paths[filled++].table_name = fl_slice_str(table->name);
    }
    (void)pthread_mutex_unlock(&sender->lock);
    if (paths == NULL) {
        return fl_error_nomem(err);
    }
    const fl_msg_init_writer_request request = {.table_path = paths, .table_path_count = filled};
    const fl_call_spec spec = {
        .address = address,
        .key = FL_API_INIT_WRITER,
        .message = &request,
        .timeout_ms = client->config->request_timeout_ms.number,
        .done = on_writer_id,
        .context = sender,
    };
    const fluss_code_t rc = fl_rpc_call(client->rpc, &spec, err);
    fl_free(paths);
    return rc;
}

/* The client's id becomes the bucket's, unless it is the one that the bucket left. */
static bool take_writer(fl_write_bucket *bucket, int64_t writer_id)
{
    if (writer_id < 0 || writer_id == bucket->writer_id) {
        return false;
    }
    bucket->writer_id = writer_id;
    bucket->is_writer_lost = false;
    bucket->sequence_next = 0;
    bucket->sequence_acked = -1;
    return true;
}

bool fl_bucket_has_writer(fl_write_bucket *bucket)
{
    fl_sender *sender = bucket->partition->table->sender;
    if (!needs_writer(bucket) || sender->client->config->writer_idempotent.number == 0) {
        return true;
    }
    if (bucket->in_flight != NULL) {
        return false; /* those come back first, and go out again before others */
    }
    if (take_writer(bucket, sender->writer_id)) {
        return true;
    }
    fluss_error_t err;
    if (!sender->is_writer_asked) {
        sender->is_writer_asked = true;
        if (ask_writer_id(sender, &err) != 0) {
            on_writer_id(sender, NULL, &err, false);
        }
    }
    return false;
}
