/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: whatever a crash leaves of the newest segment, and whatever happens to files that can be
 * made anew, the log opens to exactly its good prefix, with the writers as of there. Method: write
 * a log, leave it without a clean close (a copy of its files), damage the copy, open it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "format/log_batch.h"
#include "log_fixture.h"

static const fl_log_store_opts SMALL = {.segment_size_max = 4096, .index_interval_size = 256};
static const char CHECKPOINT[] = "recovery.checkpoint";

typedef struct fixture {
    folder at;
    char copy[96];
    int copies;
} fixture;

static int set_up(void **state)
{
    fixture *f = folder_state(sizeof(*f), "log");
    *state = f;
    return 0;
}

/** Copy the log as a crash at this moment would leave it. */
static void crash(fixture *f)
{
    if (f->copies > 0) {
        remove_tree(f->copy);
    }
    (void)snprintf(f->copy, sizeof(f->copy), "%s/copy-%d", f->at.root, f->copies++);
    copy_files(f->at.dir, f->copy);
}

/** Write batches of writer 42, sequences 0.., ten records each; no clean close. */
static void write_log(fixture *f, int32_t count, size_t payload_size, log_content *content)
{
    fl_log_store *store = open_log(f->at.dir, &SMALL, 0);
    for (int32_t i = 0; i < count; i++) {
        (void)append_batch(store, 10, payload_size, (uint8_t)i, 42, i, 1000 + i);
    }
    *content = read_log(store, 1 << 20);
    crash(f);
    fl_log_store_close(store);
}

/** Open the copy: it holds `count` batches, and writer 42 goes on from there. */
static void expect_batches(const fixture *f, int32_t count)
{
    fl_log_store *store = open_log(f->copy, &SMALL, 2000);
    assert_int_equal(fl_log_store_end_offset(store), count * 10);
    assert_int_equal(fl_log_store_durable_offset(store), count * 10);
    assert_int_equal(read_log(store, 500).batch_count, count);
    if (count > 0) {
        assert_int_equal(append_batch(store, 10, 1, 0, 42, count - 1, 2000), (count - 1) * 10);
    }
    assert_int_equal(append_batch(store, 10, 1, 0, 42, count, 2000), count * 10);
    fl_log_store_close(store);
}

static void an_unclean_stop_loses_nothing(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 100, 80, &content);
    assert_false(has_file(f->copy, CHECKPOINT));
    fl_log_store *store = open_log(f->copy, &SMALL, 2000);
    assert_int_equal(read_log(store, 1000).crc, content.crc);
    fl_log_store_close(store);
    store = open_log(f->copy, &SMALL, 2000);
    assert_int_equal(read_log(store, 1000).crc, content.crc);
    fl_log_store_close(store);
}

static void a_cut_at_every_byte_of_the_tail_leaves_the_good_prefix(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 3, 40, &content);
    size_t size;
    uint8_t *data = load_file(f->copy, "00000000000000000000.log", &size);
    assert_int_equal(size, 3 * 88);
    for (size_t cut = 0; cut < size; cut++) {
        store_file(f->copy, "00000000000000000000.log", data, cut);
        expect_batches(f, (int32_t)(cut / 88));
        crash(f);
    }
    free(data);
}

static void a_flipped_byte_in_the_tail_leaves_the_good_prefix(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 4, 40, &content);
    size_t size;
    uint8_t *data = load_file(f->copy, "00000000000000000000.log", &size);
    for (size_t at = 3 * 88; at < size; at++) {
        const bool is_time = at - 3 * 88 >= 13 && at - 3 * 88 < 21; /* outside the checksum */
        if (is_time) {
            continue;
        }
        data[at] ^= (uint8_t)(1U << at % 8);
        store_file(f->copy, "00000000000000000000.log", data, size);
        data[at] ^= (uint8_t)(1U << at % 8);
        expect_batches(f, 3);
        crash(f);
    }
    free(data);
}

static void zeros_or_noise_after_the_end_are_cut_off(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 5, 40, &content);
    size_t size;
    uint8_t *data = load_file(f->copy, "00000000000000000000.log", &size);
    uint8_t *longer = calloc(1, size + 5000);
    assert_non_null(longer);
    memcpy(longer, data, size);
    for (int round = 0; round < 2; round++) {
        store_file(f->copy, "00000000000000000000.log", longer, size + 5000);
        expect_batches(f, 5);
        crash(f);
        memset(longer + size, 0xA5, 5000);
    }
    free(data);
    free(longer);
}

