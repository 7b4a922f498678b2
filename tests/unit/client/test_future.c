/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a future is ready once, tells everyone who waits, and leaks nothing in any order of use.
 * Method: producers by hand, other threads where waiting matters; live blocks are counted. */
#include <fluss/fluss.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "client/future.h"

static int count_live(void **state)
{
    static int64_t live;
    live = fl_alloc_live_count();
    *state = &live;
    return 0;
}

static int check_live(void **state)
{
    return fl_alloc_live_count() == *(int64_t *)*state ? 0 : -1;
}

static void fail_future(fluss_future_t *future, fluss_code_t code, const char *text)
{
    fluss_error_t err;
    (void)fl_error(&err, code, FLUSS_KIND_SERVER, "%s", text);
    fl_future_fail(future, &err);
}

static void complete_with(fluss_future_t *future, int64_t number)
{
    (void)fl_future_complete(future, (fl_value){.kind = FL_VALUE_I64, .v.i64 = number});
}

static void *complete_with_42(void *future)
{
    complete_with(future, 42);
    return NULL;
}

static void a_waiter_gets_the_value_of_another_thread(void **state)
{
    (void)state;
    fluss_future_t *future = fl_future_new();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, complete_with_42, future), 0);
    int64_t number = 0;
    assert_int_equal(fluss_await_i64(future, 10000, &number, NULL), 0);
    assert_int_equal(number, 42);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void a_failure_keeps_code_kind_and_text(void **state)
{
    (void)state;
    fluss_future_t *future = fl_future_new();
    fail_future(future, FLUSS_E_TABLE_NOT_EXIST, "no such table");
    fluss_error_t err;
    assert_int_equal(fluss_await(future, -1, &err), FLUSS_E_TABLE_NOT_EXIST);
    assert_int_equal(err.kind, FLUSS_KIND_SERVER);
    assert_string_equal(err.message, "no such table");
}

