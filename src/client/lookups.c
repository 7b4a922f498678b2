/* SPDX-License-Identifier: Apache-2.0 */
/* The lookup batcher: one queue of keys, requests to the servers that lead their buckets.
 *
 * What is there when the send task runs leaves at once, one request a (server, table, kind), as
 * long as few requests to that server are under way. Beyond that keys gather: until an answer
 * comes, a request is full, or the first of them has waited for the batch timeout. So a single
 * lookup takes one round trip, and many share requests. Servers do not wait for each other.
 *
 * The queue is bounded: fluss_lookup waits in the user's thread while it is full. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/backoff.h"
#include "client/lookups_private.h"
#include "client/metadata.h"
#include "client/monotonic.h"
#include "client/value_rows.h"
#include "format/kv_batch.h"
#include "net/loop.h"

enum { RETRY_MS_MIN = 10, RETRY_MS_MAX = 500, PIPELINED_MAX = 4 };

static void run_send(fl_task *task);

fl_lookups *fl_lookups_new(fl_client *client)
{
    fl_lookups *lookups = fl_calloc(1, sizeof(*lookups));
    if (lookups != NULL) {
        lookups->client = client;
        lookups->last = &lookups->waiting;
        lookups->send.run = run_send;
        (void)pthread_mutex_init(&lookups->lock, NULL);
        fl_cond_init(&lookups->room);
    }
    return lookups;
}

void fl_lookups_free(fl_lookups *lookups)
{
    if (lookups == NULL) {
        return;
    }
    while (lookups->targets != NULL) {
        fl_lookup_target *target = lookups->targets;
        lookups->targets = target->next;
        fl_free(target);
    }
    (void)pthread_mutex_destroy(&lookups->lock);
    (void)pthread_cond_destroy(&lookups->room);
    fl_free(lookups);
}

/* ---- room in the queue ---- */

fluss_code_t fl_lookups_enter(fl_lookups *lookups, size_t count, fluss_error_t *err)
{
    const fluss_config_t *config = lookups->client->config;
    const int64_t limit = config->lookup_queue_size.number;
    const int64_t limit_ms = config->request_timeout_ms.number;
    const fl_deadline deadline = fl_deadline_in(limit_ms);
    bool in_time = fl_future_may_wait(NULL) == 0;
    (void)pthread_mutex_lock(&lookups->lock);
    while (lookups->queued >= limit && in_time && !lookups->is_shut) {
        in_time = fl_cond_wait(&lookups->room, &lookups->lock, &deadline);
    }
    const bool has_room = lookups->queued < limit || lookups->is_shut;
    lookups->queued += has_room ? (int64_t)count : 0;
    (void)pthread_mutex_unlock(&lookups->lock);
    if (has_room) {
        return 0;
    }
    (void)fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_TIMEOUT,
                   "the lookup queue of %lld keys stayed full for %lld milliseconds",
                   (long long)limit, (long long)limit_ms);
    if (err != NULL) {
        err->retriable = 1;
    }
    return FLUSS_E_CLIENT;
}

/* Give room back. Thread: any. */
static void leave(fl_lookups *lookups, size_t count)
{
    (void)pthread_mutex_lock(&lookups->lock);
    lookups->queued -= (int64_t)count;
    (void)pthread_cond_broadcast(&lookups->room);
    (void)pthread_mutex_unlock(&lookups->lock);
}

/* The key waits no more: in a request, or at its end. */
static void leave_queue(fl_lookups *lookups, fl_lookup_key *key)
{
    if (key->is_counted) {
        key->is_counted = false;
        leave(lookups, 1);
    }
}

/* ---- the end of a call ---- */

static void free_call(fl_lookup_call *call)
{
    fl_client *client = call->client;
    for (size_t i = 0; i < call->count; i++) {
        fl_frame_unref(call->keys[i].frame);
    }
    fl_lookup_unref(call->lookup);
    fl_arena_deinit(&call->arena);
    fl_free(call);
    fl_client_unref(client);
}

static void fail_call(fl_lookup_call *call, const fluss_error_t *err)
{
    fl_future_fail(call->future, err);
    free_call(call);
}

