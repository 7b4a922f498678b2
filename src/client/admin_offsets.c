/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that ask the leaders of a table's buckets: offsets and statistics. Both find the table
 * first, send one request a leader, and answer when the last has come. Statistics of a partitioned
 * table are asked for one partition after the other. */
#include <fluss/fluss_admin.h>
#include <string.h>

#include "client/admin.h"
#include "client/metadata.h"

enum { OFFSET_EARLIEST = 0, OFFSET_LATEST = 1, OFFSET_TIMESTAMP = 2 };

typedef struct asking {
    fl_msg_pb_table_path path;
    const char *partition;
    const char **partitions; /* of a partitioned table, to ask for in turn */
    size_t partition_count, partition_next;
    fl_located located;
    int32_t *buckets; /* wanted; all when none were named */
    size_t bucket_count;
    int64_t spec;
    const fl_result_column *columns;
    size_t column_count;
    fluss_result_t *result;
    size_t pending;
    fluss_error_t err; /* the first failure */
    fluss_code_t (*send)(fl_op *op, const char *address, const int32_t *buckets, size_t count,
                         fluss_error_t *err);
    void (*read)(struct asking *a, const void *response);
} asking;

static void locate(fl_op *op);
static void ask_partition(fl_op *op);

static void start_round(fl_op *op)
{
    asking *a = op->state;
    fluss_result_free(a->result);
    a->result = NULL;
    if (a->partitions != NULL) {
        a->partition_next = 0;
        ask_partition(op);
    } else {
        op->kind->start(op);
    }
}

static void finish_part(fl_op *op)
{
    asking *a = op->state;
    if (--a->pending > 0) {
        return;
    }
    if (a->err.code == 0 && a->partition_next < a->partition_count) {
        ask_partition(op);
        return;
    }
    fluss_result_t *result = a->result;
    a->result = NULL;
    if (a->err.code == 0) {
        fl_op_complete(op, (fl_value){.kind = FL_VALUE_RESULT, .v.object = result});
        return;
    }
    fluss_result_free(result);
    const fluss_error_t err = a->err;
    a->err = (fluss_error_t){0};
    fl_op_retry_or_fail(op, &err, start_round);
}

static void keep_error(asking *a, const fluss_error_t *err)
{
    if (a->err.code == 0) {
        a->err = *err;
    }
}

static void keep_bucket_error(asking *a, int32_t bucket, int32_t code, fl_slice text)
{
    fluss_error_t err;
    (void)fl_error_server(&err, code, (const char *)text.data, text.size);
    fl_error_prefix(&err, "bucket %d: ", bucket);
    keep_error(a, &err);
}

static void add_row(asking *a, const fl_cell *cells)
{
    if (a->result == NULL) {
        a->result = fl_result_new(a->columns, a->column_count);
    }
    fluss_error_t err;
    if (a->result == NULL) {
        (void)fl_error_nomem(&a->err);
    } else if (fl_result_append(a->result, cells, &err) != 0) {
        keep_error(a, &err);
    }
}

static void no_leader(asking *a, int32_t bucket)
{
    if (bucket < 0 || bucket >= a->located.bucket_count) {
        (void)fl_error(&a->err, FLUSS_E_UNKNOWN_TABLE_OR_BUCKET, FLUSS_KIND_ARGUMENT,
                       "bucket %d: the table has %d buckets", bucket, a->located.bucket_count);
        a->err.retriable = 0;
        return;
    }
    (void)fl_error(&a->err, FLUSS_E_LEADER_NOT_AVAILABLE, FLUSS_KIND_SERVER,
                   "No leader found for table bucket: table %.*s.%.*s, bucket %d",
                   (int)a->path.database_name.size, (const char *)a->path.database_name.data,
                   (int)a->path.table_name.size, (const char *)a->path.table_name.data, bucket);
    a->err.retriable = 1;
}

