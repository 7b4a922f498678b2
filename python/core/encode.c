/* SPDX-License-Identifier: Apache-2.0 */
/* Python values to datums: rows, scalars, and the memory that a row needs meanwhile. A row is
 * refused as a whole, with the name of the column that is at fault. Objects that a datum points
 * into are held by the encoder, because other threads run while the C library copies the row. */
#include "core.h"

typedef struct fc_block {
    struct fc_block *next;
    fluss_datum_t datums[];
} fc_block;

void fc_encoder_init(fc_encoder *encoder, const fc_state *state)
{
    encoder->state = state;
    encoder->field = NULL;
    encoder->depth = 0;
    encoder->refuses_loss = false;
    encoder->kept_count = 0;
    encoder->kept_capacity = FC_INLINE_KEPT;
    encoder->kept = encoder->kept_inline;
    encoder->blocks = NULL;
    encoder->datums_used = 0;
}

void fc_encoder_deinit(fc_encoder *encoder)
{
    for (size_t i = 0; i < encoder->kept_count; i++) {
        Py_DECREF(encoder->kept[i]);
    }
    if (encoder->kept != encoder->kept_inline) {
        PyMem_Free((void *)encoder->kept);
    }
    while (encoder->blocks != NULL) {
        fc_block *next = encoder->blocks->next;
        PyMem_Free(encoder->blocks);
        encoder->blocks = next;
    }
}

fluss_datum_t *fc_encoder_datums(fc_encoder *encoder, size_t count)
{
    if (count <= FC_INLINE_DATUMS - encoder->datums_used) {
        fluss_datum_t *datums = encoder->datums + encoder->datums_used;
        encoder->datums_used += count;
        return datums;
    }
    if (count > (SIZE_MAX - sizeof(fc_block)) / sizeof(fluss_datum_t)) {
        PyErr_NoMemory();
        return NULL;
    }
    fc_block *block = PyMem_Malloc(sizeof(fc_block) + count * sizeof(fluss_datum_t));
    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    block->next = encoder->blocks;
    encoder->blocks = block;
    return block->datums;
}

int fc_encoder_keep(fc_encoder *encoder, PyObject *object)
{
    if (encoder->kept_count == encoder->kept_capacity) {
        const size_t capacity = encoder->kept_capacity * 2;
        PyObject **grown = PyMem_Malloc(capacity * sizeof(*grown));
        if (grown == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        memcpy((void *)grown, (void *)encoder->kept, encoder->kept_count * sizeof(*grown));
        if (encoder->kept != encoder->kept_inline) {
            PyMem_Free((void *)encoder->kept);
        }
        encoder->kept = grown;
        encoder->kept_capacity = capacity;
    }
    Py_INCREF(object);
    encoder->kept[encoder->kept_count++] = object;
    return 0;
}

int fc_encode_fail(const fc_encoder *encoder, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear(); /* Python turns no int of thousands of digits into text */
        text = PyUnicode_FromString("a number of too many digits");
    }
    if (text != NULL) {
        fc_refuse(encoder->state, "Field '%U': %U", encoder->field, text);
        Py_DECREF(text);
    }
    return -1;
}

int fc_encode_mismatch(const fc_encoder *encoder, const char *wanted, PyObject *value)
{
    PyObject *name = fc_type_name_of(value);
    if (name != NULL) {
        fc_encode_fail(encoder, "Expected %s, got %U", wanted, name);
        Py_DECREF(name);
    }
    return -1;
}

bool fc_is_misfit(void)
{
    return PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
           PyErr_ExceptionMatches(PyExc_OverflowError) ||
           PyErr_ExceptionMatches(PyExc_NotImplementedError); /* of memoryviews */
}

/* Turn what a conversion says of a value that it does not fit into a refusal of the value. */
static int refuse_conversion(const fc_encoder *encoder, const char *wanted, PyObject *value)
{
    if (fc_is_misfit()) {
        PyErr_Clear();
        return fc_encode_mismatch(encoder, wanted, value);
    }
    return -1;
}

/* ---- scalars ---- */

static int encode_bool(fc_encoder *encoder, PyObject *value, fluss_datum_t *out)
{
    if (PyBool_Check(value)) {
        out->v.b = value == Py_True;
        return 0;
    }
    PyObject *name = fc_type_name_of(value);
    if (name == NULL) {
        return -1;
    }
    const bool is_numpy = PyUnicode_CompareWithASCIIString(name, "bool") == 0 ||
                          PyUnicode_CompareWithASCIIString(name, "bool_") == 0;
    Py_DECREF(name);
    if (!is_numpy) {
        return fc_encode_mismatch(encoder, "bool", value);
    }
    const int truth = PyObject_IsTrue(value);
    out->v.b = truth > 0;
    return truth < 0 ? -1 : 0;
}

