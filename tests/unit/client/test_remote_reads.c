/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: several tiered logs are read by as many threads as are allowed, in their order, up to the
 * bytes that are allowed; a failure is that of its own log. Method: the reading itself is replaced
 * by one that meets the other threads and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "client/remote_reads.h"

enum { READS = 8, READ_SIZE = 100, LIMIT_S = 20 };

/* What all threads of a test see. */
static struct meeting {
    pthread_mutex_t lock; /* guards: all below */
    pthread_cond_t changed;
    int inside, inside_max, expected; /* threads in the reading; the first wait for `expected` */
    int64_t order[READS];
    size_t count;
    bool is_done;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void await(const bool *flag, int inside)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LIMIT_S;
    int rc = 0;
    while (rc == 0 && (flag != NULL ? !*flag : meeting.inside_max < inside)) {
        rc = pthread_cond_timedwait(&meeting.changed, &meeting.lock, &until);
    }
}

fluss_code_t __wrap_fl_remote_log_read(const fl_remote_log *remote, int64_t offset, size_t size_max,
                                       fl_frame **frame, fluss_error_t *err);

/* An odd offset is a failure. */
fluss_code_t __wrap_fl_remote_log_read(const fl_remote_log *remote, int64_t offset, size_t size_max,
                                       fl_frame **frame, fluss_error_t *err)
{
    (void)remote;
    *frame = NULL;
    (void)pthread_mutex_lock(&meeting.lock);
    meeting.inside++;
    meeting.inside_max = meeting.inside > meeting.inside_max ? meeting.inside : meeting.inside_max;
    meeting.order[meeting.count++] = offset;
    (void)pthread_cond_broadcast(&meeting.changed);
    await(NULL, meeting.expected);
    meeting.inside--;
    (void)pthread_mutex_unlock(&meeting.lock);
    if (offset % 2 != 0) {
        return fl_error_corrupt(err, "log %lld", (long long)offset);
    }
    *frame = fl_frame_new(size_max);
    (*frame)->size = size_max;
    return 0;
}

typedef struct reading {
    fl_task task;
    fl_loop *loop;
    fl_remote_read reads[READS];
    fl_remote_limits limits;
} reading;

static void on_done(void *context)
{
    (void)context;
    (void)pthread_mutex_lock(&meeting.lock);
    meeting.is_done = true;
    (void)pthread_cond_broadcast(&meeting.changed);
    (void)pthread_mutex_unlock(&meeting.lock);
}

static void start(fl_task *task)
{
    reading *r = FL_CONTAINER_OF(task, reading, task);
    if (fl_remote_reads_start(r->loop, r->reads, READS, &r->limits, on_done, r, NULL) != 0) {
        on_done(r);
    }
}

/* Read all; log i has the offset `offsets[i]`. */
static void read_all(reading *r, const int64_t *offsets, size_t threads, size_t bytes_max)
{
    *r = (reading){.task.run = start, .limits = {.threads = threads, .bytes_max = bytes_max}};
    for (size_t i = 0; i < READS; i++) {
        r->reads[i] = (fl_remote_read){.offset = offsets[i], .size_max = READ_SIZE};
    }
    (void)pthread_mutex_lock(&meeting.lock);
    meeting.inside_max = 0;
    meeting.count = 0;
    meeting.is_done = false;
    meeting.expected = (int)(threads < READS ? threads : READS);
    (void)pthread_mutex_unlock(&meeting.lock);
    assert_int_equal(fl_loop_new("reads", &r->loop, NULL), 0);
    fl_loop_post(r->loop, &r->task);
    (void)pthread_mutex_lock(&meeting.lock);
    await(&meeting.is_done, 0);
    const bool is_done = meeting.is_done;
    (void)pthread_mutex_unlock(&meeting.lock);
    assert_true(is_done);
    fl_loop_free(r->loop);
}

static void release(reading *r)
{
    for (size_t i = 0; i < READS; i++) {
        fl_frame_unref(r->reads[i].frame);
    }
}

static const int64_t even[READS] = {0, 2, 4, 6, 8, 10, 12, 14};

static void as_many_threads_read_as_are_allowed(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 3; threads++) {
        reading r;
        read_all(&r, even, threads, SIZE_MAX);
        assert_int_equal(meeting.inside_max, threads);
        assert_int_equal(meeting.count, READS);
        for (size_t i = 0; i < READS; i++) {
            assert_int_equal(r.reads[i].err.code, 0);
            assert_int_equal(r.reads[i].frame->size, READ_SIZE);
        }
        release(&r);
    }
}

static void one_thread_reads_in_order(void **state)
{
    (void)state;
    reading r;
    read_all(&r, even, 1, SIZE_MAX);
    assert_memory_equal(meeting.order, even, sizeof(even));
    release(&r);
}

static void no_read_begins_once_the_bytes_are_there(void **state)
{
    (void)state;
    reading r;
    read_all(&r, even, 1, 2 * READ_SIZE + 1);
    for (size_t i = 0; i < READS; i++) {
        assert_int_equal(r.reads[i].err.code, 0);
        assert_true((r.reads[i].frame != NULL) == (i < 3));
    }
    release(&r);
}

static void a_failure_is_that_of_its_log(void **state)
{
    (void)state;
    static const int64_t offsets[READS] = {0, 2, 5, 6, 8, 7, 12, 14};
    reading r;
    read_all(&r, offsets, 2, SIZE_MAX);
    for (size_t i = 0; i < READS; i++) {
        assert_true((r.reads[i].err.code != 0) == (offsets[i] % 2 != 0));
        assert_true((r.reads[i].frame != NULL) == (offsets[i] % 2 == 0));
    }
    assert_string_equal(r.reads[2].err.message, "log 5");
    release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_threads_read_as_are_allowed),
        cmocka_unit_test(one_thread_reads_in_order),
        cmocka_unit_test(no_read_begins_once_the_bytes_are_there),
        cmocka_unit_test(a_failure_is_that_of_its_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
