/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_datum.h - makers of values for rows, and typed getters of rows; header only.
 *
 *   fluss_append(writer, FLUSS_ROW(fluss_int(1), fluss_str("Alice"), fluss_null()), NULL, &err);
 */
#ifndef FLUSS_DATUM_H
#define FLUSS_DATUM_H
#include <string.h>

#include "fluss_scan.h"
#include "fluss_types.h"

#ifdef __cplusplus
extern "C" {
#else
/** A row as the two arguments `row, n` of fluss_append, fluss_upsert and fluss_delete. */
#define FLUSS_ROW(...)                    \
    (const fluss_datum_t[]){__VA_ARGS__}, \
        sizeof((const fluss_datum_t[]){__VA_ARGS__}) / sizeof(fluss_datum_t)
/** An options struct with its size set: FLUSS_OPTS(fluss_scan_opts_t, .batches = true). */
#define FLUSS_OPTS(T, ...) (&(const T){.size = sizeof(T), __VA_ARGS__})
#endif

static inline fluss_datum_t fluss_null(void)
{
    fluss_datum_t d;
    memset(&d, 0, sizeof(d));
    return d;
}

/** A value that is kept in v.i: any integer type, FLUSS_DATE, FLUSS_TIME. */
static inline fluss_datum_t fluss_integer(fluss_type_t type, int64_t value)
{
    fluss_datum_t d = fluss_null();
    d.type = (uint8_t)type;
    d.v.i = value;
    return d;
}

static inline fluss_datum_t fluss_bool(bool value)
{
    fluss_datum_t d = fluss_null();
    d.type = FLUSS_BOOLEAN;
    d.v.b = value;
    return d;
}

static inline fluss_datum_t fluss_int(int32_t value)
{
    return fluss_integer(FLUSS_INT, value);
}

static inline fluss_datum_t fluss_bigint(int64_t value)
{
    return fluss_integer(FLUSS_BIGINT, value);
}

static inline fluss_datum_t fluss_float(float value)
{
    fluss_datum_t d = fluss_null();
    d.type = FLUSS_FLOAT;
    d.v.f = (double)value;
    return d;
}

static inline fluss_datum_t fluss_double(double value)
{
    fluss_datum_t d = fluss_null();
    d.type = FLUSS_DOUBLE;
    d.v.f = value;
    return d;
}

/** Text of `len` bytes, UTF-8. Borrowed. */
static inline fluss_datum_t fluss_string(const char *text, size_t len)
{
    fluss_datum_t d = fluss_null();
    d.type = FLUSS_STRING;
    d.v.s.ptr = text;
    d.v.s.len = len;
    return d;
}

/** Bytes, for BYTES and BINARY. Borrowed. */
static inline fluss_datum_t fluss_bytes(const void *ptr, size_t len)
{
    fluss_datum_t d = fluss_string((const char *)ptr, len);
    d.type = FLUSS_BYTES;
    return d;
}

/** A date of the Gregorian calendar. @param month 1..12 @param day 1..31 */
static inline fluss_datum_t fluss_date(int year, int month, int day)
{
    const int64_t y = (int64_t)year - (month <= 2);
    const int64_t era = (y >= 0 ? y : y - 399) / 400;
    const int64_t year_of_era = y - era * 400;
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return fluss_integer(FLUSS_DATE, era * 146097 + day_of_era - 719468);
}

/** A time of day, milliseconds since midnight. */
static inline fluss_datum_t fluss_time(int32_t ms)
{
    return fluss_integer(FLUSS_TIME, ms);
}

/** A timestamp without time zone. @param ms since 1970 @param nanos within the millisecond,
 * 0..999999 */
static inline fluss_datum_t fluss_timestamp(int64_t ms, int32_t nanos)
{
    fluss_datum_t d = fluss_integer(FLUSS_TIMESTAMP, ms);
    d.nanos = nanos;
    return d;
}

/** A point in time. */
static inline fluss_datum_t fluss_timestamp_ltz(int64_t ms, int32_t nanos)
{
    fluss_datum_t d = fluss_integer(FLUSS_TIMESTAMP_LTZ, ms);
    d.nanos = nanos;
    return d;
}

/** A nested value. @param type FLUSS_ARRAY, FLUSS_MAP (key, value, key, value …) or FLUSS_ROW
 * @param items borrowed */
static inline fluss_datum_t fluss_nested(fluss_type_t type, const fluss_datum_t *items, size_t len)
{
    fluss_datum_t d = fluss_null();
    d.type = (uint8_t)type;
    d.v.list.items = items;
    d.v.list.len = len;
    return d;
}

static inline fluss_datum_t fluss_list(const fluss_datum_t *items, size_t len)
{
    return fluss_nested(FLUSS_ARRAY, items, len);
}

/** Text from a terminated string; NULL gives a null. Borrowed. */
FLUSS_API fluss_datum_t fluss_str(const char *text);
/** A decimal from text ("-12.50"). @return FLUSS_KIND_ARGUMENT: unreadable, or digits would be lost
 */
FLUSS_API fluss_code_t fluss_decimal(const char *text, int precision, int scale, fluss_datum_t *out,
                                     fluss_error_t *err);

/* Getters by name, for readers who know the schema: `fallback` for a null, another type, or no such
 * column. */
static inline fluss_datum_t fluss_row_find(const fluss_row_t *row, const char *column)
{
    fluss_datum_t d = fluss_null();
    const ptrdiff_t index = fluss_row_index(row, column);
    if (index < 0 || fluss_row_get(row, (size_t)index, &d) != 0) {
        return fluss_null();
    }
    return d;
}

static inline bool fluss_row_bool(const fluss_row_t *row, const char *column, bool fallback)
{
    const fluss_datum_t d = fluss_row_find(row, column);
    return d.type == FLUSS_BOOLEAN ? d.v.b : fallback;
}

/** Integers, DATE (days), TIME (ms of the day), TIMESTAMP* (ms since 1970). */
static inline int64_t fluss_row_i64(const fluss_row_t *row, const char *column, int64_t fallback)
{
    const fluss_datum_t d = fluss_row_find(row, column);
    const bool whole = d.type >= FLUSS_TINYINT && d.type <= FLUSS_BIGINT;
    const bool moment = d.type >= FLUSS_DATE && d.type <= FLUSS_TIMESTAMP_LTZ;
    return whole || moment ? d.v.i : fallback;
}

static inline double fluss_row_f64(const fluss_row_t *row, const char *column, double fallback)
{
    const fluss_datum_t d = fluss_row_find(row, column);
    return d.type == FLUSS_FLOAT || d.type == FLUSS_DOUBLE ? d.v.f : fallback;
}

/** Text or bytes, not terminated. @param len set in every case @return NULL: a null or other type
 */
static inline const char *fluss_row_text(const fluss_row_t *row, const char *column, size_t *len)
{
    const fluss_datum_t d = fluss_row_find(row, column);
    const bool is_text = d.type >= FLUSS_CHAR && d.type <= FLUSS_BYTES;
    *len = is_text ? d.v.s.len : 0;
    return is_text ? (const char *)d.v.s.ptr : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
