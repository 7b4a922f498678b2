/* SPDX-License-Identifier: Apache-2.0 */
/* Scanners, limit scans, filters and lookups. */
#include "core.h"

/* ---- filters ---- */

/* Literals (tree of a type, value) as datums. @return NULL with an exception */
static fluss_datum_t *literals_of(fc_encoder *encoder, fc_codec *codec, PyObject *values)
{
    const size_t count = codec->row.count;
    fluss_datum_t *datums = fc_encoder_datums(encoder, count);
    for (size_t i = 0; datums != NULL && i < count; i++) {
        encoder->field = codec->row.names[i];
        if (fc_encode_value(encoder, &codec->row.children[i],
                            PyTuple_GetItem(values, (Py_ssize_t)i), &datums[i]) != 0) {
            return NULL;
        }
    }
    return datums;
}

static void predicate_died(PyObject *capsule)
{
    fluss_pred_free(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
}

/* A predicate that was combined into another is renamed, so that it is not freed twice. */
#define PREDICATE "fluss.predicate"

static PyObject *wrap_predicate(fluss_pred_t *predicate)
{
    if (predicate == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(predicate, PREDICATE, predicate_died);
    if (capsule == NULL) {
        fluss_pred_free(predicate);
    }
    return capsule;
}

/** predicate(column, op, codec of the literals, (values, …)) */
static PyObject *predicate(PyObject *module, PyObject *args)
{
    const char *column;
    int op;
    fc_state *state = fc_state_of(module);
    fc_codec *codec;
    PyObject *values;
    if (!PyArg_ParseTuple(args, "siO!O!", &column, &op, state->codec_type, &codec, &PyTuple_Type,
                          &values)) {
        return NULL;
    }
    if (PyTuple_Size(values) != (Py_ssize_t)codec->row.count) {
        PyErr_SetString(PyExc_ValueError, "one type for each literal");
        return NULL;
    }
    fc_encoder encoder;
    fc_encoder_init(&encoder, state);
    const fluss_datum_t *datums = literals_of(&encoder, codec, values);
    PyObject *result =
        datums == NULL
            ? NULL
            : wrap_predicate(fluss_pred(column, (fluss_cmp_t)op, datums, codec->row.count));
    fc_encoder_deinit(&encoder);
    return result;
}

/** combine(all, [predicates]): takes the predicates. */
static PyObject *combine(PyObject *module, PyObject *args)
{
    (void)module;
    int all;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "pO!", &all, &PyList_Type, &list)) {
        return NULL;
    }
    const Py_ssize_t count = PyList_Size(list);
    fluss_pred_t **children = PyMem_Calloc((size_t)count + 1, sizeof(fluss_pred_t *));
    if (children == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *result = NULL;
    Py_ssize_t taken = 0;
    for (; taken < count; taken++) {
        PyObject *capsule = PyList_GetItem(list, taken);
        children[taken] = PyCapsule_GetPointer(capsule, PREDICATE);
        if (children[taken] == NULL || PyCapsule_SetDestructor(capsule, NULL) != 0) {
            break;
        }
    }
    if (taken == count) {
        result = wrap_predicate(fluss_pred_combine(all != 0, children, (size_t)count));
    } else {
        for (Py_ssize_t i = 0; i < taken; i++) {
            fluss_pred_free(children[i]);
        }
    }
    PyMem_Free(children);
    return result;
}

/* ---- scanners ---- */

static fluss_pred_t *filter_of(PyObject *capsule_or_none)
{
    return capsule_or_none == Py_None ? NULL : PyCapsule_GetPointer(capsule_or_none, PREDICATE);
}

/** open_scanner(table, batches, write_time_schema, exact_filter, names or None, filter or None) */
static PyObject *open_scanner(PyObject *module, PyObject *args)
{
    fluss_table_t *table;
    int batches, write_time, exact;
    PyObject *columns, *filter;
    fc_texts names;
    if (!PyArg_ParseTuple(args, "O&pppOO", fc_to_table, &table, &batches, &write_time, &exact,
                          &columns, &filter) ||
        fc_texts_init(&names, columns) != 0) {
        return NULL;
    }
    const fluss_scan_opts_t opts = {.size = sizeof(opts),
                                    .batches = batches != 0,
                                    .write_time_schema = write_time != 0,
                                    .exact_filter = exact != 0,
                                    .names = names.items,
                                    .n_columns = names.count,
                                    .filter = filter_of(filter)};
    fluss_scanner_t *scanner = NULL;
    fluss_error_t err;
    fluss_code_t rc = 0;
    if (!PyErr_Occurred()) {
        rc = fluss_scanner_open(&table, 1, &opts, &scanner, &err);
    }
    fc_texts_deinit(&names);
    if (rc != 0) {
        return fc_raise(fc_state_of(module), &err);
    }
    return PyErr_Occurred() ? NULL : fc_wrap(FC_SCANNER, scanner);
}

/** subscribe(scanner, [(table_id, partition_id, bucket, offset)]): waits */
static PyObject *subscribe(PyObject *module, PyObject *args)
{
    fc_state *state = fc_state_of(module);
    fluss_scanner_t *scanner;
    PyObject *sequence;
    size_t count;
    if (!PyArg_ParseTuple(args, "O&O", fc_to_scanner, &scanner, &sequence)) {
        return NULL;
    }
    fluss_position_t *positions = fc_positions(sequence, &count);
    if (positions == NULL) {
        return NULL;
    }
    fluss_future_t *future = fluss_subscribe(scanner, positions, count);
    PyMem_Free(positions);
    if (fc_wait(future) != 0) {
        fluss_future_free(future);
        return NULL;
    }
    fluss_error_t err;
    if (fluss_await(future, 0, &err) != 0) {
        return fc_raise(state, &err);
    }
    Py_RETURN_NONE;
}

/** unsubscribe(scanner, [(table_id, partition_id, bucket, ignored)]) */
static PyObject *unsubscribe(PyObject *module, PyObject *args)
{
    fluss_scanner_t *scanner;
    PyObject *sequence;
    size_t count;
    if (!PyArg_ParseTuple(args, "O&O", fc_to_scanner, &scanner, &sequence)) {
        return NULL;
    }
    fluss_position_t *positions = fc_positions(sequence, &count);
    fluss_bucket_t *buckets =
        positions == NULL ? NULL : PyMem_Calloc(count + 1, sizeof(fluss_bucket_t));
    if (buckets == NULL) {
        PyMem_Free(positions);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (size_t i = 0; i < count; i++) {
        buckets[i] = positions[i].bucket;
    }
    fluss_error_t err;
    fluss_code_t rc;
    Py_BEGIN_ALLOW_THREADS rc = fluss_unsubscribe(scanner, buckets, count, &err);
    Py_END_ALLOW_THREADS PyMem_Free(buckets);
    PyMem_Free(positions);
    if (rc != 0) {
        return fc_raise(fc_state_of(module), &err);
    }
    Py_RETURN_NONE;
}

/** positions(scanner) -> [(table_id, partition_id, bucket, offset)] */
static PyObject *positions(PyObject *module, PyObject *capsule)
{
    (void)module;
    fluss_scanner_t *scanner = fc_unwrap(capsule, FC_SCANNER);
    if (scanner == NULL) {
        return NULL;
    }
    size_t capacity = 16, count = 0;
    fluss_position_t *found = NULL;
    do {
        capacity = count > capacity ? count : capacity;
        PyMem_Free(found);
        found = PyMem_Calloc(capacity, sizeof(*found));
        if (found == NULL) {
            return PyErr_NoMemory();
        }
        count = fluss_positions(scanner, found, capacity);
    } while (count > capacity);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *entry = Py_BuildValue("LLiL", (long long)found[i].bucket.table_id,
                                        (long long)found[i].bucket.partition_id,
                                        (int)found[i].bucket.bucket, (long long)found[i].offset);
        if (entry == NULL || PyList_SetItem(list, (Py_ssize_t)i, entry) != 0) {
            Py_CLEAR(list);
        }
    }
    PyMem_Free(found);
    return list;
}

/** poll_changes(scanner, timeout_ms) -> future of rows as Arrow with what happened to them */
static PyObject *poll_changes(PyObject *module, PyObject *args)
{
    long long timeout_ms;
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "OL", &capsule, &timeout_ms)) {
        return NULL;
    }
    fluss_scanner_t *scanner = fc_unwrap(capsule, FC_SCANNER);
    return scanner == NULL
               ? NULL
               : fc_future_keep(fc_future_new(fc_state_of(module), fluss_poll(scanner, timeout_ms),
                                              FC_RESULT_CHANGES, NULL, NULL),
                                capsule);
}

