/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: values become what their column stores, or are refused with the field's name. Method:
 * tables of values and types; decimals against written-out results. */
#include <math.h>

#include "datum_text.h"
#include "format/decimal.h"
#include "value_support.h"

enum { TEXT_SIZE_MAX = 1 << 16 };

/* Print the coerced value; NULL text: it must be refused with `fault` in the message. */
static void check(const char *type_text, fluss_datum_t value, const char *wanted, const char *fault)
{
    const fl_type type = type_of(type_text);
    fl_arena arena;
    fl_buf out;
    fluss_datum_t coerced;
    fl_arena_init(&arena);
    fl_buf_init(&out, TEXT_SIZE_MAX);
    const fluss_code_t rc = fl_datum_coerce(&value, &type, "f", &arena, &coerced, &error);
    if (wanted != NULL) {
        OK(rc);
        assert_int_equal(coerced.type, value.type == FLUSS_NULL ? FLUSS_NULL : type.root);
        OK(datum_text(&coerced, &type, &out, &error));
        assert_text(&out, wanted);
    } else {
        assert_int_not_equal(rc, 0);
        assert_int_equal(error.kind, FLUSS_KIND_ARGUMENT);
        if (strncmp(error.message, "Field 'f': ", 11) != 0 ||
            strstr(error.message, fault) == NULL) {
            fail_msg("%s: \"%s\" has no \"%s\"", type_text, error.message, fault);
        }
    }
    fl_buf_deinit(&out);
    fl_arena_deinit(&arena);
}

static void numbers(void **state)
{
    (void)state;
    check("TINYINT", int_value(FLUSS_BIGINT, -128), "-128", NULL);
    check("TINYINT", int_value(FLUSS_INT, 128), NULL, "128 is out of the range of TINYINT");
    check("SMALLINT", int_value(FLUSS_INT, -32769), NULL, "-32768 to 32767");
    check("INT", int_value(FLUSS_BIGINT, 2147483648), NULL, "out of the range");
    check("BIGINT", int_value(FLUSS_BIGINT, INT64_MIN), "-9223372036854775808", NULL);
    check("INT", bool_value(true), NULL, "expected INT, found BOOLEAN");
    check("BOOLEAN", int_value(FLUSS_INT, 1), NULL, "expected BOOLEAN, found INT");
    check("FLOAT", int_value(FLUSS_INT, 1 << 24), "16777216", NULL);
    check("FLOAT", int_value(FLUSS_INT, (1 << 24) + 1), NULL, "no exact value");
    check("DOUBLE", int_value(FLUSS_BIGINT, INT64_MAX), NULL, "no exact value");
    check("DOUBLE", float_value(FLUSS_DOUBLE, 3.14), "3.14", NULL);
    check("FLOAT", float_value(FLUSS_DOUBLE, 3.14), "3.14", NULL);
    check("FLOAT", float_value(FLUSS_DOUBLE, 1e300), "inf", NULL);
    check("INT", float_value(FLUSS_DOUBLE, 1.0), NULL, "expected INT, found DOUBLE");
}

static void decimals_round_half_up(void **state)
{
    (void)state;
    check("DECIMAL(5,2)", decimal_value("1.225", 10, 3), "1.23", NULL);
    check("DECIMAL(5,2)", decimal_value("-1.235", 10, 3), "-1.24", NULL);
    check("DECIMAL(5,2)", decimal_value("1.2249999", 10, 7), "1.22", NULL);
    check("DECIMAL(5,2)", decimal_value("1E+2", 10, 0), "100.00", NULL);
    check("DECIMAL(5,2)", decimal_value("999.995", 10, 3), NULL, "does not fit DECIMAL(5,2)");
    check("DECIMAL(5,2)", decimal_value("1000", 10, 0), NULL, "does not fit");
    check("DECIMAL(38,38)", decimal_value("0.5", 38, 1), "0.50000000000000000000000000000000000000",
          NULL);
    check("DECIMAL(38,38)", decimal_value("1", 38, 0), NULL, "does not fit");
    check("DECIMAL(5,2)", decimal_value("0", 1, 0), "0.00", NULL);
    check("DECIMAL(5,2)", int_value(FLUSS_INT, 1), NULL, "expected DECIMAL, found INT");
}

