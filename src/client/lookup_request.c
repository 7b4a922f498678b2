/* SPDX-License-Identifier: Apache-2.0 */
/* LOOKUP and PREFIX_LOOKUP: keys of one table and kind for one server, grouped by bucket, and their
 * answers. A key that the answer leaves out, or whose bucket is refused, goes back to the queue. */
#include <string.h>

#include "base/alloc.h"
#include "client/lookups_private.h"
#include "client/metadata.h"
#include "protocol/messages.h"

struct fl_lookup_request {
    fl_lookups *lookups;
    fl_client *client; /* shares */
    fl_lookup_target *target;
    fl_lookup_key *keys, **last;
    size_t count;
    bool is_prefix;
};

fl_lookup_request *fl_lookup_request_new(fl_lookups *lookups, const fl_lookup_key *first)
{
    fl_lookup_request *fresh = fl_calloc(1, sizeof(*fresh));
    if (fresh != NULL) {
        fresh->lookups = lookups;
        fresh->client = fl_client_ref(lookups->client);
        fresh->target = first->target;
        fresh->last = &fresh->keys;
        fresh->is_prefix = first->call->lookup->is_prefix;
    }
    return fresh;
}

bool fl_lookup_request_fits(const fl_lookup_request *r, const fl_lookup_key *key)
{
    const fl_lookup *first = r->keys->call->lookup, *lookup = key->call->lookup;
    return r->count < (size_t)r->client->config->lookup_batch_size.number &&
           r->target == key->target && first->table->table_id == lookup->table->table_id &&
           first->is_prefix == lookup->is_prefix && first->inserts == lookup->inserts;
}

void fl_lookup_request_add(fl_lookup_request *r, fl_lookup_key *key)
{
    key->next = NULL;
    *r->last = key;
    r->last = &key->next;
    r->count++;
}

/* ---- answers ---- */

static void key_refused(fl_lookup_request *r, fl_lookup_key *key, const fluss_error_t *err)
{
    fl_metadata *metadata = r->client->metadata;
    if (fl_code_is_stale_metadata(err->code) || err->kind == FLUSS_KIND_NETWORK ||
        err->kind == FLUSS_KIND_TIMEOUT) {
        const fluss_bucket_t bucket = fl_lookup_key_bucket(key, metadata);
        fl_metadata_forget_leader(metadata, &bucket);
    }
    fl_lookup_key_again(r->lookups, key, err);
}

/* Take the next key of a bucket out of the request, in the order in which they were sent. */
static fl_lookup_key *take_key(fl_lookup_request *r, const fluss_bucket_t *id)
{
    const fl_metadata *metadata = r->client->metadata;
    for (fl_lookup_key **at = &r->keys; *at != NULL; at = &(*at)->next) {
        fl_lookup_key *key = *at;
        const fluss_bucket_t bucket = fl_lookup_key_bucket(key, metadata);
        if (fl_bucket_equal(&bucket, id)) {
            *at = key->next;
            return key;
        }
    }
    return NULL;
}

static void fail_bucket(fl_lookup_request *r, const fluss_bucket_t *id, int32_t code, fl_slice text)
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
static void key_answered(fl_lookup_request *r, fl_lookup_key *key, const fl_slice *values,
                         size_t count, fl_frame *frame)
{
    fluss_error_t err;
    if (count == 0 && key->other_bucket >= 0 && !r->lookups->is_closed) {
        key->bucket = key->other_bucket;
        key->other_bucket = -1;
        fl_lookup_key_queue(r->lookups, key);
        return;
    }
    key->values = fl_arena_array(&key->call->arena, count, sizeof(*values));
    if (key->values == NULL) {
        (void)fl_error_nomem(&err);
        fl_lookup_key_done(key, &err);
        return;
    }
    if (count > 0) {
        memcpy(key->values, values, count * sizeof(*values));
        key->frame = fl_frame_ref(frame);
    }
    key->value_count = count;
    fl_lookup_key_done(key, NULL);
}

/* @param id  of a bucket; one that was refused has no keys left */
static void next_answered(fl_lookup_request *r, const fluss_bucket_t *id, const fl_slice *values,
                          size_t count, fl_frame *frame)
{
    fl_lookup_key *key = take_key(r, id);
    if (key != NULL) {
        key_answered(r, key, values, count, frame);
    }
}

