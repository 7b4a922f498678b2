/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and maps inside rows.
 *
 *   array   i32 n; null bits 4 * ((n + 31) / 32) bytes; n slots of 1, 2, 4 or 8 bytes (row_slot.c),
 *           not aligned; zeros to a multiple of 8; variable part
 *   map     i32 size of the keys' array; that array; the values' array
 *
 * Only rows among the elements depend on the format of the row around. Slots of null elements may
 * hold anything. Source: BinaryArrayWriter and BinaryMap, Fluss 1.0. */
#include "format/row_private.h"

enum { COUNT_SIZE = sizeof(int32_t), WORD_BITS = 32 };

/* Elements of an array, or every second item of a map. */
typedef struct elements {
    const fl_type *type;
    const fluss_datum_t *items;
    size_t count, stride;
} elements;

static size_t slot_width(const fl_type *type)
{
    const size_t width = fl_fixed_width(type);
    return width != 0 ? width : FL_SLOT_SIZE;
}

static size_t header_size(size_t count)
{
    return COUNT_SIZE + (count + WORD_BITS - 1) / WORD_BITS * sizeof(uint32_t);
}

static fluss_code_t encode_elements(fl_row_format format, const elements *from, fl_buf *out,
                                    fluss_error_t *err)
{
    const size_t base = out->size;
    const size_t width = slot_width(from->type);
    const size_t slots_at = base + header_size(from->count);
    const size_t fixed_size = fl_align_up(slots_at - base + from->count * width, FL_SLOT_SIZE);
    FL_TRY(fl_buf_append_zeros(out, fixed_size, err));
    fl_store_i32(out->data + base, (int32_t)from->count);
    for (size_t i = 0; i < from->count; i++) {
        const fluss_datum_t *item = &from->items[i * from->stride];
        if (item->type != FLUSS_NULL) {
            FL_TRY(fl_slot_store(format, from->type, item, out, base, slots_at + i * width, err));
            continue;
        }
        FL_TRY(fl_row_check_null(from->type, i, err));
        uint8_t *byte = &out->data[base + COUNT_SIZE + i / 8];
        *byte = (uint8_t)(*byte | (1u << (i % 8)));
    }
    return 0;
}

static fluss_code_t encode_map(fl_row_format format, const fl_type *type,
                               const fluss_datum_t *value, fl_buf *out, fluss_error_t *err)
{
    const size_t base = out->size;
    elements part = {.type = &type->fields[0].type,
                     .items = value->v.list.items,
                     .count = value->v.list.len / 2,
                     .stride = 2};
    FL_TRY(fl_buf_append_zeros(out, COUNT_SIZE, err));
    FL_TRY(encode_elements(format, &part, out, err));
    fl_store_i32(out->data + base, (int32_t)(out->size - base - COUNT_SIZE));
    part.type = &type->fields[1].type;
    part.items++;
    return encode_elements(format, &part, out, err);
}

fluss_code_t fl_nested_encode(fl_row_format format, const fl_type *type, const fluss_datum_t *value,
                              fl_buf *out, fluss_error_t *err)
{
    const size_t count = value->v.list.len;
    if (count > INT32_MAX) {
        return fl_error_argument(err, "row: %s of %zu values is too large",
                                 fl_type_root_name(type->root), count);
    }
    if (type->root == FLUSS_ARRAY) {
        const elements all = {.type = &type->fields[0].type,
                              .items = value->v.list.items,
                              .count = count,
                              .stride = 1};
        return encode_elements(format, &all, out, err);
    }
    if (type->root == FLUSS_MAP) {
        return count == 0 || count % 2 == 0
                   ? encode_map(format, type, value, out, err)
                   : fl_error_argument(err, "row: MAP of %zu values, expected pairs", count);
    }
    if (count != type->field_count) {
        return fl_error_argument(err, "row: ROW of %zu values, expected %zu", count,
                                 type->field_count);
    }
    const fl_row_types types = {.fields = type->fields, .count = count};
    return fl_row_encode_types(format, &types, value->v.list.items, out, err);
}

/* ---- reading ---- */

