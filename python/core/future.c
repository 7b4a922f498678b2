/* SPDX-License-Identifier: Apache-2.0 */
/* FlussFuture: the result of a call that is under way. It can be awaited on any event loop, any
 * number of times, and waited for without one.
 *
 *   pending -> resolving -> done | failed        the C result becomes a Python object, in the
 *           \-> cancelled                        thread that asks for it
 *
 * A loop that waits has a slot in its queue (loop.c), which holds the future. One future can be in
 * one queue; others that wait for it are told by a thread of their own, which is rare. */
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#include "core.h"

bool fc_future_is_ready(const fc_future *self)
{
    return self->status >= FC_DONE || (self->status == FC_PENDING && self->pending != NULL &&
                                       fluss_future_ready(self->pending));
}

static void set_reference(PyObject **target, PyObject *object)
{
    *target = object == NULL || object == Py_None ? NULL : Py_NewRef(object);
}

PyObject *fc_future_new(fc_state *state, fluss_future_t *pending, fc_result_kind kind,
                        PyObject *context, PyObject *convert)
{
    fc_future *self = (fc_future *)PyType_GenericAlloc(state->future_type, 0);
    if (self == NULL) {
        fluss_future_free(pending);
        return NULL;
    }
    self->state = state;
    self->pending = pending;
    self->kind = kind;
    set_reference(&self->context, context);
    set_reference(&self->convert, convert);
    return (PyObject *)self;
}

PyObject *fc_future_keep(PyObject *future, PyObject *handle)
{
    if (future != NULL) {
        ((fc_future *)future)->keep = Py_NewRef(handle);
    }
    return future;
}

/* ---- telling the others ---- */

static void call_in_context(PyObject *function, PyObject *context, fc_future *self, PyObject *loop)
{
    PyObject *done = PyObject_CallMethodObjArgs(context, self->state->names[FC_NAME_RUN], function,
                                                (PyObject *)self, NULL);
    if (done == NULL && loop != Py_None) {
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        done = PyObject_CallMethod(loop, "call_exception_handler", "({sssO})", "message",
                                   "exception in a callback of a FlussFuture", "exception",
                                   error == NULL ? Py_None : error);
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
    }
    if (done == NULL) {
        PyErr_WriteUnraisable(function);
    }
    Py_XDECREF(done);
}

/* loop.method(function, self, context=context); a loop that was closed meanwhile wants nothing. */
static int call_later(fc_future *self, PyObject *loop, fc_name method, PyObject *function,
                      PyObject *context)
{
    PyObject *bound = PyObject_GetAttr(loop, self->state->names[method]);
    PyObject *arguments = PyTuple_Pack(2, function, (PyObject *)self);
    PyObject *keywords = PyDict_New();
    PyObject *done = NULL;
    if (bound != NULL && arguments != NULL && keywords != NULL &&
        PyDict_SetItem(keywords, self->state->names[FC_NAME_CONTEXT], context) == 0) {
        done = PyObject_Call(bound, arguments, keywords);
    }
    if (done == NULL && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        PyErr_Clear();
        done = Py_NewRef(Py_None);
    }
    Py_XDECREF(bound);
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

void fc_future_announce(fc_future *self, fc_loop *here)
{
    PyObject *callbacks = self->callbacks;
    self->callbacks = NULL;
    self->is_told = 1;
    const Py_ssize_t count = callbacks == NULL ? 0 : PyList_Size(callbacks);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *entry = PyList_GetItem(callbacks, i);
        PyObject *function = PyTuple_GetItem(entry, 0), *context = PyTuple_GetItem(entry, 1);
        PyObject *reference = PyTuple_GetItem(entry, 2);
        PyObject *loop = fc_loop_referent(reference);
        if (reference == Py_None || (here != NULL && here->loop == reference)) {
            call_in_context(function, context, self, loop);
        } else if (loop != Py_None &&
                   call_later(self, loop, FC_NAME_CALL_SOON_THREADSAFE, function, context) != 0) {
            PyErr_WriteUnraisable(function);
        }
        Py_DECREF(loop);
    }
    Py_XDECREF(callbacks);
}

/* ---- becoming done ---- */

