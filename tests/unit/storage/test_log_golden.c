/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: the data directory of an official server opens as one of ours, and ours has its bytes.
 * Method: a copy of tests/golden/segments (see its README), with damage and without; an index made
 * anew has to equal the recorded one byte for byte. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "format/log_batch.h"
#include "log_fixture.h"

/* As configured for the recording. */
static const fl_log_store_opts OPTS = {.segment_size_max = 16 << 10,
                                       .index_interval_size = 1 << 10};
enum { START = 520, SEALED = 780, END = 900 };

static int set_up(void **state)
{
    folder *f = folder_state(sizeof(*f), "log-0");
    copy_files(FL_TEST_SEGMENTS, f->dir);
    *state = f;
    return 0;
}

/** When the recording was made: writers are not expired then. */
static int64_t recorded_ms(const folder *f)
{
    size_t size;
    uint8_t *data = load_file(f->dir, "00000000000000000780.log", &size);
    assert_true(size > 21);
    const int64_t time_ms = fl_load_i64(data + 13);
    free(data);
    return time_ms;
}

static fl_log_store *open_recorded(const folder *f, int64_t *writer_id)
{
    fl_log_store *store = open_log(f->dir, &OPTS, recorded_ms(f));
    assert_int_equal(fl_log_store_start_offset(store), START);
    const log_content content = read_log(store, 2000);
    assert_int_equal(content.batch_count, (END - START) / 10);
    assert_int_equal(content.end_offset, END);
    fl_frame *frame;
    fl_log_batch batch;
    assert_int_equal(fl_log_store_read(store, END - 1, 1 << 20, true, &frame, NULL), 0);
    assert_int_equal(fl_log_batch_open(fl_slice_of(frame->data, frame->size), true, &batch, NULL),
                     0);
    assert_int_equal(batch.batch_sequence, 89);
    *writer_id = batch.writer_id;
    fl_frame_unref(frame);
    return store;
}

static void an_official_log_opens_and_goes_on(void **state)
{
    const folder *f = *state;
    int64_t writer_id;
    fl_log_store *store = open_recorded(f, &writer_id);
    assert_int_equal(append_batch(store, 10, 1, 0, writer_id, 89, recorded_ms(f)), END - 10);
    assert_int_equal(append_batch(store, 10, 1, 0, writer_id, 90, recorded_ms(f)), END);
    int64_t offset;
    assert_int_equal(fl_log_store_offset_for_time(store, recorded_ms(f), &offset, NULL), 0);
    assert_in_range(offset, SEALED - 10, SEALED);
    fl_log_store_close(store);
}

static void an_index_made_anew_equals_the_official_one(void **state)
{
    const folder *f = *state;
    const char *const names[] = {"00000000000000000520.index", "00000000000000000520.timeindex"};
    for (size_t i = 0; i < FL_COUNT_OF(names); i++) {
        size_t size, made_size;
        int64_t writer_id;
        uint8_t *official = load_file(f->dir, names[i], &size);
        assert_true(size > 0);
        delete_file(f->dir, names[i]);
        fl_log_store_close(open_recorded(f, &writer_id));
        uint8_t *made = load_file(f->dir, names[i], &made_size);
        assert_int_equal(made_size, size);
        assert_memory_equal(made, official, size);
        free(official);
        free(made);
    }
}

static void preallocated_indexes_of_a_killed_server_are_made_anew(void **state)
{
    const folder *f = *state;
    enum { PREALLOCATED = 1200 };
    static const uint8_t zeros[PREALLOCATED];
    store_file(f->dir, "00000000000000000780.index", zeros, sizeof(zeros));
    store_file(f->dir, "00000000000000000780.timeindex", zeros, sizeof(zeros));
    store_file(f->dir, "00000000000000000520.index", zeros, sizeof(zeros));
    int64_t writer_id;
    fl_log_store_close(open_recorded(f, &writer_id));
    fl_log_store_close(open_recorded(f, &writer_id));
}

static void a_read_gives_the_bytes_of_the_file(void **state)
{
    const folder *f = *state;
    int64_t writer_id;
    fl_log_store *official = open_recorded(f, &writer_id);
    fl_frame *frame;
    size_t size;
    uint8_t *sealed = load_file(f->dir, "00000000000000000520.log", &size);
    assert_int_equal(fl_log_store_read(official, START, 1 << 20, true, &frame, NULL), 0);
    assert_int_equal(frame->size, size); /* one segment a read, the file's own bytes */
    assert_memory_equal(frame->data, sealed, size);
    free(sealed);
    fl_frame_unref(frame);
    fl_log_store_close(official);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, folder_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_official_log_opens_and_goes_on),
        TEST(an_index_made_anew_equals_the_official_one),
        TEST(preallocated_indexes_of_a_killed_server_are_made_anew),
        TEST(a_read_gives_the_bytes_of_the_file),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
