/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: settings are read as documented, and every wrong one is named. Method: tables of pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/settings.h"

static void defaults_are_those_of_the_table(void **state)
{
    (void)state;
    fl_settings settings;
    fluss_error_t err;
    assert_int_equal(fl_settings_read(NULL, 0, &settings, &err), 0);
    assert_string_equal(settings.log_flush, "ack");
    assert_int_equal(settings.segment_size, 1 << 30);
    assert_int_equal(settings.writer_expiration, INT64_C(7) * 86400 * 1000);
    assert_int_equal(settings.bucket_number, 1);
    assert_true(settings.allow_log_tables);
    fl_settings_deinit(&settings);
}

static void sizes_and_times_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        int64_t wanted;
    } cases[] = {{"log.segment.file-size", "4096", 4096},
                 {"log.segment.file-size", "64 kb", 65536},
                 {"log.segment.file-size", "1MB", 1 << 20},
                 {"netty.connection.max-idle-time", "250", 250},
                 {"netty.connection.max-idle-time", "30s", 30000},
                 {"netty.connection.max-idle-time", "10 min", 600000},
                 {"netty.connection.max-idle-time", "2 h", 7200000}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        const fluss_kv_t pair = {.key = cases[i].key, .value = cases[i].value};
        fl_settings settings;
        fluss_error_t err;
        assert_int_equal(fl_settings_read(&pair, 1, &settings, &err), 0);
        const bool is_size = strcmp(cases[i].key, "log.segment.file-size") == 0;
        assert_int_equal(is_size ? (int64_t)settings.segment_size : settings.idle_timeout,
                         cases[i].wanted);
        fl_settings_deinit(&settings);
    }
}

static void a_later_pair_beats_an_earlier_one(void **state)
{
    (void)state;
    const fluss_kv_t pairs[] = {{"max.bucket.num", "7"}, {"max.bucket.num", "9"}};
    fl_settings settings;
    fluss_error_t err;
    assert_int_equal(fl_settings_read(pairs, 2, &settings, &err), 0);
    assert_int_equal(settings.bucket_max, 9);
    fl_settings_deinit(&settings);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *named;
    } cases[] = {{"log.flsh", "ack", "'log.flush'"},
                 {"dta.dir", "x", "'data.dir'"},
                 {"log.flush", "never", "ack or os"},
                 {"server.shards", "65", "at most 64"},
                 {"server.shards", "-1", "server.shards"},
                 {"max.bucket.num", "many", "many"},
                 {"max.bucket.num", "99999999999", "max.bucket.num"},
                 {"log.segment.file-size", "1xb", "1xb"},
                 {"log.segment.file-size", "2gb", "4kb to 1gb"},
                 {"log.segment.file-size", "9223372036854775807tb", "log.segment.file-size"},
                 {"netty.connection.max-idle-time", "soon", "soon"},
                 {"log.retention.check-interval", "0", "above 0"},
                 {"log.retention.check-interval", "0 s", "'log.retention.check-interval'"},
                 {"auto-partition.check.interval", "0", "'auto-partition.check.interval'"},
                 {"auto-partition.check.interval", "999us", "above 0"},
                 {"allow.create.log.tables", "yes", "true or false"},
                 {"server.data-disk.write-limit-ratio", "1.5", "0 to 1"},
                 {"server.data-disk.write-limit-ratio", "nan", "0 to 1"}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        const fluss_kv_t pair = {.key = cases[i].key, .value = cases[i].value};
        fl_settings settings;
        fluss_error_t err;
        assert_int_equal(fl_settings_read(&pair, 1, &settings, &err), FLUSS_E_CLIENT);
        assert_int_equal(err.kind, FLUSS_KIND_ARGUMENT);
        if (strstr(err.message, cases[i].named) == NULL) {
            fail_msg("%s = %s: %s", cases[i].key, cases[i].value, err.message);
        }
        fl_settings_deinit(&settings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(sizes_and_times_have_units),
        cmocka_unit_test(a_later_pair_beats_an_earlier_one),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests_name("server_settings", tests, NULL, NULL);
}