static void settle(fc_future *self, fc_status status, PyObject *value)
{
    self->status = status;
    self->value = value;
    Py_CLEAR(self->context);
    Py_CLEAR(self->convert);
    Py_CLEAR(self->keep);
    Py_CLEAR(self->on_cancel);
    if (self->lock != NULL) {
        PyThread_release_lock(self->lock);
    }
}

static void fail_with_current(fc_future *self)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL && error != NULL) {
        (void)PyException_SetTraceback(error, traceback);
    }
    const bool is_cancelled = error != NULL && self->state->cancelled_error != NULL &&
                              PyErr_GivenExceptionMatches(error, self->state->cancelled_error);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    settle(self, is_cancelled ? FC_CANCELLED : FC_FAILED, error);
}

/* Let threads leave fluss_future_wait before the C future is freed; it is ready, so they do. */
static void await_waiters(fc_future *self)
{
    while (atomic_load(&self->waiters) != 0) {
        Py_BEGIN_ALLOW_THREADS(void) sched_yield();
        Py_END_ALLOW_THREADS
    }
}

static void leave_slot(fc_future *self)
{
    fc_slot *slot = self->slot;
    self->slot = NULL;
    if (slot != NULL) {
        fc_slot_free(slot);
    }
}

int fc_future_resolve(fc_future *self)
{
    while (self->status == FC_RESOLVING) { /* another thread is at it, or this one, in a handler */
        if (self->resolver == PyThread_get_thread_ident()) {
            PyErr_SetString(PyExc_RuntimeError, "the result is being made by this very thread");
            return -1;
        }
        Py_BEGIN_ALLOW_THREADS(void) sched_yield();
        Py_END_ALLOW_THREADS
    }
    if (self->status != FC_PENDING || self->pending == NULL) {
        return 0;
    }
    Py_INCREF((PyObject *)self);
    self->status = FC_RESOLVING;
    self->resolver = PyThread_get_thread_ident();
    await_waiters(self);
    PyObject *value = fc_take(self);
    leave_slot(self); /* after the C future is gone: its queue cannot name the slot any more */
    if (value != NULL && self->convert != NULL) {
        PyObject *converted = PyObject_CallFunctionObjArgs(self->convert, value, NULL);
        Py_DECREF(value);
        value = converted;
    }
    if (value == NULL) {
        fail_with_current(self);
    } else if (self->kind == FC_RESULT_ACK) { /* for awaits: None; the rest is for the handle */
        settle(self, FC_DONE, Py_NewRef(Py_None));
        self->context = value;
    } else {
        settle(self, FC_DONE, value);
    }
    fc_future_announce(self, NULL);
    Py_XDECREF((PyObject *)self);
    return 0;
}

PyObject *fc_future_completed(fc_state *state)
{
    fc_future *self = (fc_future *)PyType_GenericAlloc(state->future_type, 0);
    if (self != NULL) {
        self->state = state;
        self->kind = FC_RESULT_PROMISE;
        self->status = FC_DONE;
        self->value = Py_NewRef(Py_None);
    }
    return (PyObject *)self;
}

PyObject *fc_future_give(fc_future *self)
{
    if (self->status == FC_DONE) {
        return Py_NewRef(self->value);
    }
    if (self->status == FC_CANCELLED) {
        PyObject *type = fc_cancelled_error(self->state);
        if (type != NULL) {
            PyErr_SetNone(type);
        }
    } else {
        PyErr_SetObject((PyObject *)Py_TYPE(self->value), self->value);
    }
    return NULL;
}

/* ---- waiting without a loop ---- */

static PyObject *future_cancel(fc_future *self, PyObject *args, PyObject *keywords);

/* Cancel what is of no use to anybody else; the exception of the signal stays. */
static void stop_if_wanted(fc_future *self)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyObject *arguments = self->is_stoppable ? PyTuple_New(0) : NULL;
    PyObject *done = arguments == NULL ? NULL : future_cancel(self, arguments, NULL);
    Py_XDECREF(done);
    Py_XDECREF(arguments);
    PyErr_Restore(type, error, traceback);
}