static void an_await_that_runs_out_of_time_cancels(void **state)
{
    (void)state;
    fluss_future_t *future = fl_future_new();
    fluss_error_t err;
    assert_int_equal(fluss_await(future, 1, &err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_TIMEOUT);
    assert_true(fl_future_is_abandoned(future));
    assert_false(fl_future_complete(future, (fl_value){.kind = FL_VALUE_VOID}));
}

static void a_wait_that_runs_out_of_time_leaves_the_future(void **state)
{
    (void)state;
    fluss_future_t *future = fl_future_new();
    fluss_error_t err;
    assert_int_equal(fluss_future_wait(future, 1, &err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_TIMEOUT);
    fl_future_complete_void(future);
    assert_int_equal(fluss_await(future, 0, &err), 0);
}

static void a_cancelled_future_says_so_and_refuses_its_value(void **state)
{
    (void)state;
    fluss_future_t *future = fl_future_new();
    assert_true(fluss_future_cancel(future));
    assert_false(fluss_future_cancel(future));
    assert_false(fl_future_complete(future, (fl_value){.kind = FL_VALUE_I64, .v.i64 = 1}));
    fluss_error_t err;
    assert_int_equal(fluss_await(future, -1, &err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_CANCELLED);
}

static void a_result_of_another_kind_is_refused(void **state)
{
    (void)state;
    fluss_future_t *future = fl_future_new();
    complete_with(future, 1);
    fluss_error_t err;
    assert_int_equal(fluss_await(future, -1, &err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_STATE);
}

static void count_call(fluss_future_t *future, void *user)
{
    ++*(int *)user;
    fluss_future_free(future);
}

static void a_callback_runs_once_before_or_after_completion(void **state)
{
    (void)state;
    int early = 0, late = 0;
    fluss_future_t *future = fl_future_new();
    fluss_future_on_ready(future, count_call, &early);
    assert_int_equal(early, 0);
    fl_future_complete_void(future);
    assert_int_equal(early, 1);
    future = fl_future_new();
    fl_future_complete_void(future);
    fluss_future_on_ready(future, count_call, &late);
    assert_int_equal(late, 1);
}

static bool is_readable(fluss_queue_t *queue)
{
    struct pollfd fd = {.fd = fluss_queue_fd(queue), .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

static void a_queue_is_readable_exactly_while_it_holds_something(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    fluss_queue_t *queue = fluss_queue_new();
    fluss_future_t *futures[COUNT];
    int tags[COUNT];
    for (int i = 0; i < COUNT; i++) {
        futures[i] = fl_future_new();
        fluss_future_to_queue(futures[i], queue, &tags[i]);
    }
    assert_false(is_readable(queue));
    for (int i = COUNT - 1; i >= 0; i--) {
        complete_with(futures[i], i);
        assert_true(is_readable(queue));
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        fluss_future_t *future;
        void *tag;
        assert_true(fluss_queue_next(queue, 0, &future, &tag));
        assert_ptr_equal(tag, &tags[i]);
        int64_t number;
        assert_int_equal(fluss_await_i64(future, 0, &number, NULL), 0);
        assert_int_equal(number, i);
    }
    fluss_future_t *none;
    assert_false(fluss_queue_next(queue, 0, &none, NULL));
    assert_false(is_readable(queue));
    fluss_queue_free(queue);
}

static void a_freed_future_leaves_its_queue(void **state)
{
    (void)state;
    fluss_queue_t *queue = fluss_queue_new();
    fluss_future_t *ready = fl_future_new(), *pending = fl_future_new();
    fluss_future_to_queue(ready, queue, NULL);
    fluss_future_to_queue(pending, queue, NULL);
    fl_future_complete_void(ready);
    fluss_future_free(ready);
    fluss_future_free(pending);
    fl_future_complete_void(pending);
    fluss_future_t *none;
    assert_false(fluss_queue_next(queue, 0, &none, NULL));
    assert_false(is_readable(queue));
    fluss_queue_free(queue);
}

static void a_freed_queue_leaves_its_futures(void **state)
{
    (void)state;
    fluss_queue_t *queue = fluss_queue_new();
    fluss_future_t *future = fl_future_new();
    fluss_future_to_queue(future, queue, NULL);
    fluss_queue_free(queue);
    fl_future_complete_void(future);
    assert_int_equal(fluss_await(future, 0, NULL), 0);
}

static void without_memory_there_is_still_a_future(void **state)
{
    (void)state;
    fl_alloc_fail_at(1);
    fluss_future_t *future = fl_future_new();
    fl_alloc_fail_at(0);
    assert_true(fluss_future_ready(future));
    fluss_error_t err;
    assert_int_equal(fluss_await(future, -1, &err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_NOMEM);
    fl_future_complete_void(future);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, count_live, check_live)

static void without_memory_calls_reach_their_queue(void **state)
{
    (void)state;
    enum { CALLS = 9 };
    int tags[CALLS];
    fluss_queue_t *queue = fluss_queue_new();
    fluss_error_t nomem, err = {0};
    (void)fl_error_nomem(&nomem);
    for (int round = 0; round < 50; round++) { /* what they take comes back */
        for (int i = 0; i < CALLS; i++) {
            fl_alloc_fail_at(1);
            fluss_future_t *future = fl_future_failed(&nomem);
            fl_alloc_fail_at(0);
            fluss_future_to_queue(future, queue, &tags[i]);
            if (i == 4) {
                fluss_future_free(future);
            }
        }
        for (int i = 0; i < CALLS; i++) {
            fluss_future_t *future;
            void *tag;
            if (i != 4) {
                assert_true(fluss_queue_next(queue, 0, &future, &tag));
                assert_ptr_equal(tag, &tags[i]);
                assert_int_equal(fluss_await(future, 0, &err), FLUSS_E_CLIENT);
                assert_int_equal(err.kind, FLUSS_KIND_NOMEM);
            }
        }
        assert_false(fluss_queue_next(queue, 0, NULL, NULL));
    }
    fluss_queue_free(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_waiter_gets_the_value_of_another_thread),
        TEST(a_failure_keeps_code_kind_and_text),
        TEST(an_await_that_runs_out_of_time_cancels),
        TEST(a_wait_that_runs_out_of_time_leaves_the_future),
        TEST(a_cancelled_future_says_so_and_refuses_its_value),
        TEST(a_result_of_another_kind_is_refused),
        TEST(a_callback_runs_once_before_or_after_completion),
        TEST(a_queue_is_readable_exactly_while_it_holds_something),
        TEST(a_freed_future_leaves_its_queue),
        TEST(a_freed_queue_leaves_its_futures),
        TEST(without_memory_there_is_still_a_future),
        TEST(without_memory_calls_reach_their_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