static void on_points(fl_lookup_request *r, const fl_msg_lookup_response *response, fl_frame *frame)
{
    const int64_t table_id = r->keys->call->lookup->table->table_id;
    for (size_t i = 0; i < response->buckets_resp_count; i++) {
        const fl_msg_pb_lookup_resp_for_bucket *part = &response->buckets_resp[i];
        const fluss_bucket_t id = {table_id,
                                   part->has_partition_id ? part->partition_id : FL_NO_PARTITION,
                                   part->bucket_id};
        if (part->has_error_code && part->error_code != 0) {
            fail_bucket(r, &id, part->error_code, part->error_message);
        }
        for (size_t j = 0; j < part->values_count; j++) {
            next_answered(r, &id, &part->values[j].values, part->values[j].has_values, frame);
        }
    }
}

static void on_prefixes(fl_lookup_request *r, const fl_msg_prefix_lookup_response *response,
                        fl_frame *frame)
{
    const int64_t table_id = r->keys->call->lookup->table->table_id;
    for (size_t i = 0; i < response->buckets_resp_count; i++) {
        const fl_msg_pb_prefix_lookup_resp_for_bucket *part = &response->buckets_resp[i];
        const fluss_bucket_t id = {table_id,
                                   part->has_partition_id ? part->partition_id : FL_NO_PARTITION,
                                   part->bucket_id};
        if (part->has_error_code && part->error_code != 0) {
            fail_bucket(r, &id, part->error_code, part->error_message);
        }
        for (size_t j = 0; j < part->value_lists_count; j++) {
            const fl_msg_pb_value_list *list = &part->value_lists[j];
            next_answered(r, &id, list->values, list->values_count, frame);
        }
    }
}

static void on_answer(void *context, const fl_reply *reply, const fluss_error_t *failure,
                      bool was_sent)
{
    (void)was_sent;
    fl_lookup_request *r = context;
    fl_lookups *lookups = r->lookups;
    lookups->in_flight--;
    r->target->in_flight--;
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
                       "%s left keys out of its answer", r->target->address);
    }
    fl_lookup_key *key = r->keys;
    r->keys = NULL;
    while (key != NULL) {
        fl_lookup_key *next = key->next;
        key_refused(r, key, &err);
        key = next;
    }
    if (lookups->waiting != NULL) {
        fl_lookups_post(lookups);
    }
    fl_client *client = r->client;
    fl_free(r);
    fl_client_unref(client);
}

/* ---- requests ---- */

/* The keys of one bucket, in the order in which they came. */
typedef struct key_group {
    fluss_bucket_t id;
    fl_lookup_key *first, **last;
    fl_slice *keys;
    size_t count;
} key_group;

/* The group of a bucket, or the next free one. @param slots  mask + 1 places, for less than as many
 * groups; a place holds a group's index plus 1, or 0 */
static key_group *find_group(const fluss_bucket_t *id, key_group *groups, size_t *group_count,
                             size_t *slots, size_t mask)
{
    const uint64_t mixed =
        ((uint64_t)id->partition_id * 31 + (uint64_t)id->bucket) * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(mixed >> 32) & mask;
    while (slots[at] != 0 && !fl_bucket_equal(&groups[slots[at] - 1].id, id)) {
        at = (at + 1) & mask;
    }
    if (slots[at] == 0) {
        groups[*group_count] = (key_group){.id = *id, .last = &groups[*group_count].first};
        slots[at] = ++*group_count;
    }
    return &groups[slots[at] - 1];
}

/* Sort the keys by bucket, so that answers, which come in this order, find theirs in front.
 * @param groups  room for as many as there are keys */
static fluss_code_t group_keys(fl_lookup_request *r, fl_arena *arena, key_group *groups,
                               size_t *group_count, fluss_error_t *err)
{
    size_t slot_count = 2;
    while (slot_count < 2 * r->count) {
        slot_count *= 2;
    }
    size_t *slots = fl_arena_array(arena, slot_count, sizeof(*slots));
    fl_slice *keys = fl_arena_array(arena, r->count, sizeof(*keys));
    if (slots == NULL || keys == NULL) {
        return fl_error_nomem(err);
    }
    for (fl_lookup_key *key = r->keys; key != NULL; key = key->next) {
        const fluss_bucket_t id = fl_lookup_key_bucket(key, r->client->metadata);
        key_group *group = find_group(&id, groups, group_count, slots, slot_count - 1);
        *group->last = key;
        group->last = &key->next;
        group->count++;
    }
    r->last = &r->keys;
    for (size_t i = 0; i < *group_count; i++) {
        *r->last = groups[i].first;
        r->last = groups[i].last;
        groups[i].keys = keys;
        keys += groups[i].count;
    }
    *r->last = NULL;
    keys = groups->keys;
    for (const fl_lookup_key *key = r->keys; key != NULL; key = key->next) {
        *keys++ = key->bytes;
    }
    return 0;
}

