/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: well-formed UTF-8 is told from ill-formed at every boundary of the encoding.
 * Method: every code point is encoded here and must be accepted; chosen ill forms and every cut of
 * a text must be refused or repaired. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/slice.h"
#include "base/utf8.h"

static size_t encode(uint32_t point, uint8_t *to)
{
    if (point < 0x80) {
        to[0] = (uint8_t)point;
        return 1;
    }
    const size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        to[i] = (uint8_t)(0x80 | (point & 0x3F));
        point >>= 6;
    }
    to[0] = (uint8_t)((0xF0u << (4 - size)) | point);
    return size;
}

static void every_code_point_but_surrogates_is_valid(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x110100; point++) {
        uint8_t bytes[4];
        const size_t size = encode(point, bytes);
        const bool expected = point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
        if (fl_utf8_is_valid(bytes, size) != expected) {
            fail_msg("code point %x", point);
        }
    }
}

static void ill_formed_bytes_are_refused_at_every_position(void **state)
{
    (void)state;
    static const char *const ill[] = {"\x80",
                                      "\xBF",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xC2",
                                      "\xC3\x41",
                                      "\xE0\x9F\xBF",
                                      "\xE2\x82",
                                      "\xED\xA0\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF0\x9F\x98",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xFE",
                                      "\xFF"};
    for (size_t i = 0; i < sizeof(ill) / sizeof(ill[0]); i++) {
        for (size_t ahead = 0; ahead < 18; ahead++) {
            char text[64];
            memset(text, 'a', sizeof(text));
            const size_t size = strlen(ill[i]);
            memcpy(text + ahead, ill[i], size);
            assert_false(fl_utf8_is_valid(text, ahead + size));
            assert_false(fl_utf8_is_valid(text, sizeof(text)));
        }
    }
}

static void cut_and_trim_keep_whole_characters_only(void **state)
{
    (void)state;
    static const char text[] = "aé€😀é😀€ab";
    const size_t size = sizeof(text) - 1;
    for (size_t max = 0; max < size; max++) {
        const size_t kept = fl_utf8_cut(text, max);
        assert_true(kept <= max && kept + 3 >= max);
        assert_true(fl_utf8_is_valid(text, kept));
        assert_int_equal(fl_utf8_trim(text, max), kept);
    }
    assert_int_equal(fl_utf8_trim(text, size), size);
}

static void trim_leaves_stray_bytes_alone(void **state)
{
    (void)state;
    assert_int_equal(fl_utf8_trim("\x80\x80\x80\x80\x80", 5), 5);
    assert_int_equal(fl_utf8_trim("", 0), 0);
}

static void repair_makes_any_bytes_valid_and_keeps_the_good_ones(void **state)
{
    (void)state;
    uint32_t seed = 99;
    for (int round = 0; round < 5000; round++) {
        char bytes[40];
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[i] = (char)(seed & 0x1000 ? (seed >> 24) & 0x7F : seed >> 24);
        }
        fl_utf8_repair(bytes, sizeof(bytes));
        assert_true(fl_utf8_is_valid(bytes, sizeof(bytes)));
    }
    char text[] = "é\xFF€\xE2\x82";
    fl_utf8_repair(text, sizeof(text) - 1);
    assert_string_equal(text, "é?€??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_but_surrogates_is_valid),
        cmocka_unit_test(ill_formed_bytes_are_refused_at_every_position),
        cmocka_unit_test(cut_and_trim_keep_whole_characters_only),
        cmocka_unit_test(trim_leaves_stray_bytes_alone),
        cmocka_unit_test(repair_makes_any_bytes_valid_and_keeps_the_good_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
