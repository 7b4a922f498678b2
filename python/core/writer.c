/* SPDX-License-Identifier: Apache-2.0 */
/* Writers: rows and Arrow batches into the C library, and the handles of their acknowledgements.
 *
 * A writer is opened on its first use: the builder objects of older programs are writers already.
 * A write waits while the buffer is full. The library is asked to wait in slices, between which
 * signals are handled; the limit that the user set is kept here. */
#include "core.h"

/* ---- handles ---- */

typedef struct fc_write_handle {
    PyObject_HEAD fc_state *state;
    fluss_future_t *ack;
    PyObject *future; /* once somebody waits */
    bool is_done;     /* nothing to wait for */
} fc_write_handle;

PyObject *fc_handle_new(fc_state *state, fluss_future_t *ack)
{
    fc_write_handle *self = (fc_write_handle *)PyType_GenericAlloc(state->handle_type, 0);
    if (self == NULL) {
        fluss_future_free(ack);
        return NULL;
    }
    self->state = state;
    self->ack = ack;
    self->is_done = ack == NULL;
    return (PyObject *)self;
}

/* The future of (bucket, log end offset), made when first wanted, and again after a cancel. */
static fc_future *ack_future(fc_write_handle *self)
{
    if (self->future == NULL && self->is_done) {
        self->future = fc_future_completed(self->state);
    } else if (self->future == NULL) {
        fluss_future_t *ack = self->ack;
        self->ack = NULL;
        self->future = fc_future_new(self->state, ack, FC_RESULT_ACK, NULL, NULL);
    } else if (((fc_future *)self->future)->status == FC_CANCELLED &&
               ((fc_future *)self->future)->pending != NULL) {
        PyObject *fresh = fc_future_revive((fc_future *)self->future);
        Py_DECREF(self->future);
        self->future = fresh;
    }
    return (fc_future *)self->future;
}

static PyObject *handle_wait(fc_write_handle *self, PyObject *unused)
{
    (void)unused;
    fc_future *future = ack_future(self);
    return future == NULL ? NULL : Py_NewRef((PyObject *)future);
}

static PyObject *handle_await(fc_write_handle *self)
{
    PyObject *future = handle_wait(self, NULL);
    PyObject *await = future == NULL ? NULL : PyObject_GetIter(future);
    Py_XDECREF((PyObject *)future);
    return await;
}

static PyObject *ack_part(fc_write_handle *self, int part)
{
    fc_future *future = ack_future(self);
    if (future == NULL) {
        return NULL;
    }
    if (!fc_future_is_ready(future)) {
        Py_RETURN_NONE;
    }
    if (fc_future_resolve(future) != 0) {
        return NULL;
    }
    PyObject *parts = future->status == FC_DONE ? future->context : NULL;
    return Py_NewRef(parts == NULL ? Py_None : PyTuple_GetItem(parts, part));
}

static PyObject *handle_bucket(fc_write_handle *self, void *unused)
{
    (void)unused;
    return ack_part(self, 0);
}

static PyObject *handle_log_end_offset(fc_write_handle *self, void *unused)
{
    (void)unused;
    return ack_part(self, 1);
}

static PyObject *handle_repr(fc_write_handle *self)
{
    return PyUnicode_FromFormat("WriteResultHandle(%s)",
                                self->future == NULL ? "pending" : "consumed");
}

