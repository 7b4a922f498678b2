/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: rows, keys and partition texts have the bytes of the official peers. Method: the worked
 * examples below, bytes that the official clients write, both ways. */
#include <math.h>

#include "format/bucketing.h"
#include "value_support.h"

enum { COLUMN_COUNT = 22, SIZE_MAX_TEST = 1 << 20 };

static const char *const scalar_types[COLUMN_COUNT] = {
    "BOOLEAN",          "TINYINT", "SMALLINT", "INT",          "BIGINT",       "FLOAT",
    "DOUBLE",           "CHAR(3)", "STRING",   "BINARY(4)",    "BYTES",        "DECIMAL(5,2)",
    "DECIMAL(20,0)",    "DATE",    "TIME(3)",  "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)",
    "TIMESTAMP_LTZ(9)", "INT",     "STRING",   "INT NOT NULL"};

static void fill_scalars(fluss_datum_t values[COLUMN_COUNT])
{
    const fluss_datum_t raw[COLUMN_COUNT] = {
        bool_value(true),
        int_value(FLUSS_TINYINT, -2),
        int_value(FLUSS_SMALLINT, 10),
        int_value(FLUSS_INT, 100),
        int_value(FLUSS_BIGINT, -3),
        float_value(FLUSS_FLOAT, 13.2),
        float_value(FLUSS_DOUBLE, 15.21),
        text_value("ab"),
        text_value("hello fluss"),
        bytes_value("\1\2\3", 4),
        bytes_value("\t", 2),
        decimal_value("-123.45", 5, 2),
        decimal_value("-12345678901234567890", 20, 0),
        int_value(FLUSS_DATE, 19655),
        int_value(FLUSS_TIME, 34200007),
        timestamp_value(FLUSS_TIMESTAMP, 1698235273182, 0),
        timestamp_value(FLUSS_TIMESTAMP, 1698235273182, 45000),
        timestamp_value(FLUSS_TIMESTAMP_LTZ, -1, 0),
        timestamp_value(FLUSS_TIMESTAMP_LTZ, 1698235273182, 45678),
        null_value(),
        null_value(),
        int_value(FLUSS_INT, 300),
    };
    memcpy(values, raw, sizeof(raw));
}

/* Encode, compare, decode, compare. Values are coerced first. */
static void check_row(fl_row_format format, const fl_type *types, const fluss_datum_t *raw,
                      size_t count, const char *hex)
{
    const fl_type *pointers[COLUMN_COUNT];
    fluss_datum_t values[COLUMN_COUNT];
    fluss_datum_t back[COLUMN_COUNT];
    fl_arena arena;
    fl_arena_init(&arena);
    for (size_t i = 0; i < count; i++) {
        pointers[i] = &types[i];
        OK(fl_datum_coerce(&raw[i], &types[i], "x", &arena, &values[i], &error));
    }
    fl_buf out;
    fl_buf_init(&out, SIZE_MAX_TEST);
    OK(fl_row_encode(format, pointers, values, count, &out, &error));
    assert_hex("row", fl_buf_slice(&out), hex);
    OK(fl_row_decode(format, pointers, fl_buf_slice(&out), count, &arena, back, &error));
    for (size_t i = 0; i < count; i++) {
        assert_true(fl_datum_equal(&values[i], &back[i]));
    }
    fl_buf_deinit(&out);
    fl_arena_deinit(&arena);
}

