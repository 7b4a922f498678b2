/* SPDX-License-Identifier: Apache-2.0 */
/* Values as text for people. Scalars stand plain ("2023-10-25 12:01:13.182", "01ff" for bytes);
 * inside ARRAY [..], MAP {k: v} and ROW {name: v} text is quoted as in JSON. */
#include "datum_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/calendar.h"
#include "format/decimal.h"
#include "format/json_text.h"

enum { NANOS_PER_MS = 1000000 };

static fluss_code_t print_hex(const fluss_datum_t *datum, fl_buf *out, fluss_error_t *err)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *bytes = datum->v.s.ptr;
    for (size_t i = 0; i < datum->v.s.len; i++) {
        const uint8_t pair[] = {(uint8_t)digits[bytes[i] >> 4], (uint8_t)digits[bytes[i] & 15]};
        FL_TRY(fl_buf_append(out, pair, sizeof(pair), err));
    }
    return 0;
}

/* The fewest digits that read back as the same value. */
static fluss_code_t print_float(double value, bool is_single, fl_buf *out, fluss_error_t *err)
{
    if (!isfinite(value)) {
        return fl_buf_printf(out, err, "%s", isnan(value) ? "NaN" : value < 0 ? "-inf" : "inf");
    }
    char text[40];
    const int digits_max = is_single ? 9 : 17;
    for (int digits = is_single ? 6 : 15; digits <= digits_max; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        const double back = strtod(text, NULL);
        if (is_single ? (float)back == (float)value : back == value) {
            break;
        }
    }
    return fl_buf_printf(out, err, "%s", text);
}

static fluss_code_t print_time(int64_t ms, fl_buf *out, fluss_error_t *err)
{
    const fl_calendar at = fl_calendar_from_ms(ms);
    FL_TRY(fl_buf_printf(out, err, "%02d:%02d:%02d", at.hour, at.minute, at.second));
    return at.ms == 0 ? 0 : fl_buf_printf(out, err, ".%03d", at.ms);
}

static fluss_code_t print_timestamp(const fluss_datum_t *datum, fl_buf *out, fluss_error_t *err)
{
    const fl_calendar at = fl_calendar_from_ms(datum->v.i);
    FL_TRY(fl_buf_printf(out, err, "%04lld-%02d-%02d %02d:%02d:%02d", (long long)at.year, at.month,
                         at.day, at.hour, at.minute, at.second));
    if (datum->nanos != 0) {
        FL_TRY(fl_buf_printf(out, err, ".%09lld", (long long)at.ms * NANOS_PER_MS + datum->nanos));
    } else if (at.ms != 0) {
        FL_TRY(fl_buf_printf(out, err, ".%03d", at.ms));
    }
    return datum->type == FLUSS_TIMESTAMP_LTZ ? fl_buf_append_byte(out, 'Z', err) : 0;
}

static fluss_code_t print_value(const fluss_datum_t *datum, const fl_type *type, bool is_inner,
                                fl_buf *out, fluss_error_t *err);

static fluss_code_t print_nested(const fluss_datum_t *datum, const fl_type *type, fl_buf *out,
                                 fluss_error_t *err)
{
    const bool is_array = type->root == FLUSS_ARRAY;
    FL_TRY(fl_buf_append_byte(out, is_array ? '[' : '{', err));
    for (size_t i = 0; i < datum->v.list.len; i++) {
        const bool is_map_value = type->root == FLUSS_MAP && i % 2 == 1;
        if (i != 0) {
            FL_TRY(fl_buf_printf(out, err, is_map_value ? ": " : ", "));
        }
        if (type->root == FLUSS_ROW) {
            FL_TRY(fl_buf_printf(out, err, "%s: ", type->fields[i].name));
        }
        const size_t field = type->root == FLUSS_ROW ? i : is_map_value;
        FL_TRY(print_value(&datum->v.list.items[i], &type->fields[field].type, true, out, err));
    }
    return fl_buf_append_byte(out, is_array ? ']' : '}', err);
}

static fluss_code_t print_value(const fluss_datum_t *datum, const fl_type *type, bool is_inner,
                                fl_buf *out, fluss_error_t *err)
{
    switch ((fluss_type_t)datum->type) {
    case FLUSS_NULL:
        return fl_buf_printf(out, err, "null");
    case FLUSS_BOOLEAN:
        return fl_buf_printf(out, err, datum->v.b ? "true" : "false");
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return print_float(datum->v.f, datum->type == FLUSS_FLOAT, out, err);
    case FLUSS_CHAR:
    case FLUSS_STRING:
        return is_inner ? fl_json_text(datum->v.s.ptr, datum->v.s.len, out, err)
                        : fl_buf_append(out, datum->v.s.ptr, datum->v.s.len, err);
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return print_hex(datum, out, err);
    case FLUSS_DECIMAL: {
        char text[FL_DECIMAL_TEXT_SIZE];
        const size_t size = fl_decimal_print(fl_decimal_unscaled(datum), datum->scale, text);
        return fl_buf_append(out, text, size, err);
    }
    case FLUSS_DATE: {
        const fl_calendar at = fl_calendar_from_days(datum->v.i);
        return fl_buf_printf(out, err, "%04lld-%02d-%02d", (long long)at.year, at.month, at.day);
    }
    case FLUSS_TIME:
        return print_time(datum->v.i, out, err);
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return print_timestamp(datum, out, err);
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW:
        return print_nested(datum, type, out, err);
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
        break;
    }
    return fl_buf_printf(out, err, "%lld", (long long)datum->v.i);
}

fluss_code_t datum_text(const fluss_datum_t *datum, const fl_type *type, fl_buf *out,
                        fluss_error_t *err)
{
    return print_value(datum, type, false, out, err);
}
