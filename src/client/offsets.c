/* SPDX-License-Identifier: Apache-2.0 */
/* EARLIEST and LATEST into log offsets: LIST_OFFSETS to the leaders, one request for the buckets of
 * one partition that one server leads; repeated with fresh metadata while that can help. What
 * belongs together is found by sorting, for there may be thousands of buckets. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/metadata.h"
#include "client/scan_private.h"
#include "protocol/messages.h"

enum { RETRY_MS = 50, SHORT_MS = 500, OFFSET_EARLIEST = 0, OFFSET_LATEST = 1 };

typedef struct resolving {
    fl_client *client; /* shares */
    const fl_scan_plan *plans;
    size_t plan_count;
    fl_resolve_item *items;
    size_t count, pending;         /* pending: requests, or refreshes */
    int64_t deadline_ms, round_ms; /* when this round began */
    void (*done)(void *context, const fluss_error_t *err);
    void *context;
    fluss_error_t err;   /* of this round */
    fluss_error_t cause; /* of the round before, which made this one necessary */
    fl_timer *timer;
} resolving;

/* An item that is not resolved, as it is sorted: what has equal keys travels together. */
typedef struct open_item {
    int64_t table_id, partition_id, spec;
    int32_t leader;
    size_t index;
} open_item;

/* A request under way. */
typedef struct asked {
    resolving *r;
    size_t count;
    size_t indexes[]; /* of the items */
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

static int compare(const void *a, const void *b)
{
    const open_item *x = a, *y = b;
    if (x->table_id != y->table_id) {
        return x->table_id < y->table_id ? -1 : 1;
    }
    if (x->partition_id != y->partition_id) {
        return x->partition_id < y->partition_id ? -1 : 1;
    }
    if (x->leader != y->leader) {
        return x->leader < y->leader ? -1 : 1;
    }
    return (x->spec > y->spec) - (x->spec < y->spec);
}

/* The open items, sorted. @return NULL: out of memory */
static open_item *sort_open(const resolving *r, size_t *count)
{
    open_item *open = fl_calloc(r->count + 1, sizeof(*open));
    *count = 0;
    for (size_t i = 0; i < r->count && open != NULL; i++) {
        const fluss_bucket_t *bucket = &r->items[i].bucket;
        if (r->items[i].offset < 0) {
            open[(*count)++] =
                (open_item){.table_id = bucket->table_id,
                            .partition_id = bucket->partition_id,
                            .spec = r->items[i].offset,
                            .leader = fl_metadata_leader(r->client->metadata, bucket),
                            .index = i};
        }
    }
    if (open != NULL) {
        qsort(open, *count, sizeof(*open), compare);
    }
    return open;
}

/* What this round failed by. Where it had only the last moments of the time, the answers of the
 * round before tell more than its time-out.
 * @return false: it may be tried again */
static bool is_over(const resolving *r, fluss_error_t *err)
{
    const int64_t now = fl_clock_ms();
    const bool was_short = now - r->round_ms < SHORT_MS;
    const bool has_cause = r->cause.code != 0 && r->err.kind == FLUSS_KIND_TIMEOUT;
    *err = was_short && has_cause ? r->cause : r->err;
    return now >= r->deadline_ms || !err->retriable;
}

/* ---- fresh metadata ---- */

static const fl_table *table_of(const resolving *r, int64_t table_id)
{
    for (size_t i = 0; i < r->plan_count; i++) {
        if (r->plans[i].table->table_id == table_id) {
            return r->plans[i].table;
        }
    }
    return r->plans[0].table;
}

static void refreshed(resolving *r)
{
    for (size_t i = 0; i < r->plan_count && r->err.code == 0; i++) {
        const fl_table *table = r->plans[i].table;
        (void)fl_metadata_is_replaced(r->client->metadata, table->database, table->name,
                                      table->table_id, &r->err);
    }
    fluss_error_t err;
    if (r->err.code != 0 && is_over(r, &err)) {
        end(r, &err);
        return;
    }
    start_round(r);
}

static void on_refreshed(void *context, const fluss_error_t *failure)
{
    resolving *r = context;
    if (failure != NULL && (r->err.code == 0 || !failure->retriable)) {
        r->err = *failure;
    }
    if (--r->pending == 0) {
        refreshed(r);
    }
}

/* Ask for every table or partition that has open items; the wants travel together. */
static void refresh(void *context)
{
    resolving *r = context;
    size_t count;
    open_item *open = sort_open(r, &count);
    if (r->err.kind != FLUSS_KIND_TIMEOUT) {
        r->cause = r->err;
    }
    r->err = (fluss_error_t){0};
    r->round_ms = fl_clock_ms();
    r->pending = 1;
    if (open == NULL) {
        (void)fl_error_nomem(&r->err);
    }
    for (size_t i = 0; i < count && open != NULL; i++) {
        if (i > 0 && open[i].table_id == open[i - 1].table_id &&
            open[i].partition_id == open[i - 1].partition_id) {
            continue;
        }
        const fl_table *table = table_of(r, open[i].table_id);
        const fl_metadata_want want = {
            .database = table->database,
            .table = table->name,
            .partition_id = open[i].partition_id,
        };
        if (fl_metadata_refresh(r->client->metadata, want, on_refreshed, r, &r->err) == 0) {
            r->pending++;
        }
    }
    fl_free(open);
    on_refreshed(r, NULL);
}

/* ---- a round of requests ---- */

static bool has_open(const resolving *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->items[i].offset < 0) {
            return true;
        }
    }
    return false;
}

