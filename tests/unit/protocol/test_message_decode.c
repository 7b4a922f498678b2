/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: foreign bytes become the struct they stand for, or an error that names the fault; never
 * anything else. Method: bytes by hand for each kind of fault; the tables for what must hold for
 * every message; cuts and flips of a real message; failing allocations. */
#include "message_util.h"

#include <stdio.h>

#include "protocol/message_private.h"

enum { DEPTH_BOMB = 100000, FLOOD_SIZE = 1 << 20 };

/* Leaf messages with all kinds of fields; and a deep one. */
static const fl_msg_desc *const literal = &fl_msg_desc_pb_literal_value;
static const fl_msg_desc *const produce = &fl_msg_desc_produce_log_request;
static const fl_msg_desc *const metadata = &fl_msg_desc_metadata_request;

static void decode(const fl_msg_desc *desc, fl_slice bytes, void *message)
{
    fluss_error_t err = {0};
    if (fl_msg_decode(desc, bytes, &arena, message, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

static void every_kind_of_value_is_read(void **state)
{
    (void)state;
    fl_msg_pb_literal_value value;
    decode(literal,
           BYTES("\x08\x05\x10\x00\x18\x01\x20\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x28\xAC\x02"
                 "\x35\x00\x00\xC0\x3F\x39\x00\x00\x00\x00\x00\x00\x04\xC0\x42\x03"
                 "abc\x4A\x02\x00\xFF"),
           &value);
    assert_int_equal(value.literal_type, 5);
    assert_false(value.is_null);
    assert_true(value.has_boolean_value && value.boolean_value);
    assert_true(value.has_int_value);
    assert_int_equal(value.int_value, -2);
    assert_true(value.has_bigint_value);
    assert_int_equal(value.bigint_value, 300);
    assert_true(value.has_float_value && value.float_value == 1.5F);
    assert_true(value.has_double_value && value.double_value == -2.5);
    assert_true(value.has_string_value && fl_slice_equal_str(value.string_value, "abc"));
    assert_true(value.has_binary_value);
    assert_bytes_equal(value.binary_value, BYTES("\x00\xFF"));
    assert_false(value.has_decimal_value || value.has_decimal_bytes);
}

static void empty_bytes_are_an_empty_message(void **state)
{
    (void)state;
    fl_msg_metadata_request message;
    memset(&message, 0xA5, sizeof(message));
    decode(metadata, (fl_slice){0}, &message);
    assert_int_equal(message.table_path_count + message.partitions_id_count, 0);
}

static void bytes_fields_view_the_frame(void **state)
{
    (void)state;
    const fl_slice frame = BYTES("\x08\x01\x12\x02{}");
    fl_msg_get_table_schema_response message;
    decode(&fl_msg_desc_get_table_schema_response, frame, &message);
    assert_ptr_equal(message.schema_json.data, frame.data + 4);
}

static void packed_unpacked_and_mixed_values_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"\x1A\x04\x01\x02\xAC\x02", 6},
        {"\x18\x01\x18\x02\x18\xAC\x02", 7},
        {"\x18\x01\x1A\x00\x1A\x03\x02\xAC\x02", 9},
    };
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        fl_msg_metadata_request message;
        decode(metadata, fl_slice_of(cases[i].bytes, cases[i].size), &message);
        assert_int_equal(message.partitions_id_count, 3);
        assert_int_equal(message.partitions_id[0], 1);
        assert_int_equal(message.partitions_id[1], 2);
        assert_int_equal(message.partitions_id[2], 300);
    }
}

static void repeated_field_in_pieces_keeps_its_order(void **state)
{
    (void)state;
    fl_msg_pb_value_list list;
    decode(&fl_msg_desc_pb_value_list,
           BYTES("\x0A\x01"
                 "a\x50\x07\x0A\x00\x0A\x01"
                 "c"),
           &list);
    assert_int_equal(list.values_count, 3);
    assert_true(fl_slice_equal_str(list.values[0], "a"));
    assert_int_equal(list.values[1].size, 0);
    assert_true(fl_slice_equal_str(list.values[2], "c"));
}

static void unknown_fields_of_every_wire_type_are_skipped(void **state)
{
    (void)state;
    fl_msg_error_response message;
    decode(&fl_msg_desc_error_response,
           BYTES("\x50\x96\x01\x59"
                 "12345678\x62\x03"
                 "abc\x6D"
                 "1234\x08\x07\xFA\xFF\xFF\xFF\x0F\x01x"),
           &message);
    assert_int_equal(message.error_code, 7);
    assert_false(message.has_error_message);
}

