/* SPDX-License-Identifier: Apache-2.0 */
/* Messages as text, for people and tests: JSON in one line, fields in number order, absent fields
 * left out, bytes in lower-case hex. Credentials show as their size only, so that the text may go
 * to a log. */
#include <inttypes.h>
#include <math.h>

#include "base/utf8.h"
#include "protocol/message_private.h"

static fluss_code_t put_text(fl_buf *out, const char *text, fluss_error_t *err)
{
    return fl_buf_append(out, text, strlen(text), err);
}

/* Bytes above 0x7F go out as they are when the whole is UTF-8, else escaped one by one. */
static fluss_code_t put_string(fl_buf *out, fl_slice text, fluss_error_t *err)
{
    const bool is_utf8 = fl_utf8_is_valid(text.data, text.size);
    FL_TRY(fl_buf_append_byte(out, '"', err));
    for (size_t i = 0; i < text.size; i++) {
        const uint8_t byte = text.data[i];
        if (byte == '"' || byte == '\\') {
            FL_TRY(fl_buf_append_byte(out, '\\', err));
        } else if (byte < 0x20 || (byte >= 0x80 && !is_utf8)) {
            FL_TRY(fl_buf_printf(out, err, "\\u%04x", byte));
            continue;
        }
        FL_TRY(fl_buf_append_byte(out, byte, err));
    }
    return fl_buf_append_byte(out, '"', err);
}

static fluss_code_t put_bytes(fl_buf *out, fl_slice bytes, fluss_error_t *err)
{
    static const char digits[] = "0123456789abcdef";
    FL_TRY(fl_buf_reserve(out, bytes.size < SIZE_MAX / 4 ? bytes.size * 2 + 2 : SIZE_MAX, err));
    FL_TRY(fl_buf_append_byte(out, '"', err));
    for (size_t i = 0; i < bytes.size; i++) {
        const char pair[2] = {digits[bytes.data[i] >> 4], digits[bytes.data[i] & 15]};
        FL_TRY(fl_buf_append(out, pair, sizeof(pair), err));
    }
    return fl_buf_append_byte(out, '"', err);
}

/* JSON has no words for what is not finite. */
static fluss_code_t put_number(fl_buf *out, double number, int digits, fluss_error_t *err)
{
    if (isnan(number)) {
        return put_text(out, "\"NaN\"", err);
    }
    if (isinf(number)) {
        return put_text(out, number > 0 ? "\"Infinity\"" : "\"-Infinity\"", err);
    }
    return fl_buf_printf(out, err, "%.*g", digits, number);
}

static bool is_secret(const fl_msg_field *field)
{
    return field->kind == FL_FIELD_BYTES &&
           (strcmp(field->name, "token") == 0 || strcmp(field->name, "challenge") == 0);
}

static fluss_code_t put_scalar(const fl_msg_field *field, const uint8_t *value, fl_buf *out,
                               fluss_error_t *err)
{
    fl_slice bytes;
    bool is_set;
    float single;
    double number;
    switch (field->kind) {
    case FL_FIELD_BOOL:
        memcpy(&is_set, value, sizeof(is_set));
        return put_text(out, is_set ? "true" : "false", err);
    case FL_FIELD_INT32:
        return fl_buf_printf(out, err, "%" PRId32, fl_load_i32(value));
    case FL_FIELD_INT64:
        return fl_buf_printf(out, err, "%" PRId64, fl_load_i64(value));
    case FL_FIELD_FLOAT:
        memcpy(&single, value, sizeof(single));
        return put_number(out, (double)single, 9, err);
    case FL_FIELD_DOUBLE:
        memcpy(&number, value, sizeof(number));
        return put_number(out, number, 17, err);
    case FL_FIELD_STRING:
        memcpy(&bytes, value, sizeof(bytes));
        return put_string(out, bytes, err);
    default: /* FL_FIELD_BYTES */
        memcpy(&bytes, value, sizeof(bytes));
        return is_secret(field) ? fl_buf_printf(out, err, "\"<%zu bytes>\"", bytes.size)
                                : put_bytes(out, bytes, err);
    }
}

static fluss_code_t put_message(const fl_msg_desc *desc, const void *message, int depth,
                                fl_buf *out, fluss_error_t *err);

static fluss_code_t put_values(const fl_msg_field *field, const uint8_t *first, size_t count,
                               int depth, fl_buf *out, fluss_error_t *err)
{
    const size_t item_size = field->item_size;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *value = first + i * item_size;
        FL_TRY(put_text(out, i != 0 ? ", " : "", err));
        FL_TRY(field->kind == FL_FIELD_MESSAGE
                   ? put_message(field->message, value, depth + 1, out, err)
                   : put_scalar(field, value, out, err));
    }
    return 0;
}

static fluss_code_t put_message(const fl_msg_desc *desc, const void *message, int depth,
                                fl_buf *out, fluss_error_t *err)
{
    if (depth > FL_MSG_DEPTH_MAX) {
        return fl_error_argument(err, "%s: nested deeper than %d messages", desc->name,
                                 FL_MSG_DEPTH_MAX);
    }
    const char *separator = "";
    FL_TRY(fl_buf_append_byte(out, '{', err));
    for (uint16_t i = 0; i < desc->number_max; i++) {
        const fl_msg_field *field = &desc->fields[i];
        const uint8_t *first;
        const size_t count =
            field->kind != FL_FIELD_NONE ? fl_field_values(field, message, &first) : 0;
        if (count == 0) {
            continue;
        }
        const bool is_list = field->label >= FL_FIELD_REPEATED;
        FL_TRY(fl_buf_printf(out, err, "%s\"%s\": %s", separator, field->name, is_list ? "[" : ""));
        FL_TRY(put_values(field, first, count, depth, out, err));
        FL_TRY(put_text(out, is_list ? "]" : "", err));
        separator = ", ";
    }
    return fl_buf_append_byte(out, '}', err);
}

fluss_code_t fl_msg_to_json(const fl_msg_desc *desc, const void *message, fl_buf *out,
                            fluss_error_t *err)
{
    return put_message(desc, message, 1, out, err);
}
