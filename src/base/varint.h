/* SPDX-License-Identifier: Apache-2.0 */
/* Unsigned LEB128: seven bits a byte, least significant group first, high bit set while more
 * follow. Used by protobuf, rows and keys; negative values are their bit patterns of 32 or 64 bits.
 */
#ifndef FL_VARINT_H
#define FL_VARINT_H
#include "base/slice.h"

enum { FL_VARINT32_SIZE_MAX = 5, FL_VARINT64_SIZE_MAX = 10 };

static inline size_t fl_varint_size(uint64_t value)
{
    const unsigned bits = 64u - (unsigned)__builtin_clzll(value | 1);
    return (bits + 6) / 7;
}

/** Write at `to`, which has room for fl_varint_size(value) bytes; the size written. */
static inline size_t fl_varint_store(uint8_t *to, uint64_t value)
{
    size_t size = 0;
    while (value >= 0x80) {
        to[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[size++] = (uint8_t)value;
    return size;
}

/** Read at `from`; the size read, or 0 when it is cut off or longer than 64 bits allow. */
static inline size_t fl_varint_load(const uint8_t *from, size_t left, uint64_t *value)
{
    uint64_t result = 0;
    for (size_t i = 0; i < left && i < FL_VARINT64_SIZE_MAX; i++) {
        const uint64_t byte = from[i];
        if (i == FL_VARINT64_SIZE_MAX - 1 && byte > 1) {
            return 0;
        }
        result |= (byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            *value = result;
            return i + 1;
        }
    }
    return 0;
}

/** The same for 32 bits: at most five bytes; 0 when a bit above them is set. */
static inline size_t fl_varint32_load(const uint8_t *from, size_t left, uint32_t *value)
{
    uint64_t wide;
    const size_t size =
        fl_varint_load(from, left < FL_VARINT32_SIZE_MAX ? left : FL_VARINT32_SIZE_MAX, &wide);
    if (size == 0 || wide > UINT32_MAX) {
        return 0;
    }
    *value = (uint32_t)wide;
    return size;
}
#endif