static void decimal_text_is_read(void **state)
{
    (void)state;
    fluss_datum_t value;
    static const char *const faults[] = {"",     "-",     ".",
                                         "1e",   "1x",    "1.2.3",
                                         "nan",  "1e999", "100000000000000000000000000000000000000",
                                         "1.234"};
    for (size_t i = 0; i < FL_COUNT_OF(faults); i++) {
        assert_int_not_equal(fl_decimal_parse(faults[i], 38, 2, &value, &error), 0);
    }
    static const char *const texts[][2] = {{"-0.050", "-0.05"},
                                           {"+12", "12.00"},
                                           {".5", "0.50"},
                                           {"5.", "5.00"},
                                           {"1.230000000000000000000000000000000000000000", "1.23"},
                                           {"12E-2", "0.12"},
                                           {"0e50", "0.00"}};
    for (size_t i = 0; i < FL_COUNT_OF(texts); i++) {
        char text[FL_DECIMAL_TEXT_SIZE];
        OK(fl_decimal_parse(texts[i][0], 38, 2, &value, &error));
        (void)fl_decimal_print(fl_decimal_unscaled(&value), value.scale, text);
        assert_string_equal(text, texts[i][1]);
    }
}

static void decimal_bytes_are_minimal(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } rows[] = {{"0", "00"},
                {"127", "7f"},
                {"128", "0080"},
                {"-128", "80"},
                {"-129", "ff7f"},
                {"-1", "ff"},
                {"1420", "058c"},
                {"-12345678901234567890", "ff54ab567314e0f52e"},
                {"99999999999999999999999999999999999999", "4b3b4ca85a86c47a098a223fffffffff"}};
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        const fluss_datum_t value = decimal_value(rows[i].text, 38, 0);
        uint8_t bytes[16];
        const fl_slice found = fl_slice_of(bytes, fl_decimal_to_bytes(&value, bytes));
        assert_hex(rows[i].text, found, rows[i].hex);
        fluss_datum_t back = decimal_value("0", 38, 0);
        assert_true(fl_decimal_from_bytes(found, &back));
        assert_true(fl_datum_equal(&value, &back));
    }
}

static void times(void **state)
{
    (void)state;
    check("DATE", int_value(FLUSS_DATE, -719162), "0001-01-01", NULL);
    check("DATE", int_value(FLUSS_DATE, 19655), "2023-10-25", NULL);
    check("DATE", int_value(FLUSS_INT, 1), NULL, "expected DATE, found INT");
    check("TIME(0)", int_value(FLUSS_TIME, 34200007), "09:30:00.007", NULL);
    check("TIME", int_value(FLUSS_TIME, 86400000), NULL, "no time of day");
    const fluss_datum_t moment = timestamp_value(FLUSS_TIMESTAMP, 1698235273182, 45678);
    check("TIMESTAMP(0)", moment, "2023-10-25 12:01:13", NULL);
    check("TIMESTAMP(3)", moment, "2023-10-25 12:01:13.182", NULL);
    check("TIMESTAMP(6)", moment, "2023-10-25 12:01:13.182045000", NULL);
    check("TIMESTAMP(9)", moment, "2023-10-25 12:01:13.182045678", NULL);
    check("TIMESTAMP(0)", timestamp_value(FLUSS_TIMESTAMP, -1, 999999), "1969-12-31 23:59:59",
          NULL);
    check("TIMESTAMP_LTZ", moment, NULL, "expected TIMESTAMP_LTZ, found TIMESTAMP");
    check("TIMESTAMP", timestamp_value(FLUSS_TIMESTAMP, 0, 1000000), NULL, "nanoseconds");
}

