/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: an ACL allows what it says and nothing else. Method: tables of questions against one ACL; a
 * set that grows and shrinks at random, compared with a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/acl.h"

static fl_acl acl_of(fl_resource_type type, const char *resource, const char *user,
                     fl_operation operation, const char *host)
{
    return (fl_acl){.resource_type = (int32_t)type,
                    .resource_name = fl_slice_str(resource),
                    .principal_type = fl_slice_str(strcmp(user, "*") == 0 ? "*" : "User"),
                    .principal_name = fl_slice_str(user),
                    .host = fl_slice_str(host),
                    .operation_type = (int32_t)operation,
                    .permission_type = FL_PERMISSION_ALLOW};
}

static const fl_principal alice = {.type = {(const uint8_t *)"User", 4},
                                   .name = {(const uint8_t *)"alice", 5},
                                   .host = "10.0.0.7"};

static fl_resource table_of(const char *database, const char *table)
{
    return (fl_resource){.type = FL_RESOURCE_TABLE,
                         .database = fl_slice_str(database),
                         .table = fl_slice_str(table)};
}

/* Whether one ACL alone lets alice do something. */
static bool allows(fl_acl acl, fl_operation operation, fl_resource what)
{
    fl_acls *acls = fl_acls_new(false);
    assert_non_null(acls);
    assert_true(fl_acls_add(acls, &acl));
    const bool is_allowed = fl_acls_allow(acls, &alice, operation, &what);
    fl_acls_free(acls);
    return is_allowed;
}

static void an_empty_set_allows_nothing(void **state)
{
    (void)state;
    const fl_resource what = table_of("d", "t"), cluster = {.type = FL_RESOURCE_CLUSTER};
    fl_acls *acls = fl_acls_new(false);
    assert_false(fl_acls_allow(acls, &alice, FL_OPERATION_DESCRIBE, &what));
    assert_false(fl_acls_allow(acls, &alice, FL_OPERATION_DESCRIBE, &cluster));
    fl_acls_free(acls);
}

static void operations_include_describe_and_all_includes_them(void **state)
{
    (void)state;
    for (int given = FL_OPERATION_ANY; given <= FL_OPERATION_DESCRIBE; given++) {
        for (int asked = FL_OPERATION_READ; asked <= FL_OPERATION_DESCRIBE; asked++) {
            const fl_acl acl = acl_of(FL_RESOURCE_TABLE, "d.t", "alice", (fl_operation)given, "*");
            const bool is_right = given == asked || given == FL_OPERATION_ALL ||
                                  (asked == FL_OPERATION_DESCRIBE && given >= FL_OPERATION_READ);
            assert_int_equal(allows(acl, (fl_operation)asked, table_of("d", "t")), is_right);
        }
    }
}

static void only_what_encloses_a_resource_counts_for_it(void **state)
{
    (void)state;
    static const struct {
        fl_resource_type type;
        const char *resource;
        bool table, database, cluster; /* whether it counts for d.t, d, the cluster */
    } cases[] = {
        {FL_RESOURCE_TABLE, "d.t", true, false, false},
        {FL_RESOURCE_TABLE, "*", true, false, false},
        {FL_RESOURCE_TABLE, "d.tt", false, false, false},
        {FL_RESOURCE_TABLE, "d", false, false, false},
        {FL_RESOURCE_DATABASE, "d", true, true, false},
        {FL_RESOURCE_DATABASE, "*", false, true, false},
        {FL_RESOURCE_DATABASE, "d.t", false, false, false},
        {FL_RESOURCE_DATABASE, "dd", false, false, false},
        {FL_RESOURCE_CLUSTER, FL_CLUSTER_NAME, true, true, true},
        {FL_RESOURCE_CLUSTER, "*", false, false, true},
        {FL_RESOURCE_CLUSTER, "other", false, false, false},
        {FL_RESOURCE_ANY, "*", false, false, false},
    };
    const fl_resource database = {.type = FL_RESOURCE_DATABASE, .database = fl_slice_str("d")};
    const fl_resource cluster = {.type = FL_RESOURCE_CLUSTER};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        const fl_acl acl =
            acl_of(cases[i].type, cases[i].resource, "alice", FL_OPERATION_WRITE, "*");
        assert_int_equal(allows(acl, FL_OPERATION_WRITE, table_of("d", "t")), cases[i].table);
        assert_int_equal(allows(acl, FL_OPERATION_WRITE, database), cases[i].database);
        assert_int_equal(allows(acl, FL_OPERATION_WRITE, cluster), cases[i].cluster);
    }
}

static void users_and_hosts_are_compared_whole(void **state)
{
    (void)state;
    static const struct {
        const char *user, *host;
        bool is_right;
    } cases[] = {{"alice", "*", true},         {"*", "*", true},      {"alic", "*", false},
                 {"alicex", "*", false},       {"Alice", "*", false}, {"alice", "10.0.0.7", true},
                 {"alice", "10.0.0.70", false}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        const fl_acl acl =
            acl_of(FL_RESOURCE_TABLE, "d.t", cases[i].user, FL_OPERATION_READ, cases[i].host);
        assert_int_equal(allows(acl, FL_OPERATION_READ, table_of("d", "t")), cases[i].is_right);
    }
}

