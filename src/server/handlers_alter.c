/* SPDX-License-Identifier: Apache-2.0 */
/* ALTER_TABLE and ALTER_DATABASE. A table gets a new descriptor, read anew from its JSON and then
 * changed; properties and columns are changed by different requests. Columns can only be added, at
 * the end, and nullable: each schema gets the next id, the older ones stay. Tablets get the new
 * info before the answer goes out. Source: CoordinatorService.alterTable, Fluss 1.0. */
#include "format/agg_function.h"
#include "net/loop.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/housekeeping.h"
#include "server/server.h"

enum { OP_SET = 0, OP_DELETE = 1, POSITION_LAST = 0, DESCRIPTOR_SIZE_MAX = 16 << 20 };

/* ---- properties ---- */

/* Key and value of a change as texts; value NULL: reset. */
static fluss_code_t read_change(fl_request *req, const fl_msg_pb_alter_config *change,
                                const char **key, const char **value, fluss_error_t *err)
{
    *key = fl_arena_strndup(&req->arena, change->config_key.data, change->config_key.size);
    *value = NULL;
    if (*key == NULL) {
        return fl_error_nomem(err);
    }
    if (change->op_type != OP_SET && change->op_type != OP_DELETE) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                        "'%s': operation %d, expected 0 (set) or 1 (delete)", *key,
                        (int)change->op_type);
    }
    if (change->op_type == OP_SET) {
        *value =
            fl_arena_strndup(&req->arena, change->config_value.data, change->config_value.size);
        if (*value == NULL) {
            return fl_error_nomem(err);
        }
    }
    return 0;
}

/* A change that was read. */
typedef struct property_change {
    const char *key, *value; /* value NULL: reset */
} property_change;

static fluss_code_t read_changes(fl_request *req, const fl_msg_alter_table_request *asked,
                                 property_change **changes, fluss_error_t *err)
{
    *changes = fl_arena_array(&req->arena, asked->config_changes_count, sizeof(**changes));
    if (*changes == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < asked->config_changes_count; i++) {
        FL_TRY(read_change(req, &asked->config_changes[i], &(*changes)[i].key, &(*changes)[i].value,
                           err));
    }
    return 0;
}

typedef fluss_code_t (*property_step)(fl_table_desc *desc, const property_change *change,
                                      fluss_error_t *err);

static fluss_code_t check_alterable(fl_table_desc *desc, const property_change *change,
                                    fluss_error_t *err)
{
    return fl_table_rules_check_alter_property(desc, change->key, NULL, err);
}

static fluss_code_t change_property(fl_table_desc *desc, const property_change *change,
                                    fluss_error_t *err)
{
    if (strncmp(change->key, "table.", 6) != 0) {
        return fl_table_desc_set_custom(desc, change->key, change->value, err);
    }
    FL_TRY(fl_table_rules_check_alter_property(desc, change->key, change->value, err));
    return fl_table_desc_set_property(desc, change->key, change->value, err);
}

/* Take a step for all changes, so that the error names every wrong one. */
static fluss_code_t for_all(fl_table_desc *desc, const property_change *changes, size_t count,
                            property_step step, fluss_error_t *err)
{
    fluss_code_t rc = 0;
    for (size_t i = 0; i < count; i++) {
        fluss_error_t next;
        if (step(desc, &changes[i], &next) == 0) {
            continue;
        }
        if (rc == 0) {
            *err = next;
            rc = next.code;
        } else {
            fl_error_prefix(err, "'%s' is wrong too; ", changes[i].key);
        }
    }
    return rc;
}

/* What can't be altered at all is found before any value is looked at. */
static fluss_code_t change_properties(fl_table_desc *desc, const property_change *changes,
                                      size_t count, fluss_error_t *err)
{
    FL_TRY(for_all(desc, changes, count, check_alterable, err));
    return for_all(desc, changes, count, change_property, err);
}

/* ---- columns ---- */

static fluss_code_t refuse(fluss_error_t *err, const fl_msg_pb_add_column *added, const char *why)
{
    return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                    "column '%.*s' can't be added: %s", FL_SLICE_ARG(added->column_name), why);
}

