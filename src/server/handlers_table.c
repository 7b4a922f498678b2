/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: making and dropping them, and their descriptions. */
#include <stdlib.h>

#include "net/loop.h"
#include "server/auto_partition.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"

/* ---- CREATE_TABLE ---- */

/* Also used for the errors of the steps that come before the catalog is looked at. */
static fluss_code_t read_descriptor(fl_request *req, const fl_msg_create_table_request *asked,
                                    fl_table_desc **desc, fluss_error_t *err)
{
    const fl_settings *settings = &fl_request_server(req)->settings;
    const fl_table_defaults defaults = {.bucket_count = settings->bucket_number,
                                        .replication_factor = settings->replication_factor,
                                        .lake_format = FL_LAKE_NONE};
    const fl_table_limits limits = {.bucket_count_max = settings->bucket_max,
                                    .server_count = 1,
                                    .allow_log_tables = settings->allow_log_tables,
                                    .allow_primary_key_tables = settings->allow_kv_tables,
                                    .lake_format = FL_LAKE_NONE};
    FL_TRY(fl_rules_check_database_name(asked->table_path.database_name, err));
    FL_TRY(fl_rules_check_table_name(asked->table_path.table_name, err));
    FL_TRY(fl_table_desc_from_json(asked->table_json, desc, err));
    FL_TRY(fl_table_desc_check(*desc, err));
    FL_TRY(fl_table_rules_fill_defaults(*desc, &defaults, err));
    FL_TRY(fl_table_rules_check_create(*desc, &limits, err));
    return fl_auto_partition_check_zone(*desc, err);
}

typedef struct create_state {
    fl_table *table;
    fl_partition **partitions; /* made at once: auto-partitioning */
    size_t partition_count;
} create_state;

static void free_create(create_state *state)
{
    for (size_t i = 0; i < state->partition_count; i++) {
        fl_partition_free(state->partitions[i]);
    }
    state->partition_count = 0;
    fl_table_free(state->table);
    state->table = NULL;
}

static void create_committed(fl_change *change)
{
    fl_request *req = change->context;
    create_state *state = req->state;
    if (change->error.code != 0) {
        fl_catalog_take_table(change->catalog, state->table);
        free_create(state);
        fl_request_fail(req, &change->error);
        return;
    }
    fl_change_spread(change, change->ops, fl_tablet_ops_fill(state->table, false, change->ops),
                     fl_reply_spread);
}

/* What takes memory, all before the commit. The table is in the catalog when this succeeds. */
static fluss_code_t enter_table(fl_request *req, create_state *state, fluss_error_t *err)
{
    for (size_t i = 0; i < state->partition_count; i++) {
        if (!fl_table_add_partition(state->table, state->partitions[i])) {
            return fl_error_nomem(err);
        }
        state->partitions[i] = NULL; /* it is the table's */
    }
    FL_TRY(fl_change_reserve(req->change, &req->arena, fl_tablet_op_count(state->table), err));
    return fl_catalog_add_table(fl_request_server(req)->catalog, state->table)
               ? 0
               : fl_error_nomem(err);
}

static fluss_code_t make_table(fl_request *req, fl_table_desc **desc, fl_kv_write *write,
                               create_state *state, fluss_error_t *err)
{
    const fl_msg_create_table_request *asked = req->message;
    fl_catalog *catalog = fl_request_server(req)->catalog;
    const int64_t now_ms = fl_wall_ms();
    fl_table_info *info = NULL;
    const fl_table_info_spec spec = {.table_id = fl_catalog_new_table_id(catalog, write),
                                     .database = asked->table_path.database_name,
                                     .name = asked->table_path.table_name,
                                     .created_ms = now_ms,
                                     .modified_ms = now_ms};
    FL_TRY(fl_table_info_new(&spec, *desc, NULL, 0, &info, err));
    *desc = NULL; /* it is the info's */
    state->table = fl_table_new(info);
    if (state->table == NULL) {
        fl_table_info_unref(info);
        return fl_error_nomem(err);
    }
    FL_TRY(fl_catalog_put_table(write, info, err));
    return fl_auto_partition_first(catalog, info, &req->arena, write, now_ms, &state->partitions,
                                   &state->partition_count, err);
}

static fluss_code_t check_place(fl_request *req, const fl_msg_create_table_request *asked,
                                fluss_error_t *err)
{
    fl_catalog *catalog = fl_request_server(req)->catalog;
    const fl_msg_pb_table_path *path = &asked->table_path;
    if (fl_catalog_database(catalog, path->database_name) == NULL) {
        return fl_error(err, FLUSS_E_DATABASE_NOT_EXIST, FLUSS_KIND_SERVER,
                        "Database %.*s does not exist.", FL_SLICE_ARG(path->database_name));
    }
    if (fl_catalog_table(catalog, path->database_name, path->table_name) != NULL) {
        return fl_error(err, FLUSS_E_TABLE_ALREADY_EXIST, FLUSS_KIND_SERVER,
                        "Table %.*s.%.*s already exists.", FL_SLICE_ARG(path->database_name),
                        FL_SLICE_ARG(path->table_name));
    }
    return 0;
}

