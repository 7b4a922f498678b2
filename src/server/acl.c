/* SPDX-License-Identifier: Apache-2.0 */
/* Access control lists in memory: a hash of resources, each with the list of its ACLs. A question
 * about a table looks at up to four of them: the table, all tables, its database, the cluster. */
#include "server/acl.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/containers.h"

typedef struct entry {
    struct entry *next; /* of the resource */
    struct entry *previous_added, *next_added;
    fl_acl acl; /* texts follow the struct */
} entry;

typedef struct resource {
    UT_hash_handle hh;
    entry *first;
    size_t key_size;
    char key[]; /* the type as a digit, then the name */
} resource;

struct fl_acls {
    resource *resources;
    entry *added; /* all, in the order in which they were added */
    size_t count;
    bool ignores_case;
};

enum { KEY_SIZE_MAX = FL_ACL_TEXT_MAX + 1 };

static const char *const operation_names[] = {"",       "ANY",  "ALL",   "READ",    "WRITE",
                                              "CREATE", "DROP", "ALTER", "DESCRIBE"};

/* ---- texts ---- */

const char *fl_operation_name(fl_operation operation)
{
    return operation < (fl_operation)FL_COUNT_OF(operation_names) ? operation_names[operation] : "";
}

void fl_resource_print(const fl_resource *what, char *out, size_t size)
{
    const int database_size = (int)(what->database.size < 200 ? what->database.size : 200);
    const int table_size = (int)(what->table.size < 200 ? what->table.size : 200);
    switch (what->type) {
    case FL_RESOURCE_TABLE:
        (void)snprintf(out, size, "table '%.*s%s%.*s'", database_size,
                       (const char *)what->database.data, what->table.size != 0 ? "." : "",
                       table_size, (const char *)what->table.data);
        break;
    case FL_RESOURCE_DATABASE:
        (void)snprintf(out, size, "database '%.*s'", database_size,
                       (const char *)what->database.data);
        break;
    default:
        (void)snprintf(out, size, "the cluster");
    }
}

static bool equal(fl_slice a, fl_slice b, bool ignores_case)
{
    return a.size == b.size &&
           (ignores_case ? strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0
                         : fl_slice_equal(a, b));
}

bool fl_principal_is(const fl_principal *who, fl_slice type, fl_slice name, bool ignores_case)
{
    return equal(type, who->type, ignores_case) && equal(name, who->name, ignores_case);
}

bool fl_acl_equal(const fl_acl *a, const fl_acl *b)
{
    return a->resource_type == b->resource_type && a->operation_type == b->operation_type &&
           a->permission_type == b->permission_type &&
           fl_slice_equal(a->resource_name, b->resource_name) &&
           fl_slice_equal(a->principal_type, b->principal_type) &&
           fl_slice_equal(a->principal_name, b->principal_name) && fl_slice_equal(a->host, b->host);
}

/* ---- checks of what came in ---- */

static fluss_code_t check_number(const char *what, int32_t number, int32_t last, fluss_error_t *err)
{
    return number >= 1 && number <= last
               ? 0
               : fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                          "an ACL with the %s %d; known are 1 to %d", what, (int)number, (int)last);
}

static fluss_code_t check_numbers(int32_t resource_type, int32_t operation, int32_t permission,
                                  fluss_error_t *err)
{
    FL_TRY(check_number("resource type", resource_type, FL_RESOURCE_TABLE, err));
    FL_TRY(check_number("operation", operation, FL_OPERATION_DESCRIBE, err));
    return check_number("permission", permission, FL_PERMISSION_ALLOW, err);
}

static fluss_code_t check_text(const char *what, fl_slice text, fluss_error_t *err)
{
    return text.size != 0 && text.size <= FL_ACL_TEXT_MAX
               ? 0
               : fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_ARGUMENT,
                          "an ACL whose %s has %zu bytes; possible are 1 to %d", what, text.size,
                          (int)FL_ACL_TEXT_MAX);
}

fluss_code_t fl_acl_check(const fl_acl *acl, fluss_error_t *err)
{
    FL_TRY(check_numbers(acl->resource_type, acl->operation_type, acl->permission_type, err));
    FL_TRY(check_text("resource name", acl->resource_name, err));
    FL_TRY(check_text("principal type", acl->principal_type, err));
    FL_TRY(check_text("principal name", acl->principal_name, err));
    return check_text("host", acl->host, err);
}

fluss_code_t fl_acl_filter_check(const fl_acl_filter *filter, fluss_error_t *err)
{
    return check_numbers(filter->resource_type, filter->operation_type, filter->permission_type,
                         err);
}

/* ---- filters ---- */

