/* SPDX-License-Identifier: Apache-2.0 */
/* Values against types: conversion and order. Errors inside nested values are made where they are
 * found and get their place in front while the calls return; depth is the type's, at most
 * FL_TYPE_DEPTH_MAX. */
#include "format/datum.h"

#include <math.h>

#include "base/utf8.h"
#include "format/calendar.h"
#include "format/decimal.h"

enum { NANOS_PER_MS = 1000000, NANOS_PER_US = 1000, MS_PER_SECOND = 1000 };

static fluss_code_t mismatch(const fluss_datum_t *in, const fl_type *type, fluss_error_t *err)
{
    return fl_error_argument(err, "expected %s, found %s", fl_type_root_name(type->root),
                             fl_type_root_name(in->type));
}

static bool is_integer(uint8_t root)
{
    return root >= FLUSS_TINYINT && root <= FLUSS_BIGINT;
}

static bool is_text(uint8_t root)
{
    return root == FLUSS_CHAR || root == FLUSS_STRING;
}

static bool is_bytes(uint8_t root)
{
    return root == FLUSS_BINARY || root == FLUSS_BYTES;
}

static fluss_code_t coerce_integer(const fluss_datum_t *in, const fl_type *type, fluss_datum_t *out,
                                   fluss_error_t *err)
{
    if (!is_integer(in->type)) {
        return mismatch(in, type, err);
    }
    const unsigned bits = 8u << (type->root - FLUSS_TINYINT);
    const int64_t max = (int64_t)(UINT64_MAX >> (65 - bits));
    if (in->v.i > max || in->v.i < -max - 1) {
        return fl_error_argument(err, "%lld is out of the range of %s, %lld to %lld",
                                 (long long)in->v.i, fl_type_root_name(type->root),
                                 (long long)(-max - 1), (long long)max);
    }
    out->v.i = in->v.i;
    return 0;
}

static fluss_code_t coerce_float(const fluss_datum_t *in, const fl_type *type, fluss_datum_t *out,
                                 fluss_error_t *err)
{
    const bool is_single = type->root == FLUSS_FLOAT;
    if (is_integer(in->type)) {
        const double wide = is_single ? (double)(float)in->v.i : (double)in->v.i;
        /* 2^63 is a double, but no int64_t. */
        if (wide >= 0x1p63 || (int64_t)wide != in->v.i) {
            return fl_error_argument(err, "%lld has no exact value as %s", (long long)in->v.i,
                                     fl_type_root_name(type->root));
        }
        out->v.f = wide;
        return 0;
    }
    if (in->type != FLUSS_FLOAT && in->type != FLUSS_DOUBLE) {
        return mismatch(in, type, err);
    }
    out->v.f = is_single ? (double)(float)in->v.f : in->v.f;
    return 0;
}

static fluss_code_t coerce_text(const fluss_datum_t *in, const fl_type *type, fluss_datum_t *out,
                                fluss_error_t *err)
{
    if (!is_text(in->type)) {
        return mismatch(in, type, err);
    }
    if (!fl_utf8_is_valid(in->v.s.ptr, in->v.s.len)) {
        return fl_error_argument(err, "text of %zu bytes is not UTF-8", in->v.s.len);
    }
    out->v.s = in->v.s;
    return 0;
}

static fluss_code_t coerce_bytes(const fluss_datum_t *in, const fl_type *type, fluss_datum_t *out,
                                 fluss_error_t *err)
{
    if (!is_bytes(in->type)) {
        return mismatch(in, type, err);
    }
    if (type->root == FLUSS_BINARY && in->v.s.len != (size_t)type->length) {
        return fl_error_argument(err, "%zu bytes, BINARY(%d) takes exactly %d", in->v.s.len,
                                 type->length, type->length);
    }
    out->v.s = in->v.s;
    return 0;
}

static fluss_code_t coerce_decimal(const fluss_datum_t *in, const fl_type *type, fluss_datum_t *out,
                                   fluss_error_t *err)
{
    if (in->type != FLUSS_DECIMAL) {
        return mismatch(in, type, err);
    }
    fl_int128 value = fl_decimal_unscaled(in);
    if (!fl_decimal_fits(value, FL_DECIMAL_PRECISION_MAX)) {
        return fl_error_argument(err, "a decimal of more than %d digits", FL_DECIMAL_PRECISION_MAX);
    }
    fl_int128 rescaled;
    if (!fl_decimal_rescale(value, in->scale, type->precision, type->scale, &rescaled)) {
        char text[FL_DECIMAL_TEXT_SIZE];
        (void)fl_decimal_print(value, in->scale, text);
        return fl_error_argument(err, "%.80s does not fit DECIMAL(%u,%u)", text, type->precision,
                                 type->scale);
    }
    *out = fl_decimal_datum(rescaled, type->precision, type->scale);
    return 0;
}