static void one_row_of_every_scalar_type(void **state)
{
    (void)state;
    fl_type types[COLUMN_COUNT];
    fluss_datum_t values[COLUMN_COUNT];
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        types[i] = type_of(scalar_types[i]);
    }
    fill_scalars(values);
    check_row(FL_ROW_COMPACTED, types, values, COLUMN_COUNT,
              "00001801fe0a0064fdffffffffffffffff0133335341ec51b81e856b2e400261620b68656c6c6f20"
              "666c7573730401020300020900c79fffffffffffffff0109ff54ab567314e0f52ec79901c7b3a710"
              "de9fd7b5b631de9fd7b5b631c8df02ffffffffffffffffff01de9fd7b5b631eee402ac02");
    check_row(FL_ROW_INDEXED, types, values, COLUMN_COUNT,
              "0000180b00000002000000090000000000000001fe0a0064000000fdffffffffffffff33335341ec"
              "51b81e856b2e4061620068656c6c6f20666c757373010203000900c7cfffffffffffffff54ab5673"
              "14e0f52ec74c0000c7d90902decfb5668b010000decfb5668b010000c8af0000ffffffffffffffff"
              "decfb5668b0100006eb200002c010000");
    check_row(FL_ROW_ALIGNED, types, values, COLUMN_COUNT,
              "00000018000000000100000000000000fe000000000000000a000000000000006400000000000000"
              "fdffffffffffffff3333534100000000ec51b81e856b2e4061620000000000820b000000b8000000"
              "01020300000000840900000000000082c7cfffffffffffff09000000c8000000c74c000000000000"
              "c7d9090200000000decfb5668b010000c8af0000d8000000ffffffffffffffff6eb20000e0000000"
              "000000000000000000000000000000002c0100000000000068656c6c6f20666c7573730000000000"
              "ff54ab567314e0f52e00000000000000decfb5668b010000decfb5668b010000");
}

typedef struct nested_case {
    const char *type;
    const fluss_datum_t *items;
    size_t count;
    const char *compacted, *indexed, *aligned;
} nested_case;

static void check_nested(const nested_case *c)
{
    const fl_type type = type_of(c->type);
    const fluss_datum_t value = nested_value((fluss_type_t)type.root, c->items, c->count);
    check_row(FL_ROW_COMPACTED, &type, &value, 1, c->compacted);
    check_row(FL_ROW_INDEXED, &type, &value, 1, c->indexed);
    check_row(FL_ROW_ALIGNED, &type, &value, 1, c->aligned);
}

static void nested_values_in_a_row_of_one_column(void **state)
{
    (void)state;
    const fluss_datum_t texts[] = {text_value("a"), null_value(), text_value("12345678")};
    const fluss_datum_t ints[] = {int_value(FLUSS_INT, 1), null_value(), int_value(FLUSS_INT, -1)};
    const fluss_datum_t times[] = {timestamp_value(FLUSS_TIMESTAMP, 5, 7000), null_value()};
    const fluss_datum_t decimals[] = {decimal_value("10", 20, 0)};
    const fluss_datum_t entries[] = {text_value("k"), int_value(FLUSS_INT, 5)};
    const fluss_datum_t fields[] = {int_value(FLUSS_INT, 42), text_value("hi")};
    const fluss_datum_t rows[] = {nested_value(FLUSS_ROW, fields, 2)};
    const nested_case cases[] = {
        {"ARRAY<STRING>", texts, 3,
         "002803000000020000006100000000000081000000000000000008000000200000003132333435363738",
         "002800000003000000020000006100000000000081000000000000000008000000200000003132333435"
         "363738",
         "000000000000000028000000100000000300000002000000610000000000008100000000000000000800"
         "0000200000003132333435363738"},
        {"ARRAY<INT>", ints, 3, "001803000000020000000100000000000000ffffffff00000000",
         "001800000003000000020000000100000000000000ffffffff00000000",
         "0000000000000000180000001000000003000000020000000100000000000000ffffffff00000000"},
        {"ARRAY<INT>", ints, 0, "00080000000000000000", "00080000000000000000000000",
         "000000000000000008000000100000000000000000000000"},
        {"ARRAY<TIMESTAMP(6)>", times, 2,
         "00200200000002000000581b00001800000000000000000000000500000000000000",
         "00200000000200000002000000581b00001800000000000000000000000500000000000000",
         "000000000000000020000000100000000200000002000000581b00001800000000000000000000000500"
         "000000000000"},
        {"ARRAY<DECIMAL(20,0)>", decimals, 1,
         "0020010000000000000001000000100000000a000000000000000000000000000000",
         "0020000000010000000000000001000000100000000a000000000000000000000000000000",
         "00000000000000002000000010000000010000000000000001000000100000000a000000000000000000"
         "000000000000"},
        {"MAP<STRING,INT>", entries, 2,
         "00241000000001000000000000006b0000000000008101000000000000000500000000000000",
         "00240000001000000001000000000000006b0000000000008101000000000000000500000000000000",
         "000000000000000024000000100000001000000001000000000000006b00000000000081010000000000"
         "0000050000000000000000000000"},
        {"ROW<a INT, b STRING>", fields, 2, "0005002a026869", "000b00000000020000002a0000006869",
         "0000000000000000180000001000000000000000000000002a000000000000006869000000000082"},
        {"ARRAY<ROW<a INT, b STRING>>", rows, 1,
         "001801000000000000000500000010000000002a026869000000",
         "002000000001000000000000000b0000001000000000020000002a00000068690000000000",
         "000000000000000028000000100000000100000000000000180000001000000000000000000000002a00"
         "0000000000006869000000000082"},
    };
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        check_nested(&cases[i]);
    }
}