static void text_and_bytes(void **state)
{
    (void)state;
    check("STRING", text_value("añb"), "añb", NULL);
    check("STRING", text_value("\xff"), NULL, "not UTF-8");
    check("STRING", bytes_value("a", 1), NULL, "expected STRING, found BYTES");
    check("BINARY(2)", bytes_value("ab", 2), "6162", NULL);
    check("BINARY(2)", bytes_value("abc", 3), NULL, "exactly 2");
}

static void nested_values_name_the_place(void **state)
{
    (void)state;
    const fluss_datum_t items[] = {int_value(FLUSS_INT, 1), null_value()};
    const fluss_datum_t fields[] = {int_value(FLUSS_INT, 1), text_value("x")};
    const fluss_datum_t rows[] = {nested_value(FLUSS_ROW, fields, 2)};
    check("ARRAY<BIGINT>", nested_value(FLUSS_ARRAY, items, 2), "[1, null]", NULL);
    check("ARRAY<INT NOT NULL>", nested_value(FLUSS_ARRAY, items, 2), NULL,
          "null for the non-nullable element at index 1");
    check("ROW<a INT, b STRING>", rows[0], "{a: 1, b: \"x\"}", NULL);
    check("ARRAY<ROW<a INT, b INT>>", nested_value(FLUSS_ARRAY, rows, 1), NULL,
          "element at index 0: row field 'b': expected INT, found STRING");
    check("ROW<a INT>", rows[0], NULL, "ROW of 2 values, expected 1");
    check("MAP<INT,STRING>", nested_value(FLUSS_MAP, fields, 2), "{1: \"x\"}", NULL);
    check("MAP<INT,STRING>", nested_value(FLUSS_MAP, fields, 1), NULL, "pairs");
    check("INT NOT NULL", null_value(), NULL, "non-nullable field 'f'");
    check("INT", null_value(), "null", NULL);
    const fluss_datum_t holes[] = {int_value(FLUSS_INT, 1), null_value()};
    check("ROW<a INT, b STRING NOT NULL>", nested_value(FLUSS_ROW, holes, 2), NULL,
          "non-nullable row field 'b'");
}

static void order_is_the_one_of_java(void **state)
{
    (void)state;
    const fluss_datum_t nan_value = float_value(FLUSS_DOUBLE, (double)NAN);
    const fluss_datum_t zero = float_value(FLUSS_DOUBLE, 0.0);
    const fluss_datum_t minus_zero = float_value(FLUSS_DOUBLE, -0.0);
    const fluss_datum_t infinite = float_value(FLUSS_DOUBLE, (double)INFINITY);
    assert_true(fl_datum_compare(&nan_value, &infinite) > 0);
    assert_int_equal(fl_datum_compare(&nan_value, &nan_value), 0);
    assert_true(fl_datum_compare(&minus_zero, &zero) < 0);
    const fluss_datum_t ascii = text_value("z");
    const fluss_datum_t accent = text_value("é");
    const fluss_datum_t longer = text_value("zz");
    assert_true(fl_datum_compare(&ascii, &accent) < 0);
    assert_true(fl_datum_compare(&ascii, &longer) < 0);
    const fluss_datum_t early = timestamp_value(FLUSS_TIMESTAMP, 5, 1);
    const fluss_datum_t late = timestamp_value(FLUSS_TIMESTAMP, 5, 2);
    assert_true(fl_datum_compare(&early, &late) < 0);
    const fluss_datum_t small = decimal_value("-99999999999999999999", 38, 0);
    const fluss_datum_t large = decimal_value("1", 38, 0);
    assert_true(fl_datum_compare(&small, &large) < 0);
    assert_false(fl_datum_equal(&small, &large));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(decimals_round_half_up),
        cmocka_unit_test(decimal_text_is_read),
        cmocka_unit_test(decimal_bytes_are_minimal),
        cmocka_unit_test(times),
        cmocka_unit_test(text_and_bytes),
        cmocka_unit_test(nested_values_name_the_place),
        cmocka_unit_test(order_is_the_one_of_java),
    };
    return cmocka_run_group_tests(tests, NULL, free_types);
}
