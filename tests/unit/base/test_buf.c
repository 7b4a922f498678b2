/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a buffer holds what was appended, and reaching its limit is an error that changes nothing.
 * Method: small limits, and an allocator that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"

static void content_is_the_sum_of_the_appends(void **state)
{
    (void)state;
    fl_buf buf;
    fl_buf_init(&buf, 1 << 20);
    fluss_error_t err;
    assert_int_equal(fl_buf_append(&buf, "ab", 2, &err), 0);
    assert_int_equal(fl_buf_append_byte(&buf, 'c', &err), 0);
    assert_int_equal(fl_buf_append_zeros(&buf, 2, &err), 0);
    assert_int_equal(fl_buf_append_slice(&buf, fl_slice_str("de"), &err), 0);
    assert_int_equal(fl_buf_append(&buf, NULL, 0, &err), 0);
    assert_int_equal(fl_buf_printf(&buf, &err, "%d-%s", 42, "f"), 0);
    assert_true(fl_slice_equal(fl_buf_slice(&buf), fl_slice_of("abc\0\0de42-f", 11)));
    fl_buf_deinit(&buf);
}

static void growth_keeps_the_content(void **state)
{
    (void)state;
    fl_buf buf;
    fl_buf_init(&buf, 1 << 20);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(fl_buf_append_byte(&buf, (uint8_t)i, NULL), 0);
    }
    assert_int_equal(buf.size, 10000);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(buf.data[i], i & 0xFF);
    }
    fl_buf_deinit(&buf);
}

static void the_limit_is_an_error_and_nothing_changes(void **state)
{
    (void)state;
    fl_buf buf;
    fl_buf_init(&buf, 10);
    fluss_error_t err;
    assert_int_equal(fl_buf_append(&buf, "0123456789", 10, &err), 0);
    assert_int_equal(fl_buf_append_byte(&buf, 'x', &err), FLUSS_E_CLIENT);
    assert_non_null(strstr(err.message, "10"));
    assert_int_equal(fl_buf_reserve(&buf, SIZE_MAX, &err), FLUSS_E_CLIENT);
    assert_true(fl_slice_equal_str(fl_buf_slice(&buf), "0123456789"));
    assert_true(buf.capacity <= 10);
    fl_buf_deinit(&buf);
}

static void out_of_memory_changes_nothing(void **state)
{
    (void)state;
    fl_buf buf;
    fl_buf_init(&buf, 1 << 20);
    fluss_error_t err;
    assert_int_equal(fl_buf_append(&buf, "kept", 4, &err), 0);
    fl_alloc_fail_at(1);
    assert_int_equal(fl_buf_append_zeros(&buf, 4096, &err), FLUSS_E_CLIENT);
    assert_int_equal(err.kind, FLUSS_KIND_NOMEM);
    assert_true(fl_slice_equal_str(fl_buf_slice(&buf), "kept"));
    fl_buf_deinit(&buf);
}

static void take_moves_the_storage_out(void **state)
{
    (void)state;
    fl_buf buf;
    fl_buf_init(&buf, 100);
    assert_int_equal(fl_buf_append(&buf, "moved", 5, NULL), 0);
    size_t size;
    uint8_t *data = fl_buf_take(&buf, &size);
    assert_int_equal(size, 5);
    assert_memory_equal(data, "moved", 5);
    assert_int_equal(buf.size, 0);
    assert_int_equal(fl_buf_append(&buf, "new", 3, NULL), 0);
    fl_buf_deinit(&buf);
    fl_free(data);
}

static void reset_keeps_the_capacity(void **state)
{
    (void)state;
    fl_buf buf;
    fl_buf_init(&buf, 1000);
    assert_int_equal(fl_buf_append_zeros(&buf, 500, NULL), 0);
    const size_t capacity = buf.capacity;
    fl_buf_reset(&buf);
    assert_int_equal(buf.size, 0);
    assert_int_equal(buf.capacity, capacity);
    fl_buf_deinit(&buf);
}

static void storage_of_others_is_filled_and_never_replaced(void **state)
{
    (void)state;
    uint8_t storage[8];
    fl_buf buf;
    fl_buf_init_over(&buf, storage, sizeof(storage));
    assert_int_equal(fl_buf_append(&buf, "12345678", 8, NULL), 0);
    assert_int_equal(fl_buf_append_byte(&buf, 'x', NULL), FLUSS_E_CLIENT);
    assert_ptr_equal(buf.data, storage);
    assert_memory_equal(storage, "12345678", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_the_sum_of_the_appends),
        cmocka_unit_test(growth_keeps_the_content),
        cmocka_unit_test(the_limit_is_an_error_and_nothing_changes),
        cmocka_unit_test(out_of_memory_changes_nothing),
        cmocka_unit_test(take_moves_the_storage_out),
        cmocka_unit_test(reset_keeps_the_capacity),
        cmocka_unit_test(storage_of_others_is_filled_and_never_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