static fluss_code_t coerce_date_time(const fluss_datum_t *in, const fl_type *type,
                                     fluss_datum_t *out, fluss_error_t *err)
{
    if (in->type != type->root) {
        return mismatch(in, type, err);
    }
    if (type->root == FLUSS_DATE && (in->v.i < INT32_MIN || in->v.i > INT32_MAX)) {
        return fl_error_argument(err, "day %lld is out of the range of DATE", (long long)in->v.i);
    }
    if (type->root == FLUSS_TIME && (in->v.i < 0 || in->v.i >= FL_MS_PER_DAY)) {
        return fl_error_argument(err, "%lld milliseconds are no time of day", (long long)in->v.i);
    }
    out->v.i = in->v.i;
    return 0;
}

/* Cut to what the precision stores: seconds, milliseconds, microseconds or nanoseconds. */
static fluss_code_t coerce_timestamp(const fluss_datum_t *in, const fl_type *type,
                                     fluss_datum_t *out, fluss_error_t *err)
{
    if (in->type != type->root) {
        return mismatch(in, type, err);
    }
    if (in->nanos < 0 || in->nanos >= NANOS_PER_MS) {
        return fl_error_argument(err, "%d nanoseconds within the millisecond, expected 0 to %d",
                                 in->nanos, NANOS_PER_MS - 1);
    }
    out->v.i = in->v.i;
    out->nanos = in->nanos;
    if (type->precision == 0) {
        /* The first second of the range would not fit; nothing smaller is cut. */
        const int64_t rest = fl_floor_mod(in->v.i, MS_PER_SECOND);
        out->v.i = in->v.i < INT64_MIN + MS_PER_SECOND ? in->v.i : in->v.i - rest;
    }
    if (type->precision <= 3) {
        out->nanos = 0;
    } else if (type->precision <= 6) {
        out->nanos = in->nanos - in->nanos % NANOS_PER_US;
    }
    return 0;
}

static fluss_code_t coerce_value(const fluss_datum_t *in, const fl_type *type, fl_arena *arena,
                                 fluss_datum_t *out, fluss_error_t *err);

/* One item of an ARRAY, MAP or ROW; puts its place in front of an error. */
static fluss_code_t coerce_item(const fluss_datum_t *in, const fl_type *outer, size_t index,
                                fl_arena *arena, fluss_datum_t *out, fluss_error_t *err)
{
    const fl_field *field = outer->root == FLUSS_MAP   ? &outer->fields[index % 2]
                            : outer->root == FLUSS_ROW ? &outer->fields[index]
                                                       : &outer->fields[0];
    const fl_type *type = &field->type;
    if (in->type == FLUSS_NULL && !type->nullable) {
        return outer->root == FLUSS_ROW
                   ? fl_error_argument(err, "null for the non-nullable row field '%s'", field->name)
                   : fl_error_argument(err, "null for the non-nullable %s at index %zu",
                                       field->name, outer->root == FLUSS_MAP ? index / 2 : index);
    }
    const fluss_code_t rc = coerce_value(in, type, arena, out, err);
    if (rc != 0 && outer->root == FLUSS_ROW) {
        fl_error_prefix(err, "row field '%s': ", field->name);
    } else if (rc != 0) {
        fl_error_prefix(err, "%s at index %zu: ", field->name,
                        outer->root == FLUSS_MAP ? index / 2 : index);
    }
    return rc;
}

static fluss_code_t coerce_nested(const fluss_datum_t *in, const fl_type *type, fl_arena *arena,
                                  fluss_datum_t *out, fluss_error_t *err)
{
    if (in->type != type->root) {
        return mismatch(in, type, err);
    }
    const size_t count = in->v.list.len;
    if (type->root == FLUSS_ROW && count != type->field_count) {
        return fl_error_argument(err, "ROW of %zu values, expected %zu", count, type->field_count);
    }
    if (type->root == FLUSS_MAP && count % 2 != 0) {
        return fl_error_argument(err, "MAP of %zu values, expected pairs of key and value", count);
    }
    if (count > INT32_MAX) {
        return fl_error_argument(err, "%s of %zu values is too large",
                                 fl_type_root_name(type->root), count);
    }
    fluss_datum_t *items = fl_arena_array(arena, count, sizeof(*items));
    if (items == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        FL_TRY(coerce_item(&in->v.list.items[i], type, i, arena, &items[i], err));
    }
    out->v.list.items = items;
    out->v.list.len = count;
    return 0;
}

