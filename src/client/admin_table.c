/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of tables, their schemas and partitions. */
#include <fluss/fluss_admin.h>
#include <string.h>

#include "client/admin.h"
#include "client/schema.h"

enum { JSON_SIZE_MAX = 1 << 24, NAME_SIZE_MAX = 1 << 16 };
enum { POSITION_LAST = 0, POSITION_FIRST = 1, POSITION_AFTER = 3 };

/* ---- create ---- */

static const fl_op_kind create_kind = {
    .key = FL_API_CREATE_TABLE,
    .request_size = sizeof(fl_msg_create_table_request),
};

fluss_future_t *fluss_create_table(fluss_conn_t *conn, fluss_path_t path, const fluss_desc_t *desc,
                                   unsigned flags)
{
    fl_op *op = fl_admin_op(conn, &create_kind);
    fl_msg_create_table_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
        request->ignore_if_exists = (flags & FLUSS_IF_NOT_EXISTS) != 0;
        fl_admin_need(op, desc != NULL, "desc must not be NULL");
        uint8_t *json = desc != NULL ? fl_op_array(op, desc->json.size, 1) : NULL;
        if (json != NULL) {
            memcpy(json, desc->json.data, desc->json.size);
            request->table_json = fl_slice_of(json, desc->json.size);
        }
    }
    return fl_op_submit(op);
}

/* ---- alter ---- */

static const fl_op_kind alter_kind = {
    .key = FL_API_ALTER_TABLE,
    .request_size = sizeof(fl_msg_alter_table_request),
};

static fl_slice type_json(fl_op *op, const char *type)
{
    fluss_error_t err;
    fl_type parsed;
    fl_buf text;
    fl_buf_init(&text, JSON_SIZE_MAX);
    fl_slice json = {0};
    if (fl_type_parse(type, &op->arena, &parsed, &err) != 0 ||
        fl_type_to_json(&parsed, &text, &err) != 0 || fl_buf_append_byte(&text, 0, &err) != 0) {
        fl_op_reject(op, &err);
    } else {
        json = fl_op_text(op, (const char *)text.data, "the type");
    }
    fl_buf_deinit(&text);
    return json;
}

static int32_t position_of(const char *after)
{
    return after == NULL ? POSITION_LAST : after[0] == '\0' ? POSITION_FIRST : POSITION_AFTER;
}

static void add_change(fl_op *op, fl_msg_alter_table_request *request,
                       const fluss_table_change_t *change)
{
    const fl_slice name = fl_op_text(op, change->name, "the name in a change");
    switch (change->what) {
    case FLUSS_ADD_COLUMN: {
        fl_admin_need(op, change->type != NULL, "FLUSS_ADD_COLUMN needs a type");
        fl_msg_pb_add_column *add = &request->add_columns[request->add_columns_count++];
        add->column_name = name;
        add->data_type_json = change->type != NULL ? type_json(op, change->type) : (fl_slice){0};
        add->comment = fl_op_text_or_none(op, change->comment, &add->has_comment);
        add->column_position_type = position_of(change->after);
        break;
    }
    case FLUSS_DROP_COLUMN:
        request->drop_columns[request->drop_columns_count++].column_name = name;
        break;
    case FLUSS_RENAME_COLUMN: {
        fl_msg_pb_rename_column *rename = &request->rename_columns[request->rename_columns_count++];
        rename->old_column_name = name;
        rename->new_column_name = fl_op_text(op, change->new_name, "the new name of a column");
        break;
    }
    case FLUSS_MODIFY_COLUMN: {
        fl_msg_pb_modify_column *modify = &request->modify_columns[request->modify_columns_count++];
        modify->column_name = name;
        modify->has_data_type_json = change->type != NULL;
        modify->data_type_json = change->type != NULL ? type_json(op, change->type) : (fl_slice){0};
        modify->comment = fl_op_text_or_none(op, change->comment, &modify->has_comment);
        modify->has_column_position_type = change->after != NULL;
        modify->column_position_type = position_of(change->after);
        break;
    }
    case FLUSS_SET_OPTION:
        fl_admin_need(op, change->value != NULL, "FLUSS_SET_OPTION needs a value");
        request->config_changes[request->config_changes_count++] =
            fl_admin_change(op, change->name, change->value);
        break;
    case FLUSS_RESET_OPTION:
        request->config_changes[request->config_changes_count++] =
            fl_admin_change(op, change->name, NULL);
        break;
    default:
        fl_admin_need(op, false, "a change has an unknown `what`");
        break;
    }
}