bool fl_acl_filter_fits_resource(const fl_acl_filter *filter, const fl_acl *acl)
{
    return filter->resource_type == FL_RESOURCE_ANY ||
           (filter->resource_type == acl->resource_type &&
            (!filter->has_resource_name ||
             fl_slice_equal(filter->resource_name, acl->resource_name)));
}

bool fl_acl_filter_fits(const fl_acl_filter *filter, const fl_acl *acl)
{
    const bool has_principal = filter->has_principal_name && filter->has_principal_type;
    return fl_acl_filter_fits_resource(filter, acl) &&
           (!has_principal || (fl_slice_equal(filter->principal_name, acl->principal_name) &&
                               fl_slice_equal(filter->principal_type, acl->principal_type))) &&
           (!filter->has_host || fl_slice_equal(filter->host, acl->host)) &&
           (filter->operation_type == FL_OPERATION_ANY ||
            filter->operation_type == acl->operation_type) &&
           (filter->permission_type == FL_PERMISSION_ANY ||
            filter->permission_type == acl->permission_type);
}

fl_resource fl_acl_resource(const fl_acl *acl)
{
    const fl_slice name = acl->resource_name;
    fl_resource what = {.type = (fl_resource_type)acl->resource_type, .database = name};
    const uint8_t *dot = what.type == FL_RESOURCE_TABLE ? memchr(name.data, '.', name.size) : NULL;
    if (dot != NULL) {
        const size_t size = (size_t)(dot - name.data);
        what.database = fl_slice_sub(name, 0, size);
        what.table = fl_slice_sub(name, size + 1, name.size - size - 1);
    }
    return what;
}

/* ---- the set ---- */

fl_acls *fl_acls_new(bool ignores_case)
{
    fl_acls *acls = fl_calloc(1, sizeof(*acls));
    if (acls != NULL) {
        acls->ignores_case = ignores_case;
    }
    return acls;
}

void fl_acls_free(fl_acls *acls)
{
    if (acls == NULL) {
        return;
    }
    resource *each, *next_resource;
    HASH_ITER(hh, acls->resources, each, next_resource)
    {
        for (entry *at = each->first, *next; at != NULL; at = next) {
            next = at->next;
            fl_free(at);
        }
        HASH_DEL(acls->resources, each);
        fl_free(each);
    }
    fl_free(acls);
}

size_t fl_acls_count(const fl_acls *acls)
{
    return acls->count;
}

void fl_acls_copy(const fl_acls *acls, fl_acl *out, size_t count)
{
    const entry *at = acls->added;
    for (size_t i = 0; i < count && at != NULL; i++, at = at->next_added) {
        out[i] = at->acl;
    }
}

/* The parts of a name joined by '.'; 0: longer than any resource that has ACLs. */
static size_t make_key(char key[KEY_SIZE_MAX], fl_resource_type type, fl_slice first, fl_slice rest)
{
    const size_t dot = rest.size != 0 ? 1 : 0;
    if (first.size > FL_ACL_TEXT_MAX || rest.size > FL_ACL_TEXT_MAX ||
        first.size + dot + rest.size > FL_ACL_TEXT_MAX) {
        return 0;
    }
    key[0] = (char)('0' + type);
    if (first.size != 0) {
        memcpy(key + 1, first.data, first.size);
    }
    if (dot != 0) {
        key[1 + first.size] = '.';
        memcpy(key + 2 + first.size, rest.data, rest.size);
    }
    return 1 + first.size + dot + rest.size;
}

static resource *find(const fl_acls *acls, fl_resource_type type, fl_slice first, fl_slice rest)
{
    char key[KEY_SIZE_MAX];
    resource *found = NULL;
    const size_t size = make_key(key, type, first, rest);
    if (size != 0) {
        HASH_FIND(hh, acls->resources, key, size, found);
    }
    return found;
}

static resource *find_of(const fl_acls *acls, const fl_acl *acl)
{
    return find(acls, (fl_resource_type)acl->resource_type, acl->resource_name, (fl_slice){0});
}

static resource *find_or_add(fl_acls *acls, const fl_acl *acl)
{
    resource *found = find_of(acls, acl);
    if (found != NULL) {
        return found;
    }
    found = fl_calloc(1, sizeof(*found) + KEY_SIZE_MAX);
    if (found == NULL) {
        return NULL;
    }
    found->key_size = make_key(found->key, (fl_resource_type)acl->resource_type, acl->resource_name,
                               (fl_slice){0});
    HASH_ADD_KEYPTR(hh, acls->resources, found->key, found->key_size, found);
    if (!FL_HASH_HAS(found, hh)) {
        fl_free(found);
        return NULL;
    }
    return found;
}

static void drop_if_empty(fl_acls *acls, resource *which)
{
    if (which->first == NULL) {
        HASH_DEL(acls->resources, which);
        fl_free(which);
    }
}

