/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding of messages: fields in number order, packed where the schema says so, varints in their
 * shortest form. Equal structs give equal bytes, and they are the bytes that the official peers
 * write.
 *
 * A nested message is preceded by its size. So that none has to be measured first, everything is
 * written from the last byte to the first: the size is known when its turn comes. The scratch area
 * fills downwards; large bytes fields only leave a note of where they belong, and go out by
 * reference. At the end, the pieces go to the gather in their true order. The scratch area starts
 * on the stack and moves to a pooled frame when it grows, which the gather then keeps. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "base/varint.h"
#include "protocol/message_private.h"

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
    const size_t item_size = field->item_size;
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

/* A bytes field that goes out by reference: `bytes_after` bytes of the scratch area follow it. */
typedef struct view {
    fl_slice bytes;
    size_t bytes_after;
} view;

enum { INLINE_SIZE = 1024, INLINE_VIEW_COUNT = 8 };

typedef struct encoder {
    fluss_error_t *err;
    fl_frame *frame;           /* holds the scratch area; NULL: inline_scratch does */
    uint8_t *start, *at, *end; /* scratch area; written are at..end */
    view *views;               /* the last one first in the stream */
    size_t view_count, view_capacity, view_size; /* view_size: bytes of all views */
    uint8_t inline_scratch[INLINE_SIZE];
    view inline_views[INLINE_VIEW_COUNT];
} encoder;

static void encoder_init(encoder *to, fluss_error_t *err)
{
    to->err = err;
    to->frame = NULL;
    to->start = to->inline_scratch;
    to->at = to->end = to->inline_scratch + INLINE_SIZE;
    to->views = to->inline_views;
    to->view_count = to->view_size = 0;
    to->view_capacity = INLINE_VIEW_COUNT;
}

static void encoder_deinit(encoder *to)
{
    fl_frame_unref(to->frame);
    if (to->views != to->inline_views) {
        fl_free(to->views);
    }
}

/* Bytes written so far. */
static size_t written(const encoder *to)
{
    return (size_t)(to->end - to->at) + to->view_size;
}

static fluss_code_t grow(encoder *to, size_t size)
{
    const size_t used = (size_t)(to->end - to->at);
    size_t capacity;
    if (!fl_add_size(used, size, &capacity) || !fl_mul_size(capacity, 2, &capacity)) {
        return fl_error_nomem(to->err);
    }
    fl_frame *frame = fl_frame_new(capacity);
    if (frame == NULL) {
        return fl_error_nomem(to->err);
    }
    uint8_t *end = frame->data + frame->capacity;
    memcpy(end - used, to->at, used);
    fl_frame_unref(to->frame);
    to->frame = frame;
    to->start = frame->data;
    to->end = end;
    to->at = end - used;
    return 0;
}

/* Room for `size` bytes in front of what is written. */
static inline fluss_code_t reserve(encoder *to, size_t size)
{
    return FL_LIKELY((size_t)(to->at - to->start) >= size) ? 0 : grow(to, size);
}

static inline fluss_code_t put_varint(encoder *to, uint64_t value)
{
    FL_TRY(reserve(to, FL_VARINT64_SIZE_MAX));
    if (FL_LIKELY(value < 0x80)) {
        *--to->at = (uint8_t)value;
        return 0;
    }
    to->at -= fl_varint_size(value);
    (void)fl_varint_store(to->at, value);
    return 0;
}

static inline fluss_code_t put_fixed(encoder *to, const void *value, size_t size)
{
    FL_TRY(reserve(to, size));
    to->at -= size;
    memcpy(to->at, value, size);
    return 0;
}

