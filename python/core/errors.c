/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the C library as Python exceptions, and waiting that lets signals through. */
#include <math.h>
#include <time.h>

#include "core.h"

PyObject *fc_raise(const fc_state *state, const fluss_error_t *err)
{
    if (err->kind == FLUSS_KIND_NOMEM) {
        return PyErr_NoMemory();
    }
    if (err->kind == FLUSS_KIND_CANCELLED && err->code == FLUSS_E_CLIENT) {
        PyObject *type = fc_cancelled_error(state);
        if (type != NULL) {
            PyErr_SetNone(type);
        }
        return NULL;
    }
    PyObject *text =
        PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
    if (text != NULL) {
        PyObject *error = PyObject_CallFunction(state->fluss_error, "Oi", text, (int)err->code);
        Py_DECREF(text);
        if (error != NULL) {
            PyErr_SetObject(state->fluss_error, error);
            Py_DECREF(error);
        }
    }
    return NULL;
}

PyObject *fc_refuse(const fc_state *state, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (text != NULL) {
        PyErr_SetObject(state->fluss_error, text);
        Py_DECREF(text);
    }
    return NULL;
}

int64_t fc_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int fc_wait(fluss_future_t *future)
{
    enum { SLICE_MS = 100 };
    while (!fluss_future_ready(future)) {
        fluss_code_t rc;
        Py_BEGIN_ALLOW_THREADS rc = fluss_future_wait(future, SLICE_MS, NULL);
        Py_END_ALLOW_THREADS(void) rc; /* whether it is ready says more */
        if (PyErr_CheckSignals() != 0) {
            return -1;
        }
    }
    return 0;
}

int64_t fc_timeout_of(PyObject *timeout)
{
    if (timeout == NULL || timeout == Py_None) {
        return -2;
    }
    if (!PyFloat_Check(timeout) && !PyIndex_Check(timeout)) {
        PyErr_Format(PyExc_TypeError, "timeout must be a number of seconds or None, not %R",
                     (PyObject *)Py_TYPE(timeout));
        return -1;
    }
    const double seconds = PyFloat_AsDouble(timeout);
    if (seconds == -1.0 && PyErr_Occurred()) {
        PyObject *kind =
            PyErr_ExceptionMatches(PyExc_OverflowError) ? PyExc_OverflowError : PyExc_TypeError;
        if (PyErr_ExceptionMatches(kind)) {
            PyErr_Format(kind, "timeout is no number of seconds that a double holds");
        }
        return -1;
    }
    if (isnan(seconds)) {
        PyErr_SetString(PyExc_ValueError, "timeout must be a number of seconds or None, not NaN");
        return -1;
    }
    return seconds <= 0 ? 0 : seconds > 1e9 ? -2 : (int64_t)(seconds * 1000 + 0.999);
}

/* A name that no future has is most likely one of its result. Private names are asked for by
 * protocols, which want the plain answer. */
PyObject *fc_future_getattr(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError) || !PyUnicode_Check(name) ||
        PyUnicode_ReadChar(name, 0) == '_') {
        return found;
    }
    PyErr_Format(PyExc_AttributeError,
                 "'fluss.FlussFuture' object has no attribute '%U'; if its result has: await it "
                 "first, or ask for its result()",
                 name);
    return NULL;
}
