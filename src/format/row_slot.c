/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of aligned rows and of arrays.
 *
 * A number of up to 8 bytes lies in its slot (in arrays of its own width). Text and bytes of at
 * most 7 bytes lie in the slot too, with 0x80 | size in its last byte. All else lies in the
 * variable part, 8-aligned from the start of the row or array, and the slot says (offset << 32) |
 * size; of TIMESTAMP(> 3), whose milliseconds lie there, it says (offset << 32) | nanoseconds.
 * DECIMAL(> 18) always takes 16 bytes there. Source: AbstractBinaryWriter, Fluss 1.0. */
#include "format/row_private.h"

enum { INLINE_SIZE_MAX = 7, INLINE_MARK = 0x80, WIDE_DECIMAL_ROOM = 16 };

/* Pad with zeros to a multiple of 8 from base. */
static fluss_code_t pad(fl_buf *out, size_t base, fluss_error_t *err)
{
    const size_t size = out->size - base;
    return fl_buf_append_zeros(out, fl_align_up(size, FL_SLOT_SIZE) - size, err);
}

static fluss_code_t store_place(fl_buf *out, size_t base, size_t slot_at, size_t position,
                                size_t low, fluss_error_t *err)
{
    if (out->size - base > INT32_MAX) {
        return fl_error_argument(err, "row: %zu bytes are too large", out->size - base);
    }
    fl_store_u64(out->data + slot_at, ((uint64_t)(position - base) << 32) | low);
    return 0;
}

static fluss_code_t store_bytes(fl_slice bytes, size_t room, fl_buf *out, size_t base,
                                size_t slot_at, fluss_error_t *err)
{
    const size_t position = out->size;
    FL_TRY(fl_buf_append_slice(out, bytes, err));
    if (room > bytes.size) {
        FL_TRY(fl_buf_append_zeros(out, room - bytes.size, err));
    }
    FL_TRY(pad(out, base, err));
    return store_place(out, base, slot_at, position, bytes.size, err);
}

static fluss_code_t store_nested(fl_row_format format, const fl_type *type,
                                 const fluss_datum_t *value, fl_buf *out, size_t base,
                                 size_t slot_at, fluss_error_t *err)
{
    const size_t position = out->size;
    FL_TRY(fl_nested_encode(format, type, value, out, err));
    const size_t size = out->size - position;
    FL_TRY(pad(out, base, err));
    return store_place(out, base, slot_at, position, size, err);
}

fluss_code_t fl_slot_store(fl_row_format format, const fl_type *type, const fluss_datum_t *value,
                           fl_buf *out, size_t base, size_t slot_at, fluss_error_t *err)
{
    if (fl_type_root_is_nested(type->root)) {
        return store_nested(format, type, value, out, base, slot_at, err);
    }
    if (fl_is_text_or_bytes(type)) {
        const size_t size = value->v.s.len;
        if (size > INLINE_SIZE_MAX) {
            return store_bytes(fl_slice_of(value->v.s.ptr, size), 0, out, base, slot_at, err);
        }
        if (size != 0) {
            memcpy(out->data + slot_at, value->v.s.ptr, size);
        }
        out->data[slot_at + INLINE_SIZE_MAX] = (uint8_t)(INLINE_MARK | size);
        return 0;
    }
    if (fl_is_wide_decimal(type)) {
        uint8_t bytes[16];
        const size_t size = fl_decimal_to_bytes(value, bytes);
        return store_bytes(fl_slice_of(bytes, size), WIDE_DECIMAL_ROOM, out, base, slot_at, err);
    }
    if (fl_is_wide_timestamp(type)) {
        const size_t position = out->size;
        FL_TRY(fl_buf_append(out, &value->v.i, sizeof(value->v.i), err));
        return store_place(out, base, slot_at, position, (size_t)value->nanos, err);
    }
    fl_fixed_store(type, value, out->data + slot_at);
    return 0;
}

static fluss_code_t find_bytes(const fl_row_decoder *decoder, fl_slice whole, size_t offset,
                               size_t size, fl_slice *bytes)
{
    if (offset > whole.size || size > whole.size - offset) {
        return fl_error_corrupt(decoder->err,
                                "row or array of %zu bytes: %zu bytes at offset %zu lie outside",
                                whole.size, size, offset);
    }
    *bytes = fl_slice_sub(whole, offset, size);
    return 0;
}

fluss_code_t fl_slot_load(fl_row_decoder *decoder, fl_row_format format, const fl_type *type,
                          fl_slice whole, size_t slot_at, fluss_datum_t *value)
{
    if (fl_fixed_width(type) != 0) {
        fl_fixed_load(type, whole.data + slot_at, value);
        return 0;
    }
    const uint64_t slot = fl_load_u64(whole.data + slot_at);
    const size_t offset = (size_t)(slot >> 32);
    const size_t low = (size_t)(uint32_t)slot;
    fl_slice bytes;
    if (fl_is_text_or_bytes(type)) {
        const size_t inline_size = (size_t)(slot >> 56) & (INLINE_MARK - 1);
        if ((slot >> 63) == 0) {
            FL_TRY(find_bytes(decoder, whole, offset, low, &bytes));
        } else if (inline_size > INLINE_SIZE_MAX) {
            return fl_error_corrupt(decoder->err, "row or array: %zu bytes in a slot of 7",
                                    inline_size);
        } else {
            bytes = fl_slice_sub(whole, slot_at, inline_size);
        }
        return fl_load_text_or_bytes(decoder, type, bytes, value);
    }
    if (fl_is_wide_timestamp(type)) {
        FL_TRY(find_bytes(decoder, whole, offset, sizeof(int64_t), &bytes));
        return fl_load_wide_timestamp(type, fl_load_i64(bytes.data), (uint32_t)low, value,
                                      decoder->err);
    }
    FL_TRY(find_bytes(decoder, whole, offset, low, &bytes));
    return type->root == FLUSS_DECIMAL ? fl_load_wide_decimal(type, bytes, value, decoder->err)
                                       : fl_nested_decode(decoder, format, type, bytes, value);
}
