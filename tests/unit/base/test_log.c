/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a line reaches the hook when its level is wanted, and fits the stated size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

typedef struct seen_line {
    int count, level;
    char component[32], text[2048];
} seen_line;

static void remember(int level, const char *component, const char *text, void *user)
{
    seen_line *seen = user;
    seen->count++;
    seen->level = level;
    (void)snprintf(seen->component, sizeof(seen->component), "%s", component);
    (void)snprintf(seen->text, sizeof(seen->text), "%s", text);
}

static void a_wanted_line_reaches_the_hook(void **state)
{
    (void)state;
    seen_line seen = {0};
    fl_log_set(remember, FL_LOG_INFO, &seen);
    fl_log(FL_LOG_INFO, "net", "port %d", 9123);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.level, FL_LOG_INFO);
    assert_string_equal(seen.component, "net");
    assert_string_equal(seen.text, "port 9123");
    fl_log(FL_LOG_DEBUG, "net", "too fine");
    assert_int_equal(seen.count, 1);
    fl_log_set(NULL, FL_LOG_DEBUG, NULL);
    fl_log(FL_LOG_ERROR, "net", "nobody listens");
    assert_int_equal(seen.count, 1);
}

static void a_long_line_is_cut_at_a_character(void **state)
{
    (void)state;
    char text[1999];
    for (size_t i = 0; i + 2 < sizeof(text); i += 2) {
        memcpy(text + i, "é", 2);
    }
    text[sizeof(text) - 1] = '\0';
    seen_line seen = {0};
    fl_log_set(remember, FL_LOG_DEBUG, &seen);
    fl_log(FL_LOG_INFO, "x", "%s", text);
    assert_in_range(strlen(seen.text), 1020, 1023);
    assert_true(fl_utf8_is_valid(seen.text, strlen(seen.text)));
    fl_log_set(NULL, 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wanted_line_reaches_the_hook),
        cmocka_unit_test(a_long_line_is_cut_at_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
