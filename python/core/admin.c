/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and the administration of databases, tables, partitions and offsets. Each function
 * starts a call and returns its future; the last argument, where there is one, converts the result:
 * a list of dicts of texts, a number, or None. */
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

/** open_table(conn, (database, table), convert) */
static PyObject *open_table(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&(ss)O", fc_to_conn, &conn, &path.database, &path.table,
                          &convert)) {
        return NULL;
    }
    return start(module, fluss_open_table(conn, path), FC_RESULT_TABLE, convert);
}

/* ---- databases ---- */

/** create_database(conn, name, comment, properties, flags) */
static PyObject *create_database(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    const char *name, *comment;
    PyObject *properties;
    unsigned flags;
    fc_pairs pairs;
    if (!PyArg_ParseTuple(args, "O&szOI", fc_to_conn, &conn, &name, &comment, &properties,
                          &flags) ||
        fc_pairs_init(&pairs, properties) != 0) {
        return NULL;
    }
    fluss_future_t *future =
        fluss_create_database(conn, name, comment, pairs.items, pairs.count, flags);
    fc_pairs_deinit(&pairs);
    return start(module, future, FC_RESULT_VOID, NULL);
}

/** alter_database(conn, name, changes, flags) */
static PyObject *alter_database(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    const char *name;
    PyObject *changes;
    unsigned flags;
    fc_pairs pairs;
    if (!PyArg_ParseTuple(args, "O&sOI", fc_to_conn, &conn, &name, &changes, &flags) ||
        fc_pairs_init(&pairs, changes) != 0) {
        return NULL;
    }
    fluss_future_t *future = fluss_alter_database(conn, name, pairs.items, pairs.count, flags);
    fc_pairs_deinit(&pairs);
    return start(module, future, FC_RESULT_VOID, NULL);
}

/** drop_database(conn, name, flags) */
static PyObject *drop_database(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    const char *name;
    unsigned flags;
    if (!PyArg_ParseTuple(args, "O&sI", fc_to_conn, &conn, &name, &flags)) {
        return NULL;
    }
    return start(module, fluss_drop_database(conn, name, flags), FC_RESULT_VOID, NULL);
}

/** list_databases(conn, convert) */
static PyObject *list_databases(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&O", fc_to_conn, &conn, &convert)) {
        return NULL;
    }
    return start(module, fluss_list_databases(conn), FC_RESULT_RESULT, convert);
}

typedef fluss_future_t *(*by_name_fn)(fluss_conn_t *conn, const char *name);

static PyObject *by_name(PyObject *module, PyObject *args, by_name_fn call, fc_result_kind kind)
{
    fluss_conn_t *conn;
    const char *name;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&zO", fc_to_conn, &conn, &name, &convert)) {
        return NULL;
    }
    return start(module, call(conn, name), kind, convert);
}

static PyObject *describe_database(PyObject *module, PyObject *args)
{
    return by_name(module, args, fluss_describe_database, FC_RESULT_RESULT);
}

static PyObject *database_exists(PyObject *module, PyObject *args)
{
    return by_name(module, args, fluss_database_exists, FC_RESULT_I64);
}

static PyObject *list_tables(PyObject *module, PyObject *args)
{
    return by_name(module, args, fluss_list_tables, FC_RESULT_RESULT);
}

static PyObject *rebalance_progress(PyObject *module, PyObject *args)
{
    return by_name(module, args, fluss_rebalance_progress, FC_RESULT_RESULT);
}

static PyObject *cancel_rebalance(PyObject *module, PyObject *args)
{
    return by_name(module, args, fluss_cancel_rebalance, FC_RESULT_VOID);
}

static PyObject *get_producer_offsets(PyObject *module, PyObject *args)
{
    return by_name(module, args, fluss_get_producer_offsets, FC_RESULT_RESULT);
}

static PyObject *delete_producer_offsets(PyObject *module, PyObject *args)
{
    return by_name(module, args, fluss_delete_producer_offsets, FC_RESULT_VOID);
}

/* ---- tables ---- */

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

/** drop_table(conn, path, flags) */
static PyObject *drop_table(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    unsigned flags;
    if (!PyArg_ParseTuple(args, "O&(ss)I", fc_to_conn, &conn, &path.database, &path.table,
                          &flags)) {
        return NULL;
    }
    return start(module, fluss_drop_table(conn, path, flags), FC_RESULT_VOID, NULL);
}

/** table_exists(conn, path, convert) */
static PyObject *table_exists(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&(ss)O", fc_to_conn, &conn, &path.database, &path.table,
                          &convert)) {
        return NULL;
    }
    return start(module, fluss_table_exists(conn, path), FC_RESULT_I64, convert);
}

/** table_stats(conn, path, convert) */
static PyObject *table_stats(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&(ss)O", fc_to_conn, &conn, &path.database, &path.table,
                          &convert)) {
        return NULL;
    }
    return start(module, fluss_table_stats(conn, path), FC_RESULT_RESULT, convert);
}

