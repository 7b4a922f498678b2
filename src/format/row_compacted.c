/* SPDX-License-Identifier: Apache-2.0 */
/* Compacted rows.
 *
 *   null bits   (count + 7) / 8 bytes; bit i of byte i / 8 (least significant first): field i is
 * null fields      in order, nulls without bytes: BOOLEAN, TINYINT 1 byte; SMALLINT 2; FLOAT 4;
 * DOUBLE 8 INT, DATE, TIME, BIGINT, DECIMAL(<= 18), TIMESTAMP(<= 3)   LEB128 of the bit pattern
 *     TIMESTAMP(> 3)   LEB128 of milliseconds, LEB128 of nanoseconds
 *     text, bytes, DECIMAL(> 18), nested                         LEB128 size, bytes
 *
 * Null bits of NOT NULL types are not read. Source: CompactedRowWriter and -Reader, Fluss 1.0. */
#include "base/varint.h"
#include "format/row_private.h"

static fluss_code_t append_varint(fl_buf *out, uint64_t value, fluss_error_t *err)
{
    FL_TRY(fl_buf_reserve(out, FL_VARINT64_SIZE_MAX, err));
    out->size += fl_varint_store(out->data + out->size, value);
    return 0;
}

static fluss_code_t append_sized(fl_buf *out, const void *data, size_t size, fluss_error_t *err)
{
    if (size > INT32_MAX) {
        return fl_error_argument(err, "row: a value of %zu bytes is too large", size);
    }
    FL_TRY(append_varint(out, size, err));
    return size == 0 ? 0 : fl_buf_append(out, data, size, err);
}

/* A nested value: its size is known when it is written, so it is moved behind its size then. */
static fluss_code_t append_nested(const fl_type *type, const fluss_datum_t *value, fl_buf *out,
                                  fluss_error_t *err)
{
    const size_t at = out->size;
    FL_TRY(fl_nested_encode(FL_ROW_COMPACTED, type, value, out, err));
    const size_t size = out->size - at;
    const size_t prefix_size = fl_varint_size(size);
    FL_TRY(fl_buf_reserve(out, prefix_size, err));
    memmove(out->data + at + prefix_size, out->data + at, size);
    (void)fl_varint_store(out->data + at, size);
    out->size += prefix_size;
    return 0;
}

fluss_code_t fl_compacted_encode_value(const fl_type *type, const fluss_datum_t *value, fl_buf *out,
                                       fluss_error_t *err)
{
    switch ((fluss_type_t)type->root) {
    case FLUSS_INT:
    case FLUSS_DATE:
    case FLUSS_TIME:
        return append_varint(out, (uint32_t)value->v.i, err);
    case FLUSS_BIGINT:
        return append_varint(out, (uint64_t)value->v.i, err);
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        FL_TRY(append_varint(out, (uint64_t)value->v.i, err));
        return fl_is_wide_timestamp(type) ? append_varint(out, (uint32_t)value->nanos, err) : 0;
    case FLUSS_CHAR:
    case FLUSS_STRING:
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return append_sized(out, value->v.s.ptr, value->v.s.len, err);
    case FLUSS_DECIMAL:
        if (fl_is_wide_decimal(type)) {
            uint8_t bytes[16];
            const size_t size = fl_decimal_to_bytes(value, bytes);
            return append_sized(out, bytes, size, err);
        }
        return append_varint(out, (uint64_t)fl_decimal_i64(value), err);
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW:
        return append_nested(type, value, out, err);
    case FLUSS_NULL:
    case FLUSS_BOOLEAN:
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        break;
    }
    const size_t width = fl_fixed_width(type);
    FL_TRY(fl_buf_reserve(out, width, err));
    fl_fixed_store(type, value, out->data + out->size);
    out->size += width;
    return 0;
}

fluss_code_t fl_compacted_encode(const fl_row_types *types, const fluss_datum_t *values,
                                 fl_buf *out, fluss_error_t *err)
{
    const size_t base = out->size;
    FL_TRY(fl_buf_append_zeros(out, (types->count + 7) / 8, err));
    for (size_t i = 0; i < types->count; i++) {
        const fl_type *type = fl_row_type_at(types, i);
        if (values[i].type != FLUSS_NULL) {
            FL_TRY(fl_compacted_encode_value(type, &values[i], out, err));
            continue;
        }
        FL_TRY(fl_row_check_null(type, i, err));
        uint8_t *byte = &out->data[base + i / 8];
        *byte = (uint8_t)(*byte | (1u << (i % 8)));
    }
    return 0;
}

/* ---- reading ---- */