/** poll(scanner, timeout_ms, codec or None) -> future of (records, groups), or of batches */
static PyObject *poll_scanner(PyObject *module, PyObject *args)
{
    fc_state *state = fc_state_of(module);
    long long timeout_ms;
    PyObject *capsule, *codec;
    if (!PyArg_ParseTuple(args, "OLO", &capsule, &timeout_ms, &codec)) {
        return NULL;
    }
    fluss_scanner_t *scanner = fc_unwrap(capsule, FC_SCANNER);
    if (scanner == NULL) {
        return NULL;
    }
    if (codec != Py_None && !PyObject_TypeCheck(codec, state->codec_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a codec");
        return NULL;
    }
    PyObject *future =
        fc_future_new(state, fluss_poll(scanner, timeout_ms),
                      codec == Py_None ? FC_RESULT_BATCHES : FC_RESULT_RECORDS, codec, NULL);
    return fc_future_keep(future, capsule);
}

static PyObject *wake_scanner(PyObject *module, PyObject *capsule)
{
    (void)module;
    fluss_scanner_t *scanner = fc_unwrap(capsule, FC_SCANNER);
    if (scanner == NULL) {
        return NULL;
    }
    fluss_scanner_wakeup(scanner);
    Py_RETURN_NONE;
}

/** scan_bucket(table, (table_id, partition_id, bucket), limit, names or None) -> future of batches
 */
static PyObject *scan_bucket(PyObject *module, PyObject *args)
{
    fluss_table_t *table;
    long long table_id, partition_id;
    int bucket, limit;
    PyObject *columns;
    fc_texts names;
    if (!PyArg_ParseTuple(args, "O&(LLi)iO", fc_to_table, &table, &table_id, &partition_id, &bucket,
                          &limit, &columns) ||
        fc_texts_init(&names, columns) != 0) {
        return NULL;
    }
    const fluss_scan_opts_t opts = {.size = sizeof(opts),
                                    .batches = true,
                                    .names = names.items,
                                    .n_columns = names.count,
                                    .limit = limit};
    fluss_future_t *future =
        fluss_scan_bucket(table, (fluss_bucket_t){table_id, partition_id, bucket}, &opts);
    fc_texts_deinit(&names);
    return fc_future_new(fc_state_of(module), future, FC_RESULT_BATCHES, NULL, NULL);
}

/* ---- lookups ---- */

/** open_lookup(table, prefix or None, insert_if_absent) */
static PyObject *open_lookup(PyObject *module, PyObject *args)
{
    fluss_table_t *table;
    PyObject *columns;
    int insert;
    fc_texts prefix;
    if (!PyArg_ParseTuple(args, "O&Op", fc_to_table, &table, &columns, &insert) ||
        fc_texts_init(&prefix, columns) != 0) {
        return NULL;
    }
    const fluss_lookup_opts_t opts = {.size = sizeof(opts),
                                      .prefix = prefix.items,
                                      .n_prefix = prefix.count,
                                      .insert_if_absent = insert != 0};
    fluss_lookup_t *lookup;
    fluss_error_t err;
    const fluss_code_t rc = fluss_lookup_open(table, &opts, &lookup, &err);
    fc_texts_deinit(&prefix);
    return rc == 0 ? fc_wrap(FC_LOOKUP, lookup) : fc_raise(fc_state_of(module), &err);
}

/* All keys, one behind the other. @return NULL with an exception */
static fluss_datum_t *encode_keys(fc_encoder *encoder, const fc_codec *codec, PyObject *keys)
{
    const size_t count = (size_t)PyTuple_Size(keys), width = codec->row.count;
    fluss_datum_t *all = fc_encoder_datums(encoder, count * width);
    for (size_t i = 0; all != NULL && i < count; i++) {
        const fluss_datum_t *key =
            fc_encode_row(encoder, codec, PyTuple_GetItem(keys, (Py_ssize_t)i), "Key");
        if (key == NULL) {
            return NULL;
        }
        memcpy(all + i * width, key, width * sizeof(*key));
    }
    return all;
}

static PyObject *start_lookup(fc_state *state, fluss_lookup_t *lookup, const fluss_datum_t *keys,
                              size_t width, size_t count, fc_result_kind kind, PyObject *rows)
{
    fluss_future_t *pending;
    Py_BEGIN_ALLOW_THREADS pending = fluss_lookup(lookup, keys, width, count);
    Py_END_ALLOW_THREADS PyObject *future = fc_future_new(state, pending, kind, rows, NULL);
    if (future != NULL) {
        ((fc_future *)future)->count = count;
    }
    return future;
}

/** lookup(lookup, key codec, row codec, key or (keys, …), kind) -> future; kind: 0 one row, 1 a row
 * or None for each key, 2 all rows, 3 an Arrow batch */
static PyObject *lookup(PyObject *module, PyObject *args)
{
    fc_state *state = fc_state_of(module);
    PyObject *capsule, *keys;
    fc_codec *key_codec, *row_codec;
    int kind;
    if (!PyArg_ParseTuple(args, "OO!O!Oi", &capsule, state->codec_type, &key_codec,
                          state->codec_type, &row_codec, &keys, &kind)) {
        return NULL;
    }
    fluss_lookup_t *handle = fc_unwrap(capsule, FC_LOOKUP);
    const bool is_many = kind == 1 || kind == 3;
    if (handle == NULL || (is_many && !PyTuple_Check(keys))) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "expected a tuple of keys");
    }
    fc_encoder encoder;
    fc_encoder_init(&encoder, state);
    const fluss_datum_t *datums = is_many ? encode_keys(&encoder, key_codec, keys)
                                          : fc_encode_row(&encoder, key_codec, keys, "Key");
    PyObject *future = NULL;
    if (datums != NULL) {
        const size_t count = is_many ? (size_t)PyTuple_Size(keys) : 1;
        future = start_lookup(state, handle, datums, key_codec->row.count, count,
                              (fc_result_kind)(FC_RESULT_LOOKUP_ONE + kind), (PyObject *)row_codec);
        future = fc_future_keep(future, capsule);
    }
    fc_encoder_deinit(&encoder);
    return future;
}

PyMethodDef fc_scan_methods[] = {
    {"predicate", predicate, METH_VARARGS, NULL},
    {"combine", combine, METH_VARARGS, NULL},
    {"open_scanner", open_scanner, METH_VARARGS, NULL},
    {"subscribe", subscribe, METH_VARARGS, NULL},
    {"unsubscribe", unsubscribe, METH_VARARGS, NULL},
    {"positions", positions, METH_O, NULL},
    {"poll", poll_scanner, METH_VARARGS, NULL},
    {"poll_changes", poll_changes, METH_VARARGS, NULL},
    {"wake", wake_scanner, METH_O, NULL},
    {"scan_bucket", scan_bucket, METH_VARARGS, NULL},
    {"open_lookup", open_lookup, METH_VARARGS, NULL},
    {"lookup", lookup, METH_VARARGS, NULL},
    {0},
};
