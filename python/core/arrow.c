/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow data by the PyCapsule protocol: batches that came from the server, and streams of the
 * user's. pyarrow, polars, DuckDB, pandas and nanoarrow take either without a copy. */
#include <stdlib.h>

#include "core.h"

/* ---- capsules ---- */

static void schema_capsule_died(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release != NULL) {
        schema->release(schema);
    }
    free(schema);
}

static void array_capsule_died(PyObject *capsule)
{
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release != NULL) {
        array->release(array);
    }
    free(array);
}

static void stream_capsule_died(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release != NULL) {
        stream->release(stream);
    }
    free(stream);
}

PyObject *fc_arrow_schema_capsule(struct ArrowSchema *schema)
{
    struct ArrowSchema *moved = malloc(sizeof(*moved));
    if (moved == NULL) {
        schema->release(schema);
        return PyErr_NoMemory();
    }
    *moved = *schema;
    PyObject *capsule = PyCapsule_New(moved, "arrow_schema", schema_capsule_died);
    if (capsule == NULL) {
        moved->release(moved);
        free(moved);
    }
    return capsule;
}

static PyObject *array_capsule(struct ArrowArray *array)
{
    struct ArrowArray *moved = malloc(sizeof(*moved));
    if (moved == NULL) {
        array->release(array);
        return PyErr_NoMemory();
    }
    *moved = *array;
    PyObject *capsule = PyCapsule_New(moved, "arrow_array", array_capsule_died);
    if (capsule == NULL) {
        moved->release(moved);
        free(moved);
    }
    return capsule;
}

/* What is in a capsule that another library has made; NULL: an exception. */
static void *pointer_in(PyObject *capsule, const char *name)
{
    if (!PyCapsule_IsValid(capsule, name)) {
        return PyErr_Format(PyExc_TypeError, "Arrow data must come in a capsule '%s', not in %R",
                            name, (PyObject *)Py_TYPE(capsule));
    }
    return PyCapsule_GetPointer(capsule, name);
}

struct ArrowSchema *fc_arrow_schema_in(PyObject *capsule)
{
    return pointer_in(capsule, "arrow_schema");
}

struct ArrowArray *fc_arrow_array_in(PyObject *capsule)
{
    return pointer_in(capsule, "arrow_array");
}