static void addresses_of_ipv6_have_several_spellings(void **state)
{
    (void)state;
    const fl_resource what = table_of("d", "t");
    const fl_acl acl = acl_of(FL_RESOURCE_TABLE, "d.t", "alice", FL_OPERATION_READ,
                              "0:0:0:0:0:0:0:1"); /* as Java writes it */
    fl_principal local = alice;
    fl_acls *acls = fl_acls_new(false);
    assert_true(fl_acls_add(acls, &acl));
    local.host = "::1";
    assert_true(fl_acls_allow(acls, &local, FL_OPERATION_READ, &what));
    local.host = "::2";
    assert_false(fl_acls_allow(acls, &local, FL_OPERATION_READ, &what));
    fl_acls_free(acls);
}

static void names_of_any_size_are_asked_for(void **state)
{
    (void)state;
    static char name[3 * FL_ACL_TEXT_MAX];
    memset(name, 'x', sizeof(name) - 1);
    const fl_acl acl = acl_of(FL_RESOURCE_CLUSTER, FL_CLUSTER_NAME, "alice", FL_OPERATION_ALL, "*");
    assert_true(allows(acl, FL_OPERATION_READ, table_of(name, name)));
    assert_false(allows(acl_of(FL_RESOURCE_TABLE, "d.t", "alice", FL_OPERATION_ALL, "*"),
                        FL_OPERATION_READ, table_of(name, name)));
    assert_true(allows(acl, FL_OPERATION_READ, (fl_resource){.type = FL_RESOURCE_TABLE}));
}

static void wrong_acls_are_named(void **state)
{
    (void)state;
    static char text[FL_ACL_TEXT_MAX + 2];
    fluss_error_t err;
    memset(text, 'x', sizeof(text) - 1);
    fl_acl acl = acl_of(FL_RESOURCE_TABLE, "d.t", "alice", FL_OPERATION_READ, "*");
    assert_int_equal(fl_acl_check(&acl, &err), 0);
    acl.operation_type = 9;
    assert_int_not_equal(fl_acl_check(&acl, &err), 0);
    assert_non_null(strstr(err.message, "operation 9"));
    acl = acl_of(FL_RESOURCE_TABLE, text, "alice", FL_OPERATION_READ, "*");
    assert_int_not_equal(fl_acl_check(&acl, &err), 0);
    assert_non_null(strstr(err.message, "resource name has 1001 bytes"));
}

enum { MODEL_MAX = 64, STEPS = 20000 };

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* One of MODEL_MAX ACLs; texts live in `room`. */
static fl_acl numbered(uint32_t number, char room[16])
{
    (void)snprintf(room, 16, "d%u.t%u", number % 4, number / 4 % 4);
    return acl_of(FL_RESOURCE_TABLE, room, "alice", (fl_operation)(FL_OPERATION_READ + number / 16),
                  "*");
}

static void a_set_is_what_was_added_and_not_removed(void **state)
{
    (void)state;
    bool model[MODEL_MAX] = {false};
    char room[16];
    uint32_t seed = 7;
    fl_acls *acls = fl_acls_new(false);
    for (int step = 0; step < STEPS; step++) {
        const uint32_t number = next_random(&seed) % MODEL_MAX;
        const bool adds = next_random(&seed) % 2 == 0;
        const fl_acl acl = numbered(number, room);
        size_t count = 0;
        if (adds) {
            assert_true(fl_acls_add(acls, &acl));
        } else {
            fl_acls_remove(acls, &acl);
        }
        model[number] = adds;
        for (size_t i = 0; i < MODEL_MAX; i++) {
            count += model[i] ? 1 : 0;
        }
        assert_int_equal(fl_acls_count(acls), count);
    }
    fl_acl all[MODEL_MAX] = {0};
    const size_t count = fl_acls_count(acls);
    fl_acls_copy(acls, all, count);
    for (uint32_t i = 0; i < MODEL_MAX; i++) {
        const fl_acl acl = numbered(i, room);
        size_t found = 0;
        for (size_t j = 0; j < count; j++) {
            found += fl_acl_equal(&acl, &all[j]) ? 1 : 0;
        }
        assert_int_equal(found, model[i] ? 1 : 0);
    }
    fl_acls_free(acls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_set_allows_nothing),
        cmocka_unit_test(operations_include_describe_and_all_includes_them),
        cmocka_unit_test(only_what_encloses_a_resource_counts_for_it),
        cmocka_unit_test(users_and_hosts_are_compared_whole),
        cmocka_unit_test(addresses_of_ipv6_have_several_spellings),
        cmocka_unit_test(names_of_any_size_are_asked_for),
        cmocka_unit_test(wrong_acls_are_named),
        cmocka_unit_test(a_set_is_what_was_added_and_not_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
