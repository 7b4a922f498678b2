/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a struct becomes the one shortest encoding of its message, large bytes by reference; and
 * the text that people read. Method: bytes by hand, which python-protobuf gives too
 * (tests/python/test_protocol_crosscheck.py does that for every message). */
#include "message_util.h"

#include "protocol/message_private.h"

enum { LARGE_SIZE = FL_MSG_VIEW_SIZE_MIN, LIST_LENGTH = 5000, TOO_DEEP = 40 };

static void every_kind_of_value_is_written(void **state)
{
    (void)state;
    const fl_msg_pb_literal_value value = {
        .literal_type = 5,
        .is_null = false,
        .has_boolean_value = true,
        .boolean_value = true,
        .has_int_value = true,
        .int_value = -2,
        .has_bigint_value = true,
        .bigint_value = 300,
        .has_float_value = true,
        .float_value = 1.5F,
        .has_double_value = true,
        .double_value = -2.5,
        .has_string_value = true,
        .string_value = fl_slice_str("abc"),
        .has_binary_value = true,
        .binary_value = BYTES("\x00\xFF"),
    };
    assert_bytes_equal(
        encoded(&fl_msg_desc_pb_literal_value, &value),
        BYTES("\x08\x05\x10\x00\x18\x01\x20\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x28\xAC\x02"
              "\x35\x00\x00\xC0\x3F\x39\x00\x00\x00\x00\x00\x00\x04\xC0\x42\x03"
              "abc\x4A\x02\x00\xFF"));
}

static void present_empty_and_absent_differ(void **state)
{
    (void)state;
    fl_msg_authenticate_response message = {0};
    assert_bytes_equal(encoded(&fl_msg_desc_authenticate_response, &message), BYTES(""));
    message.has_challenge = true;
    assert_bytes_equal(encoded(&fl_msg_desc_authenticate_response, &message), BYTES("\x0A\x00"));
}

static void declared_fields_are_packed_and_empty_ones_left_out(void **state)
{
    (void)state;
    int64_t ids[] = {1, 300, -1};
    fl_msg_metadata_request message = {.partitions_id = ids, .partitions_id_count = 3};
    assert_bytes_equal(encoded(&fl_msg_desc_metadata_request, &message),
                       BYTES("\x1A\x0D\x01\xAC\x02\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"));
    message.partitions_id_count = 0;
    assert_bytes_equal(encoded(&fl_msg_desc_metadata_request, &message), BYTES(""));
}

static void large_bytes_go_by_reference_and_small_ones_are_copied(void **state)
{
    (void)state;
    static uint8_t records[LARGE_SIZE];
    for (size_t size = LARGE_SIZE - 1; size <= LARGE_SIZE; size++) {
        fl_msg_pb_produce_log_req_for_bucket bucket = {.records = {records, size}};
        const fl_msg_produce_log_request message = {.buckets_req = &bucket, .buckets_req_count = 1};
        fl_gather out;
        fl_gather_init(&out);
        assert_int_equal(fl_msg_encode(&fl_msg_desc_produce_log_request, &message, &out, NULL), 0);
        struct iovec parts[4];
        const size_t count = fl_gather_iov(&out, 0, parts, FL_COUNT_OF(parts));
        size_t by_reference = 0;
        for (size_t i = 0; i < count; i++) {
            by_reference += parts[i].iov_base == records;
        }
        assert_int_equal(by_reference, size == LARGE_SIZE ? 1 : 0);
        fl_gather_deinit(&out);
    }
}

static void large_text_is_copied(void **state)
{
    (void)state;
    uint8_t *text = fl_alloc(LARGE_SIZE * 2);
    memset(text, 'x', LARGE_SIZE * 2);
    const fl_msg_error_response message = {.has_error_message = true,
                                           .error_message = {text, LARGE_SIZE * 2}};
    fl_gather out;
    fl_gather_init(&out);
    assert_int_equal(fl_msg_encode(&fl_msg_desc_error_response, &message, &out, NULL), 0);
    memset(text, 0, LARGE_SIZE * 2);
    fl_free(text);
    const fl_slice bytes = flatten(&out);
    assert_int_equal(bytes.data[bytes.size - 1], 'x');
    fl_gather_deinit(&out);
}

