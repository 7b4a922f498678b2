/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a full disk, an I/O error or a lack of memory at any point is reported, loses nothing that
 * was acknowledged, leaves no half batch, and the store goes on when the trouble is over. Method:
 * run one fixed piece of work again and again, with the n-th operation failing, until n is past the
 * end; then go on without failures, reopen, and compare with what was acknowledged. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "format/log_batch.h"
#include "log_fixture.h"

enum { STEPS = 40, OPEN_MAX = 8, N_MAX = 3000 };

typedef struct work {
    folder at;
    fl_log_store_opts opts;
    int64_t acknowledged; /* end offset as of the last successful append */
    int64_t durable;      /* as of the last successful sync */
    int32_t sequence;     /* next of the writer */
    size_t failures;
} work;

static void begin(work *w)
{
    *w = (work){.opts = {.segment_size_max = 1024, .index_interval_size = 100}};
    folder_make(&w->at, "a/log");
    w->opts.files = fl_file_cache_new(OPEN_MAX);
    assert_non_null(w->opts.files);
}

static void finish(work *w)
{
    fl_file_cache_free(w->opts.files);
    remove_tree(w->at.root);
}

/** One step: append the next batch of the writer, sometimes sync, read, look up. */
static void step(work *w, fl_log_store *store, int i)
{
    uint8_t bytes[256];
    const size_t size = make_batch(bytes, 3, (size_t)(20 + i % 50), (uint8_t)i, 9, w->sequence);
    fl_log_appended appended;
    fluss_error_t err = {0};
    if (fl_log_store_append(store, bytes, size, 100 + i, &appended, &err) == 0) {
        assert_int_equal(appended.base_offset, w->acknowledged);
        w->acknowledged += 3;
        w->sequence++;
    } else {
        assert_true(err.code == FLUSS_E_LOG_STORAGE_EXCEPTION ? err.retriable
                                                              : err.kind == FLUSS_KIND_NOMEM);
        w->failures++;
    }
    assert_int_equal(fl_log_store_end_offset(store), w->acknowledged);
    fl_log_sync *sync;
    if (i % 4 == 3 && fl_log_sync_begin(store, &sync, NULL) == 0) {
        fl_log_sync_run(sync);
        if (fl_log_sync_end(store, sync, &err) == 0) {
            assert_int_equal(fl_log_store_durable_offset(store), w->acknowledged);
        } else {
            w->failures++;
        }
    }
    fl_frame *frame;
    if (fl_log_store_read(store, w->acknowledged / 2, 500, true, &frame, NULL) == 0) {
        fl_frame_unref(frame);
    }
    int64_t offset;
    const fluss_code_t rc = fl_log_store_offset_for_time(store, 100 + i / 2, &offset, NULL);
    (void)rc;
}

/** The work, with failures under way; reopening in the middle. */
static void run(work *w)
{
    for (int part = 0; part < 2; part++) {
        fl_log_store *store;
        if (fl_log_store_open(w->at.dir, &w->opts, 100, &store, NULL) != 0) {
            w->failures++;
            continue;
        }
        assert_int_equal(fl_log_store_end_offset(store), w->acknowledged);
        for (int i = 0; i < STEPS / 2; i++) {
            step(w, store, part * STEPS / 2 + i);
        }
        fl_log_store_close(store);
    }
}

/** Without failures: the log holds what was acknowledged, takes the next batch, knows the last. */
static void check(work *w)
{
    fl_log_store *store = open_log(w->at.dir, &w->opts, 200);
    const log_content content = read_log(store, 300);
    assert_int_equal(content.end_offset, w->acknowledged);
    assert_int_equal(content.batch_count, w->acknowledged / 3);
    if (w->sequence > 0) {
        assert_int_equal(append_batch(store, 3, 1, 0, 9, w->sequence - 1, 200),
                         w->acknowledged - 3);
    }
    assert_int_equal(append_batch(store, 3, 1, 0, 9, w->sequence, 200), w->acknowledged);
    sync_log(store);
    assert_int_equal(fl_log_store_durable_offset(store), w->acknowledged + 3);
    fl_log_store_close(store);
    assert_int_equal(fl_file_cache_open_count(w->opts.files), 0);
}