typedef struct cursor {
    fl_row_decoder *decoder;
    fl_slice row;
    size_t at;
} cursor;

static size_t left(const cursor *from)
{
    return from->row.size - from->at;
}

static fluss_code_t cut_off(const cursor *from, const char *what)
{
    return fl_error_corrupt(
        from->decoder->err,
        "compacted row of %zu bytes: %s at position %zu is cut off or too large", from->row.size,
        what, from->at);
}

static fluss_code_t read_u32(cursor *from, uint32_t *value)
{
    const size_t size = fl_varint32_load(from->row.data + from->at, left(from), value);
    if (size == 0) {
        return cut_off(from, "a 32-bit number");
    }
    from->at += size;
    return 0;
}

static fluss_code_t read_u64(cursor *from, uint64_t *value)
{
    const size_t size = fl_varint_load(from->row.data + from->at, left(from), value);
    if (size == 0) {
        return cut_off(from, "a 64-bit number");
    }
    from->at += size;
    return 0;
}

static fluss_code_t read_sized(cursor *from, fl_slice *bytes)
{
    uint32_t size;
    FL_TRY(read_u32(from, &size));
    if (size > left(from)) {
        return cut_off(from, "a value");
    }
    *bytes = fl_slice_sub(from->row, from->at, size);
    from->at += size;
    return 0;
}

static fluss_code_t read_sized_value(cursor *from, const fl_type *type, fluss_datum_t *value)
{
    fl_slice bytes;
    FL_TRY(read_sized(from, &bytes));
    if (fl_type_root_is_nested(type->root)) {
        return fl_nested_decode(from->decoder, FL_ROW_COMPACTED, type, bytes, value);
    }
    return type->root == FLUSS_DECIMAL
               ? fl_load_wide_decimal(type, bytes, value, from->decoder->err)
               : fl_load_text_or_bytes(from->decoder, type, bytes, value);
}

static fluss_code_t read_number(cursor *from, const fl_type *type, fluss_datum_t *value)
{
    *value = (fluss_datum_t){.type = type->root};
    if (type->root == FLUSS_INT || type->root == FLUSS_DATE || type->root == FLUSS_TIME) {
        uint32_t narrow = 0;
        FL_TRY(read_u32(from, &narrow));
        value->v.i = (int32_t)narrow;
        return 0;
    }
    uint64_t wide = 0;
    FL_TRY(read_u64(from, &wide));
    if (type->root == FLUSS_DECIMAL) {
        *value = fl_decimal_datum((int64_t)wide, type->precision, type->scale);
        return 0;
    }
    value->v.i = (int64_t)wide;
    if (fl_is_wide_timestamp(type)) {
        uint32_t nanos = 0;
        FL_TRY(read_u32(from, &nanos));
        return fl_load_wide_timestamp(type, (int64_t)wide, nanos, value, from->decoder->err);
    }
    return 0;
}

static fluss_code_t read_value(cursor *from, const fl_type *type, fluss_datum_t *value)
{
    if (fl_is_text_or_bytes(type) || fl_type_root_is_nested(type->root) ||
        fl_is_wide_decimal(type)) {
        return read_sized_value(from, type, value);
    }
    if (type->root == FLUSS_INT || type->root == FLUSS_BIGINT || type->root >= FLUSS_DECIMAL) {
        return read_number(from, type, value);
    }
    const size_t width = fl_fixed_width(type);
    if (width > left(from)) {
        return cut_off(from, "a number");
    }
    fl_fixed_load(type, from->row.data + from->at, value);
    from->at += width;
    return 0;
}

fluss_code_t fl_compacted_decode(fl_row_decoder *decoder, const fl_row_types *types, fl_slice row,
                                 fluss_datum_t *values)
{
    const size_t bits_size = (types->count + 7) / 8;
    if (row.size < bits_size) {
        return fl_error_corrupt(
            decoder->err, "compacted row of %zu bytes: %zu fields need %zu bytes of null bits",
            row.size, types->count, bits_size);
    }
    cursor from = {.decoder = decoder, .row = row, .at = bits_size};
    for (size_t i = 0; i < types->count; i++) {
        const fl_type *type = fl_row_type_at(types, i);
        if (type->nullable && ((row.data[i / 8] >> (i % 8)) & 1) != 0) {
            values[i] = (fluss_datum_t){.type = FLUSS_NULL};
            continue;
        }
        FL_TRY(read_value(&from, type, &values[i]));
    }
    if (left(&from) != 0) {
        return fl_error_corrupt(decoder->err,
                                "compacted row of %zu bytes: its %zu fields end at position %zu",
                                row.size, types->count, from.at);
    }
    return 0;
}
