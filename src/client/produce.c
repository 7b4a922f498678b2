/* SPDX-License-Identifier: Apache-2.0 */
/* PRODUCE_LOG and PUT_KV: one request a (leader, table, stream), whose buckets are joined, and what
 * each answer means for its batch.
 *
 * A failure that can pass puts the batch back to the head of its bucket's queue, in the order in
 * which batches were first sent. What becomes of the numbers is in sequences.c. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/backoff.h"
#include "client/metadata.h"
#include "client/sender_private.h"
#include "protocol/messages.h"

enum { RETRY_MS_MIN = 10, RETRY_MS_MAX = 1000, LARGE_BATCH_SIZE = 10 << 20, BREAKS_MAX = 5 };

struct fl_produce {
    fl_produce *next;
    fl_sender *sender;
    char address[FL_ADDRESS_SIZE_MAX];
    fl_batch **batches;
    size_t count, capacity, bytes;
};

/* ---- building ---- */

static bool fits(const fl_produce *request, const char *address, const fl_batch *batch)
{
    const size_t size_max = (size_t)request->sender->client->config->writer_request_size_max.number;
    const fl_batch *first = request->batches[0];
    if (strcmp(request->address, address) != 0 ||
        first->stream.table->table_id != batch->stream.table->table_id ||
        request->bytes + batch->frame->size > size_max ||
        first->stream.is_keyed != batch->stream.is_keyed) {
        return false;
    }
    if (batch->stream.is_keyed && !fl_stream_equal(&first->stream, &batch->stream)) {
        return false;
    }
    for (size_t i = 0; i < request->count; i++) {
        if (request->batches[i]->bucket == batch->bucket) {
            return false; /* one batch of a bucket in a request */
        }
    }
    return true;
}

static void batch_failed(fl_batch *batch, const fluss_error_t *err);

static void free_request(fl_produce *request)
{
    fl_free(request->batches);
    fl_free(request);
}

static fl_produce *new_request(fl_round *round, const char *address)
{
    fl_produce *request = fl_calloc(1, sizeof(*request));
    if (request != NULL) {
        request->sender = round->sender;
        memcpy(request->address, address, strlen(address) + 1);
        fl_produce **last = &round->requests;
        while (*last != NULL) {
            last = &(*last)->next;
        }
        *last = request;
    }
    return request;
}

void fl_round_add(fl_round *round, const char *address, fl_batch *batch)
{
    fl_produce *request = round->requests;
    while (request != NULL && (request->count == 0 || !fits(request, address, batch))) {
        request = request->next;
    }
    if (request == NULL) {
        request = new_request(round, address);
    }
    fl_batch **batches = NULL;
    if (request != NULL) {
        batches = fl_grow(request->batches, &request->capacity, request->count, sizeof(*batches));
    }
    if (batches == NULL) {
        fluss_error_t err;
        (void)fl_error_nomem(&err);
        batch_failed(batch, &err);
        return;
    }
    request->batches = batches;
    batch->sent_to = fl_write_bucket_id(batch->bucket);
    request->batches[request->count++] = batch;
    request->bytes += batch->frame->size;
}

/* ---- the ends of a batch ---- */

static void leave_flight(fl_batch *batch)
{
    fl_write_bucket *bucket = batch->bucket;
    fl_batch **at = &bucket->in_flight;
    while (*at != batch) {
        at = &(*at)->next;
    }
    *at = batch->next;
    batch->next = NULL;
    (void)pthread_mutex_lock(&bucket->lock);
    bucket->in_flight_count--;
    (void)pthread_mutex_unlock(&bucket->lock);
}

static void batch_done(fl_batch *batch, int64_t log_end_offset)
{
    fl_write_bucket *bucket = batch->bucket;
    fl_write_table *table = bucket->partition->table;
    const fluss_ack_t ack = {
        .bucket = batch->sent_to,
        .log_end_offset = log_end_offset,
    };
    leave_flight(batch);
    bucket->failed_count = 0;
    fl_batch_sequence_done(batch);
    fl_batch_settle(batch, &ack, NULL);
    fl_sender_check_waiters(table);
    fl_sender_look_at(bucket);
}

static void batch_failed(fl_batch *batch, const fluss_error_t *err)
{
    fl_write_bucket *bucket = batch->bucket;
    fl_write_table *table = bucket->partition->table;
    leave_flight(batch);
    fl_batch_sequence_failed(batch);
    fl_batch_settle(batch, NULL, err);
    fl_sender_check_waiters(table);
    fl_sender_look_at(bucket);
}

