/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of snapshots: of key-value tables and leases on them, of the lake, and of what a
 * tiered log consists of. */
#include <fluss/fluss_admin.h>

#include "client/admin.h"
#include "client/metadata.h"

/* ---- lake ---- */

static const fl_result_column lake_columns[] = {
    {"table_id", true},   {"snapshot_id", true}, {"partition_id", true},
    {"partition", false}, {"bucket", true},      {"offset", true},
};

static fluss_code_t lake_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_get_lake_snapshot_response *response = message;
    for (size_t i = 0; i < response->bucket_snapshots_count; i++) {
        const fl_msg_pb_lake_snapshot_for_bucket *bucket = &response->bucket_snapshots[i];
        const fl_cell cells[] = {
            fl_cell_number(response->table_id),
            fl_cell_number(response->snapshot_id),
            fl_cell_number_if(bucket->has_partition_id, bucket->partition_id),
            fl_cell_text_if(bucket->has_partition_name, bucket->partition_name),
            fl_cell_number(bucket->bucket_id),
            fl_cell_number_if(bucket->has_log_offset, bucket->log_offset),
        };
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind lake_kind = {
    .key = FL_API_GET_LAKE_SNAPSHOT,
    .is_read = true,
    .request_size = sizeof(fl_msg_get_lake_snapshot_request),
    .columns = lake_columns,
    .column_count = FL_COUNT_OF(lake_columns),
    .rows = lake_rows,
};

fluss_future_t *fluss_lake_snapshot(fluss_conn_t *conn, fluss_path_t path, int64_t snapshot_id,
                                    unsigned flags)
{
    fl_op *op = fl_admin_op(conn, &lake_kind);
    fl_msg_get_lake_snapshot_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
        request->has_snapshot_id = snapshot_id >= 0;
        request->snapshot_id = snapshot_id;
        request->has_readable = (flags & FLUSS_READABLE) != 0;
        request->readable = request->has_readable;
    }
    return fl_op_submit(op);
}

/* ---- snapshots of key-value tables ---- */

static const fl_result_column latest_columns[] = {
    {"table_id", true},    {"partition_id", true}, {"bucket", true},
    {"snapshot_id", true}, {"offset", true},
};

static fluss_code_t latest_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_get_latest_kv_snapshots_response *response = message;
    for (size_t i = 0; i < response->latest_snapshots_count; i++) {
        const fl_msg_pb_kv_snapshot *snapshot = &response->latest_snapshots[i];
        const fl_cell cells[] = {
            fl_cell_number(response->table_id),
            fl_cell_number_if(response->has_partition_id, response->partition_id),
            fl_cell_number(snapshot->bucket_id),
            fl_cell_number_if(snapshot->has_snapshot_id, snapshot->snapshot_id),
            fl_cell_number_if(snapshot->has_log_offset, snapshot->log_offset),
        };
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind latest_kind = {
    .key = FL_API_GET_LATEST_KV_SNAPSHOTS,
    .is_read = true,
    .request_size = sizeof(fl_msg_get_latest_kv_snapshots_request),
    .columns = latest_columns,
    .column_count = FL_COUNT_OF(latest_columns),
    .rows = latest_rows,
};

static fluss_future_t *latest_snapshots(fluss_conn_t *conn, fluss_path_t path,
                                        const char *partition)
{
    fl_op *op = fl_admin_op(conn, &latest_kind);
    fl_msg_get_latest_kv_snapshots_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
        request->partition_name = fl_op_text_or_none(op, partition, &request->has_partition_name);
    }
    return fl_op_submit(op);
}

static const fl_result_column file_columns[] = {
    {"offset", true},
    {"remote_path", false},
    {"local_name", false},
};

typedef struct snapshot_files {
    fl_msg_pb_table_path path;
    const char *partition;
    fl_located located;
    int64_t snapshot_id;
    int32_t bucket;
} snapshot_files;