static int encode_integer(fc_encoder *encoder, const fc_type *type, PyObject *value,
                          fluss_datum_t *out)
{
    static const int64_t largest[] = {INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX};
    if (PyBool_Check(value)) {
        return fc_encode_mismatch(encoder, "int", value);
    }
    PyObject *number = PyNumber_Index(value);
    if (number == NULL) {
        return refuse_conversion(encoder, "int", value);
    }
    int overflow = 0;
    const long long integer = PyLong_AsLongLongAndOverflow(number, &overflow);
    const int64_t limit = largest[type->type - FLUSS_TINYINT];
    int rc = 0;
    if (overflow != 0 || integer > limit || integer < -limit - 1) {
        rc = fc_encode_fail(encoder, "%R is out of range for %s (%lld to %lld)", number,
                            fc_type_name(type), (long long)(-limit - 1), (long long)limit);
    }
    Py_DECREF(number);
    out->v.i = integer;
    return rc;
}

static int encode_text(fc_encoder *encoder, const fc_type *type, PyObject *value,
                       fluss_datum_t *out)
{
    if (!PyUnicode_Check(value)) {
        return fc_encode_mismatch(encoder, "str", value);
    }
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) {
            return -1;
        }
        PyErr_Clear();
        return fc_encode_fail(encoder, "str with a lone surrogate cannot be stored as UTF-8");
    }
    if (type->type == FLUSS_CHAR && PyUnicode_GetLength(value) > type->length) {
        return fc_encode_fail(encoder, "%zd characters do not fit CHAR(%d)",
                              PyUnicode_GetLength(value), (int)type->length);
    }
    out->v.s.ptr = text;
    out->v.s.len = (size_t)size;
    return fc_encoder_keep(encoder, value);
}

static int encode_bytes(fc_encoder *encoder, const fc_type *type, PyObject *value,
                        fluss_datum_t *out)
{
    PyObject *bytes = NULL;
    if (PyBytes_Check(value)) {
        bytes = value;
        Py_INCREF(bytes);
    } else if (PyByteArray_Check(value) || PyMemoryView_Check(value)) {
        bytes = PyBytes_FromObject(value);
    } else {
        return fc_encode_mismatch(encoder, "bytes", value);
    }
    if (bytes == NULL) {
        return -1;
    }
    char *data = NULL;
    Py_ssize_t size = 0;
    int rc = PyBytes_AsStringAndSize(bytes, &data, &size);
    if (rc == 0 && type->type == FLUSS_BINARY && size != type->length) {
        rc = fc_encode_fail(encoder, "%zd bytes for BINARY(%d), which needs exactly %d", size,
                            (int)type->length, (int)type->length);
    }
    if (rc == 0) {
        out->v.s.ptr = data;
        out->v.s.len = (size_t)size;
        rc = fc_encoder_keep(encoder, bytes);
    }
    Py_DECREF(bytes);
    return rc;
}

int fc_encode_plain(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out)
{
    memset(out, 0, sizeof(*out));
    if (value == Py_None) {
        if (!type->nullable) {
            return fc_encode_fail(encoder, "None for a non-nullable %s", fc_type_name(type));
        }
        return 0;
    }
    out->type = type->type;
    switch (type->type) {
    case FLUSS_BOOLEAN:
        return encode_bool(encoder, value, out);
    case FLUSS_TINYINT:
    case FLUSS_SMALLINT:
    case FLUSS_INT:
    case FLUSS_BIGINT:
        return encode_integer(encoder, type, value, out);
    case FLUSS_FLOAT:
    case FLUSS_DOUBLE:
        return fc_encode_float(encoder, type, value, out);
    case FLUSS_CHAR:
    case FLUSS_STRING:
        return encode_text(encoder, type, value, out);
    case FLUSS_BINARY:
    case FLUSS_BYTES:
        return encode_bytes(encoder, type, value, out);
    case FLUSS_DECIMAL:
        return fc_encode_decimal(encoder, type, value, out);
    case FLUSS_DATE:
    case FLUSS_TIME:
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return fc_encode_moment(encoder, type, value, out);
    default:
        return fc_encode_nested(encoder, type, value, out);
    }
}