static void on_part(void *context, const fl_reply *reply, const fluss_error_t *failure,
                    bool was_sent)
{
    (void)was_sent;
    fl_op *op = context;
    asking *a = op->state;
    if (failure != NULL) {
        keep_error(a, failure);
    } else {
        a->read(a, reply->message);
    }
    finish_part(op);
}

/* One request a leader; `pending` counts one more while this runs. */
static void ask_leaders(fl_op *op)
{
    asking *a = op->state;
    const fl_metadata *metadata = op->client->metadata;
    int32_t *group = fl_arena_array(&op->arena, a->bucket_count, sizeof(*group));
    bool *is_asked = fl_arena_array(&op->arena, a->bucket_count, sizeof(*is_asked));
    a->pending = 1;
    if (group == NULL || is_asked == NULL) {
        (void)fl_error_nomem(&a->err);
        finish_part(op);
        return;
    }
    for (size_t i = 0; i < a->bucket_count; i++) {
        fluss_bucket_t bucket = {a->located.table_id, a->located.partition_id, a->buckets[i]};
        const int32_t leader = fl_metadata_leader(metadata, &bucket);
        const char *address = fl_metadata_server(metadata, leader);
        if (is_asked[i]) {
            continue;
        }
        if (address == NULL) {
            no_leader(a, bucket.bucket);
            continue;
        }
        size_t count = 0;
        for (size_t j = i; j < a->bucket_count; j++) {
            bucket.bucket = a->buckets[j];
            if (fl_metadata_leader(metadata, &bucket) == leader) {
                is_asked[j] = true;
                group[count++] = a->buckets[j];
            }
        }
        fluss_error_t err;
        a->pending++;
        if (a->send(op, address, group, count, &err) != 0) {
            keep_error(a, &err);
            a->pending--;
        }
    }
    finish_part(op);
}

static void on_located(fl_op *op)
{
    asking *a = op->state;
    if (a->bucket_count == 0) {
        a->bucket_count = (size_t)a->located.bucket_count;
        a->buckets = fl_arena_array(&op->arena, a->bucket_count, sizeof(*a->buckets));
        for (size_t i = 0; i < a->bucket_count && a->buckets != NULL; i++) {
            a->buckets[i] = (int32_t)i;
        }
    }
    ask_leaders(op);
}

/* A bucket that has no leader for so long will hardly get one: whoever waits for a new table's
 * leaders asks again, and should hear of it before the whole request time is over. */
enum { LEADER_WAIT_MS_MAX = 12000 };

static void locate(fl_op *op)
{
    asking *a = op->state;
    const int64_t until_ms = fl_clock_ms() + LEADER_WAIT_MS_MAX;
    op->deadline_ms = until_ms < op->deadline_ms ? until_ms : op->deadline_ms;
    fl_op_locate(op, &a->path, a->partition, &a->located, on_located);
}

/* ---- offsets ---- */

static const fl_result_column offset_columns[] = {{"bucket", true}, {"offset", true}};

static void read_offsets(asking *a, const void *message)
{
    const fl_msg_list_offsets_response *response = message;
    for (size_t i = 0; i < response->buckets_resp_count && a->err.code == 0; i++) {
        const fl_msg_pb_list_offsets_resp_for_bucket *bucket = &response->buckets_resp[i];
        if (bucket->has_error_code && bucket->error_code != 0) {
            keep_bucket_error(a, bucket->bucket_id, bucket->error_code, bucket->error_message);
            continue;
        }
        const fl_cell cells[] = {fl_cell_number(bucket->bucket_id),
                                 fl_cell_number_if(bucket->has_offset, bucket->offset)};
        add_row(a, cells);
    }
}

