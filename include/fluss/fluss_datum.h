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

/* ---- makers of values ---- */

/**
 * A null.
 *
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_null(void)
{
    fluss_datum_t d;
    memset(&d, 0, sizeof(d));
    return d;
}

/**
 * A value that is kept in v.i.
 *
 * @param type   any integer type, FLUSS_DATE (days since 1970), FLUSS_TIME (ms of the day)
 * @param value  checked against the column when it is written
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_integer(fluss_type_t type, int64_t value)
{
    fluss_datum_t d = fluss_null();
    d.type = (uint8_t)type;
    d.v.i = value;
    return d;
}

/**
 * A BOOLEAN.
 *
 * @param value  of it
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_bool(bool value)
{
    fluss_datum_t d = fluss_null();
    d.type = FLUSS_BOOLEAN;
    d.v.b = value;
    return d;
}

/**
 * An INT; also taken by wider and, where it fits, narrower columns.
 *
 * @param value  of it
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_int(int32_t value)
{
    return fluss_integer(FLUSS_INT, value);
}

/**
 * A BIGINT; also taken by narrower columns where it fits.
 *
 * @param value  of it
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_bigint(int64_t value)
{
    return fluss_integer(FLUSS_BIGINT, value);
}

/**
 * A FLOAT; also taken by DOUBLE.
 *
 * @param value  of it
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_float(float value)
{
    fluss_datum_t d = fluss_null();
    d.type = FLUSS_FLOAT;
    d.v.f = (double)value;
    return d;
}

/**
 * A DOUBLE; taken by FLOAT where nothing is lost.
 *
 * @param value  of it
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_double(double value)
{
    fluss_datum_t d = fluss_null();
    d.type = FLUSS_DOUBLE;
    d.v.f = value;
    return d;
}

/**
 * Text, for STRING and CHAR.
 *
 * @param text  UTF-8, not terminated, borrowed until the row was written
 * @param len   bytes
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_string(const char *text, size_t len)
{
    fluss_datum_t d = fluss_null();
    d.type = FLUSS_STRING;
    d.v.s.ptr = text;
    d.v.s.len = len;
    return d;
}

/**
 * Bytes, for BYTES and BINARY.
 *
 * @param ptr  borrowed until the row was written
 * @param len  bytes
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_bytes(const void *ptr, size_t len)
{
    fluss_datum_t d = fluss_string((const char *)ptr, len);
    d.type = FLUSS_BYTES;
    return d;
}

/**
 * A DATE of the Gregorian calendar, without checks.
 *
 * @param year   astronomical: 0 is 1 BC
 * @param month  1..12
 * @param day    1..31
 * @return the value
 * Thread: any. Source: ours.
 */
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

/**
 * A TIME of day.
 *
 * @param ms  milliseconds since midnight, 0..86399999
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_time(int32_t ms)
{
    return fluss_integer(FLUSS_TIME, ms);
}

/**
 * A TIMESTAMP, without time zone.
 *
 * @param ms     milliseconds since 1970
 * @param nanos  within the millisecond, 0..999999
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_timestamp(int64_t ms, int32_t nanos)
{
    fluss_datum_t d = fluss_integer(FLUSS_TIMESTAMP, ms);
    d.nanos = nanos;
    return d;
}

/**
 * A TIMESTAMP_LTZ, a point in time.
 *
 * @param ms     milliseconds since 1970, UTC
 * @param nanos  within the millisecond, 0..999999
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_timestamp_ltz(int64_t ms, int32_t nanos)
{
    fluss_datum_t d = fluss_integer(FLUSS_TIMESTAMP_LTZ, ms);
    d.nanos = nanos;
    return d;
}

/**
 * A nested value.
 *
 * @param type   FLUSS_ARRAY, FLUSS_MAP (key, value, key, value …) or FLUSS_ROW
 * @param items  borrowed until the row was written
 * @param len    of items, keys and values counted alone
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_nested(fluss_type_t type, const fluss_datum_t *items, size_t len)
{
    fluss_datum_t d = fluss_null();
    d.type = (uint8_t)type;
    d.v.list.items = items;
    d.v.list.len = len;
    return d;
}

/**
 * An ARRAY.
 *
 * @param items  borrowed until the row was written
 * @param len    of items
 * @return the value
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_list(const fluss_datum_t *items, size_t len)
{
    return fluss_nested(FLUSS_ARRAY, items, len);
}

/**
 * Text from a terminated string.
 *
 * @param text  UTF-8, borrowed until the row was written; NULL gives a null
 * @return the value
 * Thread: any. Source: ours.
 */
FLUSS_API fluss_datum_t fluss_str(const char *text);
/**
 * A DECIMAL from text.
 *
 * @param text       "-12.50"
 * @param precision  digits in all, 1..38
 * @param scale      digits after the point, 0..precision
 * @param out        the value; a null on failure
 * @return 0; FLUSS_KIND_ARGUMENT: unreadable, or digits would be lost
 * Thread: any. Source: Decimal.
 */
FLUSS_API fluss_code_t fluss_decimal(const char *text, int precision, int scale, fluss_datum_t *out,
                                     fluss_error_t *err);

/* ---- getters by name ---- */

/**
 * Read a value by the name of its column.
 *
 * @param column  its name
 * @return pointers in it are borrowed from the records; a null where there is no such column
 * Thread: any. Source: ours.
 */
static inline fluss_datum_t fluss_row_find(const fluss_row_t *row, const char *column)
{
    fluss_datum_t d = fluss_null();
    const ptrdiff_t index = fluss_row_index(row, column);
    if (index < 0 || fluss_row_get(row, (size_t)index, &d) != 0) {
        return fluss_null();
    }
    return d;
}

/**
 * Read a BOOLEAN.
 *
 * @param column    its name
 * @param fallback  returned for a null, another type, or no such column
 * @return the value
 * Thread: any. Source: ours.
 */
static inline bool fluss_row_bool(const fluss_row_t *row, const char *column, bool fallback)
{
    const fluss_datum_t d = fluss_row_find(row, column);
    return d.type == FLUSS_BOOLEAN ? d.v.b : fallback;
}

/**
 * Read an integer, DATE (days since 1970), TIME (ms of the day) or TIMESTAMP* (ms since 1970).
 *
 * @param column    its name
 * @param fallback  returned for a null, another type, or no such column
 * @return the value
 * Thread: any. Source: ours.
 */
static inline int64_t fluss_row_i64(const fluss_row_t *row, const char *column, int64_t fallback)
{
    const fluss_datum_t d = fluss_row_find(row, column);
    const bool whole = d.type >= FLUSS_TINYINT && d.type <= FLUSS_BIGINT;
    const bool moment = d.type >= FLUSS_DATE && d.type <= FLUSS_TIMESTAMP_LTZ;
    return whole || moment ? d.v.i : fallback;
}

/**
 * Read a FLOAT or DOUBLE.
 *
 * @param column    its name
 * @param fallback  returned for a null, another type, or no such column
 * @return the value
 * Thread: any. Source: ours.
 */
static inline double fluss_row_f64(const fluss_row_t *row, const char *column, double fallback)
{
    const fluss_datum_t d = fluss_row_find(row, column);
    return d.type == FLUSS_FLOAT || d.type == FLUSS_DOUBLE ? d.v.f : fallback;
}

/**
 * Read text or bytes.
 *
 * @param column  its name
 * @param len     bytes; set in every case
 * @return not terminated, borrowed from the records; NULL: a null, another type, or no such column
 * Thread: any. Source: ours.
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
