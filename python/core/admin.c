/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, and the administrative calls whose arguments are not plain enough for the table of
 * admin_calls.def. Each function starts a call and returns its future; the last argument, where
 * there is one, converts the result. */
#include "core.h"

static PyObject *start(PyObject *module, fluss_future_t *future, fc_result_kind kind,
                       PyObject *convert)
{
    return fc_future_new(fc_state_of(module), future, kind, NULL, convert);
}

/** connect(config, convert) */
static PyObject *connect_to(PyObject *module, PyObject *args)
{
    PyObject *capsule, *convert;
    if (!PyArg_ParseTuple(args, "OO", &capsule, &convert)) {
        return NULL;
    }
    const fluss_config_t *config = fc_unwrap(capsule, FC_CONFIG);
    if (config == NULL) {
        return NULL;
    }
    fluss_future_t *future;
    Py_BEGIN_ALLOW_THREADS future = fluss_connect(config);
    Py_END_ALLOW_THREADS return start(module, future, FC_RESULT_CONN, convert);
}

static PyObject *close_connection(PyObject *module, PyObject *capsule)
{
    fluss_conn_t *conn = fc_unwrap(capsule, FC_CONNECTION);
    return conn == NULL ? NULL : start(module, fluss_close(conn), FC_RESULT_VOID, NULL);
}

/** is_untold(future): whether its work goes on, or has failed without anybody having been told */
static PyObject *is_untold(PyObject *module, PyObject *object)
{
    if (!PyObject_TypeCheck(object, fc_state_of(module)->future_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a FlussFuture");
        return NULL;
    }
    const fc_future *future = (const fc_future *)object;
    const bool is_open = !fc_future_is_ready(future);
    return PyBool_FromLong(is_open || (future->status == FC_PENDING &&
                                       fluss_future_wait(future->pending, 0, NULL) != 0));
}

/** metrics(conn) -> future of rows, done already */
static PyObject *metrics(PyObject *module, PyObject *capsule)
{
    fc_state *state = fc_state_of(module);
    fluss_conn_t *conn = fc_unwrap(capsule, FC_CONNECTION);
    if (conn == NULL) {
        return NULL;
    }
    fluss_result_t *result;
    fluss_error_t err;
    return fluss_metrics(conn, &result, &err) == 0 ? fc_result_to_list(result)
                                                   : fc_raise(state, &err);
}

/** create_table(conn, (database, table), descriptor, flags) */
static PyObject *create_table(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    PyObject *capsule;
    unsigned flags;
    if (!PyArg_ParseTuple(args, "O&(ss)OI", fc_to_conn, &conn, &path.database, &path.table,
                          &capsule, &flags)) {
        return NULL;
    }
    const fluss_desc_t *desc = fc_unwrap(capsule, FC_DESC);
    return desc == NULL
               ? NULL
               : start(module, fluss_create_table(conn, path, desc, flags), FC_RESULT_VOID, NULL);
}

/** alter_table(conn, path, [(what, name, new_name, type, comment, after, value)], flags) */
static PyObject *alter_table(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    PyObject *list;
    unsigned flags;
    if (!PyArg_ParseTuple(args, "O&(ss)O!I", fc_to_conn, &conn, &path.database, &path.table,
                          &PyTuple_Type, &list, &flags)) {
        return NULL;
    }
    const Py_ssize_t count = PyTuple_Size(list);
    fluss_table_change_t *changes = PyMem_Calloc((size_t)count + 1, sizeof(*changes));
    if (changes == NULL) {
        return PyErr_NoMemory();
    }
    bool is_good = true;
    for (Py_ssize_t i = 0; is_good && i < count; i++) {
        fluss_table_change_t *change = &changes[i];
        int what;
        is_good = PyArg_ParseTuple(PyTuple_GetItem(list, i), "izzzzzz", &what, &change->name,
                                   &change->new_name, &change->type, &change->comment,
                                   &change->after, &change->value) != 0;
        change->what = (fluss_alter_t)what;
    }
    PyObject *future = NULL;
    if (is_good) {
        future = start(module, fluss_alter_table(conn, path, changes, (size_t)count, flags),
                       FC_RESULT_VOID, NULL);
    }
    PyMem_Free(changes);
    return future;
}

PyMethodDef fc_admin_methods[] = {
    {"connect", connect_to, METH_VARARGS, NULL},
    {"close", close_connection, METH_O, NULL},
    {"is_untold", is_untold, METH_O, NULL},
    {"metrics", metrics, METH_O, NULL},
    {"create_table", create_table, METH_VARARGS, NULL},
    {"alter_table", alter_table, METH_VARARGS, NULL},
    {0},
};
