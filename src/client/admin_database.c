/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of databases. */
#include <fluss/fluss_admin.h>

#include "client/admin.h"
#include "format/table_desc.h"

enum { JSON_SIZE_MAX = 1 << 24 };

/* ---- create ---- */

static const fl_op_kind create_kind = {
    .key = FL_API_CREATE_DATABASE,
    .request_size = sizeof(fl_msg_create_database_request),
};

static fluss_code_t describe(fl_op *op, const char *comment, const fl_msg_pb_key_value *props,
                             size_t n, fl_slice *json, fluss_error_t *err)
{
    fluss_kv_t *custom = fl_arena_array(&op->arena, n, sizeof(*custom));
    if (custom == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        custom[i] =
            (fluss_kv_t){(const char *)props[i].key.data, (const char *)props[i].value.data};
    }
    const fl_database_desc desc = {.comment = comment, .custom = custom, .custom_count = n};
    fl_buf text;
    fl_buf_init(&text, JSON_SIZE_MAX);
    fluss_code_t rc = fl_database_desc_to_json(&desc, &text, err);
    if (rc == 0) {
        json->data = (const uint8_t *)fl_arena_strndup(&op->arena, text.data, text.size);
        json->size = text.size;
        rc = json->data != NULL ? 0 : fl_error_nomem(err);
    }
    fl_buf_deinit(&text);
    return rc;
}

fluss_future_t *fluss_create_database(fluss_conn_t *conn, const char *name, const char *comment,
                                      const fluss_kv_t *props, size_t n, unsigned flags)
{
    fl_op *op = fl_admin_op(conn, &create_kind);
    fl_msg_create_database_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->database_name = fl_op_text(op, name, "the database name");
        request->ignore_if_exists = (flags & FLUSS_IF_NOT_EXISTS) != 0;
        const fl_msg_pb_key_value *pairs = fl_op_pairs(op, props, n, "props");
        fluss_error_t err;
        request->has_database_json = true;
        if (pairs != NULL && op->err.code == 0 &&
            describe(op, comment, pairs, n, &request->database_json, &err) != 0) {
            fl_op_reject(op, &err);
        }
    }
    return fl_op_submit(op);
}

/* ---- alter ---- */

static const fl_op_kind alter_kind = {
    .key = FL_API_ALTER_DATABASE,
    .request_size = sizeof(fl_msg_alter_database_request),
};

fluss_future_t *fluss_alter_database(fluss_conn_t *conn, const char *name, const fluss_kv_t *set,
                                     size_t n, unsigned flags)
{
    fl_op *op = fl_admin_op(conn, &alter_kind);
    fl_msg_alter_database_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->database_name = fl_op_text(op, name, "the database name");
        request->ignore_if_not_exists = (flags & FLUSS_IF_EXISTS) != 0;
        request->config_changes = fl_op_array(op, n, sizeof(*request->config_changes));
        fl_admin_need(op, n == 0 || set != NULL, "set must not be NULL");
        for (size_t i = 0; i < n && op->err.code == 0; i++) {
            if (set[i].key == NULL) {
                request->has_comment = true;
                request->comment = fl_op_text(op, set[i].value != NULL ? set[i].value : "", "");
            } else {
                request->config_changes[request->config_changes_count++] =
                    fl_admin_change(op, set[i].key, set[i].value);
            }
        }
    }
    return fl_op_submit(op);
}

/* ---- drop ---- */

static const fl_op_kind drop_kind = {
    .key = FL_API_DROP_DATABASE,
    .request_size = sizeof(fl_msg_drop_database_request),
};

fluss_future_t *fluss_drop_database(fluss_conn_t *conn, const char *name, unsigned flags)
{
    fl_op *op = fl_admin_op(conn, &drop_kind);
    fl_msg_drop_database_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->database_name = fl_op_text(op, name, "the database name");
        request->ignore_if_not_exists = (flags & FLUSS_IF_EXISTS) != 0;
        request->cascade = (flags & FLUSS_CASCADE) != 0;
    }
    return fl_op_submit(op);
}

/* ---- list ---- */

static const fl_result_column list_columns[] = {
    {"name", false},
    {"created_ms", true},
    {"table_count", true},
};