/* @return 1: ready; 0: time is up; -1: an exception. timeout_ms < 0: no limit */
static int wait_promise(fc_future *self, int64_t timeout_ms)
{
    const int64_t until = timeout_ms < 0 ? -1 : fc_now_ms() + timeout_ms;
    while (self->status < FC_DONE) {
        const int64_t left = until < 0 ? 100 : until - fc_now_ms();
        if (left <= 0) {
            return 0;
        }
        if (getpid() != self->pid) {
            fc_refuse(self->state,
                      "the call belongs to the parent process; connect anew after fork");
            return -1;
        }
        PyLockStatus status;
        Py_BEGIN_ALLOW_THREADS status =
            PyThread_acquire_lock_timed(self->lock, (left > 100 ? 100 : left) * 1000, 1);
        if (status == PY_LOCK_ACQUIRED) {
            PyThread_release_lock(self->lock);
        }
        Py_END_ALLOW_THREADS if (PyErr_CheckSignals() != 0)
        {
            stop_if_wanted(self);
            return -1;
        }
    }
    return 1;
}

static int wait_ready(fc_future *self, int64_t timeout_ms)
{
    if (self->kind == FC_RESULT_PROMISE && self->lock != NULL) {
        return wait_promise(self, timeout_ms);
    }
    const int64_t until = timeout_ms < 0 ? -1 : fc_now_ms() + timeout_ms;
    while (!fc_future_is_ready(self) && self->status == FC_PENDING) {
        const int64_t left = until < 0 ? 100 : until - fc_now_ms();
        if (left <= 0) {
            return 0;
        }
        fluss_future_t *pending = self->pending;
        fluss_error_t err;
        fluss_code_t rc;
        atomic_fetch_add(&self->waiters, 1);
        Py_BEGIN_ALLOW_THREADS rc = fluss_future_wait(pending, left > 100 ? 100 : left, &err);
        atomic_fetch_sub(&self->waiters, 1);
        Py_END_ALLOW_THREADS if (PyErr_CheckSignals() != 0)
        {
            stop_if_wanted(self);
            return -1;
        }
        if (rc != 0 && err.kind != FLUSS_KIND_TIMEOUT && !fc_future_is_ready(self) &&
            self->status == FC_PENDING) { /* a child waits for its parent's call */
            fc_raise(self->state, &err);
            return -1;
        }
    }
    return 1;
}

static int wait_and_resolve(fc_future *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"timeout", NULL};
    PyObject *timeout = NULL;
    if (args != NULL && !PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &timeout)) {
        return -1;
    }
    const int64_t limit_ms = fc_timeout_of(timeout);
    if (limit_ms == -1) {
        return -1;
    }
    const int ready = wait_ready(self, limit_ms);
    if (ready == 0) {
        PyErr_SetString(PyExc_TimeoutError, "no result in time; the call goes on");
    }
    return ready <= 0 ? -1 : fc_future_resolve(self);
}

static PyObject *future_result(fc_future *self, PyObject *args, PyObject *keywords)
{
    return wait_and_resolve(self, args, keywords) == 0 ? fc_future_give(self) : NULL;
}

static PyObject *future_exception(fc_future *self, PyObject *args, PyObject *keywords)
{
    if (wait_and_resolve(self, args, keywords) != 0) {
        return NULL;
    }
    if (self->status == FC_CANCELLED) {
        return fc_future_give(self);
    }
    return Py_NewRef(self->status == FC_FAILED ? self->value : Py_None);
}

static PyObject *future_done(fc_future *self, PyObject *unused)
{
    (void)unused;
    self->is_told |= fc_future_is_ready(self);
    return PyBool_FromLong(self->is_told);
}

static PyObject *future_cancelled(fc_future *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(self->status == FC_CANCELLED);
}

/* Have the work behind a promise end. Takes the function, which may be NULL. */
static void tell_work(PyObject *on_cancel)
{
    PyObject *done = on_cancel == NULL ? NULL : PyObject_CallObject(on_cancel, NULL);
    if (on_cancel != NULL && done == NULL) {
        PyErr_WriteUnraisable(on_cancel);
    }
    Py_XDECREF(done);
    Py_XDECREF(on_cancel);
}