static fluss_code_t open_value(const fl_lookup_key *key, size_t i, int16_t *schema_id,
                               fl_slice *row, fluss_error_t *err)
{
    return fl_value_open(key->values[i], schema_id, row, err);
}

/* The first schema that the answers need and that is not known; -1: none. */
static int32_t unknown_schema(const fl_lookup_call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        for (size_t j = 0; j < call->keys[i].value_count; j++) {
            int16_t schema_id;
            fl_slice row;
            if (open_value(&call->keys[i], j, &schema_id, &row, NULL) != 0) {
                return -1;
            }
            fl_schema *schema = fl_table_find_schema(call->lookup->table, schema_id);
            if (schema == NULL) {
                return schema_id;
            }
            fl_schema_unref(schema);
        }
    }
    return -1;
}

static fluss_code_t decode_call(fl_lookup_call *call, fl_chunk **chunk, fluss_error_t *err)
{
    const fluss_bucket_t bucket = {
        .table_id = call->lookup->table->table_id,
        .partition_id = FL_NO_PARTITION,
        .bucket = call->count > 0 ? call->keys[0].bucket : 0,
    };
    fl_value_rows *rows;
    FL_TRY(fl_value_rows_new(&call->lookup->plan, &rows, err));
    fluss_code_t rc = 0;
    for (size_t i = 0; i < call->count && rc == 0; i++) {
        for (size_t j = 0; j < call->keys[i].value_count && rc == 0; j++) {
            int16_t schema_id;
            fl_slice row;
            rc = open_value(&call->keys[i], j, &schema_id, &row, err);
            if (rc == 0) {
                rc = fl_value_rows_add(rows, schema_id, row, (int64_t)call->keys[i].index, err);
            }
        }
    }
    if (rc == 0) {
        rc = fl_value_rows_finish(rows, &bucket, chunk, err);
    }
    fl_value_rows_free(rows);
    return rc;
}

static void finish_call(fl_lookup_call *call);

static void on_schema(void *context, const fluss_error_t *failure)
{
    fl_lookup_call *call = context;
    if (failure != NULL) {
        fail_call(call, failure);
        return;
    }
    finish_call(call);
}

static void finish_call(fl_lookup_call *call)
{
    fluss_error_t err;
    if (call->err.code != 0) {
        err = call->err;
        fail_call(call, &err);
        return;
    }
    const int32_t schema_id = unknown_schema(call);
    if (schema_id >= 0) {
        if (fl_table_fetch_schema(call->lookup->table, schema_id, on_schema, call, &err) != 0) {
            fail_call(call, &err);
        }
        return;
    }
    fl_chunk *chunk = NULL;
    fl_piece *piece = NULL;
    fluss_records_t *records = NULL;
    fluss_code_t rc = decode_call(call, &chunk, &err);
    if (rc == 0) {
        piece = fl_calloc(1, sizeof(*piece));
        if (piece == NULL) {
            fl_chunk_unref(chunk);
            rc = fl_error_nomem(&err);
        } else {
            piece->chunk = chunk;
            piece->count = chunk->row_count;
        }
    }
    if (rc == 0) {
        rc = fl_records_new(piece, NULL, NULL, &records, &err);
    }
    if (rc != 0) {
        fl_pieces_free(piece);
        fail_call(call, &err);
        return;
    }
    fl_future_complete_or_free(call->future,
                               (fl_value){.kind = FL_VALUE_RECORDS, .v.object = records});
    free_call(call);
}

void fl_lookup_key_done(fl_lookup_key *key, const fluss_error_t *err)
{
    fl_lookup_call *call = key->call;
    leave_queue(call->client->lookups, key);
    if (err != NULL && call->err.code == 0) {
        call->err = *err;
    }
    if (--call->pending == 0) {
        finish_call(call);
    }
}

/* ---- queueing ---- */

void fl_lookups_post(fl_lookups *lookups)
{
    if (!lookups->is_send_posted && !lookups->is_closed) {
        lookups->is_send_posted = true;
        fl_loop_post(lookups->client->loop, &lookups->send);
    }
}

static void append(fl_lookups *lookups, fl_lookup_key *key)
{
    key->next = NULL;
    *lookups->last = key;
    lookups->last = &key->next;
}