int fc_encode_value(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out)
{
    Py_INCREF(value); /* its own methods may take it out of the row */
    int rc = fc_encode_plain(encoder, type, value, out);
    if (rc != 0 && PyErr_ExceptionMatches(encoder->state->fluss_error)) {
        rc = fc_encode_stand_in(encoder, type, value, out);
    }
    Py_DECREF(value);
    return rc;
}

/* How many items a sequence of a user's class, or a range, may claim. */
enum { ITEMS_MAX = 1 << 26 };

static int refuse_items(void)
{
    PyErr_Format(PyExc_ValueError, "a sequence of more than %d items", ITEMS_MAX);
    return -1;
}

static int append_items(PyObject *list, PyObject *iterator)
{
    PyObject *item;
    int rc = 0;
    for (int count = 0; rc == 0 && (item = PyIter_Next(iterator)) != NULL; count++) {
        rc = count < ITEMS_MAX ? PyList_Append(list, item) : refuse_items();
        Py_DECREF(item);
    }
    return rc == 0 && !PyErr_Occurred() ? 0 : -1;
}

PyObject *fc_items_of(PyObject *sequence)
{
    if (PyTuple_CheckExact(sequence) || PyList_CheckExact(sequence)) {
        return PySequence_Tuple(sequence);
    }
    const Py_ssize_t claimed = PyObject_Size(sequence);
    if (claimed > ITEMS_MAX || (claimed < 0 && PyErr_ExceptionMatches(PyExc_OverflowError))) {
        (void)refuse_items();
        return NULL;
    }
    if (claimed < 0) { /* some have no length, or one that fails */
        PyErr_Clear();
    }
    PyObject *iterator = PyObject_GetIter(sequence);
    PyObject *list = iterator == NULL ? NULL : PyList_New(0);
    PyObject *items =
        list != NULL && append_items(list, iterator) == 0 ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(iterator);
    Py_XDECREF(list);
    return items;
}

/* ---- rows ---- */

/* Name a key of `row` that is no column. Returns -1. */
static int refuse_unknown_key(const fc_encoder *encoder, const fc_type *row, PyObject *value,
                              const char *what)
{
    PyObject *names = PyList_New(0), *keys = PyDict_Keys(value), *known = NULL;
    for (size_t i = 0; names != NULL && i < row->count; i++) {
        if (PyList_Append(names, row->names[i]) != 0) {
            Py_CLEAR(names);
        }
    }
    known = names == NULL ? NULL : PySet_New(names);
    for (Py_ssize_t i = 0; known != NULL && keys != NULL && i < PyList_Size(keys); i++) {
        PyObject *key = PyList_GetItem(keys, i);
        if (!PyUnicode_Check(key)) {
            fc_refuse(encoder->state, "%s keys must be str, got %R", what, key);
            break;
        }
        const int is_known = PySet_Contains(known, key);
        if (is_known == 0 && encoder->depth > 0) {
            fc_encode_fail(encoder, "%s has unknown field '%U'; expected fields: %S", what, key,
                           names);
        } else if (is_known == 0) {
            fc_refuse(encoder->state, "%s has unknown field '%U'; expected fields: %S", what, key,
                      names);
        }
        if (is_known <= 0) {
            break;
        }
    }
    Py_XDECREF(known);
    Py_XDECREF(names);
    Py_XDECREF(keys);
    return -1;
}

int fc_encode_mapping(fc_encoder *encoder, const fc_type *row, PyObject *value, const char *what,
                      fluss_datum_t *out)
{
    const bool is_top = encoder->depth == 0;
    Py_ssize_t found = 0;
    for (size_t i = 0; i < row->count; i++) {
        PyObject *item = PyDict_GetItemWithError(value, row->names[i]);
        if (is_top) {
            encoder->field = row->names[i];
        }
        if (item != NULL) {
            found++;
            if (fc_encode_value(encoder, &row->children[i], item, &out[i]) != 0) {
                return -1;
            }
            continue;
        }
        if (PyErr_Occurred()) {
            return -1;
        }
        memset(&out[i], 0, sizeof(out[i]));
        if (!row->children[i].nullable) {
            if (!is_top) {
                return fc_encode_fail(encoder, "Missing value for non-nullable row field '%U'",
                                      row->names[i]);
            }
            /* An unknown key says more than the column it was meant for. */
            if (PyDict_Size(value) > found && refuse_unknown_key(encoder, row, value, what) != 0 &&
                PyErr_Occurred()) {
                return -1;
            }
            fc_refuse(encoder->state, "Missing value for non-nullable field '%U'", row->names[i]);
            return -1;
        }
    }
    if (found != PyDict_Size(value)) {
        if (refuse_unknown_key(encoder, row, value, what) != 0 && !PyErr_Occurred()) {
            fc_refuse(encoder->state, "%s changed while it was read", what);
        }
        return -1;
    }
    return 0;
}

