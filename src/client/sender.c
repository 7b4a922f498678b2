/* SPDX-License-Identifier: Apache-2.0 */
/* The sender: takes batches out of buckets and puts them into requests, one a (leader, table).
 *
 * Looking at a bucket puts it into the ready list; the send task, posted once a burst, goes through
 * the list, so that buckets that became ready together travel together. A bucket that can't be sent
 * now (no leader, no writer id, back-off) is looked at again by the event it waits for, or by the
 * timer. */
#include "client/sender.h"

#include "base/alloc.h"
#include "client/metadata.h"
#include "client/monotonic.h"
#include "client/sender_private.h"

static void run_send(fl_task *task);

fl_sender *fl_sender_new(fl_client *client)
{
    fl_sender *sender = fl_calloc(1, sizeof(*sender));
    if (sender != NULL) {
        sender->client = client;
        sender->ready_last = &sender->ready;
        sender->writer_id = -1;
        sender->send.run = run_send;
        (void)pthread_mutex_init(&sender->lock, NULL);
        (void)pthread_mutex_init(&sender->memory_lock, NULL);
        fl_cond_init(&sender->memory_freed);
    }
    return sender;
}

static void free_partition(fl_write_partition *partition, int32_t bucket_count)
{
    for (int32_t i = 0; i < bucket_count; i++) {
        (void)pthread_mutex_destroy(&partition->buckets[i].lock);
    }
    fl_free(partition->buckets);
    fl_free(partition->name);
    fl_free(partition);
}

void fl_sender_free(fl_sender *sender)
{
    if (sender == NULL) {
        return;
    }
    fl_losses_free(&sender->losses);
    while (sender->tables != NULL) {
        fl_write_table *table = sender->tables;
        sender->tables = table->next;
        while (table->partitions != NULL) {
            fl_write_partition *partition = table->partitions;
            table->partitions = partition->next;
            free_partition(partition, table->bucket_count);
        }
        (void)pthread_mutex_destroy(&table->lock);
        fl_free(table->database);
        fl_free(table->name);
        for (size_t i = 0; i < table->partition_key_count; i++) {
            fl_free(table->partition_keys[i]);
        }
        fl_free(table->partition_keys);
        fl_free(table);
    }
    fl_encoders_free(sender);
    (void)pthread_mutex_destroy(&sender->lock);
    (void)pthread_mutex_destroy(&sender->memory_lock);
    (void)pthread_cond_destroy(&sender->memory_freed);
    fl_free(sender);
}

fluss_bucket_t fl_write_bucket_id(const fl_write_bucket *bucket)
{
    return (fluss_bucket_t){
        .table_id = bucket->partition->table->table_id,
        .partition_id = atomic_load_explicit(&bucket->partition->id, memory_order_relaxed),
        .bucket = bucket->index,
    };
}

/* ---- looking ---- */

void fl_sender_look_at(fl_write_bucket *bucket)
{
    fl_sender *sender = bucket->partition->table->sender;
    if (!bucket->is_ready) {
        bucket->is_ready = true;
        bucket->ready_next = NULL;
        *sender->ready_last = bucket;
        sender->ready_last = &bucket->ready_next;
    }
    if (!sender->is_send_posted) {
        sender->is_send_posted = true;
        fl_loop_post(sender->client->loop, &sender->send);
    }
}

void fl_sender_run_bucket(fl_task *task)
{
    fl_write_bucket *bucket = FL_CONTAINER_OF(task, fl_write_bucket, task);
    (void)pthread_mutex_lock(&bucket->lock);
    bucket->is_scheduled = false;
    (void)pthread_mutex_unlock(&bucket->lock);
    fl_sender_look_at(bucket);
}

static void visit_table(fl_write_table *table, fl_visit_bucket visit, void *context)
{
    (void)pthread_mutex_lock(&table->lock);
    fl_write_partition *partition = table->partitions;
    (void)pthread_mutex_unlock(&table->lock);
    for (; partition != NULL; partition = partition->next) {
        for (int32_t i = 0; i < table->bucket_count; i++) {
            visit(&partition->buckets[i], context);
        }
    }
}

void fl_sender_visit(fl_sender *sender, fl_visit_bucket visit, void *context)
{
    (void)pthread_mutex_lock(&sender->lock);
    fl_write_table *table = sender->tables;
    (void)pthread_mutex_unlock(&sender->lock);
    for (; table != NULL; table = table->next) {
        visit_table(table, visit, context);
    }
}

/* The oldest batch id of a bucket that is not done; 0: none.
 * @param has_sendable whether there is a batch that is not under way */
