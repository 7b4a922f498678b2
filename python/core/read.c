/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reads: rows up to now as futures, and as a stream that other libraries pull.
 *
 * A consumer of the stream is in native code when it waits, where no signal is handled. So the
 * stream looks for signals between slices of its wait. Native code between here and the user's line
 * makes an error of its own of the one that is returned then; the exception itself, such as
 * KeyboardInterrupt, is raised in the main thread as soon as that runs Python again. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core.h"

/** begin_read(scanner) -> read: from where it is up to now */
static PyObject *begin_read(PyObject *module, PyObject *capsule)
{
    fluss_scanner_t *scanner = fc_unwrap(capsule, FC_SCANNER);
    if (scanner == NULL) {
        return NULL;
    }
    fluss_read_t *read;
    fluss_error_t err;
    return fluss_read_begin(scanner, NULL, 0, &read, &err) == 0
               ? fc_wrap(FC_READ, read)
               : fc_raise(fc_state_of(module), &err);
}

static PyObject *future_of(PyObject *module, PyObject *capsule, fc_result_kind kind,
                           fluss_future_t *(*start)(fluss_read_t *read))
{
    fluss_read_t *read = fc_unwrap(capsule, FC_READ);
    return read == NULL
               ? NULL
               : fc_future_keep(fc_future_new(fc_state_of(module), start(read), kind, NULL, NULL),
                                capsule);
}

/** read_settled(read) -> future of None: it is known where it ends */
static PyObject *read_settled(PyObject *module, PyObject *capsule)
{
    return future_of(module, capsule, FC_RESULT_VOID, fluss_read_settled);
}

/** read_some(read) -> future of batches; none: the end */
static PyObject *read_some(PyObject *module, PyObject *capsule)
{
    return future_of(module, capsule, FC_RESULT_BATCHES, fluss_read_some);
}

/** read_changes(read) -> future of rows as Arrow with what happened to them; None: the end */
static PyObject *read_changes(PyObject *module, PyObject *capsule)
{
    return future_of(module, capsule, FC_RESULT_CHANGES, fluss_read_some);
}

/** read_rest(read) -> future of all batches that are left */
static PyObject *read_rest(PyObject *module, PyObject *capsule)
{
    return future_of(module, capsule, FC_RESULT_BATCHES, fluss_read_rest);
}

/** read_progress(read) -> [(table_id, partition_id, bucket, start, position, stop)] */
static PyObject *read_progress(PyObject *module, PyObject *capsule)
{
    (void)module;
    const fluss_read_t *read = fc_unwrap(capsule, FC_READ);
    if (read == NULL) {
        return NULL;
    }
    const size_t capacity = fluss_read_progress(read, NULL, 0);
    fluss_read_bucket_t *found = PyMem_Calloc(capacity + 1, sizeof(*found));
    if (found == NULL) {
        return PyErr_NoMemory();
    }
    const size_t now = fluss_read_progress(read, found, capacity);
    const size_t count = now < capacity ? now : capacity; /* buckets go, none comes */
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        const fluss_read_bucket_t *at = &found[i];
        PyObject *entry =
            Py_BuildValue("LLiLLL", (long long)at->bucket.table_id,
                          (long long)at->bucket.partition_id, (int)at->bucket.bucket,
                          (long long)at->start, (long long)at->position, (long long)at->stop);
        if (entry == NULL || PyList_SetItem(list, (Py_ssize_t)i, entry) != 0) {
            Py_CLEAR(list);
        }
    }
    PyMem_Free(found);
    return list;
}

/** stop_read(read): whatever waits for it, and whatever begins to, ends as cancelled */
static PyObject *stop_read(PyObject *module, PyObject *capsule)
{
    (void)module;
    fluss_read_t *read = fc_unwrap(capsule, FC_READ);
    if (read == NULL) {
        return NULL;
    }
    fluss_read_stop(read);
    Py_RETURN_NONE;
}

/* ---- streams ---- */

enum { SLICE_MS = 100 };

