/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the datetime module, made and read in one step each. Its C API is not part of the
 * limited API, and a call for each of seven attributes takes longer than the rest of a row. So this
 * uses the form in which the module pickles its objects, which every version can read:
 *
 *   datetime  year (2, big endian), month, day, hour, minute, second, microsecond (3, big endian)
 *   date      the first four of them         time  the last six
 *
 * datetime.__reduce__() gives (type, (bytes,)) or (type, (bytes, tzinfo)); type(bytes, tzinfo)
 * makes the object again. */
#include "core.h"

enum { DATE_SIZE = 4, TIME_SIZE = 6, DATETIME_SIZE = DATE_SIZE + TIME_SIZE };

static void put_date(int64_t days, uint8_t *out)
{
    const int64_t shifted = days + 719468; /* since 0000-03-01 */
    const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const int64_t day_of_era = shifted - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month_of_year = (5 * day_of_year + 2) / 153;
    const int64_t month = month_of_year + (month_of_year < 10 ? 3 : -9);
    const int64_t year = year_of_era + era * 400 + (month <= 2);
    out[0] = (uint8_t)(year >> 8);
    out[1] = (uint8_t)year;
    out[2] = (uint8_t)month;
    out[3] = (uint8_t)(day_of_year - (153 * month_of_year + 2) / 5 + 1);
}

static void put_time(int64_t us, uint8_t *out)
{
    const int64_t seconds = us / 1000000, micros = us % 1000000;
    out[0] = (uint8_t)(seconds / 3600);
    out[1] = (uint8_t)(seconds / 60 % 60);
    out[2] = (uint8_t)(seconds % 60);
    out[3] = (uint8_t)(micros >> 16);
    out[4] = (uint8_t)(micros >> 8);
    out[5] = (uint8_t)micros;
}

static PyObject *make(PyObject *type, const uint8_t *bytes, size_t size, PyObject *zone)
{
    PyObject *form = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
    PyObject *arguments = form == NULL ? NULL : PyTuple_Pack(zone == NULL ? 1 : 2, form, zone);
    PyObject *made = arguments == NULL ? NULL : PyObject_Call(type, arguments, NULL);
    Py_XDECREF(form);
    Py_XDECREF(arguments);
    return made;
}

PyObject *fc_moment_to_datetime(const fc_state *state, fc_moment moment, PyObject *zone)
{
    uint8_t bytes[DATETIME_SIZE];
    put_date(moment.days, bytes);
    put_time(moment.us, bytes + DATE_SIZE);
    return make(state->datetime, bytes, sizeof(bytes), zone);
}

PyObject *fc_moment_to_date(const fc_state *state, int64_t days)
{
    uint8_t bytes[DATE_SIZE];
    put_date(days, bytes);
    return make(state->date, bytes, sizeof(bytes), NULL);
}

PyObject *fc_moment_to_time(const fc_state *state, int64_t us)
{
    uint8_t bytes[TIME_SIZE];
    put_time(us, bytes);
    return make(state->time, bytes, sizeof(bytes), NULL);
}

int fc_moment_read(const fc_state *state, PyObject *value, fc_moment *out, PyObject **zone)
{
    PyObject *pickled = PyObject_CallMethodObjArgs(value, state->names[FC_NAME_REDUCE], NULL);
    PyObject *parts = pickled == NULL ? NULL : PyTuple_GetItem(pickled, 1);
    PyObject *form = parts == NULL ? NULL : PyTuple_GetItem(parts, 0);
    char *data = NULL;
    Py_ssize_t size = 0;
    int rc = form == NULL ? -1 : PyBytes_AsStringAndSize(form, &data, &size);
    if (rc == 0 && size != DATETIME_SIZE) {
        PyErr_Format(PyExc_SystemError, "a datetime of %zd bytes", size);
        rc = -1;
    }
    if (rc == 0) {
        const uint8_t *b = (const uint8_t *)data;
        out->days = fluss_date(b[0] << 8 | b[1], b[2], b[3]).v.i;
        out->us =
            ((b[4] * 60 + b[5]) * 60 + b[6]) * INT64_C(1000000) + (b[7] << 16 | b[8] << 8 | b[9]);
        *zone = Py_NewRef(PyTuple_Size(parts) > 1 ? PyTuple_GetItem(parts, 1) : Py_None);
    }
    Py_XDECREF(pickled);
    return rc;
}