static fluss_code_t files_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_get_kv_snapshot_metadata_response *response = message;
    for (size_t i = 0; i < response->snapshot_files_count; i++) {
        const fl_cell cells[] = {
            fl_cell_number(response->log_offset),
            fl_cell_text(response->snapshot_files[i].remote_path),
            fl_cell_text(response->snapshot_files[i].local_file_name),
        };
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static void on_files(void *context, const fl_reply *reply, const fluss_error_t *failure,
                     bool was_sent)
{
    (void)was_sent;
    fl_op *op = context;
    if (failure != NULL) {
        fl_op_fail(op, failure);
    } else {
        fl_op_complete_rows(op, reply->message);
    }
}

static void ask_files(fl_op *op)
{
    const snapshot_files *f = op->state;
    const fl_msg_get_kv_snapshot_metadata_request request = {
        .table_id = f->located.table_id,
        .has_partition_id = f->located.partition_id != FL_NO_PARTITION,
        .partition_id = f->located.partition_id,
        .bucket_id = f->bucket,
        .snapshot_id = f->snapshot_id,
    };
    fluss_error_t err;
    if (fl_op_call_coordinator(op, FL_API_GET_KV_SNAPSHOT_METADATA, &request, on_files, &err) !=
        0) {
        fl_op_fail(op, &err);
    }
}

static void locate_files(fl_op *op)
{
    snapshot_files *f = op->state;
    fl_op_locate(op, &f->path, f->partition, &f->located, ask_files);
}

static const fl_op_kind files_kind = {
    .start = locate_files,
    .columns = file_columns,
    .column_count = FL_COUNT_OF(file_columns),
    .rows = files_rows,
};

fluss_future_t *fluss_kv_snapshots(fluss_conn_t *conn, fluss_path_t path, const char *partition,
                                   int64_t snapshot_id, int32_t bucket)
{
    if (snapshot_id < 0) {
        return latest_snapshots(conn, path, partition);
    }
    fl_op *op = fl_admin_op(conn, &files_kind);
    snapshot_files *f = fl_op_array(op, 1, sizeof(*f));
    if (f != NULL) {
        bool has_partition;
        op->state = f;
        f->path = fl_op_path(op, path);
        f->partition = (const char *)fl_op_text_or_none(op, partition, &has_partition).data;
        f->snapshot_id = snapshot_id;
        f->bucket = bucket;
    }
    return fl_op_submit(op);
}

/* ---- all snapshots ---- */

static const fl_result_column snapshot_columns[] = {
    {"table_id", true},
    {"partition_id", true},
    {"bucket", true},
    {"snapshot_id", true},
};

static fluss_code_t list_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_list_kv_snapshots_response *response = message;
    for (size_t i = 0; i < response->active_snapshots_count; i++) {
        const fl_msg_pb_kv_snapshot *snapshot = &response->active_snapshots[i];
        const fl_cell cells[] = {
            fl_cell_number(response->table_id),
            fl_cell_number_if(response->has_partition_id, response->partition_id),
            fl_cell_number(snapshot->bucket_id),
            fl_cell_number_if(snapshot->has_snapshot_id, snapshot->snapshot_id),
        };
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind list_kind = {
    .key = FL_API_LIST_KV_SNAPSHOTS,
    .is_read = true,
    .request_size = sizeof(fl_msg_list_kv_snapshots_request),
    .columns = snapshot_columns,
    .column_count = FL_COUNT_OF(snapshot_columns),
    .rows = list_rows,
};

fluss_future_t *fluss_list_kv_snapshots(fluss_conn_t *conn, int64_t table_id, int64_t partition_id)
{
    fl_op *op = fl_admin_op(conn, &list_kind);
    fl_msg_list_kv_snapshots_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_id = table_id;
        request->has_partition_id = partition_id >= 0;
        request->partition_id = partition_id;
    }
    return fl_op_submit(op);
}

/* ---- leases ---- */

static fluss_code_t lease_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_acquire_kv_snapshot_lease_response *response = message;
    for (size_t i = 0; i < response->unavailable_snapshots_count; i++) {
        const fl_msg_pb_kv_snapshot_lease_for_table *table = &response->unavailable_snapshots[i];
        for (size_t j = 0; j < table->bucket_snapshots_count; j++) {
            const fl_msg_pb_kv_snapshot_lease_for_bucket *bucket = &table->bucket_snapshots[j];
            const fl_cell cells[] = {
                fl_cell_number(table->table_id),
                fl_cell_number_if(bucket->has_partition_id, bucket->partition_id),
                fl_cell_number(bucket->bucket_id),
                fl_cell_number(bucket->snapshot_id),
            };
            FL_TRY(fl_result_append(result, cells, err));
        }
    }
    return 0;
}

static const fl_op_kind lease_kind = {
    .key = FL_API_ACQUIRE_KV_SNAPSHOT_LEASE,
    .request_size = sizeof(fl_msg_acquire_kv_snapshot_lease_request),
    .columns = snapshot_columns,
    .column_count = FL_COUNT_OF(snapshot_columns),
    .rows = lease_rows,
};

fluss_future_t *fluss_lease_snapshots(fluss_conn_t *conn, const char *lease_id, int64_t duration_ms,
                                      const fluss_position_t *snapshots, size_t n)
{
    fl_op *op = fl_admin_op(conn, &lease_kind);
    fl_msg_acquire_kv_snapshot_lease_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->lease_id = fl_op_text(op, lease_id, "the lease id");
        request->lease_duration_ms = duration_ms;
        fl_admin_need(op, n == 0 || snapshots != NULL, "snapshots must not be NULL");
        request->snapshots_to_lease = fl_op_array(op, n, sizeof(*request->snapshots_to_lease));
        fl_msg_pb_kv_snapshot_lease_for_bucket *buckets = fl_op_array(op, n, sizeof(*buckets));
        for (size_t i = 0; i < n && op->err.code == 0; i++) {
            const fluss_bucket_t *bucket = &snapshots[i].bucket;
            buckets[i] = (fl_msg_pb_kv_snapshot_lease_for_bucket){
                .has_partition_id = bucket->partition_id >= 0,
                .partition_id = bucket->partition_id,
                .bucket_id = bucket->bucket,
                .snapshot_id = snapshots[i].offset,
            };
            request->snapshots_to_lease[request->snapshots_to_lease_count++] =
                (fl_msg_pb_kv_snapshot_lease_for_table){
                    .table_id = bucket->table_id,
                    .bucket_snapshots = &buckets[i],
                    .bucket_snapshots_count = 1,
            };
        }
    }
    return fl_op_submit(op);
}

