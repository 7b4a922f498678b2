/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: numbers are read and written alike whatever locale the program has set. Method: a locale
 * with a decimal comma, made by localedef; skipped where that is missing. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "format/java_float.h"
#include "format/row_codec.h"
#include "server/settings.h"

static char dir[] = "/tmp/fluss-locale-XXXXXX";

static int set_comma_locale(void **state)
{
    (void)state;
    char command[200];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(command, sizeof(command),
                   "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>%s/errors", dir, dir);
    if (system(command) == 0) {
        assert_int_equal(setenv("LOCPATH", dir, 1), 0);
        (void)setlocale(LC_ALL, "de_DE.UTF-8");
    }
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    char command[100];
    (void)setlocale(LC_ALL, "C");
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static void need_comma(void)
{
    if (strcmp(localeconv()->decimal_point, ",") != 0) {
        skip();
    }
}

static void floating_point_numbers_have_javas_text(void **state)
{
    (void)state;
    char text[FL_JAVA_FLOAT_SIZE];
    need_comma();
    (void)fl_java_double_print(1.5, text);
    assert_string_equal(text, "1.5");
    (void)fl_java_double_print(-1.2345678901234567e300, text);
    assert_string_equal(text, "-1.2345678901234567E300");
    (void)fl_java_float_print(0.001F, text);
    assert_string_equal(text, "0.001");
}

static void a_partitions_number_is_read(void **state)
{
    (void)state;
    static const fl_type type = {.root = FLUSS_DOUBLE};
    fluss_error_t err;
    fl_arena arena;
    fluss_datum_t value;
    need_comma();
    fl_arena_init(&arena);
    assert_int_equal(fl_partition_value_parse(&type, fl_slice_str("1_5"), &arena, &value, &err), 0);
    assert_true(value.v.f == 1.5);
    fl_arena_deinit(&arena);
}

static void a_settings_share_is_read(void **state)
{
    (void)state;
    static const fluss_kv_t pair = {"server.data-disk.write-limit-ratio", "0.9"};
    fl_settings settings;
    fluss_error_t err;
    need_comma();
    assert_int_equal(fl_settings_read(&pair, 1, &settings, &err), 0);
    assert_true(settings.disk_limit == 0.9);
    fl_settings_deinit(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floating_point_numbers_have_javas_text),
        cmocka_unit_test(a_partitions_number_is_read),
        cmocka_unit_test(a_settings_share_is_read),
    };
    return cmocka_run_group_tests(tests, set_comma_locale, remove_dir);
}
