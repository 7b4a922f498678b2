/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in their three formats: choice of the format, and the values that are the same in all of
 * them. All numbers are little endian. */
#include "format/row_codec.h"

#include <math.h>

#include "format/row_private.h"

enum {
    NANOS_PER_MS = 1000000,
    /* A nested row may spend one bit on a value, an array at least a byte. */
    ITEMS_PER_BYTE = 8,
    ITEMS_FREE = 64
};

fluss_code_t fl_row_decoder_items(fl_row_decoder *decoder, size_t count, fluss_datum_t **items)
{
    if (count > decoder->items_left) {
        return fl_error_corrupt(decoder->err, "row: nested values overlap or are too many (%zu)",
                                count);
    }
    decoder->items_left -= count;
    *items = fl_arena_array(decoder->arena, count, sizeof(**items));
    return *items != NULL ? 0 : fl_error_nomem(decoder->err);
}

fluss_code_t fl_row_encode_types(fl_row_format format, const fl_row_types *types,
                                 const fluss_datum_t *values, fl_buf *out, fluss_error_t *err)
{
    switch (format) {
    case FL_ROW_COMPACTED:
        return fl_compacted_encode(types, values, out, err);
    case FL_ROW_INDEXED:
        return fl_indexed_encode(types, values, out, err);
    case FL_ROW_ALIGNED:
        break;
    }
    return fl_aligned_encode(types, values, out, err);
}

fluss_code_t fl_row_decode_types(fl_row_decoder *decoder, fl_row_format format,
                                 const fl_row_types *types, fl_slice row, fluss_datum_t *values)
{
    switch (format) {
    case FL_ROW_COMPACTED:
        return fl_compacted_decode(decoder, types, row, values);
    case FL_ROW_INDEXED:
        return fl_indexed_decode(decoder, types, row, values);
    case FL_ROW_ALIGNED:
        break;
    }
    return fl_aligned_decode(decoder, types, row, values);
}

fluss_code_t fl_row_encode(fl_row_format format, const fl_type *const *types,
                           const fluss_datum_t *values, size_t count, fl_buf *out,
                           fluss_error_t *err)
{
    const fl_row_types all = {.list = types, .count = count};
    const size_t size = out->size;
    const fluss_code_t rc = fl_row_encode_types(format, &all, values, out, err);
    if (rc != 0) {
        out->size = size;
    }
    return rc;
}

fluss_code_t fl_row_decode(fl_row_format format, const fl_type *const *types, fl_slice row,
                           size_t count, fl_arena *arena, fluss_datum_t *values, fluss_error_t *err)
{
    const fl_row_types all = {.list = types, .count = count};
    size_t items = 0;
    if (!fl_mul_size(row.size, ITEMS_PER_BYTE, &items)) {
        items = SIZE_MAX - ITEMS_FREE;
    }
    fl_row_decoder decoder = {
        .arena = arena, .items_left = items + ITEMS_FREE, .bytes_left = row.size, .err = err};
    return fl_row_decode_types(&decoder, format, &all, row, values);
}

fluss_code_t fl_row_check_null(const fl_type *type, size_t index, fluss_error_t *err)
{
    return type->nullable
               ? 0
               : fl_error_argument(err, "row: value %zu is null, its type is %s NOT NULL", index,
                                   fl_type_root_name(type->root));
}

/* ---- numbers ---- */

size_t fl_fixed_width(const fl_type *type)
{
    switch ((fluss_type_t)type->root) {
    case FLUSS_BOOLEAN:
    case FLUSS_TINYINT:
        return 1;
    case FLUSS_SMALLINT:
        return 2;
    case FLUSS_INT:
    case FLUSS_DATE:
    case FLUSS_TIME:
    case FLUSS_FLOAT:
        return 4;
    case FLUSS_BIGINT:
    case FLUSS_DOUBLE:
        return 8;
    case FLUSS_DECIMAL:
        return fl_is_wide_decimal(type) ? 0 : 8;
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return fl_is_wide_timestamp(type) ? 0 : 8;
    case FLUSS_NULL:
    case FLUSS_CHAR:
    case FLUSS_STRING:
    case FLUSS_BINARY:
    case FLUSS_BYTES:
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW:
        break;
    }
    return 0;
}

/* Bits of a float or double; all NaNs are one. */
static uint32_t float_bits(double value)
{
    enum { FLOAT_NAN = 0x7fc00000 };
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    return isnan(value) ? FLOAT_NAN : bits;
}

