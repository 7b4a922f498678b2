/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: settings are found under all their spellings, checked, and named in errors; the page
 * docs/configuration.md says what the table says. Method: tables of cases; the page is compared. */
#include <fluss/fluss.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/config.h"

static fluss_code_t set(fluss_config_t *config, const char *key, const char *value,
                        fluss_error_t *err)
{
    *err = (fluss_error_t){0};
    return fluss_config_set(config, key, value, err);
}

static void every_spelling_of_a_key_is_the_same_setting(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "writer.batch-timeout-ms",        "client.writer.batch-timeout", "writer_batch_timeout_ms",
        "client.writer.batch-timeout-ms", "WRITER.BATCH-TIMEOUT",
    };
    for (size_t i = 0; i < FL_COUNT_OF(spellings); i++) {
        fluss_config_t *config = fluss_config_new();
        fluss_error_t err;
        assert_int_equal(set(config, spellings[i], "7", &err), 0);
        assert_int_equal(config->writer_batch_timeout_ms.number, 7);
        assert_string_equal(fluss_config_get(config, "writer.batch-timeout-ms"), "7");
        fluss_config_free(config);
    }
}

static void values_take_units(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        long long number; /* -1: refused */
    } cases[] = {
        {"writer.batch-size", "2mb", 2 << 20},
        {"writer.batch-size", "64 kb", 64 << 10},
        {"writer.batch-size", "0", -1},
        {"writer.batch-size", "-5", -1},
        {"writer.batch-size", "2 parsecs", -1},
        {"writer.batch-size", "", -1},
        {"writer.batch-size", "9999999999999", -1},
        {"request-timeout", "30s", 30000},
        {"request-timeout", "500ms", 500},
        {"connect-timeout", "2min", 120000},
        {"writer.buffer.wait-timeout-ms", "18446744073709551615", INT64_MAX},
        {"writer.acks", "ALL", -1 + 0},
        {"writer.retries", "1kb", -1},
    };
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        fluss_config_t *config = fluss_config_new();
        fluss_error_t err;
        const fluss_code_t rc = set(config, cases[i].key, cases[i].value, &err);
        if (cases[i].number == -1 && strcmp(cases[i].key, "writer.acks") != 0) {
            assert_int_equal(rc, FLUSS_E_CLIENT);
            assert_int_equal(err.kind, FLUSS_KIND_ARGUMENT);
            assert_non_null(strstr(err.message, cases[i].key));
        } else {
            assert_int_equal(rc, 0);
        }
        fluss_config_free(config);
    }
}

static void an_unknown_key_is_answered_with_the_nearest_one(void **state)
{
    (void)state;
    fluss_config_t *config = fluss_config_new();
    fluss_error_t err;
    assert_int_equal(set(config, "writer.batch-sise", "1", &err), FLUSS_E_CLIENT);
    assert_non_null(strstr(err.message, "'writer.batch-size'"));
    assert_int_equal(set(config, "bootstrap-srvers", "x", &err), FLUSS_E_CLIENT);
    assert_non_null(strstr(err.message, "'bootstrap.servers'"));
    fluss_config_free(config);
}

static void secrets_are_masked(void **state)
{
    (void)state;
    fluss_config_t *config = fluss_config_new();
    fluss_error_t err;
    assert_int_equal(set(config, "security.sasl.password", "hunter2", &err), 0);
    assert_string_equal(fluss_config_get(config, "security.sasl.password"), "********");
    assert_string_equal(fl_config_text(&config->sasl_password, config), "hunter2");
    fluss_config_free(config);
}

