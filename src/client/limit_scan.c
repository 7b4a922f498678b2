/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_scan_bucket: LIMIT_SCAN of one bucket. A log table answers with its newest batches, of
 * which the last `limit` rows count; a primary-key table with rows in key order. All rows of a
 * primary-key bucket come by SCAN_KV, batch by batch of one snapshot; servers that have not got it
 * answer a LIMIT_SCAN without a limit. */
#include <string.h>

#include "base/alloc.h"
#include "client/metadata.h"
#include "client/op.h"
#include "client/scan_private.h"
#include "client/value_rows.h"

typedef struct limit_scan {
    fl_scan_plan plan;
    fluss_bucket_t bucket;
    int32_t limit;
    fl_frame *frame;  /* of the answer; shares */
    fl_slice records; /* views the frame */
    fl_piece *pieces, **last;
    /* of SCAN_KV */
    bool is_whole;
    bool has_more;
    fl_slice scanner_id; /* empty: not opened */
    int32_t call_seq;
    int64_t patience_ms; /* for each batch */
} limit_scan;

enum { KV_BATCH_SIZE = 4 << 20 };

static void ask(fl_op *op);

static void on_closed(void *context, const fl_reply *reply, const fluss_error_t *failure,
                      bool was_sent)
{
    (void)reply;
    (void)failure;
    (void)was_sent;
    fl_client_unref(context);
}

/* Let the server forget a scan that is not read to its end: it keeps few of them. */
static void close_scan(fl_op *op)
{
    const limit_scan *s = op->state;
    const fl_metadata *metadata = op->client->metadata;
    const char *address = fl_metadata_server(metadata, fl_metadata_leader(metadata, &s->bucket));
    const fl_msg_scan_kv_request request = {.has_scanner_id = true,
                                            .scanner_id = s->scanner_id,
                                            .has_close_scanner = true,
                                            .close_scanner = true};
    const fl_call_spec spec = {.address = address,
                               .key = FL_API_SCAN_KV,
                               .message = &request,
                               .timeout_ms = op->client->config->request_timeout_ms.number,
                               .done = on_closed,
                               .context = fl_client_ref(op->client)};
    if (address == NULL || fl_rpc_call(op->client->rpc, &spec, NULL) != 0) {
        fl_client_unref(op->client);
    }
}

static void end(fl_op *op, const fluss_error_t *err)
{
    limit_scan *s = op->state;
    if (err != NULL && s->scanner_id.size != 0) {
        close_scan(op);
    }
    fluss_batches_t *batches = NULL;
    fluss_error_t failure;
    if (err == NULL && fl_batches_new(s->pieces, NULL, NULL, &batches, &failure) != 0) {
        err = &failure;
    }
    if (batches == NULL) {
        fl_pieces_free(s->pieces);
    }
    fl_scan_plan_deinit(&s->plan);
    fl_frame_unref(s->frame);
    if (err != NULL) {
        const fluss_error_t copy = *err;
        fl_op_fail(op, &copy);
    } else {
        fl_op_complete(op, (fl_value){.kind = FL_VALUE_BATCHES, .v.object = batches});
    }
}

static fluss_code_t add_piece(limit_scan *s, fl_chunk *chunk, fluss_error_t *err)
{
    fl_piece *piece = fl_calloc(1, sizeof(*piece));
    if (piece == NULL) {
        fl_chunk_unref(chunk);
        return fl_error_nomem(err);
    }
    piece->chunk = chunk;
    piece->count = chunk->row_count;
    *s->last = piece;
    s->last = &piece->next;
    return 0;
}

/* ---- a log table ---- */

/* How many rows there are more than wanted. */
static fluss_code_t count_surplus(const limit_scan *s, bool is_arrow, int64_t *surplus,
                                  fluss_error_t *err)
{
    int64_t rows = 0;
    fl_slice rest = s->records;
    while (rest.size > 0) {
        size_t size;
        fl_log_batch batch;
        FL_TRY(fl_log_batch_size(rest, &size, err));
        if (size == 0 || size > rest.size) {
            break;
        }
        FL_TRY(fl_log_batch_open(fl_slice_sub(rest, 0, size), is_arrow, &batch, err));
        rows += batch.record_count;
        rest = fl_slice_sub(rest, size, rest.size - size);
    }
    *surplus = rows > s->limit ? rows - s->limit : 0;
    return 0;
}

