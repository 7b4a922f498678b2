/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations, schemas, table descriptors and table information. */
#include "core.h"

/* ---- configuration ---- */

/** new_config([(key, value)]) */
static PyObject *new_config(PyObject *module, PyObject *settings)
{
    fc_pairs pairs;
    if (fc_pairs_init(&pairs, settings) != 0) {
        return NULL;
    }
    fluss_config_t *config = fluss_config_new();
    fluss_error_t err;
    fluss_code_t rc = 0;
    for (size_t i = 0; config != NULL && rc == 0 && i < pairs.count; i++) {
        rc = fluss_config_set(config, pairs.items[i].key, pairs.items[i].value, &err);
    }
    fc_pairs_deinit(&pairs);
    if (rc != 0) {
        fluss_config_free(config);
        return fc_raise(fc_state_of(module), &err);
    }
    return fc_wrap(FC_CONFIG, config);
}

/** config_get(config, key) -> text or None */
static PyObject *config_get(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    const char *key;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &key)) {
        return NULL;
    }
    fluss_config_t *config = fc_unwrap(capsule, FC_CONFIG);
    const char *value = config == NULL ? NULL : fluss_config_get(config, key);
    if (config == NULL) {
        return NULL;
    }
    return value == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(value);
}

/** config_keys() -> [text] */
static PyObject *config_keys(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && fluss_config_key(i) != NULL; i++) {
        PyObject *key = PyUnicode_FromString(fluss_config_key(i));
        if (key == NULL || PyList_Append(list, key) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(key);
    }
    return list;
}

/* ---- schemas ---- */

static fluss_code_t add_columns(fluss_schema_t *schema, PyObject *columns, fluss_error_t *err)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(columns); i++) {
        const char *name, *type, *comment;
        if (!PyArg_ParseTuple(PyTuple_GetItem(columns, i), "ssz", &name, &type, &comment)) {
            return -1;
        }
        const fluss_code_t rc = fluss_schema_add(schema, name, type, comment, err);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

/** new_schema(((name, type, comment or None), …), keys or None, auto-increment column or None) */
static PyObject *new_schema(PyObject *module, PyObject *args)
{
    PyObject *columns, *keys;
    const char *auto_increment;
    fc_texts names;
    if (!PyArg_ParseTuple(args, "O!Oz", &PyTuple_Type, &columns, &keys, &auto_increment) ||
        fc_texts_init(&names, keys) != 0) {
        return NULL;
    }
    fluss_schema_t *schema = fluss_schema_new();
    fluss_error_t err;
    fluss_code_t rc = schema == NULL ? 0 : add_columns(schema, columns, &err);
    if (rc == 0 && schema != NULL && names.keep != NULL) {
        rc = fluss_schema_primary_key(schema, names.items, names.count, &err);
    }
    if (rc == 0 && schema != NULL && auto_increment != NULL) {
        rc = fluss_schema_auto_increment(schema, auto_increment, &err);
    }
    fc_texts_deinit(&names);
    if (rc != 0) {
        fluss_schema_free(schema);
        return PyErr_Occurred() ? NULL : fc_raise(fc_state_of(module), &err);
    }
    return fc_wrap(FC_SCHEMA, schema);
}

/** schema_from_arrow(capsule) */
static PyObject *schema_from_arrow(PyObject *module, PyObject *capsule)
{
    const struct ArrowSchema *arrow = fc_arrow_schema_in(capsule);
    if (arrow == NULL) {
        return NULL;
    }
    fluss_schema_t *schema;
    fluss_error_t err;
    return fluss_schema_from_arrow(arrow, &schema, &err) == 0 ? fc_wrap(FC_SCHEMA, schema)
                                                              : fc_raise(fc_state_of(module), &err);
}

/** schema_to_arrow(schema) -> capsule */
static PyObject *schema_to_arrow(PyObject *module, PyObject *capsule)
{
    const fluss_schema_t *schema = fc_unwrap(capsule, FC_SCHEMA);
    if (schema == NULL) {
        return NULL;
    }
    struct ArrowSchema arrow;
    fluss_error_t err;
    return fluss_schema_to_arrow(schema, &arrow, &err) == 0 ? fc_arrow_schema_capsule(&arrow)
                                                            : fc_raise(fc_state_of(module), &err);
}

static PyObject *describe_columns(const fluss_schema_t *schema)
{
    const size_t count = fluss_schema_columns(schema);
    PyObject *columns = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; columns != NULL && i < count; i++) {
        const char *name = "", *type = "", *comment = NULL;
        PyObject *column = NULL;
        if (fluss_schema_column(schema, i, &name, &type, &comment) == 0) {
            column = Py_BuildValue("ssz", name, type, comment);
        }
        if (column == NULL || PyList_SetItem(columns, (Py_ssize_t)i, column) != 0) {
            Py_CLEAR(columns);
        }
    }
    return columns;
}

static PyObject *describe_keys(const fluss_schema_t *schema)
{
    PyObject *keys = PyList_New(0);
    for (size_t i = 0; keys != NULL && fluss_schema_key(schema, i) != NULL; i++) {
        PyObject *key = PyUnicode_FromString(fluss_schema_key(schema, i));
        if (key == NULL || PyList_Append(keys, key) != 0) {
            Py_CLEAR(keys);
        }
        Py_XDECREF(key);
    }
    return keys;
}

/* ([(name, type, comment)], [key], auto-increment column or None) */
static PyObject *schema_parts(const fluss_schema_t *schema)
{
    PyObject *columns = describe_columns(schema);
    PyObject *keys = columns == NULL ? NULL : describe_keys(schema);
    if (keys == NULL) {
        Py_XDECREF(columns);
        return NULL;
    }
    return Py_BuildValue("NNz", columns, keys, fluss_schema_auto_increment_column(schema));
}

