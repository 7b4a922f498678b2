/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: frame headers are read and written as frames.h lays them out, short frames and unknown
 * types are refused, errors cross the wire whole. Method: frames by hand, both ways. */
#include "message_util.h"

#include <stdio.h>

#include "protocol/frames.h"

/* The frame of a gather without its length prefix, which must be right. */
static fl_slice frame_of(fl_gather *gather)
{
    const fl_slice all = flatten(gather);
    assert_true(all.size >= 4);
    assert_int_equal(fl_load_be32(all.data), all.size - 4);
    fl_gather_deinit(gather);
    return fl_slice_sub(all, 4, all.size - 4);
}

static fl_slice error_frame(int32_t request_id, const fluss_error_t *error)
{
    fl_gather out;
    fl_gather_init(&out);
    assert_int_equal(fl_error_response_encode(request_id, error, &out, NULL), 0);
    return frame_of(&out);
}

static void request_is_written_and_read(void **state)
{
    (void)state;
    const fl_msg_list_tables_request message = {.database_name = fl_slice_str("db")};
    const fl_request_header sent = {.api_key = 1008, .api_version = 2, .request_id = 0x01020304};
    fl_gather out;
    fl_gather_init(&out);
    assert_int_equal(
        fl_request_encode(sent, &fl_msg_desc_list_tables_request, &message, &out, NULL), 0);
    const fl_slice frame = frame_of(&out);
    assert_bytes_equal(frame, BYTES("\x03\xF0\x00\x02\x01\x02\x03\x04\x0A\x02"
                                    "db"));
    fl_request_header read;
    fl_slice body;
    assert_int_equal(fl_request_parse(frame, &read, &body, NULL), 0);
    assert_int_equal(read.api_key, 1008);
    assert_int_equal(read.api_version, 2);
    assert_int_equal(read.request_id, 0x01020304);
    assert_bytes_equal(body, BYTES("\x0A\x02"
                                   "db"));
}

static void response_is_written_and_read(void **state)
{
    (void)state;
    const fl_msg_table_exists_response message = {.exists = true};
    fl_gather out;
    fl_gather_init(&out);
    assert_int_equal(
        fl_response_encode(7, &fl_msg_desc_table_exists_response, &message, &out, NULL), 0);
    const fl_slice frame = frame_of(&out);
    assert_bytes_equal(frame, BYTES("\x00\x00\x00\x00\x07\x08\x01"));
    fl_response_type type;
    int32_t request_id;
    fl_slice body;
    assert_int_equal(fl_response_parse(frame, &type, &request_id, &body, NULL), 0);
    assert_int_equal(type, FL_RESPONSE_SUCCESS);
    assert_int_equal(request_id, 7);
    assert_bytes_equal(body, BYTES("\x08\x01"));
}

static void frames_shorter_than_their_header_are_refused(void **state)
{
    (void)state;
    const fl_slice request = BYTES("\x03\xF0\x00\x00\x00\x00\x00\x01");
    const fl_slice response = BYTES("\x00\x00\x00\x00\x01");
    fl_request_header header;
    fl_response_type type;
    int32_t request_id;
    fl_slice body;
    fluss_error_t err;
    for (size_t size = 0; size <= request.size; size++) {
        assert_int_equal(fl_request_parse(fl_slice_sub(request, 0, size), &header, &body, &err),
                         size == request.size ? 0 : FLUSS_E_CORRUPT_MESSAGE);
    }
    for (size_t size = 0; size <= response.size; size++) {
        const fl_slice cut = fl_slice_sub(response, 0, size);
        assert_int_equal(fl_response_parse(cut, &type, &request_id, &body, &err),
                         size == response.size ? 0 : FLUSS_E_CORRUPT_MESSAGE);
    }
}