static void check_key(fl_key_format format, const char *const *type_texts, const fluss_datum_t *raw,
                      size_t count, const char *hex)
{
    fl_type types[4];
    const fl_type *pointers[4];
    fluss_datum_t values[4];
    fl_arena arena;
    fl_arena_init(&arena);
    for (size_t i = 0; i < count; i++) {
        types[i] = type_of(type_texts[i]);
        pointers[i] = &types[i];
        OK(fl_datum_coerce(&raw[i], &types[i], "k", &arena, &values[i], &error));
    }
    fl_buf out;
    fl_buf_init(&out, SIZE_MAX_TEST);
    if (hex == NULL) {
        assert_int_not_equal(fl_key_encode(format, pointers, values, count, &out, &error), 0);
        assert_int_equal(error.kind, FLUSS_KIND_ARGUMENT);
        assert_int_equal(out.size, 0);
    } else {
        OK(fl_key_encode(format, pointers, values, count, &out, &error));
        assert_hex("key", fl_buf_slice(&out), hex);
    }
    fl_buf_deinit(&out);
    fl_arena_deinit(&arena);
}

static void keys_of_three_columns(void **state)
{
    (void)state;
    static const char *const types[] = {"INT", "STRING", "BIGINT"};
    static const struct {
        int64_t a, c;
        const char *b, *compacted, *paimon, *hudi;
    } rows[] = {
        {1, 3, "hello", "010568656c6c6f03",
         "0000000000000000010000000000000068656c6c6f0000850300000000000000", "b73b2df1"},
        {300, -1, "", "ac0200ffffffffffffffffff01",
         "00000000000000002c010000000000000000000000000080ffffffffffffffff", "02e5aeb6"},
        {-5, 1234567890123, "a longer string",
         "fbffffff0f0f61206c6f6e67657220737472696e67cb89ec8ff723",
         "0000000000000000fbffffff000000000f00000020000000cb04fb711f01000061206c6f6e6765722073"
         "7472696e6700",
         "5e1cb075"},
    };
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        const fluss_datum_t values[] = {int_value(FLUSS_INT, rows[i].a), text_value(rows[i].b),
                                        int_value(FLUSS_BIGINT, rows[i].c)};
        check_key(FL_KEY_COMPACTED, types, values, 3, rows[i].compacted);
        check_key(FL_KEY_PAIMON, types, values, 3, rows[i].paimon);
        check_key(FL_KEY_HUDI, types, values, 3, rows[i].hudi);
        check_key(FL_KEY_ICEBERG, types, values, 3, NULL);
    }
}

