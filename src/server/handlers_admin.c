/* SPDX-License-Identifier: Apache-2.0 */
/* What a cluster has and a single server has not, answered as an official cluster answers that does
 * not use it: ACLs without an authorizer, rebalancing without a second server, KV snapshots that
 * were not taken; and the settings that the server was started with. */
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"

/* ---- ACLs ---- */

static void refuse_acls(fl_request *req)
{
    fluss_error_t err;
    (void)fl_error(&err, FLUSS_E_SECURITY_DISABLED, FLUSS_KIND_SERVER,
                   "No authorizer is configured: everyone who can connect may do everything.");
    fl_request_fail(req, &err);
}

void fl_handle_create_acls(fl_request *req)
{
    refuse_acls(req);
}

void fl_handle_list_acls(fl_request *req)
{
    refuse_acls(req);
}

void fl_handle_drop_acls(fl_request *req)
{
    refuse_acls(req);
}

/* ---- settings ---- */

void fl_handle_describe_cluster_configs(fl_request *req)
{
    const fl_settings *settings = &fl_request_server(req)->settings;
    fl_msg_pb_describe_config *configs =
        fl_arena_array(&req->arena, settings->given_count, sizeof(configs[0]));
    if (configs == NULL) {
        fl_request_fail_nomem(req);
        return;
    }
    for (size_t i = 0; i < settings->given_count; i++) {
        configs[i] =
            (fl_msg_pb_describe_config){.config_key = fl_slice_str(settings->given[i].key),
                                        .has_config_value = true,
                                        .config_value = fl_slice_str(settings->given[i].value),
                                        .config_source = fl_slice_str("INITIAL_SERVER_CONFIG")};
    }
    const fl_msg_describe_cluster_configs_response response = {
        .configs = configs, .configs_count = settings->given_count};
    fl_request_reply(req, &response);
}

void fl_handle_alter_cluster_configs(fl_request *req)
{
    const fl_msg_alter_cluster_configs_request *asked = req->message;
    const fl_msg_alter_cluster_configs_response response = {0};
    fluss_error_t err;
    if (asked->alter_configs_count == 0) {
        fl_request_reply(req, &response);
        return;
    }
    (void)fl_error(&err, FLUSS_E_CONFIG_EXCEPTION, FLUSS_KIND_SERVER,
                   "The setting '%.*s' can't be changed while the server runs.",
                   FL_SLICE_ARG(asked->alter_configs[0].config_key));
    fl_request_fail(req, &err);
}

/* ---- rebalancing ---- */

void fl_handle_rebalance(fl_request *req)
{
    fluss_error_t err;
    (void)fl_error(&err, FLUSS_E_REBALANCE_FAILURE, FLUSS_KIND_SERVER,
                   "There is one server: nothing can be rebalanced.");
    fl_request_fail(req, &err);
}

void fl_handle_list_rebalance_progress(fl_request *req)
{
    const fl_msg_list_rebalance_progress_response response = {0};
    fl_request_reply(req, &response);
}

void fl_handle_cancel_rebalance(fl_request *req)
{
    fluss_error_t err;
    (void)fl_error(&err, FLUSS_E_NO_REBALANCE_IN_PROGRESS, FLUSS_KIND_SERVER,
                   "No rebalance is in progress.");
    fl_request_fail(req, &err);
}

/* ---- KV snapshots: none are taken, clients read the changelog, or scan the rows ---- */

static fluss_code_t find_partition(const fl_msg_get_latest_kv_snapshots_request *asked,
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
        return fl_error(err, FLUSS_E_PARTITION_NOT_EXISTS, FLUSS_KIND_SERVER,
                        "Table partition '%s.%s(p=%.*s)' does not exist.", info->database,
                        info->name, FL_SLICE_ARG(asked->partition_name));
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
    FL_TRY(find_partition(asked, table, &out->partition_id, err));
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
