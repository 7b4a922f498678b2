/* SPDX-License-Identifier: Apache-2.0 */
/* Python values to datums: dates, times, timestamps and decimals. The datetime C API is not part
 * of the limited API, so fields are read as attributes. */
#include <ctype.h>
#include <stdlib.h>

#include "core.h"

/* An int attribute, which a derived class may have made anything. @return -1 with an exception */
static int field_of(const fc_encoder *encoder, PyObject *value, fc_name name, int64_t *out)
{
    static const int64_t largest[FC_NAME_COUNT] = {
        [FC_NAME_YEAR] = 9999,
        [FC_NAME_MONTH] = 12,
        [FC_NAME_DAY] = 31,
        [FC_NAME_HOUR] = 23,
        [FC_NAME_MINUTE] = 59,
        [FC_NAME_SECOND] = 59,
        [FC_NAME_MICROSECOND] = 999999,
        [FC_NAME_NANOSECOND] = 999,
        [FC_NAME_DAYS] = 1,
        [FC_NAME_SECONDS] = 86399,
        [FC_NAME_MICROSECONDS] = 999999,
    };
    PyObject *number = PyObject_GetAttr(value, encoder->state->names[name]);
    if (number == NULL) {
        return -1;
    }
    *out = PyLong_AsLongLong(number);
    Py_DECREF(number);
    if (*out == -1 && PyErr_Occurred()) {
        return -1;
    }
    const bool counts_from_1 = name <= FC_NAME_DAY;
    if (*out > largest[name] || *out < (counts_from_1 ? 1 : name == FC_NAME_DAYS ? -1 : 0)) {
        return fc_encode_fail(encoder, "%lld is no %U of a moment", (long long)*out,
                              encoder->state->names[name]);
    }
    return 0;
}

