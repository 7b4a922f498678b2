/* SPDX-License-Identifier: Apache-2.0 */
/* The accumulator: users' threads put rows into buckets' open batches.
 *
 * A bucket with nothing in flight is sent at once: the first row schedules the bucket on the loop.
 * While something is in flight rows gather, without waking the loop; it looks again when the answer
 * comes, or when they have waited for the batch timeout. A full batch is closed and encoded here,
 * in the appending thread. */
#include <fluss/fluss_arrow.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "client/metadata.h"
#include "client/monotonic.h"
#include "client/random.h"
#include "client/sender_private.h"

/* ---- tables and partitions ---- */

static fluss_code_t new_table(fl_sender *sender, fl_table *table, fl_write_table **out,
                              fluss_error_t *err)
{
    fl_write_table *fresh = fl_calloc(1, sizeof(*fresh));
    if (fresh == NULL) {
        return fl_error_nomem(err);
    }
    fresh->sender = sender;
    fresh->table_id = table->table_id;
    fresh->bucket_count = table->bucket_count;
    fresh->database = fl_strdup(table->database);
    fresh->name = fl_strdup(table->name);
    const size_t key_count = table->desc->partition_key_count;
    fresh->partition_keys = fl_calloc(key_count + 1, sizeof(*fresh->partition_keys));
    bool is_whole = fresh->database != NULL && fresh->name != NULL && fresh->partition_keys != NULL;
    for (size_t i = 0; i < key_count && is_whole; i++) {
        fresh->partition_keys[i] = fl_strdup(table->desc->partition_keys[i]);
        is_whole = fresh->partition_keys[i] != NULL;
    }
    fresh->partition_key_count = key_count;
    if (!is_whole) {
        for (size_t i = 0; i < key_count && fresh->partition_keys != NULL; i++) {
            fl_free(fresh->partition_keys[i]);
        }
        fl_free(fresh->partition_keys);
        fl_free(fresh->database);
        fl_free(fresh->name);
        fl_free(fresh);
        return fl_error_nomem(err);
    }
    (void)pthread_mutex_init(&fresh->lock, NULL);
    const uint64_t random = fl_random();
    atomic_init(&fresh->sticky, (int)(random % (uint64_t)table->bucket_count));
    atomic_init(&fresh->turn, (unsigned)(random >> 33));
    atomic_init(&fresh->batch_bytes, sender->client->config->writer_batch_size.number);
    fresh->next = sender->tables;
    sender->tables = fresh;
    *out = fresh;
    return 0;
}

fluss_code_t fl_sender_table(fl_sender *sender, fl_table *table, fl_write_table **out,
                             fluss_error_t *err)
{
    (void)pthread_mutex_lock(&sender->lock);
    fl_write_table *known = sender->tables;
    while (known != NULL && known->table_id != table->table_id) {
        known = known->next;
    }
    fluss_code_t rc = 0;
    if (known != NULL) {
        *out = known;
    } else {
        rc = new_table(sender, table, out, err);
    }
    (void)pthread_mutex_unlock(&sender->lock);
    return rc;
}

static void init_bucket(fl_write_bucket *bucket, fl_write_partition *partition, int32_t index)
{
    bucket->partition = partition;
    bucket->index = index;
    (void)pthread_mutex_init(&bucket->lock, NULL);
    bucket->queue_last = &bucket->queue;
    bucket->task.run = fl_sender_run_bucket;
    bucket->sequence_acked = -1;
    bucket->writer_id = -1;
}

static fluss_code_t new_partition(fl_write_table *table, const char *name, fl_write_partition **out,
                                  fluss_error_t *err)
{
    fl_write_partition *fresh = fl_calloc(1, sizeof(*fresh));
    fl_write_bucket *buckets = fl_calloc((size_t)table->bucket_count, sizeof(*buckets));
    char *copy = name != NULL ? fl_strdup(name) : NULL;
    if (fresh == NULL || buckets == NULL || (copy == NULL) != (name == NULL)) {
        fl_free(fresh);
        fl_free(buckets);
        fl_free(copy);
        return fl_error_nomem(err);
    }
    fresh->table = table;
    fresh->name = copy;
    fresh->buckets = buckets;
    atomic_init(&fresh->id, FL_NO_PARTITION);
    for (int32_t i = 0; i < table->bucket_count; i++) {
        init_bucket(&buckets[i], fresh, i);
    }
    fresh->next = table->partitions;
    table->partitions = fresh;
    *out = fresh;
    return 0;
}

