/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: appends are dense, found again by offset and time across segments, repeated batches are
 * recognised, retention and deletion leave one unbroken range. Method: small segments and index
 * intervals, so that every path runs with little data. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "format/log_batch.h"
#include "log_fixture.h"

static const fl_log_store_opts SMALL = {.segment_size_max = 4096, .index_interval_size = 256};

typedef struct fixture {
    folder at;
    fl_log_store *store;
} fixture;

static int set_up(void **state)
{
    fixture *f = folder_state(sizeof(*f), "a/log-0");
    f->store = open_log(f->at.dir, &SMALL, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    fl_log_store_close(f->store);
    return folder_tear_down(state);
}

static void reopen(fixture *f, int64_t now_ms)
{
    fl_log_store_close(f->store);
    f->store = open_log(f->at.dir, &SMALL, now_ms);
}

static void a_new_log_is_empty(void **state)
{
    const fixture *f = *state;
    fl_frame *frame;
    assert_int_equal(fl_log_store_start_offset(f->store), 0);
    assert_int_equal(fl_log_store_end_offset(f->store), 0);
    assert_int_equal(fl_log_store_size(f->store), 0);
    assert_int_equal(fl_log_store_read(f->store, 0, 1024, true, &frame, NULL), 0);
    assert_int_equal(frame->size, 0);
    fl_frame_unref(frame);
}

static void offsets_follow_each_other_across_segments(void **state)
{
    fixture *f = *state;
    int64_t expected = 0;
    for (int32_t i = 0; i < 300; i++) {
        const int32_t count = 1 + i % 5;
        assert_int_equal(append_rows(f->store, count, 20 + (size_t)(i % 90), 1000 + i), expected);
        expected += count;
    }
    const log_content whole = read_log(f->store, 1 << 20);
    assert_int_equal(whole.batch_count, 300);
    assert_int_equal(whole.end_offset, expected);
    assert_true(has_file(f->at.dir, "00000000000000000000.index"));
    const size_t sizes[] = {1, 60, 100, 500, 3000};
    for (size_t i = 0; i < FL_COUNT_OF(sizes); i++) {
        assert_int_equal(read_log(f->store, sizes[i]).crc, whole.crc);
    }
    reopen(f, 5000);
    assert_int_equal(read_log(f->store, 700).crc, whole.crc);
}

static void a_read_starts_at_the_batch_that_contains_the_offset(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 200; i++) {
        (void)append_rows(f->store, 10, 50, 1000);
    }
    for (int64_t offset = 1999; offset >= 0; offset -= 7) {
        fl_frame *frame;
        assert_int_equal(fl_log_store_read(f->store, offset, 98 * 2, false, &frame, NULL), 0);
        assert_int_equal(fl_load_i64(frame->data), offset / 10 * 10);
        assert_true(frame->size == 98 || frame->size == 98 * 2);
        fl_frame_unref(frame);
    }
}

static void a_batch_larger_than_the_limit_comes_only_when_asked_for(void **state)
{
    const fixture *f = *state;
    (void)append_rows(f->store, 1, 3000, 1000);
    fl_frame *frame;
    assert_int_equal(fl_log_store_read(f->store, 0, 100, false, &frame, NULL), 0);
    assert_int_equal(frame->size, 0);
    fl_frame_unref(frame);
    assert_int_equal(fl_log_store_read(f->store, 0, 100, true, &frame, NULL), 0);
    assert_int_equal(frame->size, 3048);
    fl_frame_unref(frame);
    assert_int_equal(fl_log_store_read(f->store, 0, 0, true, &frame, NULL), 0);
    assert_int_equal(frame->size, 3048);
    fl_frame_unref(frame);
}

static void a_read_stops_at_the_high_watermark(void **state)
{
    const fixture *f = *state;
    for (int i = 0; i < 30; i++) {
        (void)append_rows(f->store, 10, 50, 1000);
    }
    for (int64_t end = 0; end <= 300; end += 5) {
        fl_frame *frame;
        assert_int_equal(fl_log_store_read_until(f->store, 0, end, 1 << 20, true, &frame, NULL), 0);
        assert_int_equal(frame->size, (size_t)(end / 10) * 98);
        fl_frame_unref(frame);
    }
}

