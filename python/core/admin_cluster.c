/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of snapshots, leases, the cluster, access rights and rebalancing. */
#include "core.h"

static PyObject *start(PyObject *module, fluss_future_t *future, fc_result_kind kind,
                       PyObject *convert)
{
    return fc_future_new(fc_state_of(module), future, kind, NULL, convert);
}

int32_t *fc_numbers(PyObject *sequence, size_t *count)
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

/* ---- snapshots ---- */

/** kv_snapshots(conn, path, partition or None, snapshot_id, bucket, convert) */
static PyObject *kv_snapshots(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    fluss_path_t path;
    const char *partition;
    long long snapshot_id;
    int bucket;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&(ss)zLiO", fc_to_conn, &conn, &path.database, &path.table,
                          &partition, &snapshot_id, &bucket, &convert)) {
        return NULL;
    }
    return start(module, fluss_kv_snapshots(conn, path, partition, snapshot_id, bucket),
                 FC_RESULT_RESULT, convert);
}

/** lease_snapshots(conn, lease, duration_ms, [(table_id, partition_id, bucket, id)], convert) */
static PyObject *lease_snapshots(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    const char *lease;
    long long duration_ms;
    PyObject *sequence, *convert;
    size_t count;
    if (!PyArg_ParseTuple(args, "O&sLOO", fc_to_conn, &conn, &lease, &duration_ms, &sequence,
                          &convert)) {
        return NULL;
    }
    fluss_position_t *snapshots = fc_positions(sequence, &count);
    if (snapshots == NULL) {
        return NULL;
    }
    fluss_future_t *future = fluss_lease_snapshots(conn, lease, duration_ms, snapshots, count);
    PyMem_Free(snapshots);
    return start(module, future, FC_RESULT_RESULT, convert);
}

/** release_snapshots(conn, lease, [(table_id, partition_id, bucket, ignored)] or None) */
static PyObject *release_snapshots(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    const char *lease;
    PyObject *sequence;
    size_t count = 0;
    if (!PyArg_ParseTuple(args, "O&sO", fc_to_conn, &conn, &lease, &sequence)) {
        return NULL;
    }
    fluss_bucket_t *buckets = NULL;
    if (sequence != Py_None) {
        fluss_position_t *positions = fc_positions(sequence, &count);
        buckets = positions == NULL ? NULL : PyMem_Calloc(count + 1, sizeof(*buckets));
        for (size_t i = 0; buckets != NULL && i < count; i++) {
            buckets[i] = positions[i].bucket;
        }
        PyMem_Free(positions);
        if (buckets == NULL) {
            return PyErr_Occurred() ? NULL : PyErr_NoMemory();
        }
    }
    fluss_future_t *future = fluss_release_snapshots(conn, lease, buckets, count);
    PyMem_Free(buckets);
    return start(module, future, FC_RESULT_VOID, NULL);
}

/** remote_log_manifests(conn, table_id, partition_id, convert) */
static PyObject *remote_log_manifests(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    long long table_id, partition_id;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&LLO", fc_to_conn, &conn, &table_id, &partition_id, &convert)) {
        return NULL;
    }
    return start(module, fluss_remote_log_manifests(conn, table_id, partition_id), FC_RESULT_RESULT,
                 convert);
}

/** list_kv_snapshots(conn, table_id, partition_id, convert) */
static PyObject *list_kv_snapshots(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    long long table_id, partition_id;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&LLO", fc_to_conn, &conn, &table_id, &partition_id, &convert)) {
        return NULL;
    }
    return start(module, fluss_list_kv_snapshots(conn, table_id, partition_id), FC_RESULT_RESULT,
                 convert);
}

/* ---- cluster ---- */

typedef fluss_future_t *(*plain_fn)(fluss_conn_t *conn);

static PyObject *plain(PyObject *module, PyObject *args, plain_fn call)
{
    fluss_conn_t *conn;
    PyObject *convert;
    if (!PyArg_ParseTuple(args, "O&O", fc_to_conn, &conn, &convert)) {
        return NULL;
    }
    return start(module, call(conn), FC_RESULT_RESULT, convert);
}

static PyObject *server_nodes(PyObject *module, PyObject *args)
{
    return plain(module, args, fluss_server_nodes);
}

static PyObject *cluster_health(PyObject *module, PyObject *args)
{
    return plain(module, args, fluss_cluster_health);
}

static PyObject *cluster_configs(PyObject *module, PyObject *args)
{
    return plain(module, args, fluss_cluster_configs);
}

static PyObject *file_system_token(PyObject *module, PyObject *args)
{
    return plain(module, args, fluss_file_system_token);
}

/** alter_cluster_configs(conn, [(key, value or None)]) */
static PyObject *alter_cluster_configs(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    PyObject *changes;
    fc_pairs pairs;
    if (!PyArg_ParseTuple(args, "O&O", fc_to_conn, &conn, &changes) ||
        fc_pairs_init(&pairs, changes) != 0) {
        return NULL;
    }
    fluss_future_t *future = fluss_alter_cluster_configs(conn, pairs.items, pairs.count);
    fc_pairs_deinit(&pairs);
    return start(module, future, FC_RESULT_VOID, NULL);
}

/* ---- access rights ---- */

