/* SPDX-License-Identifier: Apache-2.0 */
/* Python values to datums: what needs the Python half. Values of other libraries and of user
 * classes (enumerations, dataclasses, named tuples, missing values, numbers that are no float) are
 * rare, so they are asked about only when the plain way has failed or does not apply. Digits that
 * a column cannot hold are refused, or dropped with a warning where pyfluss drops them. */
#include <math.h>

#include "core.h"

static PyObject *ask(const fc_encoder *encoder, const char *question, PyObject *value)
{
    PyObject *odd = fc_odd(encoder->state);
    return odd == NULL ? NULL : PyObject_CallMethod(odd, question, "(O)", value);
}

int fc_encode_loss(const fc_encoder *encoder, const fc_type *type, const char *what)
{
    if (encoder->refuses_loss) {
        return fc_encode_fail(encoder, "%s: %s", fc_type_name(type), what);
    }
    return PyErr_WarnFormat(encoder->state->precision_warning, 1, "Field '%U': %s: %s",
                            encoder->field, fc_type_name(type), what);
}

int fc_encode_stand_in(fc_encoder *encoder, const fc_type *type, PyObject *value,
                       fluss_datum_t *out)
{
    PyObject *kind, *refusal, *traceback;
    PyErr_Fetch(&kind, &refusal, &traceback);
    PyObject *stand_in = ask(encoder, "odd_value", value);
    int rc = -1;
    if (stand_in == Py_NotImplemented) {
        PyErr_Restore(kind, refusal, traceback);
        Py_DECREF(stand_in);
        return -1;
    }
    if (stand_in != NULL && fc_encoder_keep(encoder, stand_in) == 0) {
        rc = fc_encode_plain(encoder, type, stand_in, out);
    }
    Py_XDECREF(stand_in);
    Py_XDECREF(kind);
    Py_XDECREF(refusal);
    Py_XDECREF(traceback);
    return rc;
}

/* ---- floats ---- */

/* The double of a number that is no float: the Python half says whether digits would be lost. */
static int read_number(fc_encoder *encoder, const fc_type *type, PyObject *value, double *out)
{
    PyObject *odd = fc_odd(encoder->state);
    PyObject *number = odd == NULL ? NULL
                                   : PyObject_CallMethod(odd, "exact_float", "(Oi)", value,
                                                         type->type == FLUSS_FLOAT);
    if (number == NULL) {
        return -1;
    }
    int rc = 0;
    if (number == Py_NotImplemented) {
        rc = fc_encode_mismatch(encoder, "float", value);
    } else if (number == Py_None) {
        rc = fc_encode_fail(encoder, "%S cannot become %s without losing digits", value,
                            fc_type_name(type));
    } else {
        *out = PyFloat_AsDouble(number);
        rc = *out == -1.0 && PyErr_Occurred() ? -1 : 0;
    }
    Py_DECREF(number);
    return rc;
}

int fc_encode_float(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out)
{
    double number = 0;
    if (PyFloat_Check(value)) {
        number = PyFloat_AsDouble(value);
    } else if (read_number(encoder, type, value, &number) != 0) {
        return -1;
    }
    out->v.f = number;
    if (type->type == FLUSS_FLOAT) {
        /* A FLOAT is the nearest one of 24 bits, as ever; but no number becomes infinity or 0. */
        out->v.f = (double)(float)number;
        if (isinf(out->v.f) != isinf(number) || (out->v.f == 0) != (number == 0)) {
            return fc_encode_fail(encoder, "%S is out of range for FLOAT", value);
        }
        if (encoder->refuses_loss && !isnan(number) && out->v.f != number) {
            return fc_encode_fail(encoder, "%S is no number of FLOAT's 24 bits", value);
        }
    }
    return 0;
}

/* ---- rows ---- */

PyObject *fc_fields_of(const fc_encoder *encoder, PyObject *value)
{
    return ask(encoder, "odd_row", value);
}

int fc_encode_named(fc_encoder *encoder, const fc_type *row, PyObject *value, const char *what,
                    fluss_datum_t *out, bool *is_named)
{
    *is_named = false;
    PyObject *fields = fc_fields_of(encoder, value);
    if (fields == NULL) {
        return -1;
    }
    int rc = 0;
    if (PyDict_Check(fields)) {
        Py_ssize_t known = 0;
        for (size_t i = 0; i < row->count; i++) {
            known += PyDict_GetItemWithError(fields, row->names[i]) != NULL;
        }
        /* A named tuple whose names are others is a tuple; a dataclass has no order. */
        *is_named = known == PyDict_Size(fields) || !PyTuple_Check(value);
    }
    if (PyErr_Occurred()) {
        rc = -1;
    } else if (*is_named && fc_encoder_keep(encoder, fields) == 0) {
        rc = fc_encode_mapping(encoder, row, fields, what, out);
    }
    Py_DECREF(fields);
    return PyErr_Occurred() ? -1 : rc;
}