static PyObject *future_cancel(fc_future *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"msg", NULL};
    PyObject *message = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &message)) {
        return NULL;
    }
    /* asyncio expects a future to become ready between its steps only. One that has just done so is
     * cancelled like any other, and what it holds goes back at once: rows return to their scanner
     * before the next poll, which would begin behind them. */
    if (self->status != FC_PENDING || (self->is_told && fc_future_is_ready(self))) {
        Py_RETURN_FALSE;
    }
    Py_INCREF((PyObject *)self);
    PyObject *on_cancel = self->on_cancel;
    self->on_cancel = NULL;
    settle(self, FC_CANCELLED, NULL);
    tell_work(on_cancel);
    /* An acknowledgement stays with its write, for the next wait(). */
    if (self->pending != NULL && self->kind != FC_RESULT_ACK) {
        fluss_future_t *pending = self->pending;
        self->pending = NULL;
        (void)fluss_future_cancel(pending);
        await_waiters(self);
        fluss_future_free(pending);
        leave_slot(self);
    }
    fc_future_announce(self, NULL);
    Py_XDECREF((PyObject *)self);
    Py_RETURN_TRUE;
}

PyObject *fc_future_revive(fc_future *self)
{
    fluss_future_t *pending = self->pending;
    self->pending = NULL;
    fc_future *fresh = (fc_future *)fc_future_new(self->state, pending, FC_RESULT_ACK, NULL, NULL);
    fc_slot *slot = self->slot;
    self->slot = NULL;
    if (slot != NULL && fresh != NULL) {
        fc_slot_hold(slot, false);
        slot->owner = fresh;
        fresh->slot = slot;
    } else if (slot != NULL) {
        fc_slot_free(slot);
    }
    return (PyObject *)fresh;
}

/* ---- callbacks ---- */

