/* SPDX-License-Identifier: Apache-2.0 */
/* The meeting point of one asyncio event loop with the C library: a completion queue whose
 * descriptor the loop watches. One wake-up drains all that completed; what waited for it is called
 * from the drain itself, which saves a turn of the loop. */
#include "core.h"

static void slot_unlink(fc_slot *slot)
{
    slot->prev->next = slot->next;
    slot->next->prev = slot->prev;
}

void fc_slot_free(fc_slot *slot)
{
    slot_unlink(slot);
    PyObject *owner = slot->is_holding ? (PyObject *)slot->owner : NULL;
    PyMem_Free(slot);
    Py_XDECREF(owner);
}

void fc_slot_hold(fc_slot *slot, bool is_holding)
{
    if (slot->is_holding != is_holding) {
        slot->is_holding = is_holding;
        if (is_holding) {
            Py_INCREF((PyObject *)slot->owner);
        } else {
            Py_DECREF((PyObject *)slot->owner);
        }
    }
}

PyObject *fc_loop_reference(PyObject *loop)
{
    return loop == Py_None ? Py_NewRef(loop) : PyWeakref_NewRef(loop, NULL);
}

PyObject *fc_loop_referent(PyObject *reference)
{
    return Py_NewRef(reference == Py_None ? reference : PyWeakref_GetObject(reference));
}

int fc_loop_wait_for(fc_loop *self, fc_future *future)
{
    fc_slot *slot = PyMem_Malloc(sizeof(*slot));
    if (slot == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *slot = (fc_slot){.prev = self->head.prev, .next = &self->head, .loop = self, .owner = future};
    self->head.prev->next = slot;
    self->head.prev = slot;
    fc_slot_hold(slot, true);
    future->slot = slot;
    fluss_future_to_queue(future->pending, self->queue, slot);
    return 0;
}

static PyObject *loop_drain(fc_loop *self, PyObject *unused)
{
    (void)unused;
    fluss_future_t *ready;
    void *tag;
    while (fluss_queue_next(self->queue, 0, &ready, &tag)) {
        fc_slot *slot = tag;
        fc_future *future = slot->owner;
        Py_INCREF((PyObject *)future);
        future->slot = NULL;
        fc_slot_free(slot);
        if (future->status == FC_PENDING) {
            fc_future_announce(future, self);
        }
        Py_XDECREF((PyObject *)future);
    }
    Py_RETURN_NONE;
}

PyObject *fc_running_loop(fc_state *state)
{
    if (state->running_loop == NULL) { /* where nobody has loaded asyncio, no loop runs */
        PyObject *modules = PyImport_GetModuleDict();
        if (PyDict_GetItemString(modules, "asyncio") == NULL) {
            Py_RETURN_NONE;
        }
        PyObject *asyncio = PyImport_ImportModule("asyncio");
        state->running_loop =
            asyncio == NULL ? NULL : PyObject_GetAttrString(asyncio, "_get_running_loop");
        Py_XDECREF(asyncio);
        if (state->running_loop == NULL) {
            return NULL;
        }
    }
    return PyObject_CallObject(state->running_loop, NULL); /* None outside of a loop */
}

static fc_loop *loop_new(fc_state *state, PyObject *loop)
{
    fc_loop *self = (fc_loop *)PyType_GenericAlloc(state->loop_type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->state = state;
    self->head = (fc_slot){.prev = &self->head, .next = &self->head};
    self->loop = fc_loop_reference(loop);
    self->queue = self->loop == NULL ? NULL : fluss_queue_new();
    if (self->queue == NULL) {
        if (self->loop != NULL) {
            PyErr_NoMemory();
        }
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    return self;
}

/* Let the loop watch the queue. @return false without exception when it cannot */
static bool loop_attach(fc_state *state, fc_loop *self, PyObject *loop)
{
    PyObject *drain = PyObject_GetAttrString((PyObject *)self, "drain");
    PyObject *done = drain == NULL ? NULL
                                   : PyObject_CallMethod(loop, "add_reader", "iO",
                                                         fluss_queue_fd(self->queue), drain);
    Py_XDECREF(drain);
    const bool attached = done != NULL && PyObject_SetAttr(loop, state->names[FC_NAME_LOOP_QUEUE],
                                                           (PyObject *)self) == 0;
    Py_XDECREF(done);
    PyErr_Clear();
    return attached;
}

fc_loop *fc_loop_of(fc_state *state, PyObject *loop)
{
    PyObject *known = PyObject_GetAttr(loop, state->names[FC_NAME_LOOP_QUEUE]);
    if (known != NULL) {
        Py_DECREF(known); /* the loop holds it */
        return (fc_loop *)known;
    }
    PyErr_Clear();
    fc_loop *self = loop_new(state, loop);
    if (self != NULL && !loop_attach(state, self, loop)) {
        Py_CLEAR(self);
    }
    Py_XDECREF((PyObject *)self);
    return self;
}

static int loop_traverse(fc_loop *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT(self->loop);
    for (fc_slot *slot = self->head.next; slot != NULL && slot != &self->head; slot = slot->next) {
        if (slot->is_holding) {
            Py_VISIT(slot->owner);
        }
    }
    return 0;
}

static int loop_clear(fc_loop *self)
{
    fluss_queue_free(self->queue); /* first: nothing can arrive with a dead slot any more */
    self->queue = NULL;
    while (self->head.next != NULL && self->head.next != &self->head) {
        fc_slot *slot = self->head.next;
        slot->owner->slot = NULL;
        fc_slot_free(slot);
    }
    Py_CLEAR(self->loop);
    return 0;
}

static void loop_dealloc(fc_loop *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyObject_GC_UnTrack(self);
    loop_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef loop_methods[] = {
    {"drain", (PyCFunction)loop_drain, METH_NOARGS, "Tell everybody whose call completed."},
    {0},
};

static PyType_Slot loop_slots[] = {
    {Py_tp_new, fc_refuse_new}, {Py_tp_dealloc, loop_dealloc}, {Py_tp_traverse, loop_traverse},
    {Py_tp_clear, loop_clear},  {Py_tp_methods, loop_methods}, {0, NULL},
};

PyType_Spec fc_loop_spec = {
    .name = "fluss._core.LoopQueue",
    .basicsize = sizeof(fc_loop),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = loop_slots,
};
