/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: CRC-32C equals its definition for every length and start, in one go or in parts.
 * Method: the check value of the standard, then a bit-by-bit reference over pseudo-random bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crc32c.h"

static uint32_t crc_bit_by_bit(const uint8_t *data, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1)));
        }
    }
    return ~crc;
}

static void fill(uint8_t *bytes, size_t size)
{
    uint32_t seed = 12345;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

static void check_value_of_the_standard(void **state)
{
    (void)state;
    assert_int_equal(fl_crc32c(fl_slice_str("123456789")), 0xE3069283u);
    assert_int_equal(fl_crc32c(fl_slice_of(NULL, 0)), 0);
}

static void equals_the_definition_at_every_length_and_alignment(void **state)
{
    (void)state;
    uint8_t bytes[1200];
    fill(bytes, sizeof(bytes));
    for (size_t size = 0; size < 1100; size++) {
        const uint8_t *from = bytes + size % 17;
        assert_int_equal(fl_crc32c(fl_slice_of(from, size)), crc_bit_by_bit(from, size));
    }
}

static void parts_give_the_same_as_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[777];
    fill(bytes, sizeof(bytes));
    const uint32_t whole = fl_crc32c(fl_slice_of(bytes, sizeof(bytes)));
    for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
        const uint32_t first = fl_crc32c(fl_slice_of(bytes, cut));
        const fl_slice rest = fl_slice_of(bytes + cut, sizeof(bytes) - cut);
        assert_int_equal(fl_crc32c_extend(first, rest), whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_value_of_the_standard),
        cmocka_unit_test(equals_the_definition_at_every_length_and_alignment),
        cmocka_unit_test(parts_give_the_same_as_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
