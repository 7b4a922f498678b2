/* SPDX-License-Identifier: Apache-2.0 */
/* Datums to Python values. */
#include "core.h"

enum { MS_OF_DAY = 86400000, NANOS_OF_MS = 1000000 };

static PyObject *decode_decimal(const fc_state *state, const fluss_datum_t *datum, int scale)
{
    unsigned __int128 magnitude =
        ((unsigned __int128)(uint64_t)datum->v.dec.hi << 64) | datum->v.dec.lo;
    const bool is_negative = datum->v.dec.hi < 0;
    magnitude = is_negative ? -magnitude : magnitude;
    char text[64];
    size_t at = sizeof(text);
    text[--at] = '\0';
    for (int digit = 0; magnitude != 0 || digit <= scale; digit++) {
        if (digit == scale && scale > 0) {
            text[--at] = '.';
        }
        text[--at] = (char)('0' + (int)(magnitude % 10));
        magnitude /= 10;
    }
    if (is_negative) {
        text[--at] = '-';
    }
    return PyObject_CallFunction(state->decimal, "s", text + at);
}

static PyObject *decode_date(const fc_state *state, int64_t days)
{
    if (days < FC_DAYS_MIN || days > FC_DAYS_MAX) {
        return fc_refuse(state, "day %lld since 1970 is beyond what datetime.date can hold",
                         (long long)days);
    }
    return fc_moment_to_date(state, days);
}

static PyObject *decode_time(const fc_state *state, int64_t ms)
{
    if (ms < 0 || ms >= MS_OF_DAY) {
        return fc_refuse(state, "%lld milliseconds are no time of day", (long long)ms);
    }
    return fc_moment_to_time(state, ms * 1000);
}

static PyObject *decode_timestamp(const fc_state *state, const fluss_datum_t *datum, bool is_aware)
{
    const int64_t ms = datum->v.i;
    const int64_t days = (ms >= 0 ? ms : ms - (MS_OF_DAY - 1)) / MS_OF_DAY;
    if (days < FC_DAYS_MIN || days > FC_DAYS_MAX) {
        return fc_refuse(state, "%lld milliseconds since 1970 is beyond what datetime can hold",
                         (long long)ms);
    }
    if (datum->nanos < 0 || datum->nanos >= NANOS_OF_MS) {
        return fc_refuse(state, "%d nanoseconds within a millisecond", (int)datum->nanos);
    }
    const fc_moment moment = {.days = days,
                              .us = (ms - days * MS_OF_DAY) * 1000 + datum->nanos / 1000};
    return fc_moment_to_datetime(state, moment, is_aware ? state->utc : NULL);
}

static PyObject *decode_array(const fc_state *state, const fc_type *type,
                              const fluss_datum_t *datum)
{
    PyObject *list = PyList_New((Py_ssize_t)datum->v.list.len);
    for (size_t i = 0; list != NULL && i < datum->v.list.len; i++) {
        PyObject *item = fc_decode_value(state, &type->children[0], &datum->v.list.items[i]);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *decode_map(const fc_state *state, const fc_type *type, const fluss_datum_t *datum)
{
    const size_t count = datum->v.list.len / 2;
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        const fluss_datum_t *entry = &datum->v.list.items[2 * i];
        PyObject *key = fc_decode_value(state, &type->children[0], &entry[0]);
        PyObject *value =
            key == NULL ? NULL : fc_decode_value(state, &type->children[1], &entry[1]);
        PyObject *pair = value == NULL ? NULL : PyTuple_Pack(2, key, value);
        Py_XDECREF(key);
        Py_XDECREF(value);
        if (pair == NULL || PyList_SetItem(list, (Py_ssize_t)i, pair) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *decode_nested_row(const fc_state *state, const fc_type *type,
                                   const fluss_datum_t *datum)
{
    PyObject *dict = PyDict_New();
    const size_t count = datum->v.list.len < type->count ? datum->v.list.len : type->count;
    for (size_t i = 0; dict != NULL && i < count; i++) {
        PyObject *value = fc_decode_value(state, &type->children[i], &datum->v.list.items[i]);
        if (value == NULL || PyDict_SetItem(dict, type->names[i], value) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(value);
    }
    return dict;
}

PyObject *fc_decode_value(const fc_state *state, const fc_type *type, const fluss_datum_t *datum)
{
    if (datum->type == FLUSS_NULL) {
        Py_RETURN_NONE;
    }
    if (datum->type != type->type) {
        return fc_refuse(state, "a value of type %d in a column of type %s", datum->type,
                         fc_type_name(type));
    }
    switch (datum->type) {
    case FLUSS_BOOLEAN:
        return PyBool_FromLong(datum->v.b);
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
        return PyLong_FromLongLong(datum->v.i);
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return PyFloat_FromDouble(datum->v.f);
    case FLUSS_CHAR:
    case FLUSS_STRING:
        return PyUnicode_DecodeUTF8(datum->v.s.len == 0 ? "" : datum->v.s.ptr,
                                    (Py_ssize_t)datum->v.s.len, NULL);
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return PyBytes_FromStringAndSize(datum->v.s.ptr, (Py_ssize_t)datum->v.s.len);
    case FLUSS_DECIMAL:
        return decode_decimal(state, datum, type->scale);
    case FLUSS_DATE:
        return decode_date(state, datum->v.i);
    case FLUSS_TIME:
        return decode_time(state, datum->v.i);
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return decode_timestamp(state, datum, datum->type == FLUSS_TIMESTAMP_LTZ);
    case FLUSS_ARRAY:
        return decode_array(state, type, datum);
    case FLUSS_MAP:
        return decode_map(state, type, datum);
    default:
        return decode_nested_row(state, type, datum);
    }
}

PyObject *fc_decode_row(const fc_codec *codec, const fluss_row_t *row)
{
    PyObject *dict = PyDict_Copy(codec->blank);
    for (size_t i = 0; dict != NULL && i < codec->row.count; i++) {
        fluss_datum_t datum;
        PyObject *value = NULL;
        if (fluss_row_get(row, i, &datum) != 0) {
            fc_refuse(codec->state, "column '%U' is missing in a record", codec->row.names[i]);
        } else {
            value = fc_decode_value(codec->state, &codec->row.children[i], &datum);
        }
        if (value == NULL || PyDict_SetItem(dict, codec->row.names[i], value) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(value);
    }
    return dict;
}