static void an_offset_out_of_range_is_named_with_the_range(void **state)
{
    const fixture *f = *state;
    (void)append_rows(f->store, 3, 10, 1000);
    fl_frame *frame;
    fluss_error_t err;
    assert_int_equal(fl_log_store_read(f->store, 4, 100, true, &frame, &err),
                     FLUSS_E_LOG_OFFSET_OUT_OF_RANGE);
    assert_non_null(strstr(err.message, "offset 4 "));
    assert_non_null(strstr(err.message, "0 to 3"));
    assert_int_equal(fl_log_store_read(f->store, -1, 100, true, &frame, &err),
                     FLUSS_E_LOG_OFFSET_OUT_OF_RANGE);
}

static void times_lead_to_the_first_batch_not_older(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 500; i++) {
        (void)append_rows(f->store, 2, 30, 1000 + i / 3 * 10);
    }
    for (int round = 0; round < 2; round++) {
        for (int64_t time = 990; time < 1000 + 166 * 10 + 20; time += 5) {
            int64_t offset;
            assert_int_equal(fl_log_store_offset_for_time(f->store, time, &offset, NULL), 0);
            const int64_t step = time <= 1000 ? 0 : (time - 1000 + 9) / 10;
            assert_int_equal(offset, step * 3 < 500 ? step * 6 : 1000);
        }
        reopen(f, 9000);
    }
}

static void the_commit_timestamp_never_falls(void **state)
{
    fixture *f = *state;
    (void)append_rows(f->store, 1, 10, 5000);
    (void)append_rows(f->store, 1, 10, 4000);
    reopen(f, 3000);
    (void)append_rows(f->store, 1, 10, 3000);
    int64_t offset;
    assert_int_equal(fl_log_store_offset_for_time(f->store, 5000, &offset, NULL), 0);
    assert_int_equal(offset, 0);
    assert_int_equal(fl_log_store_offset_for_time(f->store, 5001, &offset, NULL), 0);
    assert_int_equal(offset, 3);
}

static void several_batches_in_one_append_share_a_timestamp(void **state)
{
    const fixture *f = *state;
    uint8_t bytes[1024];
    size_t size = make_batch(bytes, 3, 40, 1, 7, 0);
    size += make_batch(bytes + size, 4, 50, 2, 7, 1);
    size += make_batch(bytes + size, 5, 60, 3, 8, 0);
    fl_log_appended appended;
    assert_int_equal(fl_log_store_append(f->store, bytes, size, 77, &appended, NULL), 0);
    assert_int_equal(appended.base_offset, 0);
    assert_int_equal(appended.log_end_offset, 12);
    assert_int_equal(fl_log_store_size(f->store), size);
    fl_frame *frame;
    assert_int_equal(fl_log_store_read(f->store, 8, 4096, true, &frame, NULL), 0);
    assert_int_equal(fl_load_i64(frame->data), 7);
    assert_int_equal(fl_load_i64(frame->data + 13), 77);
    fl_frame_unref(frame);
    assert_int_equal(append_batch(f->store, 1, 1, 1, 7, 2, 78), 12);
}

static void an_append_without_batches_changes_nothing(void **state)
{
    const fixture *f = *state;
    uint8_t bytes[64] = {0};
    fl_log_appended appended;
    assert_int_equal(fl_log_store_append(f->store, bytes, 0, 1, &appended, NULL),
                     FLUSS_E_CORRUPT_RECORD);
    assert_int_equal(fl_log_store_end_offset(f->store), 0);
}

static void an_append_cut_off_anywhere_is_refused_and_nothing_is_written(void **state)
{
    const fixture *f = *state;
    uint8_t bytes[512];
    const size_t first = make_batch(bytes, 3, 40, 1, -1, -1);
    const size_t size = first + make_batch(bytes + first, 3, 40, 1, -1, -1);
    for (size_t cut = 1; cut < size; cut++) {
        fl_log_appended appended;
        const fluss_code_t wanted = cut == first ? 0 : FLUSS_E_CORRUPT_RECORD;
        assert_int_equal(fl_log_store_append(f->store, bytes, cut, 1, &appended, NULL), wanted);
        assert_int_equal(fl_log_store_size(f->store), cut < first ? 0 : first);
    }
}

