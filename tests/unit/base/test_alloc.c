/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: the allocator counts, fails on demand, and refuses sizes that overflow.
 * Method: real blocks; the n-th call is told to fail and must be the only one that does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void live_count_returns_to_its_start(void **state)
{
    (void)state;
    const int64_t before = fl_alloc_live_count();
    void *a = fl_alloc(0);
    void *b = fl_realloc(NULL, 10);
    char *c = fl_strdup("text");
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    assert_int_equal(fl_alloc_live_count() - before, 3);
    b = fl_realloc(b, 1000);
    assert_non_null(b);
    assert_int_equal(fl_alloc_live_count() - before, 3);
    fl_free(a);
    fl_free(b);
    fl_free(c);
    fl_free(NULL);
    assert_int_equal(fl_alloc_live_count(), before);
}

static void only_the_chosen_call_fails(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 5; n++) {
        fl_alloc_fail_at(n);
        for (uint64_t call = 1; call <= 6; call++) {
            void *block = fl_alloc(8);
            assert_int_equal(block == NULL, call == n);
            fl_free(block);
        }
    }
    fl_alloc_fail_at(0);
}

static void failed_resize_keeps_the_block(void **state)
{
    (void)state;
    char *block = fl_strdup("kept");
    assert_non_null(block);
    fl_alloc_fail_at(1);
    assert_null(fl_realloc(block, 100));
    assert_string_equal(block, "kept");
    fl_free(block);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    assert_null(fl_calloc(SIZE_MAX / 2, 3));
    assert_null(fl_strndup("x", SIZE_MAX));
}

static void calloc_zeroes_a_used_block(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        unsigned char *block = fl_calloc(7, 11);
        assert_non_null(block);
        for (size_t i = 0; i < 77; i++) {
            assert_int_equal(block[i], 0);
        }
        memset(block, 0xAB, 77);
        fl_free(block);
    }
}

static void strndup_copies_bytes_and_terminates(void **state)
{
    (void)state;
    char *copy = fl_strndup("a\0b?", 3);
    assert_non_null(copy);
    assert_memory_equal(copy, "a\0b", 4);
    fl_free(copy);
    copy = fl_strndup(NULL, 0);
    assert_non_null(copy);
    assert_string_equal(copy, "");
    fl_free(copy);
}

static size_t hook_calls;

static void *counting_alloc(size_t size)
{
    hook_calls++;
    return malloc(size);
}

static void hooks_replace_and_null_restores(void **state)
{
    (void)state;
    fl_alloc_set_hooks(counting_alloc, NULL, NULL);
    fl_free(fl_alloc(1));
    fl_alloc_set_hooks(NULL, NULL, NULL);
    fl_free(fl_alloc(1));
    assert_int_equal(hook_calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_count_returns_to_its_start),
        cmocka_unit_test(only_the_chosen_call_fails),
        cmocka_unit_test(failed_resize_keeps_the_block),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(calloc_zeroes_a_used_block),
        cmocka_unit_test(strndup_copies_bytes_and_terminates),
        cmocka_unit_test(hooks_replace_and_null_restores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
