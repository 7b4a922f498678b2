/* SPDX-License-Identifier: Apache-2.0 */
/* The Hudi key: four bytes, big endian, the hash code that a Java list of the values' texts has.
 * A list's hash is h = 31 * h + hash(text) from 1 on; a text's is the same formula over its UTF-16
 * units from 0 on. One null column is the text "__null__", a null of several counts 0.
 * Source: HudiKeyEncoder, Fluss 1.0. */
#include "base/utf8.h"
#include "format/calendar.h"
#include "format/decimal.h"
#include "format/java_float.h"
#include "format/key_private.h"

enum { HASH_FACTOR = 31, TEXT_SIZE_MAX = 1 << 20, NANOS_PER_MS = 1000000 };

/* Read one character of valid UTF-8; its size. */
static size_t read_character(const uint8_t *at, uint32_t *code)
{
    static const uint8_t lead_masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const size_t size = at[0] < 0x80 ? 1 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    *code = at[0] & lead_masks[size];
    for (size_t i = 1; i < size; i++) {
        *code = (*code << 6) | (at[i] & 0x3F);
    }
    return size;
}

static uint32_t text_hash(fl_slice text)
{
    uint32_t hash = 0;
    for (size_t at = 0; at < text.size;) {
        uint32_t code;
        at += read_character(text.data + at, &code);
        if (code >= 0x10000) {
            code -= 0x10000;
            hash = HASH_FACTOR * hash + (0xD800 + (code >> 10));
            code = 0xDC00 + (code & 0x3FF);
        }
        hash = HASH_FACTOR * hash + code;
    }
    return hash;
}

/* ISO 8601 as java.time writes it: a fraction of 3, 6 or 9 digits; LocalDateTime leaves seconds out
 * when they are 0, Instant does not. */
static fluss_code_t print_timestamp(const fluss_datum_t *value, fl_buf *out, fluss_error_t *err)
{
    const fl_calendar at = fl_calendar_from_ms(value->v.i);
    const bool is_instant = value->type == FLUSS_TIMESTAMP_LTZ;
    const int64_t nanos = (int64_t)at.ms * NANOS_PER_MS + value->nanos;
    FL_TRY(fl_buf_printf(out, err, "%s%04lld-%02d-%02dT%02d:%02d", at.year > 9999 ? "+" : "",
                         (long long)at.year, at.month, at.day, at.hour, at.minute));
    if (is_instant || at.second != 0 || nanos != 0) {
        FL_TRY(fl_buf_printf(out, err, ":%02d", at.second));
    }
    if (nanos % NANOS_PER_MS == 0 && nanos != 0) {
        FL_TRY(fl_buf_printf(out, err, ".%03lld", (long long)(nanos / NANOS_PER_MS)));
    } else if (nanos % 1000 == 0 && nanos != 0) {
        FL_TRY(fl_buf_printf(out, err, ".%06lld", (long long)(nanos / 1000)));
    } else if (nanos != 0) {
        FL_TRY(fl_buf_printf(out, err, ".%09lld", (long long)nanos));
    }
    return is_instant ? fl_buf_append_byte(out, 'Z', err) : 0;
}

static fluss_code_t print_text(const fl_type *type, const fluss_datum_t *value, fl_buf *out,
                               fluss_error_t *err)
{
    char number[FL_DECIMAL_TEXT_SIZE];
    size_t size;
    switch ((fluss_type_t)type->root) {
    case FLUSS_CHAR:
    case FLUSS_STRING:
        return value->v.s.len == 0 ? 0 : fl_buf_append(out, value->v.s.ptr, value->v.s.len, err);
    case FLUSS_BOOLEAN:
        return fl_buf_printf(out, err, value->v.b ? "true" : "false");
    case FLUSS_FLOAT:
        size = fl_java_float_print((float)value->v.f, number);
        return fl_buf_append(out, number, size, err);
    case FLUSS_DOUBLE:
        size = fl_java_double_print(value->v.f, number);
        return fl_buf_append(out, number, size, err);
    case FLUSS_DECIMAL:
        size = fl_decimal_print(fl_decimal_unscaled(value), type->scale, number);
        return fl_buf_append(out, number, size, err);
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return print_timestamp(value, out, err);
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
    case FLUSS_DATE:
    case FLUSS_TIME:
        return fl_buf_printf(out, err, "%lld", (long long)value->v.i);
    default:
        return fl_error_argument(err, "Hudi keys have no encoding for %s",
                                 fl_type_root_name(type->root));
    }
}

/* Hudi separates the texts of several columns by ',' and cannot escape. */
static fluss_code_t check_composite(fl_slice text, fluss_error_t *err)
{
    if (text.size != 0 && memchr(text.data, ',', text.size) != NULL) {
        return fl_error_argument(err, "a text with ',' can't be part of a Hudi key");
    }
    if (fl_slice_equal_str(text, "__null__") || fl_slice_equal_str(text, "__empty__")) {
        return fl_error_argument(err, "'%.*s' is reserved in Hudi keys", (int)text.size,
                                 (const char *)text.data);
    }
    return 0;
}

static fluss_code_t value_hash(const fl_type *type, const fluss_datum_t *value, bool is_composite,
                               fl_buf *text, uint32_t *hash, fluss_error_t *err)
{
    if (value->type == FLUSS_NULL) {
        *hash = is_composite ? 0 : text_hash(fl_slice_str("__null__"));
        return 0;
    }
    fl_buf_reset(text);
    FL_TRY(print_text(type, value, text, err));
    const fl_slice printed = fl_buf_slice(text);
    if (!fl_utf8_is_valid(printed.data, printed.size)) {
        return fl_error_argument(err, "text of %zu bytes is not UTF-8", printed.size);
    }
    if (is_composite) {
        FL_TRY(check_composite(printed, err));
    }
    *hash = text_hash(printed);
    return 0;
}

fluss_code_t fl_key_encode_hudi(const fl_type *const *types, const fluss_datum_t *values,
                                size_t count, fl_buf *out, fluss_error_t *err)
{
    fl_buf text;
    fl_buf_init(&text, TEXT_SIZE_MAX);
    uint32_t list_hash = 1;
    fluss_code_t rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        uint32_t hash = 0;
        rc = value_hash(types[i], &values[i], count > 1, &text, &hash, err);
        if (rc != 0) {
            fl_error_prefix(err, "key value %zu: ", i);
        }
        list_hash = HASH_FACTOR * list_hash + hash;
    }
    fl_buf_deinit(&text);
    if (rc != 0) {
        return rc;
    }
    uint8_t bytes[sizeof(list_hash)];
    fl_store_be32(bytes, list_hash);
    return fl_buf_append(out, bytes, sizeof(bytes), err);
}
