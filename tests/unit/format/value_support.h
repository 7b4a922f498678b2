/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of types, rows and keys share: types from text, more values, bytes as hexadecimal.
 */
#ifndef FL_TEST_VALUE_SUPPORT_H
#define FL_TEST_VALUE_SUPPORT_H
#include "arrow_support.h"
#include "format/row_codec.h"

/** A type from text, in an arena of the test program (never freed before it ends). */
static FL_UNUSED fl_arena type_arena;

/* The tear-down of a program that makes types. */
static FL_UNUSED int free_types(void **state)
{
    (void)state;
    fl_arena_deinit(&type_arena);
    return 0;
}
static FL_UNUSED fl_type type_of(const char *text)
{
    fl_type type;
    OK(fl_type_parse(text, &type_arena, &type, &error));
    return type;
}
static FL_UNUSED fluss_datum_t bytes_value(const void *bytes, size_t size)
{
    return (fluss_datum_t){.type = FLUSS_BYTES, .v.s = {.ptr = bytes, .len = size}};
}
static FL_UNUSED fluss_datum_t bool_value(bool flag)
{
    return (fluss_datum_t){.type = FLUSS_BOOLEAN, .v.b = flag};
}
static FL_UNUSED fluss_datum_t float_value(fluss_type_t type, double value)
{
    return (fluss_datum_t){.type = (uint8_t)type, .v.f = value};
}
static FL_UNUSED fluss_datum_t decimal_value(const char *text, int precision, int scale)
{
    fluss_datum_t value;
    OK(fl_decimal_parse(text, precision, scale, &value, &error));
    return value;
}
static FL_UNUSED fluss_datum_t timestamp_value(fluss_type_t type, int64_t ms, int32_t nanos)
{
    return (fluss_datum_t){.type = (uint8_t)type, .nanos = nanos, .v.i = ms};
}
static FL_UNUSED fluss_datum_t nested_value(fluss_type_t type, const fluss_datum_t *items,
                                            size_t count)
{
    return (fluss_datum_t){.type = (uint8_t)type, .v.list = {.items = items, .len = count}};
}

/** Compare with hexadecimal text, blanks ignored. */
static FL_UNUSED void assert_hex(const char *what, fl_slice found, const char *wanted_hex)
{
    const fl_slice wanted = from_hex(wanted_hex);
    if (!fl_slice_equal(found, wanted)) {
        for (size_t i = 0; i < found.size; i++) {
            print_error("%02x", found.data[i]);
        }
        fail_msg("\n%s: wanted %s", what, wanted_hex);
    }
    free_bytes(wanted);
}
static FL_UNUSED void assert_text(const fl_buf *found, const char *wanted)
{
    if (!fl_slice_equal_str(fl_buf_slice(found), wanted)) {
        fail_msg("\"%.*s\", wanted \"%s\"", (int)found->size, (const char *)found->data, wanted);
    }
}
#endif