static fluss_code_t element_count(const fl_row_decoder *decoder, const fl_type *type,
                                  fl_slice array, size_t *count)
{
    const int32_t stored = array.size < COUNT_SIZE ? -1 : fl_load_i32(array.data);
    if (!fl_size_from_i32(stored, count) ||
        header_size(*count) + *count * slot_width(type) > array.size) {
        return fl_error_corrupt(decoder->err, "array of %zu bytes: its count is %d", array.size,
                                stored);
    }
    return 0;
}

/* Read elements into every `stride`-th item. */
static fluss_code_t decode_elements(fl_row_decoder *decoder, fl_row_format format,
                                    const fl_type *type, fl_slice array, size_t count,
                                    fluss_datum_t *items, size_t stride)
{
    const size_t width = slot_width(type);
    const size_t slots_at = header_size(count);
    for (size_t i = 0; i < count; i++) {
        fluss_datum_t *item = &items[i * stride];
        if (type->nullable && ((array.data[COUNT_SIZE + i / 8] >> (i % 8)) & 1) != 0) {
            *item = (fluss_datum_t){.type = FLUSS_NULL};
            continue;
        }
        FL_TRY(fl_slot_load(decoder, format, type, array, slots_at + i * width, item));
    }
    return 0;
}

static fluss_code_t decode_array(fl_row_decoder *decoder, fl_row_format format, const fl_type *type,
                                 fl_slice bytes, fluss_datum_t *value)
{
    const fl_type *element = &type->fields[0].type;
    size_t count;
    fluss_datum_t *items;
    FL_TRY(element_count(decoder, element, bytes, &count));
    FL_TRY(fl_row_decoder_items(decoder, count, &items));
    value->v.list.items = items;
    value->v.list.len = count;
    return decode_elements(decoder, format, element, bytes, count, items, 1);
}

static fluss_code_t decode_map(fl_row_decoder *decoder, fl_row_format format, const fl_type *type,
                               fl_slice bytes, fluss_datum_t *value)
{
    size_t keys_size;
    if (bytes.size < COUNT_SIZE || !fl_size_from_i32(fl_load_i32(bytes.data), &keys_size) ||
        keys_size > bytes.size - COUNT_SIZE) {
        return fl_error_corrupt(decoder->err, "map of %zu bytes: the keys do not fit", bytes.size);
    }
    const size_t values_at = COUNT_SIZE + keys_size;
    const fl_slice keys = fl_slice_sub(bytes, COUNT_SIZE, keys_size);
    const fl_slice values = fl_slice_sub(bytes, values_at, bytes.size - values_at);
    size_t count;
    size_t value_count;
    FL_TRY(element_count(decoder, &type->fields[0].type, keys, &count));
    FL_TRY(element_count(decoder, &type->fields[1].type, values, &value_count));
    if (count != value_count) {
        return fl_error_corrupt(decoder->err, "map of %zu keys has %zu values", count, value_count);
    }
    fluss_datum_t *items;
    FL_TRY(fl_row_decoder_items(decoder, count * 2, &items));
    value->v.list.items = items;
    value->v.list.len = count * 2;
    FL_TRY(decode_elements(decoder, format, &type->fields[0].type, keys, count, items, 2));
    return decode_elements(decoder, format, &type->fields[1].type, values, count, items + 1, 2);
}

fluss_code_t fl_nested_decode(fl_row_decoder *decoder, fl_row_format format, const fl_type *type,
                              fl_slice bytes, fluss_datum_t *value)
{
    *value = (fluss_datum_t){.type = type->root};
    if (type->root == FLUSS_ARRAY) {
        return decode_array(decoder, format, type, bytes, value);
    }
    if (type->root == FLUSS_MAP) {
        return decode_map(decoder, format, type, bytes, value);
    }
    fluss_datum_t *items;
    FL_TRY(fl_row_decoder_items(decoder, type->field_count, &items));
    value->v.list.items = items;
    value->v.list.len = type->field_count;
    const fl_row_types types = {.fields = type->fields, .count = type->field_count};
    return fl_row_decode_types(decoder, format, &types, bytes, items);
}