fluss_future_t *fluss_alter_table(fluss_conn_t *conn, fluss_path_t path,
                                  const fluss_table_change_t *changes, size_t n, unsigned flags)
{
    fl_op *op = fl_admin_op(conn, &alter_kind);
    fl_msg_alter_table_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
        request->ignore_if_not_exists = (flags & FLUSS_IF_EXISTS) != 0;
        request->config_changes = fl_op_array(op, n, sizeof(*request->config_changes));
        request->add_columns = fl_op_array(op, n, sizeof(*request->add_columns));
        request->drop_columns = fl_op_array(op, n, sizeof(*request->drop_columns));
        request->rename_columns = fl_op_array(op, n, sizeof(*request->rename_columns));
        request->modify_columns = fl_op_array(op, n, sizeof(*request->modify_columns));
        fl_admin_need(op, n == 0 || changes != NULL, "changes must not be NULL");
        for (size_t i = 0; i < n && op->err.code == 0; i++) {
            add_change(op, request, &changes[i]);
        }
    }
    return fl_op_submit(op);
}

/* ---- drop ---- */

static const fl_op_kind drop_kind = {
    .key = FL_API_DROP_TABLE,
    .request_size = sizeof(fl_msg_drop_table_request),
};

fluss_future_t *fluss_drop_table(fluss_conn_t *conn, fluss_path_t path, unsigned flags)
{
    fl_op *op = fl_admin_op(conn, &drop_kind);
    fl_msg_drop_table_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
        request->ignore_if_not_exists = (flags & FLUSS_IF_EXISTS) != 0;
    }
    return fl_op_submit(op);
}

/* ---- list, exists ---- */

static const fl_result_column name_columns[] = {{"name", false}};

static fluss_code_t list_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_list_tables_response *response = message;
    for (size_t i = 0; i < response->table_name_count; i++) {
        const fl_cell cells[] = {fl_cell_text(response->table_name[i])};
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind list_kind = {
    .key = FL_API_LIST_TABLES,
    .is_read = true,
    .request_size = sizeof(fl_msg_list_tables_request),
    .columns = name_columns,
    .column_count = FL_COUNT_OF(name_columns),
    .rows = list_rows,
};

fluss_future_t *fluss_list_tables(fluss_conn_t *conn, const char *database)
{
    fl_op *op = fl_admin_op(conn, &list_kind);
    fl_msg_list_tables_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->database_name = fl_op_text(op, database, "the database name");
    }
    return fl_op_submit(op);
}

static fluss_code_t finish_exists(fl_op *op, const fl_reply *reply, fl_value *value,
                                  fluss_error_t *err)
{
    (void)op;
    (void)err;
    const fl_msg_table_exists_response *response = reply->message;
    *value = (fl_value){.kind = FL_VALUE_I64, .v.i64 = response->exists};
    return 0;
}

static const fl_op_kind exists_kind = {
    .key = FL_API_TABLE_EXISTS,
    .is_read = true,
    .request_size = sizeof(fl_msg_table_exists_request),
    .finish = finish_exists,
};

fluss_future_t *fluss_table_exists(fluss_conn_t *conn, fluss_path_t path)
{
    fl_op *op = fl_admin_op(conn, &exists_kind);
    fl_msg_table_exists_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
    }
    return fl_op_submit(op);
}

/* ---- schema by id ---- */

static fluss_code_t finish_schema(fl_op *op, const fl_reply *reply, fl_value *value,
                                  fluss_error_t *err)
{
    (void)op;
    const fl_msg_get_table_schema_response *response = reply->message;
    fl_schema *schema;
    fluss_schema_t *handle = NULL;
    FL_TRY(fl_schema_from_json(response->schema_json, &schema, err));
    const fluss_code_t rc = fl_client_schema_wrap(schema, &handle, err);
    fl_schema_unref(schema);
    if (rc == 0) {
        *value = (fl_value){
            .kind = FL_VALUE_SCHEMA, .schema_id = response->schema_id, .v.object = handle};
    }
    return rc;
}

static const fl_op_kind schema_kind = {
    .key = FL_API_GET_TABLE_SCHEMA,
    .final_code = FLUSS_E_SCHEMA_NOT_EXIST, /* only tablet servers learn of schemas late */
    .is_read = true,
    .request_size = sizeof(fl_msg_get_table_schema_request),
    .finish = finish_schema,
};

