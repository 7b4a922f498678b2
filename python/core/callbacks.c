/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of futures: what can be one, and the search for those that are to be forgotten. The
 * functions are the user's, and so are their comparisons, which may end the future or change its
 * list of callbacks. */
#include "core.h"

int fc_callback_check(const fc_state *state, PyObject *function, PyObject *context)
{
    if (!PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError, "fn must be callable, not %R", (PyObject *)Py_TYPE(function));
        return -1;
    }
    if (context != Py_None && !PyObject_HasAttr(context, state->names[FC_NAME_RUN])) {
        PyErr_Format(PyExc_TypeError, "context must be a contextvars.Context, not %R",
                     (PyObject *)Py_TYPE(context));
        return -1;
    }
    return 0;
}

/* Forget the callback at `i` if it is that function. @return how many are gone; -1: an exception */
static int remove_one(PyObject *list, Py_ssize_t i, PyObject *function)
{
    if (i >= PyList_Size(list)) {
        return 0;
    }
    PyObject *entry = Py_NewRef(PyList_GetItem(list, i));
    int same = PyObject_RichCompareBool(PyTuple_GetItem(entry, 0), function, Py_EQ);
    if (same > 0) {
        const bool is_there = i < PyList_Size(list) && PyList_GetItem(list, i) == entry;
        same = !is_there ? 0 : PySequence_DelItem(list, i) == 0 ? 1 : -1;
    }
    Py_DECREF(entry);
    return same;
}

Py_ssize_t fc_callbacks_remove(PyObject *list, PyObject *function)
{
    Py_ssize_t removed = 0;
    Py_INCREF(list);
    for (Py_ssize_t i = PyList_Size(list); removed >= 0 && i-- > 0;) {
        const int gone = remove_one(list, i, function);
        removed = gone < 0 ? -1 : removed + gone;
    }
    Py_DECREF(list);
    return removed;
}