static fluss_code_t decode_log(limit_scan *s, fluss_error_t *err)
{
    const bool is_arrow = s->plan.table->settings.log_format == FL_LOG_FORMAT_ARROW;
    int64_t surplus;
    FL_TRY(count_surplus(s, is_arrow, &surplus, err));
    fl_slice rest = s->records;
    while (rest.size > 0) {
        size_t size;
        fl_wire_batch wire = {.frame = s->frame};
        FL_TRY(fl_log_batch_size(rest, &size, err));
        if (size == 0 || size > rest.size) {
            break;
        }
        FL_TRY(fl_log_batch_open(fl_slice_sub(rest, 0, size), is_arrow, &wire.batch, err));
        const int32_t count = wire.batch.record_count;
        const int64_t skipped = surplus < count ? surplus : count;
        fl_chunk *chunk = NULL;
        FL_TRY(fl_scan_decode(&s->plan, &s->bucket, &wire, wire.batch.base_offset + skipped, &chunk,
                              err));
        surplus -= skipped;
        if (chunk != NULL) {
            FL_TRY(add_piece(s, chunk, err));
        }
        rest = fl_slice_sub(rest, size, rest.size - size);
    }
    return 0;
}

/* The first schema that the answer needs and that is not known; -1: none. */
static int32_t unknown_schema(const limit_scan *s)
{
    if (fl_table_is_keyed(s->plan.table)) {
        return fl_values_unknown_schema(s->plan.table, s->records);
    }
    const bool is_arrow = s->plan.table->settings.log_format == FL_LOG_FORMAT_ARROW;
    fl_slice rest = s->records;
    while (rest.size > 0) {
        size_t size;
        fl_log_batch batch;
        if (fl_log_batch_size(rest, &size, NULL) != 0 || size == 0 || size > rest.size ||
            fl_log_batch_open(fl_slice_sub(rest, 0, size), is_arrow, &batch, NULL) != 0) {
            break;
        }
        fl_schema *schema = fl_table_find_schema(s->plan.table, batch.schema_id);
        if (schema == NULL) {
            return batch.schema_id;
        }
        fl_schema_unref(schema);
        rest = fl_slice_sub(rest, size, rest.size - size);
    }
    return -1;
}

static void decode(fl_op *op);

static void on_schema(void *context, const fluss_error_t *failure)
{
    fl_op *op = context;
    if (failure != NULL) {
        end(op, failure);
        return;
    }
    decode(op);
}

static void decode(fl_op *op)
{
    limit_scan *s = op->state;
    fluss_error_t err;
    const int32_t schema_id = unknown_schema(s);
    if (schema_id >= 0) {
        if (fl_table_fetch_schema(s->plan.table, schema_id, on_schema, op, &err) != 0) {
            end(op, &err);
        }
        return;
    }
    fluss_code_t rc = 0;
    if (!fl_table_is_keyed(s->plan.table)) {
        rc = decode_log(s, &err);
    } else if (s->records.size != 0) {
        fl_chunk *chunk = NULL;
        rc = fl_values_decode(&s->plan, &s->bucket, s->records, &chunk, &err);
        if (rc == 0 && chunk != NULL) {
            rc = add_piece(s, chunk, &err);
        }
    }
    if (rc != 0 || !s->has_more) {
        end(op, rc == 0 ? NULL : &err);
        return;
    }
    fl_frame_unref(s->frame);
    s->frame = NULL;
    op->deadline_ms = fl_clock_ms() + s->patience_ms;
    ask(op);
}

/* ---- the request ---- */

static void ask_again(fl_op *op, const fluss_error_t *err)
{
    const limit_scan *s = op->state;
    if (fl_code_is_stale_metadata(err->code) || err->kind != FLUSS_KIND_SERVER) {
        fl_metadata_forget_leader(op->client->metadata, &s->bucket);
    }
    if (fl_op_may_retry(op, err)) {
        fl_op_retry(op, err, ask);
    } else {
        end(op, err);
    }
}