static void handle_dealloc(fc_write_handle *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    fluss_future_free(self->ack);
    Py_XDECREF((PyObject *)self->future);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef handle_methods[] = {
    {"wait", (PyCFunction)handle_wait, METH_NOARGS,
     "wait($self, /)\n--\n\nA future that ends when the write is acknowledged."},
    {0},
};

static PyGetSetDef handle_members[] = {
    {"bucket", (getter)handle_bucket, NULL, "Where the write went; None before that is known.",
     NULL},
    {"log_end_offset", (getter)handle_log_end_offset, NULL,
     "Log offset behind the write; None before that is known.", NULL},
    {0},
};

static PyType_Slot handle_slots[] = {
    {Py_tp_new, fc_refuse_new},
    {Py_tp_dealloc, handle_dealloc},
    {Py_tp_methods, handle_methods},
    {Py_tp_getset, handle_members},
    {Py_am_await, handle_await},
    {Py_tp_repr, handle_repr},
    {Py_tp_doc, "The acknowledgement of one write."},
    {0, NULL},
};

PyType_Spec fc_handle_spec = {
    .name = "fluss.WriteResultHandle",
    .basicsize = sizeof(fc_write_handle),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = handle_slots,
};

/* ---- writers ---- */

typedef struct fc_writer {
    PyObject_HEAD fc_state *state;
    fluss_writer_t *writer; /* NULL: not opened yet */
    fc_codec *values, *keys;
    int64_t wait_ms_max; /* < 0: no limit */
} fc_writer;

typedef fluss_code_t (*write_fn)(fluss_writer_t *writer, const fluss_datum_t *row, size_t n,
                                 fluss_future_t **ack, fluss_error_t *err);

static int writer_ensure_open(fc_writer *self)
{
    if (self->writer != NULL) {
        return 0;
    }
    PyObject *done =
        PyObject_CallMethodObjArgs((PyObject *)self, self->state->names[FC_NAME_OPEN], NULL);
    Py_XDECREF(done);
    if (done != NULL && self->writer == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the writer was not opened");
    }
    return done == NULL || self->writer == NULL ? -1 : 0;
}

/* After a refusal: whether to wait on. Sets an exception when not. */
static bool wait_on(fc_writer *self, const fluss_error_t *err, int64_t started_ms)
{
    if (err->kind == FLUSS_KIND_CLOSED) {
        fc_refuse(self->state, "writer is closed: %s", err->message);
        return false;
    }
    const bool is_full = err->kind == FLUSS_KIND_TIMEOUT && err->code == FLUSS_E_CLIENT;
    const bool has_time = self->wait_ms_max < 0 || fc_now_ms() - started_ms < self->wait_ms_max;
    if (!is_full || !has_time) {
        fc_raise(self->state, err);
        return false;
    }
    return PyErr_CheckSignals() == 0;
}

static PyObject *write_row(fc_writer *self, fc_codec *codec, PyObject *row, const char *what,
                           write_fn write)
{
    if (codec == NULL) {
        PyErr_SetString(PyExc_TypeError, "this writer has no such method");
        return NULL;
    }
    fc_encoder encoder;
    fc_encoder_init(&encoder, self->state);
    const fluss_datum_t *datums = fc_encode_row(&encoder, codec, row, what);
    fluss_future_t *ack = NULL;
    fluss_code_t rc = FLUSS_E_CLIENT;
    const int64_t started_ms = self->wait_ms_max < 0 ? 0 : fc_now_ms();
    while (datums != NULL) {
        fluss_error_t err;
        Py_BEGIN_ALLOW_THREADS rc = write(self->writer, datums, codec->row.count, &ack, &err);
        Py_END_ALLOW_THREADS if (rc == 0 || !wait_on(self, &err, started_ms))
        {
            break;
        }
    }
    fc_encoder_deinit(&encoder);
    return rc == 0 ? fc_handle_new(self->state, ack) : NULL;
}

/* The one argument of a method, by position or by name; NULL: TypeError. Borrowed. */
static PyObject *only_argument(PyObject *const *args, Py_ssize_t count, PyObject *names,
                               const char *name)
{
    const Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);
    const bool is_right =
        count + named == 1 &&
        (named == 0 || PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), name) == 0);
    if (!is_right) {
        PyErr_Format(PyExc_TypeError, "expected exactly one argument, '%s'", name);
        return NULL;
    }
    return args[0];
}

static PyObject *writer_append(fc_writer *self, PyObject *const *args, Py_ssize_t count,
                               PyObject *names)
{
    PyObject *row = only_argument(args, count, names, "row");
    return row != NULL && writer_ensure_open(self) == 0
               ? write_row(self, self->values, row, "Row", fluss_append)
               : NULL;
}