static uint64_t oldest_batch(fl_write_bucket *bucket, bool *has_sendable)
{
    (void)pthread_mutex_lock(&bucket->lock);
    uint64_t id = bucket->open != NULL ? bucket->open->id : 0;
    if (bucket->queue != NULL) {
        id = bucket->queue->id;
    }
    *has_sendable = bucket->queue != NULL || bucket->open != NULL;
    (void)pthread_mutex_unlock(&bucket->lock);
    for (const fl_batch *batch = bucket->in_flight; batch != NULL; batch = batch->next) {
        id = id == 0 || batch->id < id ? batch->id : id;
    }
    return id;
}

static void look_if_waiting(fl_write_bucket *bucket, void *context)
{
    (void)context;
    bool has_sendable;
    (void)oldest_batch(bucket, &has_sendable);
    if (has_sendable) {
        fl_sender_look_at(bucket);
    }
}

void fl_sender_look_at_all(fl_sender *sender)
{
    fl_sender_visit(sender, look_if_waiting, NULL);
}

/* ---- the timer ---- */

static void check_drained(fl_sender *sender);

static void on_timer(void *context)
{
    fl_sender *sender = context;
    fl_sender_look_at_all(sender);
    check_drained(sender);
}

fluss_code_t fl_sender_start(fl_sender *sender, fluss_error_t *err)
{
    return fl_timer_new(sender->client->loop, on_timer, sender, &sender->timer, err);
}

void fl_sender_wake_at(fl_sender *sender, int64_t at_ms)
{
    if (sender->timer == NULL) { /* closed, or never connected: nothing waits */
        return;
    }
    if (!fl_timer_is_set(sender->timer) || at_ms < sender->timer_at_ms) {
        sender->timer_at_ms = at_ms;
        fl_timer_start(sender->timer, at_ms - fl_clock_ms());
    }
}

/* ---- taking ---- */

static bool has_retry_in_flight(const fl_write_bucket *bucket)
{
    for (const fl_batch *batch = bucket->in_flight; batch != NULL; batch = batch->next) {
        if (batch->attempts > 0) {
            return true;
        }
    }
    return false;
}

/* Whether the open batch is sent before it is full. Lock: bucket held. */
static bool is_open_due(fl_write_bucket *bucket, int64_t now)
{
    const fl_write_table *table = bucket->partition->table;
    const fl_sender *sender = table->sender;
    const fl_batch *open = bucket->open;
    const int64_t due_ms = open->opened_ms + sender->client->config->writer_batch_timeout_ms.number;
    return bucket->in_flight_count == 0 || open->id <= table->flush_upto ||
           sender->drained != NULL || now >= due_ms || atomic_load(&sender->memory_waiters) > 0;
}

/* The batch to send next, still in the queue, encoded; NULL: none now. */
static fl_batch *next_batch(fl_write_bucket *bucket)
{
    fl_sender *sender = bucket->partition->table->sender;
    const int64_t now = fl_clock_ms();
    fl_batch *closed = NULL;
    (void)pthread_mutex_lock(&bucket->lock);
    if (bucket->queue == NULL && bucket->open != NULL) {
        if (is_open_due(bucket, now)) {
            if (bucket->in_flight_count > 0) {
                fl_write_table_learn(bucket->partition->table, bucket->open->reserved);
            }
            closed = fl_bucket_close_open(bucket);
        } else {
            fl_sender_wake_at(sender, bucket->open->opened_ms +
                                          sender->client->config->writer_batch_timeout_ms.number);
        }
    }
    fl_batch *head = bucket->queue;
    const bool is_ready = head != NULL && head->state == FL_BATCH_READY;
    (void)pthread_mutex_unlock(&bucket->lock);
    if (closed != NULL) {
        fl_batch_encode(sender, closed);
        (void)pthread_mutex_lock(&bucket->lock);
        closed->state = FL_BATCH_READY;
        (void)pthread_mutex_unlock(&bucket->lock);
        return closed;
    }
    return is_ready ? head : NULL;
}

/* Move the queue's first batch to the end of those in flight. */
static void start_batch(fl_write_bucket *bucket, fl_batch *batch)
{
    (void)pthread_mutex_lock(&bucket->lock);
    bucket->queue = batch->next;
    if (bucket->queue == NULL) {
        bucket->queue_last = &bucket->queue;
    }
    bucket->in_flight_count++;
    (void)pthread_mutex_unlock(&bucket->lock);
    if (batch->turn == 0) {
        batch->turn = ++bucket->turns;
    }
    fl_batch **at = &bucket->in_flight;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    batch->next = NULL;
    batch->state = FL_BATCH_IN_FLIGHT;
    *at = batch;
}

