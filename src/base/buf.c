/* SPDX-License-Identifier: Apache-2.0 */
/* Grows by half, from 64 bytes, never past the maximum that its owner stated: a length from the
 * network cannot make it take all memory. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

enum { CAPACITY_MIN = 64 };

void fl_buf_init(fl_buf *buf, size_t size_max)
{
    *buf = (fl_buf){.size_max = size_max};
}

void fl_buf_init_over(fl_buf *buf, uint8_t *storage, size_t capacity)
{
    *buf = (fl_buf){.data = storage, .capacity = capacity, .size_max = capacity};
}

void fl_buf_deinit(fl_buf *buf)
{
    fl_free(buf->data);
    fl_buf_init(buf, buf->size_max);
}

void fl_buf_reset(fl_buf *buf)
{
    buf->size = 0;
}

fluss_code_t fl_buf_reserve(fl_buf *buf, size_t size, fluss_error_t *err)
{
    size_t wanted;
    if (!fl_add_size(buf->size, size, &wanted) || wanted > buf->size_max) {
        return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_ARGUMENT,
                        "%zu more bytes do not fit a buffer of %zu bytes, limit %zu", size,
                        buf->size, buf->size_max);
    }
    if (wanted <= buf->capacity) {
        return 0;
    }
    size_t capacity = buf->capacity + buf->capacity / 2;
    capacity = capacity < CAPACITY_MIN ? CAPACITY_MIN : capacity;
    capacity = capacity < wanted ? wanted : capacity;
    capacity = capacity > buf->size_max ? buf->size_max : capacity;
    uint8_t *data = fl_realloc(buf->data, capacity);
    if (data == NULL) {
        return fl_error_nomem(err);
    }
    buf->data = data;
    buf->capacity = capacity;
    return 0;
}

fluss_code_t fl_buf_append(fl_buf *buf, const void *data, size_t size, fluss_error_t *err)
{
    FL_TRY(fl_buf_reserve(buf, size, err));
    if (size != 0) {
        memcpy(buf->data + buf->size, data, size);
        buf->size += size;
    }
    return 0;
}

fluss_code_t fl_buf_append_slice(fl_buf *buf, fl_slice slice, fluss_error_t *err)
{
    return fl_buf_append(buf, slice.data, slice.size, err);
}

fluss_code_t fl_buf_append_byte(fl_buf *buf, uint8_t byte, fluss_error_t *err)
{
    return fl_buf_append(buf, &byte, 1, err);
}

fluss_code_t fl_buf_append_zeros(fl_buf *buf, size_t size, fluss_error_t *err)
{
    FL_TRY(fl_buf_reserve(buf, size, err));
    if (size != 0) {
        memset(buf->data + buf->size, 0, size);
        buf->size += size;
    }
    return 0;
}

fluss_code_t fl_buf_printf(fl_buf *buf, fluss_error_t *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int needed = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (needed < 0) {
        return fl_error_argument(err, "text that can't be formatted: %s", format);
    }
    FL_TRY(fl_buf_reserve(buf, (size_t)needed + 1, err));
    va_start(args, format);
    (void)vsnprintf((char *)buf->data + buf->size, (size_t)needed + 1, format, args);
    va_end(args);
    buf->size += (size_t)needed;
    return 0;
}

fl_slice fl_buf_slice(const fl_buf *buf)
{
    return fl_slice_of(buf->data, buf->size);
}

uint8_t *fl_buf_take(fl_buf *buf, size_t *size)
{
    uint8_t *data = buf->data;
    *size = buf->size;
    fl_buf_init(buf, buf->size_max);
    return data;
}
