/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching: long polls, each for a set of buckets of one server. A bucket is in one fetch at most;
 * as soon as its part is decoded it may be fetched again, as long as there is room ahead of the
 * user. So a bucket without data holds no other one up.
 *
 * What becomes of an answer is in fetch_answer.c and fetch_decode.c. Parts of it that belong to a
 * bucket that was moved or dropped meanwhile are thrown away (generation). */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/backoff.h"
#include "client/fetch_private.h"
#include "client/metadata.h"
#include "client/predicate.h"

enum {
    ACTIVE_MS = 2000, /* fetch ahead so long after the last poll */
    RETRY_MS_MIN = 10,
    RETRY_MS_MAX = 1000,
    REMOTE_RETRIES_MAX = 5,
    FAILURES_MAX = 8, /* in a row, before a poll is told that something is not there */
    STUCK_BYTES_MAX = 256 << 20
};

static void free_fetch(fl_fetch *fetch)
{
    for (size_t i = 0; i < fetch->part_count; i++) {
        fl_pieces_free(fetch->parts[i].pieces);
        fl_frame_unref(fetch->parts[i].frame);
        fl_remote_log_deinit(&fetch->parts[i].remote);
    }
    fl_frame_unref(fetch->frame);
    fl_free(fetch->reads);
    fl_free(fetch->parts);
    fl_client *client = fetch->client;
    fl_scanner_unref(fetch->scanner);
    fl_free(fetch);
    fl_client_unref(client);
}

/* ---- the end of a fetch ---- */

static bool is_passing(const fl_scan_bucket *bucket, const fluss_error_t *err)
{
    const bool may_be_for_good =
        err->code == FLUSS_E_SCHEMA_NOT_EXIST || err->code == FLUSS_E_UNKNOWN_SERVER_ERROR;
    if (may_be_for_good && bucket->failed_count > FAILURES_MAX) {
        return false;
    }
    return err->retriable || err->kind == FLUSS_KIND_NETWORK || err->kind == FLUSS_KIND_TIMEOUT ||
           err->code == FLUSS_E_FENCED_LEADER_EPOCH || err->code == FLUSS_E_INVALID_COORDINATOR ||
           err->code == FLUSS_E_UNKNOWN_SERVER_ERROR;
}

/* Lock: held. Not again before a back-off. */
static void back_off(fl_scan_bucket *bucket)
{
    const int64_t delay_ms = fl_backoff_ms(bucket->failed_count, RETRY_MS_MIN, RETRY_MS_MAX);
    bucket->failed_count++;
    bucket->not_before_ms = fl_clock_ms() + fl_jitter_ms(delay_ms);
}

/* Lock: held. For the next poll. */
static void keep_failure(fl_scan_bucket *bucket, const fluss_error_t *err)
{
    fl_free(bucket->failure);
    bucket->has_failure = true;
    bucket->failure = fl_alloc(sizeof(*err));
    if (bucket->failure != NULL) {
        *bucket->failure = *err;
    }
}

/* Lock: held. */
static void part_failed(fl_fetch *fetch, const fl_fetch_part *part, fl_scan_bucket *bucket)
{
    const fluss_error_t *err = &part->err;
    fl_metric_add(&fetch->client->metrics.fetch_failures, 1);
    if (part->is_projected && err->code == FLUSS_E_INVALID_COLUMN_PROJECTION) {
        bucket->wants_whole = true; /* a batch that is older than the columns: take all it has */
        return;
    }
    if (part->is_remote && bucket->failed_count < REMOTE_RETRIES_MAX) {
        back_off(bucket); /* the segment may have been dropped: the server knows what is there */
        fl_log(FL_LOG_DEBUG, "scanner", "bucket %d: %.800s", bucket->id.bucket, err->message);
        return;
    }
    if (err->kind != FLUSS_KIND_CORRUPT && is_passing(bucket, err)) {
        if (err->code != FLUSS_E_UNKNOWN_SERVER_ERROR) {
            fl_metadata_forget_leader(fetch->client->metadata, &bucket->id);
        }
        back_off(bucket);
        fl_log(FL_LOG_DEBUG, "scanner", "bucket %d: %.800s", bucket->id.bucket, err->message);
        return;
    }
    keep_failure(bucket, err);
    if (bucket->failure != NULL && err->code == FLUSS_E_LOG_OFFSET_OUT_OF_RANGE) {
        const char *partition =
            fl_metadata_partition_name(fetch->client->metadata, bucket->id.partition_id);
        fl_error_prefix(bucket->failure,
                        "table %s.%s%s%s, bucket %d: ", bucket->plan->table->database,
                        bucket->plan->table->name, partition != NULL ? ", partition " : "",
                        partition != NULL ? partition : "", bucket->id.bucket);
    }
}

