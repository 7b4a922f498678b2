/* SPDX-License-Identifier: Apache-2.0 */
/* The check of requests. A request that names one table, and may not, is refused. FETCH_LOG, LOOKUP
 * and PREFIX_LOOKUP answer for each bucket: what is denied of them is noted in the request, and the
 * walk over its buckets (visit.c) answers for those. Source: TabletService, CoordinatorService and
 * RpcServiceBase, Fluss 1.0; unlike there, a fetch that claims to come from a follower is checked
 * as any other. */
#include "server/access.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/catalog.h"
#include "server/handlers_private.h"
#include "server/server.h"
#include "server/session.h"

/** What a request may not see, in its arena. */
struct fl_denials {
    fl_operation operation;
    int64_t *table_ids; /* rising */
    size_t count;
};

/* ---- who ---- */

/* The next item of "type:name; type:name"; false: the end. */
static bool next_super_user(const char **at, fl_slice *type, fl_slice *name)
{
    *at += strspn(*at, "; ");
    size_t size = strcspn(*at, ";");
    const char *item = *at;
    *at += size;
    while (size != 0 && item[size - 1] == ' ') {
        size--;
    }
    const char *colon = memchr(item, ':', size);
    const size_t type_size = colon != NULL ? (size_t)(colon - item) : size;
    const size_t name_position = colon != NULL ? type_size + 1 : size;
    *type = fl_slice_of(item, type_size);
    *name = fl_slice_of(item + name_position, size - name_position);
    return size != 0;
}

fluss_code_t fl_access_check_settings(const fl_settings *settings, fluss_error_t *err)
{
    const char *at = settings->super_users;
    fl_slice type, name;
    while (next_super_user(&at, &type, &name)) {
        if (type.size == 0 || name.size == 0) {
            return fl_error_argument(err,
                                     "setting 'super.users' = '%.100s': expected TYPE:NAME, such "
                                     "as User:admin, separated by semicolons",
                                     settings->super_users);
        }
    }
    return strcmp(settings->authorizer_type, "default") == 0
               ? 0
               : fl_error_argument(err,
                                   "setting 'authorizer.type' = '%.100s': this server has only the "
                                   "type 'default'",
                                   settings->authorizer_type);
}

static bool is_super_user(const fl_settings *settings, const fl_principal *who)
{
    const char *at = settings->super_users;
    fl_slice type, name;
    while (next_super_user(&at, &type, &name)) {
        if (fl_principal_is(who, type, name, settings->principal_ignore_case)) {
            return true;
        }
    }
    return false;
}

static fl_principal principal_of(const fl_session *session)
{
    return (fl_principal){
        .type = fl_slice_str("User"), .name = fl_slice_str(session->user), .host = session->peer};
}

void fl_access_begin(fl_session *session)
{
    const fl_settings *settings = &session->shard->server->settings;
    const fl_principal who = principal_of(session);
    session->is_checked = settings->authorizer_enabled && !session->endpoint->is_internal &&
                          !is_super_user(settings, &who);
}

/* ---- may it ---- */

bool fl_access_allows(const fl_request *req, fl_operation operation, const fl_resource *what)
{
    if (!req->session->is_checked) {
        return true;
    }
    const fl_principal who = principal_of(req->session);
    return fl_acls_allow(fl_catalog_acls(fl_request_server(req)->catalog), &who, operation, what);
}

static fl_resource database_resource(fl_slice name)
{
    return (fl_resource){.type = FL_RESOURCE_DATABASE, .database = name};
}

static fl_resource table_resource(fl_slice database, fl_slice table)
{
    return (fl_resource){.type = FL_RESOURCE_TABLE, .database = database, .table = table};
}

bool fl_access_allows_database(const fl_request *req, fl_operation operation, fl_slice name)
{
    const fl_resource what = database_resource(name);
    return fl_access_allows(req, operation, &what);
}

bool fl_access_allows_table(const fl_request *req, fl_operation operation,
                            const fl_msg_pb_table_path *path)
{
    const fl_resource what = table_resource(path->database_name, path->table_name);
    return fl_access_allows(req, operation, &what);
}

/* The resource of a table id; false: there is no such table. */
static bool find_table(const fl_request *req, int64_t table_id, fl_resource *what)
{
    const fl_table *table = fl_catalog_table_by_id(fl_request_server(req)->catalog, table_id);
    if (table != NULL) {
        *what =
            table_resource(fl_slice_str(table->info->database), fl_slice_str(table->info->name));
    }
    return table != NULL;
}