static void fail_each(unsigned ops, int error, bool repeat)
{
    for (uint64_t n = 1; n < N_MAX; n++) {
        work w;
        begin(&w);
        fl_file_cache_fail_at(w.opts.files, ops, n, error, repeat);
        run(&w);
        const bool is_past = fl_file_cache_op_count(w.opts.files) < n;
        fl_file_cache_fail_at(w.opts.files, 0, 0, 0, false);
        check(&w);
        finish(&w);
        if (is_past) {
            assert_true(n > 10);
            return;
        }
    }
    fail_msg("the work never ended");
}

static void a_full_disk_at_each_write_is_survived(void **state)
{
    (void)state;
    fail_each(FL_FILE_OP_WRITE, ENOSPC, false);
}

static void a_disk_that_stays_full_is_survived(void **state)
{
    (void)state;
    fail_each(FL_FILE_OP_WRITE, ENOSPC, true);
}

static void an_error_at_each_sync_is_survived(void **state)
{
    (void)state;
    fail_each(FL_FILE_OP_SYNC, EIO, false);
}

static void an_error_at_each_read_is_survived(void **state)
{
    (void)state;
    fail_each(FL_FILE_OP_READ, EIO, false);
}

static void an_error_at_each_other_operation_is_survived(void **state)
{
    (void)state;
    fail_each(FL_FILE_OP_OPEN | FL_FILE_OP_TRUNCATE | FL_FILE_OP_OTHER, EIO, false);
}

static void a_disk_that_fails_for_good_is_survived(void **state)
{
    (void)state;
    fail_each(FL_FILE_OP_ANY, EIO, true);
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    fl_frame_pool_drain();
    const int64_t live = fl_alloc_live_count();
    for (uint64_t n = 1; n < N_MAX; n++) {
        work w;
        begin(&w);
        fl_alloc_fail_at(n);
        run(&w);
        fl_alloc_fail_at(0);
        const bool is_past = w.failures == 0;
        check(&w);
        finish(&w);
        fl_frame_pool_drain();
        assert_int_equal(fl_alloc_live_count(), live);
        if (is_past && n > 100) {
            return;
        }
    }
    fail_msg("the work never ended");
}

static void bytes_of_a_failed_sync_are_written_again(void **state)
{
    (void)state;
    work w;
    begin(&w);
    fl_log_store *store = open_log(w.at.dir, &w.opts, 0);
    (void)append_rows(store, 1, 100, 1);
    fl_file_cache_fail_at(w.opts.files, FL_FILE_OP_SYNC, 1, EIO, false);
    fl_log_sync *sync;
    fluss_error_t err;
    assert_int_equal(fl_log_sync_begin(store, &sync, NULL), 0);
    fl_log_sync_run(sync);
    assert_int_equal(fl_log_sync_end(store, sync, &err), FLUSS_E_LOG_STORAGE_EXCEPTION);
    assert_non_null(strstr(err.message, "00000000000000000000.log"));
    assert_int_equal(fl_log_store_durable_offset(store), 0);
    fl_file_cache_fail_at(w.opts.files, FL_FILE_OP_WRITE, 0, 0, false);
    sync_log(store);
    assert_int_equal(fl_file_cache_op_count(w.opts.files), 1);
    assert_int_equal(fl_log_store_durable_offset(store), 1);
    fl_log_store_close(store);
    finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_at_each_write_is_survived),
        cmocka_unit_test(a_disk_that_stays_full_is_survived),
        cmocka_unit_test(an_error_at_each_sync_is_survived),
        cmocka_unit_test(an_error_at_each_read_is_survived),
        cmocka_unit_test(an_error_at_each_other_operation_is_survived),
        cmocka_unit_test(a_disk_that_fails_for_good_is_survived),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(bytes_of_a_failed_sync_are_written_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
