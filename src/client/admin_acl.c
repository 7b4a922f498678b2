/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of access control. The protocol's numbers are texts here. */
#include <fluss/fluss_admin.h>
#include <stdio.h>
#include <string.h>

#include "client/admin.h"

typedef struct acl_name {
    const char *name;
    int32_t number;
} acl_name;

static const acl_name resource_names[] = {
    {"ANY", 1}, {"CLUSTER", 2}, {"DATABASE", 3}, {"TABLE", 4}};
static const acl_name operation_names[] = {{"ANY", 1},   {"ALL", 2},     {"READ", 3},
                                           {"WRITE", 4}, {"CREATE", 5},  {"DROP", 6},
                                           {"ALTER", 7}, {"DESCRIBE", 8}};
static const acl_name permission_names[] = {{"ANY", 1}, {"ALLOW", 2}};

static int32_t number_of(fl_op *op, const acl_name *names, size_t count, const char *text,
                         bool is_filter, const char *what)
{
    if (text == NULL && is_filter) {
        return names[0].number;
    }
    for (size_t i = 0; i < count && text != NULL; i++) {
        if (strcasecmp(names[i].name, text) == 0) {
            return names[i].number;
        }
    }
    char known[128] = "";
    for (size_t i = is_filter ? 0 : 1; i < count; i++) { /* ANY is for filters */
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof(known) - used, "%s%s", used != 0 ? ", " : "",
                       names[i].name);
    }
    fluss_error_t err;
    (void)fl_error_argument(&err, "%s '%.60s' is not known; known are %s", what,
                            text != NULL ? text : "NULL", known);
    fl_op_reject(op, &err);
    return 0;
}

static fl_cell name_of(const acl_name *names, size_t count, int32_t number)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i].number == number) {
            return fl_cell_text(fl_slice_str(names[i].name));
        }
    }
    return fl_cell_text(fl_slice_str("UNKNOWN"));
}

static fl_msg_pb_acl_info acl_info(fl_op *op, const fluss_acl_t *acl)
{
    return (fl_msg_pb_acl_info){
        .resource_name = fl_op_text(op, acl->resource, "the resource of an acl"),
        .resource_type = number_of(op, resource_names, FL_COUNT_OF(resource_names),
                                   acl->resource_type, false, "resource type"),
        .principal_name = fl_op_text(op, acl->principal, "the principal of an acl"),
        .principal_type =
            fl_op_text(op, acl->principal_type != NULL ? acl->principal_type : "User", ""),
        .host = fl_op_text(op, acl->host != NULL ? acl->host : "*", ""),
        .operation_type = number_of(op, operation_names, FL_COUNT_OF(operation_names),
                                    acl->operation, false, "operation"),
        .permission_type =
            number_of(op, permission_names, FL_COUNT_OF(permission_names),
                      acl->permission != NULL ? acl->permission : "ALLOW", false, "permission"),
    };
}

static fl_msg_pb_acl_filter acl_filter(fl_op *op, const fluss_acl_t *acl)
{
    static const fluss_acl_t any = {0};
    acl = acl != NULL ? acl : &any;
    fl_msg_pb_acl_filter filter = {
        .resource_type = number_of(op, resource_names, FL_COUNT_OF(resource_names),
                                   acl->resource_type, true, "resource type"),
        .operation_type = number_of(op, operation_names, FL_COUNT_OF(operation_names),
                                    acl->operation, true, "operation"),
        .permission_type = number_of(op, permission_names, FL_COUNT_OF(permission_names),
                                     acl->permission, true, "permission"),
    };
    filter.resource_name = fl_op_text_or_none(op, acl->resource, &filter.has_resource_name);
    filter.principal_name = fl_op_text_or_none(op, acl->principal, &filter.has_principal_name);
    filter.principal_type = fl_op_text_or_none(op, acl->principal_type, &filter.has_principal_type);
    filter.host = fl_op_text_or_none(op, acl->host, &filter.has_host);
    return filter;
}

static void acl_cells(const fl_msg_pb_acl_info *acl, fl_cell cells[7])
{
    cells[0] = name_of(resource_names, FL_COUNT_OF(resource_names), acl->resource_type);
    cells[1] = fl_cell_text(acl->resource_name);
    cells[2] = fl_cell_text(acl->principal_type);
    cells[3] = fl_cell_text(acl->principal_name);
    cells[4] = fl_cell_text(acl->host);
    cells[5] = name_of(operation_names, FL_COUNT_OF(operation_names), acl->operation_type);
    cells[6] = name_of(permission_names, FL_COUNT_OF(permission_names), acl->permission_type);
}

#define ACL_COLUMNS                                                           \
    {"resource_type", false}, {"resource", false}, {"principal_type", false}, \
        {"principal", false}, {"host", false}, {"operation", false},          \
    {                                                                         \
        "permission", false                                                   \
    }