bool fl_access_allows_table_id(const fl_request *req, fl_operation operation, int64_t table_id)
{
    fl_resource what;
    return !req->session->is_checked ||
           (find_table(req, table_id, &what) && fl_access_allows(req, operation, &what));
}

fluss_code_t fl_access_require(const fl_request *req, fl_operation operation,
                               const fl_resource *what, fluss_error_t *err)
{
    char text[512];
    if (fl_access_allows(req, operation, what)) {
        return 0;
    }
    fl_resource_print(what, text, sizeof(text));
    return fl_error(err, FLUSS_E_AUTHORIZATION_EXCEPTION, FLUSS_KIND_SERVER,
                    "user '%s' from %s is not authorized: %s on %s is allowed by no ACL of %s",
                    req->session->user, req->session->peer, fl_operation_name(operation), text,
                    what->type == FL_RESOURCE_TABLE      ? "the table, its database or the cluster"
                    : what->type == FL_RESOURCE_DATABASE ? "the database or the cluster"
                                                         : "the cluster");
}

static fluss_code_t refuse_id(const fl_request *req, fl_operation operation, int64_t table_id,
                              fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_AUTHORIZATION_EXCEPTION, FLUSS_KIND_SERVER,
                    "user '%s' from %s is not authorized: %s on the table with the id %lld is "
                    "allowed by no ACL of the table, its database or the cluster",
                    req->session->user, req->session->peer, fl_operation_name(operation),
                    (long long)table_id);
}

/* Who may not see a table does not learn its name from its id. */
fluss_code_t fl_access_require_table_id(const fl_request *req, fl_operation operation,
                                        int64_t table_id, fluss_error_t *err)
{
    fl_resource what;
    if (!req->session->is_checked) {
        return 0;
    }
    if (!find_table(req, table_id, &what)) {
        return fl_error(err, FLUSS_E_UNKNOWN_TABLE_OR_BUCKET, FLUSS_KIND_STATE,
                        "no table has the id %lld here", (long long)table_id);
    }
    return fl_access_allows(req, FL_OPERATION_DESCRIBE, &what)
               ? fl_access_require(req, operation, &what, err)
               : refuse_id(req, operation, table_id, err);
}

/* ---- requests that are answered bucket by bucket ---- */

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Tables that are not known stay: their buckets are answered as unknown. */
static bool is_denied(const fl_request *req, fl_operation operation, int64_t table_id)
{
    fl_resource what;
    return find_table(req, table_id, &what) && !fl_access_allows(req, operation, &what);
}

static fluss_code_t note_denied(fl_request *req, fl_operation operation, const int64_t *table_ids,
                                size_t count, fluss_error_t *err)
{
    struct fl_denials *denials = fl_arena_alloc(&req->arena, sizeof(*denials));
    int64_t *denied = fl_arena_array(&req->arena, count, sizeof(*denied));
    if (denials == NULL || denied == NULL) {
        return fl_error_nomem(err);
    }
    *denials = (struct fl_denials){.operation = operation, .table_ids = denied};
    for (size_t i = 0; i < count; i++) {
        if (is_denied(req, operation, table_ids[i])) {
            denied[denials->count++] = table_ids[i];
        }
    }
    qsort(denied, denials->count, sizeof(*denied), compare_ids);
    req->denials = denials->count != 0 ? denials : NULL;
    return 0;
}

fluss_code_t fl_access_denied(const fl_request *req, int64_t table_id, fluss_error_t *err)
{
    const struct fl_denials *denials = req->denials;
    if (denials == NULL || bsearch(&table_id, denials->table_ids, denials->count, sizeof(table_id),
                                   compare_ids) == NULL) {
        return 0;
    }
    return refuse_id(req, denials->operation, table_id, err);
}

fluss_code_t fl_access_fetch_log(fl_request *req, fluss_error_t *err)
{
    const fl_msg_fetch_log_request *asked = req->message;
    int64_t *ids = fl_arena_array(&req->arena, asked->tables_req_count, sizeof(*ids));
    if (ids == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < asked->tables_req_count; i++) {
        ids[i] = asked->tables_req[i].table_id;
    }
    return note_denied(req, FL_OPERATION_READ, ids, asked->tables_req_count, err);
}

