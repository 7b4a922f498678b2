/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: headers of log batches are read and written as the official peers do, and no bytes are
 * taken that break the format. Method: the worked examples in batch_vectors.h, taken
 * apart and built anew; every cut and every flipped bit of them. */
#include "arrow_support.h"
#include "base/crc32c.h"
#include "batch_vectors.h"

typedef struct vector {
    const char *hex;
    bool is_arrow, is_append_only;
    uint8_t magic;
    int32_t batch_sequence, record_count;
    size_t size, statistics_size, change_types_size, payload_size;
} vector;

static const vector vectors[] = {
    {BATCH_V0, true, true, 0, 0, 3, 304, 0, 0, 256},
    {BATCH_V1, true, true, 1, 1, 3, 379, 71, 0, 256},
    {BATCH_CHANGELOG, true, false, 0, 2, 3, 307, 0, 3, 256},
    {BATCH_EMPTY, true, false, 0, 4, 0, 48, 0, 0, 0},
    {BATCH_EMPTY, false, false, 0, 4, 0, 48, 0, 0, 0},
    {BATCH_INDEXED, false, false, 0, 3, 2, 97, 0, 0, 49},
    {BATCH_COMPACTED, false, true, 0, 3, 1, 62, 0, 0, 14},
};

static void headers_of_the_examples_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT_OF(vectors); i++) {
        const vector *v = &vectors[i];
        const fl_slice bytes = from_hex(v->hex);
        size_t size;
        OK(fl_log_batch_size(bytes, &size, &error));
        assert_int_equal(size, v->size);
        assert_int_equal(bytes.size, v->size);
        fl_log_batch batch;
        OK(fl_log_batch_open(bytes, v->is_arrow, &batch, &error));
        OK(fl_log_batch_check_crc(&batch, &error));
        assert_int_equal(batch.magic, v->magic);
        assert_int_equal(batch.is_append_only, v->is_append_only);
        assert_int_equal(batch.schema_id, 1);
        assert_int_equal(batch.writer_id, 7);
        assert_int_equal(batch.batch_sequence, v->batch_sequence);
        assert_int_equal(batch.record_count, v->record_count);
        assert_int_equal(batch.statistics.size, v->statistics_size);
        assert_int_equal(batch.change_types.size, v->change_types_size);
        assert_int_equal(batch.payload.size, v->payload_size);
        const int64_t next = v->record_count == 0 ? 1 : v->record_count;
        assert_int_equal(fl_log_batch_next_offset(&batch), next);
        free_bytes(bytes);
    }
}

static void headers_are_written_byte_for_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT_OF(vectors); i++) {
        const vector *v = &vectors[i];
        const fl_slice wanted = from_hex(v->hex);
        uint8_t *bytes = fl_alloc(wanted.size);
        const size_t header_size = fl_log_batch_header_size(v->magic, v->statistics_size);
        memset(bytes, 0xAA, header_size);
        memcpy(bytes + header_size, wanted.data + header_size, wanted.size - header_size);
        const fl_log_batch_spec spec = {
            .magic = v->magic,
            .is_append_only = v->is_append_only,
            .schema_id = 1,
            .record_count = v->record_count,
            .writer_id = 7,
            .batch_sequence = v->batch_sequence,
            .statistics =
                fl_slice_sub(wanted, header_size - v->statistics_size, v->statistics_size)};
        fl_log_batch_finish(bytes, wanted.size, &spec);
        assert_memory_equal(bytes, wanted.data, wanted.size);
        fl_free(bytes);
        free_bytes(wanted);
    }
}

static void version_2_has_a_leader_epoch_outside_the_crc(void **state)
{
    (void)state;
    uint8_t bytes[56 + 2 + 4];
    memcpy(bytes + 58, "data", 4);
    const fl_log_batch_spec spec = {.magic = 2,
                                    .is_append_only = true,
                                    .schema_id = 12,
                                    .record_count = 5,
                                    .writer_id = FL_NO_WRITER_ID,
                                    .batch_sequence = FL_NO_SEQUENCE,
                                    .statistics = fl_slice_str("st")};
    fl_log_batch_finish(bytes, sizeof(bytes), &spec);
    assert_int_equal(fl_load_i32(bytes + 21), -1);
    assert_int_equal(fl_load_u32(bytes + 25),
                     fl_crc32c(fl_slice_of(bytes + 29, sizeof(bytes) - 29)));
    fl_store_i32(bytes + 21, 77);
    fl_log_batch_stamp(bytes, 1000, 1700000000123);
    fl_log_batch batch;
    OK(fl_log_batch_open(fl_slice_of(bytes, sizeof(bytes)), true, &batch, &error));
    OK(fl_log_batch_check_crc(&batch, &error));
    assert_int_equal(batch.base_offset, 1000);
    assert_int_equal(batch.commit_timestamp_ms, 1700000000123);
    assert_int_equal(batch.schema_id, 12);
    assert_int_equal(batch.writer_id, -1);
    assert_int_equal(batch.batch_sequence, -1);
    assert_int_equal(fl_log_batch_next_offset(&batch), 1005);
    assert_true(fl_slice_equal_str(batch.statistics, "st"));
    assert_true(fl_slice_equal_str(batch.payload, "data"));
}

