/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of the cluster: servers, health, settings, tags, rebalance, producer offsets. */
#include <fluss/fluss_admin.h>
#include <stdio.h>
#include <string.h>

#include "client/admin.h"
#include "client/metadata.h"
#include "net/listener.h"

/* ---- servers ---- */

static const fl_result_column node_columns[] = {
    {"id", true}, {"role", false}, {"host", false}, {"port", true}, {"rack", false},
};

static fluss_code_t node_row(fluss_result_t *result, const fl_server *server, fluss_error_t *err)
{
    char host[FL_ADDRESS_SIZE_MAX];
    uint16_t port = 0;
    if (strncmp(server->address, "unix:", 5) == 0) {
        memcpy(host, server->address, sizeof(host));
    } else {
        FL_TRY(fl_address_parse(server->address, host, sizeof(host), &port, err));
    }
    const fl_cell cells[] = {
        fl_cell_number(server->id),
        fl_cell_text(fl_slice_str(server->is_coordinator ? "coordinator" : "tablet")),
        fl_cell_text(fl_slice_str(host)),
        fl_cell_number(port),
        server->rack[0] != '\0' ? fl_cell_text(fl_slice_str(server->rack)) : (fl_cell){0},
    };
    return fl_result_append(result, cells, err);
}

static fluss_code_t node_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_metadata *metadata = message;
    for (size_t i = 0; i < fl_metadata_server_count(metadata); i++) {
        FL_TRY(node_row(result, fl_metadata_server_at(metadata, i), err));
    }
    return 0;
}

static void on_nodes(void *context, const fluss_error_t *failure)
{
    fl_op *op = context;
    if (failure != NULL) {
        fl_op_fail(op, failure);
    } else {
        fl_op_complete_rows(op, op->client->metadata);
    }
}

static void ask_nodes(fl_op *op)
{
    fluss_error_t err;
    const fl_metadata_want want = {.partition_id = FL_NO_PARTITION};
    if (fl_metadata_refresh(op->client->metadata, want, on_nodes, op, &err) != 0) {
        fl_op_fail(op, &err);
    }
}

static const fl_op_kind nodes_kind = {
    .start = ask_nodes,
    .columns = node_columns,
    .column_count = FL_COUNT_OF(node_columns),
    .rows = node_rows,
};

fluss_future_t *fluss_server_nodes(fluss_conn_t *conn)
{
    return fl_op_submit(fl_admin_op(conn, &nodes_kind));
}

/* ---- health ---- */

static const fl_result_column health_columns[] = {
    {"status", false}, {"replicas", true},       {"in_sync_replicas", true},
    {"leaders", true}, {"active_leaders", true},
};

static fluss_code_t health_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    static const char *const names[] = {"GREEN", "YELLOW", "RED", "UNKNOWN"};
    const fl_msg_get_cluster_health_response *response = message;
    const bool is_known = response->status >= 0 && response->status < 3;
    const fl_cell cells[] = {
        fl_cell_text(fl_slice_str(names[is_known ? response->status : 3])),
        fl_cell_number(response->num_replicas),
        fl_cell_number(response->in_sync_replicas),
        fl_cell_number(response->num_leader_replicas),
        fl_cell_number(response->active_leader_replicas),
    };
    return fl_result_append(result, cells, err);
}

static const fl_op_kind health_kind = {
    .key = FL_API_GET_CLUSTER_HEALTH,
    .is_read = true,
    .request_size = sizeof(fl_msg_get_cluster_health_request),
    .columns = health_columns,
    .column_count = FL_COUNT_OF(health_columns),
    .rows = health_rows,
};

fluss_future_t *fluss_cluster_health(fluss_conn_t *conn)
{
    return fl_op_submit(fl_admin_op(conn, &health_kind));
}

/* ---- settings ---- */

static const fl_result_column config_columns[] = {
    {"key", false},
    {"value", false},
    {"source", false},
};