static fluss_code_t list_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_list_databases_response *response = message;
    for (size_t i = 0; i < response->database_name_count; i++) {
        const fl_cell cells[FL_COUNT_OF(list_columns)] = {fl_cell_text(response->database_name[i])};
        FL_TRY(fl_result_append(result, cells, err));
    }
    for (size_t i = 0; i < response->database_summary_count; i++) {
        const fl_msg_pb_database_summary *summary = &response->database_summary[i];
        const fl_cell cells[] = {
            fl_cell_text(summary->database_name),
            fl_cell_number(summary->created_time),
            fl_cell_number(summary->table_count),
        };
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind list_kind = {
    .key = FL_API_LIST_DATABASES,
    .is_read = true,
    .request_size = sizeof(fl_msg_list_databases_request),
    .columns = list_columns,
    .column_count = FL_COUNT_OF(list_columns),
    .rows = list_rows,
};

fluss_future_t *fluss_list_databases(fluss_conn_t *conn)
{
    fl_op *op = fl_admin_op(conn, &list_kind);
    fl_msg_list_databases_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->has_include_summary = true;
        request->include_summary = true;
    }
    return fl_op_submit(op);
}

/* ---- describe ---- */

static const fl_result_column describe_columns[] = {
    {"name", false},       {"comment", false},  {"created_ms", true},
    {"modified_ms", true}, {"property", false}, {"value", false},
};

static fluss_code_t describe_row(fluss_result_t *result, fl_slice name,
                                 const fl_msg_get_database_info_response *response,
                                 const fl_database_desc *desc, size_t i, fluss_error_t *err)
{
    fl_cell cells[FL_COUNT_OF(describe_columns)] = {
        fl_cell_text(name),
        desc->comment != NULL ? fl_cell_text(fl_slice_str(desc->comment)) : (fl_cell){0},
        fl_cell_number(response->created_time),
        fl_cell_number(response->modified_time),
    };
    if (i < desc->custom_count) {
        cells[4] = fl_cell_text(fl_slice_str(desc->custom[i].key));
        cells[5] = fl_cell_text(fl_slice_str(desc->custom[i].value));
    }
    return fl_result_append(result, cells, err);
}

static fluss_code_t finish_describe(fl_op *op, const fl_reply *reply, fl_value *value,
                                    fluss_error_t *err)
{
    const fl_msg_get_database_info_request *request = op->request;
    const fl_msg_get_database_info_response *response = reply->message;
    fl_database_desc *desc;
    FL_TRY(fl_database_desc_from_json(response->database_json, &desc, err));
    fluss_result_t *result = fl_result_new(describe_columns, FL_COUNT_OF(describe_columns));
    fluss_code_t rc = result != NULL ? 0 : fl_error_nomem(err);
    const size_t rows = desc->custom_count > 0 ? desc->custom_count : 1;
    for (size_t i = 0; i < rows && rc == 0; i++) {
        rc = describe_row(result, request->database_name, response, desc, i, err);
    }
    fl_database_desc_free(desc);
    if (rc != 0) {
        fluss_result_free(result);
        return rc;
    }
    *value = (fl_value){.kind = FL_VALUE_RESULT, .v.object = result};
    return 0;
}

static const fl_op_kind describe_kind = {
    .key = FL_API_GET_DATABASE_INFO,
    .is_read = true,
    .request_size = sizeof(fl_msg_get_database_info_request),
    .finish = finish_describe,
};

fluss_future_t *fluss_describe_database(fluss_conn_t *conn, const char *name)
{
    fl_op *op = fl_admin_op(conn, &describe_kind);
    fl_msg_get_database_info_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->database_name = fl_op_text(op, name, "the database name");
    }
    return fl_op_submit(op);
}

/* ---- exists ---- */

static fluss_code_t finish_exists(fl_op *op, const fl_reply *reply, fl_value *value,
                                  fluss_error_t *err)
{
    (void)op;
    (void)err;
    const fl_msg_database_exists_response *response = reply->message;
    *value = (fl_value){.kind = FL_VALUE_I64, .v.i64 = response->exists};
    return 0;
}

static const fl_op_kind exists_kind = {
    .key = FL_API_DATABASE_EXISTS,
    .is_read = true,
    .request_size = sizeof(fl_msg_database_exists_request),
    .finish = finish_exists,
};

fluss_future_t *fluss_database_exists(fluss_conn_t *conn, const char *name)
{
    fl_op *op = fl_admin_op(conn, &exists_kind);
    fl_msg_database_exists_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->database_name = fl_op_text(op, name, "the database name");
    }
    return fl_op_submit(op);
}