static const fl_result_column list_columns[] = {ACL_COLUMNS};
static const fl_result_column create_columns[] = {ACL_COLUMNS, {"code", true}, {"message", false}};
static const fl_result_column drop_columns[] = {
    {"filter", true}, ACL_COLUMNS, {"code", true}, {"message", false}};

/* ---- create ---- */

static fluss_code_t create_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_create_acls_response *response = message;
    for (size_t i = 0; i < response->acl_res_count; i++) {
        fl_cell cells[FL_COUNT_OF(create_columns)];
        const fl_msg_pb_create_acl_resp_info *part = &response->acl_res[i];
        acl_cells(&part->acl, cells);
        cells[7] = fl_cell_number(part->has_error_code ? part->error_code : 0);
        cells[8] = fl_cell_text_if(part->has_error_message, part->error_message);
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind create_kind = {
    .key = FL_API_CREATE_ACLS,
    .request_size = sizeof(fl_msg_create_acls_request),
    .columns = create_columns,
    .column_count = FL_COUNT_OF(create_columns),
    .rows = create_rows,
};

fluss_future_t *fluss_create_acls(fluss_conn_t *conn, const fluss_acl_t *acls, size_t n)
{
    fl_op *op = fl_admin_op(conn, &create_kind);
    fl_msg_create_acls_request *request = fl_admin_request(op);
    if (request != NULL) {
        fl_admin_need(op, n == 0 || acls != NULL, "acls must not be NULL");
        request->acl = fl_op_array(op, n, sizeof(*request->acl));
        for (size_t i = 0; i < n && op->err.code == 0; i++) {
            request->acl[request->acl_count++] = acl_info(op, &acls[i]);
        }
    }
    return fl_op_submit(op);
}

/* ---- list ---- */

static fluss_code_t list_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_list_acls_response *response = message;
    for (size_t i = 0; i < response->acl_count; i++) {
        fl_cell cells[FL_COUNT_OF(list_columns)];
        acl_cells(&response->acl[i], cells);
        FL_TRY(fl_result_append(result, cells, err));
    }
    return 0;
}

static const fl_op_kind list_kind = {
    .key = FL_API_LIST_ACLS,
    .is_read = true,
    .request_size = sizeof(fl_msg_list_acls_request),
    .columns = list_columns,
    .column_count = FL_COUNT_OF(list_columns),
    .rows = list_rows,
};

fluss_future_t *fluss_list_acls(fluss_conn_t *conn, const fluss_acl_t *filter)
{
    fl_op *op = fl_admin_op(conn, &list_kind);
    fl_msg_list_acls_request *request = fl_admin_request(op);
    if (request != NULL) {
        request->acl_filter = acl_filter(op, filter);
    }
    return fl_op_submit(op);
}

/* ---- drop ---- */

static fluss_code_t drop_rows(const void *message, fluss_result_t *result, fluss_error_t *err)
{
    const fl_msg_drop_acls_response *response = message;
    for (size_t i = 0; i < response->filter_results_count; i++) {
        const fl_msg_pb_drop_acls_filter_result *part = &response->filter_results[i];
        fl_cell cells[FL_COUNT_OF(drop_columns)] = {0};
        cells[0] = fl_cell_number((int64_t)i);
        if (part->has_error_code && part->error_code != 0) {
            cells[8] = fl_cell_number(part->error_code);
            cells[9] = fl_cell_text(part->error_message);
            FL_TRY(fl_result_append(result, cells, err));
        }
        for (size_t j = 0; j < part->matching_acls_count; j++) {
            const fl_msg_pb_drop_acls_matching_acl *match = &part->matching_acls[j];
            acl_cells(&match->acl, cells + 1);
            cells[8] = fl_cell_number(match->has_error_code ? match->error_code : 0);
            cells[9] = fl_cell_text_if(match->has_error_message, match->error_message);
            FL_TRY(fl_result_append(result, cells, err));
        }
    }
    return 0;
}

static const fl_op_kind drop_kind = {
    .key = FL_API_DROP_ACLS,
    .request_size = sizeof(fl_msg_drop_acls_request),
    .columns = drop_columns,
    .column_count = FL_COUNT_OF(drop_columns),
    .rows = drop_rows,
};

fluss_future_t *fluss_drop_acls(fluss_conn_t *conn, const fluss_acl_t *filters, size_t n)
{
    fl_op *op = fl_admin_op(conn, &drop_kind);
    fl_msg_drop_acls_request *request = fl_admin_request(op);
    if (request != NULL) {
        fl_admin_need(op, n == 0 || filters != NULL, "filters must not be NULL");
        request->acl_filter = fl_op_array(op, n, sizeof(*request->acl_filter));
        for (size_t i = 0; i < n && op->err.code == 0; i++) {
            request->acl_filter[request->acl_filter_count++] = acl_filter(op, &filters[i]);
        }
    }
    return fl_op_submit(op);
}
