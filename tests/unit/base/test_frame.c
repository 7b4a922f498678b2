/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a frame lives until its last reference is gone, then serves again from the pool.
 * Method: addresses and the count of live blocks tell whether a frame was pooled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/alloc.h"
#include "base/frame.h"

static void capacity_is_at_least_what_was_asked(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 4096, 4097, 1 << 20, (1 << 24) + 1, 40 << 20};
    for (size_t i = 0; i < FL_COUNT_OF(sizes); i++) {
        fl_frame *frame = fl_frame_new(sizes[i]);
        assert_non_null(frame);
        assert_true(frame->capacity >= sizes[i]);
        assert_int_equal(frame->size, 0);
        memset(frame->data, 0x5A, frame->capacity);
        fl_frame_unref(frame);
    }
    fl_frame_pool_drain();
}

static void a_freed_frame_serves_again(void **state)
{
    (void)state;
    const int64_t before = fl_alloc_live_count();
    fl_frame *first = fl_frame_new(100000);
    assert_non_null(first);
    first->size = 77;
    fl_frame_unref(first);
    fl_frame *second = fl_frame_new(100001);
    assert_ptr_equal(first, second);
    assert_int_equal(second->size, 0);
    assert_int_equal(atomic_load(&second->ref_count), 1);
    fl_frame_unref(second);
    fl_frame_pool_drain();
    assert_int_equal(fl_alloc_live_count(), before);
}

static void the_last_reference_frees(void **state)
{
    (void)state;
    const int64_t before = fl_alloc_live_count();
    fl_frame *frame = fl_frame_new(32 << 20); /* larger than any pooled class */
    assert_non_null(frame);
    assert_ptr_equal(fl_frame_ref(frame), frame);
    fl_frame_unref(frame);
    assert_int_equal(fl_alloc_live_count() - before, 1);
    fl_frame_unref(frame);
    assert_int_equal(fl_alloc_live_count(), before);
    fl_frame_unref(NULL);
}

static void the_pool_is_bounded(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    const int64_t before = fl_alloc_live_count();
    fl_frame *frames[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        frames[i] = fl_frame_new(4 << 20);
        assert_non_null(frames[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        fl_frame_unref(frames[i]);
    }
    assert_in_range(fl_alloc_live_count() - before, 1, 8);
    fl_frame_pool_drain();
    assert_int_equal(fl_alloc_live_count(), before);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    assert_null(fl_frame_new(SIZE_MAX));
    fl_alloc_fail_at(1);
    assert_null(fl_frame_new(1000));
}

static void *share_and_release(void *shared)
{
    for (int i = 0; i < 20000; i++) {
        fl_frame *own = fl_frame_new((size_t)i % 9000);
        if (own != NULL) {
            own->data[0] = 1;
        }
        fl_frame_unref(own);
        fl_frame_unref(fl_frame_ref(shared));
    }
    return NULL;
}

static void threads_share_frames_and_pool(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    const int64_t before = fl_alloc_live_count();
    fl_frame *shared = fl_frame_new(10);
    assert_non_null(shared);
    pthread_t threads[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, share_and_release, shared), 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&shared->ref_count), 1);
    fl_frame_unref(shared);
    fl_frame_pool_drain();
    assert_int_equal(fl_alloc_live_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_is_at_least_what_was_asked),
        cmocka_unit_test(a_freed_frame_serves_again),
        cmocka_unit_test(the_last_reference_frees),
        cmocka_unit_test(the_pool_is_bounded),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(threads_share_frames_and_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
