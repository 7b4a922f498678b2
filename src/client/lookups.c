/* SPDX-License-Identifier: Apache-2.0 */
/* The lookup batcher. Keys wait in one queue a (table, kind); what is there when the send task runs
 * leaves at once, one request a leader, unless as many requests as allowed are under way: then keys
 * gather until one comes back. So a single lookup takes one round trip, and many share requests. */
#include <string.h>

#include "base/alloc.h"
#include "client/lookups_private.h"
#include "client/metadata.h"
#include "client/random.h"
#include "client/value_rows.h"
#include "format/kv_batch.h"
#include "protocol/messages.h"

enum { RETRY_MS_MIN = 10, RETRY_MS_MAX = 500 };

struct fl_lookups {
    fl_client *client;
    fl_lookup_key *waiting, **last;
    fl_task send;
    bool is_send_posted, is_closed;
    int64_t in_flight;
    fl_timer *timer;
};

/* One request: keys of one table and kind, for one server, grouped by bucket. */
typedef struct request {
    fl_lookups *lookups;
    fl_client *client; /* shares */
    char address[FL_ADDRESS_SIZE_MAX];
    fl_lookup_key *keys, **last;
    size_t count;
    bool is_prefix;
} request;

static void run_send(fl_task *task);

fl_lookups *fl_lookups_new(fl_client *client)
{
    fl_lookups *lookups = fl_calloc(1, sizeof(*lookups));
    if (lookups != NULL) {
        lookups->client = client;
        lookups->last = &lookups->waiting;
        lookups->send.run = run_send;
    }
    return lookups;
}