/* Back into the queue, before everything that was sent later or not at all. */
static void batch_again(fl_batch *batch, const fluss_error_t *err)
{
    fl_write_bucket *bucket = batch->bucket;
    fl_sender *sender = bucket->partition->table->sender;
    fl_log(FL_LOG_DEBUG, "writer", "bucket %d: a batch is sent again: %.800s", bucket->index,
           err->message);
    leave_flight(batch);
    batch->attempts++;
    batch->state = FL_BATCH_READY;
    (void)pthread_mutex_lock(&bucket->lock);
    fl_batch **at = &bucket->queue;
    while (*at != NULL && (*at)->turn != 0 && (*at)->turn < batch->turn) {
        at = &(*at)->next;
    }
    batch->next = *at;
    *at = batch;
    if (batch->next == NULL) {
        bucket->queue_last = &batch->next;
    }
    (void)pthread_mutex_unlock(&bucket->lock);
    fl_metric_add(&sender->client->metrics.batches_retried, 1);
    int64_t delay_ms = fl_backoff_ms(batch->attempts - 1, RETRY_MS_MIN, RETRY_MS_MAX);
    if (err->code == FLUSS_E_STORAGE_BACKPRESSURE) {
        const int64_t throttle_ms = sender->client->config->writer_throttle_max_ms.number;
        delay_ms = throttle_ms > delay_ms ? throttle_ms : delay_ms;
    }
    bucket->not_before_ms = fl_clock_ms() + fl_jitter_ms(delay_ms);
    fl_sender_wake_at(sender, bucket->not_before_ms);
}

/* Whether the server may hold the batch although it was not acknowledged. */
static bool may_have_effect(const fluss_error_t *err)
{
    if (err->kind != FLUSS_KIND_SERVER) {
        return true; /* a broken connection, no answer in time, one that can't be read */
    }
    switch (err->code) {
    case FLUSS_E_UNKNOWN_SERVER_ERROR:
    case FLUSS_E_NETWORK_EXCEPTION:
    case FLUSS_E_LOG_STORAGE_EXCEPTION:
    case FLUSS_E_KV_STORAGE_EXCEPTION:
    case FLUSS_E_STORAGE_EXCEPTION:
    case FLUSS_E_REQUEST_TIME_OUT:
    case FLUSS_E_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
        return true;
    default:
        return !fl_code_is_known(err->code);
    }
}

/* The server does not accept the batch's number. */
static void sequence_refused(fl_batch *batch, const fluss_error_t *err, bool has_attempts)
{
    fl_write_bucket *bucket = batch->bucket;
    const bool is_lost = bucket->is_writer_lost || batch->writer_id != bucket->writer_id;
    const bool is_forgotten = err->code == FLUSS_E_UNKNOWN_WRITER_ID && !batch->is_uncertain;
    if (fl_batch_was_acked(batch)) {
        batch_done(batch, -1);
    } else if (has_attempts &&
               (is_lost || is_forgotten || batch->is_renumbered || !fl_batch_is_next(batch))) {
        if (is_forgotten) {
            fl_bucket_lose_writer(bucket);
        }
        batch_again(batch, err);
    } else {
        fl_bucket_lose_writer(bucket);
        batch_failed(batch, err);
    }
}

/* A server hangs up on a request above its limit, and what it says of that is mostly lost with the
 * connection. So a large batch on which the connection breaks again and again is given up. */
static bool is_too_large(fl_batch *batch, const fluss_error_t *err, bool was_sent)
{
    if (!was_sent || err->kind != FLUSS_KIND_NETWORK || batch->frame->size < LARGE_BATCH_SIZE) {
        return false;
    }
    batch->breaks++;
    return batch->breaks >= BREAKS_MAX;
}

static void batch_too_large(fl_batch *batch, const fluss_error_t *why)
{
    fluss_error_t err;
    (void)fl_error(
        &err, FLUSS_E_RECORD_TOO_LARGE, FLUSS_KIND_NETWORK,
        "table %s, bucket %d: the connection broke %d times on a batch of %zu bytes, "
        "which may be more than the server takes (netty.server.max-request-size): %.300s",
        batch->stream.table->name, batch->bucket->index, batch->breaks, batch->frame->size,
        why->message);
    batch_failed(batch, &err);
}