static void unused_number_inside_a_message_is_skipped(void **state)
{
    (void)state;
    fl_msg_pb_bucket_offset message; /* its number 3 is not in use */
    decode(&fl_msg_desc_pb_bucket_offset, BYTES("\x10\x04\x18\x63\x20\x05"), &message);
    assert_int_equal(message.bucket_id, 4);
    assert_true(message.has_log_end_offset);
    assert_int_equal(message.log_end_offset, 5);
}

static void last_of_several_single_values_wins(void **state)
{
    (void)state;
    fl_msg_error_response error;
    decode(&fl_msg_desc_error_response, BYTES("\x08\x01\x08\x02"), &error);
    assert_int_equal(error.error_code, 2);
    /* Two nodes; only the first has a rack. */
    fl_msg_metadata_response message;
    decode(&fl_msg_desc_metadata_response,
           BYTES("\x0A\x09\x08\x01\x12\x00\x18\x07\x2A\x01r\x0A\x06\x08\x02\x12\x00\x18\x08"),
           &message);
    assert_true(message.has_coordinator_server);
    assert_int_equal(message.coordinator_server.node_id, 2);
    assert_false(message.coordinator_server.has_rack);
    /* Two partition specs: of one pair, then of none. */
    fl_msg_list_partition_infos_request request;
    decode(&fl_msg_desc_list_partition_infos_request,
           BYTES("\x0A\x04\x0A\x00\x12\x00\x12\x06\x0A\x04\x0A\x00\x12\x00\x12\x00"), &request);
    assert_true(request.has_partial_partition_spec);
    assert_int_equal(request.partial_partition_spec.partition_key_values_count, 0);
}

static void malformed_bytes_are_refused_with_the_fault_named(void **state)
{
    (void)state;
    static const struct {
        const fl_msg_desc *desc;
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {&fl_msg_desc_error_response, "\x00\x01", 2, "ErrorResponse at byte 0: no valid field tag"},
        {&fl_msg_desc_error_response, "\x07", 1, "no valid field tag"},
        {&fl_msg_desc_error_response, "\x88\x80\x80\x80\x10\x01", 6, "no valid field tag"},
        {&fl_msg_desc_error_response, "\x88", 1, "no valid field tag"},
        {&fl_msg_desc_error_response, "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 11,
         "ErrorResponse.error_code at byte 0: value is malformed"},
        {&fl_msg_desc_error_response, "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12,
         "ErrorResponse.error_code at byte 0: value is malformed"},
        {&fl_msg_desc_error_response, "\x08\x80", 2, "runs past the end"},
        {&fl_msg_desc_error_response, "\x08", 1, "runs past the end"},
        {&fl_msg_desc_error_response, "\x0A\x01\x00", 3,
         "ErrorResponse.error_code at byte 0: wire type 2, expected 0"},
        {&fl_msg_desc_error_response, "\x08\x01\x10\x01", 4,
         "ErrorResponse.error_message at byte 2: wire type 0, expected 2"},
        {&fl_msg_desc_error_response, "\x08\x01\x12\x02x", 5, "size runs past the end"},
        {&fl_msg_desc_error_response, "\x08\x01\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 13,
         "size runs past the end"}, /* size -1 */
        {&fl_msg_desc_error_response, "\x08\x01\x12\xFF\xFF\xFF\xFF\x0Fx", 9,
         "size runs past the end"},
        {&fl_msg_desc_error_response, "\x08\x01\x12\x02\xC3\x28", 6,
         "ErrorResponse.error_message at byte 2: text is not UTF-8"},
        {&fl_msg_desc_error_response, "\x08\x01\x5B\x5C", 4,
         "ErrorResponse, field number 11 at byte 2: unknown wire type"}, /* a group */
        {&fl_msg_desc_error_response, "\x08\x01\x5C", 3, "unknown wire type"},
        {&fl_msg_desc_error_response, "\x08\x01\x5E", 3, "unknown wire type"},
        {&fl_msg_desc_error_response, "\x08\x01\x5F", 3, "unknown wire type"},
        {&fl_msg_desc_error_response, "\x08\x01\x62\x02x", 5, "runs past the end"},
        {&fl_msg_desc_error_response, "\x08\x01\x5Dxyz", 6, "runs past the end"},
        {&fl_msg_desc_error_response, "\x08\x01\x59xyz", 6, "runs past the end"},
        {&fl_msg_desc_error_response, "\x12\x00", 2,
         "ErrorResponse at byte 0: required field error_code is missing"},
        {&fl_msg_desc_metadata_request, "\x1A\x02\x01\x80", 4,
         "MetadataRequest.partitions_id at byte 0: last packed value is cut"},
        {&fl_msg_desc_metadata_request, "\x1A\x01\x80", 3, "last packed value is cut"},
        {&fl_msg_desc_metadata_request, "\x1A\x05\x01", 3, "runs past the end"},
        {&fl_msg_desc_metadata_request, "\x1D\x01\x00\x00\x00", 5,
         "MetadataRequest.partitions_id at byte 0: wire type 5, expected 0"},
        {&fl_msg_desc_metadata_request, "\x08\x01", 2,
         "MetadataRequest.table_path at byte 0: wire type 0, expected 2"},
        {&fl_msg_desc_metadata_request, "\x0A\x03\x0A\x01x", 5,
         "MetadataRequest.table_path at byte 0: too short for its required fields"},
        {&fl_msg_desc_metadata_request, "\x0A\x04\x0A\x02xy", 6,
         "PbTablePath at byte 2: required field table_name is missing"},
        {&fl_msg_desc_pb_literal_value, "\x08\x01\x10\x01\x35xyz", 8,
         "PbLiteralValue.float_value at byte 4: value is malformed or runs past the end"},
        {&fl_msg_desc_pb_literal_value, "\x08\x01\x10\x01\x39xyz", 8,
         "PbLiteralValue.double_value at byte 4: value is malformed or runs past the end"},
    };
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        assert_refused(cases[i].desc, fl_slice_of(cases[i].bytes, cases[i].size), cases[i].text);
    }
}

