/* SPDX-License-Identifier: Apache-2.0 */
/* The administrative calls of admin_calls.def. Each has a shape, a letter for each argument after
 * the connection; the arguments are read into one struct, the call is started, its future returned.
 *   s text                              n numbers of 32 bits
 *   z text or None                      o positions: (table id, partition id, bucket, offset)
 *   p (database, table)                 b the buckets of positions; None: no array
 *   k pairs of texts, or None           a tuple of access rights, each of seven texts or None
 *   i number of 32 bits, l of 64        f flags
 *   r what makes of the result what Python's caller gets
 * What is allocated for arguments lasts until the call has started, which copies it. */
#include "core.h"

enum { TEXTS_MAX = 2, NUMBERS_MAX = 2 };

typedef struct call {
    fluss_conn_t *conn;
    fluss_path_t path;
    const char *texts[TEXTS_MAX];
    long long numbers[NUMBERS_MAX];
    int text_count, number_count;
    fc_pairs pairs;
    void *array; /* PyMem */
    size_t count;
    unsigned flags;
    PyObject *convert;
} call;

static int32_t *numbers_of(PyObject *sequence, size_t *count)
{
    PyObject *items = PySequence_Tuple(sequence);
    if (items == NULL) {
        return NULL;
    }
    const Py_ssize_t length = PyTuple_Size(items);
    int32_t *numbers = PyMem_Calloc((size_t)length + 1, sizeof(*numbers));
    if (numbers == NULL) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; numbers != NULL && i < length; i++) {
        const long number = PyLong_AsLong(PyTuple_GetItem(items, i));
        if (!PyErr_Occurred() && (number < INT32_MIN || number > INT32_MAX)) {
            PyErr_SetString(PyExc_OverflowError, "number does not fit 32 bits");
        }
        if (PyErr_Occurred()) {
            PyMem_Free(numbers);
            numbers = NULL;
            break;
        }
        numbers[i] = (int32_t)number;
    }
    Py_DECREF(items);
    *count = (size_t)length;
    return numbers;
}

static fluss_bucket_t *buckets_of(PyObject *sequence, size_t *count)
{
    fluss_position_t *positions = fc_positions(sequence, count);
    if (positions == NULL) {
        return NULL;
    }
    fluss_bucket_t *buckets = PyMem_Calloc(*count + 1, sizeof(*buckets));
    if (buckets == NULL) {
        PyErr_NoMemory();
    }
    for (size_t i = 0; buckets != NULL && i < *count; i++) {
        buckets[i] = positions[i].bucket;
    }
    PyMem_Free(positions);
    return buckets;
}

static fluss_acl_t *acls_of(PyObject *list, size_t *count)
{
    const Py_ssize_t length = PyTuple_Size(list);
    if (length < 0) {
        return NULL;
    }
    fluss_acl_t *acls = PyMem_Calloc((size_t)length + 1, sizeof(*acls));
    if (acls == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        fluss_acl_t *acl = &acls[i];
        if (!PyArg_ParseTuple(PyTuple_GetItem(list, i), "zzzzzzz", &acl->resource_type,
                              &acl->resource, &acl->principal_type, &acl->principal, &acl->host,
                              &acl->operation, &acl->permission)) {
            PyMem_Free(acls);
            return NULL;
        }
    }
    *count = (size_t)length;
    return acls;
}

/* One argument, by its letter; false with an exception. */
static bool read_argument(call *c, char letter, PyObject *value)
{
    int number;
    switch (letter) {
    case 's':
        return PyArg_Parse(value, "s", &c->texts[c->text_count++]);
    case 'z':
        return PyArg_Parse(value, "z", &c->texts[c->text_count++]);
    case 'p':
        return PyArg_Parse(value, "(ss)", &c->path.database, &c->path.table);
    case 'i':
        if (!PyArg_Parse(value, "i", &number)) {
            return false;
        }
        c->numbers[c->number_count++] = number;
        return true;
    case 'l':
        return PyArg_Parse(value, "L", &c->numbers[c->number_count++]);
    case 'f':
        return PyArg_Parse(value, "I", &c->flags);
    case 'k':
        return fc_pairs_init(&c->pairs, value) == 0;
    case 'n':
        return (c->array = numbers_of(value, &c->count)) != NULL;
    case 'o':
        return (c->array = fc_positions(value, &c->count)) != NULL;
    case 'b':
        return value == Py_None || (c->array = buckets_of(value, &c->count)) != NULL;
    case 'a':
        return (c->array = acls_of(value, &c->count)) != NULL;
    default: /* r */
        c->convert = value;
        return true;
    }
}

static void call_deinit(call *c)
{
    fc_pairs_deinit(&c->pairs);
    PyMem_Free(c->array);
}

/* Read (connection, arguments of the shape ...); false with an exception, and nothing to end. */
static bool call_init(call *c, const char *name, const char *shape, PyObject *args)
{
    *c = (call){0};
    const Py_ssize_t count = (Py_ssize_t)strlen(shape);
    if (PyTuple_Size(args) != count + 1) {
        PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", name, count + 1,
                     PyTuple_Size(args));
        return false;
    }
    bool is_good = fc_to_conn(PyTuple_GetItem(args, 0), &c->conn) != 0;
    for (Py_ssize_t i = 0; is_good && i < count; i++) {
        is_good = read_argument(c, shape[i], PyTuple_GetItem(args, i + 1));
    }
    if (!is_good) {
        call_deinit(c);
    }
    return is_good;
}

#define FC_CALL(name, shape, kind, ...)                                                       \
    static PyObject *name(PyObject *module, PyObject *args)                                   \
    {                                                                                         \
        call c;                                                                               \
        if (!call_init(&c, #name, shape, args)) {                                             \
            return NULL;                                                                      \
        }                                                                                     \
        fluss_future_t *future = fluss_##name(c.conn, ##__VA_ARGS__);                         \
        call_deinit(&c);                                                                      \
        return fc_future_new(fc_state_of(module), future, FC_RESULT_##kind, NULL, c.convert); \
    }
#include "admin_calls.def"
#undef FC_CALL

PyMethodDef fc_admin_call_methods[] = {
#define FC_CALL(name, ...) {#name, name, METH_VARARGS, NULL},
#include "admin_calls.def"
#undef FC_CALL
    {0},
};