static void writer_and_sequence_can_be_set_later(void **state)
{
    (void)state;
    const fl_slice bytes = from_hex(BATCH_V1);
    uint8_t *copy = (uint8_t *)(uintptr_t)bytes.data;
    fl_log_batch_set_writer(copy, bytes.size, 1234567890123, 42);
    fl_log_batch batch;
    OK(fl_log_batch_open(bytes, true, &batch, &error));
    OK(fl_log_batch_check_crc(&batch, &error));
    assert_int_equal(batch.writer_id, 1234567890123);
    assert_int_equal(batch.batch_sequence, 42);
    free_bytes(bytes);
}

static void a_part_of_a_batch_is_incomplete(void **state)
{
    (void)state;
    const fl_slice bytes = from_hex(BATCH_V1);
    for (size_t size = 0; size < bytes.size; size++) {
        size_t found = 99;
        uint8_t *cut = fl_alloc(size); /* own memory: a read behind it is caught */
        memcpy(cut, bytes.data, size);
        OK(fl_log_batch_size(fl_slice_of(cut, size), &found, &error));
        assert_int_equal(found, 0);
        fl_log_batch batch;
        assert_int_equal(fl_log_batch_open(fl_slice_of(cut, size), true, &batch, &error),
                         FLUSS_E_CORRUPT_RECORD);
        assert_int_equal(error.kind, FLUSS_KIND_CORRUPT);
        fl_free(cut);
    }
    free_bytes(bytes);
}

static void every_flipped_bit_behind_the_crc_is_caught(void **state)
{
    (void)state;
    static const char *const batches[] = {BATCH_V0, BATCH_V1, BATCH_CHANGELOG, BATCH_EMPTY};
    for (size_t i = 0; i < FL_COUNT_OF(batches); i++) {
        const fl_slice bytes = from_hex(batches[i]);
        uint8_t *copy = (uint8_t *)(uintptr_t)bytes.data;
        for (size_t at = 21; at < bytes.size; at++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                copy[at] = (uint8_t)(copy[at] ^ 1u << bit);
                fl_log_batch batch;
                if (fl_log_batch_open(bytes, true, &batch, &error) == 0) {
                    assert_int_equal(fl_log_batch_check_crc(&batch, &error),
                                     FLUSS_E_CORRUPT_RECORD);
                }
                copy[at] = (uint8_t)(copy[at] ^ 1u << bit);
            }
        }
        free_bytes(bytes);
    }
}

/* One field of BATCH_V1 broken. */
static void forged_fields_are_refused_with_numbers(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        int32_t value;
        const char *message;
    } cases[] = {
        {8, -1, "length at position 8 is -1"},
        {8, 39, "length at position 8 is 39"},
        {8, 366, ""},
        {28, -5, "last offset delta is -5"},
        {44, -1, "record count is -1"},
        {44, 0, "payload size without records"},
        {48, -71, "statistics length is -71"},
        {48, 328, "statistics length is 328"},
        {48, INT32_MAX, "statistics length is 2147483647"},
        {4, -1, "base offset"},
        {4, INT32_MAX, "base offset"},
    };
    for (size_t i = 0; i < FL_COUNT_OF(cases); i++) {
        const fl_slice bytes = from_hex(BATCH_V1);
        uint8_t *copy = (uint8_t *)(uintptr_t)bytes.data;
        fl_store_i32(copy + cases[i].at, cases[i].value);
        if (cases[i].at == 4) {
            memset(copy, 0xff, 4);
        }
        fl_log_batch batch;
        const fluss_code_t rc = fl_log_batch_open(bytes, true, &batch, &error);
        if (cases[i].value == 366) {
            OK(rc); /* shorter, but still a batch: the CRC tells */
            assert_int_equal(fl_log_batch_check_crc(&batch, &error), FLUSS_E_CORRUPT_RECORD);
        } else {
            assert_int_equal(rc, FLUSS_E_CORRUPT_RECORD);
            assert_non_null(strstr(error.message, cases[i].message));
        }
        free_bytes(bytes);
    }
}

static void unknown_magic_and_change_types_are_refused(void **state)
{
    (void)state;
    fl_slice bytes = from_hex(BATCH_CHANGELOG);
    uint8_t *copy = (uint8_t *)(uintptr_t)bytes.data;
    fl_log_batch batch;
    copy[50] = 5;
    assert_int_equal(fl_log_batch_open(bytes, true, &batch, &error), FLUSS_E_CORRUPT_RECORD);
    assert_non_null(strstr(error.message, "change type is 5"));
    copy[50] = 4;
    fl_store_i32(copy + 44, 260); /* more records than bytes */
    assert_int_equal(fl_log_batch_open(bytes, true, &batch, &error), FLUSS_E_CORRUPT_RECORD);
    fl_store_i32(copy + 44, 259); /* no room for a payload */
    memset(copy + 48, 1, bytes.size - 48);
    assert_int_equal(fl_log_batch_open(bytes, true, &batch, &error), FLUSS_E_CORRUPT_RECORD);
    copy[12] = 3;
    size_t size;
    assert_int_equal(fl_log_batch_size(bytes, &size, &error), FLUSS_E_CORRUPT_RECORD);
    assert_non_null(strstr(error.message, "magic at position 12 is 3"));
    free_bytes(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_the_examples_are_read),
        cmocka_unit_test(headers_are_written_byte_for_byte),
        cmocka_unit_test(version_2_has_a_leader_epoch_outside_the_crc),
        cmocka_unit_test(writer_and_sequence_can_be_set_later),
        cmocka_unit_test(a_part_of_a_batch_is_incomplete),
        cmocka_unit_test(every_flipped_bit_behind_the_crc_is_caught),
        cmocka_unit_test(forged_fields_are_refused_with_numbers),
        cmocka_unit_test(unknown_magic_and_change_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