/* What a batch comes to that was not acknowledged. */
static void batch_refused(fl_batch *batch, const fluss_error_t *err, bool was_sent)
{
    fl_write_bucket *bucket = batch->bucket;
    const fluss_config_t *config = bucket->partition->table->sender->client->config;
    const bool has_attempts = batch->attempts < config->writer_retries.number;
    batch->is_uncertain = batch->is_uncertain || (was_sent && may_have_effect(err));
    if (fl_code_is_stale_metadata(err->code) || err->kind == FLUSS_KIND_NETWORK ||
        err->kind == FLUSS_KIND_TIMEOUT) {
        fl_bucket_forget_route(bucket);
    }
    if (err->code == FLUSS_E_DUPLICATE_SEQUENCE) {
        batch_done(batch, -1);
    } else if (err->code == FLUSS_E_OUT_OF_ORDER_SEQUENCE ||
               err->code == FLUSS_E_UNKNOWN_WRITER_ID) {
        sequence_refused(batch, err, has_attempts);
    } else if (is_too_large(batch, err, was_sent)) {
        batch_too_large(batch, err);
    } else if (err->retriable && has_attempts && fl_batch_is_safe(batch)) {
        batch_again(batch, err);
    } else {
        batch_failed(batch, err);
    }
}

/* ---- answers ---- */

static fl_batch *take_batch(fl_produce *request, bool has_partition, int64_t partition_id,
                            int32_t bucket_index)
{
    for (size_t i = 0; i < request->count; i++) {
        fl_batch *batch = request->batches[i];
        if (batch == NULL || batch->bucket->index != bucket_index) {
            continue;
        }
        if (!has_partition || partition_id == batch->sent_to.partition_id) {
            request->batches[i] = NULL;
            return batch;
        }
    }
    return NULL;
}

static void bucket_answered(fl_batch *batch, bool has_error, int32_t code, fl_slice text,
                            int64_t log_end_offset)
{
    if (!has_error || code == 0) {
        batch_done(batch, log_end_offset);
        return;
    }
    fluss_error_t err;
    (void)fl_error_server(&err, code, (const char *)text.data, text.size);
    fl_error_prefix(&err, "table %s, bucket %d: ", batch->stream.table->name, batch->bucket->index);
    batch_refused(batch, &err, true);
}

static void on_log_answer(fl_produce *request, const fl_msg_produce_log_response *response)
{
    for (size_t i = 0; i < response->buckets_resp_count; i++) {
        const fl_msg_pb_produce_log_resp_for_bucket *part = &response->buckets_resp[i];
        fl_batch *batch =
            take_batch(request, part->has_partition_id, part->partition_id, part->bucket_id);
        if (batch != NULL) {
            const int64_t end = part->has_base_offset && part->base_offset >= 0
                                    ? part->base_offset + batch->row_count
                                    : -1;
            bucket_answered(batch, part->has_error_code, part->error_code, part->error_message,
                            end);
        }
    }
}

static void throttle(fl_write_bucket *bucket, const fl_msg_pb_put_kv_resp_for_bucket *part)
{
    const double pressure = part->has_pressure ? (double)part->pressure : 0;
    if (pressure > 0 && pressure < 1) {
        const fl_sender *sender = bucket->partition->table->sender;
        const double limit_ms = (double)sender->client->config->writer_throttle_max_ms.number;
        bucket->not_before_ms = fl_clock_ms() + (int64_t)(limit_ms * pressure * pressure);
    }
}

static void on_kv_answer(fl_produce *request, const fl_msg_put_kv_response *response)
{
    for (size_t i = 0; i < response->buckets_resp_count; i++) {
        const fl_msg_pb_put_kv_resp_for_bucket *part = &response->buckets_resp[i];
        fl_batch *batch =
            take_batch(request, part->has_partition_id, part->partition_id, part->bucket_id);
        if (batch != NULL) {
            throttle(batch->bucket, part);
            bucket_answered(batch, part->has_error_code, part->error_code, part->error_message,
                            part->has_log_end_offset ? part->log_end_offset : -1);
        }
    }
}

static void on_answer(void *context, const fl_reply *reply, const fluss_error_t *failure,
                      bool was_sent)
{
    fl_produce *request = context;
    fluss_error_t err;
    if (reply != NULL && request->batches[0]->stream.is_keyed) {
        on_kv_answer(request, reply->message);
    } else if (reply != NULL) {
        on_log_answer(request, reply->message);
    }
    if (failure == NULL) {
        (void)fl_error_corrupt(&err, "%s left a bucket out of its answer", request->address);
    } else {
        err = *failure;
    }
    for (size_t i = 0; i < request->count; i++) {
        fl_batch *batch = request->batches[i];
        if (batch != NULL) {
            batch_refused(batch, &err, was_sent);
        }
    }
    free_request(request);
}