/** get_schema(conn, path, schema_id, convert) */
static PyObject *get_schema(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    int schema_id;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&(ss)iO", fc_to_conn, &conn, &path.database, &path.table,
                          &schema_id, &convert)) {
        return NULL;
    }
    return start(module, fluss_get_schema(conn, path, schema_id), FC_RESULT_SCHEMA, convert);
}

/* ---- partitions ---- */

typedef fluss_future_t *(*partition_fn)(fluss_conn_t *conn, fluss_path_t path,
                                        const fluss_kv_t *spec, size_t n, unsigned flags);

static PyObject *change_partition(PyObject *module, PyObject *args, partition_fn call)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    PyObject *spec;
    unsigned flags;
    fc_pairs pairs;
    if (!PyArg_ParseTuple(args, "O&(ss)OI", fc_to_conn, &conn, &path.database, &path.table, &spec,
                          &flags) ||
        fc_pairs_init(&pairs, spec) != 0) {
        return NULL;
    }
    fluss_future_t *future = call(conn, path, pairs.items, pairs.count, flags);
    fc_pairs_deinit(&pairs);
    return start(module, future, FC_RESULT_VOID, NULL);
}

static PyObject *create_partition(PyObject *module, PyObject *args)
{
    return change_partition(module, args, fluss_create_partition);
}

static PyObject *drop_partition(PyObject *module, PyObject *args)
{
    return change_partition(module, args, fluss_drop_partition);
}

/** list_partitions(conn, path, spec or None, convert) */
static PyObject *list_partitions(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    PyObject *spec, *convert;
    fc_pairs pairs;
    if (!PyArg_ParseTuple(args, "O&(ss)OO", fc_to_conn, &conn, &path.database, &path.table, &spec,
                          &convert) ||
        fc_pairs_init(&pairs, spec) != 0) {
        return NULL;
    }
    fluss_future_t *future = fluss_list_partitions(conn, path, pairs.items, pairs.count);
    fc_pairs_deinit(&pairs);
    return start(module, future, FC_RESULT_RESULT, convert);
}

/* ---- offsets ---- */

/** list_offsets(conn, path, partition or None, buckets, spec, convert) */
static PyObject *list_offsets(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    const char *partition;
    PyObject *sequence, *convert;
    long long spec;
    size_t count;
    if (!PyArg_ParseTuple(args, "O&(ss)zOLO", fc_to_conn, &conn, &path.database, &path.table,
                          &partition, &sequence, &spec, &convert)) {
        return NULL;
    }
    int32_t *buckets = fc_numbers(sequence, &count);
    if (buckets == NULL) {
        return NULL;
    }
    fluss_future_t *future = fluss_list_offsets(conn, path, partition, buckets, count, spec);
    PyMem_Free(buckets);
    return start(module, future, FC_RESULT_RESULT, convert);
}

/** lake_snapshot(conn, path, snapshot_id, flags, convert) */
static PyObject *lake_snapshot(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    long long snapshot_id;
    unsigned flags;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&(ss)LIO", fc_to_conn, &conn, &path.database, &path.table,
                          &snapshot_id, &flags, &convert)) {
        return NULL;
    }
    return start(module, fluss_lake_snapshot(conn, path, snapshot_id, flags), FC_RESULT_RESULT,
                 convert);
}

PyMethodDef fc_admin_methods[] = {
    {"connect", connect_to, METH_VARARGS, NULL},
    {"close", close_connection, METH_O, NULL},
    {"metrics", metrics, METH_O, NULL},
    {"open_table", open_table, METH_VARARGS, NULL},
    {"create_database", create_database, METH_VARARGS, NULL},
    {"alter_database", alter_database, METH_VARARGS, NULL},
    {"drop_database", drop_database, METH_VARARGS, NULL},
    {"list_databases", list_databases, METH_VARARGS, NULL},
    {"describe_database", describe_database, METH_VARARGS, NULL},
    {"database_exists", database_exists, METH_VARARGS, NULL},
    {"list_tables", list_tables, METH_VARARGS, NULL},
    {"rebalance_progress", rebalance_progress, METH_VARARGS, NULL},
    {"cancel_rebalance", cancel_rebalance, METH_VARARGS, NULL},
    {"get_producer_offsets", get_producer_offsets, METH_VARARGS, NULL},
    {"delete_producer_offsets", delete_producer_offsets, METH_VARARGS, NULL},
    {"create_table", create_table, METH_VARARGS, NULL},
    {"alter_table", alter_table, METH_VARARGS, NULL},
    {"drop_table", drop_table, METH_VARARGS, NULL},
    {"table_exists", table_exists, METH_VARARGS, NULL},
    {"table_stats", table_stats, METH_VARARGS, NULL},
    {"get_schema", get_schema, METH_VARARGS, NULL},
    {"create_partition", create_partition, METH_VARARGS, NULL},
    {"drop_partition", drop_partition, METH_VARARGS, NULL},
    {"list_partitions", list_partitions, METH_VARARGS, NULL},
    {"list_offsets", list_offsets, METH_VARARGS, NULL},
    {"lake_snapshot", lake_snapshot, METH_VARARGS, NULL},
    {0},
};
