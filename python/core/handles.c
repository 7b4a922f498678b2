/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of the C library as capsules, and arguments in the forms that the library wants. */
#include "core.h"

static const char *const handle_names[FC_HANDLE_COUNT] = {
    [FC_CONNECTION] = "fluss.connection", [FC_TABLE] = "fluss.table",
    [FC_SCHEMA] = "fluss.schema",         [FC_DESC] = "fluss.descriptor",
    [FC_SCANNER] = "fluss.scanner",       [FC_READ] = "fluss.read",
    [FC_CONFIG] = "fluss.config",         [FC_LOOKUP] = "fluss.lookup",
    [FC_PREPARED] = "fluss.prepared",
};

static void release_handle(fc_handle kind, void *handle)
{
    switch (kind) {
    case FC_CONNECTION:
        fluss_conn_free(handle);
        break;
    case FC_TABLE:
        fluss_table_free(handle);
        break;
    case FC_SCHEMA:
        fluss_schema_free(handle);
        break;
    case FC_DESC:
        fluss_desc_free(handle);
        break;
    case FC_SCANNER:
        fluss_scanner_free(handle);
        break;
    case FC_READ:
        fluss_read_free(handle);
        break;
    case FC_CONFIG:
        fluss_config_free(handle);
        break;
    case FC_PREPARED:
        fluss_prepared_free(handle);
        break;
    default:
        fluss_lookup_free(handle);
        break;
    }
}

static void capsule_died(PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    void *handle = PyCapsule_GetPointer(capsule, name);
    for (int kind = 0; kind < FC_HANDLE_COUNT; kind++) {
        if (name == handle_names[kind]) {
            Py_BEGIN_ALLOW_THREADS release_handle((fc_handle)kind, handle);
            Py_END_ALLOW_THREADS
        }
    }
}

PyObject *fc_wrap(fc_handle kind, void *handle)
{
    if (handle == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(handle, handle_names[kind], capsule_died);
    if (capsule == NULL) {
        release_handle(kind, handle);
    }
    return capsule;
}

void *fc_unwrap(PyObject *capsule, fc_handle kind)
{
    if (!PyCapsule_IsValid(capsule, handle_names[kind])) {
        PyErr_Format(PyExc_TypeError, "expected a handle of kind %s", handle_names[kind]);
        return NULL;
    }
    return PyCapsule_GetPointer(capsule, handle_names[kind]);
}

static int convert(PyObject *object, fc_handle kind, void *out)
{
    void *handle = fc_unwrap(object, kind);
    memcpy(out, &handle, sizeof(handle));
    return handle != NULL;
}

int fc_to_conn(PyObject *object, void *out)
{
    return convert(object, FC_CONNECTION, out);
}

int fc_to_table(PyObject *object, void *out)
{
    return convert(object, FC_TABLE, out);
}

int fc_to_schema(PyObject *object, void *out)
{
    return convert(object, FC_SCHEMA, out);
}

int fc_to_scanner(PyObject *object, void *out)
{
    return convert(object, FC_SCANNER, out);
}

/* ---- arrays of texts ---- */

/* The characters of a str, or NULL for None. @return -1: an exception */
static int text_of(PyObject *object, const char **text)
{
    *text = NULL;
    if (object == Py_None) {
        return 0;
    }
    Py_ssize_t size = 0;
    *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (*text == NULL) {
        return -1;
    }
    if (strlen(*text) != (size_t)size) {
        PyErr_SetString(PyExc_ValueError, "embedded null character");
        return -1;
    }
    return 0;
}

static int texts_fill(fc_texts *texts)
{
    const Py_ssize_t count = PyTuple_Size(texts->keep);
    texts->items = PyMem_Calloc((size_t)count + 1, sizeof(*texts->items));
    if (texts->items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GetItem(texts->keep, i);
        if (!PyUnicode_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "expected a sequence of str");
            return -1;
        }
        if (text_of(item, &texts->items[i]) != 0) {
            return -1;
        }
    }
    texts->count = (size_t)count;
    return 0;
}

int fc_texts_init(fc_texts *texts, PyObject *sequence_or_none)
{
    *texts = (fc_texts){0};
    if (sequence_or_none == Py_None) {
        return 0;
    }
    texts->keep = PySequence_Tuple(sequence_or_none);
    if (texts->keep == NULL || texts_fill(texts) != 0) {
        fc_texts_deinit(texts);
        return -1;
    }
    return 0;
}

void fc_texts_deinit(fc_texts *texts)
{
    PyMem_Free((void *)texts->items);
    Py_CLEAR(texts->keep);
    *texts = (fc_texts){0};
}

static int pairs_fill(fc_pairs *pairs)
{
    const Py_ssize_t count = PyTuple_Size(pairs->keep);
    pairs->items = PyMem_Calloc((size_t)count + 1, sizeof(*pairs->items));
    if (pairs->items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *key, *value;
        if (!PyArg_ParseTuple(PyTuple_GetItem(pairs->keep, i), "OO", &key, &value) ||
            text_of(key, &pairs->items[i].key) != 0 ||
            text_of(value, &pairs->items[i].value) != 0) {
            return -1;
        }
    }
    pairs->count = (size_t)count;
    return 0;
}

int fc_pairs_init(fc_pairs *pairs, PyObject *sequence_or_none)
{
    *pairs = (fc_pairs){0};
    if (sequence_or_none == Py_None) {
        return 0;
    }
    pairs->keep = PySequence_Tuple(sequence_or_none);
    if (pairs->keep == NULL || pairs_fill(pairs) != 0) {
        fc_pairs_deinit(pairs);
        return -1;
    }
    return 0;
}

void fc_pairs_deinit(fc_pairs *pairs)
{
    PyMem_Free(pairs->items);
    Py_CLEAR(pairs->keep);
    *pairs = (fc_pairs){0};
}

fluss_position_t *fc_positions(PyObject *sequence, size_t *count)
{
    PyObject *items = PySequence_Tuple(sequence);
    if (items == NULL) {
        return NULL;
    }
    const Py_ssize_t length = PyTuple_Size(items);
    fluss_position_t *positions = PyMem_Calloc((size_t)length + 1, sizeof(*positions));
    if (positions == NULL) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; positions != NULL && i < length; i++) {
        long long table_id, partition_id, offset;
        int bucket;
        if (!PyArg_ParseTuple(PyTuple_GetItem(items, i), "LLiL", &table_id, &partition_id, &bucket,
                              &offset)) {
            PyMem_Free(positions);
            positions = NULL;
            break;
        }
        positions[i] = (fluss_position_t){{table_id, partition_id, bucket}, offset};
    }
    Py_DECREF(items);
    *count = (size_t)length;
    return positions;
}
