/* SPDX-License-Identifier: Apache-2.0 */
/* What the encoders and decoders of rows, arrays and keys share (row_*.c, binary_array.c, key_*.c).
 */
#ifndef FL_ROW_PRIVATE_H
#define FL_ROW_PRIVATE_H
#include "base/utf8.h"
#include "format/decimal.h"
#include "format/row_codec.h"

/** The types of a row: a list of pointers, or the fields of a ROW. */
typedef struct fl_row_types {
    const fl_type *const *list; /* NULL: fields */
    const fl_field *fields;
    size_t count;
} fl_row_types;
static inline const fl_type *fl_row_type_at(const fl_row_types *types, size_t index)
{
    return types->list != NULL ? types->list[index] : &types->fields[index].type;
}

/** What a decoder carries along. Offsets of arrays may overlap, so bytes alone do not bound the
 * number of values, nor what their texts hold together: `items_left` and `bytes_left` do. */
typedef struct fl_row_decoder {
    fl_arena *arena;
    size_t items_left;
    size_t bytes_left; /* of texts and bytes */
    fluss_error_t *err;
} fl_row_decoder;
/** Room for nested values; counts them. @return FLUSS_E_CORRUPT_MESSAGE: more than the bytes of the
 * row could hold */
FLUSS_CHECKED fluss_code_t fl_row_decoder_items(fl_row_decoder *decoder, size_t count,
                                                fluss_datum_t **items);

/* ---- rows ---- */
FLUSS_CHECKED fluss_code_t fl_row_encode_types(fl_row_format format, const fl_row_types *types,
                                               const fluss_datum_t *values, fl_buf *out,
                                               fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_row_decode_types(fl_row_decoder *decoder, fl_row_format format,
                                               const fl_row_types *types, fl_slice row,
                                               fluss_datum_t *values);
FLUSS_CHECKED fluss_code_t fl_compacted_encode(const fl_row_types *types,
                                               const fluss_datum_t *values, fl_buf *out,
                                               fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_compacted_decode(fl_row_decoder *decoder, const fl_row_types *types,
                                               fl_slice row, fluss_datum_t *values);
/** One value without null bits, as in a compacted key. */
FLUSS_CHECKED fluss_code_t fl_compacted_encode_value(const fl_type *type,
                                                     const fluss_datum_t *value, fl_buf *out,
                                                     fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_indexed_encode(const fl_row_types *types, const fluss_datum_t *values,
                                             fl_buf *out, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_indexed_decode(fl_row_decoder *decoder, const fl_row_types *types,
                                             fl_slice row, fluss_datum_t *values);
FLUSS_CHECKED fluss_code_t fl_aligned_encode(const fl_row_types *types, const fluss_datum_t *values,
                                             fl_buf *out, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_aligned_decode(fl_row_decoder *decoder, const fl_row_types *types,
                                             fl_slice row, fluss_datum_t *values);

/* ---- nested values: BinaryArray, BinaryMap, a row of the format ---- */
FLUSS_CHECKED fluss_code_t fl_nested_encode(fl_row_format format, const fl_type *type,
                                            const fluss_datum_t *value, fl_buf *out,
                                            fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_nested_decode(fl_row_decoder *decoder, fl_row_format format,
                                            const fl_type *type, fl_slice bytes,
                                            fluss_datum_t *value);

/* ---- single values ---- */
enum { FL_DECIMAL_COMPACT_PRECISION_MAX = 18, FL_TIMESTAMP_COMPACT_PRECISION_MAX = 3 };
static inline bool fl_is_timestamp(const fl_type *type)
{
    return type->root == FLUSS_TIMESTAMP || type->root == FLUSS_TIMESTAMP_LTZ;
}
static inline bool fl_is_text_or_bytes(const fl_type *type)
{
    return type->root >= FLUSS_CHAR && type->root <= FLUSS_BYTES;
}
static inline bool fl_is_wide_decimal(const fl_type *type)
{
    return type->root == FLUSS_DECIMAL && type->precision > FL_DECIMAL_COMPACT_PRECISION_MAX;
}
static inline bool fl_is_wide_timestamp(const fl_type *type)
{
    return fl_is_timestamp(type) && type->precision > FL_TIMESTAMP_COMPACT_PRECISION_MAX;
}
/** Bytes of a value that is one little-endian number of 1, 2, 4 or 8 bytes; 0 for the others. */
size_t fl_fixed_width(const fl_type *type);
/** Store and load such a value. */
void fl_fixed_store(const fl_type *type, const fluss_datum_t *value, uint8_t *to);
void fl_fixed_load(const fl_type *type, const uint8_t *from, fluss_datum_t *value);
/** Low 64 bits of an unscaled decimal, and a decimal from them. */
static inline int64_t fl_decimal_i64(const fluss_datum_t *value)
{
    return (int64_t)value->v.dec.lo;
}

/** Fill a value of a type from its bytes; text must be UTF-8. `value` is zeroed before. */
FLUSS_CHECKED fluss_code_t fl_load_text_or_bytes(fl_row_decoder *decoder, const fl_type *type,
                                                 fl_slice bytes, fluss_datum_t *value);
FLUSS_CHECKED fluss_code_t fl_load_wide_decimal(const fl_type *type, fl_slice bytes,
                                                fluss_datum_t *value, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_load_wide_timestamp(const fl_type *type, int64_t ms, uint32_t nanos,
                                                  fluss_datum_t *value, fluss_error_t *err);

/** A null where the type allows none: an argument error naming the index. */
FLUSS_CHECKED fluss_code_t fl_row_check_null(const fl_type *type, size_t index, fluss_error_t *err);

/* ---- slots of aligned rows and arrays ---- */
enum { FL_SLOT_SIZE = 8 };
/** Store a non-null value at the slot `slot_at` of `out`, and what does not fit behind the end of
 * `out`, 8-aligned. @param base where the row or array begins in out; all offsets count from it */
FLUSS_CHECKED fluss_code_t fl_slot_store(fl_row_format format, const fl_type *type,
                                         const fluss_datum_t *value, fl_buf *out, size_t base,
                                         size_t slot_at, fluss_error_t *err);
/** Load the value of the slot at `slot_at` of a whole row or array; the slot lies inside. */
FLUSS_CHECKED fluss_code_t fl_slot_load(fl_row_decoder *decoder, fl_row_format format,
                                        const fl_type *type, fl_slice whole, size_t slot_at,
                                        fluss_datum_t *value);
#endif
