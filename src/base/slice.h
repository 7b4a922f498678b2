/* SPDX-License-Identifier: Apache-2.0 */
/* A view of bytes that someone else owns; unaligned and endian access; checked sizes. */
#ifndef FL_SLICE_H
#define FL_SLICE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct fl_slice {
    const uint8_t *data;
    size_t size;
} fl_slice;

static inline fl_slice fl_slice_of(const void *data, size_t size)
{
    return (fl_slice){.data = data, .size = size};
}

static inline fl_slice fl_slice_str(const char *text)
{
    return fl_slice_of(text, strlen(text));
}

/** The part from `position` on, `size` bytes; the caller has checked that it lies inside. */
static inline fl_slice fl_slice_sub(fl_slice slice, size_t position, size_t size)
{
    return fl_slice_of(slice.data + position, size);
}

static inline bool fl_slice_equal(fl_slice a, fl_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool fl_slice_equal_str(fl_slice a, const char *text)
{
    return fl_slice_equal(a, fl_slice_str(text));
}

/* Unaligned loads and stores. All hosts are little endian; the wire's frames are big endian. */
#define FL_DEFINE_LOAD_STORE(bits)                                       \
    static inline uint##bits##_t fl_load_u##bits(const void *from)       \
    {                                                                    \
        uint##bits##_t value;                                            \
        memcpy(&value, from, sizeof(value));                             \
        return value;                                                    \
    }                                                                    \
    static inline int##bits##_t fl_load_i##bits(const void *from)        \
    {                                                                    \
        return (int##bits##_t)fl_load_u##bits(from);                     \
    }                                                                    \
    static inline void fl_store_u##bits(void *to, uint##bits##_t value)  \
    {                                                                    \
        memcpy(to, &value, sizeof(value));                               \
    }                                                                    \
    static inline void fl_store_i##bits(void *to, int##bits##_t value)   \
    {                                                                    \
        fl_store_u##bits(to, (uint##bits##_t)value);                     \
    }                                                                    \
    static inline uint##bits##_t fl_load_be##bits(const void *from)      \
    {                                                                    \
        return __builtin_bswap##bits(fl_load_u##bits(from));             \
    }                                                                    \
    static inline void fl_store_be##bits(void *to, uint##bits##_t value) \
    {                                                                    \
        fl_store_u##bits(to, __builtin_bswap##bits(value));              \
    }
FL_DEFINE_LOAD_STORE(16)
FL_DEFINE_LOAD_STORE(32)
FL_DEFINE_LOAD_STORE(64)
#undef FL_DEFINE_LOAD_STORE
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "formats are read in place on little-endian hosts");

/** Checked arithmetic on sizes: false when the result does not fit. */
static inline bool fl_add_size(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool fl_mul_size(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/** A wire length as a size: false when negative. */
static inline bool fl_size_from_i32(int32_t value, size_t *size)
{
    *size = (size_t)value;
    return value >= 0;
}

static inline size_t fl_align_up(size_t size, size_t power_of_two)
{
    return (size + power_of_two - 1) & ~(power_of_two - 1);
}
#endif