static void a_damaged_batch_is_refused_and_nothing_is_written(void **state)
{
    const fixture *f = *state;
    uint8_t good[512], bad[512];
    size_t size = make_batch(good, 3, 40, 1, -1, -1);
    size += make_batch(good + size, 3, 40, 1, -1, -1);
    for (size_t at = 88; at < size; at++) {
        const bool is_stamped = at < 96 || (at >= 101 && at < 109);
        if (is_stamped) {
            continue;
        }
        memcpy(bad, good, size);
        bad[at] ^= 0x20;
        fl_log_appended appended;
        fluss_error_t err;
        assert_int_equal(fl_log_store_append(f->store, bad, size, 1, &appended, &err),
                         FLUSS_E_CORRUPT_RECORD);
        assert_non_null(strstr(err.message, "position 88"));
    }
    assert_int_equal(fl_log_store_end_offset(f->store), 0);
    assert_int_equal(fl_log_store_size(f->store), 0);
}

static void refuse_sequence(fl_log_store *store, int64_t writer_id, int32_t sequence)
{
    uint8_t bytes[128];
    const size_t size = make_batch(bytes, 1, 10, 0, writer_id, sequence);
    fl_log_appended appended;
    fluss_error_t err;
    const int64_t end = fl_log_store_end_offset(store);
    assert_int_equal(fl_log_store_append(store, bytes, size, 1000, &appended, &err),
                     FLUSS_E_OUT_OF_ORDER_SEQUENCE);
    assert_int_equal(fl_log_store_end_offset(store), end);
}

static void a_repeated_batch_returns_its_first_offset(void **state)
{
    fixture *f = *state;
    for (int32_t i = 0; i < 8; i++) {
        assert_int_equal(append_batch(f->store, 10, 20, 0, 42, i, 1000), i * 10);
    }
    for (int round = 0; round < 2; round++) {
        for (int32_t i = 3; i < 8; i++) {
            assert_int_equal(append_batch(f->store, 10, 20, 0, 42, i, 1000), i * 10);
        }
        assert_int_equal(fl_log_store_end_offset(f->store), 80);
        refuse_sequence(f->store, 42, 2); /* older than the last five */
        refuse_sequence(f->store, 42, 9);
        refuse_sequence(f->store, 43, 1);
        reopen(f, 1000);
    }
    assert_int_equal(append_batch(f->store, 10, 20, 0, 42, 8, 1000), 80);
}

static void a_writer_that_expired_starts_again_with_zero(void **state)
{
    fixture *f = *state;
    assert_int_equal(append_batch(f->store, 1, 1, 0, 42, 0, 1000), 0);
    assert_int_equal(append_batch(f->store, 1, 1, 0, 42, 1, 1000), 1);
    const int64_t later = 1000 + 7LL * DAY_MS + 1;
    assert_int_equal(append_batch(f->store, 1, 1, 0, 42, 0, later), 2);
    size_t removed;
    assert_int_equal(fl_log_store_expire(f->store, later * 3, -1, INT64_MAX, &removed, NULL), 0);
    refuse_sequence(f->store, 42, 1);
}

