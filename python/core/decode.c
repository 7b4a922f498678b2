/* SPDX-License-Identifier: Apache-2.0 */
/* Datums to Python values. */
#include "core.h"

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

static void civil_from_days(int64_t days, int *year, int *month, int *day)
{
    const int64_t shifted = days + 719468;
    const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const int64_t day_of_era = shifted - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month_of_year = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * month_of_year + 2) / 5 + 1);
    *month = (int)(month_of_year + (month_of_year < 10 ? 3 : -9));
    *year = (int)(year_of_era + era * 400 + (*month <= 2));
}

enum { DAYS_MIN = -719162, DAYS_MAX = 2932896 }; /* 0001-01-01 to 9999-12-31 */

static PyObject *decode_date(const fc_state *state, int64_t days)
{
    if (days < DAYS_MIN || days > DAYS_MAX) {
        return fc_refuse(state, "day %lld since 1970 is beyond what datetime.date can hold",
                         (long long)days);
    }
    int year, month, day;
    civil_from_days(days, &year, &month, &day);
    return PyObject_CallFunction(state->date, "iii", year, month, day);
}

static PyObject *decode_time(const fc_state *state, int64_t ms)
{
    const int seconds = (int)(ms / 1000);
    return PyObject_CallFunction(state->time, "iiii", seconds / 3600, seconds / 60 % 60,
                                 seconds % 60, (int)(ms % 1000) * 1000);
}

static PyObject *decode_timestamp(const fc_state *state, const fluss_datum_t *datum, bool is_aware)
{
    enum { MS_OF_DAY = 86400000 };
    const int64_t ms = datum->v.i;
    const int64_t days = (ms >= 0 ? ms : ms - (MS_OF_DAY - 1)) / MS_OF_DAY;
    if (days < DAYS_MIN || days > DAYS_MAX) {
        return fc_refuse(state, "%lld milliseconds since 1970 is beyond what datetime can hold",
                         (long long)ms);
    }
    int year, month, day;
    civil_from_days(days, &year, &month, &day);
    const int rest = (int)(ms - days * MS_OF_DAY);
    const int micros = rest % 1000 * 1000 + datum->nanos / 1000;
    const int seconds = rest / 1000;
    const int hour = seconds / 3600, minute = seconds / 60 % 60, second = seconds % 60;
    if (is_aware) {
        return PyObject_CallFunction(state->datetime, "iiiiiiiO", year, month, day, hour, minute,
                                     second, micros, state->utc);
    }
    return PyObject_CallFunction(state->datetime, "iiiiiii", year, month, day, hour, minute, second,
                                 micros);
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
    PyObject *dict = PyDict_New();
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
