/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster as a whole: writer ids, health, and what only clusters with remote or lake storage
 * have. */
#include "protocol/messages.h"
#include "server/catalog.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"

/* ---- INIT_WRITER ---- */

static void reply_writer_id(fl_request *req)
{
    fl_msg_init_writer_response response = {0};
    fluss_error_t err;
    if (!fl_catalog_new_writer_id(fl_request_server(req)->catalog, &response.writer_id)) {
        (void)fl_error(&err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_STATE, "no writer id left");
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply(req, &response);
}

static void writer_block_committed(fl_change *change)
{
    fl_request *req = change->context;
    if (change->error.code != 0) {
        fl_request_fail(req, &change->error);
        return;
    }
    fl_catalog_add_writer_block(change->catalog);
    reply_writer_id(req);
}

/* Ids are committed a thousand at a time; after a restart the rest of a block is skipped. */
void fl_handle_init_writer(fl_request *req)
{
    fl_catalog *catalog = fl_request_server(req)->catalog;
    if (fl_catalog_has_writer_id(catalog)) {
        reply_writer_id(req);
        return;
    }
    fl_kv_write *write = fl_plan_begin(req, 0);
    if (write == NULL) {
        return;
    }
    fl_catalog_put_writer_block(catalog, write);
    fl_change_commit(req->change, write, writer_block_committed);
}

/* ---- the rest ---- */

/* One server, which has every replica and leads it. */
void fl_handle_get_cluster_health(fl_request *req)
{
    int64_t count = 0;
    for (fl_table *table = fl_catalog_tables(fl_request_server(req)->catalog); table != NULL;
         table = table->by_id.next) {
        const int64_t parts =
            table->info->is_partitioned ? (int64_t)fl_table_partition_count(table) : 1;
        count += parts * table->info->bucket_count;
    }
    const int32_t replicas = count < INT32_MAX ? (int32_t)count : INT32_MAX;
    const fl_msg_get_cluster_health_response response = {.num_replicas = replicas,
                                                         .in_sync_replicas = replicas,
                                                         .num_leader_replicas = replicas,
                                                         .active_leader_replicas = replicas,
                                                         .status = 0};
    fl_request_reply(req, &response);
}

void fl_handle_get_lake_snapshot(fl_request *req)
{
    const fl_msg_get_lake_snapshot_request *asked = req->message;
    fluss_error_t err;
    fl_table *table = NULL;
    if (asked->has_snapshot_id && asked->has_readable && asked->readable) {
        (void)fl_error(&err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                       "a snapshot id and 'readable' exclude each other");
    } else if (fl_find_table(req, &asked->table_path, &table, &err) == 0) {
        (void)fl_error(&err, FLUSS_E_LAKE_SNAPSHOT_NOT_EXIST, FLUSS_KIND_STATE,
                       "Lake snapshot of table %s.%s does not exist: this server has no lake "
                       "storage",
                       table->info->database, table->info->name);
    }
    fl_request_fail(req, &err);
}

/* All files are local; nobody needs a token. */
void fl_handle_get_file_system_security_token(fl_request *req)
{
    const fl_msg_get_file_system_security_token_response response = {.schema =
                                                                         fl_slice_str("file")};
    fl_request_reply(req, &response);
}