static void unknown_response_type_is_refused(void **state)
{
    (void)state;
    fl_response_type type;
    int32_t request_id;
    fl_slice body;
    fluss_error_t err;
    assert_int_equal(
        fl_response_parse(BYTES("\x03\x00\x00\x00\x01"), &type, &request_id, &body, &err),
        FLUSS_E_CORRUPT_MESSAGE);
    assert_string_equal(err.message, "response frame of type 3, expected 0, 1 or 2");
}

static void error_crosses_the_wire(void **state)
{
    (void)state;
    const fluss_error_t sent = {.code = FLUSS_E_TABLE_NOT_EXIST, .message = "table a.b is gone"};
    const fl_slice frame = error_frame(9, &sent);
    fl_response_type type;
    int32_t request_id;
    fl_slice body;
    assert_int_equal(fl_response_parse(frame, &type, &request_id, &body, NULL), 0);
    assert_int_equal(type, FL_RESPONSE_ERROR);
    assert_int_equal(request_id, 9);
    fluss_error_t got;
    fl_error_response_decode(body, &got);
    assert_int_equal(got.code, FLUSS_E_TABLE_NOT_EXIST);
    assert_int_equal(got.kind, FLUSS_KIND_SERVER);
    assert_string_equal(got.message, "table a.b is gone");
}

static void default_text_of_a_code_is_not_sent(void **state)
{
    (void)state;
    fluss_error_t sent = {.code = FLUSS_E_TABLE_NOT_EXIST};
    const fl_slice short_frame = BYTES("\x01\x00\x00\x00\x09\x08\x07");
    assert_bytes_equal(error_frame(9, &sent), short_frame);
    (void)snprintf(sent.message, sizeof(sent.message), "%s", "the table does not exist");
    assert_bytes_equal(error_frame(9, &sent), short_frame);
    fluss_error_t got;
    fl_error_response_decode(fl_slice_sub(short_frame, 5, 2), &got);
    assert_string_equal(got.message, "the table does not exist");
}

static void failure_of_the_server_has_no_request_id(void **state)
{
    (void)state;
    const fluss_error_t sent = {.code = -1, .message = "too large"};
    const fl_slice frame = error_frame(-1, &sent);
    assert_int_equal(frame.data[0], FL_RESPONSE_FAILURE);
    fl_response_type type;
    int32_t request_id = 0;
    fl_slice body;
    assert_int_equal(fl_response_parse(frame, &type, &request_id, &body, NULL), 0);
    assert_int_equal(type, FL_RESPONSE_FAILURE);
    assert_int_equal(request_id, -1);
    fluss_error_t got;
    fl_error_response_decode(body, &got);
    assert_int_equal(got.code, -1);
    assert_string_equal(got.message, "too large");
}

static void malformed_error_is_still_an_error(void **state)
{
    (void)state;
    fluss_error_t got = {0};
    fl_error_response_decode(BYTES("\x12\x01x"), &got);
    assert_int_equal(got.code, FLUSS_E_CORRUPT_MESSAGE);
    assert_non_null(strstr(got.message, "unreadable error response: ErrorResponse"));
}

static void error_without_a_code_of_its_own_is_unknown(void **state)
{
    (void)state;
    fluss_error_t got = {0};
    fl_error_response_decode(BYTES("\x08\x00\x12\x02hm"), &got);
    assert_int_equal(got.code, FLUSS_E_SERVER_UNKNOWN);
    assert_string_equal(got.message, "error response with code 0: hm");
    fl_error_response_decode(BYTES("\x08\xE7\x07\x12\x02hm"), &got);
    assert_int_equal(got.code, 999);
    assert_string_equal(got.message, "hm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(request_is_written_and_read),
        TEST(response_is_written_and_read),
        TEST(frames_shorter_than_their_header_are_refused),
        TEST(unknown_response_type_is_refused),
        TEST(error_crosses_the_wire),
        TEST(default_text_of_a_code_is_not_sent),
        TEST(failure_of_the_server_has_no_request_id),
        TEST(malformed_error_is_still_an_error),
        TEST(error_without_a_code_of_its_own_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