static void on_answer(void *context, const fl_reply *reply, const fluss_error_t *failure,
                      bool was_sent)
{
    (void)was_sent;
    fl_op *op = context;
    limit_scan *s = op->state;
    if (failure != NULL) {
        ask_again(op, failure);
        return;
    }
    const fl_msg_limit_scan_response *response = reply->message;
    if (response->has_error_code && response->error_code != 0) {
        fluss_error_t err;
        (void)fl_error_server(&err, response->error_code,
                              (const char *)response->error_message.data,
                              response->error_message.size);
        ask_again(op, &err);
        return;
    }
    s->frame = fl_frame_ref(reply->frame);
    s->records = response->records;
    decode(op);
}

/* Begin anew: the rows so far are of a snapshot that can't be read on. */
static void forget_scan(limit_scan *s)
{
    fl_pieces_free(s->pieces);
    s->pieces = NULL;
    s->last = &s->pieces;
    s->scanner_id = (fl_slice){0};
    s->call_seq = 0;
    s->has_more = false;
}

static void on_rows(void *context, const fl_reply *reply, const fluss_error_t *failure,
                    bool was_sent)
{
    (void)was_sent;
    fl_op *op = context;
    limit_scan *s = op->state;
    fluss_error_t err;
    if (failure != NULL) {
        forget_scan(s);
        s->is_whole = failure->code != FLUSS_E_UNSUPPORTED_VERSION;
        if (s->is_whole) {
            ask_again(op, failure);
        } else {
            ask(op);
        }
        return;
    }
    const fl_msg_scan_kv_response *response = reply->message;
    if (response->has_error_code && response->error_code != 0) {
        (void)fl_error_server(&err, response->error_code,
                              (const char *)response->error_message.data,
                              response->error_message.size);
        err.retriable |= err.code == FLUSS_E_SCANNER_EXPIRED ||
                         err.code == FLUSS_E_UNKNOWN_SCANNER_ID ||
                         err.code == FLUSS_E_TOO_MANY_SCANNERS;
        forget_scan(s);
        ask_again(op, &err);
        return;
    }
    s->has_more = response->has_has_more_results && response->has_more_results;
    if (s->has_more && s->scanner_id.size == 0) {
        const fl_slice id = response->scanner_id;
        s->scanner_id = fl_slice_of(fl_arena_strndup(&op->arena, id.data, id.size), id.size);
        if (s->scanner_id.data == NULL) {
            (void)fl_error_nomem(&err);
            end(op, &err);
            return;
        }
    }
    s->call_seq++;
    s->frame = fl_frame_ref(reply->frame);
    s->records = response->records;
    decode(op);
}

/* The next batch of a scan, or its opening. */
static fluss_code_t ask_rows(fl_op *op, const char *address, fluss_error_t *err)
{
    const limit_scan *s = op->state;
    const bool is_open = s->scanner_id.size != 0;
    const fl_msg_scan_kv_request request = {
        .has_scanner_id = is_open,
        .scanner_id = s->scanner_id,
        .has_bucket_scan_req = !is_open,
        .bucket_scan_req = {.table_id = s->bucket.table_id,
                            .has_partition_id = s->bucket.partition_id != FL_NO_PARTITION,
                            .partition_id = s->bucket.partition_id,
                            .bucket_id = s->bucket.bucket},
        .has_call_seq_id = true,
        .call_seq_id = s->call_seq,
        .has_batch_size_bytes = true,
        .batch_size_bytes = KV_BATCH_SIZE,
    };
    return fl_op_call(op, address, FL_API_SCAN_KV, &request, on_rows, err);
}

static void on_metadata(void *context, const fluss_error_t *failure)
{
    fl_op *op = context;
    if (failure != NULL) {
        ask_again(op, failure);
        return;
    }
    const limit_scan *s = op->state;
    const fl_metadata *metadata = op->client->metadata;
    const fl_table *table = s->plan.table;
    fluss_error_t err;
    if (fl_metadata_is_replaced(metadata, table->database, table->name, table->table_id, &err)) {
        end(op, &err);
        return;
    }
    if (fl_metadata_server(metadata, fl_metadata_leader(metadata, &s->bucket)) == NULL) {
        (void)fl_error(&err, FLUSS_E_LEADER_NOT_AVAILABLE, FLUSS_KIND_SERVER,
                       "bucket %d has no leader", s->bucket.bucket);
        ask_again(op, &err);
        return;
    }
    ask(op);
}