void fl_lookup_key_queue(fl_lookups *lookups, fl_lookup_key *key)
{
    key->queued_ms = fl_clock_ms();
    append(lookups, key);
    fl_lookups_post(lookups);
}

void fl_lookup_call_run(fl_task *task)
{
    fl_lookup_call *call = FL_CONTAINER_OF(task, fl_lookup_call, task);
    fl_lookups *lookups = call->client->lookups;
    call->deadline_ms = fl_clock_ms() + call->client->config->request_timeout_ms.number;
    fl_metric_add(&call->client->metrics.lookups, (long long)call->count);
    if (lookups->is_closed) {
        (void)fl_client_closed_error(&call->err);
    }
    if (call->count == 0 || lookups->is_closed) {
        leave(lookups, call->count);
        finish_call(call);
        return;
    }
    call->pending = call->count;
    for (size_t i = 0; i < call->count; i++) {
        call->keys[i].is_counted = true;
        fl_lookup_key_queue(lookups, &call->keys[i]);
    }
}

static void on_timer(void *context)
{
    fl_lookups *lookups = context;
    fl_lookups_post(lookups);
}

fluss_code_t fl_lookups_start(fl_lookups *lookups, fluss_error_t *err)
{
    return fl_timer_new(lookups->client->loop, on_timer, lookups, &lookups->timer, err);
}

/* Only while the lookups are not closed. */
static void send_at(fl_lookups *lookups, int64_t at_ms)
{
    if (!fl_timer_is_set(lookups->timer) || at_ms < lookups->timer_at_ms) {
        lookups->timer_at_ms = at_ms;
        fl_timer_start(lookups->timer, at_ms - fl_clock_ms());
    }
}

/* Try the key again, after a moment, or give up. */
void fl_lookup_key_again(fl_lookups *lookups, fl_lookup_key *key, const fluss_error_t *err)
{
    fl_lookup_call *call = key->call;
    const bool may = err->retriable && !lookups->is_closed && fl_clock_ms() < call->deadline_ms &&
                     key->attempts < lookups->client->config->lookup_retries.number &&
                     !fl_future_is_abandoned(call->future);
    if (!may) {
        fl_lookup_key_done(key, err);
        return;
    }
    fl_log(FL_LOG_DEBUG, "lookup", "a key is asked for again: %.800s", err->message);
    call->cause = *err;
    const int64_t delay_ms = fl_backoff_ms(key->attempts, RETRY_MS_MIN, RETRY_MS_MAX);
    key->attempts++;
    key->not_before_ms = fl_clock_ms() + fl_jitter_ms(delay_ms);
    fl_lookup_key_queue(lookups, key);
}

/* ---- metadata ---- */

typedef struct key_refresh {
    fl_lookups *lookups;
    fl_client *client; /* shares */
    fl_lookup_key *key;
    bool is_absent; /* its partition: now the table alone is asked for */
} key_refresh;

fluss_bucket_t fl_lookup_key_bucket(const fl_lookup_key *key, const fl_metadata *metadata)
{
    const fl_table *table = key->call->lookup->table;
    return (fluss_bucket_t){
        .table_id = table->table_id,
        .partition_id = key->partition != NULL
                            ? fl_metadata_partition(metadata, table->table_id, key->partition)
                            : FL_NO_PARTITION,
        .bucket = key->bucket,
    };
}

static void end_refresh(key_refresh *r)
{
    fl_client *client = r->client;
    fl_free(r);
    fl_client_unref(client);
}

/* The table is that of the lookup. */
static void key_located(const key_refresh *r)
{
    fl_lookup_key *key = r->key;
    const fl_metadata *metadata = r->client->metadata;
    const fluss_bucket_t bucket = fl_lookup_key_bucket(key, metadata);
    fluss_error_t err;
    if (r->is_absent) {
        fl_lookup_key_done(key, NULL); /* nothing is stored in a partition that is not there */
    } else if (fl_metadata_server(metadata, fl_metadata_leader(metadata, &bucket)) == NULL) {
        (void)fl_error(&err, FLUSS_E_LEADER_NOT_AVAILABLE, FLUSS_KIND_SERVER,
                       "bucket %d has no leader", key->bucket);
        fl_lookup_key_again(r->lookups, key, &err);
    } else {
        fl_lookup_key_queue(r->lookups, key);
    }
}