static PyObject *describe_schema(PyObject *module, PyObject *capsule)
{
    (void)module;
    const fluss_schema_t *schema = fc_unwrap(capsule, FC_SCHEMA);
    return schema == NULL ? NULL : schema_parts(schema);
}

/* ---- descriptors ---- */

typedef struct desc_parts {
    fc_texts partition_keys, bucket_keys;
    fc_pairs properties, custom;
} desc_parts;

static void desc_parts_deinit(desc_parts *parts)
{
    fc_texts_deinit(&parts->partition_keys);
    fc_texts_deinit(&parts->bucket_keys);
    fc_pairs_deinit(&parts->properties);
    fc_pairs_deinit(&parts->custom);
}

/** new_descriptor(schema, partition keys, bucket keys, buckets, comment, log format, kv format,
 * properties, custom properties); None where there are none */
static PyObject *new_descriptor(PyObject *module, PyObject *args)
{
    const fluss_schema_t *schema;
    PyObject *partition_keys, *bucket_keys, *properties, *custom;
    int buckets;
    const char *comment, *log_format, *kv_format;
    desc_parts parts = {0};
    if (!PyArg_ParseTuple(args, "O&OOizzzOO", fc_to_schema, &schema, &partition_keys, &bucket_keys,
                          &buckets, &comment, &log_format, &kv_format, &properties, &custom)) {
        return NULL;
    }
    fluss_desc_t *desc = NULL;
    fluss_error_t err;
    fluss_code_t rc = 0;
    if (fc_texts_init(&parts.partition_keys, partition_keys) == 0 &&
        fc_texts_init(&parts.bucket_keys, bucket_keys) == 0 &&
        fc_pairs_init(&parts.properties, properties) == 0 &&
        fc_pairs_init(&parts.custom, custom) == 0) {
        const fluss_desc_opts_t opts = {
            .size = sizeof(opts),
            .partition_keys = parts.partition_keys.items,
            .n_partition_keys = parts.partition_keys.count,
            .bucket_keys = parts.bucket_keys.items,
            .n_bucket_keys = parts.bucket_keys.count,
            .buckets = buckets,
            .comment = comment,
            .log_format = log_format,
            .kv_format = kv_format,
            .properties = parts.properties.items,
            .n_properties = parts.properties.count,
            .custom = parts.custom.items,
            .n_custom = parts.custom.count,
        };
        rc = fluss_desc_new(schema, &opts, &desc, &err);
    }
    desc_parts_deinit(&parts);
    if (rc != 0) {
        return fc_raise(fc_state_of(module), &err);
    }
    return PyErr_Occurred() ? NULL : fc_wrap(FC_DESC, desc);
}

/* ---- tables ---- */

static PyObject *texts_to_list(const char *const *texts, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *text = PyUnicode_FromString(texts[i]);
        if (text == NULL || PyList_SetItem(list, (Py_ssize_t)i, text) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *pairs_to_dict(const fluss_kv_t *pairs, size_t count)
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < count; i++) {
        PyObject *value = PyUnicode_FromString(pairs[i].value);
        if (value == NULL || PyDict_SetItemString(dict, pairs[i].key, value) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(value);
    }
    return dict;
}

/** describe_table(table) -> dict */
static PyObject *describe_table(PyObject *module, PyObject *capsule)
{
    (void)module;
    fluss_table_t *table = fc_unwrap(capsule, FC_TABLE);
    if (table == NULL) {
        return NULL;
    }
    const fluss_table_info_t *info = fluss_table_info(table);
    return Py_BuildValue("{sssssLsLsLsisisNszsNsNsNsNsN}", "database", info->path.database, "table",
                         info->path.table, "table_id", (long long)info->table_id, "created_ms",
                         (long long)info->created_ms, "modified_ms", (long long)info->modified_ms,
                         "schema_id", (int)info->schema_id, "buckets", (int)info->buckets, "schema",
                         schema_parts(info->schema), "comment", info->comment, "primary_keys",
                         texts_to_list(info->primary_keys, info->n_primary_keys), "bucket_keys",
                         texts_to_list(info->bucket_keys, info->n_bucket_keys), "partition_keys",
                         texts_to_list(info->partition_keys, info->n_partition_keys), "properties",
                         pairs_to_dict(info->properties, info->n_properties), "custom",
                         pairs_to_dict(info->custom, info->n_custom));
}

/** table_to_arrow(table) -> capsule of its schema */
static PyObject *table_to_arrow(PyObject *module, PyObject *capsule)
{
    fluss_table_t *table = fc_unwrap(capsule, FC_TABLE);
    if (table == NULL) {
        return NULL;
    }
    struct ArrowSchema arrow;
    fluss_error_t err;
    return fluss_schema_to_arrow(fluss_table_info(table)->schema, &arrow, &err) == 0
               ? fc_arrow_schema_capsule(&arrow)
               : fc_raise(fc_state_of(module), &err);
}

PyMethodDef fc_schema_methods[] = {
    {"new_config", new_config, METH_O, NULL},
    {"config_get", config_get, METH_VARARGS, NULL},
    {"config_keys", config_keys, METH_NOARGS, NULL},
    {"new_schema", new_schema, METH_VARARGS, NULL},
    {"schema_from_arrow", schema_from_arrow, METH_O, NULL},
    {"schema_to_arrow", schema_to_arrow, METH_O, NULL},
    {"describe_schema", describe_schema, METH_O, NULL},
    {"new_descriptor", new_descriptor, METH_VARARGS, NULL},
    {"describe_table", describe_table, METH_O, NULL},
    {"table_to_arrow", table_to_arrow, METH_O, NULL},
    {0},
};
