/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: an error says what was found, fits its struct, and is well-formed text whatever came in.
 * Method: messages around the limit, bytes that are not UTF-8, and every code of the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE_MAX = sizeof(((fluss_error_t *)NULL)->message) - 1 };

static void a_filled_error_has_code_kind_and_text(void **state)
{
    (void)state;
    fluss_error_t err;
    assert_int_equal(fl_error(&err, 7, FLUSS_KIND_SERVER, "table %s is gone", "db.t"), 7);
    assert_int_equal(err.code, 7);
    assert_int_equal(err.kind, FLUSS_KIND_SERVER);
    assert_string_equal(err.message, "table db.t is gone");
    assert_int_equal(fl_error_argument(&err, "bad %d", 1), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_ARGUMENT);
    assert_int_equal(fl_error_corrupt(&err, "cut"), FLUSS_E_CORRUPT_MESSAGE);
    assert_int_equal(err.kind, FLUSS_KIND_CORRUPT);
    assert_int_equal(fl_error_nomem(&err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_NOMEM);
}

static void a_caller_without_error_struct_gets_the_code(void **state)
{
    (void)state;
    assert_int_equal(fl_error(NULL, 7, FLUSS_KIND_SERVER, "x"), 7);
    assert_int_equal(fl_error_server(NULL, 7, "x", 1), 7);
    fl_error_prefix(NULL, "context: ");
}

static void a_long_message_is_cut_at_a_character(void **state)
{
    (void)state;
    /* Every phase of the limit against characters of two, three and four bytes. */
    const char *const characters[] = {"é", "€", "😀"};
    for (size_t c = 0; c < FL_COUNT_OF(characters); c++) {
        for (size_t ahead = 0; ahead < 8; ahead++) {
            char text[2000];
            memset(text, 'a', ahead);
            size_t size = ahead;
            while (size + 4 < sizeof(text)) {
                memcpy(text + size, characters[c], strlen(characters[c]));
                size += strlen(characters[c]);
            }
            text[size] = '\0';
            fluss_error_t err;
            assert_int_equal(fl_error_argument(&err, "%s", text), FLUSS_E_CLIENT);
            const size_t kept = strlen(err.message);
            assert_true(fl_utf8_is_valid(err.message, kept));
            assert_true(kept > MESSAGE_SIZE_MAX - 4);
            assert_memory_equal(err.message, text, kept);
        }
    }
}

static void a_prefix_goes_in_front_and_the_end_is_cut(void **state)
{
    (void)state;
    fluss_error_t err;
    assert_int_equal(fl_error_argument(&err, "column a"), FLUSS_E_CLIENT);
    fl_error_prefix(&err, "table %s: ", "db.t");
    assert_string_equal(err.message, "table db.t: column a");
    for (int i = 0; i < 200; i++) {
        fl_error_prefix(&err, "über %d: ", i);
        assert_true(fl_utf8_is_valid(err.message, strlen(err.message)));
    }
    assert_memory_equal(err.message, "über 199: über 198: ", 22);
    assert_int_equal(err.code, FLUSS_E_CLIENT);
}

static void text_of_a_server_is_repaired(void **state)
{
    (void)state;
    fluss_error_t err;
    assert_int_equal(fl_error_server(&err, 7,
                                     "a\xFF"
                                     "b\xC3",
                                     4),
                     7);
    assert_string_equal(err.message, "a?b?");
    assert_int_equal(fl_error_server(&err, 7, "no end", 2), 7);
    assert_string_equal(err.message, "no");
}

static void a_stack_trace_is_told_by_its_causes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"E: outer.\n\tat a.B(C:1)\n\tat d.E(F:2)\nCaused by: G: inner.\n\t... 3 more\n",
         "E: outer. Caused by: G: inner."},
        {"E\n\tat a", "E"},
        {"two\nlines\n\tindented", "two\nlines\n\tindented"},
        {"\n\tat a", ""},
    };
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        fluss_error_t err;
        (void)fl_error_server(&err, -1, cases[i].text, strlen(cases[i].text));
        assert_string_equal(err.message, cases[i].message);
    }
    /* The cause counts however many frames stand before it. */
    char text[4000] = "outer";
    size_t size = strlen(text);
    for (int i = 0; i < 60; i++) {
        size += (size_t)snprintf(text + size, sizeof(text) - size,
                                 "\n\tat org.example.Deep.call(Deep.java:%d)", 1000 + i);
    }
    size += (size_t)snprintf(text + size, sizeof(text) - size, "\nCaused by: Inner");
    fluss_error_t err;
    (void)fl_error_server(&err, -1, text, size);
    assert_string_equal(err.message, "outer Caused by: Inner");
}

static void a_server_without_text_gets_the_text_of_the_code(void **state)
{
    (void)state;
    fluss_error_t err;
    assert_int_equal(fl_error_server(&err, 7, NULL, 0), 7);
    assert_string_equal(err.message, fl_code_text(7));
}

static void every_code_of_the_table_has_its_facts(void **state)
{
    (void)state;
    static const struct {
        fluss_code_t code;
        bool retriable, stale;
        const char *name;
    } expected[] = {
#define FLUSS_CODE(number, name, retriable, stale, python, text) \
    {(number), (retriable) != 0, (stale) != 0, #name},
#include <fluss/fluss_codes.def>
#undef FLUSS_CODE
    };
    for (size_t i = 0; i < FL_COUNT_OF(expected); i++) {
        assert_true(fl_code_is_known(expected[i].code));
        assert_string_equal(fl_code_name(expected[i].code), expected[i].name);
        assert_int_equal(fl_code_is_retriable(expected[i].code), expected[i].retriable);
        assert_int_equal(fl_code_is_stale_metadata(expected[i].code), expected[i].stale);
        assert_true(strlen(fl_code_text(expected[i].code)) > 3);
    }
}

static void an_unknown_code_is_harmless(void **state)
{
    (void)state;
    const fluss_code_t codes[] = {-3, INT32_MIN, INT32_MAX, 30000};
    for (size_t i = 0; i < FL_COUNT_OF(codes); i++) {
        assert_false(fl_code_is_known(codes[i]));
        assert_string_equal(fl_code_name(codes[i]), "UNKNOWN");
        assert_false(fl_code_is_retriable(codes[i]));
        fluss_error_t err;
        assert_int_equal(fl_error_server(&err, codes[i], NULL, 0), codes[i]);
        assert_true(strlen(err.message) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filled_error_has_code_kind_and_text),
        cmocka_unit_test(a_caller_without_error_struct_gets_the_code),
        cmocka_unit_test(a_long_message_is_cut_at_a_character),
        cmocka_unit_test(a_prefix_goes_in_front_and_the_end_is_cut),
        cmocka_unit_test(text_of_a_server_is_repaired),
        cmocka_unit_test(a_stack_trace_is_told_by_its_causes),
        cmocka_unit_test(a_server_without_text_gets_the_text_of_the_code),
        cmocka_unit_test(every_code_of_the_table_has_its_facts),
        cmocka_unit_test(an_unknown_code_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
