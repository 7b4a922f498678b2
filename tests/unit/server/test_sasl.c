/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: exactly the right name and password pass, wrong users are named without their password.
 * Method: tables; a cut or flip at every byte of a good token. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/sasl.h"

static const char good[] = "\0admin\0admin-secret";

static void users_of(const char *text, fl_arena *arena, fl_sasl_users *users)
{
    fluss_error_t err;
    fl_arena_init(arena);
    assert_int_equal(fl_sasl_users_parse(text, arena, users, &err), 0);
}

static bool passes(const fl_sasl_users *users, const char *token, size_t size)
{
    fluss_error_t err;
    fl_slice name;
    const fluss_code_t rc = fl_sasl_plain_check(users, fl_slice_of(token, size), &name, &err);
    assert_true(rc == 0 || rc == FLUSS_E_AUTHENTICATE_EXCEPTION);
    return rc == 0;
}

static void the_right_password_passes_and_gives_the_name(void **state)
{
    (void)state;
    fl_arena arena;
    fl_sasl_users users;
    fl_slice name;
    fluss_error_t err;
    users_of("alice:a b,admin:admin-secret", &arena, &users);
    assert_int_equal(fl_sasl_plain_check(&users, fl_slice_of(good, sizeof(good) - 1), &name, &err),
                     0);
    assert_true(fl_slice_equal_str(name, "admin"));
    assert_true(passes(&users, "admin\0admin\0admin-secret", 24));
    assert_true(passes(&users, "\0alice\0a b", 10));
    fl_arena_deinit(&arena);
}

static void a_token_cut_or_changed_anywhere_is_refused(void **state)
{
    (void)state;
    fl_arena arena;
    fl_sasl_users users;
    char token[sizeof(good)];
    users_of("alice:x,admin:admin-secret", &arena, &users);
    for (size_t i = 0; i < sizeof(good) - 1; i++) {
        memcpy(token, good, sizeof(good));
        assert_false(passes(&users, token, i));
        token[i] ^= 1;
        assert_false(passes(&users, token, sizeof(good) - 1));
    }
    assert_false(passes(&users, "\0admin\0admin-secretadmin-secret", 31));
    assert_false(passes(&users, "\0admin\0admin-secret\0", 20));
    assert_false(passes(&users, "alice\0admin\0admin-secret", 24));
    assert_false(passes(&users, "\0alice\0admin-secret", 19));
    fl_arena_deinit(&arena);
}

static void nobody_passes_without_users(void **state)
{
    (void)state;
    fl_arena arena;
    fl_sasl_users users;
    users_of("", &arena, &users);
    assert_int_equal(users.count, 0);
    assert_false(passes(&users, good, sizeof(good) - 1));
    fl_arena_deinit(&arena);
}

static void wrong_users_are_refused_without_showing_a_password(void **state)
{
    (void)state;
    static const char *const cases[] = {"alice",     ":hidden",      "alice:",     "al ice:hidden",
                                        "a:1,b",     "a:1,a:hidden", "a:hid\\den", "a:hid;den",
                                        "a:hid:den", "a:hid\"den",   "a:hid\tden", "a:hidden,",
                                        ",a:hidden", "a-b:hidden"};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        fl_arena arena;
        fl_sasl_users users;
        fluss_error_t err;
        fl_arena_init(&arena);
        assert_int_equal(fl_sasl_users_parse(cases[i], &arena, &users, &err), FLUSS_E_CLIENT);
        assert_null(strstr(err.message, "hid"));
        fl_arena_deinit(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_password_passes_and_gives_the_name),
        cmocka_unit_test(a_token_cut_or_changed_anywhere_is_refused),
        cmocka_unit_test(nobody_passes_without_users),
        cmocka_unit_test(wrong_users_are_refused_without_showing_a_password),
    };
    return cmocka_run_group_tests_name("server_sasl", tests, NULL, NULL);
}
