/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: what was stored loads again; anything cut or too long is refused; loads and stores of fixed
 * width have the stated byte order at any alignment.
 * Method: values at every power of two, and every cut of their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/varint.h"

static void every_size_round_trips_and_every_cut_is_refused(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int step = -1; step <= 1; step++) {
            const uint64_t value = ((uint64_t)1 << bit) + (uint64_t)(int64_t)step;
            uint8_t bytes[FL_VARINT64_SIZE_MAX];
            const size_t size = fl_varint_store(bytes, value);
            assert_int_equal(size, fl_varint_size(value));
            uint64_t back = 0;
            assert_int_equal(fl_varint_load(bytes, sizeof(bytes), &back), size);
            assert_true(back == value);
            for (size_t cut = 0; cut < size; cut++) {
                assert_int_equal(fl_varint_load(bytes, cut, &back), 0);
            }
        }
    }
}

static void known_bytes(void **state)
{
    (void)state;
    uint8_t bytes[FL_VARINT64_SIZE_MAX];
    assert_int_equal(fl_varint_store(bytes, 300), 2);
    assert_memory_equal(bytes, "\xAC\x02", 2);
    assert_int_equal(fl_varint_store(bytes, UINT64_MAX), 10);
    assert_memory_equal(bytes, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 10);
}

static void more_than_64_bits_are_refused(void **state)
{
    (void)state;
    uint64_t value;
    const uint8_t large[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02};
    const uint8_t endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
    assert_int_equal(fl_varint_load(large, sizeof(large), &value), 0);
    assert_int_equal(fl_varint_load(endless, sizeof(endless), &value), 0);
}

static void more_than_32_bits_are_refused_where_32_are_wanted(void **state)
{
    (void)state;
    uint32_t value = 0;
    const uint8_t most[] = {0xFF, 0xFF, 0xFF, 0xFF, 0x0F};
    const uint8_t above[] = {0xFF, 0xFF, 0xFF, 0xFF, 0x1F};
    const uint8_t longer[] = {0xFF, 0xFF, 0xFF, 0xFF, 0x8F, 0x00};
    assert_int_equal(fl_varint32_load(most, sizeof(most), &value), 5);
    assert_int_equal(value, UINT32_MAX);
    assert_int_equal(fl_varint32_load(above, sizeof(above), &value), 0);
    assert_int_equal(fl_varint32_load(longer, sizeof(longer), &value), 0);
}

static void fixed_widths_have_the_stated_byte_order(void **state)
{
    (void)state;
    uint8_t bytes[9] = {0};
    for (size_t at = 0; at < 2; at++) {
        fl_store_u32(bytes + at, 0x01020304);
        assert_memory_equal(bytes + at, "\x04\x03\x02\x01", 4);
        fl_store_be32(bytes + at, 0x01020304);
        assert_memory_equal(bytes + at, "\x01\x02\x03\x04", 4);
        assert_int_equal(fl_load_be32(bytes + at), 0x01020304);
        fl_store_be64(bytes + at, 0x0102030405060708);
        assert_memory_equal(bytes + at, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
        fl_store_i64(bytes + at, -2);
        assert_true(fl_load_i64(bytes + at) == -2);
        fl_store_be16(bytes + at, 0x0102);
        assert_int_equal(fl_load_u16(bytes + at), 0x0201);
    }
}

static void checked_sizes_say_when_they_do_not_fit(void **state)
{
    (void)state;
    size_t size;
    assert_true(fl_add_size(1, 2, &size) && size == 3);
    assert_false(fl_add_size(SIZE_MAX, 1, &size));
    assert_false(fl_mul_size(SIZE_MAX / 2, 3, &size));
    assert_false(fl_size_from_i32(-1, &size));
    assert_true(fl_size_from_i32(INT32_MAX, &size) && size == INT32_MAX);
    assert_int_equal(fl_align_up(17, 8), 24);
    assert_int_equal(fl_align_up(16, 8), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_round_trips_and_every_cut_is_refused),
        cmocka_unit_test(known_bytes),
        cmocka_unit_test(more_than_64_bits_are_refused),
        cmocka_unit_test(more_than_32_bits_are_refused_where_32_are_wanted),
        cmocka_unit_test(fixed_widths_have_the_stated_byte_order),
        cmocka_unit_test(checked_sizes_say_when_they_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
