/* SPDX-License-Identifier: Apache-2.0 */
/* The types of a table's columns, made from trees that fluss._type_texts parses out of type texts:
 * tree = (type, precision, scale, length, nullable, ((name, tree), …)). */
#include "core.h"

static void type_deinit(fc_type *type)
{
    for (size_t i = 0; i < type->count; i++) {
        if (type->children != NULL) {
            type_deinit(&type->children[i]);
        }
        if (type->names != NULL) {
            Py_XDECREF(type->names[i]);
        }
    }
    PyMem_Free(type->children);
    PyMem_Free((void *)type->names);
    *type = (fc_type){0};
}

static int type_init(fc_state *state, fc_type *type, PyObject *tree, int depth);

static int children_init(fc_state *state, fc_type *type, PyObject *children, int depth)
{
    const Py_ssize_t count = PyTuple_Size(children);
    if (count < 0 || depth > FC_DEPTH_MAX) {
        PyErr_SetString(PyExc_ValueError, "a type is nested too deeply");
        return -1;
    }
    if (count == 0) {
        return 0;
    }
    type->children = PyMem_Calloc((size_t)count, sizeof(*type->children));
    type->names = PyMem_Calloc((size_t)count, sizeof(*type->names));
    if (type->children == NULL || type->names == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name, *tree;
        if (!PyArg_ParseTuple(PyTuple_GetItem(children, i), "UO!", &name, &PyTuple_Type, &tree)) {
            return -1;
        }
        type->count = (size_t)i + 1;
        Py_INCREF(name);
        PyUnicode_InternInPlace(&name);
        type->names[i] = name;
        if (type_init(state, &type->children[i], tree, depth + 1) != 0) {
            return -1;
        }
    }
    return 0;
}

static int type_init(fc_state *state, fc_type *type, PyObject *tree, int depth)
{
    int code, precision, scale, length, nullable;
    PyObject *children;
    if (!PyArg_ParseTuple(tree, "iiiipO!", &code, &precision, &scale, &length, &nullable,
                          &PyTuple_Type, &children)) {
        return -1;
    }
    type->type = (uint8_t)code;
    type->precision = (uint8_t)precision;
    type->scale = (uint8_t)scale;
    type->length = length;
    type->nullable = nullable != 0;
    return fc_load_classes(state, type->type) == 0 ? children_init(state, type, children, depth)
                                                   : -1;
}

/* Copies have room for all columns from the start. */
static PyObject *blank_row(const fc_type *row)
{
    PyObject *blank = PyDict_New();
    for (size_t i = 0; blank != NULL && i < row->count; i++) {
        if (PyDict_SetItem(blank, row->names[i], Py_None) != 0) {
            Py_CLEAR(blank);
        }
    }
    return blank;
}

PyObject *fc_codec_new(PyObject *module, PyObject *columns)
{
    fc_state *state = fc_state_of(module);
    PyObject *tuple = PySequence_Tuple(columns);
    if (tuple == NULL) {
        return NULL;
    }
    fc_codec *self = (fc_codec *)PyType_GenericAlloc(state->codec_type, 0);
    if (self != NULL) {
        self->state = state;
        self->row.type = FLUSS_ROW;
        if (children_init(state, &self->row, tuple, 0) != 0 ||
            (self->blank = blank_row(&self->row)) == NULL) {
            Py_CLEAR(self);
        }
    }
    Py_DECREF(tuple);
    return (PyObject *)self;
}

static void codec_dealloc(fc_codec *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    type_deinit(&self->row);
    Py_XDECREF(self->blank);
    PyObject_Free(self);
    Py_DECREF(type);
}

/** round_trip(row, exact=False) -> row as it would be read back; for tests and for checks without a
 * server. @param exact refuse what does not fit without a loss, instead of warning */
static PyObject *codec_round(fc_codec *self, PyObject *args)
{
    PyObject *row;
    int exact = 0;
    if (!PyArg_ParseTuple(args, "O|p", &row, &exact)) {
        return NULL;
    }
    fc_encoder encoder;
    fc_encoder_init(&encoder, self->state);
    encoder.refuses_loss = exact != 0;
    fluss_datum_t *datums = fc_encode_row(&encoder, self, row, "Row");
    PyObject *result = datums == NULL ? NULL : PyDict_New();
    for (size_t i = 0; result != NULL && i < self->row.count; i++) {
        PyObject *value = fc_decode_value(self->state, &self->row.children[i], &datums[i]);
        if (value == NULL || PyDict_SetItem(result, self->row.names[i], value) != 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(value);
    }
    fc_encoder_deinit(&encoder);
    return result;
}

static PyMethodDef codec_methods[] = {
    {"round_trip", (PyCFunction)codec_round, METH_VARARGS, "A row as it would be read back."},
    {0},
};

static PyType_Slot codec_slots[] = {
    {Py_tp_new, fc_refuse_new},
    {Py_tp_dealloc, codec_dealloc},
    {Py_tp_methods, codec_methods},
    {Py_tp_doc, "The columns of a table, with their types."},
    {0, NULL},
};

PyType_Spec fc_codec_spec = {
    .name = "fluss._core.Codec",
    .basicsize = sizeof(fc_codec),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = codec_slots,
};

const char *fc_type_name(const fc_type *type)
{
    static const char *const type_names[] = {
        "NULL",   "BOOLEAN",   "TINYINT",       "SMALLINT", "INT",   "BIGINT",  "FLOAT",
        "DOUBLE", "CHAR",      "STRING",        "BINARY",   "BYTES", "DECIMAL", "DATE",
        "TIME",   "TIMESTAMP", "TIMESTAMP_LTZ", "ARRAY",    "MAP",   "ROW"};
    return type->type < sizeof(type_names) / sizeof(type_names[0]) ? type_names[type->type] : "?";
}
