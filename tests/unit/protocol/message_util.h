/* SPDX-License-Identifier: Apache-2.0 */
/* What the codec's tests share: cmocka, an arena for each test, bytes written by hand, and encoding
 * into flat bytes. */
#ifndef MESSAGE_UTIL_H
#define MESSAGE_UTIL_H
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/varint.h"
#include "protocol/messages.h"

/* The bytes of a string literal, which may hold zeros. */
#define BYTES(literal) fl_slice_of("" literal, sizeof(literal) - 1)

static fl_arena arena;

static inline int arena_start(void **state)
{
    (void)state;
    fl_arena_init(&arena);
    return 0;
}

static inline int arena_end(void **state)
{
    (void)state;
    fl_alloc_fail_at(0);
    fl_arena_deinit(&arena);
    return 0;
}

/* All bytes of a gather, in the test's arena. */
static inline fl_slice flatten(const fl_gather *gather)
{
    uint8_t *bytes = fl_arena_alloc(&arena, gather->size);
    assert_non_null(bytes);
    size_t position = 0;
    while (position < gather->size) {
        struct iovec part;
        assert_int_equal(fl_gather_iov(gather, position, &part, 1), 1);
        memcpy(bytes + position, part.iov_base, part.iov_len);
        position += part.iov_len;
    }
    return fl_slice_of(bytes, gather->size);
}

static inline fl_slice encoded(const fl_msg_desc *desc, const void *message)
{
    fl_gather gather;
    fluss_error_t err = {0};
    fl_gather_init(&gather);
    if (fl_msg_encode(desc, message, &gather, &err) != 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(gather.size, fl_msg_size(desc, message));
    const fl_slice bytes = flatten(&gather);
    fl_gather_deinit(&gather);
    return bytes;
}

static inline void assert_bytes_equal(fl_slice found, fl_slice expected)
{
    assert_int_equal(found.size, expected.size);
    if (found.size != 0) {
        assert_memory_equal(found.data, expected.data, found.size);
    }
}

/* The bytes do not decode, and the error says `text`. */
static inline void assert_refused(const fl_msg_desc *desc, fl_slice bytes, const char *text)
{
    fluss_error_t err = {0};
    void *message = fl_arena_alloc(&arena, fl_msg_struct_size(desc));
    assert_non_null(message);
    assert_int_equal(fl_msg_decode(desc, bytes, &arena, message, &err), FLUSS_E_CORRUPT_MESSAGE);
    if (strstr(err.message, text) == NULL) {
        fail_msg("`%s` does not say `%s`", err.message, text);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, arena_start, arena_end)
#endif