static fluss_code_t set_aggregation(fl_schema *schema, const fl_msg_pb_add_column *added,
                                    fluss_error_t *err)
{
    fl_column *column = &schema->columns[schema->column_count - 1];
    const size_t count = added->agg_function_params_count;
    fluss_kv_t *parameters = fl_arena_array(&schema->arena, count, sizeof(*parameters));
    const char *name = fl_arena_strndup(&schema->arena, added->agg_function_type.data,
                                        added->agg_function_type.size);
    fl_agg_function function;
    if (parameters == NULL || name == NULL) {
        return fl_error_nomem(err);
    }
    if (!fl_agg_function_find(name, &function)) {
        return refuse(err, added, "there is no such aggregation function");
    }
    for (size_t i = 0; i < count; i++) {
        const fl_msg_pb_key_value *from = &added->agg_function_params[i];
        parameters[i].key = fl_arena_strndup(&schema->arena, from->key.data, from->key.size);
        parameters[i].value = fl_arena_strndup(&schema->arena, from->value.data, from->value.size);
        if (parameters[i].key == NULL || parameters[i].value == NULL) {
            return fl_error_nomem(err);
        }
    }
    column->agg_function = fl_agg_function_name(function);
    column->agg_parameters = parameters;
    column->agg_parameter_count = count;
    return 0;
}

/* The types of the added columns. What can't be read, or stands anywhere but at the end, is wrong
 * for every table, so it is found before the table is looked for. */
static fluss_code_t read_columns(fl_request *req, const fl_msg_alter_table_request *asked,
                                 fl_type **types, fluss_error_t *err)
{
    *types = fl_arena_array(&req->arena, asked->add_columns_count, sizeof(**types));
    if (*types == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < asked->add_columns_count; i++) {
        const fl_msg_pb_add_column *added = &asked->add_columns[i];
        const fluss_code_t rc =
            fl_type_from_json(added->data_type_json, &req->arena, &(*types)[i], err);
        if (rc != 0) {
            fl_error_prefix(err, "column '%.*s': ", FL_SLICE_ARG(added->column_name));
            err->code = rc == FLUSS_E_INVALID_TABLE ? FLUSS_E_SERVER_UNKNOWN : rc;
            return err->code;
        }
        if (added->column_position_type != POSITION_LAST) {
            return refuse(err, added, "only at the end (position 0)");
        }
    }
    for (size_t i = 0; i < asked->modify_columns_count; i++) {
        const fl_msg_pb_modify_column *modified = &asked->modify_columns[i];
        fl_type type;
        if (!modified->has_data_type_json ||
            fl_type_from_json(modified->data_type_json, &req->arena, &type, err) != 0) {
            return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                            "column '%.*s' can't be modified: its data type can't be read",
                            FL_SLICE_ARG(modified->column_name));
        }
    }
    return 0;
}

static fluss_code_t add_column(fl_request *req, fl_schema *schema,
                               const fl_msg_pb_add_column *added, const fl_type *type,
                               fluss_error_t *err)
{
    const char *name =
        fl_arena_strndup(&req->arena, added->column_name.data, added->column_name.size);
    const char *comment = fl_arena_strndup(&req->arena, added->comment.data, added->comment.size);
    if (name == NULL || comment == NULL) {
        return fl_error_nomem(err);
    }
    if (!type->nullable) {
        return refuse(err, added, "it must be nullable, for the rows that are there");
    }
    if (fl_schema_find(schema, name, strlen(name)) >= 0) {
        return fl_error(err, FLUSS_E_INVALID_ALTER_TABLE, FLUSS_KIND_ARGUMENT,
                        "column '%s' exists already", name);
    }
    FL_TRY(fl_schema_add(schema, name, type, added->has_comment ? comment : NULL, err));
    return added->has_agg_function_type ? set_aggregation(schema, added, err) : 0;
}

/* ---- ALTER_TABLE ---- */

typedef struct alter_state {
    fl_table *table;
    fl_table_info *info; /* the new one; NULL: nothing changes */
} alter_state;

static bool has_columns(const fl_msg_alter_table_request *asked)
{
    return asked->add_columns_count != 0 || asked->drop_columns_count != 0 ||
           asked->rename_columns_count != 0 || asked->modify_columns_count != 0 ||
           asked->has_modify_bucket_count;
}

static fluss_code_t check_added_only(const fl_msg_alter_table_request *asked, fluss_error_t *err)
{
    if (asked->drop_columns_count != 0 || asked->rename_columns_count != 0 ||
        asked->modify_columns_count != 0 || asked->has_modify_bucket_count) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_UNSUPPORTED,
                        "columns can be added; they can't be dropped, renamed or modified, nor can "
                        "the number of buckets");
    }
    return 0;
}

