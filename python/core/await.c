/* SPDX-License-Identifier: Apache-2.0 */
/* What `await` of a future runs: it yields the future until that is ready, as event loops expect,
 * and returns its result then. The slot am_send, which 3.9 does not have, spares an exception. */
#include "core.h"

typedef struct fc_await {
    PyObject_HEAD fc_future *future;
} fc_await;

PyObject *fc_future_await(fc_future *self)
{
    fc_await *await = (fc_await *)PyType_GenericAlloc(self->state->await_type, 0);
    if (await != NULL) {
        await->future = (fc_future *)Py_NewRef((PyObject *)self);
    }
    return (PyObject *)await;
}

static PySendResult await_send(fc_await *self, PyObject *sent, PyObject **result)
{
    (void)sent;
    fc_future *future = self->future;
    if (!fc_future_is_ready(future)) {
        future->blocking = 1;
        *result = Py_NewRef((PyObject *)future);
        return PYGEN_NEXT;
    }
    *result = fc_future_resolve(future) == 0 ? fc_future_give(future) : NULL;
    return *result == NULL ? PYGEN_ERROR : PYGEN_RETURN;
}

static PyObject *await_next(fc_await *self)
{
    PyObject *result;
    const PySendResult outcome = await_send(self, Py_None, &result);
    if (outcome == PYGEN_RETURN) {
        PyObject *stop = PyObject_CallFunctionObjArgs(PyExc_StopIteration, result, NULL);
        Py_DECREF(result);
        if (stop != NULL) {
            PyErr_SetObject(PyExc_StopIteration, stop);
            Py_DECREF(stop);
        }
        return NULL;
    }
    return result;
}

static PyObject *await_send_method(fc_await *self, PyObject *sent)
{
    (void)sent;
    return await_next(self);
}

static PyObject *await_self(PyObject *self)
{
    return Py_NewRef(self);
}

static void await_dealloc(fc_await *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    Py_XDECREF((PyObject *)self->future);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef await_methods[] = {
    {"send", (PyCFunction)await_send_method, METH_O, "Go on."},
    {0},
};

#define AWAIT_SLOTS                                                                       \
    {Py_tp_new, fc_refuse_new}, {Py_tp_dealloc, await_dealloc}, {Py_tp_iter, await_self}, \
        {Py_tp_iternext, await_next},                                                     \
    {                                                                                     \
        Py_tp_methods, await_methods                                                      \
    }
static PyType_Slot await_slots[] = {AWAIT_SLOTS, {Py_am_send, await_send}, {0, NULL}};
static PyType_Slot await_slots_before_am_send[] = {AWAIT_SLOTS, {0, NULL}};

PyType_Spec fc_await_spec = {
    .name = "fluss._core.Await",
    .basicsize = sizeof(fc_await),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = await_slots,
};

PyType_Spec fc_await_before_am_send_spec = {
    .name = "fluss._core.Await",
    .basicsize = sizeof(fc_await),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = await_slots_before_am_send,
};