fluss_code_t fl_write_table_partition(fl_write_table *table, const char *name,
                                      fl_write_partition **out, fluss_error_t *err)
{
    (void)pthread_mutex_lock(&table->lock);
    fl_write_partition *known = table->partitions;
    while (known != NULL && name != NULL && strcmp(known->name, name) != 0) {
        known = known->next;
    }
    fluss_code_t rc = 0;
    if (known != NULL) {
        *out = known;
    } else {
        rc = new_partition(table, name, out, err);
    }
    (void)pthread_mutex_unlock(&table->lock);
    return rc;
}

int32_t fl_write_partition_next_bucket(fl_write_partition *partition)
{
    fl_write_table *table = partition->table;
    const bool is_sticky =
        table->sender->client->config->writer_assigner.number == FL_ASSIGN_STICKY;
    int first = is_sticky ? atomic_load_explicit(&table->sticky, memory_order_relaxed)
                          : (int)(atomic_fetch_add_explicit(&table->turn, 1, memory_order_relaxed) %
                                  (unsigned)table->bucket_count);
    for (int32_t step = 0; step < table->bucket_count; step++) {
        const int32_t bucket = (first + step) % table->bucket_count;
        if (!atomic_load_explicit(&partition->buckets[bucket].is_leaderless,
                                  memory_order_relaxed)) {
            if (is_sticky && step > 0) {
                (void)atomic_compare_exchange_strong_explicit(
                    &table->sticky, &first, bucket, memory_order_relaxed, memory_order_relaxed);
            }
            return bucket;
        }
    }
    return first; /* none is better */
}

/* Follow the size of batches that had to wait: towards the limit while they fill up, slowly down
 * while they do not. Batches that left at once because nothing was under way say nothing. */
void fl_write_table_learn(fl_write_table *table, size_t bytes)
{
    const fluss_config_t *config = table->sender->client->config;
    if (config->writer_batch_dynamic.number == 0) {
        return;
    }
    const int64_t now = atomic_load_explicit(&table->batch_bytes, memory_order_relaxed);
    int64_t next = now;
    if ((int64_t)bytes > now / 5 * 4) {
        next = now + now / 10;
    } else if ((int64_t)bytes < now / 2) {
        next = now - now / 20;
    }
    const int64_t low = config->writer_batch_size_min.number,
                  high = config->writer_batch_size.number;
    next = next < low ? low : next > high ? high : next;
    atomic_store_explicit(&table->batch_bytes, next, memory_order_relaxed);
}

/* A batch for this bucket begins or ends: the next rows go to another bucket. */
static void move_sticky(fl_write_table *table, int32_t from)
{
    if (table->bucket_count > 1) {
        const int32_t step = 1 + (int32_t)(fl_random() % (uint64_t)(table->bucket_count - 1));
        int expected = from;
        (void)atomic_compare_exchange_strong_explicit(&table->sticky, &expected,
                                                      (from + step) % table->bucket_count,
                                                      memory_order_relaxed, memory_order_relaxed);
    }
}

/* ---- memory ---- */

void fl_sender_charge(fl_sender *sender, int64_t bytes)
{
    (void)atomic_fetch_add(&sender->memory_used, bytes);
    fl_metric_add(&sender->client->metrics.buffer_used, bytes);
    if (bytes < 0 && atomic_load(&sender->memory_waiters) > 0) {
        (void)pthread_mutex_lock(&sender->memory_lock);
        (void)pthread_cond_broadcast(&sender->memory_freed);
        (void)pthread_mutex_unlock(&sender->memory_lock);
    }
}

static bool has_memory(const fl_sender *sender)
{
    return atomic_load(&sender->memory_used) < sender->client->config->writer_buffer_size.number ||
           atomic_load(&sender->is_closed);
}