/* Size of the field (tag and value) at the start of an encoded message; only what zeroed structs
 * give: one-byte tags, sizes below 128. */
static size_t field_size(fl_slice bytes)
{
    switch (bytes.data[0] & 7) {
    case FL_WIRE_VARINT:
        return 2;
    case FL_WIRE_SIZED:
        return 2u + bytes.data[1];
    case FL_WIRE_FIXED32:
        return 5;
    default:
        return 9;
    }
}

static void each_required_field_of_each_message_is_missed(void **state)
{
    (void)state;
    size_t message_count, missed = 0;
    const fl_msg_desc *const *all = fl_msg_all(&message_count);
    for (size_t i = 0; i < message_count; i++) {
        void *empty = fl_arena_alloc(&arena, fl_msg_struct_size(all[i]));
        const fl_slice whole = encoded(all[i], empty);
        assert_int_equal(whole.size, all[i]->size_min);
        decode(all[i], whole, empty);
        for (size_t at = 0; at < whole.size; missed++) {
            const size_t size = field_size(fl_slice_sub(whole, at, whole.size - at));
            uint8_t *rest = fl_arena_alloc(&arena, whole.size);
            memcpy(rest, whole.data, at);
            memcpy(rest + at, whole.data + at + size, whole.size - at - size);
            char text[128];
            (void)snprintf(text, sizeof(text), "%s at byte 0: required field %s is missing",
                           all[i]->name, all[i]->fields[(whole.data[at] >> 3) - 1].name);
            assert_refused(all[i], fl_slice_of(rest, whole.size - size), text);
            at += size;
        }
    }
    assert_true(missed > 200);
}

/* A ProduceLogRequest with two buckets. */
static fl_slice sample(void)
{
    fl_msg_pb_produce_log_req_for_bucket buckets[2] = {
        {.bucket_id = 1, .records = BYTES("records of one")},
        {.has_partition_id = true, .partition_id = -7, .bucket_id = 300, .records = BYTES("two")},
    };
    const fl_msg_produce_log_request message = {.acks = -1,
                                                .table_id = INT64_MAX,
                                                .timeout_ms = 30000,
                                                .buckets_req = buckets,
                                                .buckets_req_count = 2};
    return encoded(produce, &message);
}

/* Whatever the bytes are: an error, or a message. */
static bool decodes(fl_slice bytes, fl_slice *again)
{
    fl_msg_produce_log_request message;
    fluss_error_t err = {0};
    const fluss_code_t rc = fl_msg_decode(produce, bytes, &arena, &message, &err);
    assert_true(rc == 0 || (rc == FLUSS_E_CORRUPT_MESSAGE && err.message[0] != '\0'));
    if (rc == 0) {
        *again = encoded(produce, &message);
    }
    return rc == 0;
}

static void cut_at_any_byte_is_an_error_or_a_shorter_message(void **state)
{
    (void)state;
    const fl_slice whole = sample();
    size_t refused = 0;
    for (size_t size = 0; size < whole.size; size++) {
        fl_slice again;
        uint8_t *cut = fl_alloc(size); /* of its own, so that reading past it shows */
        memcpy(cut, whole.data, size);
        if (decodes(fl_slice_of(cut, size), &again)) {
            assert_bytes_equal(again, fl_slice_of(cut, size));
        } else {
            refused++;
        }
        fl_free(cut);
    }
    assert_int_equal(refused, whole.size - 2); /* before each bucket, the message is complete */
}

static void flipped_bits_give_an_error_or_a_message(void **state)
{
    (void)state;
    const fl_slice whole = sample();
    uint8_t *flipped = fl_arena_alloc(&arena, whole.size);
    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        fl_slice again;
        memcpy(flipped, whole.data, whole.size);
        flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)decodes(fl_slice_of(flipped, whole.size), &again);
    }
}