static fluss_code_t ask_metadata(key_refresh *r, fluss_error_t *err);

static void on_refreshed(void *context, const fluss_error_t *failure)
{
    key_refresh *r = context;
    fl_lookup_key *key = r->key;
    const fl_table *table = key->call->lookup->table;
    fluss_error_t err;
    if (failure != NULL && failure->code == FLUSS_E_PARTITION_NOT_EXISTS && !r->is_absent) {
        r->is_absent = true; /* from the table, unless its name is another one's by now */
        if (ask_metadata(r, &err) == 0) {
            return;
        }
        fl_lookup_key_done(key, &err);
    } else if (failure != NULL) {
        err = *failure;
        err.retriable |= err.code == FLUSS_E_TABLE_NOT_EXIST && key->attempts < 8;
        fl_lookup_key_again(r->lookups, key, &err);
    } else if (fl_metadata_is_replaced(r->client->metadata, table->database, table->name,
                                       table->table_id, &err)) {
        fl_lookup_key_done(key, &err);
    } else {
        key_located(r);
    }
    end_refresh(r);
}

static fluss_code_t ask_metadata(key_refresh *r, fluss_error_t *err)
{
    const fl_table *table = r->key->call->lookup->table;
    const fl_metadata_want want = {
        .database = table->database,
        .table = table->name,
        .partition = r->is_absent ? NULL : r->key->partition,
        .partition_id = FL_NO_PARTITION,
    };
    return fl_metadata_refresh(r->client->metadata, want, on_refreshed, r, err);
}

static void refresh_for(fl_lookups *lookups, fl_lookup_key *key)
{
    key_refresh *r = fl_calloc(1, sizeof(*r));
    fluss_error_t err;
    if (r == NULL) {
        (void)fl_error_nomem(&err);
        fl_lookup_key_done(key, &err);
        return;
    }
    *r = (key_refresh){lookups, fl_client_ref(lookups->client), key, false};
    if (ask_metadata(r, &err) != 0) {
        fl_lookup_key_done(key, &err);
        end_refresh(r);
    }
}

/* ---- sending ---- */

static fl_lookup_target *find_target(fl_lookups *lookups, const char *address)
{
    fl_lookup_target *target = lookups->targets;
    while (target != NULL && strcmp(target->address, address) != 0) {
        target = target->next;
    }
    if (target == NULL) {
        target = fl_calloc(1, sizeof(*target));
        if (target != NULL) {
            memcpy(target->address, address, strlen(address) + 1);
            target->next = lookups->targets;
            lookups->targets = target;
        }
    }
    return target;
}

/* The key waits for its turn at this server. */
static void find_place(fl_lookups *lookups, fl_lookup_key *key, const char *address)
{
    fl_lookup_target *target = find_target(lookups, address);
    key->target = target;
    if (target == NULL) {
        fluss_error_t err;
        (void)fl_error_nomem(&err);
        fl_lookup_key_done(key, &err);
        return;
    }
    target->waiting_count++;
    target->oldest_ms = key->queued_ms < target->oldest_ms ? key->queued_ms : target->oldest_ms;
    append(lookups, key);
}

/* Find each waiting key's server; what is out of time or has none leaves the queue. */
static void sort_waiting(fl_lookups *lookups, int64_t now)
{
    const fl_metadata *metadata = lookups->client->metadata;
    fl_lookup_key *key = lookups->waiting;
    lookups->waiting = NULL;
    lookups->last = &lookups->waiting;
    for (fl_lookup_target *target = lookups->targets; target != NULL; target = target->next) {
        target->waiting_count = 0;
        target->oldest_ms = INT64_MAX;
    }
    while (key != NULL) {
        fl_lookup_key *next = key->next;
        const fluss_bucket_t bucket = fl_lookup_key_bucket(key, metadata);
        const char *address = fl_metadata_server(metadata, fl_metadata_leader(metadata, &bucket));
        fluss_error_t err;
        key->target = NULL;
        if (now >= key->call->deadline_ms) {
            (void)fl_error(&err, FLUSS_E_REQUEST_TIME_OUT, FLUSS_KIND_TIMEOUT,
                           "the lookup was not sent in time");
            const bool has_cause = key->attempts > 0;
            fl_lookup_key_done(key, has_cause ? &key->call->cause : &err);
        } else if (key->not_before_ms > now) {
            append(lookups, key);
            send_at(lookups, key->not_before_ms);
        } else if (address == NULL) {
            refresh_for(lookups, key);
        } else {
            find_place(lookups, key, address);
        }
        key = next;
    }
}