/* Wait for buffer memory. */
static fluss_code_t wait_memory(fl_sender *sender, fluss_error_t *err)
{
    if (FL_LIKELY(has_memory(sender))) {
        return 0;
    }
    const int64_t limit_ms = sender->client->config->writer_buffer_wait_ms.number;
    const fl_deadline deadline = fl_deadline_in(limit_ms);
    bool in_time = fl_future_may_wait(NULL) == 0;
    (void)atomic_fetch_add(&sender->memory_waiters, 1);
    (void)pthread_mutex_lock(&sender->memory_lock);
    while (!has_memory(sender) && in_time) {
        in_time = fl_cond_wait(&sender->memory_freed, &sender->memory_lock, &deadline);
    }
    (void)pthread_mutex_unlock(&sender->memory_lock);
    (void)atomic_fetch_sub(&sender->memory_waiters, 1);
    if (!has_memory(sender)) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_TIMEOUT,
                        "the write buffer of %lld bytes stayed full for %lld milliseconds",
                        (long long)sender->client->config->writer_buffer_size.number,
                        (long long)limit_ms);
    }
    return 0;
}

/* ---- appending ---- */

static void enqueue(fl_write_bucket *bucket, fl_batch *batch)
{
    batch->next = NULL;
    *bucket->queue_last = batch;
    bucket->queue_last = &batch->next;
}

fl_batch *fl_bucket_close_open(fl_write_bucket *bucket)
{
    fl_batch *batch = bucket->open;
    bucket->open = NULL;
    batch->state = FL_BATCH_ENCODING;
    enqueue(bucket, batch);
    move_sticky(bucket->partition->table, bucket->index);
    return batch;
}

/* Whether the loop must be told. Lock: bucket held. */
static bool must_schedule(fl_write_bucket *bucket)
{
    const int64_t in_flight_max =
        bucket->partition->table->sender->client->config->writer_in_flight_max.number;
    const bool has_closed = bucket->queue != NULL && bucket->queue->state == FL_BATCH_READY;
    const bool has_open = bucket->queue == NULL && bucket->open != NULL;
    /* While something is under way the loop hears of an open batch once, to set its timeout. */
    const bool is_fresh = has_open && bucket->open->row_count == 1;
    const bool has_work = bucket->in_flight_count == 0
                              ? has_closed || has_open
                              : (has_closed || is_fresh) && bucket->in_flight_count < in_flight_max;
    if (bucket->is_scheduled || !has_work) {
        return false;
    }
    bucket->is_scheduled = true;
    return true;
}

static void post(fl_write_bucket *bucket)
{
    fl_loop_post(bucket->partition->table->sender->client->loop, &bucket->task);
}

/* Encode a batch that was queued, and tell the loop. Lock: none held. */
static void encode(fl_write_bucket *bucket, fl_batch *batch)
{
    fl_batch_encode(bucket->partition->table->sender, batch);
    (void)pthread_mutex_lock(&bucket->lock);
    batch->state = FL_BATCH_READY;
    const bool is_posted = must_schedule(bucket);
    (void)pthread_mutex_unlock(&bucket->lock);
    if (is_posted) {
        post(bucket);
    }
}

/* Have an open batch that takes rows of the writer's stream. Lock: bucket held. */
static fluss_code_t open_batch(fl_writer *writer, fl_write_bucket *bucket, fluss_error_t *err)
{
    if (bucket->open != NULL) {
        return 0;
    }
    fl_batch *batch = fl_batch_new(writer->client->sender, bucket, &writer->stream);
    if (batch == NULL) {
        return fl_error_nomem(err);
    }
    const fluss_code_t rc = fl_content_new(&writer->stream, &batch->content, err);
    if (rc != 0) {
        fl_batch_free(batch);
        return rc;
    }
    bucket->open = batch;
    return 0;
}

/* About what a value takes; nesting is as deep as its column's type. */
static size_t datum_bytes(const fluss_datum_t *value)
{
    switch (value->type) {
    case FLUSS_CHAR:
    case FLUSS_STRING:
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return value->v.s.len;
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW: {
        size_t bytes = 0;
        for (size_t i = 0; i < value->v.list.len; i++) {
            bytes += datum_bytes(&value->v.list.items[i]);
        }
        return bytes;
    }
    default:
        return sizeof(int64_t);
    }
}

static fluss_code_t check_row_size(const fl_writer *writer, const fluss_datum_t *values,
                                   fluss_error_t *err)
{
    const int64_t limit = writer->client->config->writer_buffer_size.number;
    const size_t count = values != NULL ? writer->table->schema->column_count : 0;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += datum_bytes(&values[i]);
    }
    return (int64_t)bytes <= limit
               ? 0
               : fl_error(err, FLUSS_E_RECORD_TOO_LARGE, FLUSS_KIND_ARGUMENT,
                          "a row of about %zu bytes, writer.buffer.memory-size is %lld", bytes,
                          (long long)limit);
}

