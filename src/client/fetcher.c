/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching: long polls, each for a set of buckets of one server. A bucket is in one fetch at most;
 * as soon as its part is decoded it may be fetched again, as long as there is room ahead of the
 * user. So a bucket without data holds no other one up.
 *
 * An answer is decoded where it arrives when it is small, else on a pool thread. Parts of it that
 * belong to a bucket that was moved or dropped meanwhile are thrown away (generation). */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "client/backoff.h"
#include "client/metadata.h"
#include "client/predicate.h"
#include "client/remote_log.h"
#include "client/scan_private.h"

enum {
    DECODE_HERE_BYTES_MAX = 64 * 1024,
    ACTIVE_MS = 2000, /* fetch ahead so long after the last poll */
    RETRY_MS_MIN = 10,
    RETRY_MS_MAX = 1000,
    REMOTE_RETRIES_MAX = 5,
    FAILURES_MAX = 8, /* in a row, before a poll is told that something is not there */
    STUCK_BYTES_MAX = 256 << 20
};

/* One bucket's part of a fetch. */
typedef struct fetch_part {
    fluss_bucket_t id;
    const fl_scan_plan *plan;
    uint64_t generation;
    int64_t offset; /* asked for; then: the next one */
    bool is_answered, is_remote;
    bool is_projected;    /* asked for chosen columns */
    bool lacks_columns;   /* its last batch has not all of the columns that are chosen */
    fluss_error_t err;    /* code 0: none */
    fl_remote_log remote; /* where the records are, when they are tiered */
    fl_frame *frame;      /* of tiered records, else the answer's; shares */
    fl_slice records;     /* views the frame */
    int64_t filtered_end;
    fl_piece *pieces, **pieces_last;
    size_t bytes;
} fetch_part;

typedef struct fl_fetch {
    fl_work work;
    fl_scanner *scanner; /* shares */
    fl_client *client;   /* shares */
    char address[FL_ADDRESS_SIZE_MAX];
    fl_frame *frame; /* shares */
    bool is_whole;   /* asks for all columns, whatever the plan says */
    fetch_part *parts;
    size_t part_count;
    size_t bytes;
} fl_fetch;

