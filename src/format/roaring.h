/* SPDX-License-Identifier: Apache-2.0 */
/* Unions of serialised Roaring bitmaps, as the aggregation functions RBM32 and RBM64 make them. The
 * result has the bytes that the Java library RoaringBitmap 1.3 gives for the same operands:
 * a.or(b), a.runOptimize(), serialised. Pure functions over untrusted bytes. */
#ifndef FL_ROARING_H
#define FL_ROARING_H
#include "base/arena.h"
#include "base/buf.h"

/**
 * Unite two bitmaps of 32-bit integers, in the portable form of RoaringBitmap.
 *
 * @param a     what the order of the result comes from, where it matters; borrowed
 * @param arena of everything that the union needs, a few bytes for each byte of a and b
 * @param out   the result is appended
 * @return FLUSS_E_CORRUPT_MESSAGE names the place of what is not a bitmap, `out` is undefined then
 * Cost: one pass over both; 8 KiB of scratch for each pair of containers. Source:
 * https://github.com/RoaringBitmap/RoaringFormatSpec
 */
FLUSS_CHECKED fluss_code_t fl_roaring32_or(fl_slice a, fl_slice b, fl_arena *arena, fl_buf *out,
                                           fluss_error_t *err);
/** The same for bitmaps of 64-bit integers, in the form of Java's Roaring64Bitmap, which is not the
 * portable one (roaring64.c has its layout). */
FLUSS_CHECKED fluss_code_t fl_roaring64_or(fl_slice a, fl_slice b, fl_arena *arena, fl_buf *out,
                                           fluss_error_t *err);
#endif