/* Lock: bucket held. */
static fluss_code_t append_locked(fl_writer *writer, fl_write_bucket *bucket,
                                  const fluss_datum_t *values, fl_slice key, fl_ack ack,
                                  fluss_error_t *err)
{
    if (atomic_load(&writer->client->sender->is_closed)) {
        return fl_client_closed_error(err);
    }
    FL_TRY(open_batch(writer, bucket, err));
    fl_batch *batch = bucket->open;
    fluss_code_t rc = fl_batch_reserve(batch, err);
    if (rc == 0) {
        rc = fl_content_append(batch->content, &writer->stream, values, key, err);
    }
    if (rc != 0) {
        if (batch->row_count == 0) {
            bucket->open = NULL;
            fl_batch_free(batch);
        }
        return rc;
    }
    const size_t grown = fl_content_bytes(batch->content) - batch->reserved;
    batch->reserved += grown;
    fl_sender_charge(writer->client->sender, (int64_t)grown);
    fl_batch_add(batch, 1, ack, writer);
    return 0;
}

fluss_code_t fl_accumulate_row(fl_writer *writer, fl_write_bucket *bucket,
                               const fluss_datum_t *values, fl_slice key, fl_ack ack,
                               fluss_error_t *err)
{
    const size_t size_max =
        (size_t)atomic_load_explicit(&writer->target->batch_bytes, memory_order_relaxed);
    fl_batch *stale = NULL, *full = NULL;
    FL_TRY(check_row_size(writer, values, err));
    FL_TRY(wait_memory(writer->client->sender, err));
    (void)pthread_mutex_lock(&bucket->lock);
    if (bucket->open != NULL && !fl_stream_equal(&bucket->open->stream, &writer->stream)) {
        stale = fl_bucket_close_open(bucket);
    }
    const fluss_code_t rc = append_locked(writer, bucket, values, key, ack, err);
    if (bucket->open != NULL &&
        (bucket->open->reserved >= size_max || bucket->open->row_count == INT32_MAX)) {
        fl_write_table_learn(writer->target, bucket->open->reserved);
        full = fl_bucket_close_open(bucket);
    }
    const bool is_posted = must_schedule(bucket);
    (void)pthread_mutex_unlock(&bucket->lock);
    if (is_posted) {
        post(bucket);
    }
    if (stale != NULL) {
        encode(bucket, stale);
    }
    if (full != NULL) {
        encode(bucket, full);
    }
    if (rc == 0) {
        fl_metric_add(&writer->client->metrics.rows_written, 1);
    }
    return rc;
}

fluss_code_t fl_accumulate_array(fl_writer *writer, fl_write_bucket *bucket,
                                 const struct ArrowArray *array, int64_t row_from,
                                 int64_t row_count, fl_ack ack, fluss_error_t *err)
{
    fl_sender *sender = writer->client->sender;
    FL_TRY(wait_memory(sender, err));
    fl_batch *batch = fl_batch_new(sender, bucket, &writer->stream);
    if (batch == NULL) {
        return fl_error_nomem(err);
    }
    fluss_code_t rc = fl_batch_reserve(batch, err);
    if (rc == 0) {
        rc = fl_content_of_array(array, row_from, &batch->content, err);
    }
    if (rc != 0) {
        fl_batch_free(batch);
        return rc;
    }
    batch->state = FL_BATCH_ENCODING;
    fl_batch *stale = NULL;
    (void)pthread_mutex_lock(&bucket->lock);
    if (atomic_load(&sender->is_closed)) {
        rc = fl_client_closed_error(err);
    } else {
        if (bucket->open != NULL) {
            stale = fl_bucket_close_open(bucket);
        }
        fl_batch_add(batch, (int32_t)row_count, ack, writer);
        enqueue(bucket, batch);
        move_sticky(bucket->partition->table, bucket->index);
    }
    (void)pthread_mutex_unlock(&bucket->lock);
    if (rc != 0) {
        fl_batch_free(batch);
        return rc;
    }
    if (stale != NULL) {
        encode(bucket, stale);
    }
    encode(bucket, batch);
    fl_metric_add(&writer->client->metrics.rows_written, row_count);
    return 0;
}