static fluss_code_t call_server(fl_lookup_request *r, fl_api_key api, const void *message,
                                fluss_error_t *err)
{
    const fl_call_spec spec = {
        .address = r->target->address,
        .key = api,
        .message = message,
        .timeout_ms = r->client->config->request_timeout_ms.number,
        .done = on_answer,
        .context = r,
    };
    return fl_rpc_call(r->client->rpc, &spec, err);
}

static fluss_code_t send_points(fl_lookup_request *r, const key_group *groups, size_t group_count,
                                fl_arena *arena, fluss_error_t *err)
{
    const bool inserts = r->keys->call->lookup->inserts;
    const fluss_config_t *config = r->client->config;
    fl_msg_pb_lookup_req_for_bucket *parts = fl_arena_array(arena, group_count, sizeof(*parts));
    for (size_t i = 0; i < group_count && parts != NULL; i++) {
        const key_group *group = &groups[i];
        parts[i] = (fl_msg_pb_lookup_req_for_bucket){.has_partition_id =
                                                         group->id.partition_id != FL_NO_PARTITION,
                                                     .partition_id = group->id.partition_id,
                                                     .bucket_id = group->id.bucket,
                                                     .keys = group->keys,
                                                     .keys_count = group->count};
    }
    const fl_msg_lookup_request message = {
        .table_id = groups->id.table_id,
        .buckets_req = parts,
        .buckets_req_count = group_count,
        .has_insert_if_not_exists = inserts,
        .insert_if_not_exists = inserts,
        .has_acks = inserts,
        .acks = (int32_t)config->writer_acks.number,
        .has_timeout_ms = inserts,
        .timeout_ms = (int32_t)config->request_timeout_ms.number,
    };
    return parts != NULL ? call_server(r, FL_API_LOOKUP, &message, err) : fl_error_nomem(err);
}

static fluss_code_t send_prefixes(fl_lookup_request *r, const key_group *groups, size_t group_count,
                                  fl_arena *arena, fluss_error_t *err)
{
    fl_msg_pb_prefix_lookup_req_for_bucket *parts =
        fl_arena_array(arena, group_count, sizeof(*parts));
    for (size_t i = 0; i < group_count && parts != NULL; i++) {
        const key_group *group = &groups[i];
        parts[i] = (fl_msg_pb_prefix_lookup_req_for_bucket){
            .has_partition_id = group->id.partition_id != FL_NO_PARTITION,
            .partition_id = group->id.partition_id,
            .bucket_id = group->id.bucket,
            .keys = group->keys,
            .keys_count = group->count};
    }
    const fl_msg_prefix_lookup_request message = {
        .table_id = groups->id.table_id,
        .buckets_req = parts,
        .buckets_req_count = group_count,
    };
    return parts != NULL ? call_server(r, FL_API_PREFIX_LOOKUP, &message, err)
                         : fl_error_nomem(err);
}

void fl_lookup_request_send(fl_lookup_request *r)
{
    fl_arena arena;
    fl_arena_init(&arena);
    fluss_error_t err;
    size_t group_count = 0;
    key_group *groups = fl_arena_array(&arena, r->count, sizeof(*groups));
    fluss_code_t rc =
        groups != NULL ? group_keys(r, &arena, groups, &group_count, &err) : fl_error_nomem(&err);
    r->lookups->in_flight++;
    r->target->in_flight++;
    fl_metric_add(&r->client->metrics.lookup_requests, 1);
    if (rc == 0) {
        rc = r->is_prefix ? send_prefixes(r, groups, group_count, &arena, &err)
                          : send_points(r, groups, group_count, &arena, &err);
    }
    fl_arena_deinit(&arena);
    if (rc != 0) {
        on_answer(r, NULL, &err, false);
    }
}
