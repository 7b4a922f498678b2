/* SPDX-License-Identifier: Apache-2.0 */
/* Access control lists: who may do what with which resource. Pure: no I/O, no threads.
 *
 * An ACL allows one principal, from one host or any, one operation on one resource. What no ACL
 * allows is denied. An ACL counts for a resource when it names it, or all of its kind ("*"), or
 * what it lies in: the database of a table, the cluster. ALL includes every operation, and every
 * operation includes DESCRIBE. Source: DefaultAuthorizer, Fluss 1.0. */
#ifndef FL_ACL_H
#define FL_ACL_H
#include "base/error.h"
#include "base/slice.h"
#include "protocol/messages.h"

/* The protocol's numbers. */
typedef enum fl_resource_type {
    FL_RESOURCE_ANY = 1,
    FL_RESOURCE_CLUSTER,
    FL_RESOURCE_DATABASE,
    FL_RESOURCE_TABLE
} fl_resource_type;

typedef enum fl_operation {
    FL_OPERATION_ANY = 1,
    FL_OPERATION_ALL,
    FL_OPERATION_READ,
    FL_OPERATION_WRITE,
    FL_OPERATION_CREATE,
    FL_OPERATION_DROP,
    FL_OPERATION_ALTER,
    FL_OPERATION_DESCRIBE
} fl_operation;

enum { FL_PERMISSION_ANY = 1, FL_PERMISSION_ALLOW = 2 };

#define FL_CLUSTER_NAME "fluss-cluster" /* of the only resource of the kind CLUSTER */

/** Something that is asked for. A table has both names, a database the first, the cluster none. */
typedef struct fl_resource {
    fl_resource_type type;
    fl_slice database, table;
} fl_resource;

/** Who asks. */
typedef struct fl_principal {
    fl_slice type, name; /* "User", "alice" */
    const char *host;    /* numeric address */
} fl_principal;

typedef fl_msg_pb_acl_info fl_acl;
typedef fl_msg_pb_acl_filter fl_acl_filter;
typedef struct fl_acls fl_acls;

enum { FL_ACL_TEXT_MAX = 1000 /* bytes of each text of an ACL */, FL_ACLS_MAX = 1 << 14 };

fl_acls *fl_acls_new(bool ignores_case) FLUSS_CHECKED; /* NULL: out of memory; gives (_free) */
void fl_acls_free(fl_acls *acls);                      /* NULL allowed */
/** Add a copy; one that is there already stays. false: out of memory. */
FLUSS_CHECKED bool fl_acls_add(fl_acls *acls, const fl_acl *acl);
/** Remove; nothing happens when it is not there. */
void fl_acls_remove(fl_acls *acls, const fl_acl *acl);
size_t fl_acls_count(const fl_acls *acls);
/** Fill with views of all, at most `count`, in the order in which they were added. */
void fl_acls_copy(const fl_acls *acls, fl_acl *out, size_t count);
/** Whether an ACL allows it. */
bool fl_acls_allow(const fl_acls *acls, const fl_principal *who, fl_operation operation,
                   const fl_resource *what);

/** Whether numbers are known and texts neither empty nor too long; names what is wrong. */
FLUSS_CHECKED fluss_code_t fl_acl_check(const fl_acl *acl, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_acl_filter_check(const fl_acl_filter *filter, fluss_error_t *err);
bool fl_acl_equal(const fl_acl *a, const fl_acl *b);
/** Whether type and name are those of a principal. */
bool fl_principal_is(const fl_principal *who, fl_slice type, fl_slice name, bool ignores_case);
/** Whether the filter fits; absent fields and ANY fit all. A principal counts only when both its
 * type and name are given. */
bool fl_acl_filter_fits(const fl_acl_filter *filter, const fl_acl *acl);
/** The same, of the resource alone. */
bool fl_acl_filter_fits_resource(const fl_acl_filter *filter, const fl_acl *acl);
/** The resource that an ACL is about; `name` views the ACL. */
fl_resource fl_acl_resource(const fl_acl *acl);

const char *fl_operation_name(fl_operation operation);
/** "table 'db.t'" */
void fl_resource_print(const fl_resource *what, char *out, size_t size);
#endif