PyObject *fc_arrow_fields(PyObject *module, PyObject *capsule)
{
    const struct ArrowSchema *schema = fc_arrow_schema_in(capsule);
    if (schema == NULL) {
        return NULL;
    }
    if (schema->release == NULL || schema->format == NULL || strcmp(schema->format, "+s") != 0) {
        const bool is_gone = schema->release == NULL || schema->format == NULL;
        return fc_refuse(fc_state_of(module),
                         "expected Arrow data with columns (a struct), got %s%s",
                         is_gone ? "a released schema" : "an array of the format ",
                         is_gone ? "" : schema->format);
    }
    PyObject *list = PyList_New((Py_ssize_t)schema->n_children);
    for (Py_ssize_t i = 0; list != NULL && i < schema->n_children; i++) {
        const struct ArrowSchema *child = schema->children[i];
        PyObject *field = Py_BuildValue("zs", child->name, child->format);
        if (field == NULL || PyList_SetItem(list, i, field) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* ---- batches ---- */

typedef struct fc_batch {
    PyObject_HEAD fc_state *state;
    fc_shared_array *shared;
    struct ArrowSchema schema;
    fluss_position_t first;
    int64_t last_offset;
} fc_batch;

PyObject *fc_batch_new(fc_state *state, struct ArrowSchema *schema, struct ArrowArray *array,
                       const fluss_position_t *first, int64_t last_offset)
{
    fc_batch *self = (fc_batch *)PyType_GenericAlloc((PyTypeObject *)state->batch_class, 0);
    fc_shared_array *shared = self == NULL ? NULL : fc_shared_array_new(array);
    if (shared == NULL) {
        schema->release(schema);
        array->release(array);
        Py_XDECREF((PyObject *)self);
        return self == NULL ? NULL : PyErr_NoMemory();
    }
    self->state = state;
    self->shared = shared;
    self->schema = *schema;
    self->first = first == NULL ? (fluss_position_t){.bucket = {-1, -1, -1}} : *first;
    self->last_offset = last_offset;
    return (PyObject *)self;
}

PyObject *fc_batches_to_list(fc_state *state, fluss_batches_t *batches)
{
    const size_t count = fluss_batches_count(batches);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        struct ArrowSchema schema;
        struct ArrowArray array;
        fluss_position_t first;
        int64_t last_offset;
        fluss_error_t err;
        PyObject *batch = NULL;
        if (fluss_batches_take(batches, i, &schema, &array, &first, &last_offset, &err) != 0) {
            fc_raise(state, &err);
        } else {
            batch = fc_batch_new(state, &schema, &array, &first, last_offset);
        }
        if (batch == NULL || PyList_SetItem(list, (Py_ssize_t)i, batch) != 0) {
            Py_CLEAR(list);
        }
    }
    fluss_batches_free(batches);
    return list;
}

/** new_batch(schema capsule, array capsule, (table_id, partition_id, bucket), base offset, last
 * offset): takes what is in the capsules */
PyObject *fc_batch_of_capsules(PyObject *module, PyObject *args)
{
    PyObject *schema_capsule, *array_capsule;
    long long table_id, partition_id, base_offset, last_offset;
    int bucket;
    if (!PyArg_ParseTuple(args, "OO(LLi)LL", &schema_capsule, &array_capsule, &table_id,
                          &partition_id, &bucket, &base_offset, &last_offset)) {
        return NULL;
    }
    struct ArrowSchema *schema = fc_arrow_schema_in(schema_capsule);
    struct ArrowArray *array = schema == NULL ? NULL : fc_arrow_array_in(array_capsule);
    if (array == NULL) {
        return NULL;
    }
    if (schema->release == NULL || array->release == NULL) {
        return fc_refuse(fc_state_of(module), "the Arrow batch was handed over already");
    }
    struct ArrowSchema moved_schema = *schema;
    struct ArrowArray moved_array = *array;
    schema->release = NULL;
    array->release = NULL;
    const fluss_position_t first = {{table_id, partition_id, bucket}, base_offset};
    return fc_batch_new(fc_state_of(module), &moved_schema, &moved_array, &first, last_offset);
}

static PyObject *batch_arrow_schema(fc_batch *self, PyObject *unused)
{
    (void)unused;
    struct ArrowSchema copy;
    if (self->schema.release == NULL || fc_schema_copy(&self->schema, &copy) != 0) {
        return PyErr_NoMemory();
    }
    return fc_arrow_schema_capsule(&copy);
}

static PyObject *batch_arrow_array(fc_batch *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested = Py_None; /* a wish; the data comes as it is */
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &requested)) {
        return NULL;
    }
    struct ArrowArray copy;
    if (self->shared == NULL || fc_shared_array_export(self->shared, &copy) != 0) {
        return PyErr_NoMemory();
    }
    PyObject *array = array_capsule(&copy);
    PyObject *schema = array == NULL ? NULL : batch_arrow_schema(self, NULL);
    PyObject *both = schema == NULL ? NULL : PyTuple_Pack(2, schema, array);
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return both;
}

static PyObject *batch_bucket(fc_batch *self, void *unused)
{
    (void)unused;
    return fc_bucket(self->state, &self->first.bucket);
}

static PyObject *batch_base_offset(fc_batch *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(self->first.offset);
}

static PyObject *batch_last_offset(fc_batch *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(self->last_offset);
}

static PyObject *batch_num_rows(fc_batch *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(self->shared == NULL ? 0
                                                    : fc_shared_array_get(self->shared)->length);
}

