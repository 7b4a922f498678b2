/* SPDX-License-Identifier: Apache-2.0 */
/* Databases. */
#include <stdlib.h>

#include "net/loop.h"
#include "server/access.h"
#include "server/handlers.h"
#include "server/handlers_private.h"
#include "server/server.h"

static fluss_code_t no_database(fl_slice name, fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_DATABASE_NOT_EXIST, FLUSS_KIND_SERVER,
                    "Database '%.*s' does not exist.", FL_SLICE_ARG(name));
}

static fl_catalog *catalog_of(const fl_request *req)
{
    return fl_request_server(req)->catalog;
}

/* ---- CREATE_DATABASE ---- */

/* The descriptor in canonical form; {} and nothing are an empty one. */
static fluss_code_t canonical_json(fl_slice json, fl_buf *out, fluss_error_t *err)
{
    fl_database_desc *desc = NULL;
    const fl_slice given = json.size != 0 ? json : fl_slice_str("{}");
    FL_TRY(fl_database_desc_from_json(given, &desc, err));
    const fluss_code_t rc = fl_database_desc_to_json(desc, out, err);
    fl_database_desc_free(desc);
    return rc;
}

enum { DESCRIPTOR_SIZE_MAX = 16 << 20 };

static fluss_code_t make_database(const fl_msg_create_database_request *asked,
                                  fl_database **database, fluss_error_t *err)
{
    fl_buf json;
    fl_buf_init(&json, DESCRIPTOR_SIZE_MAX);
    fluss_code_t rc = canonical_json(asked->database_json, &json, err);
    if (rc == 0) {
        *database = fl_database_new(asked->database_name, fl_buf_slice(&json), fl_wall_ms());
        rc = *database != NULL ? 0 : fl_error_nomem(err);
    } else if (rc == FLUSS_E_INVALID_TABLE) {
        err->code = rc = FLUSS_E_SERVER_UNKNOWN; /* the official code; the text says more */
    }
    fl_buf_deinit(&json);
    return rc;
}

static void database_committed(fl_change *change)
{
    fl_request *req = change->context;
    fl_database *database = req->state;
    if (change->error.code == 0 && fl_catalog_add_database(change->catalog, database)) {
        fl_request_reply_empty(req);
        return;
    }
    if (change->error.code == 0) {
        (void)fl_error_nomem(&change->error);
    }
    fl_database_free(database);
    fl_request_fail(req, &change->error);
}

void fl_handle_create_database(fl_request *req)
{
    const fl_msg_create_database_request *asked = req->message;
    fluss_error_t err;
    fluss_code_t rc = 0;
    fl_database *database = NULL;
    fl_kv_write *write = NULL;
    FL_TRY_OUT(fl_rules_check_database_name(asked->database_name, &err));
    FL_TRY_OUT(make_database(asked, &database, &err));
    if (fl_catalog_database(catalog_of(req), asked->database_name) != NULL) {
        rc = fl_error(&err, FLUSS_E_DATABASE_ALREADY_EXIST, FLUSS_KIND_SERVER,
                      "Database %.*s already exists.", FL_SLICE_ARG(asked->database_name));
        goto out;
    }
    write = fl_kv_write_new();
    if (write == NULL) {
        rc = fl_error_nomem(&err);
        goto out;
    }
    FL_TRY_OUT(fl_catalog_put_database(write, database, &err));
    req->state = database;
    fl_change_commit(req->change, write, database_committed);
    return;
out:
    fl_kv_write_free(write);
    fl_database_free(database);
    fl_request_fail_unless(req, rc == FLUSS_E_DATABASE_ALREADY_EXIST && asked->ignore_if_exists,
                           &err);
}

/* ---- DROP_DATABASE ---- */

static void drop_committed(fl_change *change)
{
    fl_request *req = change->context;
    fl_database *database = req->state;
    if (change->error.code != 0) {
        fl_tablet_ops_release(change);
        fl_request_fail(req, &change->error);
        return;
    }
    fl_table *table, *next;
    HASH_ITER(by_name, database->tables, table, next)
    {
        fl_catalog_take_table(change->catalog, table);
        fl_table_free(table);
    }
    fl_catalog_take_database(change->catalog, database);
    fl_database_free(database);
    fl_change_spread(change, change->ops, change->op_count, fl_reply_spread);
}

/* One removal for each table or partition, and the end of their records. */
static fluss_code_t plan_drop(fl_request *req, fl_database *database, fl_kv_write *write,
                              fluss_error_t *err)
{
    size_t count = 0;
    for (fl_table *table = database->tables; table != NULL; table = table->by_name.next) {
        count += fl_tablet_op_count(table);
    }
    FL_TRY(fl_change_reserve(req->change, &req->arena, count, err));
    for (fl_table *table = database->tables; table != NULL; table = table->by_name.next) {
        fl_catalog_delete_table(write, table->id);
        req->change->op_count +=
            fl_tablet_ops_fill(table, true, &req->change->ops[req->change->op_count]);
    }
    fl_catalog_delete_database(write, database);
    return 0;
}