static fluss_code_t configs_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_describe_cluster_configs_response *response = message;
    for (size_t i = 0; i < response->configs_count; i++) {
        const fl_msg_pb_describe_config *config = &response->configs[i];
        const fl_cell cells[] = {
            fl_cell_text(config->config_key),
            fl_cell_text_if(config->has_config_value, config->config_value),
            fl_cell_text(config->config_source),
        };
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind configs_kind = {
    .key = FL_API_DESCRIBE_CLUSTER_CONFIGS,
    .is_read = true,
    .request_size = sizeof(fl_msg_describe_cluster_configs_request),
    .columns = config_columns,
    .column_count = FL_COUNT_OF(config_columns),
    .rows = configs_rows,
};

fluss_future_t *fluss_cluster_configs(fluss_conn_t *conn)
{
    return fl_op_submit(fl_admin_op(conn, &configs_kind));
}

static const fl_op_kind alter_configs_kind = {
    .key = FL_API_ALTER_CLUSTER_CONFIGS,
    .request_size = sizeof(fl_msg_alter_cluster_configs_request),
};

fluss_future_t *fluss_alter_cluster_configs(fluss_conn_t *conn, const fluss_kv_t *set, size_t n)
{
    fl_op *op = fl_admin_op(conn, &alter_configs_kind);
    fl_msg_alter_cluster_configs_request *request = fl_admin_request(op);
    if (request != NULL) {
        fl_admin_need(op, n == 0 || set != NULL, "set must not be NULL");
        request->alter_configs = fl_op_array(op, n, sizeof(*request->alter_configs));
        for (size_t i = 0; i < n && op->err.code == 0; i++) {
            request->alter_configs[request->alter_configs_count++] =
                fl_admin_change(op, set[i].key, set[i].value);
        }
    }
    return fl_op_submit(op);
}

/* ---- tags and rebalance ---- */

static int32_t *copy_numbers(fl_op *op, const int32_t *numbers, size_t n, const char *what)
{
    fl_admin_need(op, n == 0 || numbers != NULL, what);
    int32_t *copy = fl_op_array(op, n, sizeof(*copy));
    if (copy != NULL && numbers != NULL && n > 0) {
        memcpy(copy, numbers, n * sizeof(*copy));
    }
    return copy;
}

static const fl_op_kind add_tag_kind = {
    .key = FL_API_ADD_SERVER_TAG,
    .request_size = sizeof(fl_msg_add_server_tag_request),
};

fluss_future_t *fluss_add_server_tag(fluss_conn_t *conn, const int32_t *servers, size_t n,
                                     int32_t tag)
{
    fl_op *op = fl_admin_op(conn, &add_tag_kind);
    fl_msg_add_server_tag_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->server_ids = copy_numbers(op, servers, n, "servers must not be NULL");
        request->server_ids_count = n;
        request->server_tag = tag;
    }
    return fl_op_submit(op);
}

static const fl_op_kind remove_tag_kind = {
    .key = FL_API_REMOVE_SERVER_TAG,
    .request_size = sizeof(fl_msg_remove_server_tag_request),
};

fluss_future_t *fluss_remove_server_tag(fluss_conn_t *conn, const int32_t *servers, size_t n,
                                        int32_t tag)
{
    fl_op *op = fl_admin_op(conn, &remove_tag_kind);
    fl_msg_remove_server_tag_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->server_ids = copy_numbers(op, servers, n, "servers must not be NULL");
        request->server_ids_count = n;
        request->server_tag = tag;
    }
    return fl_op_submit(op);
}

static const fl_result_column rebalance_columns[] = {{"id", false}};

static fluss_code_t rebalance_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_rebalance_response *response = message;
    const fl_cell cells[] = {fl_cell_text(response->rebalance_id)};
    return fl_result_append(result, cells, err);
}

static const fl_op_kind rebalance_kind = {
    .key = FL_API_REBALANCE,
    .request_size = sizeof(fl_msg_rebalance_request),
    .columns = rebalance_columns,
    .column_count = FL_COUNT_OF(rebalance_columns),
    .rows = rebalance_rows,
};