/* Lock: held. */
static void part_arrived(fl_fetch *fetch, fl_fetch_part *part, fl_scan_bucket *bucket)
{
    fl_scanner *scanner = fetch->scanner;
    const bool is_stuck =
        part->records.size > 0 && part->pieces == NULL && part->offset == bucket->fetch_offset;
    if (is_stuck && bucket->fetch_bytes_max < STUCK_BYTES_MAX) {
        bucket->fetch_bytes_max *= 2; /* not even one batch fitted */
    } else if (is_stuck && part->err.code == 0) {
        fluss_error_t err;
        (void)fl_error(&err, FLUSS_E_CORRUPT_RECORD, FLUSS_KIND_CORRUPT,
                       "bucket %d, offset %lld: %zu bytes hold no whole batch", bucket->id.bucket,
                       (long long)bucket->fetch_offset, part->records.size);
        keep_failure(bucket, &err);
    }
    if (part->pieces != NULL) {
        *bucket->last = part->pieces;
        bucket->last = part->pieces_last;
        part->pieces = NULL;
        bucket->buffered_bytes += part->bytes;
        scanner->buffered_bytes += part->bytes;
    }
    if (part->offset > bucket->fetch_offset) {
        bucket->fetch_offset = part->offset;
    }
    if (part->err.code == 0) {
        bucket->failed_count = 0;
        bucket->wants_whole = bucket->wants_whole && part->lacks_columns;
    }
}

