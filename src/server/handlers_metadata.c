/* SPDX-License-Identifier: Apache-2.0 */
/* GET_METADATA: who serves what. Every bucket is led by this server; a client is told the address
 * that it came to. Unlike the official server, a table that does not exist is answered with its own
 * code (7) and name, not with -1. Tables that the user may not describe are left out. */
#include "server/access.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"
#include "server/session.h"

enum { ENTRIES_MAX = 1 << 14, RESPONSE_SIZE_MAX = 64 << 20 /* bytes of bucket entries */ };

static const int32_t only_replica[] = {FL_SERVER_ID};

static fluss_code_t fill_buckets(fl_request *req, const fl_table_info *info,
                                 fl_msg_pb_bucket_metadata **buckets, size_t *count,
                                 fluss_error_t *err)
{
    if (req->arena.size_total > RESPONSE_SIZE_MAX) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "metadata of too many buckets in one request");
    }
    *count = (size_t)info->bucket_count;
    *buckets = fl_arena_array(&req->arena, *count, sizeof(**buckets));
    if (*buckets == NULL) {
        return fl_error_nomem(err);
    }
    /* The codec does not write to what it encodes. */
    int32_t *replicas = (int32_t *)(uintptr_t)only_replica;
    for (int32_t i = 0; i < info->bucket_count; i++) {
        (*buckets)[i] = (fl_msg_pb_bucket_metadata){.bucket_id = i,
                                                    .has_leader_id = true,
                                                    .leader_id = FL_SERVER_ID,
                                                    .replica_id = replicas,
                                                    .replica_id_count = 1,
                                                    .has_leader_epoch = true};
    }
    return 0;
}

static fluss_code_t fill_table(fl_request *req, const fl_msg_pb_table_path *path,
                               fl_msg_pb_table_metadata *out, fluss_error_t *err)
{
    fl_table *table = NULL;
    FL_TRY(fl_find_table(req, path, &table, err));
    const fl_table_info *info = table->info;
    out->table_path = *path;
    out->table_id = info->table_id;
    out->schema_id = info->schema_count;
    out->created_time = info->created_ms;
    out->modified_time = info->modified_ms;
    FL_TRY(fl_request_keep_text(req, info->json, &out->table_json, err));
    return info->is_partitioned
               ? 0
               : fill_buckets(req, info, &out->bucket_metadata, &out->bucket_metadata_count, err);
}

static fluss_code_t fill_partition(fl_request *req, const fl_table *table,
                                   const fl_partition *partition, fl_msg_pb_partition_metadata *out,
                                   fluss_error_t *err)
{
    out->table_id = table->id;
    out->partition_id = partition->id;
    out->partition_name = fl_request_text(req, partition->name);
    return fill_buckets(req, table->info, &out->bucket_metadata, &out->bucket_metadata_count, err);
}

static fluss_code_t fill_by_name(fl_request *req, const fl_msg_pb_physical_table_path *path,
                                 fl_msg_pb_partition_metadata *out, fluss_error_t *err)
{
    const fl_msg_pb_table_path table_path = {.database_name = path->database_name,
                                             .table_name = path->table_name};
    fl_table *table = NULL;
    FL_TRY(fl_find_table(req, &table_path, &table, err));
    const fl_partition *partition =
        path->has_partition_name ? fl_table_partition(table, path->partition_name) : NULL;
    if (partition == NULL) {
        return fl_table_info_no_partition(table->info, path->partition_name, err);
    }
    return fill_partition(req, table, partition, out, err);
}

/* An id is looked for in the tables that the request names. */
static fluss_code_t fill_by_id(fl_request *req, int64_t partition_id,
                               fl_msg_pb_partition_metadata *out, fluss_error_t *err)
{
    const fl_msg_metadata_request *asked = req->message;
    for (size_t i = 0; i < asked->table_path_count; i++) {
        fl_table *table = NULL;
        if (!fl_access_allows_table(req, FL_OPERATION_DESCRIBE, &asked->table_path[i])) {
            continue;
        }
        FL_TRY(fl_find_table(req, &asked->table_path[i], &table, err));
        const fl_partition *partition = fl_table_partition_by_id(table, partition_id);
        if (partition != NULL) {
            return fill_partition(req, table, partition, out, err);
        }
    }
    return fl_error(err, FLUSS_E_PARTITION_NOT_EXISTS, FLUSS_KIND_SERVER,
                    "Partition with the id %lld does not exist in the tables of the request.",
                    (long long)partition_id);
}

static fluss_code_t fill(fl_request *req, fl_msg_metadata_response *out, fluss_error_t *err)
{
    const fl_msg_metadata_request *asked = req->message;
    const size_t partition_count = asked->partitions_path_count + asked->partitions_id_count;
    if (asked->table_path_count + partition_count > ENTRIES_MAX) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "metadata of %zu tables and partitions; at most %d are possible",
                        asked->table_path_count + partition_count, (int)ENTRIES_MAX);
    }
    out->table_metadata =
        fl_arena_array(&req->arena, asked->table_path_count, sizeof(out->table_metadata[0]));
    out->partition_metadata =
        fl_arena_array(&req->arena, partition_count, sizeof(out->partition_metadata[0]));
    if (out->table_metadata == NULL || out->partition_metadata == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < asked->table_path_count; i++) {
        if (fl_access_allows_table(req, FL_OPERATION_DESCRIBE, &asked->table_path[i])) {
            FL_TRY(fill_table(req, &asked->table_path[i],
                              &out->table_metadata[out->table_metadata_count++], err));
        }
    }
    for (size_t i = 0; i < asked->partitions_path_count; i++) {
        const fl_msg_pb_physical_table_path *path = &asked->partitions_path[i];
        const fl_msg_pb_table_path table = {.database_name = path->database_name,
                                            .table_name = path->table_name};
        if (fl_access_allows_table(req, FL_OPERATION_DESCRIBE, &table)) {
            FL_TRY(fill_by_name(req, path,
                                &out->partition_metadata[out->partition_metadata_count++], err));
        }
    }
    for (size_t i = 0; i < asked->partitions_id_count; i++) {
        FL_TRY(fill_by_id(req, asked->partitions_id[i],
                          &out->partition_metadata[out->partition_metadata_count++], err));
    }
    return 0;
}

void fl_handle_get_metadata(fl_request *req)
{
    fl_msg_metadata_response response = {0};
    fluss_error_t err;
    fl_msg_pb_server_node node = {.node_id = FL_SERVER_ID,
                                  .host = fl_slice_str(req->session->host),
                                  .port = req->session->port};
    response.has_coordinator_server = true;
    response.coordinator_server = node;
    response.tablet_servers = &node;
    response.tablet_servers_count = 1;
    if (fill(req, &response, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply(req, &response);
}