/* `depth` predicates inside each other; the size is written ahead, so it is built from the inside:
 * PbPredicate { type, compound { function, children { … } } }. */
static fl_slice nested_predicates(size_t depth)
{
    const size_t room = depth * 24;
    uint8_t *bytes = fl_arena_alloc(&arena, room);
    uint8_t *at = bytes + room;
    for (size_t i = 0; i < depth; i++) {
        const uint8_t tags[] = {0x12, 0x1A}; /* children, compound */
        for (size_t k = 0; k < 2 && i != 0; k++) {
            uint8_t head[12] = {tags[k]};
            const size_t size = 1 + fl_varint_store(head + 1, (size_t)(bytes + room - at));
            at -= size;
            memcpy(at, head, size);
            *--at = 0; /* function or type */
            *--at = 0x08;
        }
        if (i == 0) {
            *--at = 0;
            *--at = 0x08;
        }
    }
    return fl_slice_of(at, (size_t)(bytes + room - at));
}

static void nesting_is_limited(void **state)
{
    (void)state;
    fl_msg_pb_predicate message;
    decode(&fl_msg_desc_pb_predicate, nested_predicates(FL_MSG_DEPTH_MAX / 2), &message);
    assert_refused(&fl_msg_desc_pb_predicate, nested_predicates(FL_MSG_DEPTH_MAX / 2 + 1),
                   "nested deeper than 32");
    assert_refused(&fl_msg_desc_pb_predicate, nested_predicates(DEPTH_BOMB),
                   "nested deeper than 32");
}

static void memory_for_arrays_is_bounded_by_the_frame(void **state)
{
    (void)state;
    size_t message_count;
    const fl_msg_desc *const *all = fl_msg_all(&message_count);
    for (size_t i = 0; i < message_count; i++) {
        for (size_t k = 0; k < all[i]->number_max; k++) {
            const fl_msg_field *field = &all[i]->fields[k];
            if (field->label < FL_FIELD_REPEATED) {
                continue;
            }
            const size_t wire_size = field->label == FL_FIELD_PACKED ? 1
                                     : field->kind == FL_FIELD_MESSAGE
                                         ? 2u + field->message->size_min
                                         : 2;
            assert_in_range(field->item_size, 1, wire_size * FL_MSG_GROWTH_MAX);
        }
    }
}

static void flood_of_empty_values_takes_bounded_memory(void **state)
{
    (void)state;
    uint8_t *flood = fl_arena_alloc(&arena, FLOOD_SIZE);
    for (size_t i = 0; i < FLOOD_SIZE; i += 2) {
        flood[i] = 0x0A;
    }
    const size_t before = arena.size_total;
    fl_msg_drop_acls_response message;
    decode(&fl_msg_desc_drop_acls_response, fl_slice_of(flood, FLOOD_SIZE), &message);
    assert_int_equal(message.filter_results_count, FLOOD_SIZE / 2);
    assert_in_range(arena.size_total - before, 1, (size_t)FLOOD_SIZE * FL_MSG_GROWTH_MAX);
}

static void each_failing_allocation_is_reported(void **state)
{
    (void)state;
    const fl_slice bytes = sample();
    uint64_t n = 1;
    for (;; n++) {
        fl_arena own;
        fl_arena_init(&own);
        fl_msg_produce_log_request message;
        fluss_error_t err = {0};
        fl_alloc_fail_at(n);
        const fluss_code_t rc = fl_msg_decode(produce, bytes, &own, &message, &err);
        fl_alloc_fail_at(0);
        fl_arena_deinit(&own);
        if (rc == 0) {
            break;
        }
        assert_int_equal(err.kind, FLUSS_KIND_NOMEM);
    }
    assert_true(n > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_of_value_is_read),
        TEST(empty_bytes_are_an_empty_message),
        TEST(bytes_fields_view_the_frame),
        TEST(packed_unpacked_and_mixed_values_are_read),
        TEST(repeated_field_in_pieces_keeps_its_order),
        TEST(unknown_fields_of_every_wire_type_are_skipped),
        TEST(unused_number_inside_a_message_is_skipped),
        TEST(last_of_several_single_values_wins),
        TEST(malformed_bytes_are_refused_with_the_fault_named),
        TEST(each_required_field_of_each_message_is_missed),
        TEST(cut_at_any_byte_is_an_error_or_a_shorter_message),
        TEST(flipped_bits_give_an_error_or_a_message),
        TEST(nesting_is_limited),
        TEST(memory_for_arrays_is_bounded_by_the_frame),
        TEST(flood_of_empty_values_takes_bounded_memory),
        TEST(each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
