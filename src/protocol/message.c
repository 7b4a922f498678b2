/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of messages, driven by the tables of protogen.
 *
 * A message is a row of fields: a varint tag (number << 3 | wire type), then the value.
 *   wire type 0  varint                    bool, int32, int64
 *             1  8 bytes, little endian    double
 *             2  varint size, then bytes   string, bytes, message; packed scalars
 *             5  4 bytes, little endian    float
 * Other wire types (groups) are refused; fields with unknown numbers are skipped.
 *
 * A message with repeated fields is walked twice: the first walk counts the values, so that each
 * array is allocated once and at its exact size. A value takes at least its shortest valid encoding
 * from the frame, so memory stays within a small multiple of the frame's size (FL_MSG_GROWTH_MAX).
 * Source: the protocol buffers encoding, version 2. */
#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"
#include "base/varint.h"
#include "protocol/message_private.h"

/* The walks keep their state in registers: what they do for every value is inlined, and whatever is
 * not inlined gets copies. */
#define HOT static inline __attribute__((always_inline))

typedef struct msg_decoder {
    const uint8_t *start; /* of the outermost message; errors say positions */
    fl_arena *arena;
    fluss_error_t *err;
} msg_decoder;

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

/* A tag, resolved: field is NULL when the number is not known. */
typedef struct field_tag {
    const uint8_t *at;
    const fl_msg_field *field;
    uint32_t number;
    uint8_t wire;
} field_tag;

typedef struct varint {
    uint64_t value;
    size_t size; /* 0: malformed or cut */
} varint;

static __attribute__((noinline)) varint load_long_varint(const uint8_t *at, size_t left)
{
    varint read = {0};
    read.size = fl_varint_load(at, left, &read.value);
    return read;
}

HOT bool take_varint(cursor *from, uint64_t *value)
{
    if (FL_LIKELY(from->at < from->end && *from->at < 0x80)) {
        *value = *from->at++;
        return true;
    }
    const varint read = load_long_varint(from->at, (size_t)(from->end - from->at));
    *value = read.value;
    from->at += read.size;
    return read.size != 0;
}

HOT bool take_sized(cursor *from, fl_slice *bytes)
{
    uint64_t size;
    if (!take_varint(from, &size) || size > (size_t)(from->end - from->at)) {
        return false;
    }
    *bytes = fl_slice_of(from->at, (size_t)size);
    from->at += size;
    return true;
}

HOT bool take_fixed(cursor *from, void *value, size_t size)
{
    if ((size_t)(from->end - from->at) < size) {
        return false;
    }
    memcpy(value, from->at, size);
    from->at += size;
    return true;
}

static fluss_code_t fail(const msg_decoder *decoder, const fl_msg_desc *desc, field_tag tag,
                         const char *what)
{
    const size_t position = (size_t)(tag.at - decoder->start);
    if (tag.field != NULL) {
        return fl_error_corrupt(decoder->err, "%s.%s at byte %zu: %s", desc->name, tag.field->name,
                                position, what);
    }
    return fl_error_corrupt(decoder->err, "%s, field number %" PRIu32 " at byte %zu: %s",
                            desc->name, tag.number, position, what);
}

static fluss_code_t fail_wire(const msg_decoder *decoder, const fl_msg_desc *desc, field_tag tag)
{
    char what[64];
    (void)snprintf(what, sizeof(what), "wire type %d, expected %d", tag.wire, tag.field->wire);
    return fail(decoder, desc, tag, what);
}

static fluss_code_t fail_tag(const msg_decoder *decoder, const fl_msg_desc *desc, const uint8_t *at)
{
    return fl_error_corrupt(decoder->err, "%s at byte %zu: no valid field tag", desc->name,
                            (size_t)(at - decoder->start));
}

HOT fluss_code_t take_tag(const msg_decoder *decoder, const fl_msg_desc *desc, cursor *from,
                          field_tag *tag)
{
    uint64_t value;
    tag->at = from->at;
    if (FL_UNLIKELY(!take_varint(from, &value) || value > UINT32_MAX || value < 8)) {
        return fail_tag(decoder, desc, tag->at);
    }
    tag->wire = value & 7;
    tag->number = (uint32_t)(value >> 3);
    tag->field = NULL;
    if (FL_LIKELY(tag->number <= desc->number_max) &&
        FL_LIKELY(desc->fields[tag->number - 1].kind != FL_FIELD_NONE)) {
        tag->field = &desc->fields[tag->number - 1];
    }
    return 0;
}

/* Whether the tag of a repeated field holds many of its values. */
HOT bool is_packed(field_tag tag)
{
    return tag.wire == FL_WIRE_SIZED && tag.field->wire != FL_WIRE_SIZED;
}

