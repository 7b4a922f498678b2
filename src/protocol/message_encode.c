/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding of messages: fields in number order, packed where the schema says so, varints in their
 * shortest form. Equal structs give equal bytes, and they are the bytes that the official peers
 * write.
 *
 * Small values gather in a scratch area and go out in runs; large bytes fields go out by reference.
 * A nested message is preceded by its size, so it is measured before it is written. */
#include "base/utf8.h"
#include "base/varint.h"
#include "protocol/message_private.h"

typedef struct encoder {
    fl_gather *out;
    fluss_error_t *err;
    size_t used; /* of scratch */
    uint8_t scratch[1024];
} encoder;

/* An int32 is widened with its sign, as protobuf does. */
static uint64_t varint_of(uint8_t kind, const uint8_t *value)
{
    switch (kind) {
    case FL_FIELD_BOOL: {
        bool is_set;
        memcpy(&is_set, value, sizeof(is_set));
        return is_set;
    }
    case FL_FIELD_INT32:
        return (uint64_t)(int64_t)fl_load_i32(value);
    default:
        return fl_load_u64(value);
    }
}

static size_t measure_message(const fl_msg_desc *desc, const void *message, int depth);

static size_t with_prefix(size_t size)
{
    return fl_varint_size(size) + size;
}

/* Bytes of a value without its tag. */
static size_t measure_value(const fl_msg_field *field, const uint8_t *value, int depth)
{
    switch (field->kind) {
    case FL_FIELD_FLOAT:
        return sizeof(float);
    case FL_FIELD_DOUBLE:
        return sizeof(double);
    case FL_FIELD_STRING:
    case FL_FIELD_BYTES: {
        fl_slice bytes;
        memcpy(&bytes, value, sizeof(bytes));
        return with_prefix(bytes.size);
    }
    case FL_FIELD_MESSAGE:
        return with_prefix(measure_message(field->message, value, depth + 1));
    default:
        return fl_varint_size(varint_of(field->kind, value));
    }
}

static size_t measure_values(const fl_msg_field *field, const uint8_t *first, size_t count,
                             int depth)
{
    const size_t item_size = fl_field_item_size(field);
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += measure_value(field, first + i * item_size, depth);
    }
    return total;
}

/* Messages nested too deeply count as empty here; encoding refuses them. */
static size_t measure_message(const fl_msg_desc *desc, const void *message, int depth)
{
    size_t total = 0;
    if (depth > FL_MSG_DEPTH_MAX) {
        return 0;
    }
    for (uint16_t i = 0; i < desc->number_max; i++) {
        const fl_msg_field *field = &desc->fields[i];
        const uint8_t *first;
        const size_t count =
            field->kind != FL_FIELD_NONE ? fl_field_values(field, message, &first) : 0;
        if (count == 0) {
            continue;
        }
        const size_t tag_size = fl_varint_size((uint64_t)(i + 1) << 3);
        const size_t size = measure_values(field, first, count, depth);
        total += field->label == FL_FIELD_PACKED ? tag_size + with_prefix(size)
                                                 : tag_size * count + size;
    }
    return total;
}

size_t fl_msg_size(const fl_msg_desc *desc, const void *message)
{
    return measure_message(desc, message, 1);
}

static fluss_code_t flush(encoder *to)
{
    const size_t size = to->used;
    to->used = 0;
    return size == 0 ? 0 : fl_gather_copy(to->out, to->scratch, size, to->err);
}

/* Room for a few small values. */
static fluss_code_t reserve(encoder *to, size_t size)
{
    return FL_LIKELY(sizeof(to->scratch) - to->used >= size) ? 0 : flush(to);
}

static fluss_code_t put_varint(encoder *to, uint64_t value)
{
    FL_TRY(reserve(to, FL_VARINT64_SIZE_MAX));
    to->used += fl_varint_store(to->scratch + to->used, value);
    return 0;
}

static fluss_code_t put_tag(encoder *to, size_t number, uint8_t wire)
{
    return put_varint(to, (uint64_t)number << 3 | wire);
}

static fluss_code_t put_fixed(encoder *to, const void *value, size_t size)
{
    FL_TRY(reserve(to, size));
    memcpy(to->scratch + to->used, value, size);
    to->used += size;
    return 0;
}

static fluss_code_t put_bytes(encoder *to, const fl_msg_desc *desc, const fl_msg_field *field,
                              const uint8_t *value)
{
    fl_slice bytes;
    memcpy(&bytes, value, sizeof(bytes));
    if (field->kind == FL_FIELD_STRING && !fl_utf8_is_valid(bytes.data, bytes.size)) {
        return fl_error_argument(to->err, "%s.%s: text is not UTF-8", desc->name, field->name);
    }
    FL_TRY(put_varint(to, bytes.size));
    if (bytes.size == 0) {
        return 0;
    }
    if (bytes.size < FL_MSG_VIEW_SIZE_MIN) {
        return put_fixed(to, bytes.data, bytes.size);
    }
    FL_TRY(flush(to));
    return field->kind == FL_FIELD_BYTES ? fl_gather_view(to->out, bytes, to->err)
                                         : fl_gather_copy(to->out, bytes.data, bytes.size, to->err);
}

static fluss_code_t encode_message(encoder *to, const fl_msg_desc *desc, const void *message,
                                   int depth);

/* Write a value without its tag. */
static fluss_code_t put_value(encoder *to, const fl_msg_desc *desc, const fl_msg_field *field,
                              const uint8_t *value, int depth)
{
    switch (field->kind) {
    case FL_FIELD_FLOAT:
    case FL_FIELD_DOUBLE:
        return put_fixed(to, value, fl_field_item_size(field));
    case FL_FIELD_STRING:
    case FL_FIELD_BYTES:
        return put_bytes(to, desc, field, value);
    case FL_FIELD_MESSAGE:
        if (depth == FL_MSG_DEPTH_MAX) {
            return fl_error_argument(to->err, "%s.%s: nested deeper than %d messages", desc->name,
                                     field->name, FL_MSG_DEPTH_MAX);
        }
        FL_TRY(put_varint(to, measure_message(field->message, value, depth + 1)));
        return encode_message(to, field->message, value, depth + 1);
    default:
        return put_varint(to, varint_of(field->kind, value));
    }
}

static fluss_code_t encode_message(encoder *to, const fl_msg_desc *desc, const void *message,
                                   int depth)
{
    for (uint16_t i = 0; i < desc->number_max; i++) {
        const fl_msg_field *field = &desc->fields[i];
        const uint8_t *first;
        const size_t count =
            field->kind != FL_FIELD_NONE ? fl_field_values(field, message, &first) : 0;
        if (count == 0) {
            continue;
        }
        const bool is_packed = field->label == FL_FIELD_PACKED;
        if (is_packed) {
            FL_TRY(put_tag(to, i + 1u, FL_WIRE_SIZED));
            FL_TRY(put_varint(to, measure_values(field, first, count, depth)));
        }
        const size_t item_size = fl_field_item_size(field);
        const uint8_t wire = fl_field_wire(field->kind);
        for (size_t k = 0; k < count; k++) {
            if (!is_packed) {
                FL_TRY(put_tag(to, i + 1u, wire));
            }
            FL_TRY(put_value(to, desc, field, first + k * item_size, depth));
        }
    }
    return 0;
}

fluss_code_t fl_msg_encode(const fl_msg_desc *desc, const void *message, fl_gather *out,
                           fluss_error_t *err)
{
    encoder to;
    to.out = out;
    to.err = err;
    to.used = 0;
    FL_TRY(encode_message(&to, desc, message, 1));
    return flush(&to);
}