static fluss_code_t check_result(fl_request *req, const fl_table_desc *desc, fluss_error_t *err)
{
    const fl_settings *settings = &fl_request_server(req)->settings;
    const fl_table_limits limits = {.bucket_count_max = settings->bucket_max,
                                    .server_count = 1,
                                    .allow_log_tables = true,
                                    .allow_primary_key_tables = true,
                                    .lake_format = FL_LAKE_NONE};
    return fl_table_rules_check_create(desc, &limits, err);
}

/* The schemas that become older ones: all known when columns are added. */
static fluss_code_t make_info(fl_request *req, const fl_table_info *old, fl_table_desc **desc,
                              bool has_new_schema, fl_table_info **info, fluss_error_t *err)
{
    const size_t older_count = (size_t)old->schema_count - (has_new_schema ? 0 : 1);
    fl_slice *older = fl_arena_array(&req->arena, older_count, sizeof(*older));
    if (older == NULL) {
        return fl_error_nomem(err);
    }
    if (older_count >= INT16_MAX) {
        return fl_error(err, FLUSS_E_INVALID_ALTER_TABLE, FLUSS_KIND_ARGUMENT,
                        "table %s.%s has had the largest number of schemas", old->database,
                        old->name);
    }
    for (size_t i = 0; i < older_count; i++) {
        older[i] = fl_frame_slice(old->schemas[i].json);
    }
    const fl_table_info_spec spec = {.table_id = old->table_id,
                                     .database = fl_slice_str(old->database),
                                     .name = fl_slice_str(old->name),
                                     .created_ms = old->created_ms,
                                     .modified_ms = fl_wall_ms()};
    FL_TRY(fl_table_info_new(&spec, *desc, older, older_count, info, err));
    *desc = NULL; /* it is the info's */
    return 0;
}

/* The table with what was read; what it can't have is refused. */
static fluss_code_t change_table(fl_request *req, alter_state *state,
                                 const property_change *changes, const fl_type *types,
                                 fluss_error_t *err)
{
    const fl_msg_alter_table_request *asked = req->message;
    const fl_table_info *old = state->table->info;
    fl_table_desc *desc = NULL;
    fluss_code_t rc = 0;
    FL_TRY(fl_table_desc_from_json(fl_frame_slice(old->json), &desc, err));
    FL_TRY_OUT(change_properties(desc, changes, asked->config_changes_count, err));
    for (size_t i = 0; i < asked->add_columns_count; i++) {
        FL_TRY_OUT(add_column(req, desc->schema, &asked->add_columns[i], &types[i], err));
    }
    FL_TRY_OUT(check_result(req, desc, err));
    rc = make_info(req, old, &desc, asked->add_columns_count != 0, &state->info, err);
out:
    fl_table_desc_free(desc);
    return rc;
}

static fluss_code_t plan(fl_request *req, alter_state *state, fluss_error_t *err)
{
    const fl_msg_alter_table_request *asked = req->message;
    property_change *changes = NULL;
    fl_type *types = NULL;
    FL_TRY(fl_rules_check_database_name(asked->table_path.database_name, err));
    FL_TRY(fl_rules_check_table_name(asked->table_path.table_name, err));
    FL_TRY(read_changes(req, asked, &changes, err));
    FL_TRY(read_columns(req, asked, &types, err));
    if (!has_columns(asked) && asked->config_changes_count == 0) {
        return 0;
    }
    if (has_columns(asked) && asked->config_changes_count != 0) {
        return fl_error(err, FLUSS_E_INVALID_ALTER_TABLE, FLUSS_KIND_ARGUMENT,
                        "properties and columns can't be altered by one request");
    }
    FL_TRY(fl_find_table(req, &asked->table_path, &state->table, err));
    FL_TRY(check_added_only(asked, err));
    return change_table(req, state, changes, types, err);
}

static void alter_spread(fl_change *change)
{
    fl_request *req = change->context;
    const alter_state *state = req->state;
    const fl_msg_alter_table_request *asked = req->message;
    fl_tablet_ops_release(change);
    if (asked->config_changes_count != 0 && state->info->settings.auto_partition.enabled) {
        fl_housekeeping_check_partitions(&fl_request_server(req)->shards[0]);
    }
    fl_request_reply_empty(req);
}

static void alter_committed(fl_change *change)
{
    fl_request *req = change->context;
    alter_state *state = req->state;
    if (change->error.code != 0) {
        fl_table_info_unref(state->info);
        fl_request_fail(req, &change->error);
        return;
    }
    fl_table_info_unref(state->table->info);
    state->table->info = state->info;
    fl_change_spread(change, change->ops, fl_tablet_ops_fill(state->table, false, change->ops),
                     alter_spread);
}

