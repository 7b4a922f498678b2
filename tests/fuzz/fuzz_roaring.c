/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the union of Roaring bitmaps. The first byte picks the width, the second says which share
 * of the rest is the first bitmap.
 *
 * What must hold for any input: no access outside it, an error that names a place or a union;
 * memory within a multiple of the input; a union that unites with itself to the same values, so
 * that its size stays. */
#include "format/roaring.h"

enum { ARENA_SIZE_MIN = 1 << 18, GROWTH_MAX = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fluss_code_t unite(bool is_64, fl_slice a, fl_slice b, fl_buf *out, fluss_error_t *err)
{
    fl_arena arena;
    fl_arena_init(&arena);
    const fluss_code_t rc = (is_64 ? fl_roaring64_or : fl_roaring32_or)(a, b, &arena, out, err);
    FL_ASSERT(arena.size_total <= ARENA_SIZE_MIN + GROWTH_MAX * (a.size + b.size));
    fl_arena_deinit(&arena);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    const bool is_64 = (data[0] & 1) != 0;
    const size_t first = (size - 2) * data[1] / 255;
    const fl_slice a = fl_slice_of(data + 2, first),
                   b = fl_slice_of(data + 2 + first, size - 2 - first);
    fl_buf both, again;
    fluss_error_t err;
    fl_buf_init(&both, INT32_MAX);
    fl_buf_init(&again, INT32_MAX);
    const fluss_code_t rc = unite(is_64, a, b, &both, &err);
    FL_ASSERT(rc == 0 || (rc == FLUSS_E_CORRUPT_MESSAGE && err.message[0] != '\0'));
    for (int i = 0; i < 2 && rc == 0; i++) { /* the first time, runs that are too long may go */
        fl_buf_reset(&again);
        const fluss_code_t again_rc =
            unite(is_64, fl_buf_slice(&both), fl_buf_slice(&both), &again, &err);
        FL_ASSERT(again_rc == 0 && (i == 0 || again.size == both.size));
        const fl_buf swapped = both;
        both = again;
        again = swapped;
    }
    fl_buf_deinit(&both);
    fl_buf_deinit(&again);
    return 0;
}
