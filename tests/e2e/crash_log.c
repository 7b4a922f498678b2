/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: what the log acknowledged survives kill -9 at any moment, once and in order. Method: a
 * child appends in a loop, with small segments so that it also rolls, syncs and checkpoints, and
 * reports each acknowledged end offset over a pipe; the parent kills it after a random number of
 * reports, at whatever it is doing by then, opens the log and compares. The directory lives through
 * all rounds. CRASH_SEED and CRASH_ROUNDS repeat or prolong a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four that it needs */
#include <cmocka.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/log_batch.h"
#include "storage/log.h"

enum { ROUNDS = 50, WRITER_ID = 77, REPORTS_MAX = 400 };
static const fl_log_store_opts OPTS = {.segment_size_max = 20000, .index_interval_size = 300};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> 33;
}

static size_t make_batch(uint8_t *bytes, int32_t count, size_t payload_size, int32_t sequence)
{
    const size_t header_size = fl_log_batch_header_size(0, 0);
    memset(bytes + header_size, (uint8_t)sequence, payload_size);
    const fl_log_batch_spec spec = {.is_append_only = true,
                                    .schema_id = 1,
                                    .record_count = count,
                                    .writer_id = WRITER_ID,
                                    .batch_sequence = sequence};
    fl_log_batch_finish(bytes, header_size + payload_size, &spec);
    return header_size + payload_size;
}

static void sync_log(fl_log_store *store)
{
    fl_log_sync *sync;
    if (fl_log_sync_begin(store, &sync, NULL) != 0) {
        _exit(3);
    }
    fl_log_sync_run(sync);
    if (fl_log_sync_end(store, sync, NULL) != 0) {
        _exit(4);
    }
}

/** The child: append batches number `sequence` and on until killed; now and then close and reopen.
 */
static void append_forever(const char *dir, int32_t sequence, uint64_t seed, int reports)
{
    fl_log_store *store;
    if (fl_log_store_open(dir, &OPTS, 1000, &store, NULL) != 0) {
        _exit(1);
    }
    for (;; sequence++) {
        uint8_t bytes[1024];
        const size_t size = make_batch(bytes, 1 + (int32_t)(next_random(&seed) % 9),
                                       1 + next_random(&seed) % 900, sequence);
        fl_log_appended appended;
        if (fl_log_store_append(store, bytes, size, 1000, &appended, NULL) != 0 ||
            appended.is_duplicate) {
            _exit(2);
        }
        const uint64_t what = next_random(&seed) % 64;
        if (what < 8) {
            sync_log(store);
        }
        const int64_t report[2] = {appended.log_end_offset, sequence};
        if (write(reports, report, sizeof(report)) != (ssize_t)sizeof(report)) {
            _exit(0);
        }
        if (what == 63) {
            fl_log_store_close(store);
            if (fl_log_store_open(dir, &OPTS, 1000, &store, NULL) != 0) {
                _exit(1);
            }
        }
    }
}

/** What the child acknowledged last; false: it ended by itself. */
static bool read_report(int reports, int64_t *end_offset, int32_t *sequence)
{
    int64_t report[2];
    if (read(reports, report, sizeof(report)) != (ssize_t)sizeof(report)) {
        return false;
    }
    *end_offset = report[0];
    *sequence = (int32_t)report[1];
    return true;
}

/** Run a child, kill it, note its last report. */
static void crash_once(const char *dir, uint64_t *seed, int64_t *end_offset, int32_t *sequence)
{
    int reports[2];
    assert_int_equal(pipe(reports), 0);
    const int32_t first = *sequence + 1;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(reports[0]);
        append_forever(dir, first, *seed, reports[1]);
    }
    close(reports[1]);
    const uint64_t count = next_random(seed) % REPORTS_MAX;
    for (uint64_t i = 0; i < count; i++) {
        assert_true(read_report(reports[0], end_offset, sequence));
    }
    const struct timespec pause = {.tv_nsec = (long)(next_random(seed) % 300000)};
    nanosleep(&pause, NULL); /* not to wait for anything: to hit another place */
    assert_int_equal(kill(child, SIGKILL), 0);
    while (read_report(reports[0], end_offset, sequence)) {
    }
    close(reports[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/** Every batch is there once, sequences rise by one from `next`, checksums hold. */
static void check_batches(fl_log_store *store, int64_t offset, int32_t *next)
{
    while (offset < fl_log_store_end_offset(store)) {
        fl_frame *frame;
        fluss_error_t err = {0};
        if (fl_log_store_read(store, offset, 64 << 10, true, &frame, &err) != 0) {
            fail_msg("read at %lld: %s", (long long)offset, err.message);
        }
        for (size_t at = 0; at < frame->size;) {
            fl_log_batch batch;
            assert_int_equal(fl_log_batch_open(fl_slice_of(frame->data + at, frame->size - at),
                                               false, &batch, NULL),
                             0);
            assert_int_equal(fl_log_batch_check_crc(&batch, NULL), 0);
            assert_int_equal(batch.base_offset, offset);
            assert_int_equal(batch.batch_sequence, *next);
            *next += 1;
            offset = fl_log_batch_next_offset(&batch);
            at += batch.bytes.size;
        }
        fl_frame_unref(frame);
    }
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static uint64_t setting(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text == NULL ? fallback : strtoull(text, NULL, 10);
}

static void acknowledged_batches_survive_kill_9(void **state)
{
    (void)state;
    uint64_t seed = setting("CRASH_SEED", 20261130);
    const uint64_t rounds = setting("CRASH_ROUNDS", ROUNDS);
    print_message("CRASH_SEED=%llu CRASH_ROUNDS=%llu\n", (unsigned long long)seed,
                  (unsigned long long)rounds);
    char dir[64] = "/tmp/fluss-crash-XXXXXX";
    assert_non_null(mkdtemp(dir));
    int64_t checked_offset = 0;
    int32_t checked_sequence = 0, sequence = -1;
    for (uint64_t round = 0; round < rounds; round++) {
        int64_t acknowledged = checked_offset;
        crash_once(dir, &seed, &acknowledged, &sequence);
        fl_log_store *store;
        fluss_error_t err = {0};
        if (fl_log_store_open(dir, &OPTS, 1000, &store, &err) != 0) {
            fail_msg("round %llu: %s", (unsigned long long)round, err.message);
        }
        /* At most the one batch more whose report the kill cut off. */
        assert_true(fl_log_store_end_offset(store) >= acknowledged);
        check_batches(store, checked_offset, &checked_sequence);
        assert_in_range(checked_sequence - 1 - sequence, 0, 1);
        sequence = checked_sequence - 1;
        checked_offset = fl_log_store_end_offset(store);
        fl_log_store_close(store);
    }
    fl_log_store *store;
    int32_t next = 0;
    assert_int_equal(fl_log_store_open(dir, &OPTS, 1000, &store, NULL), 0);
    check_batches(store, 0, &next);
    assert_int_equal(next, sequence + 1);
    assert_int_equal(fl_log_store_delete(store, NULL), 0);
    (void)nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledged_batches_survive_kill_9),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