static void keys_of_one_column(void **state)
{
    (void)state;
    const struct {
        const char *type;
        fluss_datum_t value;
        const char *compacted, *paimon, *iceberg;
    } rows[] = {
        {"DATE", int_value(FLUSS_DATE, 19655), "c79901", "0000000000000000c74c000000000000",
         "c74c000000000000"},
        {"TIME(3)", int_value(FLUSS_TIME, 34200000), "c0b3a710", "0000000000000000c0d9090200000000",
         "00967af607000000"},
        {"TIMESTAMP(9)", timestamp_value(FLUSS_TIMESTAMP, 1698235273182, 45678),
         "de9fd7b5b631eee402", "00000000000000006eb2000010000000decfb5668b010000",
         "5dfb333689080600"},
        {"DECIMAL(10,2)", decimal_value("-14.20", 10, 2), "f4f4ffffffffffffff01",
         "000000000000000074faffffffffffff", "fa74"},
        {"DECIMAL(25,2)", decimal_value("-14.20", 25, 2), "02fa74",
         "00000000000000000200000010000000fa740000000000000000000000000000", "fa74"},
        {"BYTES", bytes_value("\1\2\3", 3), "03010203", "00000000000000000102030000000083",
         "010203"},
        {"FLOAT", float_value(FLUSS_FLOAT, 13.2), "33335341", "00000000000000003333534100000000",
         "33335341"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, 15.21), "ec51b81e856b2e40",
         "0000000000000000ec51b81e856b2e40", "ec51b81e856b2e40"},
        {"TIMESTAMP_LTZ(3)", timestamp_value(FLUSS_TIMESTAMP_LTZ, 1698235273182, 0), "de9fd7b5b631",
         "0000000000000000decfb5668b010000", NULL},
        {"BIGINT", int_value(FLUSS_BIGINT, -6101065172474983726), "d295fcd8ceb1aaaaab01",
         "0000000000000000d20a1feb8ca954ab", "d20a1feb8ca954ab"},
        {"BOOLEAN", bool_value(true), "01", "00000000000000000100000000000000", NULL},
    };
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        check_key(FL_KEY_COMPACTED, &rows[i].type, &rows[i].value, 1, rows[i].compacted);
        check_key(FL_KEY_PAIMON, &rows[i].type, &rows[i].value, 1, rows[i].paimon);
        check_key(FL_KEY_ICEBERG, &rows[i].type, &rows[i].value, 1, rows[i].iceberg);
    }
    static const char *const type[] = {"STRING"};
    const fluss_datum_t none = null_value();
    check_key(FL_KEY_COMPACTED, type, &none, 1, NULL);
    check_key(FL_KEY_PAIMON, type, &none, 1, NULL);
    const fluss_datum_t empty = text_value("");
    check_key(FL_KEY_ICEBERG, type, &empty, 1, NULL);
}

static void iceberg_hashes_of_its_specification(void **state)
{
    (void)state;
    const struct {
        const char *type;
        fluss_datum_t value;
        int32_t hash;
    } rows[] = {
        {"INT", int_value(FLUSS_INT, 34), 2017239379},
        {"BIGINT", int_value(FLUSS_BIGINT, 34), 2017239379},
        {"DECIMAL(9,2)", decimal_value("14.20", 9, 2), -500754589},
        {"DATE", int_value(FLUSS_DATE, 17486), -653330422},
        {"TIME", int_value(FLUSS_TIME, 81068000), -662762989},
        {"TIMESTAMP", timestamp_value(FLUSS_TIMESTAMP, 1510871468000, 0), -2047944441},
        {"STRING", text_value("iceberg"), 1210000089},
        {"BYTES", bytes_value("\0\1\2\3", 4), -188683207},
    };
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        const fl_type type = type_of(rows[i].type);
        const fl_type *pointer = &type;
        fl_buf out;
        fl_buf_init(&out, SIZE_MAX_TEST);
        OK(fl_key_encode(FL_KEY_ICEBERG, &pointer, &rows[i].value, 1, &out, &error));
        assert_int_equal((int32_t)fl_murmur3_32(fl_buf_slice(&out), 0), rows[i].hash);
        fl_buf_deinit(&out);
    }
}