void fl_fetch_finish(fl_fetch *fetch)
{
    fl_scanner *scanner = fetch->scanner;
    (void)pthread_mutex_lock(&scanner->lock);
    for (size_t i = 0; i < fetch->part_count; i++) {
        fl_fetch_part *part = &fetch->parts[i];
        fl_scan_bucket *bucket = fl_scanner_find(scanner, &part->id);
        if (bucket == NULL || bucket->generation != part->generation) {
            continue;
        }
        bucket->is_fetching = false;
        if (part->err.code != 0) {
            part_failed(fetch, part, bucket);
        }
        part_arrived(fetch, part, bucket);
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    fl_scanner_serve(scanner);
    fl_scanner_pump(scanner);
    free_fetch(fetch);
}

void fl_fetch_fail(fl_fetch *fetch, const fluss_error_t *err)
{
    for (size_t i = 0; i < fetch->part_count; i++) {
        if (fetch->parts[i].err.code == 0) {
            fetch->parts[i].err = *err;
            fetch->parts[i].records = (fl_slice){0};
        }
    }
    fl_fetch_finish(fetch);
}

/* ---- the request ---- */

static fluss_code_t build_table(const fl_fetch *fetch, const fl_scan_plan *plan, fl_arena *arena,
                                const size_t *sizes, fl_msg_pb_fetch_log_req_for_table *table,
                                fluss_error_t *err)
{
    table->table_id = plan->table->table_id;
    if (plan->wire_columns != NULL && !fetch->is_whole) {
        table->projection_pushdown_enabled = true;
        table->projected_fields = plan->wire_columns;
        table->projected_fields_count = plan->wire_column_count;
    }
    table->buckets_req = fl_arena_array(arena, fetch->part_count, sizeof(*table->buckets_req));
    if (table->buckets_req == NULL) {
        return fl_error_nomem(err);
    }
    if (plan->filter != NULL && plan->table->settings.log_format == FL_LOG_FORMAT_ARROW) {
        table->has_filter_predicate = table->has_filter_schema_id = true;
        table->filter_schema_id = plan->table->schema_id;
        FL_TRY(fl_pred_message(plan->filter, arena, &table->filter_predicate, err));
    }
    for (size_t i = 0; i < fetch->part_count; i++) {
        const fl_fetch_part *part = &fetch->parts[i];
        if (part->plan == plan) {
            table->buckets_req[table->buckets_req_count++] = (fl_msg_pb_fetch_log_req_for_bucket){
                .has_partition_id = part->id.partition_id != FL_NO_PARTITION,
                .partition_id = part->id.partition_id,
                .bucket_id = part->id.bucket,
                .fetch_offset = part->offset,
                .max_fetch_bytes = (int32_t)sizes[i],
            };
        }
    }
    return 0;
}

static fluss_code_t send_fetch(fl_fetch *fetch, const size_t *sizes, fl_arena *arena,
                               fluss_error_t *err)
{
    const fluss_config_t *config = fetch->client->config;
    const fl_scanner *scanner = fetch->scanner;
    fl_msg_fetch_log_request request = {
        .follower_server_id = -1,
        .max_bytes = (int32_t)config->fetch_size_max.number,
        .tables_req = fl_arena_array(arena, scanner->plan_count, sizeof(*request.tables_req)),
        .has_max_wait_ms = true,
        .max_wait_ms = (int32_t)config->fetch_wait_ms.number,
        .has_min_bytes = true,
        .min_bytes = (int32_t)config->fetch_size_min.number,
    };
    if (request.tables_req == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < scanner->plan_count; i++) {
        fl_msg_pb_fetch_log_req_for_table *table = &request.tables_req[request.tables_req_count];
        FL_TRY(build_table(fetch, &scanner->plans[i], arena, sizes, table, err));
        request.tables_req_count += table->buckets_req_count > 0;
    }
    const fl_call_spec spec = {
        .address = fetch->address,
        .key = FL_API_FETCH_LOG,
        .message = &request,
        .timeout_ms = config->request_timeout_ms.number + config->fetch_wait_ms.number,
        .done = fl_fetch_answered,
        .context = fetch,
    };
    fl_metric_add(&fetch->client->metrics.fetches, 1);
    return fl_rpc_call(fetch->client->rpc, &spec, err);
}

/* Lock: held. */
static bool wants_fetch(const fl_scanner *scanner, const fl_scan_bucket *bucket, int64_t now)
{
    return !bucket->is_fetching && !bucket->is_gone && !bucket->has_failure &&
           bucket->not_before_ms <= now && bucket->fetch_offset < bucket->stop_offset &&
           bucket->buffered_bytes < 2 * bucket->fetch_bytes_max &&
           scanner->buffered_bytes < (size_t)scanner->client->config->fetch_size_max.number;
}

/* A refresh for the buckets of one table. */
typedef struct refreshing {
    fl_scanner *scanner; /* shares */
    fl_client *client;   /* shares */
    const fl_table *table;
    int64_t partition_id;
} refreshing;

static void end_refresh(refreshing *r)
{
    fl_client *client = r->client;
    fl_scanner_unref(r->scanner);
    fl_free(r);
    fl_client_unref(client);
}

/* What is told at once, what only after it has been so for a while. */
static bool is_final(const fl_scan_bucket *bucket, const fluss_error_t *err, bool is_replaced)
{
    return is_replaced || err->kind == FLUSS_KIND_NOMEM ||
           (!err->retriable && err->kind != FLUSS_KIND_CLOSED &&
            err->code != FLUSS_E_UNKNOWN_SERVER_ERROR && bucket->failed_count > FAILURES_MAX);
}

static void on_refreshed(void *context, const fluss_error_t *failure)
{
    refreshing *r = context;
    fl_scanner *scanner = r->scanner;
    const fl_metadata *metadata = r->client->metadata;
    scanner->is_refreshing = false;
    fluss_error_t err = {0};
    const bool is_replaced =
        failure == NULL && fl_metadata_is_replaced(metadata, r->table->database, r->table->name,
                                                   r->table->table_id, &err);
    if (failure != NULL) {
        err = *failure;
    }
    (void)pthread_mutex_lock(&scanner->lock);
    for (fl_scan_bucket *b = scanner->buckets; b != NULL; b = b->next) {
        if (b->id.table_id != r->table->table_id || b->id.partition_id != r->partition_id ||
            b->is_fetching ||
            fl_metadata_server(metadata, fl_metadata_leader(metadata, &b->id)) != NULL) {
            continue;
        }
        back_off(b);
        if (err.code != 0 && !b->has_failure && is_final(b, &err, is_replaced)) {
            keep_failure(b, &err);
        }
    }
    (void)pthread_mutex_unlock(&scanner->lock);
    fl_scanner_serve(scanner);
    fl_scanner_pump(scanner);
    end_refresh(r);
}

static void refresh(fl_scanner *scanner, const fl_scan_bucket *bucket)
{
    refreshing *r = scanner->is_refreshing ? NULL : fl_calloc(1, sizeof(*r));
    if (r == NULL) {
        return;
    }
    *r = (refreshing){
        .scanner = fl_scanner_ref(scanner),
        .client = fl_client_ref(scanner->client),
        .table = bucket->plan->table,
        .partition_id = bucket->id.partition_id,
    };
    const fl_metadata_want want = {
        .database = r->table->database,
        .table = r->table->name,
        .partition_id = r->partition_id,
    };
    scanner->is_refreshing =
        fl_metadata_refresh(scanner->client->metadata, want, on_refreshed, r, NULL) == 0;
    if (!scanner->is_refreshing) {
        end_refresh(r);
    }
}

/* Lock: held. A fetch of all buckets that want one and are led by `address`. */
static fl_fetch *build_fetch(fl_scanner *scanner, const char *address, bool is_whole, int64_t now,
                             fl_arena *arena, size_t **sizes)
{
    size_t count = 0;
    for (const fl_scan_bucket *b = scanner->buckets; b != NULL; b = b->next) {
        count++;
    }
    fl_fetch *fetch = fl_calloc(1, sizeof(*fetch));
    fl_fetch_part *parts = fl_calloc(count, sizeof(*parts));
    *sizes = fl_arena_array(arena, count, sizeof(**sizes));
    if (fetch == NULL || parts == NULL || *sizes == NULL) {
        fl_free(fetch);
        fl_free(parts);
        return NULL;
    }
    memcpy(fetch->address, address, strlen(address) + 1);
    fetch->parts = parts;
    fetch->is_whole = is_whole;
    for (fl_scan_bucket *b = scanner->buckets; b != NULL; b = b->next) {
        const fl_metadata *metadata = scanner->client->metadata;
        const char *leader = fl_metadata_server(metadata, fl_metadata_leader(metadata, &b->id));
        if (leader == NULL || strcmp(leader, address) != 0 || b->wants_whole != is_whole ||
            !wants_fetch(scanner, b, now)) {
            continue;
        }
        b->is_fetching = true;
        (*sizes)[fetch->part_count] = b->fetch_bytes_max;
        fl_fetch_part *part = &parts[fetch->part_count++];
        *part = (fl_fetch_part){
            .id = b->id,
            .plan = b->plan,
            .generation = b->generation,
            .offset = b->fetch_offset,
            .is_projected = b->plan->wire_columns != NULL && !is_whole,
            .filtered_end = -1,
        };
        part->pieces_last = &part->pieces;
    }
    fetch->scanner = fl_scanner_ref(scanner);
    fetch->client = fl_client_ref(scanner->client);
    return fetch;
}

/* Lock: held. The next bucket to fetch, or the time when there is one. */
static const char *next_address(fl_scanner *scanner, int64_t now, int64_t *wake_ms, bool *is_whole)
{
    const fl_metadata *metadata = scanner->client->metadata;
    for (const fl_scan_bucket *b = scanner->buckets; b != NULL; b = b->next) {
        if (!b->is_fetching && b->not_before_ms > now && b->not_before_ms < *wake_ms) {
            *wake_ms = b->not_before_ms;
        }
        if (!wants_fetch(scanner, b, now)) {
            continue;
        }
        const char *address = fl_metadata_server(metadata, fl_metadata_leader(metadata, &b->id));
        if (address != NULL) {
            *is_whole = b->wants_whole;
            return address;
        }
        refresh(scanner, b);
        if (!scanner->is_refreshing) {
            scanner->is_short = true;
            *wake_ms = now + RETRY_MS_MIN;
            return NULL;
        }
    }
    return NULL;
}

void fl_scanner_pump(fl_scanner *scanner)
{
    const int64_t now = fl_clock_ms();
    int64_t wake_ms = INT64_MAX;
    while (true) {
        fl_arena arena;
        fl_arena_init(&arena);
        size_t *sizes = NULL;
        fl_fetch *fetch = NULL;
        (void)pthread_mutex_lock(&scanner->lock);
        const bool is_active =
            !scanner->is_closed && (scanner->poll != NULL || now - scanner->polled_ms < ACTIVE_MS);
        bool is_whole = false;
        const char *address = is_active ? next_address(scanner, now, &wake_ms, &is_whole) : NULL;
        if (address != NULL) {
            fetch = build_fetch(scanner, address, is_whole, now, &arena, &sizes);
        }
        if (address != NULL && fetch == NULL) {
            scanner->is_short = true;
        }
        (void)pthread_mutex_unlock(&scanner->lock);
        fluss_error_t err;
        if (fetch != NULL && send_fetch(fetch, sizes, &arena, &err) != 0) {
            fl_fetch_fail(fetch, &err);
            fetch = NULL;
        }
        fl_arena_deinit(&arena);
        if (fetch == NULL) {
            wake_ms = address != NULL ? now + RETRY_MS_MIN : wake_ms; /* out of memory */
            break;
        }
    }
    if (wake_ms != INT64_MAX) {
        fl_scanner_wake_at(scanner, wake_ms);
    }
}