static PyObject *writer_upsert(fc_writer *self, PyObject *const *args, Py_ssize_t count,
                               PyObject *names)
{
    PyObject *row = only_argument(args, count, names, "row");
    return row != NULL && writer_ensure_open(self) == 0
               ? write_row(self, self->values, row, "Row", fluss_upsert)
               : NULL;
}

static PyObject *writer_delete(fc_writer *self, PyObject *const *args, Py_ssize_t count,
                               PyObject *names)
{
    PyObject *key = only_argument(args, count, names, "pk");
    return key != NULL && writer_ensure_open(self) == 0
               ? write_row(self, self->keys, key, "Key", fluss_delete)
               : NULL;
}

/** _prepare(schema capsule, array capsule, deletes) -> prepared batch: checked, nothing is queued
 */
static PyObject *writer_prepare(fc_writer *self, PyObject *args)
{
    PyObject *schema_capsule, *array_capsule;
    int deletes = 0;
    if (!PyArg_ParseTuple(args, "OOp", &schema_capsule, &array_capsule, &deletes) ||
        writer_ensure_open(self) != 0) {
        return NULL;
    }
    struct ArrowSchema *schema = fc_arrow_schema_in(schema_capsule);
    struct ArrowArray *array = schema == NULL ? NULL : fc_arrow_array_in(array_capsule);
    if (array == NULL) {
        return NULL;
    }
    if (schema->release == NULL || array->release == NULL) {
        return fc_refuse(self->state, "the Arrow batch was handed over already");
    }
    fluss_prepared_t *batch;
    fluss_error_t err;
    fluss_code_t rc;
    Py_BEGIN_ALLOW_THREADS rc =
        fluss_prepare_arrow(self->writer, schema, array, deletes != 0, &batch, &err);
    Py_END_ALLOW_THREADS if (rc != 0)
    {
        return err.kind == FLUSS_KIND_CLOSED
                   ? fc_refuse(self->state, "writer is closed: %s", err.message)
                   : fc_raise(self->state, &err);
    }
    return fc_wrap(FC_PREPARED, batch);
}

/** _write(prepared batch) -> handle */
static PyObject *writer_write(fc_writer *self, PyObject *capsule)
{
    fluss_prepared_t *batch = fc_unwrap(capsule, FC_PREPARED);
    if (batch == NULL) {
        return NULL;
    }
    const int64_t started_ms = fc_now_ms();
    fluss_future_t *ack = NULL;
    fluss_error_t err;
    fluss_code_t rc;
    do {
        Py_BEGIN_ALLOW_THREADS rc = fluss_write_prepared(batch, &ack, &err);
        Py_END_ALLOW_THREADS
    } while (rc != 0 && wait_on(self, &err, started_ms));
    return rc == 0 ? fc_handle_new(self->state, ack) : NULL;
}

static PyObject *writer_flush(fc_writer *self, PyObject *unused)
{
    (void)unused;
    if (self->writer == NULL) { /* nothing was written */
        return fc_future_completed(self->state);
    }
    fluss_future_t *flush;
    Py_BEGIN_ALLOW_THREADS flush = fluss_flush(self->writer);
    Py_END_ALLOW_THREADS return fc_future_new(self->state, flush, FC_RESULT_VOID, NULL, NULL);
}

/* The first one counts: threads may open a writer at the same time, and write with it at once. */
static int writer_setup(fc_writer *self, PyObject *values, PyObject *keys, long long wait_ms_max)
{
    PyTypeObject *codec_type = self->state->codec_type;
    if (!PyObject_TypeCheck(values, codec_type) ||
        (keys != Py_None && !PyObject_TypeCheck(keys, codec_type))) {
        PyErr_SetString(PyExc_TypeError, "expected codecs");
        return -1;
    }
    if (self->values != NULL) {
        return 0;
    }
    self->values = (fc_codec *)Py_NewRef(values);
    self->keys = keys == Py_None ? NULL : (fc_codec *)Py_NewRef(keys);
    self->wait_ms_max = wait_ms_max;
    return 0;
}

