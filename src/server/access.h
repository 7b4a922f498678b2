/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what: the check of a request before its handler runs. Each row of handlers.def says
 * which operation on which resource its API needs; what needs several, or depends on the request,
 * has a function here. Off until `authorizer.enabled`; super users and the internal listener pass.
 *
 * The ACLs lie in the catalog, so a request that must be checked walks to shard 0 first, with its
 * connection's other requests before and behind it in their order. Thread: shard 0, if not said
 * otherwise. */
#ifndef FL_ACCESS_H
#define FL_ACCESS_H
#include "server/acl.h"
#include "server/request.h"
#include "server/settings.h"

typedef enum fl_access_target {
    FL_TARGET_NONE, /* everyone may; or the handler looks itself */
    FL_TARGET_CLUSTER,
    FL_TARGET_DATABASE, /* position of its name, fl_slice */
    FL_TARGET_TABLE,    /* of its path, fl_msg_pb_table_path */
    FL_TARGET_TABLE_ID, /* of its id, int64_t */
    FL_TARGET_OWN       /* a function */
} fl_access_target;

typedef struct fl_access {
    fl_access_target target;
    fl_operation operation;
    size_t position; /* in the decoded message */
    fluss_code_t (*check)(fl_request *req, fluss_error_t *err);
} fl_access;

/* For handlers.def. */
#define FL_ON_NOTHING {.target = FL_TARGET_NONE}
#define FL_ON_CLUSTER(what) {.target = FL_TARGET_CLUSTER, .operation = FL_OPERATION_##what}
#define FL_ON_FIELD(kind, what, message, field) \
    {.target = FL_TARGET_##kind,                \
     .operation = FL_OPERATION_##what,          \
     .position = offsetof(fl_msg_##message, field)}
#define FL_ON_DATABASE(what, message, field) FL_ON_FIELD(DATABASE, what, message, field)
#define FL_ON_TABLE(what, message, field) FL_ON_FIELD(TABLE, what, message, field)
#define FL_ON_TABLE_ID(what, message, field) FL_ON_FIELD(TABLE_ID, what, message, field)
#define FL_ON_OWN(function) {.target = FL_TARGET_OWN, .check = fl_access_##function}

/** What `authorizer.type` and `super.users` say makes sense. Thread: any. */
FLUSS_CHECKED fluss_code_t fl_access_check_settings(const fl_settings *settings,
                                                    fluss_error_t *err);
/** Settle whether the requests of a session are checked, now that its user is known. Thread: the
 * session's shard. */
void fl_access_begin(fl_session *session);
/** Refuse, or note what is denied of it. @return FLUSS_E_AUTHORIZATION_EXCEPTION names user,
 * operation and resource; FLUSS_E_UNKNOWN_TABLE_OR_BUCKET: a table id that is not known */
FLUSS_CHECKED fluss_code_t fl_access_check(fl_request *req, const fl_access *access,
                                           fluss_error_t *err);

/** Whether the user of the request may; always, when it is not checked. */
bool fl_access_allows(const fl_request *req, fl_operation operation, const fl_resource *what);
bool fl_access_allows_database(const fl_request *req, fl_operation operation, fl_slice name);
bool fl_access_allows_table(const fl_request *req, fl_operation operation,
                            const fl_msg_pb_table_path *path);
/** A table that is not known is not allowed. */
bool fl_access_allows_table_id(const fl_request *req, fl_operation operation, int64_t table_id);
/** The same as an error. */
FLUSS_CHECKED fluss_code_t fl_access_require(const fl_request *req, fl_operation operation,
                                             const fl_resource *what, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_access_require_table_id(const fl_request *req, fl_operation operation,
                                                      int64_t table_id, fluss_error_t *err);

/** Why the buckets of a table are denied to a request that names several tables; 0: they are not.
 * Thread: where the request is. */
FLUSS_CHECKED fluss_code_t fl_access_denied(const fl_request *req, int64_t table_id,
                                            fluss_error_t *err);

/* The functions of single APIs. */
fluss_code_t fl_access_fetch_log(fl_request *req, fluss_error_t *err);
fluss_code_t fl_access_lookup(fl_request *req, fluss_error_t *err);
fluss_code_t fl_access_prefix_lookup(fl_request *req, fluss_error_t *err);
fluss_code_t fl_access_init_writer(fl_request *req, fluss_error_t *err);
fluss_code_t fl_access_scan_kv(fl_request *req, fluss_error_t *err);
fluss_code_t fl_access_register_producer_offsets(fl_request *req, fluss_error_t *err);
fluss_code_t fl_access_acquire_kv_snapshot_lease(fl_request *req, fluss_error_t *err);
fluss_code_t fl_access_release_kv_snapshot_lease(fl_request *req, fluss_error_t *err);
#endif