static fluss_code_t send_offsets(fl_op *op, const char *address, const int32_t *buckets,
                                 size_t count, fluss_error_t *err)
{
    asking *a = op->state;
    int32_t *copy = fl_arena_array(&op->arena, count, sizeof(*copy));
    if (copy == NULL) {
        return fl_error_nomem(err);
    }
    memcpy(copy, buckets, count * sizeof(*copy));
    const fl_msg_list_offsets_request request = {
        .follower_server_id = -1,
        .offset_type = a->spec == FLUSS_EARLIEST ? OFFSET_EARLIEST
                       : a->spec == FLUSS_LATEST ? OFFSET_LATEST
                                                 : OFFSET_TIMESTAMP,
        .table_id = a->located.table_id,
        .has_partition_id = a->located.partition_id != FL_NO_PARTITION,
        .partition_id = a->located.partition_id,
        .bucket_id = copy,
        .bucket_id_count = count,
        .has_start_timestamp = a->spec >= 0,
        .start_timestamp = a->spec,
    };
    return fl_op_call(op, address, FL_API_LIST_OFFSETS, &request, on_part, err);
}

static const fl_op_kind offsets_kind = {.start = locate};

static asking *new_asking(fl_op *op, fluss_path_t path)
{
    asking *a = fl_op_array(op, 1, sizeof(*a));
    if (a != NULL) {
        op->state = a;
        a->path = fl_op_path(op, path);
    }
    return a;
}

fluss_future_t *fluss_list_offsets(fluss_conn_t *conn, fluss_path_t path, const char *partition,
                                   const int32_t *buckets, size_t n, int64_t spec)
{
    fl_op *op = fl_admin_op(conn, &offsets_kind);
    asking *a = new_asking(op, path);
    if (a != NULL) {
        bool has_partition;
        a->partition = (const char *)fl_op_text_or_none(op, partition, &has_partition).data;
        a->spec = spec;
        a->send = send_offsets;
        a->read = read_offsets;
        a->columns = offset_columns;
        a->column_count = FL_COUNT_OF(offset_columns);
        fl_admin_need(op, n == 0 || buckets != NULL, "buckets must not be NULL");
        fl_admin_need(op, spec >= FLUSS_EARLIEST,
                      "spec is FLUSS_EARLIEST, FLUSS_LATEST or milliseconds since 1970");
        a->buckets = fl_op_array(op, n, sizeof(*a->buckets));
        if (a->buckets != NULL && n > 0 && buckets != NULL) {
            memcpy(a->buckets, buckets, n * sizeof(*buckets));
            a->bucket_count = n;
        }
    }
    return fl_op_submit(op);
}

/* ---- statistics ---- */

static const fl_result_column stats_columns[] = {
    {"partition_id", true},
    {"bucket", true},
    {"row_count", true},
};

static void read_stats(asking *a, const void *message)
{
    const fl_msg_get_table_stats_response *response = message;
    for (size_t i = 0; i < response->buckets_resp_count && a->err.code == 0; i++) {
        const fl_msg_pb_table_stats_resp_for_bucket *bucket = &response->buckets_resp[i];
        if (bucket->has_error_code && bucket->error_code != 0) {
            keep_bucket_error(a, bucket->bucket_id, bucket->error_code, bucket->error_message);
            continue;
        }
        const fl_cell cells[] = {
            fl_cell_number_if(bucket->has_partition_id, bucket->partition_id),
            fl_cell_number(bucket->bucket_id),
            fl_cell_number_if(bucket->has_row_count, bucket->row_count),
        };
        add_row(a, cells);
    }
}

static fluss_code_t send_stats(fl_op *op, const char *address, const int32_t *buckets, size_t count,
                               fluss_error_t *err)
{
    asking *a = op->state;
    fl_msg_pb_table_stats_req_for_bucket *wanted =
        fl_arena_array(&op->arena, count, sizeof(*wanted));
    if (wanted == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        wanted[i].has_partition_id = a->located.partition_id != FL_NO_PARTITION;
        wanted[i].partition_id = a->located.partition_id;
        wanted[i].bucket_id = buckets[i];
    }
    const fl_msg_get_table_stats_request request = {
        .table_id = a->located.table_id,
        .buckets_req = wanted,
        .buckets_req_count = count,
    };
    return fl_op_call(op, address, FL_API_GET_TABLE_STATS, &request, on_part, err);
}

