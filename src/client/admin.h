/* SPDX-License-Identifier: Apache-2.0 */
/* What the files admin_*.c share: small helpers around fl_op for calls that are one request to the
 * coordinator. */
#ifndef FL_ADMIN_H
#define FL_ADMIN_H
#include "client/op.h"

enum { FL_ALTER_SET = 0, FL_ALTER_DELETE = 1 }; /* op_type of PbAlterConfig */

static inline fl_op *fl_admin_op(fluss_conn_t *conn, const fl_op_kind *kind)
{
    return fl_op_new(conn != NULL ? conn->client : NULL, kind);
}

/** The request to fill; NULL when there was no memory for it. */
static inline void *fl_admin_request(fl_op *op)
{
    return op != NULL ? op->request : NULL;
}

/** Reject the call when an argument is missing. */
static inline void fl_admin_need(fl_op *op, bool is_there, const char *text)
{
    if (!is_there) {
        fluss_error_t err;
        (void)fl_error_argument(&err, "%s", text);
        fl_op_reject(op, &err);
    }
}

/** A property change: value NULL resets. */
static inline fl_msg_pb_alter_config fl_admin_change(fl_op *op, const char *key, const char *value)
{
    fl_msg_pb_alter_config change = {
        .config_key = fl_op_text(op, key, "the key of a change"),
        .op_type = value != NULL ? FL_ALTER_SET : FL_ALTER_DELETE,
    };
    change.config_value = fl_op_text_or_none(op, value, &change.has_config_value);
    return change;
}
#endif
