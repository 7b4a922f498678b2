/* SPDX-License-Identifier: Apache-2.0 */
/* EARLIEST and LATEST into log offsets: LIST_OFFSETS to the leaders, one request for the buckets of
 * one partition that one server leads; repeated with fresh metadata while that can help. */
#include <string.h>

#include "base/alloc.h"
#include "client/metadata.h"
#include "client/scan_private.h"
#include "protocol/messages.h"

enum { RETRY_MS = 50, OFFSET_EARLIEST = 0, OFFSET_LATEST = 1 };

typedef struct resolving {
    fl_client *client; /* shares */
    const fl_scan_plan *plans;
    size_t plan_count;
    fl_resolve_item *items;
    size_t count, pending;
    int64_t deadline_ms;
    void (*done)(void *context, const fluss_error_t *err);
    void *context;
    fluss_error_t err;
    fl_timer *timer;
} resolving;

typedef struct asked {
    resolving *r;
    int64_t table_id, partition_id, spec;
} asked;

static void start_round(resolving *r);

static void end(resolving *r, const fluss_error_t *err)
{
    fl_client *client = r->client;
    fl_timer_free(r->timer);
    r->done(r->context, err);
    fl_free(r);
    fl_client_unref(client);
}

static const fl_resolve_item *first_open(const resolving *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->items[i].offset < 0) {
            return &r->items[i];
        }
    }
    return NULL;
}

static const fl_table *table_of(const resolving *r, const fl_resolve_item *item)
{
    const fl_table *table = r->plans[0].table;
    for (size_t i = 0; i < r->plan_count; i++) {
        if (r->plans[i].table->table_id == item->bucket.table_id) {
            table = r->plans[i].table;
        }
    }
    return table;
}

static void on_refreshed(void *context, const fluss_error_t *failure)
{
    resolving *r = context;
    fluss_error_t err = {0};
    if (failure != NULL) {
        err = *failure;
    } else {
        const fl_table *table = table_of(r, first_open(r));
        (void)fl_metadata_is_replaced(r->client->metadata, table->database, table->name,
                                      table->table_id, &err);
    }
    if (err.code != 0 && (!err.retriable || fl_clock_ms() >= r->deadline_ms)) {
        end(r, &err);
        return;
    }
    start_round(r);
}

static void on_retry(void *context)
{
    resolving *r = context;
    const fl_resolve_item *item = first_open(r);
    const fl_table *table = table_of(r, item);
    const fl_metadata_want want = {
        .database = table->database,
        .table = table->name,
        .partition_id = item->bucket.partition_id,
    };
    fluss_error_t err;
    if (fl_metadata_refresh(r->client->metadata, want, on_refreshed, r, &err) != 0) {
        end(r, &err);
    }
}

static void end_round(resolving *r)
{
    if (--r->pending > 0) {
        return;
    }
    if (first_open(r) == NULL) {
        end(r, NULL);
        return;
    }
    const fluss_error_t err = r->err;
    if (!err.retriable || fl_clock_ms() >= r->deadline_ms) {
        end(r, &err);
        return;
    }
    if (err.code == FLUSS_E_LEADER_NOT_AVAILABLE && r->timer == NULL) {
        /* The first time: most likely nobody has asked for this table yet. */
        if (fl_timer_new(r->client->loop, on_retry, r, &r->timer, &r->err) != 0) {
            end(r, &r->err);
            return;
        }
        on_retry(r);
        return;
    }
    if (r->timer == NULL && fl_timer_new(r->client->loop, on_retry, r, &r->timer, &r->err) != 0) {
        end(r, &r->err);
        return;
    }
    fl_timer_start(r->timer, RETRY_MS);
}

static void on_offsets(void *context, const fl_reply *reply, const fluss_error_t *failure,
                       bool was_sent)
{
    (void)was_sent;
    asked *a = context;
    resolving *r = a->r;
    if (failure != NULL) {
        r->err = *failure;
    }
    const fl_msg_list_offsets_response *response = reply != NULL ? reply->message : NULL;
    for (size_t i = 0; response != NULL && i < response->buckets_resp_count; i++) {
        const fl_msg_pb_list_offsets_resp_for_bucket *part = &response->buckets_resp[i];
        const fluss_bucket_t id = {a->table_id, a->partition_id, part->bucket_id};
        if (part->has_error_code && part->error_code != 0) {
            (void)fl_error_server(&r->err, part->error_code, (const char *)part->error_message.data,
                                  part->error_message.size);
            fl_metadata_forget_leader(r->client->metadata, &id);
            continue;
        }
        for (size_t j = 0; j < r->count; j++) {
            if (r->items[j].offset == a->spec && fl_bucket_equal(&r->items[j].bucket, &id)) {
                r->items[j].offset = part->offset >= 0 ? part->offset : 0;
            }
        }
    }
    fl_free(a);
    end_round(r);
}