static void ask(fl_op *op)
{
    const limit_scan *s = op->state;
    const fl_metadata *metadata = op->client->metadata;
    const char *address = fl_metadata_server(metadata, fl_metadata_leader(metadata, &s->bucket));
    fluss_error_t err;
    fluss_code_t rc;
    if (address == NULL) {
        const fl_metadata_want want = {
            .database = s->plan.table->database,
            .table = s->plan.table->name,
            .partition_id = s->bucket.partition_id,
        };
        rc = fl_metadata_refresh(op->client->metadata, want, on_metadata, op, &err);
    } else if (s->is_whole) {
        rc = ask_rows(op, address, &err);
    } else {
        const fl_msg_limit_scan_request request = {
            .table_id = s->bucket.table_id,
            .has_partition_id = s->bucket.partition_id != FL_NO_PARTITION,
            .partition_id = s->bucket.partition_id,
            .bucket_id = s->bucket.bucket,
            .limit = s->limit,
        };
        rc = fl_op_call(op, address, FL_API_LIMIT_SCAN, &request, on_answer, &err);
    }
    if (rc != 0) {
        end(op, &err);
    }
}

static void start(fl_op *op)
{
    limit_scan *s = op->state;
    s->patience_ms = fl_op_time_left(op);
    ask(op);
}

static const fl_op_kind limit_kind = {.start = start};

static fluss_code_t check_bucket(const fl_table *table, fluss_bucket_t bucket,
                                 const fluss_scan_opts_t *opts, fluss_error_t *err)
{
    if (bucket.table_id != table->table_id) {
        return fl_error_argument(err, "the bucket is of table id %lld, table %s.%s has id %lld",
                                 (long long)bucket.table_id, table->database, table->name,
                                 (long long)table->table_id);
    }
    if (bucket.bucket < 0 || bucket.bucket >= table->bucket_count) {
        return fl_error_argument(err, "bucket %d: table %s.%s has %d buckets", bucket.bucket,
                                 table->database, table->name, table->bucket_count);
    }
    if (fl_table_is_partitioned(table) != (bucket.partition_id >= 0)) {
        return fl_error_argument(
            err, "table %s.%s is %spartitioned: partition id %lld", table->database, table->name,
            fl_table_is_partitioned(table) ? "" : "not ", (long long)bucket.partition_id);
    }
    if (opts->filter != NULL) {
        return fl_error_argument(err, "rows of one bucket at once can't be filtered");
    }
    if (opts->limit < 0 || (opts->limit == 0 && !fl_table_is_keyed(table))) {
        return fl_error_argument(err, "limit is %d; a log table wants at least 1", opts->limit);
    }
    return 0;
}

fluss_future_t *fluss_scan_bucket(fluss_table_t *table, fluss_bucket_t bucket,
                                  const fluss_scan_opts_t *opts)
{
    return fl_scan_bucket_within(table, bucket, opts, 0);
}

fluss_future_t *fl_scan_bucket_within(fluss_table_t *table, fluss_bucket_t bucket,
                                      const fluss_scan_opts_t *opts, int64_t limit_ms)
{
    fl_op *op = fl_op_new(table != NULL ? table->client : NULL, &limit_kind);
    limit_scan *s = fl_op_array(op, 1, sizeof(*s));
    if (s != NULL && table != NULL && op->err.code == 0) {
        fluss_scan_opts_t o;
        fluss_error_t err;
        fluss_code_t rc = fl_scan_opts_read(opts, &o, &err);
        o.batches = true;
        if (rc == 0) {
            rc = check_bucket(table->table, bucket, &o, &err);
        }
        if (rc == 0) {
            rc = fl_scan_plan_init(&s->plan, table->table, &o, &err);
        }
        if (rc != 0) {
            fl_op_reject(op, &err);
        } else {
            /* The server sends whole rows. */
            fl_free(s->plan.wire_columns);
            s->plan.wire_columns = NULL;
            s->bucket = bucket;
            s->limit = o.limit > 0 ? o.limit : INT32_MAX;
            s->is_whole = o.limit == 0;
            s->last = &s->pieces;
            op->state = s;
            op->limit_ms = limit_ms;
        }
    }
    return fl_op_submit(op);
}
