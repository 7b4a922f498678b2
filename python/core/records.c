/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a poll and of lookups. A ScanRecord knows its place in the records of its poll; its
 * row becomes a dict when it is first asked for. */
#include "core.h"

/* Holds the C records for the ScanRecords that point into them. */
typedef struct fc_records {
    PyObject_HEAD fluss_records_t *records;
    fc_codec *codec;
} fc_records;

static void records_dealloc(fc_records *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    fluss_records_free(self->records);
    Py_XDECREF((PyObject *)self->codec);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot records_slots[] = {
    {Py_tp_new, fc_refuse_new}, {Py_tp_dealloc, records_dealloc}, {0, NULL}};
PyType_Spec fc_records_spec = {
    .name = "fluss._core.Records",
    .basicsize = sizeof(fc_records),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = records_slots,
};

typedef struct fc_record {
    PyObject_HEAD fc_state *state;
    fc_records *records; /* NULL: the row is there */
    const fluss_row_t *source;
    int64_t offset, timestamp_ms;
    int change;
    PyObject *bucket;
    PyObject *row; /* NULL: not asked for yet */
} fc_record;

PyObject *fc_bucket(const fc_state *state, const fluss_bucket_t *bucket)
{
    return PyObject_CallFunction(state->make_bucket, "LLi", (long long)bucket->table_id,
                                 (long long)bucket->partition_id, (int)bucket->bucket);
}

static bool same_bucket(const fluss_bucket_t *a, const fluss_bucket_t *b)
{
    return a->table_id == b->table_id && a->partition_id == b->partition_id &&
           a->bucket == b->bucket;
}

static PyObject *record_new(fc_records *records, const fluss_record_t *from, PyObject *bucket)
{
    fc_state *state = records->codec->state;
    fc_record *self = (fc_record *)PyType_GenericAlloc(state->record_type, 0);
    if (self != NULL) {
        self->state = state;
        self->records = (fc_records *)Py_NewRef((PyObject *)records);
        self->source = from->row;
        self->offset = from->offset;
        self->timestamp_ms = from->timestamp_ms;
        self->change = (int)from->change;
        self->bucket = Py_NewRef(bucket);
    }
    return (PyObject *)self;
}

/* Close the group of the bucket at hand: append (bucket, start, end). */
static int close_group(PyObject *groups, PyObject *bucket, size_t start, size_t end)
{
    if (bucket == NULL) {
        return 0;
    }
    PyObject *group = Py_BuildValue("Onn", bucket, (Py_ssize_t)start, (Py_ssize_t)end);
    const int rc = group == NULL ? -1 : PyList_Append(groups, group);
    Py_XDECREF(group);
    return rc;
}

static int fill_lists(fc_records *records, PyObject *list, PyObject *groups, size_t count)
{
    fluss_bucket_t current = {0};
    PyObject *bucket = NULL;
    size_t start = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        fluss_record_t record;
        fluss_records_get(records->records, i, &record);
        if (bucket == NULL || !same_bucket(&current, &record.bucket)) {
            rc = close_group(groups, bucket, start, i);
            Py_XDECREF(bucket);
            bucket = rc == 0 ? fc_bucket(records->codec->state, &record.bucket) : NULL;
            current = record.bucket;
            start = i;
        }
        PyObject *item = bucket == NULL ? NULL : record_new(records, &record, bucket);
        rc = item == NULL ? -1 : PyList_SetItem(list, (Py_ssize_t)i, item);
    }
    if (rc == 0) {
        rc = close_group(groups, bucket, start, count);
    }
    Py_XDECREF(bucket);
    return rc;
}

static fc_records *hold(fc_codec *codec, fluss_records_t *records)
{
    fc_records *holder = (fc_records *)PyType_GenericAlloc(codec->state->records_type, 0);
    if (holder == NULL) {
        fluss_records_free(records);
        return NULL;
    }
    holder->records = records;
    holder->codec = (fc_codec *)Py_NewRef((PyObject *)codec);
    return holder;
}

PyObject *fc_records_to_list(fc_codec *codec, fluss_records_t *records)
{
    const size_t count = fluss_records_count(records);
    fc_records *holder = hold(codec, records);
    if (holder == NULL) {
        return NULL;
    }
    PyObject *list = PyList_New((Py_ssize_t)count), *groups = PyList_New(0);
    PyObject *both = NULL;
    if (list != NULL && groups != NULL && fill_lists(holder, list, groups, count) == 0) {
        both = PyTuple_Pack(2, list, groups);
    }
    Py_XDECREF(list);
    Py_XDECREF(groups);
    Py_DECREF(holder);
    return both;
}