/* Give up the queue's first batch: it was not encoded, or must not be sent again. */
static void drop_batch(fl_write_bucket *bucket, fl_batch *batch)
{
    (void)pthread_mutex_lock(&bucket->lock);
    bucket->queue = batch->next;
    if (bucket->queue == NULL) {
        bucket->queue_last = &bucket->queue;
    }
    (void)pthread_mutex_unlock(&bucket->lock);
    fluss_error_t err;
    if (batch->frame != NULL) {
        (void)fl_error(&err, FLUSS_E_UNKNOWN_WRITER_ID, FLUSS_KIND_SERVER,
                       "the server lost track of the writer, and may have the rows already");
    } else if (batch->failure != NULL) {
        err = *batch->failure;
    } else {
        (void)fl_error_nomem(&err);
    }
    fl_write_table *table = bucket->partition->table;
    fl_batch_settle(batch, NULL, &err);
    fl_sender_check_waiters(table);
}

/* Put one batch of the bucket into the round. @return whether there may be more */
static bool send_one(fl_write_bucket *bucket, fl_round *round)
{
    fl_sender *sender = bucket->partition->table->sender;
    const int64_t now = fl_clock_ms();
    if (bucket->in_flight_count >= sender->client->config->writer_in_flight_max.number ||
        has_retry_in_flight(bucket)) {
        return false;
    }
    if (bucket->not_before_ms > now) {
        fl_sender_wake_at(sender, bucket->not_before_ms);
        return false;
    }
    bool has_sendable;
    (void)oldest_batch(bucket, &has_sendable);
    if (!has_sendable) {
        return false;
    }
    const char *address = fl_bucket_route(bucket);
    if (address == NULL || !fl_bucket_has_writer(bucket)) {
        return false;
    }
    fl_batch *batch = next_batch(bucket);
    if (batch == NULL || (batch->attempts > 0 && bucket->in_flight != NULL)) {
        return false;
    }
    if (batch->frame == NULL || !fl_batch_is_safe(batch)) {
        drop_batch(bucket, batch);
        return true;
    }
    fl_batch_number(batch);
    start_batch(bucket, batch);
    fl_metric_add(&sender->client->metrics.batch_bytes_sent, (long long)batch->frame->size);
    fl_round_add(round, address, batch);
    return true;
}

static void run_send(fl_task *task)
{
    fl_sender *sender = FL_CONTAINER_OF(task, fl_sender, send);
    sender->is_send_posted = false;
    fl_write_bucket *bucket = sender->ready;
    sender->ready = NULL;
    sender->ready_last = &sender->ready;
    if (atomic_load(&sender->is_closed)) {
        return;
    }
    fl_round round = {.sender = sender};
    while (bucket != NULL) {
        fl_write_bucket *next = bucket->ready_next;
        bucket->is_ready = false;
        while (send_one(bucket, &round)) {
        }
        bucket = next;
    }
    fl_round_send(&round);
}

/* ---- flushing and draining ---- */

typedef struct search {
    uint64_t upto;
    bool is_found;
} search;

static void find_batch(fl_write_bucket *bucket, void *context)
{
    search *s = context;
    bool has_sendable;
    const uint64_t oldest = s->is_found ? 0 : oldest_batch(bucket, &has_sendable);
    s->is_found = s->is_found || (oldest != 0 && oldest <= s->upto);
}

static void end_flush(fl_flush *flush)
{
    fl_writer *writer = flush->writer;
    fluss_error_t err;
    if (!fl_future_is_abandoned(flush->future) &&
        fl_losses_take_writer(&flush->client->sender->losses, writer, &err) != 0) {
        fl_future_fail(flush->future, &err);
    } else {
        fl_future_complete_void(flush->future);
    }
    fl_client *client = flush->client;
    fl_writer_unref(writer);
    fl_free(flush);
    fl_client_unref(client);
}

void fl_sender_check_waiters(fl_write_table *table)
{
    fl_flush *waiting = table->flushes;
    table->flushes = NULL;
    while (waiting != NULL) {
        fl_flush *next = waiting->next;
        search s = {.upto = waiting->upto};
        visit_table(table, find_batch, &s);
        if (s.is_found) {
            waiting->next = table->flushes;
            table->flushes = waiting;
        } else {
            end_flush(waiting);
        }
        waiting = next;
    }
    check_drained(table->sender);
}