fluss_future_t *fluss_get_schema(fluss_conn_t *conn, fluss_path_t path, int32_t schema_id)
{
    fl_op *op = fl_admin_op(conn, &schema_kind);
    fl_msg_get_table_schema_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
        request->has_schema_id = schema_id >= 0;
        request->schema_id = schema_id;
    }
    return fl_op_submit(op);
}

/* ---- partitions ---- */

static fl_msg_pb_partition_spec partition_spec(fl_op *op, const fluss_kv_t *spec, size_t n)
{
    return (fl_msg_pb_partition_spec){
        .partition_key_values = fl_op_pairs(op, spec, n, "the partition spec"),
        .partition_key_values_count = n,
    };
}

static const fl_op_kind create_partition_kind = {
    .key = FL_API_CREATE_PARTITION,
    .request_size = sizeof(fl_msg_create_partition_request),
};

fluss_future_t *fluss_create_partition(fluss_conn_t *conn, fluss_path_t path,
                                       const fluss_kv_t *spec, size_t n, unsigned flags)
{
    fl_op *op = fl_admin_op(conn, &create_partition_kind);
    fl_msg_create_partition_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
        request->partition_spec = partition_spec(op, spec, n);
        /* The protocol's name is wrong: the server ignores a partition that exists. */
        request->ignore_if_not_exists = (flags & FLUSS_IF_NOT_EXISTS) != 0;
    }
    return fl_op_submit(op);
}

static const fl_op_kind drop_partition_kind = {
    .key = FL_API_DROP_PARTITION,
    .request_size = sizeof(fl_msg_drop_partition_request),
};

fluss_future_t *fluss_drop_partition(fluss_conn_t *conn, fluss_path_t path, const fluss_kv_t *spec,
                                     size_t n, unsigned flags)
{
    fl_op *op = fl_admin_op(conn, &drop_partition_kind);
    fl_msg_drop_partition_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
        request->partition_spec = partition_spec(op, spec, n);
        request->ignore_if_not_exists = (flags & FLUSS_IF_EXISTS) != 0;
    }
    return fl_op_submit(op);
}

static const fl_result_column partition_columns[] = {
    {"partition_id", true},
    {"name", false},
    {"key", false},
    {"value", false},
};

static fluss_code_t partition_rows(fluss_result_t *result, const fl_msg_pb_partition_info *info,
                                   fl_buf *name, fluss_error_t *err)
{
    const fl_msg_pb_partition_spec *spec = &info->partition_spec;
    fl_buf_reset(name);
    for (size_t i = 0; i < spec->partition_key_values_count; i++) {
        if (i > 0) {
            FL_TRY(fl_buf_append_byte(name, '$', err));
        }
        FL_TRY(fl_buf_append_slice(name, spec->partition_key_values[i].value, err));
    }
    for (size_t i = 0; i < spec->partition_key_values_count; i++) {
        const fl_cell cells[] = {
            fl_cell_number(info->partition_id),
            fl_cell_text(fl_buf_slice(name)),
            fl_cell_text(spec->partition_key_values[i].key),
            fl_cell_text(spec->partition_key_values[i].value),
        };
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static fluss_code_t partitions_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_list_partition_infos_response *response = message;
    fl_buf name;
    fl_buf_init(&name, NAME_SIZE_MAX);
    fluss_code_t rc = 0;
    for (size_t i = 0; i < response->partitions_info_count && rc == 0; i++) {
        rc = partition_rows(result, &response->partitions_info[i], &name, err);
    }
    fl_buf_deinit(&name);
    return rc;
}

static const fl_op_kind partitions_kind = {
    .key = FL_API_LIST_PARTITION_INFOS,
    .is_read = true,
    .request_size = sizeof(fl_msg_list_partition_infos_request),
    .columns = partition_columns,
    .column_count = FL_COUNT_OF(partition_columns),
    .rows = partitions_rows,
};

fluss_future_t *fluss_list_partitions(fluss_conn_t *conn, fluss_path_t path, const fluss_kv_t *spec,
                                      size_t n)
{
    fl_op *op = fl_admin_op(conn, &partitions_kind);
    fl_msg_list_partition_infos_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->table_path = fl_op_path(op, path);
        request->has_partial_partition_spec = n > 0;
        request->partial_partition_spec = partition_spec(op, spec, n);
    }
    return fl_op_submit(op);
}
