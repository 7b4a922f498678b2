/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: the rules of batch sequences, the bound on writers, and their JSON form. Method: the map by
 * itself; the text of the official server as input, every cut and flip of our own. */
#include <stdlib.h>

#include "base/alloc.h"
#include "log_fixture.h"
#include "storage/log_writers.h"

static void record(fl_writers *writers, int64_t id, int32_t sequence, int64_t timestamp_ms)
{
    assert_int_equal(fl_writers_reserve(writers, 1, timestamp_ms, INT32_MAX, NULL), 0);
    fl_writers_record(writers, id,
                      &(fl_writer_batch){.sequence = sequence,
                                         .offset_delta = 2,
                                         .last_offset = 100 + sequence % 100,
                                         .timestamp_ms = timestamp_ms});
}

static fl_write_order order(const fl_writers *writers, int64_t id, int32_t sequence)
{
    const fl_writer_batch *batch = NULL;
    return fl_writer_order(fl_writers_find(writers, id), sequence, &batch);
}

static void zero_follows_the_largest_sequence(void **state)
{
    (void)state;
    fl_writers writers;
    fl_writers_init(&writers);
    assert_int_equal(order(&writers, 1, 0), FL_WRITE_NEXT);
    assert_int_equal(order(&writers, 1, 1), FL_WRITE_GAP);
    record(&writers, 1, INT32_MAX - 1, 1);
    assert_int_equal(order(&writers, 1, 0), FL_WRITE_GAP);
    record(&writers, 1, INT32_MAX, 1);
    assert_int_equal(order(&writers, 1, 0), FL_WRITE_NEXT);
    assert_int_equal(order(&writers, 1, 1), FL_WRITE_GAP);
    assert_int_equal(order(&writers, 1, -1), FL_WRITE_GAP);
    assert_int_equal(order(&writers, 1, INT32_MIN), FL_WRITE_GAP);
    record(&writers, 1, 0, 1);
    assert_int_equal(order(&writers, 1, INT32_MAX), FL_WRITE_DUPLICATE);
    assert_int_equal(order(&writers, 1, 1), FL_WRITE_NEXT);
    fl_writers_deinit(&writers);
}

static void many_writers_push_out_the_oldest(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    fl_writers writers;
    fl_writers_init(&writers);
    for (int64_t id = 0; id < COUNT; id++) {
        record(&writers, id, 0, id / 7);
    }
    assert_in_range(writers.count, 40000, 65536);
    assert_null(fl_writers_find(&writers, 0));
    assert_non_null(fl_writers_find(&writers, COUNT - 1));
    fl_writers_expire(&writers, COUNT / 7 + 10, 20);
    assert_in_range(writers.count, 1, 200);
    assert_non_null(fl_writers_find(&writers, COUNT - 1));
    fl_writers_deinit(&writers);
}

static void json_keeps_all_batches_and_no_damage_crashes(void **state)
{
    (void)state;
    fl_writers writers, read;
    fl_writers_init(&writers);
    fl_writers_init(&read);
    for (int32_t i = 0; i < 9; i++) {
        record(&writers, 5, i, 1000 + i);
        record(&writers, INT64_MAX, i, 2000 + i);
    }
    fl_buf json;
    fl_buf_init(&json, 1 << 20);
    assert_int_equal(fl_writers_to_json(&writers, &json, NULL), 0);
    assert_int_equal(fl_writers_from_json(&read, fl_buf_slice(&json), NULL), 0);
    assert_int_equal(read.count, 2);
    assert_memory_equal(fl_writers_find(&read, 5)->batches, fl_writers_find(&writers, 5)->batches,
                        sizeof(read.items[0].batches));
    for (size_t at = 0; at < json.size; at++) {
        fl_writers_reset(&read);
        assert_int_equal(fl_writers_from_json(&read, fl_slice_of(json.data, at), NULL),
                         FLUSS_E_CORRUPT_RECORD);
        json.data[at] ^= 0x15;
        fl_writers_reset(&read);
        const fluss_code_t rc = fl_writers_from_json(&read, fl_buf_slice(&json), NULL);
        assert_true(rc == 0 || rc == FLUSS_E_CORRUPT_RECORD);
        json.data[at] ^= 0x15;
    }
    fl_buf_deinit(&json);
    fl_writers_deinit(&writers);
    fl_writers_deinit(&read);
}

static void a_snapshot_of_the_official_server_is_read(void **state)
{
    (void)state;
    const char text[] = "{\"version\":1,\"writer_id_entries\":[{\"writer_id\":3,"
                        "\"last_batch_sequence\":51,\"last_batch_base_offset\":519,"
                        "\"offset_delta\":9,\"last_batch_timestamp\":1795973515735}]}";
    fl_writers writers;
    fl_writers_init(&writers);
    assert_int_equal(fl_writers_from_json(&writers, fl_slice_str(text), NULL), 0);
    assert_int_equal(order(&writers, 3, 51), FL_WRITE_DUPLICATE);
    assert_int_equal(order(&writers, 3, 52), FL_WRITE_NEXT);
    assert_int_equal(fl_writers_find(&writers, 3)->batches[0].last_offset, 519);
    fl_writers_deinit(&writers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_follows_the_largest_sequence),
        cmocka_unit_test(many_writers_push_out_the_oldest),
        cmocka_unit_test(json_keeps_all_batches_and_no_damage_crashes),
        cmocka_unit_test(a_snapshot_of_the_official_server_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
