/* SPDX-License-Identifier: Apache-2.0 */
/* KV snapshots, leases on them, and remote log segments: this server has none of them, and answers
 * as an official cluster before the first one was made. What a request names is checked as there.
 */
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"

static fluss_code_t find_partition_of(const fl_msg_get_latest_kv_snapshots_request *asked,
                                      fl_table *table, int64_t *partition_id, fluss_error_t *err)
{
    const fl_table_info *info = table->info;
    if (!info->is_partitioned) {
        return asked->has_partition_name
                   ? fl_error(err, FLUSS_E_TABLE_NOT_PARTITIONED, FLUSS_KIND_SERVER,
                              "Table '%s.%s' is not a partitioned table.", info->database,
                              info->name)
                   : 0;
    }
    const fl_partition *partition =
        asked->has_partition_name ? fl_table_partition(table, asked->partition_name) : NULL;
    if (partition == NULL) {
        return fl_table_info_no_partition(info, asked->partition_name, err);
    }
    *partition_id = partition->id;
    return 0;
}

static fluss_code_t list_snapshots(fl_request *req, fl_msg_get_latest_kv_snapshots_response *out,
                                   fluss_error_t *err)
{
    const fl_msg_get_latest_kv_snapshots_request *asked = req->message;
    fl_table *table = NULL;
    FL_TRY(fl_find_table(req, &asked->table_path, &table, err));
    if (!table->info->has_primary_key) {
        return fl_error(err, FLUSS_E_NON_PRIMARY_KEY_TABLE, FLUSS_KIND_SERVER,
                        "Table '%s.%s' has no primary key, so no KV snapshots.",
                        table->info->database, table->info->name);
    }
    FL_TRY(find_partition_of(asked, table, &out->partition_id, err));
    out->has_partition_id = table->info->is_partitioned;
    out->table_id = table->id;
    out->latest_snapshots_count = (size_t)table->info->bucket_count;
    out->latest_snapshots =
        fl_arena_array(&req->arena, out->latest_snapshots_count, sizeof(out->latest_snapshots[0]));
    if (out->latest_snapshots == NULL) {
        return fl_error_nomem(err);
    }
    for (int32_t i = 0; i < table->info->bucket_count; i++) {
        out->latest_snapshots[i].bucket_id = i;
    }
    return 0;
}

void fl_handle_get_latest_kv_snapshots(fl_request *req)
{
    fl_msg_get_latest_kv_snapshots_response response = {0};
    fluss_error_t err;
    if (list_snapshots(req, &response, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply(req, &response);
}

void fl_handle_get_kv_snapshot_metadata(fl_request *req)
{
    const fl_msg_get_kv_snapshot_metadata_request *asked = req->message;
    fluss_error_t err;
    (void)fl_error(&err, FLUSS_E_KV_SNAPSHOT_NOT_EXIST, FLUSS_KIND_SERVER,
                   "Bucket %d of table id %lld has no KV snapshot %lld.", (int)asked->bucket_id,
                   (long long)asked->table_id, (long long)asked->snapshot_id);
    fl_request_fail(req, &err);
}

/* ---- by table id ---- */

static fluss_code_t find_by_id(fl_request *req, int64_t table_id, fl_table **table,
                               fluss_error_t *err)
{
    *table = fl_catalog_table_by_id(fl_request_server(req)->catalog, table_id);
    return *table != NULL ? 0
                          : fl_error(err, FLUSS_E_UNKNOWN_TABLE_OR_BUCKET, FLUSS_KIND_SERVER,
                                     "no table has the id %lld here", (long long)table_id);
}

static fluss_code_t check_partition_id(fl_table *table, int64_t table_id, bool has_partition_id,
                                       int64_t partition_id, fluss_error_t *err)
{
    if (!has_partition_id || (table != NULL && fl_table_partition_by_id(table, partition_id))) {
        return 0;
    }
    return fl_error(err, FLUSS_E_PARTITION_NOT_EXISTS, FLUSS_KIND_SERVER,
                    "Partition %lld of table id %lld does not exist.", (long long)partition_id,
                    (long long)table_id);
}

/* A table that is not there has no manifests; a partition that is not there is an error. */
void fl_handle_list_remote_log_manifests(fl_request *req)
{
    const fl_msg_list_remote_log_manifests_request *asked = req->message;
    const fl_msg_list_remote_log_manifests_response response = {0};
    fluss_error_t err;
    fl_table *table = fl_catalog_table_by_id(fl_request_server(req)->catalog, asked->table_id);
    if (check_partition_id(table, asked->table_id, asked->has_partition_id, asked->partition_id,
                           &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply(req, &response);
}

static fluss_code_t check_list(fl_request *req, fluss_error_t *err)
{
    const fl_msg_list_kv_snapshots_request *asked = req->message;
    fl_table *table = fl_catalog_table_by_id(fl_request_server(req)->catalog, asked->table_id);
    FL_TRY(check_partition_id(table, asked->table_id, asked->has_partition_id, asked->partition_id,
                              err));
    return table != NULL ? 0
                         : fl_error(err, FLUSS_E_TABLE_NOT_EXIST, FLUSS_KIND_SERVER,
                                    "Table %lld does not exist.", (long long)asked->table_id);
}

void fl_handle_list_kv_snapshots(fl_request *req)
{
    const fl_msg_list_kv_snapshots_request *asked = req->message;
    const fl_msg_list_kv_snapshots_response response = {.table_id = asked->table_id,
                                                        .has_partition_id = asked->has_partition_id,
                                                        .partition_id = asked->partition_id};
    fluss_error_t err;
    if (check_list(req, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply(req, &response);
}

/* ---- leases ---- */

static fluss_code_t check_kv_table(fl_request *req, int64_t table_id, fluss_error_t *err)
{
    fl_table *table;
    FL_TRY(find_by_id(req, table_id, &table, err));
    return table->info->has_primary_key
               ? 0
               : fl_error(err, FLUSS_E_NON_PRIMARY_KEY_TABLE, FLUSS_KIND_SERVER,
                          "Table '%s.%s' has no primary key, so no KV snapshots.",
                          table->info->database, table->info->name);
}

/* All snapshots that are asked for are gone: nothing is leased, and nothing has to be kept. */
void fl_handle_acquire_kv_snapshot_lease(fl_request *req)
{
    const fl_msg_acquire_kv_snapshot_lease_request *asked = req->message;
    const fl_msg_acquire_kv_snapshot_lease_response response = {
        .unavailable_snapshots = asked->snapshots_to_lease,
        .unavailable_snapshots_count = asked->snapshots_to_lease_count};
    fluss_error_t err;
    for (size_t i = 0; i < asked->snapshots_to_lease_count; i++) {
        if (check_kv_table(req, asked->snapshots_to_lease[i].table_id, &err) != 0) {
            fl_request_fail(req, &err);
            return;
        }
    }
    fl_request_reply(req, &response);
}

void fl_handle_release_kv_snapshot_lease(fl_request *req)
{
    const fl_msg_release_kv_snapshot_lease_request *asked = req->message;
    fluss_error_t err;
    for (size_t i = 0; i < asked->buckets_to_release_count; i++) {
        if (check_kv_table(req, asked->buckets_to_release[i].table_id, &err) != 0) {
            fl_request_fail(req, &err);
            return;
        }
    }
    fl_request_reply_empty(req);
}

/* A lease that is not there is dropped without an error. */
void fl_handle_drop_kv_snapshot_lease(fl_request *req)
{
    fl_request_reply_empty(req);
}
