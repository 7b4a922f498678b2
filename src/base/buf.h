/* SPDX-License-Identifier: Apache-2.0 */
/* A growable byte buffer with a stated maximum. */
#ifndef FL_BUF_H
#define FL_BUF_H
#include "base/error.h"
#include "base/slice.h"

typedef struct fl_buf {
    uint8_t *data;
    size_t size, capacity, size_max;
} fl_buf;

/** Start empty. @param size_max bytes; growing past it is an error, never silent. */
void fl_buf_init(fl_buf *buf, size_t size_max);
/** Start empty over storage that stays the caller's: the buffer never grows, and must be neither
 * deinitialised nor taken from. */
void fl_buf_init_over(fl_buf *buf, uint8_t *storage, size_t capacity);
void fl_buf_deinit(fl_buf *buf);
/** Forget the content, keep the capacity. */
void fl_buf_reset(fl_buf *buf);
/** Make room for `size` more bytes. On failure the content is unchanged. */
FLUSS_CHECKED fluss_code_t fl_buf_reserve(fl_buf *buf, size_t size, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_buf_append(fl_buf *buf, const void *data, size_t size,
                                         fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_buf_append_slice(fl_buf *buf, fl_slice slice, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_buf_append_byte(fl_buf *buf, uint8_t byte, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_buf_append_zeros(fl_buf *buf, size_t size, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_buf_printf(fl_buf *buf, fluss_error_t *err, const char *format, ...)
    FL_PRINTF(3, 4);
/** views the content; valid until the next change. */
fl_slice fl_buf_slice(const fl_buf *buf);
/** gives the storage (fl_free); the buffer is empty afterwards. */
uint8_t *fl_buf_take(fl_buf *buf, size_t *size);
#endif