static void expiry_removes_whole_old_segments_only(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 200; i++) {
        (void)append_rows(f->store, 1, 100, 1000 + i * 10);
    }
    const uint64_t size = fl_log_store_size(f->store);
    size_t removed;
    assert_int_equal(fl_log_store_expire(f->store, 100000, -1, INT64_MAX, &removed, NULL), 0);
    assert_int_equal(removed, 0);
    assert_int_equal(fl_log_store_expire(f->store, 2000, 500, INT64_MAX, &removed, NULL), 0);
    assert_int_equal(removed, 1); /* batches of 148 bytes, 27 a segment: 1000..1260, 1270..1530 */
    assert_int_equal(fl_log_store_start_offset(f->store), 27);
    assert_true(fl_log_store_size(f->store) < size);
    assert_false(has_file(f->at.dir, "00000000000000000000.log"));
    assert_false(has_file(f->at.dir, "00000000000000000000.index"));
    bool may_expire;
    assert_int_equal(fl_log_store_may_expire(f->store, 2000, 500, &may_expire, NULL), 0);
    assert_false(may_expire);
    assert_int_equal(fl_log_store_may_expire(f->store, 1 << 30, 0, &may_expire, NULL), 0);
    assert_true(may_expire);
    assert_int_equal(fl_log_store_expire(f->store, 1 << 30, 0, 53, &removed, NULL), 0);
    assert_int_equal(removed, 0); /* it ends at 54 */
    assert_int_equal(fl_log_store_expire(f->store, 1 << 30, 0, 54, &removed, NULL), 0);
    assert_int_equal(removed, 1);
    assert_int_equal(fl_log_store_expire(f->store, 1 << 30, 0, INT64_MAX, &removed, NULL), 0);
    assert_int_equal(removed, 5); /* never the newest */
    reopen(f, 1 << 30);
    const log_content content = read_log(f->store, 1000);
    assert_int_equal(content.start_offset, 189);
    assert_int_equal(content.end_offset, 200);
    fl_frame *frame;
    assert_int_equal(fl_log_store_read(f->store, 188, 100, true, &frame, NULL),
                     FLUSS_E_LOG_OFFSET_OUT_OF_RANGE);
}

static void the_newest_segment_expires_when_it_is_rolled(void **state)
{
    fixture *f = *state;
    size_t removed;
    (void)append_rows(f->store, 10, 100, 1000);
    assert_int_equal(fl_log_store_roll_expired(f->store, 1400, 500, NULL), 0); /* young */
    assert_int_equal(fl_log_store_roll_expired(f->store, 1 << 30, -1, NULL), 0);
    assert_int_equal(fl_log_store_expire(f->store, 2000, 500, INT64_MAX, &removed, NULL), 0);
    assert_int_equal(removed, 0);
    for (int i = 0; i < 2; i++) { /* what is empty is not rolled */
        assert_int_equal(fl_log_store_roll_expired(f->store, 2000, 500, NULL), 0);
        assert_int_equal(fl_log_store_expire(f->store, 2000, 500, INT64_MAX, &removed, NULL), 0);
        assert_int_equal(removed, i == 0);
    }
    reopen(f, 1 << 30);
    assert_int_equal(fl_log_store_start_offset(f->store), 10);
    assert_int_equal(append_rows(f->store, 1, 100, 3000), 10);
}

static void files_tell_whether_a_closed_log_may_expire(void **state)
{
    const fixture *f = *state;
    const int64_t now_ms = (int64_t)time(NULL) * 1000, hour_ms = 3600 * 1000;
    (void)append_rows(f->store, 1, 100, 1000);
    assert_false(fl_log_dir_may_expire(f->at.dir, now_ms + hour_ms, 1000, false)); /* one segment */
    assert_true(fl_log_dir_may_expire(f->at.dir, now_ms + hour_ms, 1000, true));
    for (int i = 0; i < 50; i++) {
        (void)append_rows(f->store, 1, 100, 1000);
    }
    assert_true(fl_log_dir_may_expire(f->at.dir, now_ms + hour_ms, 1000, false));
    assert_false(fl_log_dir_may_expire(f->at.dir, now_ms, hour_ms, true));
    assert_false(fl_log_dir_may_expire(f->at.dir, now_ms + hour_ms, -1, true));
    assert_false(fl_log_dir_may_expire("/no/such/directory", now_ms, 0, true));
}

static void a_deleted_log_leaves_no_directory(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 50; i++) {
        (void)append_rows(f->store, 1, 100, 1000);
    }
    assert_int_equal(fl_log_store_delete(f->store, NULL), 0);
    assert_false(has_file(f->at.dir, "."));
    assert_int_equal(fl_log_store_delete(NULL, NULL), 0);
    f->store = open_log(f->at.dir, &SMALL, 0);
    assert_int_equal(fl_log_store_end_offset(f->store), 0);
}

