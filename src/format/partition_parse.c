/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a partition value as a value again: what partition_value.c prints, and what the
 * official clients print where they differ from it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "format/calendar.h"
#include "format/row_codec.h"

enum { TEXT_SIZE_MAX = 200, NANOS_PER_MS = 1000000, FRACTION_DIGITS = 9 };

static bool parse_integer(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *end == '\0' && end != text && errno == 0;
}

/* '_' stands for the point. */
static bool parse_float(char *text, double *value)
{
    char *end;
    char *point = strchr(text, '_');
    if (point != NULL) {
        *point = '.';
    }
    *value = fl_strtod(text, &end); /* knows NaN, Inf and -Inf */
    return *end == '\0' && end != text;
}

static int hex_digit(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = digit != '\0' ? strchr(digits, digit) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static bool parse_bytes(fl_slice text, uint8_t *bytes)
{
    if (text.size % 2 != 0) {
        return false;
    }
    for (size_t i = 0; i < text.size; i += 2) {
        const int high = hex_digit((char)text.data[i]), low = hex_digit((char)text.data[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[i / 2] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static bool parse_date(const char *text, int64_t *days, int *used)
{
    long long year;
    int month, day;
    if (sscanf(text, "%10lld-%2d-%2d%n", &year, &month, &day, used) != 3 || month < 1 ||
        month > 12 || day < 1 || day > 31) {
        return false;
    }
    *days = fl_calendar_to_days(year, month, day);
    return true;
}

static bool parse_clock(const char *text, int64_t *ms, int *used)
{
    int hour, minute, second;
    if (sscanf(text, "%2d-%2d-%2d_%n", &hour, &minute, &second, used) != 3 || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
        return false;
    }
    *ms = ((hour * 60 + minute) * 60 + second) * INT64_C(1000);
    return true;
}

/* Digits after the point, up to nine, as nanoseconds. */
static bool parse_fraction(const char *text, int64_t *nanos)
{
    int digits = 0;
    *nanos = 0;
    for (; text[digits] >= '0' && text[digits] <= '9' && digits < FRACTION_DIGITS; digits++) {
        *nanos = *nanos * 10 + (text[digits] - '0');
    }
    const bool is_end = text[digits] == '\0';
    for (; digits < FRACTION_DIGITS; digits++) {
        *nanos *= 10;
    }
    return is_end;
}

static bool parse_time(const char *text, fluss_datum_t *value)
{
    int used = 0;
    int64_t nanos;
    const bool is_right =
        parse_clock(text, &value->v.i, &used) && parse_fraction(text + used, &nanos);
    value->v.i += is_right ? nanos / NANOS_PER_MS : 0;
    return is_right;
}

static bool parse_timestamp(const char *text, fluss_datum_t *value)
{
    int used = 0, clock_used = 0;
    int64_t days, ms, nanos;
    if (!parse_date(text, &days, &used) || text[used] != '-' ||
        !parse_clock(text + used + 1, &ms, &clock_used) ||
        !parse_fraction(text + used + 1 + clock_used, &nanos) ||
        __builtin_mul_overflow(days, FL_MS_PER_DAY, &days) ||
        __builtin_add_overflow(days, ms + nanos / NANOS_PER_MS, &value->v.i)) {
        return false;
    }
    value->nanos = (int32_t)(nanos % NANOS_PER_MS);
    return true;
}

static bool parse_scalar(const fl_type *type, char *text, fluss_datum_t *value)
{
    int used = 0;
    switch ((fluss_type_t)type->root) {
    case FLUSS_BOOLEAN:
        value->v.b = strcmp(text, "true") == 0;
        return value->v.b || strcmp(text, "false") == 0;
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
        return parse_integer(text, &value->v.i);
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return parse_float(text, &value->v.f);
    case FLUSS_DATE:
        return parse_date(text, &value->v.i, &used) && text[used] == '\0';
    case FLUSS_TIME:
        return parse_time(text, value);
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return parse_timestamp(text, value);
    default:
        return false;
    }
}

/* Strings are their own text, bytes are hexadecimal digits. */
static fluss_code_t parse_text(const fl_type *type, fl_slice text, fl_arena *arena,
                               fluss_datum_t *value, bool *is_right, fluss_error_t *err)
{
    const bool is_bytes = type->root == FLUSS_BINARY || type->root == FLUSS_BYTES;
    char *copy = fl_arena_strndup(arena, text.data, text.size);
    if (copy == NULL) {
        return fl_error_nomem(err);
    }
    value->v.s.ptr = copy;
    value->v.s.len = is_bytes ? text.size / 2 : text.size;
    *is_right = !is_bytes || parse_bytes(text, (uint8_t *)copy);
    return 0;
}

fluss_code_t fl_partition_value_parse(const fl_type *type, fl_slice text, fl_arena *arena,
                                      fluss_datum_t *value, fluss_error_t *err)
{
    char room[TEXT_SIZE_MAX + 1];
    bool is_right = false;
    *value =
        (fluss_datum_t){.type = type->root, .precision = type->precision, .scale = type->scale};
    if (type->root == FLUSS_CHAR || type->root == FLUSS_STRING || type->root == FLUSS_BINARY ||
        type->root == FLUSS_BYTES) {
        FL_TRY(parse_text(type, text, arena, value, &is_right, err));
    } else if (text.size <= TEXT_SIZE_MAX && text.size != 0) {
        memcpy(room, text.data, text.size);
        room[text.size] = '\0';
        is_right = parse_scalar(type, room, value);
    }
    if (!is_right) {
        return fl_error_argument(err, "'%.*s' is no partition value of this column's type",
                                 (int)(text.size < TEXT_SIZE_MAX ? text.size : TEXT_SIZE_MAX),
                                 (const char *)text.data);
    }
    return fl_datum_coerce(value, type, "partition value", arena, value, err);
}
