/* SPDX-License-Identifier: Apache-2.0 */
/* Python values to datums: ARRAY, MAP and ROW. */
#include "core.h"

static bool is_sequence(PyObject *value)
{
    return PySequence_Check(value) && !PyUnicode_Check(value) && !PyDict_Check(value);
}

/* The items of what looks like a sequence; NULL: an exception. */
static PyObject *items_or_refusal(const fc_encoder *encoder, const char *wanted, PyObject *value)
{
    PyObject *items = fc_items_of(value);
    if (items == NULL && fc_is_misfit()) {
        PyErr_Clear();
        fc_encode_mismatch(encoder, wanted, value);
    }
    return items;
}

static int encode_array(fc_encoder *encoder, const fc_type *type, PyObject *value,
                        fluss_datum_t *out)
{
    static const char wanted[] = "sequence for Array column";
    if (!is_sequence(value)) {
        return fc_encode_mismatch(encoder, wanted, value);
    }
    PyObject *items = items_or_refusal(encoder, wanted, value);
    if (items == NULL) {
        return -1;
    }
    const size_t count = (size_t)PyTuple_Size(items);
    fluss_datum_t *datums = fc_encoder_datums(encoder, count);
    int rc = datums == NULL ? -1 : 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = fc_encode_value(encoder, &type->children[0], PyTuple_GetItem(items, (Py_ssize_t)i),
                             &datums[i]);
    }
    out->v.list.items = datums;
    out->v.list.len = count;
    Py_DECREF(items);
    return rc;
}

/* The entries of a dict, or of a sequence of pairs, as a tuple of 2-tuples. */
static PyObject *map_entries(const fc_encoder *encoder, PyObject *value)
{
    static const char wanted[] = "dict or sequence of pairs for Map column";
    const bool is_text = PyUnicode_Check(value) || PyBytes_Check(value) || PyByteArray_Check(value);
    PyObject *list = NULL;
    if (PyDict_Check(value)) {
        list = PyDict_Items(value);
    } else if (!is_text && PyObject_HasAttrString(value, "items")) {
        list = PyMapping_Items(value);
    } else if (!is_text && PySequence_Check(value)) {
        return items_or_refusal(encoder, wanted, value);
    } else {
        fc_encode_mismatch(encoder, wanted, value);
    }
    PyObject *entries = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return entries;
}

static int encode_entry(fc_encoder *encoder, const fc_type *type, PyObject *entry,
                        fluss_datum_t *out)
{
    static const char wanted[] = "pairs of key and value for Map column";
    if (!is_sequence(entry) || PyBytes_Check(entry)) {
        return fc_encode_mismatch(encoder, wanted, entry);
    }
    PyObject *pair = items_or_refusal(encoder, wanted, entry);
    int rc = pair == NULL ? -1 : 0;
    if (rc == 0 && PyTuple_Size(pair) != 2) {
        rc =
            fc_encode_fail(encoder, "Expected pairs of key and value for Map column, got %zd items",
                           PyTuple_Size(pair));
    }
    if (rc == 0 && PyTuple_GetItem(pair, 0) == Py_None) {
        rc = fc_encode_fail(encoder, "None as the key of a Map");
    }
    if (rc == 0) {
        rc = fc_encode_value(encoder, &type->children[0], PyTuple_GetItem(pair, 0), &out[0]);
    }
    if (rc == 0) {
        rc = fc_encode_value(encoder, &type->children[1], PyTuple_GetItem(pair, 1), &out[1]);
    }
    Py_XDECREF(pair);
    return rc;
}

static int encode_map(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out)
{
    PyObject *entries = map_entries(encoder, value);
    if (entries == NULL) {
        return -1;
    }
    const size_t count = (size_t)PyTuple_Size(entries);
    fluss_datum_t *datums = fc_encoder_datums(encoder, 2 * count);
    int rc = datums == NULL ? -1 : 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = encode_entry(encoder, type, PyTuple_GetItem(entries, (Py_ssize_t)i), &datums[2 * i]);
    }
    out->v.list.items = datums;
    out->v.list.len = 2 * count;
    Py_DECREF(entries);
    return rc;
}

static const char row_wanted[] = "dict, list or tuple for Row column";

static int encode_row_by_position(fc_encoder *encoder, const fc_type *type, PyObject *value,
                                  fluss_datum_t *datums)
{
    PyObject *items = items_or_refusal(encoder, row_wanted, value);
    if (items == NULL) {
        return -1;
    }
    int rc = 0;
    if (PyTuple_Size(items) != (Py_ssize_t)type->count) {
        rc = fc_encode_fail(encoder, "Expected %zu elements for Row column, got %zd", type->count,
                            PyTuple_Size(items));
    }
    for (size_t i = 0; rc == 0 && i < type->count; i++) {
        PyObject *item = PyTuple_GetItem(items, (Py_ssize_t)i);
        if (item == Py_None && !type->children[i].nullable) {
            rc = fc_encode_fail(encoder, "None for non-nullable row field '%U'", type->names[i]);
        } else {
            rc = fc_encode_value(encoder, &type->children[i], item, &datums[i]);
        }
    }
    Py_DECREF(items);
    return rc;
}

static int encode_row_value(fc_encoder *encoder, const fc_type *type, PyObject *value,
                            fluss_datum_t *out)
{
    fluss_datum_t *datums = fc_encoder_datums(encoder, type->count);
    if (datums == NULL) {
        return -1;
    }
    out->v.list.items = datums;
    out->v.list.len = type->count;
    if (PyDict_Check(value)) {
        for (size_t i = 0; i < type->count; i++) {
            PyObject *item = PyDict_GetItemWithError(value, type->names[i]);
            if (item == Py_None && !type->children[i].nullable) {
                return fc_encode_fail(encoder, "None for non-nullable row field '%U'",
                                      type->names[i]);
            }
        }
        return PyErr_Occurred() ? -1 : fc_encode_mapping(encoder, type, value, "Row value", datums);
    }
    bool is_named = false;
    if (!PyList_Check(value) && !PyTuple_CheckExact(value)) {
        const int rc = fc_encode_named(encoder, type, value, "Row value", datums, &is_named);
        if (is_named || rc != 0) {
            return rc;
        }
    }
    if (is_sequence(value) && !PyBytes_Check(value)) {
        return encode_row_by_position(encoder, type, value, datums);
    }
    return fc_encode_mismatch(encoder, row_wanted, value);
}

int fc_encode_nested(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out)
{
    if (++encoder->depth > FC_DEPTH_MAX) {
        return fc_encode_fail(encoder, "nested more than %d deep", FC_DEPTH_MAX);
    }
    /* Elements may be made on the fly by the sequence; they live as long as the encoder. */
    int rc = fc_encoder_keep(encoder, value);
    if (rc == 0 && type->type == FLUSS_ARRAY) {
        rc = encode_array(encoder, type, value, out);
    } else if (rc == 0 && type->type == FLUSS_MAP) {
        rc = encode_map(encoder, type, value, out);
    } else if (rc == 0) {
        rc = encode_row_value(encoder, type, value, out);
    }
    encoder->depth--;
    return rc;
}
