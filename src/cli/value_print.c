/* SPDX-License-Identifier: Apache-2.0 */
/* Values to JSON. Calendar days are counted by the Gregorian rules for every year; the days of an
 * era of 400 years repeat, so dates before 1970 need no special case. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

enum { MS_PER_DAY = 86400000, MOMENT_SIZE = 64, DECIMAL_DIGITS_MAX = 40 };

static json_t *base64_of(const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((size + 2) / 3 * 4 + 1);
    if (text == NULL) {
        return NULL;
    }
    size_t at = 0;
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const uint32_t word = (uint32_t)bytes[i] << 16 |
                              (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? bytes[i + 2] : 0);
        text[at++] = digits[word >> 18];
        text[at++] = digits[word >> 12 & 63];
        text[at++] = left > 1 ? digits[word >> 6 & 63] : '=';
        text[at++] = left > 2 ? digits[word & 63] : '=';
    }
    json_t *made = json_stringn(text, at);
    free(text);
    return made;
}

static json_t *real_of(double value)
{
    if (isnan(value)) {
        return json_string("NaN");
    }
    if (isinf(value)) {
        return json_string(value < 0 ? "-Infinity" : "Infinity");
    }
    return json_real(value);
}

static json_t *decimal_of(const fluss_datum_t *value)
{
    __extension__ typedef unsigned __int128 wide;
    const bool negative = value->v.dec.hi < 0;
    wide rest = (wide)(uint64_t)value->v.dec.hi << 64 | value->v.dec.lo;
    rest = negative ? -rest : rest;
    char text[DECIMAL_DIGITS_MAX + 4];
    size_t at = sizeof(text);
    size_t digits = 0;
    do {
        if (digits == value->scale && digits != 0) {
            text[--at] = '.';
        }
        text[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
        digits++;
    } while (at > 2 && (rest != 0 || digits <= value->scale));
    if (negative) {
        text[--at] = '-';
    }
    return json_stringn(text + at, sizeof(text) - at);
}

/* Year, month and day of a number of days since 1970. */
static void civil_of(int64_t days, int64_t *year, int *month, int *day)
{
    days += 719468; /* to the first of March of year 0 */
    const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const int64_t of_era = days - era * 146097;
    const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t shifted = (5 * of_year + 2) / 153; /* 0 is March */
    *day = (int)(of_year - (153 * shifted + 2) / 5 + 1);
    *month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

static size_t print_date(char *to, int64_t days)
{
    int64_t year;
    int month, day;
    civil_of(days, &year, &month, &day);
    return (size_t)snprintf(to, MOMENT_SIZE, "%04lld-%02d-%02d", (long long)year, month, day);
}

/* A time of the day, with as many digits of the second as it has. */
static size_t print_time(char *to, int64_t ms, int32_t nanos)
{
    size_t size =
        (size_t)snprintf(to, MOMENT_SIZE, "%02d:%02d:%02d.%03d%06d", (int)(ms / 3600000),
                         (int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000), nanos);
    while (to[size - 1] == '0') {
        size--;
    }
    size -= to[size - 1] == '.';
    to[size] = '\0';
    return size;
}

static json_t *moment_of(const fluss_datum_t *value)
{
    char text[2 * MOMENT_SIZE];
    size_t size;
    if (value->type == FLUSS_DATE) {
        size = print_date(text, value->v.i);
    } else if (value->type == FLUSS_TIME) {
        size = print_time(text, value->v.i, 0);
    } else {
        const int64_t of_day = (value->v.i % MS_PER_DAY + MS_PER_DAY) % MS_PER_DAY;
        size = print_date(text, (value->v.i - of_day) / MS_PER_DAY);
        text[size++] = 'T';
        size += print_time(text + size, of_day, value->nanos);
        if (value->type == FLUSS_TIMESTAMP_LTZ) {
            text[size++] = 'Z';
        }
    }
    return json_stringn(text, size);
}

static const cli_type *child_of(const cli_type *type, size_t i)
{
    return type != NULL && i < type->child_count ? &type->children[i] : NULL;
}

static json_t *array_of(const fluss_datum_t *value, const cli_type *type)
{
    json_t *array = json_array();
    for (size_t i = 0; i < value->v.list.len; i++) {
        const size_t child = value->type == FLUSS_ROW ? i : 0;
        json_t *item = cli_value_to_json(&value->v.list.items[i], child_of(type, child));
        if (json_array_append_new(array, item) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *map_of(const fluss_datum_t *value, const cli_type *type)
{
    json_t *array = json_array();
    for (size_t i = 0; i + 1 < value->v.list.len; i += 2) {
        json_t *pair = json_array();
        json_t *key = cli_value_to_json(&value->v.list.items[i], child_of(type, 0));
        json_t *item = cli_value_to_json(&value->v.list.items[i + 1], child_of(type, 1));
        const bool done = json_array_append_new(pair, key) == 0;
        if (json_array_append_new(pair, item) != 0 || !done ||
            json_array_append(array, pair) != 0) {
            json_decref(pair);
            json_decref(array);
            return NULL;
        }
        json_decref(pair);
    }
    return array;
}

static json_t *object_of(const fluss_datum_t *value, const cli_type *type)
{
    json_t *object = json_object();
    for (size_t i = 0; i < value->v.list.len; i++) {
        json_t *item = cli_value_to_json(&value->v.list.items[i], child_of(type, i));
        if (json_object_set_new(object, type->names[i], item) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

json_t *cli_value_to_json(const fluss_datum_t *value, const cli_type *type)
{
    switch ((fluss_type_t)value->type) {
    case FLUSS_NULL:
        return json_null();
    case FLUSS_BOOLEAN:
        return json_boolean(value->v.b);
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
        return json_integer(value->v.i);
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return real_of(value->v.f);
    case FLUSS_CHAR:
    case FLUSS_STRING:
        return json_stringn(value->v.s.ptr, value->v.s.len);
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return base64_of(value->v.s.ptr, value->v.s.len);
    case FLUSS_DECIMAL:
        return decimal_of(value);
    case FLUSS_DATE:
    case FLUSS_TIME:
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return moment_of(value);
    case FLUSS_MAP:
        return map_of(value, type);
    case FLUSS_ARRAY:
        return array_of(value, type);
    case FLUSS_ROW:
        return type != NULL && type->child_count == value->v.list.len ? object_of(value, type)
                                                                      : array_of(value, type);
    }
    return NULL;
}