fluss_code_t fl_access_lookup(fl_request *req, fluss_error_t *err)
{
    const fl_msg_lookup_request *asked = req->message;
    return asked->has_insert_if_not_exists && asked->insert_if_not_exists
               ? fl_access_require_table_id(req, FL_OPERATION_WRITE, asked->table_id, err)
               : note_denied(req, FL_OPERATION_READ, &asked->table_id, 1, err);
}

fluss_code_t fl_access_prefix_lookup(fl_request *req, fluss_error_t *err)
{
    const fl_msg_prefix_lookup_request *asked = req->message;
    return note_denied(req, FL_OPERATION_READ, &asked->table_id, 1, err);
}

/* Errors of a scan travel in its body. What goes on with a scan is checked by its handler, which
 * finds out the table. */
fluss_code_t fl_access_scan_kv(fl_request *req, fluss_error_t *err)
{
    const fl_msg_scan_kv_request *asked = req->message;
    return asked->has_bucket_scan_req
               ? note_denied(req, FL_OPERATION_READ, &asked->bucket_scan_req.table_id, 1, err)
               : 0;
}

/* ---- requests that name several tables, or none ---- */

/* A writer id is good for all tables: whoever may write one of those named gets it. */
fluss_code_t fl_access_init_writer(fl_request *req, fluss_error_t *err)
{
    const fl_msg_init_writer_request *asked = req->message;
    for (size_t i = 0; i < asked->table_path_count; i++) {
        if (fl_access_allows_table(req, FL_OPERATION_WRITE, &asked->table_path[i])) {
            return 0;
        }
    }
    return fl_error(err, FLUSS_E_AUTHORIZATION_EXCEPTION, FLUSS_KIND_SERVER,
                    "user '%s' from %s is not authorized: WRITE is not allowed on any of the %zu "
                    "tables that the request for a writer id names",
                    req->session->user, req->session->peer, asked->table_path_count);
}

fluss_code_t fl_access_register_producer_offsets(fl_request *req, fluss_error_t *err)
{
    const fl_msg_register_producer_offsets_request *asked = req->message;
    for (size_t i = 0; i < asked->table_offsets_count; i++) {
        FL_TRY(fl_access_require_table_id(req, FL_OPERATION_WRITE, asked->table_offsets[i].table_id,
                                          err));
    }
    return 0;
}

fluss_code_t fl_access_acquire_kv_snapshot_lease(fl_request *req, fluss_error_t *err)
{
    const fl_msg_acquire_kv_snapshot_lease_request *asked = req->message;
    for (size_t i = 0; i < asked->snapshots_to_lease_count; i++) {
        FL_TRY(fl_access_require_table_id(req, FL_OPERATION_READ,
                                          asked->snapshots_to_lease[i].table_id, err));
    }
    return 0;
}

fluss_code_t fl_access_release_kv_snapshot_lease(fl_request *req, fluss_error_t *err)
{
    const fl_msg_release_kv_snapshot_lease_request *asked = req->message;
    for (size_t i = 0; i < asked->buckets_to_release_count; i++) {
        FL_TRY(fl_access_require_table_id(req, FL_OPERATION_READ,
                                          asked->buckets_to_release[i].table_id, err));
    }
    return 0;
}

/* ---- the rows of handlers.def ---- */

fluss_code_t fl_access_check(fl_request *req, const fl_access *access, fluss_error_t *err)
{
    const char *field = (const char *)req->message + access->position;
    fl_resource what = {.type = FL_RESOURCE_CLUSTER};
    switch (access->target) {
    case FL_TARGET_NONE:
        return 0;
    case FL_TARGET_CLUSTER:
        break;
    case FL_TARGET_DATABASE:
        what = database_resource(*(const fl_slice *)(const void *)field);
        break;
    case FL_TARGET_TABLE: {
        const fl_msg_pb_table_path *path = (const void *)field;
        what = table_resource(path->database_name, path->table_name);
        break;
    }
    case FL_TARGET_TABLE_ID:
        return fl_access_require_table_id(req, access->operation,
                                          *(const int64_t *)(const void *)field, err);
    case FL_TARGET_OWN:
        return access->check(req, err);
    }
    return fl_access_require(req, access->operation, &what, err);
}