/* Buckets of another partition; an answer without rows when there are no partitions. */
static void ask_partition(fl_op *op)
{
    asking *a = op->state;
    fluss_error_t err;
    if (a->partition_next < a->partition_count) {
        a->partition = a->partitions[a->partition_next++];
        fl_op_locate(op, &a->path, a->partition, &a->located, on_located);
        return;
    }
    fluss_result_t *empty = fl_result_new(a->columns, a->column_count);
    if (empty == NULL) {
        (void)fl_error_nomem(&err);
        fl_op_fail(op, &err);
        return;
    }
    fl_op_complete(op, (fl_value){.kind = FL_VALUE_RESULT, .v.object = empty});
}

/* The values of a partition joined by '$', as it is named. */
static const char *partition_name(fl_op *op, const fl_msg_pb_partition_spec *spec)
{
    size_t size = 1;
    for (size_t i = 0; i < spec->partition_key_values_count; i++) {
        size += spec->partition_key_values[i].value.size + 1;
    }
    char *name = fl_arena_alloc(&op->arena, size);
    char *at = name;
    for (size_t i = 0; i < spec->partition_key_values_count && name != NULL; i++) {
        const fl_slice value = spec->partition_key_values[i].value;
        if (i != 0) {
            *at++ = '$';
        }
        if (value.size != 0) {
            memcpy(at, value.data, value.size);
        }
        at += value.size;
    }
    return name;
}

static void on_partitions(void *context, const fl_reply *reply, const fluss_error_t *failure,
                          bool was_sent)
{
    (void)was_sent;
    fl_op *op = context;
    asking *a = op->state;
    fluss_error_t err;
    if (failure != NULL) {
        fl_op_retry_or_fail(op, failure, start_round);
        return;
    }
    const fl_msg_list_partition_infos_response *response = reply->message;
    const size_t count = response->partitions_info_count;
    bool is_complete = true;
    a->partitions = fl_arena_array(&op->arena, count, sizeof(*a->partitions));
    for (size_t i = 0; i < count && is_complete && a->partitions != NULL; i++) {
        a->partitions[i] = partition_name(op, &response->partitions_info[i].partition_spec);
        is_complete = a->partitions[i] != NULL;
    }
    if (a->partitions == NULL || !is_complete) {
        (void)fl_error_nomem(&err);
        fl_op_fail(op, &err);
        return;
    }
    a->partition_count = count;
    ask_partition(op);
}

static void on_stats_located(fl_op *op)
{
    asking *a = op->state;
    fluss_error_t err;
    if (!a->located.is_partitioned) {
        on_located(op);
        return;
    }
    const fl_msg_list_partition_infos_request request = {.table_path = a->path};
    if (fl_op_call_coordinator(op, FL_API_LIST_PARTITION_INFOS, &request, on_partitions, &err) !=
        0) {
        fl_op_fail(op, &err);
    }
}

static void locate_for_stats(fl_op *op)
{
    asking *a = op->state;
    a->located.may_be_partitioned = true;
    fl_op_locate(op, &a->path, NULL, &a->located, on_stats_located);
}

static const fl_op_kind stats_kind = {.start = locate_for_stats};

fluss_future_t *fluss_table_stats(fluss_conn_t *conn, fluss_path_t path)
{
    fl_op *op = fl_admin_op(conn, &stats_kind);
    asking *a = new_asking(op, path);
    if (a != NULL) {
        a->send = send_stats;
        a->read = read_stats;
        a->columns = stats_columns;
        a->column_count = FL_COUNT_OF(stats_columns);
    }
    return fl_op_submit(op);
}