static fluss_acl_t *acls_of(PyObject *list, size_t *count)
{
    *count = (size_t)PyTuple_Size(list);
    fluss_acl_t *acls = PyMem_Calloc(*count + 1, sizeof(*acls));
    if (acls == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < *count; i++) {
        fluss_acl_t *acl = &acls[i];
        if (!PyArg_ParseTuple(PyTuple_GetItem(list, (Py_ssize_t)i), "zzzzzzz", &acl->resource_type,
                              &acl->resource, &acl->principal_type, &acl->principal, &acl->host,
                              &acl->operation, &acl->permission)) {
            PyMem_Free(acls);
            return NULL;
        }
    }
    return acls;
}

typedef fluss_future_t *(*acls_fn)(fluss_conn_t *conn, const fluss_acl_t *acls, size_t n);

static PyObject *with_acls(PyObject *module, PyObject *args, acls_fn call)
{
    fluss_conn_t *conn;
    PyObject *list, *convert;
    size_t count;
    if (!PyArg_ParseTuple(args, "O&O!O", fc_to_conn, &conn, &PyTuple_Type, &list, &convert)) {
        return NULL;
    }
    fluss_acl_t *acls = acls_of(list, &count);
    if (acls == NULL) {
        return NULL;
    }
    fluss_future_t *future = call(conn, acls, count);
    PyMem_Free(acls);
    return start(module, future, FC_RESULT_RESULT, convert);
}

static fluss_future_t *list_with(fluss_conn_t *conn, const fluss_acl_t *acls, size_t n)
{
    return fluss_list_acls(conn, n == 0 ? NULL : acls);
}

static PyObject *create_acls(PyObject *module, PyObject *args)
{
    return with_acls(module, args, fluss_create_acls);
}

static PyObject *list_acls(PyObject *module, PyObject *args)
{
    return with_acls(module, args, list_with);
}

static PyObject *drop_acls(PyObject *module, PyObject *args)
{
    return with_acls(module, args, fluss_drop_acls);
}

/* ---- servers ---- */

typedef fluss_future_t *(*tag_fn)(fluss_conn_t *conn, const int32_t *servers, size_t n,
                                  int32_t tag);

static PyObject *change_tag(PyObject *module, PyObject *args, tag_fn call)
{
    fluss_conn_t *conn;
    PyObject *sequence;
    int tag;
    size_t count;
    if (!PyArg_ParseTuple(args, "O&Oi", fc_to_conn, &conn, &sequence, &tag)) {
        return NULL;
    }
    int32_t *servers = fc_numbers(sequence, &count);
    if (servers == NULL) {
        return NULL;
    }
    fluss_future_t *future = call(conn, servers, count, tag);
    PyMem_Free(servers);
    return start(module, future, FC_RESULT_VOID, NULL);
}

static PyObject *add_server_tag(PyObject *module, PyObject *args)
{
    return change_tag(module, args, fluss_add_server_tag);
}

static PyObject *remove_server_tag(PyObject *module, PyObject *args)
{
    return change_tag(module, args, fluss_remove_server_tag);
}

/** rebalance(conn, goals, convert) */
static PyObject *rebalance(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    PyObject *sequence, *convert;
    size_t count;
    if (!PyArg_ParseTuple(args, "O&OO", fc_to_conn, &conn, &sequence, &convert)) {
        return NULL;
    }
    int32_t *goals = fc_numbers(sequence, &count);
    if (goals == NULL) {
        return NULL;
    }
    fluss_future_t *future = fluss_rebalance(conn, goals, count);
    PyMem_Free(goals);
    return start(module, future, FC_RESULT_RESULT, convert);
}

/** set_producer_offsets(conn, id, [(table_id, partition_id, bucket, offset)]) */
static PyObject *set_producer_offsets(PyObject *module, PyObject *args)
{
    fluss_conn_t *conn;
    const char *id;
    PyObject *sequence;
    size_t count;
    if (!PyArg_ParseTuple(args, "O&sO", fc_to_conn, &conn, &id, &sequence)) {
        return NULL;
    }
    fluss_position_t *positions = fc_positions(sequence, &count);
    if (positions == NULL) {
        return NULL;
    }
    fluss_future_t *future = fluss_set_producer_offsets(conn, id, positions, count);
    PyMem_Free(positions);
    return start(module, future, FC_RESULT_VOID, NULL);
}

PyMethodDef fc_admin_more_methods[] = {
    {"kv_snapshots", kv_snapshots, METH_VARARGS, NULL},
    {"lease_snapshots", lease_snapshots, METH_VARARGS, NULL},
    {"release_snapshots", release_snapshots, METH_VARARGS, NULL},
    {"remote_log_manifests", remote_log_manifests, METH_VARARGS, NULL},
    {"list_kv_snapshots", list_kv_snapshots, METH_VARARGS, NULL},
    {"file_system_token", file_system_token, METH_VARARGS, NULL},
    {"server_nodes", server_nodes, METH_VARARGS, NULL},
    {"cluster_health", cluster_health, METH_VARARGS, NULL},
    {"cluster_configs", cluster_configs, METH_VARARGS, NULL},
    {"alter_cluster_configs", alter_cluster_configs, METH_VARARGS, NULL},
    {"create_acls", create_acls, METH_VARARGS, NULL},
    {"list_acls", list_acls, METH_VARARGS, NULL},
    {"drop_acls", drop_acls, METH_VARARGS, NULL},
    {"add_server_tag", add_server_tag, METH_VARARGS, NULL},
    {"remove_server_tag", remove_server_tag, METH_VARARGS, NULL},
    {"rebalance", rebalance, METH_VARARGS, NULL},
    {"set_producer_offsets", set_producer_offsets, METH_VARARGS, NULL},
    {0},
};
