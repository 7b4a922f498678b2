/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a gather is one byte stream, whatever mix of copies and references it was made of.
 * Method: the stream is built beside a flat buffer; every window of it must hold the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/gather.h"

static const char far_bytes[] = "the bytes that are referenced";

static void build(fl_gather *gather, fl_buf *flat)
{
    uint32_t seed = 7;
    for (int i = 0; i < 60; i++) {
        seed = seed * 1664525u + 1013904223u;
        const size_t size = (seed >> 16) % (sizeof(far_bytes) - 1);
        if (seed & 0x1000) {
            assert_int_equal(fl_gather_copy(gather, far_bytes, size, NULL), 0);
        } else {
            assert_int_equal(fl_gather_view(gather, fl_slice_of(far_bytes, size), NULL), 0);
        }
        assert_int_equal(fl_buf_append(flat, far_bytes, size, NULL), 0);
    }
}

static void check_windows(const fl_gather *gather, const fl_buf *flat, size_t iov_max)
{
    struct iovec iov[64];
    for (size_t position = 0; position <= flat->size; position++) {
        const size_t count = fl_gather_iov(gather, position, iov, iov_max);
        assert_true(count <= iov_max);
        assert_int_equal(count == 0, position == flat->size);
        size_t at = position;
        for (size_t i = 0; i < count; i++) {
            assert_true(iov[i].iov_len > 0 && at + iov[i].iov_len <= flat->size);
            assert_memory_equal(iov[i].iov_base, flat->data + at, iov[i].iov_len);
            at += iov[i].iov_len;
        }
        assert_true(count == iov_max || at == flat->size);
    }
}

static void every_window_holds_the_stream(void **state)
{
    (void)state;
    fl_gather gather;
    fl_buf flat;
    fl_gather_init(&gather);
    fl_buf_init(&flat, 1 << 20);
    build(&gather, &flat);
    assert_int_equal(gather.size, flat.size);
    check_windows(&gather, &flat, 64);
    check_windows(&gather, &flat, 3);
    fl_gather_deinit(&gather);
    fl_buf_deinit(&flat);
}

static void an_empty_gather_has_no_piece(void **state)
{
    (void)state;
    fl_gather gather;
    fl_gather_init(&gather);
    struct iovec iov;
    assert_int_equal(fl_gather_iov(&gather, 0, &iov, 1), 0);
    assert_int_equal(fl_gather_copy(&gather, NULL, 0, NULL), 0);
    assert_int_equal(fl_gather_view(&gather, fl_slice_of(NULL, 0), NULL), 0);
    assert_int_equal(fl_gather_iov(&gather, 0, &iov, 1), 0);
    fl_gather_deinit(&gather);
}

static void patch_overwrites_what_was_copied_first(void **state)
{
    (void)state;
    fl_gather gather;
    fl_gather_init(&gather);
    assert_int_equal(fl_gather_copy(&gather, "----head", 8, NULL), 0);
    assert_int_equal(fl_gather_view(&gather, fl_slice_str("body"), NULL), 0);
    fl_gather_patch(&gather, 0, "size", 4);
    struct iovec iov[2];
    assert_int_equal(fl_gather_iov(&gather, 0, iov, 2), 2);
    assert_memory_equal(iov[0].iov_base, "sizehead", 8);
    fl_gather_deinit(&gather);
}

static void an_owned_frame_lives_until_the_end(void **state)
{
    (void)state;
    fl_gather gather;
    fl_gather_init(&gather);
    fl_frame *frame = fl_frame_new(10);
    assert_non_null(frame);
    assert_int_equal(fl_gather_own(&gather, fl_frame_ref(frame), NULL), 0);
    fl_gather moved;
    fl_gather_move(&gather, &moved);
    fl_gather_deinit(&gather);
    assert_int_equal(atomic_load(&frame->ref_count), 2);
    fl_gather_deinit(&moved);
    assert_int_equal(atomic_load(&frame->ref_count), 1);
    fl_frame_unref(frame);
}

static void no_allocation_that_fails_loses_or_leaks(void **state)
{
    (void)state;
    fl_frame_pool_drain();
    const int64_t before = fl_alloc_live_count();
    int failures = 0;
    for (uint64_t n = 1; n <= 12; n++) {
        fl_gather gather;
        fl_gather_init(&gather);
        fl_buf flat;
        fl_buf_init(&flat, 4096);
        assert_int_equal(fl_buf_reserve(&flat, 4096, NULL), 0); /* allocates no more below */
        fl_alloc_fail_at(n);
        for (int i = 0; i < 40; i++) {
            const fl_slice bytes = fl_slice_of(far_bytes, 20);
            const fluss_code_t rc = i % 2 != 0
                                        ? fl_gather_view(&gather, bytes, NULL)
                                        : fl_gather_copy(&gather, bytes.data, bytes.size, NULL);
            failures += rc != 0;
            if (rc == 0) {
                assert_int_equal(fl_buf_append_slice(&flat, bytes, NULL), 0);
            }
        }
        fl_alloc_fail_at(0);
        assert_int_equal(gather.size, flat.size);
        check_windows(&gather, &flat, 64);
        fl_gather_deinit(&gather);
        fl_buf_deinit(&flat);
    }
    assert_true(failures > 3);
    assert_int_equal(fl_alloc_live_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_window_holds_the_stream),
        cmocka_unit_test(an_empty_gather_has_no_piece),
        cmocka_unit_test(patch_overwrites_what_was_copied_first),
        cmocka_unit_test(an_owned_frame_lives_until_the_end),
        cmocka_unit_test(no_allocation_that_fails_loses_or_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