static void end_round(resolving *r)
{
    if (--r->pending > 0) {
        return;
    }
    if (!has_open(r)) {
        end(r, NULL);
        return;
    }
    fluss_error_t err;
    if (is_over(r, &err)) {
        end(r, &err);
        return;
    }
    fl_log(FL_LOG_DEBUG, "scanner", "offsets are asked for again: %.800s", err.message);
    const bool is_first = r->timer == NULL;
    if (is_first && fl_timer_new(r->client->loop, refresh, r, &r->timer, &r->err) != 0) {
        const fluss_error_t failure = r->err;
        end(r, &failure);
        return;
    }
    if (is_first && err.code == FLUSS_E_LEADER_NOT_AVAILABLE) {
        refresh(r); /* most likely nobody has asked for this table yet */
    } else {
        fl_timer_start(r->timer, RETRY_MS);
    }
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
        for (size_t j = 0; j < a->count; j++) {
            fl_resolve_item *item = &r->items[a->indexes[j]];
            if (item->offset >= 0 || item->bucket.bucket != part->bucket_id) {
                continue;
            }
            if (part->has_error_code && part->error_code != 0) {
                (void)fl_error_server(&r->err, part->error_code,
                                      (const char *)part->error_message.data,
                                      part->error_message.size);
                fl_metadata_forget_leader(r->client->metadata, &item->bucket);
            } else {
                item->offset = part->offset >= 0 ? part->offset : 0;
            }
        }
    }
    fl_free(a);
    end_round(r);
}

/* Ask for the items of a group, which have equal keys. @param buckets room for `count` */
static void ask(resolving *r, const char *address, const open_item *group, size_t count,
                int32_t *buckets)
{
    asked *a = fl_calloc(1, sizeof(*a) + count * sizeof(a->indexes[0]));
    if (a == NULL) {
        (void)fl_error_nomem(&r->err);
        return;
    }
    a->r = r;
    a->count = count;
    for (size_t i = 0; i < count; i++) {
        a->indexes[i] = group[i].index;
        buckets[i] = r->items[group[i].index].bucket.bucket;
    }
    const fl_msg_list_offsets_request request = {
        .follower_server_id = -1,
        .offset_type = group->spec == FLUSS_EARLIEST ? OFFSET_EARLIEST : OFFSET_LATEST,
        .table_id = group->table_id,
        .has_partition_id = group->partition_id != FL_NO_PARTITION,
        .partition_id = group->partition_id,
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
    size_t count;
    open_item *open = sort_open(r, &count);
    int32_t *buckets = fl_calloc(count + 1, sizeof(*buckets));
    r->pending = 1;
    (void)fl_error(&r->err, FLUSS_E_LEADER_NOT_AVAILABLE, FLUSS_KIND_SERVER,
                   "a bucket has no leader");
    if (open == NULL || buckets == NULL) {
        (void)fl_error_nomem(&r->err);
        count = 0;
    }
    for (size_t from = 0, to; from < count; from = to) {
        to = from + 1;
        while (to < count && compare(&open[from], &open[to]) == 0) {
            to++;
        }
        const char *address = fl_metadata_server(r->client->metadata, open[from].leader);
        if (address != NULL) {
            ask(r, address, &open[from], to - from, buckets);
        }
    }
    fl_free(buckets);
    fl_free(open);
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
