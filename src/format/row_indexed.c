/* SPDX-License-Identifier: Apache-2.0 */
/* Indexed rows.
 *
 *   null bits   (count + 7) / 8 bytes, as in compacted rows
 *   sizes       i32 for each variable type; packed: the k-th says the size of the k-th value that
 * is variable and not null, what is left over is 0 fields      in order, nulls without bytes;
 * numbers in full width, TIMESTAMP(> 3) as i64 milliseconds and i32 nanoseconds, CHAR(n) and
 * BINARY(n) in n bytes with zeros behind
 *
 * Variable are STRING, BYTES, DECIMAL(> 18) and nested types. CHAR loses trailing zeros when read;
 * BINARY(n) is read as its n bytes. Source: IndexedRowWriter and -Reader, Fluss 1.0. */
#include "format/row_private.h"

enum { WIDE_TIMESTAMP_SIZE = sizeof(int64_t) + sizeof(int32_t) };

static bool is_variable(const fl_type *type)
{
    return type->root == FLUSS_STRING || type->root == FLUSS_BYTES || fl_is_wide_decimal(type) ||
           fl_type_root_is_nested(type->root);
}

static size_t count_variable(const fl_row_types *types)
{
    size_t count = 0;
    for (size_t i = 0; i < types->count; i++) {
        count += is_variable(fl_row_type_at(types, i));
    }
    return count;
}

static fluss_code_t append_padded(const fl_type *type, const fluss_datum_t *value, fl_buf *out,
                                  fluss_error_t *err)
{
    const size_t width = (size_t)type->length;
    if (value->v.s.len > width) {
        return fl_error_argument(err, "row: %zu bytes do not fit %s(%d) of an indexed row",
                                 value->v.s.len, fl_type_root_name(type->root), type->length);
    }
    if (value->v.s.len != 0) {
        FL_TRY(fl_buf_append(out, value->v.s.ptr, value->v.s.len, err));
    }
    return fl_buf_append_zeros(out, width - value->v.s.len, err);
}

static fluss_code_t append_value(const fl_type *type, const fluss_datum_t *value, fl_buf *out,
                                 fluss_error_t *err)
{
    if (fl_type_root_is_nested(type->root)) {
        return fl_nested_encode(FL_ROW_INDEXED, type, value, out, err);
    }
    if (type->root == FLUSS_STRING || type->root == FLUSS_BYTES) {
        return value->v.s.len == 0 ? 0 : fl_buf_append(out, value->v.s.ptr, value->v.s.len, err);
    }
    if (fl_is_text_or_bytes(type)) {
        return append_padded(type, value, out, err);
    }
    if (fl_is_wide_decimal(type)) {
        uint8_t bytes[16];
        const size_t size = fl_decimal_to_bytes(value, bytes);
        return fl_buf_append(out, bytes, size, err);
    }
    if (fl_is_wide_timestamp(type)) {
        uint8_t bytes[WIDE_TIMESTAMP_SIZE];
        fl_store_i64(bytes, value->v.i);
        fl_store_i32(bytes + sizeof(int64_t), value->nanos);
        return fl_buf_append(out, bytes, sizeof(bytes), err);
    }
    uint8_t bytes[sizeof(int64_t)];
    fl_fixed_store(type, value, bytes);
    return fl_buf_append(out, bytes, fl_fixed_width(type), err);
}

fluss_code_t fl_indexed_encode(const fl_row_types *types, const fluss_datum_t *values, fl_buf *out,
                               fluss_error_t *err)
{
    const size_t base = out->size;
    const size_t bits_size = (types->count + 7) / 8;
    const size_t sizes_size = count_variable(types) * sizeof(int32_t);
    FL_TRY(fl_buf_append_zeros(out, bits_size + sizes_size, err));
    size_t size_at = base + bits_size;
    for (size_t i = 0; i < types->count; i++) {
        const fl_type *type = fl_row_type_at(types, i);
        if (values[i].type == FLUSS_NULL) {
            FL_TRY(fl_row_check_null(type, i, err));
            uint8_t *byte = &out->data[base + i / 8];
            *byte = (uint8_t)(*byte | (1u << (i % 8)));
            continue;
        }
        const size_t at = out->size;
        FL_TRY(append_value(type, &values[i], out, err));
        const size_t size = out->size - at;
        if (is_variable(type)) {
            if (size > INT32_MAX) {
                return fl_error_argument(err, "row: value %zu of %zu bytes is too large", i, size);
            }
            fl_store_i32(out->data + size_at, (int32_t)size);
            size_at += sizeof(int32_t);
        }
    }
    return 0;
}