static fluss_code_t check_drop(const fl_msg_drop_database_request *asked,
                               const fl_database *database, fluss_error_t *err)
{
    if (fl_slice_equal_str(asked->database_name, "fluss")) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_SERVER,
                        "The default database 'fluss' can't be dropped.");
    }
    if (database == NULL) {
        return no_database(asked->database_name, err);
    }
    if (database->tables != NULL && !asked->cascade) {
        return fl_error(err, FLUSS_E_DATABASE_NOT_EMPTY, FLUSS_KIND_SERVER,
                        "Database %s is not empty.", database->name);
    }
    return 0;
}

void fl_handle_drop_database(fl_request *req)
{
    const fl_msg_drop_database_request *asked = req->message;
    fluss_error_t err;
    fl_database *database = fl_catalog_database(catalog_of(req), asked->database_name);
    if (check_drop(asked, database, &err) != 0) {
        fl_request_fail_unless(
            req, err.code == FLUSS_E_DATABASE_NOT_EXIST && asked->ignore_if_not_exists, &err);
        return;
    }
    fl_kv_write *write = fl_kv_write_new();
    if (write == NULL || plan_drop(req, database, write, &err) != 0) {
        fl_kv_write_free(write);
        fl_request_fail_nomem(req);
        return;
    }
    req->state = database;
    fl_change_commit(req->change, write, drop_committed);
}

/* ---- reading ---- */

/* Whether the database `fluss` exists may everyone know: clients ask when they start. */
static bool may_know(const fl_request *req, fl_slice name)
{
    return fl_slice_equal_str(name, "fluss") ||
           fl_access_allows_database(req, FL_OPERATION_DESCRIBE, name);
}

void fl_handle_database_exists(fl_request *req)
{
    const fl_msg_database_exists_request *asked = req->message;
    const fl_msg_database_exists_response response = {
        .exists = may_know(req, asked->database_name) &&
                  fl_catalog_database(catalog_of(req), asked->database_name) != NULL};
    fl_request_reply(req, &response);
}

void fl_handle_get_database_info(fl_request *req)
{
    const fl_msg_get_database_info_request *asked = req->message;
    const fl_database *database = fl_catalog_database(catalog_of(req), asked->database_name);
    fl_msg_get_database_info_response response = {0};
    fluss_error_t err;
    if (database == NULL) {
        (void)no_database(asked->database_name, &err);
        fl_request_fail(req, &err);
        return;
    }
    response.created_time = database->created_ms;
    response.modified_time = database->modified_ms;
    if (fl_request_keep_text(req, database->json, &response.database_json, &err) != 0) {
        fl_request_fail(req, &err);
        return;
    }
    fl_request_reply(req, &response);
}

static int compare_summary(const void *a, const void *b)
{
    const fl_slice x = ((const fl_msg_pb_database_summary *)a)->database_name;
    const fl_slice y = ((const fl_msg_pb_database_summary *)b)->database_name;
    const int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order != 0 ? order : (x.size > y.size) - (x.size < y.size);
}

void fl_handle_list_databases(fl_request *req)
{
    const fl_msg_list_databases_request *asked = req->message;
    fl_database *first = fl_catalog_databases(catalog_of(req));
    const size_t count_max = HASH_CNT(by_name, first);
    fl_msg_pb_database_summary *all = fl_arena_array(&req->arena, count_max, sizeof(all[0]));
    fl_slice *names = fl_arena_array(&req->arena, count_max, sizeof(names[0]));
    fl_msg_list_databases_response response = {0};
    size_t count = 0;
    if (all == NULL || names == NULL) {
        fl_request_fail_nomem(req);
        return;
    }
    for (fl_database *each = first; each != NULL; each = each->by_name.next) {
        if (!fl_access_allows_database(req, FL_OPERATION_DESCRIBE, fl_slice_str(each->name))) {
            continue;
        }
        all[count++] =
            (fl_msg_pb_database_summary){.database_name = fl_slice_str(each->name),
                                         .created_time = each->created_ms,
                                         .table_count = (int32_t)fl_database_table_count(each)};
    }
    qsort(all, count, sizeof(all[0]), compare_summary);
    if (asked->has_include_summary && asked->include_summary) {
        response.database_summary = all;
        response.database_summary_count = count;
    } else {
        for (size_t i = 0; i < count; i++) {
            names[i] = all[i].database_name;
        }
        response.database_name = names;
        response.database_name_count = count;
    }
    fl_request_reply(req, &response);
}