static void a_stale_batch_after_the_end_is_not_taken_for_a_new_one(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 5, 40, &content);
    size_t size;
    uint8_t *data = load_file(f->copy, "00000000000000000000.log", &size);
    uint8_t twice[6 * 88];
    memcpy(twice, data, 5 * 88);
    memcpy(twice + 5 * 88, data + 2 * 88, 88); /* valid, but its offset was used */
    store_file(f->copy, "00000000000000000000.log", twice, sizeof(twice));
    expect_batches(f, 5);
    free(data);
}

static const char *const INDEX_NAMES[] = {"00000000000000000000.index",
                                          "00000000000000000000.timeindex"};

/** Segments of 4096 bytes hold 31 batches of 128 and a bit; 5 of them are sealed. */
static void check_with_indexes(const fixture *f, const log_content *content)
{
    fl_log_store *store = open_log(f->copy, &SMALL, 2000);
    assert_int_equal(read_log(store, 300).crc, content->crc);
    for (int64_t offset = 0; offset < content->end_offset; offset += 13) {
        fl_frame *frame;
        assert_int_equal(fl_log_store_read(store, offset, 100, true, &frame, NULL), 0);
        assert_int_equal(fl_load_i64(frame->data), offset / 10 * 10);
        fl_frame_unref(frame);
        int64_t found;
        assert_int_equal(fl_log_store_offset_for_time(store, 1000 + offset / 10, &found, NULL), 0);
        assert_int_equal(found, offset / 10 * 10);
    }
    fl_log_store_close(store);
}

static void missing_or_broken_indexes_are_made_anew(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 170, 80, &content);
    for (size_t i = 0; i < 2; i++) {
        for (int damage = 0; damage < 5; damage++) {
            crash(f);
            size_t size;
            uint8_t *data = load_file(f->copy, INDEX_NAMES[i], &size);
            assert_true(size > 24);
            switch (damage) {
            case 0:
                delete_file(f->copy, INDEX_NAMES[i]);
                break;
            case 1:
                store_file(f->copy, INDEX_NAMES[i], data, size - 3);
                break;
            case 2:
                store_file(f->copy, INDEX_NAMES[i], data, 0);
                break;
            case 3:
                memset(data, 0xFF, size);
                store_file(f->copy, INDEX_NAMES[i], data, size);
                break;
            default:
                memset(data, 0, size);
                store_file(f->copy, INDEX_NAMES[i], data, size);
                break;
            }
            free(data);
            check_with_indexes(f, &content);
        }
    }
}

static void the_end_of_the_log_moves_back_when_the_tail_is_lost(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 10, 40, &content);
    fl_log_store *store = open_log(f->at.dir, &SMALL, 2000); /* closed cleanly: a checkpoint */
    fl_log_store_close(store);
    assert_true(has_file(f->at.dir, CHECKPOINT));
    crash(f);
    size_t size;
    uint8_t *data = load_file(f->copy, "00000000000000000000.log", &size);
    store_file(f->copy, "00000000000000000000.log", data, size - 1); /* shorter than it says */
    expect_batches(f, 9);
    free(data);
}

static void a_clean_close_spares_the_scan(void **state)
{
    fixture *f = *state;
    fl_log_store *store = open_log(f->at.dir, &SMALL, 0);
    for (int32_t i = 0; i < 200; i++) {
        (void)append_batch(store, 10, 100, (uint8_t)i, 42, i, 1000 + i);
    }
    const log_content content = read_log(store, 1 << 20);
    fl_log_store_close(store);
    fl_log_store_opts opts = SMALL;
    opts.files = fl_file_cache_new(64);
    fl_file_cache_fail_at(opts.files, FL_FILE_OP_READ, 0, 0, false);
    store = open_log(f->at.dir, &opts, 2000);
    /* checkpoint, tail, snapshot, last time entry; last entries of the sealed segments' indexes */
    assert_true(fl_file_cache_op_count(opts.files) < 30);
    assert_int_equal(read_log(store, 1000).crc, content.crc);
    assert_int_equal(append_batch(store, 10, 1, 0, 42, 198, 2000), 1980);
    fl_log_store_close(store);
    fl_file_cache_free(opts.files);
}