static void long_list_survives_the_round_trip(void **state)
{
    (void)state;
    fl_msg_pb_value *values = fl_arena_array(&arena, LIST_LENGTH, sizeof(*values));
    for (size_t i = 0; i < LIST_LENGTH; i++) {
        values[i].has_values = i % 3 != 0;
        values[i].values = fl_slice_str("a value of some length" + i % 20);
    }
    fl_msg_pb_lookup_resp_for_bucket bucket = {.values = values, .values_count = LIST_LENGTH};
    const fl_msg_lookup_response message = {.buckets_resp = &bucket, .buckets_resp_count = 1};
    const fl_slice bytes = encoded(&fl_msg_desc_lookup_response, &message);
    fl_msg_lookup_response again;
    assert_int_equal(fl_msg_decode(&fl_msg_desc_lookup_response, bytes, &arena, &again, NULL), 0);
    assert_int_equal(again.buckets_resp_count, 1);
    assert_int_equal(again.buckets_resp[0].values_count, LIST_LENGTH);
    for (size_t i = 0; i < LIST_LENGTH; i++) {
        const fl_msg_pb_value *value = &again.buckets_resp[0].values[i];
        assert_int_equal(value->has_values, values[i].has_values);
        if (value->has_values) {
            assert_bytes_equal(value->values, values[i].values);
        }
    }
}