fluss_future_t *fluss_rebalance(fluss_conn_t *conn, const int32_t *goals, size_t n)
{
    fl_op *op = fl_admin_op(conn, &rebalance_kind);
    fl_msg_rebalance_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->goals = copy_numbers(op, goals, n, "goals must not be NULL");
        request->goals_count = n;
    }
    return fl_op_submit(op);
}

static const fl_result_column progress_columns[] = {
    {"id", false},           {"status", true},        {"table_id", true},   {"partition_id", true},
    {"bucket", true},        {"bucket_status", true}, {"old_leader", true}, {"new_leader", true},
    {"old_replicas", false}, {"new_replicas", false},
};

static fl_cell join_numbers(const int32_t *numbers, size_t count, char text[512])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < 490; i++) {
        used += (size_t)snprintf(text + used, 512 - used, "%s%d", i > 0 ? "," : "", numbers[i]);
    }
    return fl_cell_text(fl_slice_of(text, used));
}

static fluss_code_t progress_row(fluss_result_t *result,
                                 const fl_msg_list_rebalance_progress_response *response,
                                 const fl_msg_pb_rebalance_progress_for_table *table,
                                 const fl_msg_pb_rebalance_progress_for_bucket *bucket,
                                 fluss_error_t *err)
{
    char old_text[512], new_text[512];
    const fl_msg_pb_rebalance_plan_for_bucket *plan = &bucket->rebalance_plan;
    const fl_cell cells[] = {
        fl_cell_text(response->rebalance_id),
        fl_cell_number_if(response->has_rebalance_status, response->rebalance_status),
        fl_cell_number(table->table_id),
        fl_cell_number_if(plan->has_partition_id, plan->partition_id),
        fl_cell_number(plan->bucket_id),
        fl_cell_number(bucket->rebalance_status),
        fl_cell_number_if(plan->has_original_leader, plan->original_leader),
        fl_cell_number_if(plan->has_new_leader, plan->new_leader),
        join_numbers(plan->original_replicas, plan->original_replicas_count, old_text),
        join_numbers(plan->new_replicas, plan->new_replicas_count, new_text),
    };
    return fl_result_append(result, cells, err);
}

static fluss_code_t progress_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_list_rebalance_progress_response *response = message;
    size_t rows = 0;
    for (size_t i = 0; i < response->table_progress_count; i++) {
        const fl_msg_pb_rebalance_progress_for_table *table = &response->table_progress[i];
        for (size_t j = 0; j < table->buckets_progress_count; j++) {
            FL_TRY(progress_row(result, response, table, &table->buckets_progress[j], err));
            rows++;
        }
    }
    if (rows == 0 && response->has_rebalance_id) {
        fl_cell cells[FL_COUNT_OF(progress_columns)] = {0};
        cells[0] = fl_cell_text(response->rebalance_id);
        cells[1] = fl_cell_number_if(response->has_rebalance_status, response->rebalance_status);
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind progress_kind = {
    .key = FL_API_LIST_REBALANCE_PROGRESS,
    .is_read = true,
    .request_size = sizeof(fl_msg_list_rebalance_progress_request),
    .columns = progress_columns,
    .column_count = FL_COUNT_OF(progress_columns),
    .rows = progress_rows,
};

fluss_future_t *fluss_rebalance_progress(fluss_conn_t *conn, const char *id)
{
    fl_op *op = fl_admin_op(conn, &progress_kind);
    fl_msg_list_rebalance_progress_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->rebalance_id = fl_op_text_or_none(op, id, &request->has_rebalance_id);
    }
    return fl_op_submit(op);
}

static const fl_op_kind cancel_kind = {
    .key = FL_API_CANCEL_REBALANCE,
    .request_size = sizeof(fl_msg_cancel_rebalance_request),
};

fluss_future_t *fluss_cancel_rebalance(fluss_conn_t *conn, const char *id)
{
    fl_op *op = fl_admin_op(conn, &cancel_kind);
    fl_msg_cancel_rebalance_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->rebalance_id = fl_op_text_or_none(op, id, &request->has_rebalance_id);
    }
    return fl_op_submit(op);
}

