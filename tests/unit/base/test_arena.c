/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: blocks of an arena are aligned, zeroed, apart from each other, and freed together.
 * Method: many blocks of growing sizes, each filled with its own byte and checked at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/arena.h"

static void blocks_are_aligned_zeroed_and_apart(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    const int64_t before = fl_alloc_live_count();
    fl_arena arena;
    fl_arena_init(&arena);
    uint8_t *blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        blocks[i] = fl_arena_alloc(&arena, i * 3);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t j = 0; j < i * 3; j++) {
            assert_int_equal(blocks[i][j], 0);
        }
        memset(blocks[i], (int)(i & 0xFF), i * 3);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < i * 3; j++) {
            assert_int_equal(blocks[i][j], i & 0xFF);
        }
    }
    fl_arena_deinit(&arena);
    assert_int_equal(fl_alloc_live_count(), before);
}

static void reset_gives_zeroed_memory_again(void **state)
{
    (void)state;
    fl_arena arena;
    fl_arena_init(&arena);
    for (int round = 0; round < 3; round++) {
        uint8_t *block = fl_arena_alloc(&arena, 700);
        assert_non_null(block);
        assert_int_equal(block[0] | block[699], 0);
        memset(block, 0xFF, 700);
        fl_arena_reset(&arena);
    }
    fl_arena_deinit(&arena);
}

static void reset_keeps_one_usual_block_and_no_outsize_block(void **state)
{
    (void)state;
    fl_arena arena;
    fl_arena_init(&arena);
    const int64_t before = fl_alloc_live_count();
    for (int i = 0; i < 100; i++) {
        assert_non_null(fl_arena_alloc(&arena, 1000));
    }
    fl_arena_reset(&arena);
    assert_int_equal(fl_alloc_live_count() - before, 1);
    assert_non_null(fl_arena_alloc(&arena, 16 << 20));
    fl_arena_reset(&arena);
    assert_true(arena.size_total < 1 << 20);
    fl_arena_deinit(&arena);
    assert_int_equal(fl_alloc_live_count(), before);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    fl_arena arena;
    fl_arena_init(&arena);
    assert_null(fl_arena_alloc(&arena, SIZE_MAX));
    assert_null(fl_arena_alloc(&arena, SIZE_MAX - 8));
    assert_null(fl_arena_array(&arena, SIZE_MAX / 4, 8));
    assert_null(fl_arena_strndup(&arena, "x", SIZE_MAX));
    assert_non_null(fl_arena_alloc(&arena, 8));
    fl_arena_deinit(&arena);
}

static void out_of_memory_leaves_the_arena_usable(void **state)
{
    (void)state;
    fl_arena arena;
    fl_arena_init(&arena);
    fl_alloc_fail_at(1);
    assert_null(fl_arena_alloc(&arena, 10));
    char *text = fl_arena_strdup(&arena, "here");
    assert_non_null(text);
    assert_string_equal(text, "here");
    fl_arena_deinit(&arena);
}

static void strndup_terminates(void **state)
{
    (void)state;
    fl_arena arena;
    fl_arena_init(&arena);
    memset(fl_arena_alloc(&arena, 64), 0xFF, 64);
    fl_arena_reset(&arena);
    char *text = fl_arena_strndup(&arena, "abcdef", 3);
    assert_non_null(text);
    assert_string_equal(text, "abc");
    fl_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zeroed_and_apart),
        cmocka_unit_test(reset_gives_zeroed_memory_again),
        cmocka_unit_test(reset_keeps_one_usual_block_and_no_outsize_block),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(out_of_memory_leaves_the_arena_usable),
        cmocka_unit_test(strndup_terminates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