void fl_lookups_free(fl_lookups *lookups)
{
    fl_free(lookups);
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
    if (rc == 0 && chunk != NULL) {
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

static void key_done(fl_lookup_key *key, const fluss_error_t *err)
{
    fl_lookup_call *call = key->call;
    if (err != NULL && call->err.code == 0) {
        call->err = *err;
    }
    if (--call->pending == 0) {
        finish_call(call);
    }
}

/* ---- queueing ---- */

static void post_send(fl_lookups *lookups)
{
    if (!lookups->is_send_posted) {
        lookups->is_send_posted = true;
        fl_loop_post(lookups->client->loop, &lookups->send);
    }
}

static void enqueue(fl_lookups *lookups, fl_lookup_key *key)
{
    key->next = NULL;
    *lookups->last = key;
    lookups->last = &key->next;
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
        finish_call(call);
        return;
    }
    call->pending = call->count;
    for (size_t i = 0; i < call->count; i++) {
        enqueue(lookups, &call->keys[i]);
    }
    post_send(lookups);
}

static void on_timer(void *context)
{
    fl_lookups *lookups = context;
    post_send(lookups);
}

static void send_later(fl_lookups *lookups, int64_t delay_ms)
{
    if (lookups->timer == NULL &&
        fl_timer_new(lookups->client->loop, on_timer, lookups, &lookups->timer, NULL) != 0) {
        post_send(lookups);
        return;
    }
    if (!fl_timer_is_set(lookups->timer)) {
        fl_timer_start(lookups->timer, delay_ms);
    }
}

/* Try the key again, after a moment, or give up. */
static void key_again(fl_lookups *lookups, fl_lookup_key *key, const fluss_error_t *err)
{
    const fl_lookup_call *call = key->call;
    const bool may = err->retriable && !lookups->is_closed && fl_clock_ms() < call->deadline_ms &&
                     key->attempts < lookups->client->config->lookup_retries.number &&
                     !fl_future_is_abandoned(call->future);
    if (!may) {
        key_done(key, err);
        return;
    }
    const int shift = key->attempts < 6 ? key->attempts : 6;
    const int64_t delay = (int64_t)RETRY_MS_MIN << shift;
    key->attempts++;
    enqueue(lookups, key);
    send_later(lookups, delay / 2 + (int64_t)(fl_random() % (uint64_t)(delay / 2 + 1)));
}

/* ---- metadata ---- */

typedef struct key_refresh {
    fl_lookups *lookups;
    fl_client *client; /* shares */
    fl_lookup_key *key;
} key_refresh;

static fluss_bucket_t bucket_of(const fl_lookup_key *key, const fl_metadata *metadata)
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

static void on_refreshed(void *context, const fluss_error_t *failure)
{
    key_refresh *r = context;
    fl_lookup_key *key = r->key;
    const fl_metadata *metadata = r->client->metadata;
    if (failure != NULL && failure->code == FLUSS_E_PARTITION_NOT_EXISTS) {
        key_done(key, NULL); /* nothing is stored in a partition that is not there */
    } else if (failure != NULL) {
        fluss_error_t err = *failure;
        err.retriable |= err.code == FLUSS_E_TABLE_NOT_EXIST && key->attempts < 8;
        key_again(r->lookups, key, &err);
    } else {
        const fluss_bucket_t bucket = bucket_of(key, metadata);
        fluss_error_t err;
        if (fl_metadata_leader(metadata, &bucket) == FL_NO_LEADER) {
            (void)fl_error(&err, FLUSS_E_LEADER_NOT_AVAILABLE, FLUSS_KIND_SERVER,
                           "bucket %d has no leader", key->bucket);
            key_again(r->lookups, key, &err);
        } else {
            enqueue(r->lookups, key);
            post_send(r->lookups);
        }
    }
    fl_client *client = r->client;
    fl_free(r);
    fl_client_unref(client);
}

static void refresh_for(fl_lookups *lookups, fl_lookup_key *key)
{
    const fl_table *table = key->call->lookup->table;
    key_refresh *r = fl_calloc(1, sizeof(*r));
    fluss_error_t err;
    if (r == NULL) {
        (void)fl_error_nomem(&err);
        key_done(key, &err);
        return;
    }
    *r = (key_refresh){lookups, fl_client_ref(lookups->client), key};
    const fl_metadata_want want = {
        .database = table->database,
        .table = table->name,
        .partition = key->partition,
        .partition_id = FL_NO_PARTITION,
    };
    if (fl_metadata_refresh(lookups->client->metadata, want, on_refreshed, r, &err) != 0) {
        fl_client *client = r->client;
        fl_free(r);
        key_done(key, &err);
        fl_client_unref(client);
    }
}

/* ---- answers ---- */

static void key_refused(request *r, fl_lookup_key *key, const fluss_error_t *err)
{
    fl_metadata *metadata = r->client->metadata;
    if (fl_code_is_stale_metadata(err->code) || err->kind == FLUSS_KIND_NETWORK ||
        err->kind == FLUSS_KIND_TIMEOUT) {
        const fluss_bucket_t bucket = bucket_of(key, metadata);
        fl_metadata_forget_leader(metadata, &bucket);
    }
    key_again(r->lookups, key, err);
}

/* Take the next key of a bucket out of the request, in the order in which they were sent. */
static fl_lookup_key *take_key(request *r, const fluss_bucket_t *id)
{
    const fl_metadata *metadata = r->client->metadata;
    for (fl_lookup_key **at = &r->keys; *at != NULL; at = &(*at)->next) {
        fl_lookup_key *key = *at;
        const fluss_bucket_t bucket = bucket_of(key, metadata);
        if (fl_bucket_equal(&bucket, id)) {
            *at = key->next;
            return key;
        }
    }
    return NULL;
}

static void fail_bucket(request *r, const fluss_bucket_t *id, int32_t code, fl_slice text)
{
    fluss_error_t err;
    (void)fl_error_server(&err, code, (const char *)text.data, text.size);
    fl_error_prefix(&err, "lookup, bucket %d: ", id->bucket);
    fl_lookup_key *failed = NULL, *key;
    while ((key = take_key(r, id)) != NULL) {
        key->next = failed;
        failed = key;
    }
    while (failed != NULL) {
        fl_lookup_key *next = failed->next;
        key_refused(r, failed, &err);
        failed = next;
    }
}

/* @param values `count` of them; the frame holds them */
static void key_answered(request *r, fl_lookup_key *key, const fl_slice *values, size_t count,
                         fl_frame *frame)
{
    fluss_error_t err;
    if (count == 0 && key->other_bucket >= 0 && !r->lookups->is_closed) {
        key->bucket = key->other_bucket;
        key->other_bucket = -1;
        enqueue(r->lookups, key);
        post_send(r->lookups);
        return;
    }
    key->values = fl_arena_array(&key->call->arena, count, sizeof(*values));
    if (key->values == NULL) {
        (void)fl_error_nomem(&err);
        key_done(key, &err);
        return;
    }
    if (count > 0) {
        memcpy(key->values, values, count * sizeof(*values));
        key->frame = fl_frame_ref(frame);
    }
    key->value_count = count;
    key_done(key, NULL);
}

static void on_points(request *r, const fl_msg_lookup_response *response, fl_frame *frame)
{
    const int64_t table_id = r->keys->call->lookup->table->table_id;
    for (size_t i = 0; i < response->buckets_resp_count; i++) {
        const fl_msg_pb_lookup_resp_for_bucket *part = &response->buckets_resp[i];
        const fluss_bucket_t id = {table_id,
                                   part->has_partition_id ? part->partition_id : FL_NO_PARTITION,
                                   part->bucket_id};
        if (part->has_error_code && part->error_code != 0) {
            fail_bucket(r, &id, part->error_code, part->error_message);
            continue;
        }
        for (size_t j = 0; j < part->values_count; j++) {
            fl_lookup_key *key = take_key(r, &id);
            if (key != NULL) {
                key_answered(r, key, &part->values[j].values, part->values[j].has_values, frame);
            }
        }
    }
}

static void on_prefixes(request *r, const fl_msg_prefix_lookup_response *response, fl_frame *frame)
{
    const int64_t table_id = r->keys->call->lookup->table->table_id;
    for (size_t i = 0; i < response->buckets_resp_count; i++) {
        const fl_msg_pb_prefix_lookup_resp_for_bucket *part = &response->buckets_resp[i];
        const fluss_bucket_t id = {table_id,
                                   part->has_partition_id ? part->partition_id : FL_NO_PARTITION,
                                   part->bucket_id};
        if (part->has_error_code && part->error_code != 0) {
            fail_bucket(r, &id, part->error_code, part->error_message);
            continue;
        }
        for (size_t j = 0; j < part->value_lists_count; j++) {
            fl_lookup_key *key = take_key(r, &id);
            if (key != NULL) {
                key_answered(r, key, part->value_lists[j].values, part->value_lists[j].values_count,
                             frame);
            }
        }
    }
}

static void on_answer(void *context, const fl_reply *reply, const fluss_error_t *failure,
                      bool was_sent)
{
    (void)was_sent;
    request *r = context;
    fl_lookups *lookups = r->lookups;
    lookups->in_flight--;
    fluss_error_t err;
    if (failure != NULL) {
        err = *failure;
    } else {
        if (r->is_prefix) {
            on_prefixes(r, reply->message, reply->frame);
        } else {
            on_points(r, reply->message, reply->frame);
        }
        (void)fl_error(&err, FLUSS_E_UNKNOWN_SERVER_ERROR, FLUSS_KIND_SERVER,
                       "%s left keys out of its answer", r->address);
    }
    fl_lookup_key *key = r->keys;
    r->keys = NULL;
    while (key != NULL) {
        fl_lookup_key *next = key->next;
        key_refused(r, key, &err);
        key = next;
    }
    if (lookups->waiting != NULL && !lookups->is_closed) {
        post_send(lookups);
    }
    fl_client *client = r->client;
    fl_free(r);
    fl_client_unref(client);
}

/* ---- requests ---- */

/* The keys of a request by bucket: `buckets` and where each bucket's keys go. */
static size_t group_keys(const request *r, fluss_bucket_t *buckets, size_t *counts)
{
    size_t bucket_count = 0;
    for (const fl_lookup_key *key = r->keys; key != NULL; key = key->next) {
        const fluss_bucket_t id = bucket_of(key, r->client->metadata);
        size_t i = 0;
        while (i < bucket_count && !fl_bucket_equal(&buckets[i], &id)) {
            i++;
        }
        if (i == bucket_count) {
            buckets[bucket_count] = id;
            counts[bucket_count++] = 0;
        }
        counts[i]++;
    }
    return bucket_count;
}

static fl_slice *bucket_keys(const request *r, const fluss_bucket_t *id, size_t count,
                             fl_arena *arena)
{
    fl_slice *keys = fl_arena_array(arena, count, sizeof(*keys));
    size_t filled = 0;
    for (const fl_lookup_key *key = r->keys; key != NULL && keys != NULL; key = key->next) {
        const fluss_bucket_t bucket = bucket_of(key, r->client->metadata);
        if (fl_bucket_equal(&bucket, id)) {
            keys[filled++] = key->bytes;
        }
    }
    return keys;
}

static fluss_code_t call_server(request *r, fl_api_key api, const void *message, fluss_error_t *err)
{
    const fl_call_spec spec = {
        .address = r->address,
        .key = api,
        .message = message,
        .timeout_ms = r->client->config->request_timeout_ms.number,
        .done = on_answer,
        .context = r,
    };
    return fl_rpc_call(r->client->rpc, &spec, err);
}

static fluss_code_t send_points(request *r, const fluss_bucket_t *buckets, const size_t *counts,
                                size_t bucket_count, fl_arena *arena, fluss_error_t *err)
{
    const fl_lookup *lookup = r->keys->call->lookup;
    const fluss_config_t *config = r->client->config;
    fl_msg_pb_lookup_req_for_bucket *parts = fl_arena_array(arena, bucket_count, sizeof(*parts));
    if (parts == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < bucket_count; i++) {
        parts[i] = (fl_msg_pb_lookup_req_for_bucket){
            .has_partition_id = buckets[i].partition_id != FL_NO_PARTITION,
            .partition_id = buckets[i].partition_id,
            .bucket_id = buckets[i].bucket,
            .keys = bucket_keys(r, &buckets[i], counts[i], arena),
            .keys_count = counts[i],
        };
        if (parts[i].keys == NULL) {
            return fl_error_nomem(err);
        }
    }
    const fl_msg_lookup_request message = {
        .table_id = lookup->table->table_id,
        .buckets_req = parts,
        .buckets_req_count = bucket_count,
        .has_insert_if_not_exists = lookup->inserts,
        .insert_if_not_exists = lookup->inserts,
        .has_acks = lookup->inserts,
        .acks = (int32_t)config->writer_acks.number,
        .has_timeout_ms = lookup->inserts,
        .timeout_ms = (int32_t)config->request_timeout_ms.number,
    };
    return call_server(r, FL_API_LOOKUP, &message, err);
}

static fluss_code_t send_prefixes(request *r, const fluss_bucket_t *buckets, const size_t *counts,
                                  size_t bucket_count, fl_arena *arena, fluss_error_t *err)
{
    fl_msg_pb_prefix_lookup_req_for_bucket *parts =
        fl_arena_array(arena, bucket_count, sizeof(*parts));
    if (parts == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < bucket_count; i++) {
        parts[i] = (fl_msg_pb_prefix_lookup_req_for_bucket){
            .has_partition_id = buckets[i].partition_id != FL_NO_PARTITION,
            .partition_id = buckets[i].partition_id,
            .bucket_id = buckets[i].bucket,
            .keys = bucket_keys(r, &buckets[i], counts[i], arena),
            .keys_count = counts[i],
        };
        if (parts[i].keys == NULL) {
            return fl_error_nomem(err);
        }
    }
    const fl_msg_prefix_lookup_request message = {
        .table_id = r->keys->call->lookup->table->table_id,
        .buckets_req = parts,
        .buckets_req_count = bucket_count,
    };
    return call_server(r, FL_API_PREFIX_LOOKUP, &message, err);
}

static void send_request(request *r)
{
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_error_t err;
    fluss_bucket_t *buckets = fl_arena_array(&arena, r->count, sizeof(*buckets));
    size_t *counts = fl_arena_array(&arena, r->count, sizeof(*counts));
    fluss_code_t rc = buckets != NULL && counts != NULL ? 0 : fl_error_nomem(&err);
    r->lookups->in_flight++;
    fl_metric_add(&r->client->metrics.lookup_requests, 1);
    if (rc == 0) {
        const size_t bucket_count = group_keys(r, buckets, counts);
        rc = r->is_prefix ? send_prefixes(r, buckets, counts, bucket_count, &arena, &err)
                          : send_points(r, buckets, counts, bucket_count, &arena, &err);
    }
    fl_arena_deinit(&arena);
    if (rc != 0) {
        on_answer(r, NULL, &err, false);
    }
}

static bool fits(const request *r, const char *address, const fl_lookup_key *key, size_t count_max)
{
    const fl_lookup *first = r->keys->call->lookup, *lookup = key->call->lookup;
    return r->count < count_max && strcmp(r->address, address) == 0 &&
           first->table->table_id == lookup->table->table_id &&
           first->is_prefix == lookup->is_prefix && first->inserts == lookup->inserts;
}

/* Put the key into one of the requests of this round. @return false: out of memory */
static bool add_to_round(fl_lookups *lookups, request *round[], size_t *round_count,
                         size_t round_max, const char *address, fl_lookup_key *key)
{
    const size_t count_max = (size_t)lookups->client->config->lookup_batch_size.number * 8;
    size_t i = 0;
    while (i < *round_count && !fits(round[i], address, key, count_max)) {
        i++;
    }
    if (i == *round_count) {
        request *fresh = i < round_max ? fl_calloc(1, sizeof(*fresh)) : NULL;
        if (fresh == NULL) {
            return false;
        }
        fresh->lookups = lookups;
        fresh->client = fl_client_ref(lookups->client);
        memcpy(fresh->address, address, strlen(address) + 1);
        fresh->last = &fresh->keys;
        fresh->is_prefix = key->call->lookup->is_prefix;
        round[(*round_count)++] = fresh;
    }
    key->next = NULL;
    *round[i]->last = key;
    round[i]->last = &key->next;
    round[i]->count++;
    return true;
}

enum { ROUND_MAX = 64 };

static void run_send(fl_task *task)
{
    fl_lookups *lookups = FL_CONTAINER_OF(task, fl_lookups, send);
    lookups->is_send_posted = false;
    if (lookups->is_closed) {
        return;
    }
    const int64_t room = lookups->client->config->lookup_in_flight_max.number - lookups->in_flight;
    const size_t round_max = room < 0 ? 0 : room < ROUND_MAX ? (size_t)room : ROUND_MAX;
    request *round[ROUND_MAX];
    size_t round_count = 0;
    fl_lookup_key *key = lookups->waiting;
    lookups->waiting = NULL;
    lookups->last = &lookups->waiting;
    while (key != NULL) {
        fl_lookup_key *next = key->next;
        const fl_metadata *metadata = lookups->client->metadata;
        const fluss_bucket_t bucket = bucket_of(key, metadata);
        const char *address = fl_metadata_server(metadata, fl_metadata_leader(metadata, &bucket));
        if (address == NULL) {
            refresh_for(lookups, key);
        } else if (!add_to_round(lookups, round, &round_count, round_max, address, key)) {
            enqueue(lookups, key); /* until an answer comes */
        }
        key = next;
    }
    for (size_t i = 0; i < round_count; i++) {
        send_request(round[i]);
    }
    if (lookups->waiting != NULL && lookups->in_flight == 0) {
        send_later(lookups, RETRY_MS_MIN);
    }
}

void fl_lookups_close(fl_lookups *lookups, const fluss_error_t *why)
{
    lookups->is_closed = true;
    fl_timer_free(lookups->timer);
    lookups->timer = NULL;
    fl_lookup_key *key = lookups->waiting;
    lookups->waiting = NULL;
    lookups->last = &lookups->waiting;
    while (key != NULL) {
        fl_lookup_key *next = key->next;
        key_done(key, why);
        key = next;
    }
}