/* Whether a value is a table or frame, whose items are columns; a column of one is none. */
static bool is_frame(PyObject *value)
{
    PyObject *type = (PyObject *)Py_TYPE(value);
    return PyObject_HasAttrString(type, "columns") &&
           (PyObject_HasAttrString(type, "__arrow_c_stream__") ||
            PyObject_HasAttrString(type, "__arrow_c_array__") ||
            PyObject_HasAttrString(type, "__dataframe__"));
}

/* Returns -1. */
static int refuse_row(const fc_encoder *encoder, PyObject *value, const char *what)
{
    PyObject *name = fc_type_name_of(value);
    if (name != NULL) {
        const char *advice = is_frame(value) ? ", which may hold many rows: give it to "
                                               "write_arrow(), delete_arrow() or lookup_many()"
                                             : "";
        fc_refuse(encoder->state, "%s must be a dict, list, or tuple; got %U%s", what, name,
                  advice);
        Py_DECREF(name);
    }
    return -1;
}

static int encode_sequence_row(fc_encoder *encoder, const fc_type *row, PyObject *value,
                               const char *what, fluss_datum_t *out)
{
    PyObject *items = fc_items_of(value);
    if (items == NULL) {
        const bool is_misfit = fc_is_misfit();
        if (is_misfit) {
            PyErr_Clear();
        }
        return is_misfit ? refuse_row(encoder, value, what) : -1;
    }
    int rc = 0;
    if (PyTuple_Size(items) != (Py_ssize_t)row->count) {
        fc_refuse(encoder->state, "%s: Expected %zu elements, got %zd", what, row->count,
                  PyTuple_Size(items));
        rc = -1;
    }
    for (size_t i = 0; rc == 0 && i < row->count; i++) {
        encoder->field = row->names[i];
        rc = fc_encode_value(encoder, &row->children[i], PyTuple_GetItem(items, (Py_ssize_t)i),
                             &out[i]);
    }
    if (rc == 0) {
        rc = fc_encoder_keep(encoder, items);
    }
    Py_DECREF(items);
    return rc;
}

/* Mappings, dataclasses, named tuples, and sequences that are no list or tuple. */
static int encode_other_row(fc_encoder *encoder, const fc_type *row, PyObject *value,
                            const char *what, fluss_datum_t *out)
{
    const bool is_text = PyUnicode_Check(value) || PyBytes_Check(value) || PyByteArray_Check(value);
    if (is_text || is_frame(value)) {
        return refuse_row(encoder, value, what);
    }
    if (PyObject_HasAttrString(value, "keys")) {
        PyObject *dict = PyDict_New();
        int rc = dict == NULL ? -1 : PyDict_Update(dict, value);
        if (rc == 0) {
            rc = fc_encoder_keep(encoder, dict);
        }
        if (rc == 0) {
            rc = fc_encode_mapping(encoder, row, dict, what, out);
        }
        Py_XDECREF(dict);
        return rc;
    }
    bool is_named = false;
    const int rc = fc_encode_named(encoder, row, value, what, out, &is_named);
    if (is_named || rc != 0) {
        return rc;
    }
    return PySequence_Check(value) ? encode_sequence_row(encoder, row, value, what, out)
                                   : refuse_row(encoder, value, what);
}

fluss_datum_t *fc_encode_row(fc_encoder *encoder, const fc_codec *codec, PyObject *row,
                             const char *what)
{
    fluss_datum_t *datums = fc_encoder_datums(encoder, codec->row.count);
    if (datums == NULL) {
        return NULL;
    }
    int rc;
    if (PyDict_Check(row)) {
        rc = fc_encode_mapping(encoder, &codec->row, row, what, datums);
    } else if (PyList_Check(row) || PyTuple_CheckExact(row)) {
        rc = encode_sequence_row(encoder, &codec->row, row, what, datums);
    } else {
        rc = encode_other_row(encoder, &codec->row, row, what, datums);
    }
    return rc == 0 ? datums : NULL;
}