/* ---- sending ---- */

static fluss_code_t call(fl_produce *request, const void *message, fl_api_key key,
                         fl_frame *const *frames, fluss_error_t *err)
{
    const fluss_config_t *config = request->sender->client->config;
    const fl_call_spec spec = {
        .address = request->address,
        .key = key,
        .message = message,
        .timeout_ms = config->request_timeout_ms.number * 2, /* the server waits once */
        .done = on_answer,
        .context = request,
        .frames = frames,
        .frame_count = request->count,
    };
    return fl_rpc_call(request->sender->client->rpc, &spec, err);
}

static fluss_code_t send_log(fl_produce *request, fl_arena *arena, fl_frame *const *frames,
                             fluss_error_t *err)
{
    const fluss_config_t *config = request->sender->client->config;
    fl_msg_pb_produce_log_req_for_bucket *parts =
        fl_arena_array(arena, request->count, sizeof(*parts));
    if (parts == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < request->count; i++) {
        const fluss_bucket_t id = request->batches[i]->sent_to;
        parts[i].has_partition_id = id.partition_id != FL_NO_PARTITION;
        parts[i].partition_id = id.partition_id;
        parts[i].bucket_id = id.bucket;
        parts[i].records = fl_slice_of(frames[i]->data, frames[i]->size);
    }
    const fl_msg_produce_log_request message = {
        .acks = (int32_t)config->writer_acks.number,
        .table_id = request->batches[0]->stream.table->table_id,
        .timeout_ms = (int32_t)config->request_timeout_ms.number,
        .buckets_req = parts,
        .buckets_req_count = request->count,
    };
    return call(request, &message, FL_API_PRODUCE_LOG, frames, err);
}

static fluss_code_t send_kv(fl_produce *request, fl_arena *arena, fl_frame *const *frames,
                            fluss_error_t *err)
{
    const fluss_config_t *config = request->sender->client->config;
    const fl_stream *stream = &request->batches[0]->stream;
    fl_msg_pb_put_kv_req_for_bucket *parts = fl_arena_array(arena, request->count, sizeof(*parts));
    if (parts == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < request->count; i++) {
        const fluss_bucket_t id = request->batches[i]->sent_to;
        parts[i].has_partition_id = id.partition_id != FL_NO_PARTITION;
        parts[i].partition_id = id.partition_id;
        parts[i].bucket_id = id.bucket;
        parts[i].records = fl_slice_of(frames[i]->data, frames[i]->size);
    }
    const fl_msg_put_kv_request message = {
        .acks = (int32_t)config->writer_acks.number,
        .table_id = stream->table->table_id,
        .timeout_ms = (int32_t)config->request_timeout_ms.number,
        .target_columns = (int32_t *)(uintptr_t)stream->targets,
        .target_columns_count = stream->target_count,
        .buckets_req = parts,
        .buckets_req_count = request->count,
        .has_agg_mode = stream->overwrite,
        .agg_mode = stream->overwrite,
    };
    return call(request, &message, FL_API_PUT_KV, frames, err);
}

static void send_request(fl_produce *request)
{
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_error_t err;
    fl_frame **frames = fl_arena_array(&arena, request->count, sizeof(*frames));
    fluss_code_t rc = frames != NULL ? 0 : fl_error_nomem(&err);
    if (rc == 0) {
        for (size_t i = 0; i < request->count; i++) {
            frames[i] = request->batches[i]->frame;
        }
        rc = request->batches[0]->stream.is_keyed ? send_kv(request, &arena, frames, &err)
                                                  : send_log(request, &arena, frames, &err);
    }
    fl_arena_deinit(&arena);
    if (rc != 0) {
        on_answer(request, NULL, &err, false);
    }
}

void fl_round_send(fl_round *round)
{
    fl_produce *request = round->requests;
    round->requests = NULL;
    while (request != NULL) {
        fl_produce *next = request->next;
        request->next = NULL;
        if (request->count > 0) {
            send_request(request);
        } else {
            free_request(request); /* there was no memory for its first batch */
        }
        request = next;
    }
}
