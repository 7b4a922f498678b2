/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: distances of names are Levenshtein's, whichever comes first, and long texts are cut.
 * Method: a table of pairs worked out by hand; two texts that differ behind the limit only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/edit_distance.h"

static void edits_are_counted_both_ways(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"ttl", "ttl", 0},
        {"ttl", "tl", 1},
        {"ttl", "ttls", 1},
        {"ttl", "tal", 1},
        {"abc", "acb", 2},
        {"kitten", "sitting", 3},
        {"log.ttl", "ttl", 4},
        {"abcd", "wxyz", 4},
        {"saturday", "sunday", 3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(fl_edit_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(fl_edit_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

static void what_is_behind_the_limit_does_not_count(void **state)
{
    (void)state;
    char a[FL_EDIT_SIZE_MAX + 3], b[FL_EDIT_SIZE_MAX + 3];
    memset(a, 'x', sizeof(a));
    memset(b, 'x', sizeof(b));
    a[sizeof(a) - 1] = b[FL_EDIT_SIZE_MAX] = '\0';
    assert_int_equal(fl_edit_distance(a, b), 0);
    b[FL_EDIT_SIZE_MAX - 1] = 'y';
    assert_int_equal(fl_edit_distance(a, b), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits_are_counted_both_ways),
        cmocka_unit_test(what_is_behind_the_limit_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