/* ---- reading ---- */

typedef struct cursor {
    fl_row_decoder *decoder;
    fl_slice row;
    size_t size_at; /* of the next variable value */
    size_t at;
} cursor;

/* Bytes of the next value. */
static fluss_code_t take(cursor *from, const fl_type *type, fl_slice *bytes)
{
    const size_t left = from->row.size - from->at;
    size_t size = fl_fixed_width(type);
    bool is_possible = true;
    if (is_variable(type)) {
        is_possible = fl_size_from_i32(fl_load_i32(from->row.data + from->size_at), &size);
        from->size_at += sizeof(int32_t);
    } else if (fl_type_root_has_length(type->root)) {
        size = (size_t)type->length;
    } else if (fl_is_wide_timestamp(type)) {
        size = WIDE_TIMESTAMP_SIZE;
    }
    if (!is_possible || size > left) {
        return fl_error_corrupt(from->decoder->err,
                                "indexed row of %zu bytes: %s at position %zu is cut off",
                                from->row.size, fl_type_root_name(type->root), from->at);
    }
    *bytes = fl_slice_sub(from->row, from->at, size);
    from->at += size;
    return 0;
}

static fluss_code_t read_value(cursor *from, const fl_type *type, fluss_datum_t *value)
{
    fl_slice bytes;
    fluss_error_t *err = from->decoder->err;
    FL_TRY(take(from, type, &bytes));
    if (fl_type_root_is_nested(type->root)) {
        return fl_nested_decode(from->decoder, FL_ROW_INDEXED, type, bytes, value);
    }
    if (fl_is_text_or_bytes(type)) {
        while (type->root == FLUSS_CHAR && bytes.size > 0 && bytes.data[bytes.size - 1] == 0) {
            bytes.size--;
        }
        return fl_load_text_or_bytes(from->decoder, type, bytes, value);
    }
    if (fl_is_wide_decimal(type)) {
        return fl_load_wide_decimal(type, bytes, value, err);
    }
    if (fl_is_wide_timestamp(type)) {
        return fl_load_wide_timestamp(type, fl_load_i64(bytes.data),
                                      fl_load_u32(bytes.data + sizeof(int64_t)), value, err);
    }
    fl_fixed_load(type, bytes.data, value);
    return 0;
}

fluss_code_t fl_indexed_decode(fl_row_decoder *decoder, const fl_row_types *types, fl_slice row,
                               fluss_datum_t *values)
{
    const size_t bits_size = (types->count + 7) / 8;
    const size_t head_size = bits_size + count_variable(types) * sizeof(int32_t);
    if (row.size < head_size) {
        return fl_error_corrupt(decoder->err,
                                "indexed row of %zu bytes: the head of %zu fields has %zu bytes",
                                row.size, types->count, head_size);
    }
    cursor from = {.decoder = decoder, .row = row, .size_at = bits_size, .at = head_size};
    for (size_t i = 0; i < types->count; i++) {
        const fl_type *type = fl_row_type_at(types, i);
        if (type->nullable && ((row.data[i / 8] >> (i % 8)) & 1) != 0) {
            values[i] = (fluss_datum_t){.type = FLUSS_NULL};
            continue;
        }
        FL_TRY(read_value(&from, type, &values[i]));
    }
    if (from.at != row.size) {
        return fl_error_corrupt(decoder->err,
                                "indexed row of %zu bytes: its %zu fields end at position %zu",
                                row.size, types->count, from.at);
    }
    return 0;
}