static void run_flush(fl_task *task)
{
    fl_flush *flush = FL_CONTAINER_OF(task, fl_flush, task);
    fl_write_table *table = flush->writer->target;
    table->flush_upto = flush->upto > table->flush_upto ? flush->upto : table->flush_upto;
    flush->next = table->flushes;
    table->flushes = flush;
    visit_table(table, look_if_waiting, NULL);
    fl_sender_check_waiters(table);
}

fluss_future_t *fluss_flush(fluss_writer_t *writer)
{
    fluss_error_t err;
    fluss_code_t rc = writer == NULL ? fl_error_argument(&err, "the writer must not be NULL")
                                     : fl_client_check(writer->client, &err);
    fl_flush *flush = rc == 0 ? fl_calloc(1, sizeof(*flush)) : NULL;
    if (flush == NULL) {
        if (rc == 0) {
            (void)fl_error_nomem(&err);
        }
        return fl_future_failed(&err);
    }
    fluss_future_t *future = fl_future_new();
    *flush = (fl_flush){
        .task.run = run_flush,
        .writer = fl_writer_ref(writer->writer),
        .client = fl_client_ref(writer->client),
        .upto = atomic_load(&writer->client->sender->batch_ids),
        .future = future,
    };
    fl_loop_post(writer->client->loop, &flush->task);
    return future;
}

static void check_drained(fl_sender *sender)
{
    if (sender->drained == NULL) {
        return;
    }
    search s = {.upto = UINT64_MAX};
    fl_sender_visit(sender, find_batch, &s);
    if (!s.is_found || fl_clock_ms() >= sender->drain_until_ms) {
        void (*done)(void *context) = sender->drained;
        sender->drained = NULL;
        done(sender->drained_context);
    } else {
        fl_sender_wake_at(sender, sender->drain_until_ms);
    }
}

void fl_sender_drain(fl_sender *sender, int64_t limit_ms, void (*done)(void *context),
                     void *context)
{
    sender->drained = done;
    sender->drained_context = context;
    sender->drain_until_ms = fl_clock_ms() + limit_ms;
    fl_sender_look_at_all(sender);
    check_drained(sender);
}

void fl_bucket_fail_all(fl_write_bucket *bucket, const fluss_error_t *err)
{
    atomic_store_explicit(&bucket->is_leaderless, false, memory_order_relaxed);
    (void)pthread_mutex_lock(&bucket->lock);
    *bucket->queue_last = bucket->open; /* an empty queue begins with it */
    fl_batch *batch = bucket->queue;
    bucket->open = NULL;
    bucket->queue = NULL;
    bucket->queue_last = &bucket->queue;
    /* A batch that another thread encodes stays: it is failed when that is done. */
    fl_batch *kept = NULL, **kept_last = &kept, *failed = NULL, **failed_last = &failed;
    while (batch != NULL) {
        fl_batch *next = batch->next;
        batch->next = NULL;
        fl_batch ***last = batch->state == FL_BATCH_ENCODING ? &kept_last : &failed_last;
        **last = batch;
        *last = &batch->next;
        batch = next;
    }
    if (kept != NULL) {
        bucket->queue = kept;
        bucket->queue_last = kept_last;
    }
    (void)pthread_mutex_unlock(&bucket->lock);
    while (failed != NULL) {
        fl_batch *next = failed->next;
        if (failed->sequence >= 0 && failed->writer_id == bucket->writer_id) {
            fl_bucket_lose_writer(bucket); /* its number may be used up */
        }
        fl_batch_settle(failed, NULL, err);
        failed = next;
    }
}

static void close_bucket(fl_write_bucket *bucket, void *context)
{
    fl_bucket_fail_all(bucket, context);
}

fluss_code_t fl_sender_take_losses(fl_sender *sender, fluss_error_t *err)
{
    return fl_losses_take(&sender->losses, err);
}

void fl_sender_close(fl_sender *sender, const fluss_error_t *why)
{
    atomic_store(&sender->is_closed, true);
    (void)pthread_mutex_lock(&sender->memory_lock);
    (void)pthread_cond_broadcast(&sender->memory_freed);
    (void)pthread_mutex_unlock(&sender->memory_lock);
    fl_timer_free(sender->timer);
    sender->timer = NULL;
    fluss_error_t err = *why;
    fl_sender_visit(sender, close_bucket, &err);
    for (fl_write_table *table = sender->tables; table != NULL; table = table->next) {
        while (table->flushes != NULL) {
            fl_flush *flush = table->flushes;
            table->flushes = flush->next;
            flush->writer->err = flush->writer->err.code != 0 ? flush->writer->err : err;
            end_flush(flush);
        }
    }
}