void fl_handle_create_table(fl_request *req)
{
    const fl_msg_create_table_request *asked = req->message;
    fluss_error_t err;
    fluss_code_t rc = 0;
    fl_table_desc *desc = NULL;
    fl_kv_write *write = fl_plan_begin(req, sizeof(create_state));
    if (write == NULL) {
        return;
    }
    create_state *state = req->state;
    FL_TRY_OUT(read_descriptor(req, asked, &desc, &err));
    FL_TRY_OUT(check_place(req, asked, &err));
    FL_TRY_OUT(make_table(req, &desc, write, state, &err));
    FL_TRY_OUT(enter_table(req, state, &err));
    fl_change_commit(req->change, write, create_committed);
    return;
out:
    fl_kv_write_free(write);
    fl_table_desc_free(desc);
    free_create(state);
    fl_request_fail_unless(req, rc == FLUSS_E_TABLE_ALREADY_EXIST && asked->ignore_if_exists, &err);
}

/* ---- DROP_TABLE ---- */

static void drop_committed(fl_change *change)
{
    fl_request *req = change->context;
    fl_table *table = req->state;
    if (change->error.code != 0) {
        fl_request_fail(req, &change->error);
        return;
    }
    const size_t count = fl_tablet_ops_fill(table, true, change->ops);
    fl_catalog_take_table(change->catalog, table);
    fl_table_free(table);
    fl_change_spread(change, change->ops, count, fl_reply_spread);
}

void fl_handle_drop_table(fl_request *req)
{
    const fl_msg_drop_table_request *asked = req->message;
    fluss_error_t err;
    fl_table *table = NULL;
    if (fl_find_table(req, &asked->table_path, &table, &err) != 0) {
        fl_request_fail_unless(req, asked->ignore_if_not_exists, &err);
        return;
    }
    fl_kv_write *write = fl_plan_begin(req, 0);
    if (write == NULL) {
        return;
    }
    if (fl_change_reserve(req->change, &req->arena, fl_tablet_op_count(table), &err) != 0) {
        fl_kv_write_free(write);
        fl_request_fail(req, &err);
        return;
    }
    fl_catalog_delete_table(write, table->id);
    req->state = table;
    fl_change_commit(req->change, write, drop_committed);
}

/* ---- reading ---- */

void fl_handle_table_exists(fl_request *req)
{
    const fl_msg_table_exists_request *asked = req->message;
    const fl_msg_table_exists_response response = {
        .exists = fl_access_allows_table(req, FL_OPERATION_DESCRIBE, &asked->table_path) &&
                  fl_catalog_table(fl_request_server(req)->catalog, asked->table_path.database_name,
                                   asked->table_path.table_name) != NULL};
    fl_request_reply(req, &response);
}

void fl_handle_get_table_info(fl_request *req)
{
    const fl_msg_get_table_info_request *asked = req->message;
    fl_msg_get_table_info_response response = {0};
    fluss_error_t err;
    fl_table *table = NULL;
    if (fl_find_table(req, &asked->table_path, &table, &err) != 0 ||
        fl_request_keep_text(req, table->info->json, &response.table_json, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    response.table_id = table->id;
    response.schema_id = table->info->schema_count;
    response.created_time = table->info->created_ms;
    response.modified_time = table->info->modified_ms;
    fl_request_reply(req, &response);
}

void fl_handle_get_table_schema(fl_request *req)
{
    const fl_msg_get_table_schema_request *asked = req->message;
    fl_msg_get_table_schema_response response = {0};
    fluss_error_t err;
    fl_table *table = NULL;
    const fl_schema_version *version = NULL;
    if (fl_find_table(req, &asked->table_path, &table, &err) != 0) {
        err.code = FLUSS_E_SCHEMA_NOT_EXIST; /* as the official server */
        fl_request_fail(req, &err);
        return;
    }
    response.schema_id = asked->has_schema_id ? asked->schema_id : table->info->schema_count;
    version = fl_table_info_schema(table->info, response.schema_id);
    if (version == NULL) {
        (void)fl_error(&err, FLUSS_E_SCHEMA_NOT_EXIST, FLUSS_KIND_SERVER,
                       "Table '%s.%s' has no schema with the id %d; ids are 1 to %d.",
                       table->info->database, table->info->name, (int)response.schema_id,
                       (int)table->info->schema_count);
        fl_request_fail(req, &err);
        return;
    }
    if (fl_request_keep_text(req, version->json, &response.schema_json, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply(req, &response);
}

static int compare_names(const void *a, const void *b)
{
    const fl_slice x = *(const fl_slice *)a, y = *(const fl_slice *)b;
    const int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order != 0 ? order : (x.size > y.size) - (x.size < y.size);
}

void fl_handle_list_tables(fl_request *req)
{
    const fl_msg_list_tables_request *asked = req->message;
    fluss_error_t err;
    size_t count = 0;
    fl_database *database =
        fl_catalog_database(fl_request_server(req)->catalog, asked->database_name);
    if (database == NULL) {
        (void)fl_error(&err, FLUSS_E_DATABASE_NOT_EXIST, FLUSS_KIND_SERVER,
                       "Database %.*s does not exist.", FL_SLICE_ARG(asked->database_name));
        fl_request_fail(req, &err);
        return;
    }
    fl_slice *names =
        fl_arena_array(&req->arena, fl_database_table_count(database), sizeof(names[0]));
    if (names == NULL) {
        fl_request_fail_nomem(req);
        return;
    }
    for (fl_table *table = database->tables; table != NULL; table = table->by_name.next) {
        const fl_msg_pb_table_path path = {.database_name = asked->database_name,
                                           .table_name = fl_slice_str(table->info->name)};
        if (fl_access_allows_table(req, FL_OPERATION_DESCRIBE, &path)) {
            names[count++] = path.table_name;
        }
    }
    qsort(names, count, sizeof(names[0]), compare_names);
    const fl_msg_list_tables_response response = {.table_name = names, .table_name_count = count};
    fl_request_reply(req, &response);
}