static int fields_of(const fc_encoder *encoder, PyObject *value, const fc_name *names, size_t count,
                     int64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        if (field_of(encoder, value, names[i], &out[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

static bool is_a(PyObject *value, PyObject *type)
{
    return PyObject_TypeCheck(value, (PyTypeObject *)type) != 0;
}

/* pandas' missing value is an instance of datetime. */
static bool is_nat(PyObject *value)
{
    PyObject *name = fc_type_name_of(value);
    const bool is = name != NULL && PyUnicode_CompareWithASCIIString(name, "NaTType") == 0;
    Py_XDECREF(name);
    PyErr_Clear();
    return is;
}

static int encode_null(fc_encoder *encoder, const fc_type *type, fluss_datum_t *out)
{
    return fc_encode_value(encoder, type, Py_None, out);
}

static int encode_date(fc_encoder *encoder, const fc_type *type, PyObject *value,
                       fluss_datum_t *out)
{
    static const fc_name names[] = {FC_NAME_YEAR, FC_NAME_MONTH, FC_NAME_DAY};
    const fc_state *state = encoder->state;
    if (is_a(value, state->datetime) && is_nat(value)) {
        return encode_null(encoder, type, out);
    }
    if (!is_a(value, state->date) || is_a(value, state->datetime)) {
        return fc_encode_mismatch(encoder, "datetime.date", value);
    }
    int64_t f[3];
    if (fields_of(encoder, value, names, 3, f) != 0) {
        return -1;
    }
    out->v.i = fluss_date((int)f[0], (int)f[1], (int)f[2]).v.i;
    return 0;
}

static int encode_time(fc_encoder *encoder, const fc_type *type, PyObject *value,
                       fluss_datum_t *out)
{
    static const fc_name names[] = {FC_NAME_HOUR, FC_NAME_MINUTE, FC_NAME_SECOND,
                                    FC_NAME_MICROSECOND};
    if (!is_a(value, encoder->state->time)) {
        return fc_encode_mismatch(encoder, "datetime.time", value);
    }
    int64_t f[4];
    if (fields_of(encoder, value, names, 4, f) != 0) {
        return -1;
    }
    if (f[3] % 1000 != 0) {
        return fc_encode_fail(encoder, "time %S has parts of a millisecond, which TIME cannot hold",
                              value);
    }
    if (type->precision == 0 && f[3] != 0) {
        return fc_encode_fail(encoder, "time %S has parts of a second, which TIME(0) cannot hold",
                              value);
    }
    out->v.i = ((f[0] * 60 + f[1]) * 60 + f[2]) * 1000 + f[3] / 1000;
    return 0;
}

/* ---- timestamps ---- */

/* Cut to the column's precision; digits beyond it are dropped, towards the past. Precisions that
 * count nanoseconds in 64 bits reach from 1677 to 2262 only. */
static int store_moment(const fc_encoder *encoder, const fc_type *type, int64_t ms, int64_t nanos,
                        fluss_datum_t *out)
{
    int64_t whole;
    if (type->precision > 6 &&
        (__builtin_mul_overflow(ms + (ms < 0), 1000000, &whole) ||
         __builtin_add_overflow(whole, nanos - (ms < 0 ? 1000000 : 0), &whole))) {
        return fc_encode_fail(encoder,
                              "%lld milliseconds since 1970 do not fit %s(%d), which counts "
                              "nanoseconds in 64 bits",
                              (long long)ms, fc_type_name(type), type->precision);
    }
    static const int64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    const int64_t given_ms = ms, given_nanos = nanos;
    if (type->precision < 3) {
        const int64_t unit = powers[3 - type->precision];
        ms -= ((ms % unit) + unit) % unit;
        nanos = 0;
    } else if (type->precision < 9) {
        nanos -= nanos % powers[9 - type->precision];
    }
    out->v.i = ms;
    out->nanos = (int32_t)nanos;
    return ms == given_ms && nanos == given_nanos
               ? 0
               : fc_encode_loss(encoder, type, "digits beyond its precision are cut off");
}

/* Whether a value of this zone, None for none, is aware, and the microseconds that it is
 * ahead of UTC. */
static int offset_of(const fc_encoder *encoder, PyObject *value, PyObject *zone, bool *is_aware,
                     int64_t *offset_us)
{
    static const fc_name names[] = {FC_NAME_DAYS, FC_NAME_SECONDS, FC_NAME_MICROSECONDS};
    const fc_state *state = encoder->state;
    *is_aware = zone == state->utc;
    *offset_us = 0;
    if (zone == Py_None || zone == state->utc) {
        return 0;
    }
    PyObject *offset = PyObject_CallMethodObjArgs(value, state->names[FC_NAME_UTCOFFSET], NULL);
    if (offset == NULL || offset == Py_None) {
        Py_XDECREF(offset);
        return offset == NULL ? -1 : 0;
    }
    int64_t f[3];
    const int rc = fields_of(encoder, offset, names, 3, f);
    Py_DECREF(offset);
    *is_aware = true;
    *offset_us = rc == 0 ? (f[0] * 86400 + f[1]) * 1000000 + f[2] : 0;
    return rc;
}

/* Of a type that is derived from datetime: what its attributes say counts. pandas.Timestamp counts
 * nanoseconds below the microsecond. */
static int read_derived(const fc_encoder *encoder, PyObject *value, fc_moment *moment,
                        PyObject **zone, int64_t *extra_ns)
{
    static const fc_name names[] = {FC_NAME_YEAR,       FC_NAME_MONTH,  FC_NAME_DAY,
                                    FC_NAME_HOUR,       FC_NAME_MINUTE, FC_NAME_SECOND,
                                    FC_NAME_MICROSECOND};
    int64_t f[7];
    const fc_state *state = encoder->state;
    if (fields_of(encoder, value, names, 7, f) != 0 ||
        (PyObject_HasAttr(value, state->names[FC_NAME_NANOSECOND]) &&
         field_of(encoder, value, FC_NAME_NANOSECOND, extra_ns) != 0)) {
        return -1;
    }
    moment->days = fluss_date((int)f[0], (int)f[1], (int)f[2]).v.i;
    moment->us = ((f[3] * 60 + f[4]) * 60 + f[5]) * 1000000 + f[6];
    *zone = PyObject_GetAttr(value, state->names[FC_NAME_TZINFO]);
    return *zone == NULL ? -1 : 0;
}

static int encode_datetime(fc_encoder *encoder, const fc_type *type, PyObject *value,
                           fluss_datum_t *out)
{
    enum { SECONDS_OF_DAY = 86400 };
    const fc_state *state = encoder->state;
    fc_moment moment;
    PyObject *zone;
    int64_t offset_us, extra_ns = 0;
    bool is_aware;
    const bool is_plain = (PyObject *)Py_TYPE(value) == state->datetime;
    if ((is_plain ? fc_moment_read(state, value, &moment, &zone)
                  : read_derived(encoder, value, &moment, &zone, &extra_ns)) != 0) {
        return -1;
    }
    const int rc = offset_of(encoder, value, zone, &is_aware, &offset_us);
    Py_DECREF(zone);
    if (rc != 0) {
        return -1;
    }
    if (is_aware && type->type == FLUSS_TIMESTAMP) {
        return fc_encode_fail(
            encoder, "TIMESTAMP has no time zone, but %S has one; use TIMESTAMP_LTZ", value);
    }
    const int64_t us = moment.days * SECONDS_OF_DAY * 1000000 + moment.us - offset_us;
    const int64_t ms = us >= 0 ? us / 1000 : -((999 - us) / 1000);
    return store_moment(encoder, type, ms, (us - ms * 1000) * 1000 + extra_ns, out);
}

/* numpy.datetime64 and objects with to_pydatetime(), by the Python half: (ms, nanos), a datetime,
 * or None for a missing value; NotImplemented for anything else. */
static int encode_odd_moment(fc_encoder *encoder, const fc_type *type, PyObject *value,
                             fluss_datum_t *out)
{
    PyObject *odd = fc_odd(encoder->state);
    PyObject *known = odd == NULL ? NULL : PyObject_CallMethod(odd, "odd_moment", "(O)", value);
    if (known == NULL) {
        return -1;
    }
    int rc = 0;
    if (known == Py_NotImplemented) {
        rc = fc_encode_mismatch(encoder, "datetime.datetime", value);
    } else if (known == Py_None) {
        rc = encode_null(encoder, type, out);
    } else if (is_a(known, encoder->state->datetime)) {
        rc = is_nat(known) ? encode_null(encoder, type, out)
                           : encode_datetime(encoder, type, known, out);
    } else if (!PyTuple_Check(known)) { /* of a to_pydatetime() that gives something else */
        rc = fc_encode_mismatch(encoder, "datetime.datetime", value);
    } else {
        long long ms = 0;
        int nanos = 0;
        rc = PyArg_ParseTuple(known, "Li", &ms, &nanos) ? 0 : -1;
        rc = rc == 0 ? store_moment(encoder, type, ms, nanos, out) : -1;
    }
    Py_DECREF(known);
    return rc;
}

int fc_encode_moment(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out)
{
    if (type->type == FLUSS_DATE) {
        return encode_date(encoder, type, value, out);
    }
    if (type->type == FLUSS_TIME) {
        return encode_time(encoder, type, value, out);
    }
    const fc_state *state = encoder->state;
    if ((PyObject *)Py_TYPE(value) == state->datetime) {
        return encode_datetime(encoder, type, value, out);
    }
    if (!is_a(value, state->datetime)) {
        return encode_odd_moment(encoder, type, value, out);
    }
    return is_nat(value) ? encode_null(encoder, type, out)
                         : encode_datetime(encoder, type, value, out);
}

/* ---- decimals ---- */

typedef struct digits {
    const char *text; /* of the coefficient, without point */
    char buffer[128];
    size_t count;
    long exponent;
    bool is_negative, is_finite;
} digits;

/* Take "-12.50E+3" apart; texts longer than any number that fits are cut to their first digits. */
static void digits_parse(const char *text, digits *out)
{
    *out = (digits){.is_finite = true};
    out->is_negative = *text == '-';
    text += *text == '-' || *text == '+';
    bool has_point = false;
    for (; isdigit((unsigned char)*text) || *text == '.'; text++) {
        if (*text == '.') {
            has_point = true;
            continue;
        }
        const bool is_leading_zero = out->count == 0 && *text == '0';
        const bool has_room = out->count < sizeof(out->buffer);
        if (!is_leading_zero && has_room) {
            out->buffer[out->count++] = *text;
        }
        out->exponent += (has_room || is_leading_zero ? 0 : 1) - (has_point ? 1 : 0);
    }
    if (*text == 'E' || *text == 'e') {
        out->exponent += strtol(text + 1, NULL, 10);
    } else if (*text != '\0') {
        out->is_finite = false;
    }
}

/* The digits as a whole number of 10^-scale, rounded half up. @param is_exact whether no digit but
 * 0 was cut off. @return false: more than 38 digits */
static bool digits_scale(const digits *in, int scale, unsigned __int128 *out, bool *is_exact)
{
    *is_exact = true;
    const long shift = in->exponent + scale; /* digits to append, or to cut */
    *out = 0;
    if (in->count == 0) {
        return true;
    }
    const long kept = (long)in->count + (shift < 0 ? shift : 0);
    for (size_t i = kept < 0 ? 0 : (size_t)kept; i < in->count; i++) {
        *is_exact = *is_exact && in->buffer[i] == '0';
    }
    if (kept < 0) {
        return true;
    }
    if (kept + (shift > 0 ? shift : 0) > 38) {
        return false;
    }
    for (long i = 0; i < kept; i++) {
        *out = *out * 10 + (unsigned)(in->buffer[i] - '0');
    }
    for (long i = 0; i < shift; i++) {
        *out *= 10;
    }
    if (shift < 0 && in->buffer[kept] >= '5') {
        *out += 1;
    }
    return true;
}

int fc_encode_decimal(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out)
{
    if (!is_a(value, encoder->state->decimal)) {
        return fc_encode_mismatch(encoder, "decimal.Decimal", value);
    }
    /* A derived class may write itself as it likes; its value is what counts. */
    PyObject *text = (PyObject *)Py_TYPE(value) == encoder->state->decimal
                         ? PyObject_Str(value)
                         : PyObject_CallMethod(encoder->state->decimal, "__str__", "O", value);
    const char *characters = text == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, NULL);
    if (characters == NULL) {
        Py_XDECREF(text);
        return -1;
    }
    digits number;
    digits_parse(characters, &number);
    Py_DECREF(text);
    if (!number.is_finite) {
        return fc_encode_fail(encoder, "%S is no finite decimal", value);
    }
    unsigned __int128 limit = 1, magnitude;
    for (int i = 0; i < type->precision; i++) {
        limit *= 10;
    }
    bool is_exact;
    if (!digits_scale(&number, type->scale, &magnitude, &is_exact) || magnitude >= limit) {
        return fc_encode_fail(encoder, "%S has more digits than DECIMAL(%d, %d) can hold", value,
                              type->precision, type->scale);
    }
    const unsigned __int128 bits = number.is_negative ? -magnitude : magnitude;
    out->precision = type->precision;
    out->scale = type->scale;
    out->v.dec.lo = (uint64_t)bits;
    out->v.dec.hi = (int64_t)(uint64_t)(bits >> 64);
    return is_exact ? 0 : fc_encode_loss(encoder, type, "digits beyond its scale are rounded");
}
