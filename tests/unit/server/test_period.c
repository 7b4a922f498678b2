/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: periods have the names of the official server, zones their offsets, and no zone file does
 * harm. Method: known moments; a zone file made here, cut at each byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "server/period.h"
#include "server/zone.h"

static const int64_t moment_ms = INT64_C(1795958155312); /* 2026-11-29T13:15:55.312Z */

static void periods_are_named_by_their_unit(void **state)
{
    (void)state;
    static const struct {
        fl_time_unit unit;
        const char *format, *now, *next;
    } cases[] = {{FL_TIME_UNIT_YEAR, NULL, "2026", "2027"},
                 {FL_TIME_UNIT_QUARTER, NULL, "20264", "20271"},
                 {FL_TIME_UNIT_MONTH, NULL, "202611", "202612"},
                 {FL_TIME_UNIT_DAY, NULL, "20261129", "20261130"},
                 {FL_TIME_UNIT_HOUR, NULL, "2026112913", "2026112914"},
                 {FL_TIME_UNIT_DAY, "yyyy-MM-dd", "2026-11-29", "2026-11-30"},
                 {FL_TIME_UNIT_HOUR, "'h'yyyy_MMdd-HH", "h2026_1129-13", "h2026_1129-14"}};
    char name[FL_PERIOD_NAME_SIZE];
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        const int64_t period = fl_period_of(cases[i].unit, moment_ms);
        fl_period_name(cases[i].unit, cases[i].format, period, name);
        assert_string_equal(name, cases[i].now);
        assert_true(fl_period_matches(cases[i].unit, cases[i].format, fl_slice_str(name)));
        fl_period_name(cases[i].unit, cases[i].format, period + 1, name);
        assert_string_equal(name, cases[i].next);
    }
}

static void other_forms_do_not_match(void **state)
{
    (void)state;
    static const char *const days[] = {"", "2026112", "202611299", "2026112a", "2026-1-2"};
    for (size_t i = 0; i < FL_COUNT_OF(days); i++) {
        assert_false(fl_period_matches(FL_TIME_UNIT_DAY, NULL, fl_slice_str(days[i])));
    }
    assert_false(fl_period_matches(FL_TIME_UNIT_DAY, "yyyy-MM-dd", fl_slice_str("2026_11_29")));
}

static void dates_that_the_calendar_has_not_do_not_match(void **state)
{
    (void)state;
    static const struct {
        fl_time_unit unit;
        const char *good, *bad;
    } cases[] = {
        {FL_TIME_UNIT_DAY, "20240229", "20230229"},     {FL_TIME_UNIT_DAY, "20261231", "20261232"},
        {FL_TIME_UNIT_DAY, "20260101", "20260001"},     {FL_TIME_UNIT_DAY, "20260430", "20260431"},
        {FL_TIME_UNIT_DAY, "00010101", "00000101"},     {FL_TIME_UNIT_MONTH, "202612", "202613"},
        {FL_TIME_UNIT_QUARTER, "20264", "20265"},       {FL_TIME_UNIT_QUARTER, "20261", "20260"},
        {FL_TIME_UNIT_HOUR, "2026010123", "2026010124"}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        assert_true(fl_period_matches(cases[i].unit, NULL, fl_slice_str(cases[i].good)));
        assert_false(fl_period_matches(cases[i].unit, NULL, fl_slice_str(cases[i].bad)));
    }
}

static void fixed_zones_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t minutes;
    } cases[] = {{"UTC", 0},      {"Z", 0},         {"GMT+8", 480},  {"+05:30", 330},
                 {"-0330", -210}, {"UTC-11", -660}, {"+18:00", 1080}};
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        fl_zone zone;
        fluss_error_t err;
        assert_int_equal(fl_zone_load(cases[i].name, &zone, &err), 0);
        assert_int_equal(fl_zone_local_ms(&zone, moment_ms), moment_ms + cases[i].minutes * 60000);
        fl_zone_deinit(&zone);
    }
}

static void wrong_zones_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"+19:00",        "+1:2:3", "../../etc/passwd",
                                        "No/Such_Zone",  "",       "/etc/localtime",
                                        "Europe/Ber lin"};
    for (size_t i = 0; i < FL_COUNT_OF(names); i++) {
        fl_zone zone;
        fluss_error_t err;
        assert_int_equal(fl_zone_load(names[i], &zone, &err), FLUSS_E_INVALID_CONFIG);
    }
}

/* The system's own zone is not taken for UTC because there was no memory to read it. */
static void a_zone_without_memory_is_an_error(void **state)
{
    (void)state;
    fl_zone zone;
    fluss_error_t err = {0};
    if (access("/etc/localtime", R_OK) != 0) {
        skip();
    }
    assert_int_equal(unsetenv("TZ"), 0);
    fl_alloc_fail_at(1);
    assert_int_equal(fl_zone_load(NULL, &zone, &err), FLUSS_E_CLIENT);
    fl_alloc_fail_at(0);
    assert_int_equal(err.kind, FLUSS_KIND_NOMEM);
    fl_zone_deinit(&zone);
    err = (fluss_error_t){0};
    assert_int_equal(fl_zone_load(NULL, &zone, &err), 0);
    assert_int_equal(err.code, 0);
    fl_zone_deinit(&zone);
}

enum { FILE_SIZE = 44 + 44 + 2 * 9 + 2 * 6 + 8 };