static void encoded_bytes_stay_while_others_are_encoded(void **state)
{
    (void)state;
    static uint8_t texts[2][LARGE_SIZE * 4];
    fl_gather out[2];
    for (size_t i = 0; i < 2; i++) {
        memset(texts[i], i == 0 ? 'a' : 'b', sizeof(texts[i]));
        const fl_msg_error_response message = {.has_error_message = true,
                                               .error_message = {texts[i], sizeof(texts[i])}};
        fl_gather_init(&out[i]);
        assert_int_equal(fl_msg_encode(&fl_msg_desc_error_response, &message, &out[i], NULL), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        const fl_slice bytes = flatten(&out[i]);
        assert_memory_equal(bytes.data + bytes.size - sizeof(texts[i]), texts[i], sizeof(texts[i]));
        fl_gather_deinit(&out[i]);
    }
}

static void text_that_is_not_utf8_is_refused(void **state)
{
    (void)state;
    const fl_msg_pb_table_path path = {.database_name = BYTES("d\xFF"),
                                       .table_name = fl_slice_str("t")};
    fluss_error_t err = {0};
    fl_gather out;
    fl_gather_init(&out);
    assert_int_equal(fl_msg_encode(&fl_msg_desc_pb_table_path, &path, &out, &err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_ARGUMENT);
    assert_string_equal(err.message, "PbTablePath.database_name: text is not UTF-8");
    fl_gather_deinit(&out);
}

/* Levels in a chain of n predicates, each but the last with a compound: 2 n - 1. */
static void nesting_is_limited_as_in_decoding(void **state)
{
    (void)state;
    fl_msg_pb_predicate chain[TOO_DEEP] = {0};
    for (size_t i = 0; i + 1 < TOO_DEEP; i++) {
        chain[i].has_compound = true;
        chain[i].compound.children = &chain[i + 1];
        chain[i].compound.children_count = 1;
    }
    static const size_t refused[] = {TOO_DEEP, FL_MSG_DEPTH_MAX / 2 + 1};
    for (size_t i = 0; i < FL_COUNT_OF(refused); i++) {
        fluss_error_t err = {0};
        fl_gather out;
        fl_gather_init(&out);
        assert_int_equal(
            fl_msg_encode(&fl_msg_desc_pb_predicate, &chain[TOO_DEEP - refused[i]], &out, &err),
            FLUSS_E_CLIENT);
        assert_non_null(strstr(err.message, "nested deeper than 32"));
        fl_gather_deinit(&out);
    }
    chain[TOO_DEEP - 1].has_compound = true; /* one level more for the same predicates: 32 */
    const fl_slice deepest =
        encoded(&fl_msg_desc_pb_predicate, &chain[TOO_DEEP - FL_MSG_DEPTH_MAX / 2]);
    fl_msg_pb_predicate again;
    assert_int_equal(fl_msg_decode(&fl_msg_desc_pb_predicate, deepest, &arena, &again, NULL), 0);
}

static void each_failing_allocation_is_reported(void **state)
{
    (void)state;
    static uint8_t records[LARGE_SIZE];
    fl_msg_pb_produce_log_req_for_bucket buckets[] = {{.records = {records, LARGE_SIZE}},
                                                      {.records = {records, LARGE_SIZE}}};
    const fl_msg_produce_log_request message = {.buckets_req = buckets, .buckets_req_count = 2};
    uint64_t n = 1;
    for (;; n++) {
        fl_gather out;
        fl_gather_init(&out);
        fluss_error_t err = {0};
        fl_alloc_fail_at(n);
        const fluss_code_t rc =
            fl_msg_encode(&fl_msg_desc_produce_log_request, &message, &out, &err);
        fl_alloc_fail_at(0);
        fl_gather_deinit(&out);
        if (rc == 0) {
            break;
        }
        assert_int_equal(err.kind, FLUSS_KIND_NOMEM);
    }
    assert_true(n > 1);
}

static void assert_json(const fl_msg_desc *desc, const void *message, const char *expected)
{
    fl_buf text;
    fl_buf_init(&text, LARGE_SIZE);
    assert_int_equal(fl_msg_to_json(desc, message, &text, NULL), 0);
    assert_int_equal(fl_buf_append_byte(&text, 0, NULL), 0);
    assert_string_equal((const char *)text.data, expected);
    fl_buf_deinit(&text);
}

static void text_shows_the_fields_that_are_there(void **state)
{
    (void)state;
    int32_t columns[] = {0, 2};
    fl_msg_pb_put_kv_req_for_bucket bucket = {.bucket_id = 3, .records = BYTES("\x01\xAB")};
    const fl_msg_put_kv_request message = {.acks = -1,
                                           .table_id = 9,
                                           .timeout_ms = 500,
                                           .target_columns = columns,
                                           .target_columns_count = 2,
                                           .buckets_req = &bucket,
                                           .buckets_req_count = 1};
    assert_json(&fl_msg_desc_put_kv_request, &message,
                "{\"acks\": -1, \"table_id\": 9, \"timeout_ms\": 500, \"target_columns\": [0, 2], "
                "\"buckets_req\": [{\"bucket_id\": 3, \"records\": \"01ab\"}]}");
}

static void text_is_escaped(void **state)
{
    (void)state;
    fl_msg_pb_table_path path = {.database_name = fl_slice_str("a\"\\\n\xC3\xA4"),
                                 .table_name = BYTES("\xFF")};
    assert_json(&fl_msg_desc_pb_table_path, &path,
                "{\"database_name\": \"a\\\"\\\\\\u000a\xC3\xA4\", \"table_name\": \"\\u00ff\"}");
}

static void numbers_that_json_lacks_are_words(void **state)
{
    (void)state;
    const fl_msg_pb_literal_value value = {.has_float_value = true,
                                           .float_value = -__builtin_inff(),
                                           .has_double_value = true,
                                           .double_value = __builtin_nan("")};
    assert_json(&fl_msg_desc_pb_literal_value, &value,
                "{\"literal_type\": 0, \"is_null\": false, \"float_value\": \"-Infinity\", "
                "\"double_value\": \"NaN\"}");
}

static void credentials_are_not_shown(void **state)
{
    (void)state;
    const fl_msg_authenticate_request message = {.protocol = fl_slice_str("PLAIN"),
                                                 .token = BYTES("\0user\0password")};
    assert_json(&fl_msg_desc_authenticate_request, &message,
                "{\"protocol\": \"PLAIN\", \"token\": \"<14 bytes>\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_of_value_is_written),
        TEST(present_empty_and_absent_differ),
        TEST(declared_fields_are_packed_and_empty_ones_left_out),
        TEST(large_bytes_go_by_reference_and_small_ones_are_copied),
        TEST(large_text_is_copied),
        TEST(long_list_survives_the_round_trip),
        TEST(encoded_bytes_stay_while_others_are_encoded),
        TEST(text_that_is_not_utf8_is_refused),
        TEST(nesting_is_limited_as_in_decoding),
        TEST(each_failing_allocation_is_reported),
        TEST(text_shows_the_fields_that_are_there),
        TEST(text_is_escaped),
        TEST(numbers_that_json_lacks_are_words),
        TEST(credentials_are_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
