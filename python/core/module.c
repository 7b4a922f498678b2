/* SPDX-License-Identifier: Apache-2.0 */
/* The module fluss._core: its state, its types, its functions. */
#include "core.h"

fc_state *fc_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

PyObject *fc_refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args;
    (void)keywords;
    return PyErr_Format(PyExc_TypeError, "cannot create instances of %R", type);
}

PyObject *fc_type_name_of(PyObject *object)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    if (name != NULL && !PyUnicode_Check(name)) { /* a metaclass may say anything */
        Py_DECREF(name);
        return PyUnicode_FromString("an unnamed type");
    }
    return name;
}

/* What `member` of the state is: a module, or a name of it; NULL: an exception. Borrowed. Another
 * thread may load it meanwhile. */
static PyObject *load(PyObject *const *member, const char *module_name, const char *name)
{
    if (*member != NULL) {
        return *member;
    }
    PyObject *object = PyImport_ImportModule(module_name);
    if (object != NULL && name != NULL) {
        PyObject *module = object;
        object = PyObject_GetAttrString(module, name);
        Py_DECREF(module);
    }
    if (*member == NULL) {
        *(PyObject **)(uintptr_t)member = object;
    } else {
        Py_XDECREF(object);
    }
    return *member;
}

PyObject *fc_cancelled_error(const fc_state *state)
{
    return load(&state->cancelled_error, "asyncio", "CancelledError");
}

PyObject *fc_copy_context(const fc_state *state)
{
    PyObject *copy = load(&state->copy_context, "contextvars", "copy_context");
    return copy == NULL ? NULL : PyObject_CallObject(copy, NULL);
}

PyObject *fc_odd(const fc_state *state)
{
    return load(&state->odd, "fluss._values", NULL);
}

static int load_utc(fc_state *state)
{
    PyObject *timezone = NULL;
    if (state->utc == NULL && load(&timezone, "datetime", "timezone") != NULL) {
        state->utc = PyObject_GetAttrString(timezone, "utc");
        Py_DECREF(timezone);
    }
    return state->utc == NULL ? -1 : 0;
}

int fc_load_classes(fc_state *state, uint8_t type)
{
    switch (type) {
    case FLUSS_DECIMAL:
        return load(&state->decimal, "decimal", "Decimal") == NULL ? -1 : 0;
    case FLUSS_DATE:
    case FLUSS_TIME:
    case FLUSS_TIMESTAMP:
    case FLUSS_TIMESTAMP_LTZ:
        return load(&state->datetime, "datetime", "datetime") != NULL &&
                       load(&state->date, "datetime", "date") != NULL &&
                       load(&state->time, "datetime", "time") != NULL
                   ? load_utc(state)
                   : -1;
    default:
        return 0;
    }
}