static void batch_dealloc(fc_batch *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    fc_shared_array_unref(self->shared);
    if (self->schema.release != NULL) {
        self->schema.release(&self->schema);
    }
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

#define METHOD(function) (PyCFunction)(void (*)(void))(function)
static PyMethodDef batch_methods[] = {
    {"__arrow_c_array__", METHOD(batch_arrow_array), METH_VARARGS | METH_KEYWORDS,
     "The rows, as capsules of schema and array."},
    {"__arrow_c_schema__", METHOD(batch_arrow_schema), METH_NOARGS, "The schema, as a capsule."},
    {0},
};

static PyGetSetDef batch_members[] = {
    {"bucket", (getter)batch_bucket, NULL, "The bucket the rows were read from.", NULL},
    {"base_offset", (getter)batch_base_offset, NULL, "Log offset of the first row.", NULL},
    {"last_offset", (getter)batch_last_offset, NULL, "Log offset of the last row.", NULL},
    {"num_rows", (getter)batch_num_rows, NULL, "How many rows there are.", NULL},
    {0},
};

static PyType_Slot batch_slots[] = {
    {Py_tp_new, fc_refuse_new},
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_methods, batch_methods},
    {Py_tp_getset, batch_members},
    {Py_tp_doc, "Rows of one bucket as Arrow data."},
    {0, NULL},
};

PyType_Spec fc_batch_spec = {
    .name = "fluss._core.Batch",
    .basicsize = sizeof(fc_batch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = batch_slots,
};

/* ---- streams ---- */

typedef struct fc_stream {
    PyObject_HEAD fc_state *state;
    struct ArrowArrayStream stream;
} fc_stream;

PyObject *fc_stream_open(PyObject *module, PyObject *capsule)
{
    struct ArrowArrayStream *stream = pointer_in(capsule, "arrow_array_stream");
    fc_state *state = fc_state_of(module);
    if (stream == NULL) {
        return NULL;
    }
    if (stream->release == NULL) {
        return fc_refuse(state, "the Arrow stream was handed over already");
    }
    fc_stream *self = (fc_stream *)PyType_GenericAlloc(state->stream_type, 0);
    if (self != NULL) {
        self->state = state;
        self->stream = *stream;
        stream->release = NULL;
    }
    return (PyObject *)self;
}

PyObject *fc_stream_capsule(struct ArrowArrayStream *stream)
{
    struct ArrowArrayStream *moved = malloc(sizeof(*moved));
    PyObject *capsule = NULL;
    if (moved != NULL) {
        *moved = *stream;
        capsule = PyCapsule_New(moved, "arrow_array_stream", stream_capsule_died);
    }
    if (capsule == NULL) {
        stream->release(stream);
        free(moved);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    return capsule;
}

static PyObject *stream_failed(fc_stream *self)
{
    const char *text = self->stream.get_last_error(&self->stream);
    return fc_refuse(self->state, "%s", text == NULL ? "the stream failed" : text);
}

static PyObject *stream_schema(fc_stream *self, PyObject *unused)
{
    (void)unused;
    struct ArrowSchema schema;
    if (self->stream.get_schema(&self->stream, &schema) != 0) {
        return stream_failed(self);
    }
    return fc_arrow_schema_capsule(&schema);
}

/* The next batch, or None at the end. */
static PyObject *stream_next_batch(fc_stream *self, PyObject *unused)
{
    (void)unused;
    struct ArrowArray array;
    struct ArrowSchema schema;
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = self->stream.get_next(&self->stream, &array);
    Py_END_ALLOW_THREADS if (rc != 0)
    {
        return stream_failed(self);
    }
    if (array.release == NULL) {
        Py_RETURN_NONE;
    }
    if (self->stream.get_schema(&self->stream, &schema) != 0) {
        array.release(&array);
        return stream_failed(self);
    }
    return fc_batch_new(self->state, &schema, &array, NULL, 0);
}

static void stream_dealloc(fc_stream *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    self->stream.release(&self->stream);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef stream_methods[] = {
    {"__arrow_c_schema__", METHOD(stream_schema), METH_NOARGS, "The schema, as a capsule."},
    {"next_batch", METHOD(stream_next_batch), METH_NOARGS, "The next batch; None at the end."},
    {0},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, fc_refuse_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_methods, stream_methods},
    {0, NULL},
};

PyType_Spec fc_stream_spec = {
    .name = "fluss._core.Stream",
    .basicsize = sizeof(fc_stream),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = stream_slots,
};