static void settings_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *named;
    } cases[] = {
        {"writer.batch-size", "20mb", "writer.request-max-size"},
        {"writer.acks", "1", "writer.enable-idempotence"},
        {"writer.retries", "0", "writer.retries"},
        {"writer.max-inflight-requests-per-bucket", "6", "at most 5"},
        {"scanner.log.fetch.max-bytes-for-bucket", "17mb", "scanner.log.fetch.max-bytes"},
        {"security.protocol", "sasl", "security.sasl.username"},
        {"bootstrap.servers", "", "bootstrap.servers"},
        {"writer.dynamic-batch-size-min", "3mb", "writer.dynamic-batch-size-min"},
    };
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        fluss_config_t *config = fluss_config_new();
        fluss_error_t err;
        assert_int_equal(fl_config_check(config, &err), 0);
        assert_int_equal(set(config, cases[i].key, cases[i].value, &err), 0);
        assert_int_equal(fl_config_check(config, &err), FLUSS_E_CLIENT);
        assert_non_null(strstr(err.message, cases[i].named));
        fluss_config_free(config);
    }
}

static void null_restores_the_default_and_keys_are_listed_in_order(void **state)
{
    (void)state;
    fluss_config_t *config = fluss_config_new();
    fluss_error_t err;
    assert_int_equal(set(config, "writer.acks", "0", &err), 0);
    assert_int_equal(config->writer_acks.number, 0);
    assert_int_equal(set(config, "writer.acks", NULL, &err), 0);
    assert_int_equal(config->writer_acks.number, -1);
    size_t count = 0;
    for (const char *key; (key = fluss_config_key(count)) != NULL; count++) {
        assert_non_null(fluss_config_get(config, key));
        assert_true(count == 0 || strcmp(fluss_config_key(count - 1), key) < 0);
    }
    assert_int_equal(count, FL_SETTING_COUNT);
    fluss_config_free(config);
}

typedef struct page {
    char *text;
    size_t size;
} page;

static void add_line(const char *row, void *user)
{
    page *p = user;
    const size_t size = strlen(row);
    p->text = realloc(p->text, p->size + size + 2);
    assert_non_null(p->text);
    memcpy(p->text + p->size, row, size);
    p->text[p->size + size] = '\n';
    p->size += size + 1;
    p->text[p->size] = '\0';
}

/* With FLUSS_WRITE_DOCS set, the page is written instead of compared. */
static void the_page_of_settings_is_up_to_date(void **state)
{
    (void)state;
    const char *path = getenv("FLUSS_CONFIGURATION_PAGE");
    if (path == NULL) {
        skip();
    }
    page p = {0};
    add_line("# Settings of a connection", &p);
    add_line("", &p);
    add_line("Made from `src/client/settings.def`; a unit test compares the two (with "
             "`FLUSS_WRITE_DOCS=1` it writes this page).",
             &p);
    add_line(
        "Keys may also begin with `client.`, leave out `-ms`, use `_` for `.` and `-`, and have "
        "capitals, in C and in Python alike; an unknown key is refused.",
        &p);
    add_line("Sizes take `kb`, `mb`, `gb`; times take `ms`, `s`, `min`, `h`, `d`.", &p);
    add_line("", &p);
    fl_config_describe(add_line, &p);
    FILE *file = fopen(path, getenv("FLUSS_WRITE_DOCS") != NULL ? "w" : "r");
    assert_non_null(file);
    if (getenv("FLUSS_WRITE_DOCS") != NULL) {
        assert_int_equal(fwrite(p.text, 1, p.size, file), p.size);
    } else {
        char *found = calloc(1, p.size + 2);
        assert_non_null(found);
        assert_int_equal(fread(found, 1, p.size + 1, file), p.size);
        assert_string_equal(found, p.text);
        free(found);
    }
    assert_int_equal(fclose(file), 0);
    free(p.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_a_key_is_the_same_setting),
        cmocka_unit_test(values_take_units),
        cmocka_unit_test(an_unknown_key_is_answered_with_the_nearest_one),
        cmocka_unit_test(secrets_are_masked),
        cmocka_unit_test(settings_that_contradict_each_other_are_refused),
        cmocka_unit_test(null_restores_the_default_and_keys_are_listed_in_order),
        cmocka_unit_test(the_page_of_settings_is_up_to_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