/* ---- lookups: rows at once ---- */

static PyObject *lookup_list(const fc_codec *codec, const fluss_records_t *records, size_t keys)
{
    PyObject *list = PyList_New((Py_ssize_t)keys);
    for (size_t i = 0; list != NULL && i < keys; i++) {
        if (PyList_SetItem(list, (Py_ssize_t)i, Py_NewRef(Py_None)) != 0) {
            Py_CLEAR(list);
        }
    }
    const size_t count = fluss_records_count(records);
    for (size_t i = 0; list != NULL && i < count; i++) {
        fluss_record_t record;
        fluss_records_get(records, i, &record);
        const bool is_known = record.offset >= 0 && (size_t)record.offset < keys;
        PyObject *row = fc_decode_row(codec, record.row);
        if (row == NULL || !is_known || PyList_SetItem(list, (Py_ssize_t)record.offset, row) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *lookup_all(const fc_codec *codec, const fluss_records_t *records)
{
    const size_t count = fluss_records_count(records);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        fluss_record_t record;
        fluss_records_get(records, i, &record);
        PyObject *row = fc_decode_row(codec, record.row);
        if (row == NULL || PyList_SetItem(list, (Py_ssize_t)i, row) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *rows_to_arrow(fc_state *state, const fluss_records_t *records)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    fluss_error_t err;
    fluss_code_t rc;
    Py_BEGIN_ALLOW_THREADS rc = fluss_records_to_arrow(records, &schema, &array, &err);
    Py_END_ALLOW_THREADS return rc == 0 ? fc_batch_new(state, &schema, &array, NULL, 0)
                                        : fc_raise(state, &err);
}

/* ---- changelogs: rows as Arrow, and what happened to them ---- */

/* What Arrow columns beside the rows are made of: native 64-bit numbers, and one byte a change. */
typedef struct change_columns {
    PyObject *offsets, *timestamps, *changes; /* bytes */
} change_columns;

static char *bytes_room(PyObject **bytes, size_t size)
{
    *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    return *bytes == NULL ? NULL : PyBytes_AsString(*bytes);
}

static int fill_changes(const fluss_records_t *records, size_t count, change_columns *out)
{
    char *offsets = bytes_room(&out->offsets, count * sizeof(int64_t));
    char *timestamps = bytes_room(&out->timestamps, count * sizeof(int64_t));
    char *changes = bytes_room(&out->changes, count);
    if (offsets == NULL || timestamps == NULL || changes == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        fluss_record_t record;
        fluss_records_get(records, i, &record);
        memcpy(offsets + i * sizeof(int64_t), &record.offset, sizeof(int64_t));
        memcpy(timestamps + i * sizeof(int64_t), &record.timestamp_ms, sizeof(int64_t));
        changes[i] = (char)record.change;
    }
    return 0;
}

/* (Batch, offsets, timestamps, changes); None when there is no record. */
PyObject *fc_changes(fc_state *state, fluss_records_t *records)
{
    const size_t count = fluss_records_count(records);
    PyObject *result = NULL;
    change_columns columns = {0};
    if (count == 0) {
        result = Py_NewRef(Py_None);
    } else if (fill_changes(records, count, &columns) == 0) {
        PyObject *batch = rows_to_arrow(state, records);
        result = batch == NULL
                     ? NULL
                     : PyTuple_Pack(4, batch, columns.offsets, columns.timestamps, columns.changes);
        Py_XDECREF(batch);
    }
    Py_XDECREF(columns.offsets);
    Py_XDECREF(columns.timestamps);
    Py_XDECREF(columns.changes);
    fluss_records_free(records);
    return result;
}

PyObject *fc_lookup_rows(fc_future *self, fluss_records_t *records)
{
    const fc_codec *codec = (const fc_codec *)self->context;
    PyObject *result = NULL;
    if (self->kind == FC_RESULT_LOOKUP_ARROW) {
        result = rows_to_arrow(self->state, records);
    } else if (self->kind == FC_RESULT_LOOKUP_MANY) {
        result = lookup_list(codec, records, self->count);
    } else if (self->kind == FC_RESULT_LOOKUP_ALL) {
        result = lookup_all(codec, records);
    } else if (fluss_records_count(records) == 0) {
        result = Py_NewRef(Py_None);
    } else {
        fluss_record_t record;
        fluss_records_get(records, 0, &record);
        result = fc_decode_row(codec, record.row);
    }
    fluss_records_free(records);
    return result;
}

/* ---- ScanRecord ---- */

static PyObject *record_offset(fc_record *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(self->offset);
}

static PyObject *record_timestamp(fc_record *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(self->timestamp_ms);
}

static PyObject *record_change_type(fc_record *self, void *unused)
{
    (void)unused;
    PyObject *type = PyTuple_GetItem(self->state->change_types, self->change);
    return type == NULL ? NULL : Py_NewRef(type);
}

static PyObject *record_bucket(fc_record *self, void *unused)
{
    (void)unused;
    return Py_NewRef(self->bucket);
}

static PyObject *record_row(fc_record *self, void *unused)
{
    (void)unused;
    if (self->row == NULL) { /* others may ask for it meanwhile: all get the same dict */
        PyObject *records = Py_NewRef((PyObject *)self->records);
        PyObject *row = fc_decode_row(self->records->codec, self->source);
        if (self->row == NULL && row != NULL) {
            self->row = Py_NewRef(row);
            Py_CLEAR(self->records);
        }
        Py_XDECREF(row);
        Py_DECREF(records);
    }
    return self->row == NULL ? NULL : Py_NewRef(self->row);
}

static PyObject *record_repr(fc_record *self)
{
    return PyUnicode_FromFormat("ScanRecord(offset=%lld, timestamp=%lld, change_type=%s)",
                                (long long)self->offset, (long long)self->timestamp_ms,
                                fluss_change_string((fluss_change_t)self->change));
}

static PyObject *record_reduce(fc_record *self, PyObject *unused)
{
    (void)unused;
    PyObject *row = record_row(self, NULL);
    if (row == NULL) {
        return NULL;
    }
    return Py_BuildValue("O(LLiNO)", self->state->make_record, (long long)self->offset,
                         (long long)self->timestamp_ms, self->change, row, self->bucket);
}

/** restore_record(offset, timestamp, change, row, bucket): for pickle. */
PyObject *fc_record_restore(PyObject *module, PyObject *args)
{
    fc_state *state = fc_state_of(module);
    long long offset, timestamp_ms;
    int change;
    PyObject *row, *bucket;
    if (!PyArg_ParseTuple(args, "LLiOO", &offset, &timestamp_ms, &change, &row, &bucket)) {
        return NULL;
    }
    if (change < 0 || change > FLUSS_DELETE) {
        PyErr_SetString(PyExc_ValueError, "unknown change type");
        return NULL;
    }
    fc_record *self = (fc_record *)PyType_GenericAlloc(state->record_type, 0);
    if (self != NULL) {
        self->state = state;
        self->offset = offset;
        self->timestamp_ms = timestamp_ms;
        self->change = change;
        self->row = Py_NewRef(row);
        self->bucket = Py_NewRef(bucket);
    }
    return (PyObject *)self;
}

static void record_dealloc(fc_record *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    Py_XDECREF((PyObject *)self->records);
    Py_XDECREF(self->bucket);
    Py_XDECREF(self->row);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyGetSetDef record_members[] = {
    {"offset", (getter)record_offset, NULL, "Log offset in the bucket.", NULL},
    {"timestamp", (getter)record_timestamp, NULL, "When the server wrote it, ms.", NULL},
    {"change_type", (getter)record_change_type, NULL, "What happened to the row.", NULL},
    {"row", (getter)record_row, NULL, "The row, a dict by column name.", NULL},
    {"bucket", (getter)record_bucket, NULL, "The bucket it was read from.", NULL},
    {0},
};

static PyMethodDef record_methods[] = {
    {"__reduce__", (PyCFunction)record_reduce, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot record_slots[] = {
    {Py_tp_new, fc_refuse_new},
    {Py_tp_dealloc, record_dealloc},
    {Py_tp_getset, record_members},
    {Py_tp_methods, record_methods},
    {Py_tp_repr, record_repr},
    {Py_tp_doc, "One record of a log or changelog."},
    {0, NULL},
};

PyType_Spec fc_record_spec = {
    .name = "fluss.ScanRecord",
    .basicsize = sizeof(fc_record),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = record_slots,
};