/* Two transitions: +1 h from 1000 s, +2 h from 2000 s; +1 h before. */
static void make_file(uint8_t file[FILE_SIZE])
{
    memset(file, 0, FILE_SIZE);
    memcpy(file, "TZif2", 5);
    uint8_t *second = file + 44;
    memcpy(second, "TZif2", 5);
    fl_store_be32(second + 32, 2); /* transitions */
    fl_store_be32(second + 36, 2); /* types */
    fl_store_be32(second + 40, 8); /* characters */
    uint8_t *at = second + 44;
    fl_store_be64(at, 1000);
    fl_store_be64(at + 8, 2000);
    at[16] = 0;
    at[17] = 1;
    fl_store_be32(at + 18, 3600);
    fl_store_be32(at + 24, 7200);
}

static void a_zone_file_is_read(void **state)
{
    (void)state;
    uint8_t file[FILE_SIZE];
    fl_zone zone;
    fluss_error_t err;
    make_file(file);
    assert_int_equal(fl_zone_parse(fl_slice_of(file, FILE_SIZE), &zone, &err), 0);
    assert_int_equal(fl_zone_local_ms(&zone, 0), 3600000);
    assert_int_equal(fl_zone_local_ms(&zone, 1999999), 1999999 + 3600000);
    assert_int_equal(fl_zone_local_ms(&zone, 2000000), 2000000 + 7200000);
    fl_zone_deinit(&zone);
}

static void a_broken_zone_file_is_an_error(void **state)
{
    (void)state;
    uint8_t file[FILE_SIZE];
    for (size_t size = 0; size < FILE_SIZE; size++) {
        fl_zone zone;
        fluss_error_t err;
        make_file(file);
        assert_int_not_equal(fl_zone_parse(fl_slice_of(file, size), &zone, &err), 0);
        file[size] ^= 0x80;
        if (fl_zone_parse(fl_slice_of(file, FILE_SIZE), &zone, &err) == 0) {
            fl_zone_deinit(&zone);
        }
    }
}

/* Moments before and after the changes of clocks, as the official tools tell them. */
static void a_rule_goes_on_after_the_last_transition(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        int64_t utc_s;
        int32_t offset_s;
    } cases[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", INT64_C(2531955599), 3600},    /* 2050-03-27T00:59:59Z */
        {"CET-1CEST,M3.5.0,M10.5.0/3", INT64_C(2531955600), 7200},    /* 2050-03-27T01:00:00Z */
        {"CET-1CEST,M3.5.0,M10.5.0/3", INT64_C(2550704399), 7200},    /* 2050-10-30T00:59:59Z */
        {"CET-1CEST,M3.5.0,M10.5.0/3", INT64_C(2550704400), 3600},    /* 2050-10-30T01:00:00Z */
        {"EST5EDT,M3.2.0,M11.1.0", INT64_C(2530767599), -18000},      /* 2050-03-13T06:59:59Z */
        {"EST5EDT,M3.2.0,M11.1.0", INT64_C(2530767600), -14400},      /* 2050-03-13T07:00:00Z */
        {"EST5EDT,M3.2.0,M11.1.0", INT64_C(2551327199), -14400},      /* 2050-11-06T05:59:59Z */
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", INT64_C(2524608000), 39600}, /* southern summer */
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", INT64_C(2540246400), 36000}, /* southern winter */
        {"<+0530>-5:30", INT64_C(2524608000), 19800},
        {"CST-8", INT64_C(2524608000), 28800},
        {"IST-2IDT,M3.4.4/26,M10.5.0", INT64_C(2531779199), 7200}, /* 2050-03-24T23:59:59Z */
        {"IST-2IDT,M3.4.4/26,M10.5.0", INT64_C(2531779200), 10800},
    };
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        fl_zone_rule rule;
        assert_true(fl_zone_rule_parse(fl_slice_str(cases[i].rule), &rule));
        assert_int_equal(fl_zone_rule_offset(&rule, cases[i].utc_s), cases[i].offset_s);
    }
}

static void what_is_no_rule_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "CE-1",
                                        "CET",
                                        "CET-1CEST",
                                        "CET-1CEST,M3.5.0",
                                        "CET-1CEST,M13.5.0,M10.5.0",
                                        "CET-1CEST,M3.6.0,M10.5.0",
                                        "CET-1CEST,M3.5.7,M10.5.0",
                                        "CET-1CEST,M3.5.0,M10.5.0/168",
                                        "CET-1CEST,J0,J365",
                                        "CET-99",
                                        "CET-1x",
                                        "<+05-5"};
    for (size_t i = 0; i < FL_COUNT_OF(texts); i++) {
        fl_zone_rule rule;
        assert_false(fl_zone_rule_parse(fl_slice_str(texts[i]), &rule));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periods_are_named_by_their_unit),
        cmocka_unit_test(other_forms_do_not_match),
        cmocka_unit_test(dates_that_the_calendar_has_not_do_not_match),
        cmocka_unit_test(fixed_zones_are_read),
        cmocka_unit_test(wrong_zones_are_refused),
        cmocka_unit_test(a_zone_without_memory_is_an_error),
        cmocka_unit_test(a_zone_file_is_read),
        cmocka_unit_test(a_broken_zone_file_is_an_error),
        cmocka_unit_test(a_rule_goes_on_after_the_last_transition),
        cmocka_unit_test(what_is_no_rule_is_refused),
    };
    return cmocka_run_group_tests_name("server_period", tests, NULL, NULL);
}