static fl_slice keep(char **at, fl_slice text)
{
    const fl_slice kept = fl_slice_of(*at, text.size);
    memcpy(*at, text.data, text.size);
    *at += text.size;
    return kept;
}

static entry *entry_new(const fl_acl *acl)
{
    const size_t size = acl->resource_name.size + acl->principal_type.size +
                        acl->principal_name.size + acl->host.size;
    entry *made = fl_calloc(1, sizeof(*made) + size);
    if (made != NULL) {
        char *at = (char *)(made + 1);
        made->acl = *acl;
        made->acl.resource_name = keep(&at, acl->resource_name);
        made->acl.principal_type = keep(&at, acl->principal_type);
        made->acl.principal_name = keep(&at, acl->principal_name);
        made->acl.host = keep(&at, acl->host);
    }
    return made;
}

bool fl_acls_add(fl_acls *acls, const fl_acl *acl)
{
    resource *of = find_or_add(acls, acl);
    if (of == NULL) {
        return false;
    }
    for (const entry *at = of->first; at != NULL; at = at->next) {
        if (fl_acl_equal(&at->acl, acl)) {
            return true;
        }
    }
    entry *made = entry_new(acl);
    if (made == NULL) {
        drop_if_empty(acls, of);
        return false;
    }
    made->next = of->first;
    of->first = made;
    DL_APPEND2(acls->added, made, previous_added, next_added);
    acls->count++;
    return true;
}

void fl_acls_remove(fl_acls *acls, const fl_acl *acl)
{
    resource *of = find_of(acls, acl);
    for (entry **at = of != NULL ? &of->first : NULL; at != NULL && *at != NULL;
         at = &(*at)->next) {
        if (fl_acl_equal(&(*at)->acl, acl)) {
            entry *found = *at;
            *at = found->next;
            DL_DELETE2(acls->added, found, previous_added, next_added);
            acls->count--;
            fl_free(found);
            drop_if_empty(acls, of);
            return;
        }
    }
}

/* ---- the question ---- */

/* Equal as text, or two spellings of one IPv6 address. */
static bool is_host(fl_slice host, const char *address)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr a, b;
    if (fl_slice_equal_str(host, "*") || fl_slice_equal_str(host, address)) {
        return true;
    }
    if (host.size >= sizeof(text)) {
        return false;
    }
    memcpy(text, host.data, host.size);
    text[host.size] = '\0';
    return inet_pton(AF_INET6, text, &a) == 1 && inet_pton(AF_INET6, address, &b) == 1 &&
           memcmp(&a, &b, sizeof(a)) == 0;
}

static bool includes(int32_t granted, fl_operation wanted)
{
    return granted == FL_OPERATION_ALL || granted == (int32_t)wanted ||
           (wanted == FL_OPERATION_DESCRIBE && granted > FL_OPERATION_ALL);
}

static bool allows(const fl_acls *acls, const fl_acl *acl, const fl_principal *who,
                   fl_operation operation)
{
    const bool is_everyone = fl_slice_equal_str(acl->principal_type, "*") &&
                             fl_slice_equal_str(acl->principal_name, "*");
    return acl->permission_type == FL_PERMISSION_ALLOW &&
           includes(acl->operation_type, operation) &&
           (is_everyone ||
            fl_principal_is(who, acl->principal_type, acl->principal_name, acls->ignores_case)) &&
           is_host(acl->host, who->host);
}

static bool any_allows(const fl_acls *acls, const resource *of, const fl_principal *who,
                       fl_operation operation)
{
    for (const entry *at = of != NULL ? of->first : NULL; at != NULL; at = at->next) {
        if (allows(acls, &at->acl, who, operation)) {
            return true;
        }
    }
    return false;
}

bool fl_acls_allow(const fl_acls *acls, const fl_principal *who, fl_operation operation,
                   const fl_resource *what)
{
    const fl_slice none = {0}, star = fl_slice_str("*"), cluster = fl_slice_str(FL_CLUSTER_NAME);
    if (what->type < FL_RESOURCE_CLUSTER || what->type > FL_RESOURCE_TABLE) {
        return false;
    }
    const bool is_table = what->type == FL_RESOURCE_TABLE;
    return any_allows(acls, find(acls, FL_RESOURCE_CLUSTER, cluster, none), who, operation) ||
           (what->type != FL_RESOURCE_CLUSTER &&
            any_allows(acls, find(acls, FL_RESOURCE_DATABASE, what->database, none), who,
                       operation)) ||
           (is_table && any_allows(acls, find(acls, what->type, what->database, what->table), who,
                                   operation)) ||
           any_allows(acls, find(acls, what->type, star, none), who, operation);
}
