/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: keys fall into the buckets that the Java and the Rust client put them in. Method: the
 * tables below, whose hashes and buckets are those of the official clients. */
#include "format/bucketing.h"

#include "value_support.h"

static void hashes_and_buckets_of_the_table(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        uint32_t java, rust, murmur3;
        int32_t fluss_java, fluss_rust, paimon, iceberg;
    } rows[] = {
        {"01", 0xe8f30d16, 0xe8f30d16, 0xe45ad1ab, 12, 12, 10, 11},
        {"616263", 0x4ed2cbb4, 0x4ed2cbb4, 0xb3dd93fa, 5, 5, 4, 10},
        {"61626364", 0xe860e5cc, 0xe860e5cc, 0x43ed676a, 5, 5, 4, 10},
        {"6162636465", 0x308e6368, 0x308e6368, 0xe89b9af6, 15, 15, 8, 6},
        {"ac02", 0xbe915344, 0x5d879982, 0xf931f906, 5, 11, 12, 6},
        {"ff", 0x535b391c, 0x2fc81fbe, 0xfd6cf10d, 9, 7, 12, 13},
        {"8081828384", 0x3b9dd453, 0x9bb34cbd, 0xb648cb76, 10, 15, 3, 6},
        {"68656c6c6f20776f726c64", 0xa4dfd002, 0xa4dfd002, 0x5e928f0f, 14, 14, 14, 15},
        {"010568656c6c6f03", 0x8140347e, 0x8140347e, 0x65ac34c8, 13, 13, 2, 8},
        {"ac0200ffffffffffffffffff01", 0x1abdb112, 0x1abdb112, 0x8e62df74, 6, 6, 2, 4},
    };
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        const fl_slice key = from_hex(rows[i].hex);
        assert_int_equal(fl_fluss_hash(key, FL_HASH_JAVA), rows[i].java);
        assert_int_equal(fl_fluss_hash(key, FL_HASH_RUST), rows[i].rust);
        assert_int_equal(fl_murmur3_32(key, 0), rows[i].murmur3);
        assert_int_equal(fl_bucket_of(key, 16, FL_LAKE_NONE, FL_HASH_JAVA), rows[i].fluss_java);
        assert_int_equal(fl_bucket_of(key, 16, FL_LAKE_LANCE, FL_HASH_RUST), rows[i].fluss_rust);
        assert_int_equal(fl_bucket_of(key, 16, FL_LAKE_PAIMON, FL_HASH_JAVA), rows[i].paimon);
        assert_int_equal(fl_bucket_of(key, 16, FL_LAKE_ICEBERG, FL_HASH_JAVA), rows[i].iceberg);
        free_bytes(key);
    }
    const fl_slice none = fl_slice_of("", 0);
    assert_int_equal(fl_fluss_hash(none, FL_HASH_JAVA), 0x087fcd5c);
    assert_int_equal(fl_murmur3_32(none, 0), 0);
}

static void int_keys_differ_between_java_and_rust(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        int32_t java, rust;
    } rows[] = {{"01", 12, 12}, {"7f", 10, 10},    {"8001", 2, 7},        {"ac02", 5, 11},
                {"e807", 3, 9}, {"f0a204", 7, 13}, {"ffffffff0f", 10, 10}};
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        const fl_slice key = from_hex(rows[i].hex);
        assert_int_equal(fl_bucket_of(key, 16, FL_LAKE_NONE, FL_HASH_JAVA), rows[i].java);
        assert_int_equal(fl_bucket_of(key, 16, FL_LAKE_NONE, FL_HASH_RUST), rows[i].rust);
        free_bytes(key);
    }
}

static void codes_are_hashed_like_java_ints(void **state)
{
    (void)state;
    static const struct {
        int32_t code, hash;
    } rows[] = {{0, 593689054},   {1, 68075478},           {42, 1134849565},       {-77, 787163102},
                {-1, 1982413648}, {INT32_MAX, 1653689534}, {INT32_MIN, 1718298732}};
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        assert_int_equal(fl_int_hash(rows[i].code), rows[i].hash);
    }
}

static void upstream_unit_tests_agree(void **state)
{
    (void)state;
    static const struct {
        const char *hex, *text;
        int32_t count, fluss, paimon, iceberg;
    } rows[] = {{"000a", NULL, 7, 1, 1, 3},
                {"000a0a0a", NULL, 12, 0, 11, 4},
                {NULL, "2bb87d68-baf9-4e64-90f9-f80910419fa6", 16, 6, 12, 12},
                {NULL, "The quick brown fox jumps over the lazy dog", 8, 6, 0, 3}};
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        const fl_slice hex = from_hex(rows[i].hex != NULL ? rows[i].hex : "");
        const fl_slice key = rows[i].hex != NULL ? hex : fl_slice_str(rows[i].text);
        const int32_t count = rows[i].count;
        assert_int_equal(fl_bucket_of(key, count, FL_LAKE_NONE, FL_HASH_JAVA), rows[i].fluss);
        assert_int_equal(fl_bucket_of(key, count, FL_LAKE_PAIMON, FL_HASH_JAVA), rows[i].paimon);
        assert_int_equal(fl_bucket_of(key, count, FL_LAKE_ICEBERG, FL_HASH_JAVA), rows[i].iceberg);
        free_bytes(hex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_and_buckets_of_the_table),
        cmocka_unit_test(int_keys_differ_between_java_and_rust),
        cmocka_unit_test(codes_are_hashed_like_java_ints),
        cmocka_unit_test(upstream_unit_tests_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