static fluss_code_t put_view(encoder *to, fl_slice bytes)
{
    if (to->view_count == to->view_capacity) {
        const size_t capacity = to->view_capacity * 2;
        view *views = fl_alloc(capacity * sizeof(*views));
        if (views == NULL) {
            return fl_error_nomem(to->err);
        }
        memcpy(views, to->views, to->view_count * sizeof(*views));
        if (to->views != to->inline_views) {
            fl_free(to->views);
        }
        to->views = views;
        to->view_capacity = capacity;
    }
    to->views[to->view_count++] = (view){bytes, (size_t)(to->end - to->at)};
    to->view_size += bytes.size;
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
    if (field->kind == FL_FIELD_BYTES && bytes.size >= FL_MSG_VIEW_SIZE_MIN) {
        FL_TRY(put_view(to, bytes));
    } else if (bytes.size != 0) {
        FL_TRY(put_fixed(to, bytes.data, bytes.size));
    }
    return put_varint(to, bytes.size);
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
        return put_fixed(to, value, field->item_size);
    case FL_FIELD_STRING:
    case FL_FIELD_BYTES:
        return put_bytes(to, desc, field, value);
    case FL_FIELD_MESSAGE: {
        if (depth == FL_MSG_DEPTH_MAX) {
            return fl_error_argument(to->err, "%s.%s: nested deeper than %d messages", desc->name,
                                     field->name, FL_MSG_DEPTH_MAX);
        }
        const size_t before = written(to);
        FL_TRY(encode_message(to, field->message, value, depth + 1));
        return put_varint(to, written(to) - before);
    }
    default:
        return put_varint(to, varint_of(field->kind, value));
    }
}

/* Write a field's values, the last one first, with the tag of `number`. */
static fluss_code_t put_values(encoder *to, const fl_msg_desc *desc, uint32_t number,
                               const uint8_t *first, size_t count, int depth)
{
    const fl_msg_field *field = &desc->fields[number - 1];
    const size_t item_size = field->item_size;
    const bool is_packed = field->label == FL_FIELD_PACKED;
    const uint64_t tag = number << 3 | (is_packed ? FL_WIRE_SIZED : field->wire);
    const size_t before = written(to);
    for (size_t left = count; left > 0; left--) {
        FL_TRY(put_value(to, desc, field, first + (left - 1) * item_size, depth));
        if (!is_packed) {
            FL_TRY(put_varint(to, tag));
        }
    }
    if (!is_packed) {
        return 0;
    }
    FL_TRY(put_varint(to, written(to) - before));
    return put_varint(to, tag);
}

static fluss_code_t encode_message(encoder *to, const fl_msg_desc *desc, const void *message,
                                   int depth)
{
    for (uint32_t number = desc->number_max; number > 0; number--) {
        const fl_msg_field *field = &desc->fields[number - 1];
        const uint8_t *first;
        const size_t count =
            field->kind != FL_FIELD_NONE ? fl_field_values(field, message, &first) : 0;
        if (count != 0) {
            FL_TRY(put_values(to, desc, number, first, count, depth));
        }
    }
    return 0;
}

/* What the inline scratch holds is copied; what a frame holds goes out by reference as well. */
static fluss_code_t hand_over_run(const encoder *from, const uint8_t *at, const uint8_t *until,
                                  fl_gather *out)
{
    const size_t size = (size_t)(until - at);
    return from->start == from->inline_scratch
               ? fl_gather_copy(out, at, size, from->err)
               : fl_gather_view(out, fl_slice_of(at, size), from->err);
}

/* Hand the pieces over in the order of the stream, and the frame with them. */
static fluss_code_t hand_over(encoder *from, fl_gather *out)
{
    if (from->frame != NULL) {
        FL_TRY(fl_gather_own(out, from->frame, from->err));
        from->frame = NULL;
    }
    const uint8_t *at = from->at;
    for (size_t left = from->view_count; left > 0; left--) {
        const view *next = &from->views[left - 1];
        const uint8_t *until = from->end - next->bytes_after;
        FL_TRY(hand_over_run(from, at, until, out));
        FL_TRY(fl_gather_view(out, next->bytes, from->err));
        at = until;
    }
    return at == from->end ? 0 : hand_over_run(from, at, from->end, out);
}

fluss_code_t fl_msg_encode(const fl_msg_desc *desc, const void *message, fl_gather *out,
                           fluss_error_t *err)
{
    encoder to;
    encoder_init(&to, err);
    fluss_code_t rc = encode_message(&to, desc, message, 1);
    if (rc == 0) {
        rc = hand_over(&to, out);
    }
    encoder_deinit(&to);
    return rc;
}
