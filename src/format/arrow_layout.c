/* SPDX-License-Identifier: Apache-2.0 */
/* How Fluss types lie in Arrow arrays, and bitmaps. The child of a MAP
 * is described as a NOT NULL ROW of key and value, so that all walks over types know one kind of
 * list.
 */
#include "format/arrow_private.h"

fl_arrow_layout fl_arrow_layout_of(const fl_type *type)
{
    switch (type->root) {
    case FLUSS_BOOLEAN:
        return FL_LAYOUT_BITS;
    case FLUSS_CHAR:
    case FLUSS_STRING:
    case FLUSS_BYTES:
        return FL_LAYOUT_VAR;
    case FLUSS_ARRAY:
    case FLUSS_MAP:
        return FL_LAYOUT_LIST;
    case FLUSS_ROW:
        return FL_LAYOUT_STRUCT;
    default:
        return FL_LAYOUT_FIXED;
    }
}

/* Digits after the second: none, milli, micro, nano. */
static fl_arrow_cell with_unit(fl_arrow_cell seconds, uint8_t precision)
{
    return (fl_arrow_cell)((unsigned)seconds + (precision + 2u) / 3u);
}

fl_arrow_cell fl_arrow_cell_of(const fl_type *type)
{
    switch (type->root) {
    case FLUSS_BOOLEAN:
        return FL_CELL_BOOL;
    case FLUSS_TINYINT:
        return FL_CELL_I8;
    case FLUSS_SMALLINT:
        return FL_CELL_I16;
    case FLUSS_INT:
    case FLUSS_DATE:
        return FL_CELL_I32;
    case FLUSS_BIGINT:
        return FL_CELL_I64;
    case FLUSS_FLOAT:
        return FL_CELL_F32;
    case FLUSS_DOUBLE:
        return FL_CELL_F64;
    case FLUSS_DECIMAL:
        return FL_CELL_DECIMAL;
    case FLUSS_TIME:
        return with_unit(FL_CELL_TIME_S, type->precision);
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return with_unit(FL_CELL_TIMESTAMP_S, type->precision);
    case FLUSS_BINARY:
        return FL_CELL_BINARY;
    case FLUSS_ARRAY:
        return FL_CELL_LIST;
    case FLUSS_MAP:
        return FL_CELL_MAP;
    case FLUSS_ROW:
        return FL_CELL_STRUCT;
    default:
        return FL_CELL_VAR;
    }
}

size_t fl_arrow_width(const fl_type *type)
{
    switch (fl_arrow_cell_of(type)) {
    case FL_CELL_I8:
        return 1;
    case FL_CELL_I16:
        return 2;
    case FL_CELL_I32:
    case FL_CELL_F32:
    case FL_CELL_TIME_S:
    case FL_CELL_TIME_MS:
        return 4;
    case FL_CELL_I64:
    case FL_CELL_F64:
    case FL_CELL_TIME_US:
    case FL_CELL_TIME_NS:
    case FL_CELL_TIMESTAMP_S:
    case FL_CELL_TIMESTAMP_MS:
    case FL_CELL_TIMESTAMP_US:
    case FL_CELL_TIMESTAMP_NS:
        return 8;
    case FL_CELL_DECIMAL:
        return 16;
    case FL_CELL_BINARY:
        return (size_t)type->length;
    default:
        return 0;
    }
}

bool fl_arrow_is_text(const fl_type *type)
{
    return type->root == FLUSS_CHAR || type->root == FLUSS_STRING;
}

size_t fl_arrow_buffer_count(fl_arrow_layout layout)
{
    static const uint8_t counts[] = {
        [FL_LAYOUT_BITS] = 2, [FL_LAYOUT_FIXED] = 2,  [FL_LAYOUT_VAR] = 3,
        [FL_LAYOUT_LIST] = 2, [FL_LAYOUT_STRUCT] = 1,
    };
    return counts[layout];
}

size_t fl_arrow_child_count(const fl_type *type)
{
    switch (type->root) {
    case FLUSS_ARRAY:
    case FLUSS_MAP:
        return 1;
    case FLUSS_ROW:
        return type->field_count;
    default:
        return 0;
    }
}

fl_type fl_arrow_child_type(const fl_type *type, size_t index)
{
    if (type->root == FLUSS_MAP) {
        return (fl_type){.root = FLUSS_ROW, .field_count = 2, .fields = type->fields};
    }
    return type->fields[index].type;
}

void fl_arrow_count(const fl_type *type, size_t *nodes, size_t *buffers)
{
    *nodes += 1;
    *buffers += fl_arrow_buffer_count(fl_arrow_layout_of(type));
    const size_t child_count = fl_arrow_child_count(type);
    for (size_t i = 0; i < child_count; i++) {
        const fl_type child = fl_arrow_child_type(type, i);
        fl_arrow_count(&child, nodes, buffers);
    }
}

int64_t fl_bits_count(const uint8_t *bits, int64_t from, int64_t count)
{
    int64_t set = 0;
    int64_t at = from;
    const int64_t end = from + count;
    for (; at < end && (at & 7) != 0; at++) {
        set += fl_bit_get(bits, at);
    }
    for (; end - at >= 64; at += 64) {
        set += __builtin_popcountll(fl_load_u64(bits + (at >> 3)));
    }
    for (; end - at >= 8; at += 8) {
        set += __builtin_popcount(bits[at >> 3]);
    }
    for (; at < end; at++) {
        set += fl_bit_get(bits, at);
    }
    return set;
}

void fl_bits_copy(uint8_t *to, const uint8_t *bits, int64_t from, int64_t count)
{
    if (count == 0) {
        return;
    }
    const uint8_t *at = bits + (from >> 3);
    const unsigned shift = (unsigned)(from & 7);
    const size_t size = fl_bits_size(count);
    if (shift == 0) {
        memcpy(to, at, size);
    } else {
        const size_t size_in = fl_bits_size(count + shift);
        size_t i = 0;
        for (; size_in - i > sizeof(uint64_t); i += sizeof(uint64_t)) {
            const uint64_t low = fl_load_u64(at + i) >> shift;
            const uint64_t high = (uint64_t)at[i + sizeof(uint64_t)] << (64 - shift);
            fl_store_u64(to + i, low | high);
        }
        for (; i < size; i++) {
            const unsigned next = i + 1 < size_in ? at[i + 1] : 0;
            to[i] = (uint8_t)(at[i] >> shift | next << (8 - shift));
        }
    }
    const unsigned used = (unsigned)(count & 7);
    if (used != 0) {
        to[size - 1] = (uint8_t)(to[size - 1] & ((1u << used) - 1));
    }
}

int64_t fl_arrow_null_count(const struct ArrowArray *array, int64_t from, int64_t count)
{
    if (array->null_count == 0 || array->buffers[0] == NULL || count == 0) {
        return 0;
    }
    if (array->null_count > 0 && from == 0 && count == array->length) {
        return array->null_count;
    }
    return count - fl_bits_count(array->buffers[0], array->offset + from, count);
}