static uint64_t double_bits(double value)
{
    const uint64_t double_nan = 0x7ff8000000000000;
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return isnan(value) ? double_nan : bits;
}

void fl_fixed_store(const fl_type *type, const fluss_datum_t *value, uint8_t *to)
{
    switch ((fluss_type_t)type->root) {
    case FLUSS_BOOLEAN:
        to[0] = value->v.b;
        return;
    case FLUSS_TINYINT:
        to[0] = (uint8_t)value->v.i;
        return;
    case FLUSS_SMALLINT:
        fl_store_i16(to, (int16_t)value->v.i);
        return;
    case FLUSS_FLOAT:
        fl_store_u32(to, float_bits(value->v.f));
        return;
    case FLUSS_DOUBLE:
        fl_store_u64(to, double_bits(value->v.f));
        return;
    case FLUSS_DECIMAL:
        fl_store_i64(to, fl_decimal_i64(value));
        return;
    default:
        break;
    }
    if (fl_fixed_width(type) == sizeof(int32_t)) {
        fl_store_i32(to, (int32_t)value->v.i);
    } else {
        fl_store_i64(to, value->v.i);
    }
}

static double load_float(const uint8_t *from)
{
    float narrow;
    memcpy(&narrow, from, sizeof(narrow));
    return (double)narrow;
}

void fl_fixed_load(const fl_type *type, const uint8_t *from, fluss_datum_t *value)
{
    *value = (fluss_datum_t){.type = type->root};
    switch ((fluss_type_t)type->root) {
    case FLUSS_BOOLEAN:
        value->v.b = from[0] != 0;
        return;
    case FLUSS_TINYINT:
        value->v.i = (int8_t)from[0];
        return;
    case FLUSS_SMALLINT:
        value->v.i = fl_load_i16(from);
        return;
    case FLUSS_FLOAT:
        value->v.f = load_float(from);
        return;
    case FLUSS_DOUBLE:
        memcpy(&value->v.f, from, sizeof(value->v.f));
        return;
    case FLUSS_DECIMAL:
        *value = fl_decimal_datum(fl_load_i64(from), type->precision, type->scale);
        return;
    default:
        break;
    }
    value->v.i = fl_fixed_width(type) == sizeof(int32_t) ? fl_load_i32(from) : fl_load_i64(from);
}

/* ---- wider values ---- */

fluss_code_t fl_load_text_or_bytes(fl_row_decoder *decoder, const fl_type *type, fl_slice bytes,
                                   fluss_datum_t *value)
{
    if (bytes.size > decoder->bytes_left) {
        return fl_error_corrupt(decoder->err, "row: texts or bytes overlap, the last of %zu bytes",
                                bytes.size);
    }
    decoder->bytes_left -= bytes.size;
    *value = (fluss_datum_t){.type = type->root};
    value->v.s.ptr = bytes.data;
    value->v.s.len = bytes.size;
    const bool is_text = type->root == FLUSS_CHAR || type->root == FLUSS_STRING;
    return !is_text || fl_utf8_is_valid(bytes.data, bytes.size)
               ? 0
               : fl_error_corrupt(decoder->err, "row: text of %zu bytes is not UTF-8", bytes.size);
}

fluss_code_t fl_load_wide_decimal(const fl_type *type, fl_slice bytes, fluss_datum_t *value,
                                  fluss_error_t *err)
{
    *value =
        (fluss_datum_t){.type = FLUSS_DECIMAL, .precision = type->precision, .scale = type->scale};
    if (!fl_decimal_from_bytes(bytes, value) ||
        !fl_decimal_fits(fl_decimal_unscaled(value), FL_DECIMAL_PRECISION_MAX)) {
        return fl_error_corrupt(err,
                                "row: a decimal of %zu bytes is no number of at most %d digits",
                                bytes.size, FL_DECIMAL_PRECISION_MAX);
    }
    return 0;
}

fluss_code_t fl_load_wide_timestamp(const fl_type *type, int64_t ms, uint32_t nanos,
                                    fluss_datum_t *value, fluss_error_t *err)
{
    *value = (fluss_datum_t){.type = type->root};
    value->v.i = ms;
    if (nanos >= NANOS_PER_MS) {
        return fl_error_corrupt(err, "row: %u nanoseconds within a millisecond, expected 0 to %d",
                                nanos, NANOS_PER_MS - 1);
    }
    value->nanos = (int32_t)nanos;
    return 0;
}