static void free_fetch(fl_fetch *fetch)
{
    for (size_t i = 0; i < fetch->part_count; i++) {
        fl_pieces_free(fetch->parts[i].pieces);
        fl_frame_unref(fetch->parts[i].frame);
        fl_remote_log_deinit(&fetch->parts[i].remote);
    }
    fl_frame_unref(fetch->frame);
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
static void part_failed(fl_fetch *fetch, const fetch_part *part, fl_scan_bucket *bucket)
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
static void part_arrived(fl_fetch *fetch, fetch_part *part, fl_scan_bucket *bucket)
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

static void finish(fl_fetch *fetch)
{
    fl_scanner *scanner = fetch->scanner;
    (void)pthread_mutex_lock(&scanner->lock);
    for (size_t i = 0; i < fetch->part_count; i++) {
        fetch_part *part = &fetch->parts[i];
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

/* ---- decoding ---- */

static fluss_code_t add_piece(fetch_part *part, fl_chunk *chunk, int64_t next_offset,
                              fluss_error_t *err)
{
    fl_piece *piece = fl_calloc(1, sizeof(*piece));
    if (piece == NULL) {
        fl_chunk_unref(chunk);
        return fl_error_nomem(err);
    }
    piece->chunk = chunk;
    piece->count = chunk != NULL ? chunk->row_count : 0;
    piece->bytes = chunk != NULL ? chunk->bytes : 0;
    piece->next_offset = next_offset;
    piece->bucket = part->id;
    piece->generation = part->generation;
    part->bytes += piece->bytes;
    *part->pieces_last = piece;
    part->pieces_last = &piece->next;
    return 0;
}

/* A tiered batch was not tested by the server. Skipped ones still move the position. */
static bool may_match(const fetch_part *part, const fl_log_batch *batch)
{
    return !part->is_remote || part->plan->filter == NULL ||
           fl_scan_batch_may_match(part->plan, batch);
}

static fluss_code_t decode_part(fetch_part *part, fluss_error_t *err)
{
    const fl_scan_plan *plan = part->plan;
    const bool is_arrow = plan->table->settings.log_format == FL_LOG_FORMAT_ARROW;
    fl_wire_batch wire = {.frame = part->frame, .is_projected = part->is_projected};
    size_t position = 0;
    while (position < part->records.size) {
        const fl_slice rest = fl_slice_sub(part->records, position, part->records.size - position);
        size_t size;
        FL_TRY(fl_log_batch_size(rest, &size, err));
        if (size == 0 || size > rest.size) {
            break; /* cut off by the size limit */
        }
        FL_TRY(fl_log_batch_open(fl_slice_sub(rest, 0, size), is_arrow, &wire.batch, err));
        const int64_t next = fl_log_batch_next_offset(&wire.batch);
        if (next > part->offset) {
            fl_chunk *chunk = NULL;
            if (may_match(part, &wire.batch)) {
                FL_TRY(fl_scan_decode(plan, &part->id, &wire, part->offset, &chunk, err));
            }
            FL_TRY(add_piece(part, chunk, next, err));
            part->offset = next;
        }
        part->lacks_columns = fl_scan_lacks_columns(plan, wire.batch.schema_id);
        position += size;
    }
    if (part->filtered_end >= 0 && part->filtered_end > part->offset) {
        FL_TRY(add_piece(part, NULL, part->filtered_end, err));
        part->offset = part->filtered_end;
    }
    return 0;
}

static void decode(fl_work *work)
{
    fl_fetch *fetch = FL_CONTAINER_OF(work, fl_fetch, work);
    for (size_t i = 0; i < fetch->part_count; i++) {
        fetch_part *part = &fetch->parts[i];
        fluss_error_t err;
        if (part->err.code == 0 && decode_part(part, &err) != 0) {
            part->err = err;
        }
    }
}

static void on_decoded(fl_work *work)
{
    finish(FL_CONTAINER_OF(work, fl_fetch, work));
}

/* A batch of a part whose schema is not known yet. */
typedef struct unknown_batch {
    fetch_part *part; /* NULL: there is none */
    size_t position;
    int32_t schema_id;
} unknown_batch;

static unknown_batch find_unknown(fetch_part *part)
{
    const bool is_arrow = part->plan->table->settings.log_format == FL_LOG_FORMAT_ARROW;
    size_t position = 0, size = 0;
    fl_log_batch batch;
    while (part->err.code == 0 && position < part->records.size) {
        const fl_slice rest = fl_slice_sub(part->records, position, part->records.size - position);
        if (fl_log_batch_size(rest, &size, NULL) != 0 || size == 0 || size > rest.size ||
            fl_log_batch_open(fl_slice_sub(rest, 0, size), is_arrow, &batch, NULL) != 0) {
            break;
        }
        fl_schema *schema = fl_table_find_schema(part->plan->table, batch.schema_id);
        if (schema == NULL) {
            return (unknown_batch){part, position, batch.schema_id};
        }
        fl_schema_unref(schema);
        position += size;
    }
    return (unknown_batch){0};
}

static unknown_batch first_unknown(const fl_fetch *fetch)
{
    unknown_batch found = {0};
    for (size_t i = 0; i < fetch->part_count && found.part == NULL; i++) {
        found = find_unknown(&fetch->parts[i]);
    }
    return found;
}

/* Without the schema nothing is made of its batches; what lies before them is good. */
static void leave_out_unknown(fl_fetch *fetch, const fluss_error_t *err)
{
    const unknown_batch first = first_unknown(fetch);
    for (size_t i = 0; i < fetch->part_count && first.part != NULL; i++) {
        const unknown_batch at = find_unknown(&fetch->parts[i]);
        if (at.part == NULL || at.schema_id != first.schema_id ||
            at.part->plan->table != first.part->plan->table) {
            continue;
        }
        at.part->filtered_end = -1;
        at.part->records = fl_slice_sub(at.part->records, 0, at.position);
        if (at.position == 0) {
            const fl_table *table = at.part->plan->table;
            at.part->err = *err;
            fl_error_prefix(&at.part->err, "table %s.%s, bucket %d, schema %d: ", table->database,
                            table->name, at.part->id.bucket, at.schema_id);
        }
    }
}

static void fail_parts(fl_fetch *fetch, const fluss_error_t *err)
{
    for (size_t i = 0; i < fetch->part_count; i++) {
        if (fetch->parts[i].err.code == 0) {
            fetch->parts[i].err = *err;
            fetch->parts[i].records = (fl_slice){0};
        }
    }
}

static void start_decoding(fl_fetch *fetch);

static void on_schema(void *context, const fluss_error_t *failure)
{
    fl_fetch *fetch = context;
    if (failure != NULL) {
        leave_out_unknown(fetch, failure);
    }
    start_decoding(fetch);
}

static void start_decoding(fl_fetch *fetch)
{
    const unknown_batch unknown = first_unknown(fetch);
    if (unknown.part != NULL) {
        fluss_error_t err;
        if (fl_table_fetch_schema(unknown.part->plan->table, unknown.schema_id, on_schema, fetch,
                                  &err) != 0) {
            on_schema(fetch, &err);
        }
        return;
    }
    fetch->work = (fl_work){.work = decode, .done = on_decoded};
    if (fetch->bytes <= DECODE_HERE_BYTES_MAX ||
        fl_loop_work(fetch->client->loop, &fetch->work, NULL) != 0) {
        decode(&fetch->work);
        finish(fetch);
    }
}

/* ---- tiered logs ---- */

/* One step of the tiered log of each bucket whose records are there. */
static void read_remote(fl_work *work)
{
    fl_fetch *fetch = FL_CONTAINER_OF(work, fl_fetch, work);
    const fluss_config_t *config = fetch->client->config;
    const size_t wanted =
        (size_t)config->fetch_bucket_size_max.number * (size_t)config->remote_prefetch.number;
    const size_t size_max = wanted < (size_t)config->fetch_size_max.number
                                ? wanted
                                : (size_t)config->fetch_size_max.number;
    for (size_t i = 0; i < fetch->part_count; i++) {
        fetch_part *part = &fetch->parts[i];
        fl_frame *frame;
        if (!part->is_remote || part->err.code != 0) {
            continue;
        }
        if (fl_remote_log_read(&part->remote, part->offset, size_max, &frame, &part->err) != 0) {
            fl_error_prefix(&part->err,
                            "table %s.%s, bucket %d, offset %lld: ", part->plan->table->database,
                            part->plan->table->name, part->id.bucket, (long long)part->offset);
            continue;
        }
        part->err.code = 0;
        fl_frame_unref(part->frame);
        part->frame = frame;
        part->records = fl_slice_of(frame->data, frame->size);
        fetch->bytes += frame->size;
        fl_metric_add(&fetch->client->metrics.remote_bytes_read, (long long)frame->size);
    }
}

static void on_remote_read(fl_work *work)
{
    fl_fetch *fetch = FL_CONTAINER_OF(work, fl_fetch, work);
    fl_metric_add(&fetch->client->metrics.bytes_read, (long long)fetch->bytes);
    start_decoding(fetch);
}

/* ---- the answer ---- */

static fetch_part *find_part(fl_fetch *fetch, int64_t table_id,
                             const fl_msg_pb_fetch_log_resp_for_bucket *answer)
{
    const fluss_bucket_t id = {
        .table_id = table_id,
        .partition_id = answer->has_partition_id ? answer->partition_id : FL_NO_PARTITION,
        .bucket = answer->bucket_id,
    };
    for (size_t i = 0; i < fetch->part_count; i++) {
        if (fl_bucket_equal(&fetch->parts[i].id, &id)) {
            return &fetch->parts[i];
        }
    }
    return NULL;
}

static void read_answer(fl_fetch *fetch, fetch_part *part,
                        const fl_msg_pb_fetch_log_resp_for_bucket *answer)
{
    part->is_answered = true;
    if (answer->has_error_code && answer->error_code != 0) {
        (void)fl_error_server(&part->err, answer->error_code,
                              (const char *)answer->error_message.data, answer->error_message.size);
        return;
    }
    if (answer->has_remote_log_fetch_info) {
        fluss_error_t err;
        part->is_remote =
            fl_remote_log_init(&part->remote, &answer->remote_log_fetch_info, &err) == 0;
        part->is_projected = false; /* the files hold whole rows */
        if (!part->is_remote) {
            part->err = err;
        }
        return;
    }
    part->frame = fl_frame_ref(fetch->frame);
    part->records = answer->records;
    part->filtered_end = answer->has_filtered_end_offset ? answer->filtered_end_offset : -1;
    fetch->bytes += answer->records.size;
}

static void on_fetched(void *context, const fl_reply *reply, const fluss_error_t *failure,
                       bool was_sent)
{
    (void)was_sent;
    fl_fetch *fetch = context;
    if (failure != NULL) {
        fail_parts(fetch, failure);
        finish(fetch);
        return;
    }
    const fl_msg_fetch_log_response *response = reply->message;
    fetch->frame = fl_frame_ref(reply->frame);
    for (size_t i = 0; i < response->tables_resp_count; i++) {
        const fl_msg_pb_fetch_log_resp_for_table *table = &response->tables_resp[i];
        for (size_t j = 0; j < table->buckets_resp_count; j++) {
            fetch_part *part = find_part(fetch, table->table_id, &table->buckets_resp[j]);
            if (part != NULL) {
                read_answer(fetch, part, &table->buckets_resp[j]);
            }
        }
    }
    for (size_t i = 0; i < fetch->part_count; i++) {
        if (!fetch->parts[i].is_answered) {
            (void)fl_error(&fetch->parts[i].err, FLUSS_E_UNKNOWN_SERVER_ERROR, FLUSS_KIND_SERVER,
                           "%s left bucket %d out of its answer", fetch->address,
                           fetch->parts[i].id.bucket);
        }
    }
    bool is_remote = false;
    for (size_t i = 0; i < fetch->part_count; i++) {
        is_remote |= fetch->parts[i].is_remote;
    }
    if (is_remote) {
        fetch->work = (fl_work){.work = read_remote, .done = on_remote_read};
        if (fl_loop_work(fetch->client->loop, &fetch->work, NULL) != 0) {
            read_remote(&fetch->work);
            on_remote_read(&fetch->work);
        }
        return;
    }
    fl_metric_add(&fetch->client->metrics.bytes_read, (long long)fetch->bytes);
    start_decoding(fetch);
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
        const fetch_part *part = &fetch->parts[i];
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
        .done = on_fetched,
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
    fetch_part *parts = fl_calloc(count, sizeof(*parts));
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
        fetch_part *part = &parts[fetch->part_count++];
        *part = (fetch_part){
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
            fail_parts(fetch, &err);
            fetch->frame = NULL;
            finish(fetch);
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