typedef struct watched {
    struct ArrowArrayStream inner;
    pthread_t maker; /* the thread that signals are handled in, if any is that pulls */
    fluss_error_t err;
} watched;

static int raise_later(void *error)
{
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)error), error);
    Py_XDECREF((PyObject *)error);
    return -1;
}

/* Handle signals, as only the main thread does. @return whether one raised an exception, which is
 * raised again where Python code runs next */
static bool is_interrupted(void)
{
    const PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *type, *error, *traceback, *kept[3];
    PyErr_Fetch(&kept[0], &kept[1], &kept[2]); /* of whoever pulls */
    const bool is_raised = PyErr_CheckSignals() != 0;
    if (is_raised) {
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        if (error != NULL && Py_AddPendingCall(raise_later, error) != 0) {
            Py_DECREF(error);
        }
        Py_XDECREF(type);
        Py_XDECREF(traceback);
    }
    PyErr_Restore(kept[0], kept[1], kept[2]);
    PyGILState_Release(lock);
    return is_raised;
}

static int watched_next(struct ArrowArrayStream *out, struct ArrowArray *array)
{
    watched *w = out->private_data;
    const bool is_home = pthread_equal(w->maker, pthread_self()) != 0;
    while (fluss_read_next(&w->inner, is_home ? SLICE_MS : -1, array, &w->err) != 0) {
        if (w->err.code != FLUSS_E_CLIENT || w->err.kind != FLUSS_KIND_TIMEOUT) {
            return EIO;
        }
        if (is_interrupted()) {
            (void)snprintf(w->err.message, sizeof(w->err.message), "interrupted by a signal");
            return EINTR;
        }
    }
    return 0;
}

static int watched_schema(struct ArrowArrayStream *out, struct ArrowSchema *schema)
{
    watched *w = out->private_data;
    const int rc = w->inner.get_schema(&w->inner, schema);
    if (rc != 0) {
        (void)fluss_read_error(&w->inner, &w->err);
    }
    return rc;
}

static const char *watched_error(struct ArrowArrayStream *out)
{
    const watched *w = out->private_data;
    return w->err.message[0] != '\0' ? w->err.message : NULL;
}

static void watched_release(struct ArrowArrayStream *out)
{
    watched *w = out->private_data;
    w->inner.release(&w->inner);
    free(w);
    out->release = NULL;
}

/** stream_of(scanner) -> capsule of an Arrow stream: from where it is up to now */
static PyObject *stream_of(PyObject *module, PyObject *capsule)
{
    fc_state *state = fc_state_of(module);
    fluss_scanner_t *scanner = fc_unwrap(capsule, FC_SCANNER);
    watched *w = scanner == NULL ? NULL : calloc(1, sizeof(*w));
    if (w == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    w->maker = pthread_self();
    fluss_read_t *read = NULL;
    fluss_error_t err;
    fluss_code_t rc = fluss_read_begin(scanner, NULL, 0, &read, &err);
    if (rc == 0 && (rc = fluss_read_stream(read, &w->inner, &err)) != 0) {
        fluss_read_free(read);
    }
    if (rc != 0) {
        free(w);
        return fc_raise(state, &err);
    }
    struct ArrowArrayStream outer = {.get_schema = watched_schema,
                                     .get_next = watched_next,
                                     .get_last_error = watched_error,
                                     .release = watched_release,
                                     .private_data = w};
    return fc_stream_capsule(&outer);
}

PyMethodDef fc_read_methods[] = {
    {"begin_read", begin_read, METH_O, NULL},
    {"read_settled", read_settled, METH_O, NULL},
    {"read_some", read_some, METH_O, NULL},
    {"read_changes", read_changes, METH_O, NULL},
    {"read_rest", read_rest, METH_O, NULL},
    {"read_progress", read_progress, METH_O, NULL},
    {"stop_read", stop_read, METH_O, NULL},
    {"stream_of", stream_of, METH_O, NULL},
    {0},
};