/* ---- producer offsets ---- */

static const fl_op_kind set_offsets_kind = {
    .key = FL_API_REGISTER_PRODUCER_OFFSETS,
    .request_size = sizeof(fl_msg_register_producer_offsets_request),
};

fluss_future_t *fluss_set_producer_offsets(fluss_conn_t *conn, const char *producer_id,
                                           const fluss_position_t *pos, size_t n)
{
    fl_op *op = fl_admin_op(conn, &set_offsets_kind);
    fl_msg_register_producer_offsets_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->producer_id = fl_op_text(op, producer_id, "the producer id");
        fl_admin_need(op, n == 0 || pos != NULL, "pos must not be NULL");
        request->table_offsets = fl_op_array(op, n, sizeof(*request->table_offsets));
        fl_msg_pb_bucket_offset *offsets = fl_op_array(op, n, sizeof(*offsets));
        for (size_t i = 0; i < n && op->err.code == 0; i++) {
            offsets[i] = (fl_msg_pb_bucket_offset){
                .has_partition_id = pos[i].bucket.partition_id >= 0,
                .partition_id = pos[i].bucket.partition_id,
                .bucket_id = pos[i].bucket.bucket,
                .has_log_end_offset = true,
                .log_end_offset = pos[i].offset,
            };
            request->table_offsets[request->table_offsets_count++] =
                (fl_msg_pb_producer_table_offsets){
                    .table_id = pos[i].bucket.table_id,
                    .bucket_offsets = &offsets[i],
                    .bucket_offsets_count = 1,
            };
        }
    }
    return fl_op_submit(op);
}

static const fl_result_column offset_columns[] = {
    {"table_id", true}, {"partition_id", true}, {"bucket", true},
    {"offset", true},   {"expires_ms", true},
};

static fluss_code_t offsets_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_get_producer_offsets_response *response = message;
    for (size_t i = 0; i < response->table_offsets_count; i++) {
        const fl_msg_pb_producer_table_offsets *table = &response->table_offsets[i];
        for (size_t j = 0; j < table->bucket_offsets_count; j++) {
            const fl_msg_pb_bucket_offset *bucket = &table->bucket_offsets[j];
            const fl_cell cells[] = {
                fl_cell_number(table->table_id),
                fl_cell_number_if(bucket->has_partition_id, bucket->partition_id),
                fl_cell_number(bucket->bucket_id),
                fl_cell_number_if(bucket->has_log_end_offset, bucket->log_end_offset),
                fl_cell_number_if(response->has_expiration_time, response->expiration_time),
            };
            FL_TRY(fl_result_append(result, cells, err));
        }
    }
    return 0;
}

static const fl_op_kind get_offsets_kind = {
    .key = FL_API_GET_PRODUCER_OFFSETS,
    .is_read = true,
    .request_size = sizeof(fl_msg_get_producer_offsets_request),
    .columns = offset_columns,
    .column_count = FL_COUNT_OF(offset_columns),
    .rows = offsets_rows,
};

fluss_future_t *fluss_get_producer_offsets(fluss_conn_t *conn, const char *producer_id)
{
    fl_op *op = fl_admin_op(conn, &get_offsets_kind);
    fl_msg_get_producer_offsets_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->producer_id = fl_op_text(op, producer_id, "the producer id");
    }
    return fl_op_submit(op);
}

static const fl_op_kind delete_offsets_kind = {
    .key = FL_API_DELETE_PRODUCER_OFFSETS,
    .request_size = sizeof(fl_msg_delete_producer_offsets_request),
};

fluss_future_t *fluss_delete_producer_offsets(fluss_conn_t *conn, const char *producer_id)
{
    fl_op *op = fl_admin_op(conn, &delete_offsets_kind);
    fl_msg_delete_producer_offsets_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->producer_id = fl_op_text(op, producer_id, "the producer id");
    }
    return fl_op_submit(op);
}