static void a_ticket_moves_the_durable_offset_to_where_it_began(void **state)
{
    const fixture *f = *state;
    (void)append_rows(f->store, 5, 10, 1);
    assert_int_equal(fl_log_store_durable_offset(f->store), 0);
    fl_log_sync *sync;
    assert_int_equal(fl_log_sync_begin(f->store, &sync, NULL), 0);
    (void)append_rows(f->store, 5, 10, 1);
    fl_log_sync_run(sync);
    assert_int_equal(fl_log_sync_end(f->store, sync, NULL), 0);
    assert_int_equal(fl_log_store_durable_offset(f->store), 5);
    sync_log(f->store);
    assert_int_equal(fl_log_store_durable_offset(f->store), 10);
    sync_log(f->store); /* nothing to do */
}

static void a_ticket_outlives_the_end_of_its_segment(void **state)
{
    const fixture *f = *state;
    (void)append_rows(f->store, 5, 10, 1);
    fl_log_sync *sync;
    assert_int_equal(fl_log_sync_begin(f->store, &sync, NULL), 0);
    for (int i = 0; i < 100; i++) {
        (void)append_rows(f->store, 5, 100, 1);
    }
    size_t removed;
    assert_int_equal(fl_log_store_expire(f->store, 1 << 30, 0, INT64_MAX, &removed, NULL), 0);
    assert_int_equal(removed, 0);
    fl_log_sync_run(sync);
    assert_int_equal(fl_log_sync_end(f->store, sync, NULL), 0);
    const int64_t sealed = fl_log_store_durable_offset(f->store);
    assert_true(sealed > 5 && sealed < 505);
    sync_log(f->store);
    assert_int_equal(fl_log_store_durable_offset(f->store), 505);
}

static void four_thousand_logs_share_few_descriptors(void **state)
{
    const fixture *f = *state;
    enum { COUNT = 4000, OPEN_MAX = 100 };
    fl_log_store_opts opts = SMALL;
    opts.files = fl_file_cache_new(OPEN_MAX);
    assert_non_null(opts.files);
    fl_log_store **stores = calloc(COUNT, sizeof(*stores));
    assert_non_null(stores);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            char dir[128];
            (void)snprintf(dir, sizeof(dir), "%s/many/log-%d", f->at.root, i);
            stores[i] = open_log(dir, &opts, 0);
            assert_int_equal(append_rows(stores[i], 1, 10, 1), round);
        }
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(read_log(stores[i], 1000).batch_count, round + 1);
            assert_true(fl_file_cache_open_count(opts.files) <= OPEN_MAX);
        }
        for (int i = 0; i < COUNT; i++) {
            fl_log_store_close(stores[i]);
        }
    }
    assert_int_equal(fl_file_cache_open_count(opts.files), 0);
    fl_file_cache_free(opts.files);
    free(stores);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_log_is_empty),
        TEST(offsets_follow_each_other_across_segments),
        TEST(a_read_starts_at_the_batch_that_contains_the_offset),
        TEST(a_batch_larger_than_the_limit_comes_only_when_asked_for),
        TEST(a_read_stops_at_the_high_watermark),
        TEST(an_offset_out_of_range_is_named_with_the_range),
        TEST(times_lead_to_the_first_batch_not_older),
        TEST(the_commit_timestamp_never_falls),
        TEST(several_batches_in_one_append_share_a_timestamp),
        TEST(an_append_without_batches_changes_nothing),
        TEST(an_append_cut_off_anywhere_is_refused_and_nothing_is_written),
        TEST(a_damaged_batch_is_refused_and_nothing_is_written),
        TEST(a_repeated_batch_returns_its_first_offset),
        TEST(a_writer_that_expired_starts_again_with_zero),
        TEST(expiry_removes_whole_old_segments_only),
        TEST(the_newest_segment_expires_when_it_is_rolled),
        TEST(files_tell_whether_a_closed_log_may_expire),
        TEST(a_deleted_log_leaves_no_directory),
        TEST(a_ticket_moves_the_durable_offset_to_where_it_began),
        TEST(a_ticket_outlives_the_end_of_its_segment),
        TEST(four_thousand_logs_share_few_descriptors),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
