/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: names are found where they stand, however many there are and however alike; running out of
 * memory leaves an index as it was. Method: numbered names, added and looked for in another order,
 * next to names that were not added; every allocation fails once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/name_index.h"

enum { COUNT = 10000 };

static char *numbered(fl_arena *arena, size_t i)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "name_%zu", i);
    return fl_arena_strdup(arena, text);
}

static fl_name_index index_of(fl_arena *arena, size_t count)
{
    fl_name_index index = {0};
    for (size_t i = 0; i < count; i++) {
        size_t position;
        const char *name = numbered(arena, i);
        assert_non_null(name);
        assert_int_equal(fl_name_index_add(&index, arena, name, &position, NULL), 0);
        assert_int_equal(position, i);
    }
    return index;
}

static void names_are_found_where_they_stand(void **state)
{
    (void)state;
    fl_arena arena;
    fl_arena_init(&arena);
    const fl_name_index index = index_of(&arena, COUNT);
    for (size_t i = COUNT; i-- > 0;) {
        const char *name = numbered(&arena, i);
        assert_int_equal(fl_name_index_find(&index, name, strlen(name)), (ptrdiff_t)i);
    }
    const char *after = numbered(&arena, COUNT);
    assert_int_equal(fl_name_index_find(&index, after, strlen(after)), -1);
    fl_arena_deinit(&arena);
}

static void size_tells_where_a_name_ends(void **state)
{
    (void)state;
    fl_arena arena;
    fl_arena_init(&arena);
    const fl_name_index index = index_of(&arena, 20);
    assert_int_equal(fl_name_index_find(&index, "name_19", 6), 1);
    assert_int_equal(fl_name_index_find(&index, "name_", 5), -1);
    assert_int_equal(fl_name_index_find(&index, "name_1\0", 7), -1);
    assert_int_equal(fl_name_index_find(&index, "", 0), -1);
    fl_arena_deinit(&arena);
}

static void an_empty_index_has_no_name(void **state)
{
    (void)state;
    const fl_name_index index = {0};
    assert_int_equal(fl_name_index_find(&index, "", 0), -1);
    assert_int_equal(fl_name_index_find(&index, "name", 4), -1);
}

static void a_repeated_name_stands_where_it_stood_first(void **state)
{
    (void)state;
    fl_arena arena;
    fl_arena_init(&arena);
    fl_name_index index = index_of(&arena, 3);
    size_t position;
    assert_int_equal(fl_name_index_add(&index, &arena, "name_1", &position, NULL), 0);
    assert_int_equal(position, 1);
    assert_int_equal(fl_name_index_add(&index, &arena, "next", &position, NULL), 0);
    assert_int_equal(position, 4);
    assert_int_equal(fl_name_index_find(&index, "name_1", 6), 1);
    fl_arena_deinit(&arena);
}

static void no_memory_leaves_the_index_as_it_was(void **state)
{
    (void)state;
    fl_arena names, arena;
    fl_arena_init(&names);
    fl_arena_init(&arena);
    fl_name_index index = {0};
    size_t failures = 0;
    for (size_t i = 0; i < 1000; i++) {
        const char *name = numbered(&names, i);
        size_t position;
        fl_alloc_fail_at(1);
        if (fl_name_index_add(&index, &arena, name, &position, NULL) != 0) {
            failures++;
            assert_int_equal(fl_name_index_find(&index, name, strlen(name)), -1);
            fl_alloc_fail_at(0);
            assert_int_equal(fl_name_index_add(&index, &arena, name, &position, NULL), 0);
        }
        fl_alloc_fail_at(0);
        assert_int_equal(position, i);
    }
    assert_true(failures > 0);
    assert_int_equal(fl_name_index_find(&index, "name_7", 6), 7);
    fl_arena_deinit(&names);
    fl_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_where_they_stand),
        cmocka_unit_test(size_tells_where_a_name_ends),
        cmocka_unit_test(an_empty_index_has_no_name),
        cmocka_unit_test(a_repeated_name_stands_where_it_stood_first),
        cmocka_unit_test(no_memory_leaves_the_index_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