/* Have the future announce itself once it is ready. */
static int arm(fc_future *self, PyObject *loop, PyObject *reference)
{
    if (self->pending == NULL) {
        return 0; /* a promise: set_result announces */
    }
    if (self->slot != NULL && self->slot->loop->loop == reference) {
        fc_slot_hold(self->slot, true);
        return 0;
    }
    if (self->slot == NULL && loop != Py_None) {
        fc_loop *queue = fc_loop_of(self->state, loop);
        if (queue != NULL) {
            return fc_loop_wait_for(queue, self);
        }
        PyErr_Clear();
    }
    if (self->is_watched) {
        return 0;
    }
    self->is_watched = 1;
    PyObject *done = PyObject_CallFunctionObjArgs(self->state->watch, (PyObject *)self, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int add_callback(fc_future *self, PyObject *function, PyObject *context, PyObject *loop)
{
    if (fc_future_is_ready(self)) {
        if (loop != Py_None) {
            return call_later(self, loop, FC_NAME_CALL_SOON, function, context);
        }
        call_in_context(function, context, self, Py_None);
        return 0;
    }
    if (self->callbacks == NULL) {
        self->callbacks = PyList_New(0);
    }
    PyObject *reference = self->callbacks == NULL ? NULL : fc_loop_reference(loop);
    PyObject *entry = reference == NULL ? NULL : PyTuple_Pack(3, function, context, reference);
    int rc = entry == NULL ? -1 : PyList_Append(self->callbacks, entry);
    if (rc == 0) {
        rc = arm(self, loop, reference);
    }
    Py_XDECREF(entry);
    Py_XDECREF(reference);
    return rc;
}

static PyObject *future_add_done_callback(fc_future *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"fn", "context", NULL};
    PyObject *function, *context = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$O", names, &function, &context)) {
        return NULL;
    }
    if (fc_callback_check(self->state, function, context) != 0) {
        return NULL;
    }
    PyObject *loop = fc_running_loop(self->state);
    if (loop == NULL) {
        return NULL;
    }
    context = context == Py_None ? fc_copy_context(self->state) : Py_NewRef(context);
    const int rc = context == NULL ? -1 : add_callback(self, function, context, loop);
    Py_XDECREF(context);
    Py_DECREF(loop);
    return rc == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *future_remove_done_callback(fc_future *self, PyObject *function)
{
    PyObject *list = self->callbacks;
    const Py_ssize_t removed = list == NULL ? 0 : fc_callbacks_remove(list, function);
    if (removed < 0) {
        return NULL;
    }
    if (self->slot != NULL && self->callbacks != NULL && PyList_Size(self->callbacks) == 0) {
        fc_slot_hold(self->slot, false); /* nobody waits: whoever drops it ends it */
    }
    return PyLong_FromSsize_t(removed);
}

static PyObject *future_get_loop(fc_future *self, PyObject *unused)
{
    (void)unused;
    PyObject *loop = fc_running_loop(self->state);
    if (loop == Py_None) {
        Py_DECREF(loop);
        PyErr_SetString(PyExc_RuntimeError, "no running event loop");
        return NULL;
    }
    return loop;
}

/* Wait for the C future in a thread of its own, for those whom no queue can tell. */
static PyObject *future_watch(fc_future *self, PyObject *unused)
{
    (void)unused;
    if (wait_ready(self, -2) < 0) {
        return NULL;
    }
    fc_future_announce(self, NULL);
    Py_RETURN_NONE;
}

/* ---- promises ---- */

/** promise(type, on_cancel=None): where that is given, a signal that ends a wait also cancels. */
PyObject *fc_future_promise(PyObject *module, PyObject *args)
{
    PyTypeObject *type;
    PyObject *on_cancel = Py_None;
    fc_state *state = fc_state_of(module);
    if (!PyArg_ParseTuple(args, "O!|O", &PyType_Type, &type, &on_cancel)) {
        return NULL;
    }
    if (!PyType_IsSubtype(type, state->future_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a kind of FlussFuture");
        return NULL;
    }
    fc_future *self = (fc_future *)PyType_GenericAlloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->state = state;
    self->kind = FC_RESULT_PROMISE;
    self->pid = getpid();
    self->is_stoppable = on_cancel != Py_None;
    set_reference(&self->on_cancel, on_cancel);
    self->lock = PyThread_allocate_lock();
    if (self->lock == NULL) {
        Py_XDECREF((PyObject *)self);
        return PyErr_NoMemory();
    }
    (void)PyThread_acquire_lock(self->lock, 1);
    return (PyObject *)self;
}

static PyObject *complete_promise(fc_future *self, fc_status status, PyObject *value)
{
    if (self->kind != FC_RESULT_PROMISE) {
        PyErr_SetString(PyExc_RuntimeError, "only a promise takes a result");
        return NULL;
    }
    if (self->status == FC_PENDING) {
        settle(self, status, Py_NewRef(value));
        fc_future_announce(self, NULL);
    }
    Py_RETURN_NONE;
}

static PyObject *future_set_result(fc_future *self, PyObject *value)
{
    return complete_promise(self, FC_DONE, value);
}

static PyObject *future_set_exception(fc_future *self, PyObject *error)
{
    if (!PyExceptionInstance_Check(error)) {
        PyErr_SetString(PyExc_TypeError, "expected an exception");
        return NULL;
    }
    return complete_promise(self, FC_FAILED, error);
}

/** rebind(type, future, convert, stoppable=False): the call under way, as a future of another type.
 * `stoppable`: a signal that ends a wait also cancels. */
PyObject *fc_future_rebind(PyObject *module, PyObject *args)
{
    fc_state *state = fc_state_of(module);
    PyTypeObject *type;
    fc_future *from;
    PyObject *convert;
    int is_stoppable = 0;
    if (!PyArg_ParseTuple(args, "O!O!O|p", &PyType_Type, &type, state->future_type, &from, &convert,
                          &is_stoppable)) {
        return NULL;
    }
    fc_future *self = (fc_future *)PyType_GenericAlloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->state = state;
    self->kind = from->kind;
    self->count = from->count;
    self->pending = from->pending;
    self->context = from->context;
    self->keep = from->keep;
    self->is_stoppable = is_stoppable != 0;
    set_reference(&self->convert, convert);
    from->pending = NULL;
    from->context = NULL;
    from->keep = NULL;
    return (PyObject *)self;
}

/* ---- the type ---- */

static PyObject *get_blocking(fc_future *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(self->blocking);
}

static int set_blocking(fc_future *self, PyObject *value, void *unused)
{
    (void)unused;
    const int truth = value == NULL ? 0 : PyObject_IsTrue(value);
    self->blocking = truth > 0;
    return truth < 0 ? -1 : 0;
}

static PyObject *future_cancelled_error(fc_future *self, PyObject *unused)
{
    (void)unused;
    PyObject *type = fc_cancelled_error(self->state);
    return type == NULL ? NULL : PyObject_CallObject(type, NULL);
}

static PyObject *future_repr(fc_future *self)
{
    static const char *const texts[] = {"pending", "pending", "finished", "failed", "cancelled"};
    const bool is_ready = fc_future_is_ready(self) && self->status == FC_PENDING;
    return PyUnicode_FromFormat("<FlussFuture %s>", is_ready ? "finished" : texts[self->status]);
}

static int future_traverse(fc_future *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT(self->value);
    Py_VISIT(self->convert);
    Py_VISIT(self->context);
    Py_VISIT(self->keep);
    Py_VISIT(self->callbacks);
    Py_VISIT(self->on_cancel);
    return 0;
}

static int future_clear(fc_future *self)
{
    Py_CLEAR(self->value);
    Py_CLEAR(self->convert);
    Py_CLEAR(self->context);
    Py_CLEAR(self->keep);
    Py_CLEAR(self->callbacks);
    Py_CLEAR(self->on_cancel);
    return 0;
}

static void future_dealloc(fc_future *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyObject_GC_UnTrack(self);
    if (self->references != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    fluss_future_free(self->pending);
    leave_slot(self);
    future_clear(self);
    if (self->lock != NULL) {
        if (self->status < FC_DONE) {
            PyThread_release_lock(self->lock);
        }
        PyThread_free_lock(self->lock);
    }
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

#define METHOD(function) (PyCFunction)(void (*)(void))(function)
static PyMethodDef future_methods[] = {
    {"result", METHOD(future_result), METH_VARARGS | METH_KEYWORDS,
     "result($self, timeout=None)\n--\n\nWait for the result, seconds, or TimeoutError."},
    {"exception", METHOD(future_exception), METH_VARARGS | METH_KEYWORDS,
     "exception($self, timeout=None)\n--\n\nWait for the end; the exception, or None."},
    {"done", METHOD(future_done), METH_NOARGS, "Whether result() would return at once."},
    {"cancelled", METHOD(future_cancelled), METH_NOARGS, "Whether it was cancelled."},
    {"cancel", METHOD(future_cancel), METH_VARARGS | METH_KEYWORDS,
     "cancel($self, msg=None)\n--\n\nEnd it now; the server may still do the work."},
    {"add_done_callback", METHOD(future_add_done_callback), METH_VARARGS | METH_KEYWORDS,
     "add_done_callback($self, fn, *, context=None)\n--\n\nCall fn(future) at the end."},
    {"remove_done_callback", METHOD(future_remove_done_callback), METH_O,
     "Forget a callback; how many there were."},
    {"get_loop", METHOD(future_get_loop), METH_NOARGS, "The event loop that is running."},
    {"_make_cancelled_error", METHOD(future_cancelled_error), METH_NOARGS, NULL},
    {"_watch", METHOD(future_watch), METH_NOARGS, NULL},
    {"_set_result", METHOD(future_set_result), METH_O, NULL},
    {"_set_exception", METHOD(future_set_exception), METH_O, NULL},
    {0},
};

static PyGetSetDef future_attributes[] = {
    {"_asyncio_future_blocking", (getter)get_blocking, (setter)set_blocking, NULL, NULL},
    {0},
};

static PyMemberDef future_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(fc_future, references), READONLY, NULL},
    {0},
};

static PyType_Slot future_slots[] = {
    {Py_tp_new, fc_refuse_new},
    {Py_tp_dealloc, future_dealloc},
    {Py_tp_traverse, future_traverse},
    {Py_tp_clear, future_clear},
    {Py_tp_methods, future_methods},
    {Py_tp_getset, future_attributes},
    {Py_tp_members, future_members},
    {Py_am_await, fc_future_await},
    {Py_tp_iter, fc_future_await},
    {Py_tp_getattro, fc_future_getattr},
    {Py_tp_repr, future_repr},
    {Py_tp_doc, "The result of a call that is under way: await it, or ask for result()."},
    {0, NULL},
};

PyType_Spec fc_future_spec = {
    .name = "fluss.FlussFuture",
    .basicsize = sizeof(fc_future),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = future_slots,
};