/* `in` is null or of any type; a null has been allowed. */
static fluss_code_t coerce_value(const fluss_datum_t *in, const fl_type *type, fl_arena *arena,
                                 fluss_datum_t *out, fluss_error_t *err)
{
    fluss_datum_t result = {.type = type->root};
    fluss_code_t rc = 0;
    if (in->type == FLUSS_NULL) {
        *out = (fluss_datum_t){.type = FLUSS_NULL};
        return 0;
    }
    if (is_integer(type->root)) {
        rc = coerce_integer(in, type, &result, err);
    } else if (is_text(type->root)) {
        rc = coerce_text(in, type, &result, err);
    } else if (is_bytes(type->root)) {
        rc = coerce_bytes(in, type, &result, err);
    } else if (fl_type_root_is_nested(type->root)) {
        rc = coerce_nested(in, type, arena, &result, err);
    } else if (type->root == FLUSS_FLOAT || type->root == FLUSS_DOUBLE) {
        rc = coerce_float(in, type, &result, err);
    } else if (type->root == FLUSS_DECIMAL) {
        rc = coerce_decimal(in, type, &result, err);
    } else if (type->root == FLUSS_DATE || type->root == FLUSS_TIME) {
        rc = coerce_date_time(in, type, &result, err);
    } else if (type->root != FLUSS_BOOLEAN) {
        rc = coerce_timestamp(in, type, &result, err);
    } else if (in->type == FLUSS_BOOLEAN) {
        result.v.b = in->v.b;
    } else {
        rc = mismatch(in, type, err);
    }
    if (rc == 0) {
        *out = result;
    }
    return rc;
}

fluss_code_t fl_datum_coerce(const fluss_datum_t *in, const fl_type *type, const char *name,
                             fl_arena *arena, fluss_datum_t *out, fluss_error_t *err)
{
    if (in->type == FLUSS_NULL && !type->nullable) {
        return fl_error_argument(err, "Field '%s': null for the non-nullable field '%s'", name,
                                 name);
    }
    const fluss_code_t rc = coerce_value(in, type, arena, out, err);
    if (rc != 0 && name != NULL) {
        fl_error_prefix(err, "Field '%s': ", name);
    }
    return rc;
}

/* ---- order ---- */

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Java's Float.compare and Double.compare: -0 < 0, NaN equals NaN and is the greatest. */
static int compare_floats(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (isnan(a) != 0) - (isnan(b) != 0);
    }
    if (a != b) {
        return a < b ? -1 : 1;
    }
    return (signbit(a) == 0) - (signbit(b) == 0);
}

static int compare_bytes(const fluss_datum_t *a, const fluss_datum_t *b)
{
    const size_t shorter = a->v.s.len < b->v.s.len ? a->v.s.len : b->v.s.len;
    const int first = shorter == 0 ? 0 : memcmp(a->v.s.ptr, b->v.s.ptr, shorter);
    return first != 0 ? first : order((int64_t)a->v.s.len, (int64_t)b->v.s.len);
}

int fl_datum_compare(const fluss_datum_t *a, const fluss_datum_t *b)
{
    switch ((fluss_type_t)a->type) {
    case FLUSS_BOOLEAN:
        return a->v.b - b->v.b;
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return compare_floats(a->v.f, b->v.f);
    case FLUSS_CHAR:
    case FLUSS_STRING:
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return compare_bytes(a, b);
    case FLUSS_DECIMAL: {
        const fl_int128 x = fl_decimal_unscaled(a);
        const fl_int128 y = fl_decimal_unscaled(b);
        return (x > y) - (x < y);
    }
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return a->v.i != b->v.i ? order(a->v.i, b->v.i) : order(a->nanos, b->nanos);
    case FLUSS_NULL:
    case FLUSS_ARRAY:
    case FLUSS_MAP:
    case FLUSS_ROW:
        return 0;
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
    case FLUSS_DATE:
    case FLUSS_TIME:
        break;
    }
    return order(a->v.i, b->v.i);
}

bool fl_datum_equal(const fluss_datum_t *a, const fluss_datum_t *b)
{
    if (a->type != b->type) {
        return false;
    }
    if (!fl_type_root_is_nested(a->type)) {
        return (a->type != FLUSS_DECIMAL || a->scale == b->scale) && fl_datum_compare(a, b) == 0;
    }
    if (a->v.list.len != b->v.list.len) {
        return false;
    }
    for (size_t i = 0; i < a->v.list.len; i++) {
        if (!fl_datum_equal(&a->v.list.items[i], &b->v.list.items[i])) {
            return false;
        }
    }
    return true;
}