static int intern_names(fc_state *state)
{
    static const char *const texts[FC_NAME_COUNT] = {
        [FC_NAME_YEAR] = "year",
        [FC_NAME_MONTH] = "month",
        [FC_NAME_DAY] = "day",
        [FC_NAME_HOUR] = "hour",
        [FC_NAME_MINUTE] = "minute",
        [FC_NAME_SECOND] = "second",
        [FC_NAME_MICROSECOND] = "microsecond",
        [FC_NAME_NANOSECOND] = "nanosecond",
        [FC_NAME_TZINFO] = "tzinfo",
        [FC_NAME_UTCOFFSET] = "utcoffset",
        [FC_NAME_REDUCE] = "__reduce__",
        [FC_NAME_DAYS] = "days",
        [FC_NAME_SECONDS] = "seconds",
        [FC_NAME_MICROSECONDS] = "microseconds",
        [FC_NAME_CALL_SOON] = "call_soon",
        [FC_NAME_CALL_SOON_THREADSAFE] = "call_soon_threadsafe",
        [FC_NAME_CONTEXT] = "context",
        [FC_NAME_RUN] = "run",
        [FC_NAME_LOOP_QUEUE] = "_fluss_queue",
        [FC_NAME_OPEN] = "_open",
    };
    for (int i = 0; i < FC_NAME_COUNT; i++) {
        state->names[i] = PyUnicode_InternFromString(texts[i]);
        if (state->names[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    const char *dot = strrchr(spec->name, '.');
    return *type == NULL ? -1 : PyObject_SetAttrString(module, dot + 1, (PyObject *)*type);
}

static int add_types(PyObject *module, fc_state *state)
{
    PyType_Spec *await_spec = fc_has_am_send() ? &fc_await_spec : &fc_await_before_am_send_spec;
    return add_type(module, &fc_future_spec, &state->future_type) == 0 &&
                   add_type(module, await_spec, &state->await_type) == 0 &&
                   add_type(module, &fc_loop_spec, &state->loop_type) == 0 &&
                   add_type(module, &fc_handle_spec, &state->handle_type) == 0 &&
                   add_type(module, &fc_writer_spec, &state->writer_type) == 0 &&
                   add_type(module, &fc_records_spec, &state->records_type) == 0 &&
                   add_type(module, &fc_record_spec, &state->record_type) == 0 &&
                   add_type(module, &fc_batch_spec, &state->batch_type) == 0 &&
                   add_type(module, &fc_stream_spec, &state->stream_type) == 0 &&
                   add_type(module, &fc_codec_spec, &state->codec_type) == 0
               ? 0
               : -1;
}

/** setup(fluss_error, make_bucket, change_types, batch_class, watch, precision warning): what the
 * module needs of the Python half. */
static PyObject *setup(PyObject *module, PyObject *args)
{
    fc_state *state = fc_state_of(module);
    PyObject *given[6];
    if (!PyArg_ParseTuple(args, "OOO!O!OO", &given[0], &given[1], &PyTuple_Type, &given[2],
                          &PyType_Type, &given[3], &given[4], &given[5])) {
        return NULL;
    }
    PyObject **const targets[] = {&state->fluss_error,  &state->make_bucket,
                                  &state->change_types, &state->batch_class,
                                  &state->watch,        &state->precision_warning};
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        PyObject *before = *targets[i];
        *targets[i] = Py_NewRef(given[i]);
        Py_XDECREF(before);
    }
    Py_CLEAR(state->make_record);
    state->make_record = PyObject_GetAttrString(module, "restore_record");
    return state->make_record == NULL ? NULL : Py_NewRef(Py_None);
}

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(fluss_version_string());
}

static PyObject *error_codes(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    static const struct {
        const char *name;
        int number, retriable;
    } codes[] = {
#define FLUSS_CODE(number, name, retriable, stale, python, text) {python, number, retriable},
#include <fluss/fluss_codes.def>
#undef FLUSS_CODE
    };
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < sizeof(codes) / sizeof(codes[0]); i++) {
        PyObject *code = Py_BuildValue("sii", codes[i].name, codes[i].number, codes[i].retriable);
        if (code == NULL || PyList_Append(list, code) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(code);
    }
    return list;
}

/** completed() -> a future that has ended with None */
static PyObject *completed(PyObject *module, PyObject *unused)
{
    (void)unused;
    return fc_future_completed(fc_state_of(module));
}

/** running_loop() -> the event loop of this thread, or None */
static PyObject *running_loop(PyObject *module, PyObject *unused)
{
    (void)unused;
    return fc_running_loop(fc_state_of(module));
}

/** cancelled_error() -> asyncio.CancelledError */
static PyObject *cancelled_error(PyObject *module, PyObject *unused)
{
    (void)unused;
    PyObject *type = fc_cancelled_error(fc_state_of(module));
    return type == NULL ? NULL : Py_NewRef(type);
}

static PyMethodDef module_methods[] = {
    {"setup", setup, METH_VARARGS, NULL},
    {"version", version, METH_NOARGS, NULL},
    {"error_codes", error_codes, METH_NOARGS, NULL},
    {"codec", fc_codec_new, METH_O, NULL},
    {"promise", fc_future_promise, METH_VARARGS, NULL},
    {"rebind", fc_future_rebind, METH_VARARGS, NULL},
    {"completed", completed, METH_NOARGS, NULL},
    {"running_loop", running_loop, METH_NOARGS, NULL},
    {"cancelled_error", cancelled_error, METH_NOARGS, NULL},
    {"new_batch", fc_batch_of_capsules, METH_VARARGS, NULL},
    {"arrow_fields", fc_arrow_fields, METH_O, NULL},
    {"open_stream", fc_stream_open, METH_O, NULL},
    {"restore_record", fc_record_restore, METH_VARARGS, NULL},
    {0},
};

static int module_exec(PyObject *module)
{
    fc_state *state = fc_state_of(module);
    if (intern_names(state) != 0 || add_types(module, state) != 0) {
        return -1;
    }
    PyMethodDef *const tables[] = {module_methods,    fc_admin_methods, fc_admin_call_methods,
                                   fc_schema_methods, fc_scan_methods,  fc_read_methods,
                                   fc_write_methods,  fc_log_methods};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (PyModule_AddFunctions(module, tables[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    const fc_state *state = fc_state_of(module);
    PyObject *const *objects = (PyObject *const *)state;
    for (size_t i = 0; state != NULL && i < sizeof(*state) / sizeof(PyObject *); i++) {
        Py_VISIT(objects[i]);
    }
    return 0;
}

/* The state is a struct of references and nothing else. */
static_assert(sizeof(fc_state) % sizeof(PyObject *) == 0, "fc_state holds references only");

static int module_clear(PyObject *module)
{
    fc_state *state = fc_state_of(module);
    PyObject **objects = (PyObject **)state;
    for (size_t i = 0; state != NULL && i < sizeof(*state) / sizeof(PyObject *); i++) {
        Py_CLEAR(objects[i]);
    }
    return 0;
}

static void module_free(void *module)
{
    (void)module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef module_definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_core",
    .m_doc = "The compiled half of the package fluss.",
    .m_size = sizeof(fc_state),
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_definition);
}