static const fl_op_kind release_kind = {
    .key = FL_API_RELEASE_KV_SNAPSHOT_LEASE,
    .request_size = sizeof(fl_msg_release_kv_snapshot_lease_request),
};

static const fl_op_kind drop_lease_kind = {
    .key = FL_API_DROP_KV_SNAPSHOT_LEASE,
    .request_size = sizeof(fl_msg_drop_kv_snapshot_lease_request),
};

fluss_future_t *fluss_release_snapshots(fluss_conn_t *conn, const char *lease_id,
                                        const fluss_bucket_t *buckets, size_t n)
{
    if (buckets == NULL) {
        fl_op *op = fl_admin_op(conn, &drop_lease_kind);
        fl_msg_drop_kv_snapshot_lease_request *request = fl_admin_request(op);
        if (request != NULL) {
            request->lease_id = fl_op_text(op, lease_id, "the lease id");
        }
        return fl_op_submit(op);
    }
    fl_op *op = fl_admin_op(conn, &release_kind);
    fl_msg_release_kv_snapshot_lease_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->lease_id = fl_op_text(op, lease_id, "the lease id");
        request->buckets_to_release = fl_op_array(op, n, sizeof(*request->buckets_to_release));
        for (size_t i = 0; i < n && op->err.code == 0; i++) {
            request->buckets_to_release[request->buckets_to_release_count++] =
                (fl_msg_pb_table_bucket){
                    .table_id = buckets[i].table_id,
                    .has_partition_id = buckets[i].partition_id >= 0,
                    .partition_id = buckets[i].partition_id,
                    .bucket_id = buckets[i].bucket,
            };
        }
    }
    return fl_op_submit(op);
}

/* ---- tiered logs ---- */

static const fl_result_column manifest_columns[] = {
    {"table_id", true}, {"partition_id", true}, {"bucket", true}, {"path", false}, {"offset", true},
};

static fluss_code_t manifests_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_list_remote_log_manifests_response *response = message;
    for (size_t i = 0; i < response->manifests_count; i++) {
        const fl_msg_pb_remote_log_manifest_entry *entry = &response->manifests[i];
        const fl_cell cells[] = {
            fl_cell_number(entry->table_bucket.table_id),
            fl_cell_number_if(entry->table_bucket.has_partition_id,
                              entry->table_bucket.partition_id),
            fl_cell_number(entry->table_bucket.bucket_id),
            fl_cell_text(entry->remote_log_manifest_path),
            fl_cell_number(entry->remote_log_end_offset),
        };
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind manifests_kind = {
    .key = FL_API_LIST_REMOTE_LOG_MANIFESTS,
    .is_read = true,
    .request_size = sizeof(fl_msg_list_remote_log_manifests_request),
    .columns = manifest_columns,
    .column_count = FL_COUNT_OF(manifest_columns),
    .rows = manifests_rows,
};

fluss_future_t *fluss_remote_log_manifests(fluss_conn_t *conn, int64_t table_id,
                                           int64_t partition_id)
{
    fl_op *op = fl_admin_op(conn, &manifests_kind);
    fl_msg_list_remote_log_manifests_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_id = table_id;
        request->has_partition_id = partition_id >= 0;
        request->partition_id = partition_id;
    }
    return fl_op_submit(op);
}

/* ---- access to remote files ---- */

static const fl_result_column token_columns[] = {
    {"scheme", false}, {"token", false}, {"expires_ms", true}, {"key", false}, {"value", false},
};

static fluss_code_t token_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_get_file_system_security_token_response *response = message;
    const size_t count = response->addition_info_count;
    for (size_t i = 0; i == 0 || i < count; i++) {
        fl_cell cells[] = {
            fl_cell_text(response->schema),
            fl_cell_text(response->token),
            fl_cell_number_if(response->has_expiration_time, response->expiration_time),
            {0},
            {0},
        };
        if (i < count) {
            cells[3] = fl_cell_text(response->addition_info[i].key);
            cells[4] = fl_cell_text(response->addition_info[i].value);
        }
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind token_kind = {
    .key = FL_API_GET_FILESYSTEM_SECURITY_TOKEN,
    .target = FL_TARGET_ANY_SERVER,
    .is_read = true,
    .request_size = sizeof(fl_msg_get_file_system_security_token_request),
    .columns = token_columns,
    .column_count = FL_COUNT_OF(token_columns),
    .rows = token_rows,
};

fluss_future_t *fluss_file_system_token(fluss_conn_t *conn)
{
    return fl_op_submit(fl_admin_op(conn, &token_kind));
}