/* Pass over the value after a tag. */
static fluss_code_t skip_value(const msg_decoder *decoder, const fl_msg_desc *desc, field_tag tag,
                               cursor from, const uint8_t **next)
{
    uint64_t ignored;
    fl_slice bytes;
    bool ok;
    switch (tag.wire) {
    case FL_WIRE_VARINT:
        ok = take_varint(&from, &ignored);
        break;
    case FL_WIRE_FIXED64:
        ok = take_fixed(&from, &ignored, sizeof(uint64_t));
        break;
    case FL_WIRE_SIZED:
        ok = take_sized(&from, &bytes);
        break;
    case FL_WIRE_FIXED32:
        ok = take_fixed(&from, &ignored, sizeof(uint32_t));
        break;
    default:
        return fail(decoder, desc, tag, "unknown wire type");
    }
    *next = from.at;
    return ok ? 0 : fail(decoder, desc, tag, "value is malformed or runs past the end");
}

/* How many values a packed field holds: every varint ends with one byte below 0x80. */
static fluss_code_t count_packed(const msg_decoder *decoder, const fl_msg_desc *desc, field_tag tag,
                                 fl_slice bytes, size_t *count)
{
    const size_t width = tag.field->wire == FL_WIRE_VARINT ? 1 : tag.field->item_size;
    const bool is_cut = width == 1 ? bytes.size != 0 && bytes.data[bytes.size - 1] >= 0x80
                                   : bytes.size % width != 0;
    if (is_cut) {
        return fail(decoder, desc, tag, "last packed value is cut");
    }
    size_t counted = bytes.size / width;
    if (width == 1) {
        for (size_t i = 0; i < bytes.size; i++) {
            counted -= bytes.data[i] >> 7;
        }
    }
    *count += counted;
    return 0;
}

/* The first walk: count the values of each repeated field into the struct's count. */
static fluss_code_t count_repeated(const msg_decoder *decoder, const fl_msg_desc *desc,
                                   fl_slice bytes, uint8_t *message)
{
    cursor from = {bytes.data, bytes.data + bytes.size};
    while (from.at < from.end) {
        field_tag tag;
        fl_slice sized = {0};
        FL_TRY(take_tag(decoder, desc, &from, &tag));
        if (tag.wire != FL_WIRE_SIZED) {
            const uint8_t *next;
            FL_TRY(skip_value(decoder, desc, tag, from, &next));
            from.at = next;
        } else if (!take_sized(&from, &sized)) {
            return fail(decoder, desc, tag, "size runs past the end");
        }
        if (tag.field == NULL || tag.field->label < FL_FIELD_REPEATED) {
            continue;
        }
        size_t *count = fl_field_count(tag.field, message);
        if (is_packed(tag)) {
            FL_TRY(count_packed(decoder, desc, tag, sized, count));
            continue;
        }
        if (tag.wire != tag.field->wire) {
            return fail_wire(decoder, desc, tag);
        }
        if (tag.field->message != NULL && sized.size < tag.field->message->size_min) {
            return fail(decoder, desc, tag, "too short for its required fields");
        }
        (*count)++;
    }
    return 0;
}

/* Allocate what count_repeated has counted; counts start anew. */
static fluss_code_t allocate_repeated(const msg_decoder *decoder, const fl_msg_desc *desc,
                                      uint8_t *message)
{
    for (uint16_t i = 0; i < desc->number_max; i++) {
        const fl_msg_field *field = &desc->fields[i];
        if (field->label < FL_FIELD_REPEATED || *fl_field_count(field, message) == 0) {
            continue;
        }
        void *items =
            fl_arena_array(decoder->arena, *fl_field_count(field, message), field->item_size);
        if (items == NULL) {
            return fl_error_nomem(decoder->err);
        }
        memcpy(message + field->position, &items, sizeof(items));
        *fl_field_count(field, message) = 0;
    }
    return 0;
}

/* Read one scalar. False: malformed or cut. */
HOT bool take_scalar(uint8_t kind, cursor *from, uint8_t *value)
{
    uint64_t bits;
    switch (kind) {
    case FL_FIELD_FLOAT:
        return take_fixed(from, value, sizeof(float));
    case FL_FIELD_DOUBLE:
        return take_fixed(from, value, sizeof(double));
    case FL_FIELD_INT64:
        if (!take_varint(from, &bits)) {
            return false;
        }
        memcpy(value, &bits, sizeof(int64_t));
        return true;
    case FL_FIELD_INT32: { /* negative values are written with 64 bits */
        if (!take_varint(from, &bits)) {
            return false;
        }
        const uint32_t low = (uint32_t)bits;
        memcpy(value, &low, sizeof(low));
        return true;
    }
    default: { /* FL_FIELD_BOOL */
        if (!take_varint(from, &bits)) {
            return false;
        }
        const bool is_set = bits != 0;
        memcpy(value, &is_set, sizeof(is_set));
        return true;
    }
    }
}

/* Read values that count_packed has counted. */
static fluss_code_t decode_packed(const msg_decoder *decoder, const fl_msg_desc *desc,
                                  field_tag tag, fl_slice bytes, uint8_t *items, size_t *count)
{
    cursor values = {bytes.data, bytes.data + bytes.size};
    while (values.at < values.end) {
        if (!take_scalar(tag.field->kind, &values, items + *count * tag.field->item_size)) {
            return fail(decoder, desc, tag, "packed value is malformed");
        }
        (*count)++;
    }
    return 0;
}

