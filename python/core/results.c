/* SPDX-License-Identifier: Apache-2.0 */
/* Results of C futures as Python objects. */
#include "core.h"

static PyObject *result_row(const fluss_result_t *result, size_t row, size_t columns)
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < columns; i++) {
        const char *name = fluss_result_column(result, i);
        const char *text = fluss_result_str(result, row, name);
        PyObject *value = text == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(text);
        if (value == NULL || PyDict_SetItemString(dict, name, value) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(value);
    }
    return dict;
}

PyObject *fc_result_to_list(fluss_result_t *result)
{
    const size_t rows = fluss_result_rows(result), columns = fluss_result_columns(result);
    PyObject *list = PyList_New((Py_ssize_t)rows);
    for (size_t i = 0; list != NULL && i < rows; i++) {
        PyObject *row = result_row(result, i, columns);
        if (row == NULL || PyList_SetItem(list, (Py_ssize_t)i, row) != 0) {
            Py_CLEAR(list);
        }
    }
    fluss_result_free(result);
    return list;
}

static PyObject *take_number(const fc_state *state, fluss_future_t *pending)
{
    fluss_error_t err;
    int64_t number;
    return fluss_await_i64(pending, 0, &number, &err) == 0 ? PyLong_FromLongLong(number)
                                                           : fc_raise(state, &err);
}

static PyObject *take_ack(const fc_state *state, fluss_future_t *pending)
{
    fluss_error_t err;
    fluss_ack_t ack;
    if (fluss_await_ack(pending, 0, &ack, &err) != 0) {
        return fc_raise(state, &err);
    }
    PyObject *bucket = fc_bucket(state, &ack.bucket);
    if (bucket == NULL) {
        return NULL;
    }
    return Py_BuildValue("NL", bucket, (long long)ack.log_end_offset);
}

static PyObject *take_schema(const fc_state *state, fluss_future_t *pending)
{
    fluss_error_t err;
    fluss_schema_t *schema;
    int32_t schema_id;
    if (fluss_await_schema(pending, 0, &schema, &schema_id, &err) != 0) {
        return fc_raise(state, &err);
    }
    PyObject *capsule = fc_wrap(FC_SCHEMA, schema);
    return capsule == NULL ? NULL : Py_BuildValue("Ni", capsule, (int)schema_id);
}

static PyObject *take_handle(const fc_state *state, fluss_future_t *pending, fc_result_kind kind)
{
    fluss_error_t err;
    if (kind == FC_RESULT_CONN) {
        fluss_conn_t *conn;
        return fluss_await_conn(pending, 0, &conn, &err) == 0 ? fc_wrap(FC_CONNECTION, conn)
                                                              : fc_raise(state, &err);
    }
    fluss_table_t *table;
    return fluss_await_table(pending, 0, &table, &err) == 0 ? fc_wrap(FC_TABLE, table)
                                                            : fc_raise(state, &err);
}

static PyObject *take_records(fc_future *self, fluss_future_t *pending)
{
    fluss_error_t err;
    fluss_records_t *records;
    if (fluss_await_records(pending, 0, &records, &err) != 0) {
        return fc_raise(self->state, &err);
    }
    if (self->kind == FC_RESULT_CHANGES) {
        return fc_changes(self->state, records);
    }
    return self->kind == FC_RESULT_RECORDS ? fc_records_to_list((fc_codec *)self->context, records)
                                           : fc_lookup_rows(self, records);
}

PyObject *fc_take(fc_future *self)
{
    fluss_future_t *pending = self->pending;
    self->pending = NULL;
    fluss_error_t err;
    switch (self->kind) {
    case FC_RESULT_VOID:
        if (fluss_await(pending, 0, &err) != 0) {
            return fc_raise(self->state, &err);
        }
        return Py_NewRef(Py_None);
    case FC_RESULT_I64:
        return take_number(self->state, pending);
    case FC_RESULT_CONN:
    case FC_RESULT_TABLE:
        return take_handle(self->state, pending, self->kind);
    case FC_RESULT_SCHEMA:
        return take_schema(self->state, pending);
    case FC_RESULT_RESULT: {
        fluss_result_t *result;
        return fluss_await_result(pending, 0, &result, &err) == 0 ? fc_result_to_list(result)
                                                                  : fc_raise(self->state, &err);
    }
    case FC_RESULT_BATCHES: {
        fluss_batches_t *batches;
        return fluss_await_batches(pending, 0, &batches, &err) == 0
                   ? fc_batches_to_list(self->state, batches)
                   : fc_raise(self->state, &err);
    }
    case FC_RESULT_ACK:
        return take_ack(self->state, pending);
    default:
        return take_records(self, pending);
    }
}