static bool is_same_group(const resolving *r, const fl_resolve_item *a, const fl_resolve_item *b)
{
    const fl_metadata *metadata = r->client->metadata;
    return a->offset == b->offset && a->bucket.table_id == b->bucket.table_id &&
           a->bucket.partition_id == b->bucket.partition_id &&
           fl_metadata_leader(metadata, &a->bucket) == fl_metadata_leader(metadata, &b->bucket);
}

static void ask(resolving *r, const char *address, const fl_resolve_item *item, int32_t *buckets,
                size_t count)
{
    asked *a = fl_calloc(1, sizeof(*a));
    if (a == NULL) {
        (void)fl_error_nomem(&r->err);
        return;
    }
    *a = (asked){r, item->bucket.table_id, item->bucket.partition_id, item->offset};
    const fl_msg_list_offsets_request request = {
        .follower_server_id = -1,
        .offset_type = item->offset == FLUSS_EARLIEST ? OFFSET_EARLIEST : OFFSET_LATEST,
        .table_id = item->bucket.table_id,
        .has_partition_id = item->bucket.partition_id != FL_NO_PARTITION,
        .partition_id = item->bucket.partition_id,
        .bucket_id = buckets,
        .bucket_id_count = count,
    };
    const int64_t left_ms = r->deadline_ms - fl_clock_ms();
    const fl_call_spec spec = {
        .address = address,
        .key = FL_API_LIST_OFFSETS,
        .message = &request,
        .timeout_ms = left_ms > 1 ? left_ms : 1,
        .done = on_offsets,
        .context = a,
    };
    if (fl_rpc_call(r->client->rpc, &spec, &r->err) != 0) {
        fl_free(a);
        return;
    }
    r->pending++;
}

static void start_round(resolving *r)
{
    const fl_metadata *metadata = r->client->metadata;
    int32_t *buckets = fl_calloc(r->count + 1, sizeof(*buckets));
    bool *is_done = fl_calloc(r->count + 1, sizeof(*is_done));
    r->pending = 1;
    (void)fl_error(&r->err, FLUSS_E_LEADER_NOT_AVAILABLE, FLUSS_KIND_SERVER,
                   "a bucket has no leader");
    if (buckets == NULL || is_done == NULL) {
        (void)fl_error_nomem(&r->err);
    }
    for (size_t i = 0; i < r->count && buckets != NULL && is_done != NULL; i++) {
        const fl_resolve_item *item = &r->items[i];
        const char *address =
            fl_metadata_server(metadata, fl_metadata_leader(metadata, &item->bucket));
        if (is_done[i] || item->offset >= 0 || address == NULL) {
            continue;
        }
        size_t count = 0;
        for (size_t j = i; j < r->count; j++) {
            if (!is_done[j] && is_same_group(r, item, &r->items[j])) {
                is_done[j] = true;
                buckets[count++] = r->items[j].bucket.bucket;
            }
        }
        ask(r, address, item, buckets, count);
    }
    fl_free(buckets);
    fl_free(is_done);
    end_round(r);
}

void fl_resolve_offsets(fl_client *client, const fl_scan_plan *plans, size_t plan_count,
                        fl_resolve_item *items, size_t count, int64_t deadline_ms,
                        void (*done)(void *context, const fluss_error_t *err), void *context)
{
    resolving *r = fl_calloc(1, sizeof(*r));
    if (r == NULL) {
        fluss_error_t err;
        (void)fl_error_nomem(&err);
        done(context, &err);
        return;
    }
    *r = (resolving){
        .client = fl_client_ref(client),
        .plans = plans,
        .plan_count = plan_count,
        .items = items,
        .count = count,
        .deadline_ms = deadline_ms,
        .done = done,
        .context = context,
    };
    start_round(r);
}