static void partition_values_have_the_java_form(void **state)
{
    (void)state;
    const struct {
        const char *type;
        fluss_datum_t value;
        const char *text;
    } rows[] = {
        {"STRING", text_value("us-1"), "us-1"},
        {"BOOLEAN", bool_value(false), "false"},
        {"SMALLINT", int_value(FLUSS_SMALLINT, -32760), "-32760"},
        {"DATE", int_value(FLUSS_DATE, -1), "1969-12-31"},
        {"DATE", int_value(FLUSS_DATE, -719162), "0001-01-01"},
        {"DATE", int_value(FLUSS_DATE, 2932896), "9999-12-31"},
        {"TIME(3)", int_value(FLUSS_TIME, 34200007), "09-30-00_007"},
        {"BYTES", bytes_value("\1\xff", 2), "01ff"},
        {"FLOAT", float_value(FLUSS_FLOAT, 1.0), "1_0"},
        {"FLOAT", float_value(FLUSS_FLOAT, 1e10), "1_0E10"},
        {"FLOAT", float_value(FLUSS_FLOAT, 0x1p-149), "1_4E-45"},
        {"FLOAT", float_value(FLUSS_FLOAT, 3.4028235e38), "3_4028235E38"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, 100.0), "100_0"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, 1e-5), "1_0E-5"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, 0.001), "0_001"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, 9999999.5), "9999999_5"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, 1e7), "1_0E7"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, -123.456), "-123_456"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, 5e-324), "4_9E-324"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, 1.7976931348623157e308), "1_7976931348623157E308"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, -0.0), "-0_0"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, (double)NAN), "NaN"},
        {"DOUBLE", float_value(FLUSS_DOUBLE, (double)-INFINITY), "-Inf"},
        {"FLOAT", float_value(FLUSS_FLOAT, (double)INFINITY), "Inf"},
        {"TIMESTAMP(9)", timestamp_value(FLUSS_TIMESTAMP, 1748662955428, 99988),
         "2025-05-31-03-42-35_428099988"},
        {"TIMESTAMP(9)", timestamp_value(FLUSS_TIMESTAMP, 1748662955000, 0),
         "2025-05-31-03-42-35_"},
        {"TIMESTAMP_LTZ(3)", timestamp_value(FLUSS_TIMESTAMP_LTZ, 1748662955120, 0),
         "2025-05-31-03-42-35_12"},
        {"TIMESTAMP", timestamp_value(FLUSS_TIMESTAMP, 1748662955120, 400000),
         "2025-05-31-03-42-35_1204"},
        {"TIMESTAMP", timestamp_value(FLUSS_TIMESTAMP, -1, 0), "1969-12-31-23-59-59_999"},
    };
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        const fl_type type = type_of(rows[i].type);
        fl_buf out;
        fl_buf_init(&out, SIZE_MAX_TEST);
        OK(fl_partition_value_print(&type, &rows[i].value, &out, &error));
        assert_text(&out, rows[i].text);
        fl_buf_deinit(&out);
    }
    const fl_type decimal = type_of("DECIMAL(5,2)");
    const fluss_datum_t value = decimal_value("1.00", 5, 2);
    fl_buf out;
    fl_buf_init(&out, SIZE_MAX_TEST);
    assert_int_not_equal(fl_partition_value_print(&decimal, &value, &out, &error), 0);
    fl_buf_deinit(&out);
}

static void partition_texts_beyond_their_type_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *type, *text;
    } rows[] = {
        {"BIGINT", "9223372036854775808"},
        {"BIGINT", "-9223372036854775809"},
        {"DATE", "99999999999-01-01"},
        {"DATE", "2147483647-01-01"},
        {"TIME(3)", "-1-00-00_"},
        {"TIMESTAMP(3)", "2147483647-01-01-00-00-00_"},
        {"TIMESTAMP(3)", "9999999999-01-01-00-00-00_"},
        {"TIMESTAMP(3)", "292278994-08-17-07-12-55_808"},
        {"TIMESTAMP(3)", "2025-05-31--1-00-00_"},
        {"TIMESTAMP(3)", "2025-05-31-00--1-00_"},
        {"TIMESTAMP(3)", "2025-05-31-00-00--1_"},
    };
    fl_arena arena;
    fl_arena_init(&arena);
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        const fl_type type = type_of(rows[i].type);
        fluss_datum_t value;
        if (fl_partition_value_parse(&type, fl_slice_str(rows[i].text), &arena, &value, &error) ==
            0) {
            fail_msg("%s as %s is %lld", rows[i].text, rows[i].type, (long long)value.v.i);
        }
    }
    const fl_type last = type_of("TIMESTAMP(3)");
    fluss_datum_t value;
    OK(fl_partition_value_parse(&last, fl_slice_str("292278994-08-17-07-12-55_807"), &arena, &value,
                                &error));
    assert_true(value.v.i == INT64_MAX);
    fl_arena_deinit(&arena);
}