static fluss_code_t decode_message(const msg_decoder *decoder, const fl_msg_desc *desc,
                                   fl_slice bytes, int depth, uint8_t *message);

/* Where in the struct the value after a tag goes; marks it as present. */
HOT uint8_t *place_of_value(const fl_msg_field *field, uint8_t *message)
{
    uint8_t *place = message + field->position;
    if (field->label >= FL_FIELD_REPEATED) {
        size_t *count = fl_field_count(field, message);
        memcpy(&place, message + field->position, sizeof(place));
        place += *count * field->item_size;
        (*count)++;
    } else if (field->label == FL_FIELD_OPTIONAL) {
        *fl_field_has(field, message) = true;
    }
    return place;
}

/* Decode a string, bytes or message, or many packed scalars. is_again: the field was there before.
 */
HOT fluss_code_t decode_sized(const msg_decoder *decoder, const fl_msg_desc *desc, field_tag tag,
                              fl_slice bytes, int depth, bool is_again, uint8_t *message)
{
    const fl_msg_field *field = tag.field;
    if (field->wire != FL_WIRE_SIZED) {
        uint8_t *items;
        if (field->label < FL_FIELD_REPEATED) {
            return fail_wire(decoder, desc, tag);
        }
        memcpy(&items, message + field->position, sizeof(items));
        return decode_packed(decoder, desc, tag, bytes, items, fl_field_count(field, message));
    }
    uint8_t *place = place_of_value(field, message);
    if (field->kind == FL_FIELD_MESSAGE) {
        if (depth == FL_MSG_DEPTH_MAX) {
            return fail(decoder, desc, tag, "nested deeper than 32 messages");
        }
        if (is_again && field->label < FL_FIELD_REPEATED) {
            memset(place, 0, field->item_size);
        }
        return decode_message(decoder, field->message, bytes, depth + 1, place);
    }
    if (field->kind == FL_FIELD_STRING && !fl_utf8_is_valid(bytes.data, bytes.size)) {
        return fail(decoder, desc, tag, "text is not UTF-8");
    }
    memcpy(place, &bytes, sizeof(bytes));
    return 0;
}

static fluss_code_t fail_missing(const msg_decoder *decoder, const fl_msg_desc *desc,
                                 fl_slice bytes, uint64_t missing)
{
    const fl_msg_field *field = &desc->fields[__builtin_ctzll(missing)];
    return fl_error_corrupt(decoder->err, "%s at byte %zu: required field %s is missing",
                            desc->name, (size_t)(bytes.data - decoder->start), field->name);
}

/* Decode into a zeroed struct. */
static fluss_code_t decode_message(const msg_decoder *decoder, const fl_msg_desc *desc,
                                   fl_slice bytes, int depth, uint8_t *message)
{
    if (desc->has_repeated) {
        FL_TRY(count_repeated(decoder, desc, bytes, message));
        FL_TRY(allocate_repeated(decoder, desc, message));
    }
    uint64_t seen = 0;
    cursor from = {bytes.data, bytes.data + bytes.size};
    while (from.at < from.end) {
        field_tag tag;
        FL_TRY(take_tag(decoder, desc, &from, &tag));
        if (FL_UNLIKELY(tag.field == NULL)) {
            const uint8_t *next;
            FL_TRY(skip_value(decoder, desc, tag, from, &next));
            from.at = next;
            continue;
        }
        const uint64_t bit = UINT64_C(1) << (tag.number - 1);
        const bool is_again = (seen & bit) != 0;
        seen |= bit;
        if (tag.wire == FL_WIRE_SIZED) {
            fl_slice sized;
            if (FL_UNLIKELY(!take_sized(&from, &sized))) {
                return fail(decoder, desc, tag, "size runs past the end");
            }
            FL_TRY(decode_sized(decoder, desc, tag, sized, depth, is_again, message));
        } else if (FL_UNLIKELY(tag.wire != tag.field->wire)) {
            return fail_wire(decoder, desc, tag);
        } else if (!take_scalar(tag.field->kind, &from, place_of_value(tag.field, message))) {
            return fail(decoder, desc, tag, "value is malformed or runs past the end");
        }
    }
    const uint64_t missing = desc->required_bits & ~seen;
    return FL_LIKELY(missing == 0) ? 0 : fail_missing(decoder, desc, bytes, missing);
}

fluss_code_t fl_msg_decode(const fl_msg_desc *desc, fl_slice bytes, fl_arena *arena, void *message,
                           fluss_error_t *err)
{
    static const uint8_t nothing[1];
    if (bytes.data == NULL) {
        bytes = fl_slice_of(nothing, 0);
    }
    const msg_decoder decoder = {.start = bytes.data, .arena = arena, .err = err};
    memset(message, 0, desc->struct_size);
    return decode_message(&decoder, desc, bytes, 1, message);
}

const char *fl_msg_name(const fl_msg_desc *desc)
{
    return desc->name;
}

size_t fl_msg_struct_size(const fl_msg_desc *desc)
{
    return desc->struct_size;
}