void fl_handle_alter_table(fl_request *req)
{
    const fl_msg_alter_table_request *asked = req->message;
    fluss_error_t err;
    fluss_code_t rc = 0;
    fl_kv_write *write = fl_plan_begin(req, sizeof(alter_state));
    if (write == NULL) {
        return;
    }
    alter_state *state = req->state;
    FL_TRY_OUT(plan(req, state, &err));
    if (state->info == NULL) {
        fl_kv_write_free(write);
        fl_request_reply_empty(req);
        return;
    }
    FL_TRY_OUT(fl_catalog_put_table(write, state->info, &err));
    FL_TRY_OUT(fl_change_reserve(req->change, &req->arena, fl_tablet_op_count(state->table), &err));
    fl_change_commit(req->change, write, alter_committed);
    return;
out:
    fl_kv_write_free(write);
    fl_table_info_unref(state->info);
    fl_request_fail_unless(req, rc == FLUSS_E_TABLE_NOT_EXIST && asked->ignore_if_not_exists, &err);
}

/* ---- ALTER_DATABASE ---- */

typedef struct database_state {
    fl_database *database;
    fl_frame *json;
    int64_t modified_ms;
} database_state;

static void database_committed(fl_change *change)
{
    fl_request *req = change->context;
    database_state *state = req->state;
    if (change->error.code != 0) {
        fl_frame_unref(state->json);
        fl_request_fail(req, &change->error);
        return;
    }
    fl_frame_unref(state->database->json);
    state->database->json = state->json;
    state->database->modified_ms = state->modified_ms;
    fl_request_reply_empty(req);
}

static fluss_code_t change_database(fl_request *req, fl_database_desc *desc, fluss_error_t *err)
{
    const fl_msg_alter_database_request *asked = req->message;
    for (size_t i = 0; i < asked->config_changes_count; i++) {
        const char *key, *value;
        FL_TRY(read_change(req, &asked->config_changes[i], &key, &value, err));
        FL_TRY(fl_database_desc_set_custom(desc, key, value, err));
    }
    if (asked->has_comment) {
        const char *comment =
            fl_arena_strndup(&desc->arena, asked->comment.data, asked->comment.size);
        if (comment == NULL) {
            return fl_error_nomem(err);
        }
        desc->comment = asked->comment.size != 0 ? comment : NULL;
    }
    return 0;
}

static fluss_code_t plan_database(fl_request *req, database_state *state, fl_kv_write *write,
                                  fluss_error_t *err)
{
    const fl_msg_alter_database_request *asked = req->message;
    fl_database_desc *desc = NULL;
    fl_buf json;
    fluss_code_t rc = 0;
    state->database = fl_catalog_database(fl_request_server(req)->catalog, asked->database_name);
    if (state->database == NULL) {
        return fl_error(err, FLUSS_E_DATABASE_NOT_EXIST, FLUSS_KIND_SERVER,
                        "Database %.*s does not exist.", FL_SLICE_ARG(asked->database_name));
    }
    fl_buf_init(&json, DESCRIPTOR_SIZE_MAX);
    FL_TRY_OUT(fl_database_desc_from_json(fl_frame_slice(state->database->json), &desc, err));
    FL_TRY_OUT(change_database(req, desc, err));
    FL_TRY_OUT(fl_database_desc_to_json(desc, &json, err));
    state->json = fl_frame_copy(fl_buf_slice(&json));
    state->modified_ms = fl_wall_ms();
    if (state->json == NULL) {
        rc = fl_error_nomem(err);
        goto out;
    }
    fl_database changed = *state->database;
    changed.json = state->json;
    changed.modified_ms = state->modified_ms;
    rc = fl_catalog_put_database(write, &changed, err);
out:
    fl_buf_deinit(&json);
    fl_database_desc_free(desc);
    return rc;
}

void fl_handle_alter_database(fl_request *req)
{
    const fl_msg_alter_database_request *asked = req->message;
    fluss_error_t err;
    fl_kv_write *write = fl_plan_begin(req, sizeof(database_state));
    if (write == NULL) {
        return;
    }
    database_state *state = req->state;
    const fluss_code_t rc = plan_database(req, state, write, &err);
    if (rc == 0) {
        fl_change_commit(req->change, write, database_committed);
        return;
    }
    fl_kv_write_free(write);
    fl_frame_unref(state->json);
    fl_request_fail_unless(req, rc == FLUSS_E_DATABASE_NOT_EXIST && asked->ignore_if_not_exists,
                           &err);
}