static void the_checkpoint_stays_true_when_the_log_goes_on(void **state)
{
    fixture *f = *state;
    fl_log_store *store = open_log(f->at.dir, &SMALL, 0);
    for (int32_t i = 0; i < 12; i++) {
        (void)append_batch(store, 10, 100, (uint8_t)i, 42, i, 1000 + i);
    }
    fl_log_store_close(store);
    store = open_log(f->at.dir, &SMALL, 2000);
    for (int32_t i = 12; i < 20; i++) {
        (void)append_batch(store, 10, 100, (uint8_t)i, 42, i, 1000 + i);
    }
    crash(f);
    fl_log_store_close(store);
    expect_batches(f, 20);
}

static void a_damaged_checkpoint_or_snapshot_costs_only_time(void **state)
{
    fixture *f = *state;
    fl_log_store *store = open_log(f->at.dir, &SMALL, 0);
    for (int32_t i = 0; i < 90; i++) {
        (void)append_batch(store, 10, 100, (uint8_t)i, 42, i, 1000 + i);
    }
    fl_log_store_close(store);
    const char *const names[] = {CHECKPOINT, "00000000000000000900.writer_snapshot",
                                 "00000000000000000810.writer_snapshot"};
    for (size_t i = 0; i < FL_COUNT_OF(names); i++) {
        crash(f);
        size_t size;
        uint8_t *data = load_file(f->copy, names[i], &size);
        data[size / 2] ^= 0x81;
        store_file(f->copy, names[i], data, size);
        free(data);
        expect_batches(f, 90);
        crash(f);
        delete_file(f->copy, names[i]);
        expect_batches(f, 90);
    }
    crash(f);
    for (size_t i = 0; i < FL_COUNT_OF(names); i++) {
        delete_file(f->copy, names[i]);
    }
    expect_batches(f, 90);
}

static void a_broken_sealed_segment_is_reported(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 100, 80, &content);
    size_t size;
    uint8_t *data = load_file(f->copy, "00000000000000000000.log", &size);
    store_file(f->copy, "00000000000000000000.log", data, size - 128);
    free(data);
    fl_log_store *store;
    fluss_error_t err;
    assert_int_equal(fl_log_store_open(f->copy, &SMALL, 2000, &store, &err),
                     FLUSS_E_CORRUPT_RECORD);
    assert_non_null(strstr(err.message, "00000000000000000000.log ends at offset"));
    assert_null(store);
}

static void left_overs_are_cleared_away(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 5, 40, &content);
    store_file(f->copy, "recovery.checkpoint.tmp", NULL, 0);
    store_file(f->copy, "00000000000000000000.log.deleted", NULL, 0);
    store_file(f->copy, "00000000000000000007.writer_snapshot", NULL, 0);
    store_file(f->copy, "notes.txt", NULL, 0);
    expect_batches(f, 5);
    assert_false(has_file(f->copy, "recovery.checkpoint.tmp"));
    assert_false(has_file(f->copy, "00000000000000000000.log.deleted"));
    assert_false(has_file(f->copy, "00000000000000000007.writer_snapshot"));
    assert_true(has_file(f->copy, "notes.txt"));
}

static void an_empty_newest_segment_continues_the_one_before(void **state)
{
    fixture *f = *state;
    log_content content;
    write_log(f, 31, 80, &content);
    store_file(f->copy, "00000000000000000310.log", NULL, 0);
    expect_batches(f, 31);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, folder_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_unclean_stop_loses_nothing),
        TEST(a_cut_at_every_byte_of_the_tail_leaves_the_good_prefix),
        TEST(a_flipped_byte_in_the_tail_leaves_the_good_prefix),
        TEST(zeros_or_noise_after_the_end_are_cut_off),
        TEST(a_stale_batch_after_the_end_is_not_taken_for_a_new_one),
        TEST(missing_or_broken_indexes_are_made_anew),
        TEST(the_end_of_the_log_moves_back_when_the_tail_is_lost),
        TEST(a_clean_close_spares_the_scan),
        TEST(the_checkpoint_stays_true_when_the_log_goes_on),
        TEST(a_damaged_checkpoint_or_snapshot_costs_only_time),
        TEST(a_broken_sealed_segment_is_reported),
        TEST(left_overs_are_cleared_away),
        TEST(an_empty_newest_segment_continues_the_one_before),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