/** _open_append(table, codec, wait_ms_max) */
static PyObject *writer_open_append(fc_writer *self, PyObject *args)
{
    fluss_table_t *table;
    PyObject *values;
    long long wait_ms_max;
    if (!PyArg_ParseTuple(args, "O&OL", fc_to_table, &table, &values, &wait_ms_max) ||
        writer_setup(self, values, Py_None, wait_ms_max) != 0) {
        return NULL;
    }
    fluss_error_t err;
    if (self->writer == NULL && fluss_append_open(table, &self->writer, &err) != 0) {
        return fc_raise(self->state, &err);
    }
    Py_RETURN_NONE;
}

/** _open_upsert(table, codec, key codec, wait_ms_max, names or None, overwrite) */
static PyObject *writer_open_upsert(fc_writer *self, PyObject *args)
{
    fluss_table_t *table;
    PyObject *values, *keys, *columns;
    long long wait_ms_max;
    int overwrite;
    fc_texts names;
    if (!PyArg_ParseTuple(args, "O&OOLOp", fc_to_table, &table, &values, &keys, &wait_ms_max,
                          &columns, &overwrite) ||
        writer_setup(self, values, keys, wait_ms_max) != 0 || fc_texts_init(&names, columns) != 0) {
        return NULL;
    }
    const fluss_upsert_opts_t opts = {
        .size = sizeof(opts), .names = names.items, .n = names.count, .overwrite = overwrite != 0};
    fluss_error_t err;
    const fluss_code_t rc =
        self->writer == NULL ? fluss_upsert_open(table, &opts, &self->writer, &err) : 0;
    fc_texts_deinit(&names);
    if (rc != 0) {
        return fc_raise(self->state, &err);
    }
    Py_RETURN_NONE;
}

static void writer_dealloc(fc_writer *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    fluss_writer_free(self->writer);
    Py_XDECREF((PyObject *)self->values);
    Py_XDECREF((PyObject *)self->keys);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

#define METHOD(function) (PyCFunction)(void (*)(void))(function)
static PyMethodDef writer_methods[] = {
    {"_append", METHOD(writer_append), METH_FASTCALL | METH_KEYWORDS,
     "_append($self, row)\n--\n\nAppend a row: a dict by column name, or values in column order."},
    {"_upsert", METHOD(writer_upsert), METH_FASTCALL | METH_KEYWORDS,
     "_upsert($self, row)\n--\n\nInsert a row, or update the one of its key."},
    {"_delete", METHOD(writer_delete), METH_FASTCALL | METH_KEYWORDS,
     "_delete($self, pk)\n--\n\nDelete the row of a key: a dict of its columns, or their values."},
    {"_prepare", (PyCFunction)writer_prepare, METH_VARARGS, NULL},
    {"_write", (PyCFunction)writer_write, METH_O, NULL},
    {"_flush", (PyCFunction)writer_flush, METH_NOARGS, NULL},
    {"_open_append", (PyCFunction)writer_open_append, METH_VARARGS, NULL},
    {"_open_upsert", (PyCFunction)writer_open_upsert, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot writer_slots[] = {
    {Py_tp_new, fc_refuse_new},
    {Py_tp_dealloc, writer_dealloc},
    {Py_tp_methods, writer_methods},
    {0, NULL},
};

PyType_Spec fc_writer_spec = {
    .name = "fluss._core.Writer",
    .basicsize = sizeof(fc_writer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = writer_slots,
};

/** new_writer(type) -> an unopened writer of that type */
static PyObject *new_writer(PyObject *module, PyObject *type)
{
    fc_state *state = fc_state_of(module);
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, state->writer_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a kind of writer");
        return NULL;
    }
    fc_writer *self = (fc_writer *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    if (self != NULL) {
        self->state = state;
    }
    return (PyObject *)self;
}

static PyObject *done_handle(PyObject *module, PyObject *unused)
{
    (void)unused;
    return fc_handle_new(fc_state_of(module), NULL);
}

PyMethodDef fc_write_methods[] = {
    {"new_writer", new_writer, METH_O, NULL},
    {"done_handle", done_handle, METH_NOARGS, NULL},
    {0},
};