/* Whether keys for this server go out now. */
static bool is_due(fl_lookups *lookups, const fl_lookup_target *target, int64_t now)
{
    const fluss_config_t *config = lookups->client->config;
    const int64_t due_ms = target->oldest_ms + config->lookup_batch_timeout_ms.number;
    if (target->in_flight < PIPELINED_MAX || now >= due_ms ||
        target->waiting_count >= config->lookup_batch_size.number) {
        return true;
    }
    send_at(lookups, due_ms);
    return false;
}

enum { ROUND_MAX = 64 };

/* Put the key into one of the requests of this round, or end it when memory is out.
 * @return false: no room in the round */
static bool add_to_round(fl_lookups *lookups, fl_lookup_request *round[], size_t *round_count,
                         size_t round_max, fl_lookup_key *key)
{
    size_t i = 0;
    while (i < *round_count && !fl_lookup_request_fits(round[i], key)) {
        i++;
    }
    if (i == *round_count) {
        if (i == round_max) {
            return false;
        }
        fl_lookup_request *fresh = fl_lookup_request_new(lookups, key);
        if (fresh == NULL) {
            fluss_error_t err;
            (void)fl_error_nomem(&err);
            fl_lookup_key_done(key, &err);
            return true;
        }
        round[(*round_count)++] = fresh;
    }
    leave_queue(lookups, key);
    fl_lookup_request_add(round[i], key);
    return true;
}

static void run_send(fl_task *task)
{
    fl_lookups *lookups = FL_CONTAINER_OF(task, fl_lookups, send);
    lookups->is_send_posted = false;
    if (lookups->is_closed) {
        return;
    }
    const int64_t now = fl_clock_ms();
    const int64_t room = lookups->client->config->lookup_in_flight_max.number - lookups->in_flight;
    const size_t round_max = room < 0 ? 0 : room < ROUND_MAX ? (size_t)room : ROUND_MAX;
    fl_lookup_request *round[ROUND_MAX];
    size_t round_count = 0;
    sort_waiting(lookups, now);
    fl_lookup_key *key = lookups->waiting;
    lookups->waiting = NULL;
    lookups->last = &lookups->waiting;
    while (key != NULL) {
        fl_lookup_key *next = key->next;
        if (key->target == NULL || !is_due(lookups, key->target, now) ||
            !add_to_round(lookups, round, &round_count, round_max, key)) {
            append(lookups, key); /* until its time, or an answer, comes */
        }
        key = next;
    }
    const bool is_full = round_count == ROUND_MAX && round_max == ROUND_MAX;
    for (size_t i = 0; i < round_count; i++) {
        fl_lookup_request_send(round[i]);
    }
    if (lookups->waiting != NULL) {
        if (is_full) {
            fl_lookups_post(lookups);
        }
        send_at(lookups, now + RETRY_MS_MAX); /* calls' deadlines are looked at */
    }
}

void fl_lookups_close(fl_lookups *lookups, const fluss_error_t *why)
{
    lookups->is_closed = true;
    (void)pthread_mutex_lock(&lookups->lock);
    lookups->is_shut = true;
    (void)pthread_cond_broadcast(&lookups->room);
    (void)pthread_mutex_unlock(&lookups->lock);
    fl_timer_free(lookups->timer);
    lookups->timer = NULL;
    fl_lookup_key *key = lookups->waiting;
    lookups->waiting = NULL;
    lookups->last = &lookups->waiting;
    while (key != NULL) {
        fl_lookup_key *next = key->next;
        fl_lookup_key_done(key, why);
        key = next;
    }
}