static void a_null_in_a_not_null_column_is_refused(void **state)
{
    (void)state;
    const fl_type type = type_of("INT NOT NULL");
    const fl_type *pointer = &type;
    const fluss_datum_t none = null_value();
    fl_buf out;
    fl_buf_init(&out, SIZE_MAX_TEST);
    for (int format = FL_ROW_COMPACTED; format <= FL_ROW_ALIGNED; format++) {
        assert_int_not_equal(fl_row_encode((fl_row_format)format, &pointer, &none, 1, &out, &error),
                             0);
        assert_int_equal(out.size, 0);
    }
    fl_buf_deinit(&out);
}

static void text_longer_than_char_is_refused_by_indexed_rows(void **state)
{
    (void)state;
    const fl_type type = type_of("CHAR(2)");
    const fl_type *pointer = &type;
    const fluss_datum_t text = text_value("abc");
    fl_buf out;
    fl_buf_init(&out, SIZE_MAX_TEST);
    OK(fl_row_encode(FL_ROW_COMPACTED, &pointer, &text, 1, &out, &error));
    assert_int_not_equal(fl_row_encode(FL_ROW_INDEXED, &pointer, &text, 1, &out, &error), 0);
    fl_buf_deinit(&out);
}

/* A small row must not stand for texts without end: slots may say anything, the same place too. */
static void texts_of_one_place_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 4, TEXT = 1000, HEAD = 8, TEXT_AT = HEAD + COUNT * 8, SIZE = TEXT_AT + TEXT };
    static const char *const elements[] = {"ARRAY<STRING>", "ARRAY<BYTES>"};
    uint8_t row[3 + SIZE] = {0, 0x80 | (SIZE & 0x7F), SIZE >> 7, COUNT};
    memset(row + 3 + TEXT_AT, 'x', TEXT);
    for (size_t i = 0; i < COUNT; i++) {
        fl_store_u64(row + 3 + HEAD + i * 8, (uint64_t)TEXT_AT << 32 | TEXT);
    }
    for (size_t i = 0; i < FL_COUNT_OF(elements); i++) {
        const fl_type type = type_of(elements[i]);
        const fl_type *pointer = &type;
        fluss_datum_t value;
        fl_arena arena;
        fl_arena_init(&arena);
        assert_int_equal(fl_row_decode(FL_ROW_COMPACTED, &pointer, fl_slice_of(row, sizeof(row)), 1,
                                       &arena, &value, &error),
                         FLUSS_E_CORRUPT_MESSAGE);
        assert_non_null(strstr(error.message, "overlap"));
        fl_arena_deinit(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_of_every_scalar_type),
        cmocka_unit_test(nested_values_in_a_row_of_one_column),
        cmocka_unit_test(keys_of_three_columns),
        cmocka_unit_test(keys_of_one_column),
        cmocka_unit_test(iceberg_hashes_of_its_specification),
        cmocka_unit_test(partition_values_have_the_java_form),
        cmocka_unit_test(partition_texts_beyond_their_type_are_refused),
        cmocka_unit_test(a_null_in_a_not_null_column_is_refused),
        cmocka_unit_test(text_longer_than_char_is_refused_by_indexed_rows),
        cmocka_unit_test(texts_of_one_place_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, free_types);
}
