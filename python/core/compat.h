/* SPDX-License-Identifier: Apache-2.0 */
/* compat.h - what the limited API of CPython 3.9 lacks and this module needs.
 *
 * One binary serves CPython 3.9 and later. Functions that 3.9 exports, and that later versions
 * promise to keep, are declared here; what came later is written in terms of what was there. The
 * one thing to be decided when the module is loaded is the slot am_send (fc_has_am_send). */
#ifndef FLUSS_CORE_COMPAT_H
#define FLUSS_CORE_COMPAT_H
#include <Python.h>
#include <stdbool.h>
#include <structmember.h>

#if Py_LIMITED_API + 0 < 0x030a0000
/* Exported by 3.9; of the stable interface from 3.10 on. */
PyAPI_FUNC(PyObject *)
    PyType_FromModuleAndSpec(PyObject *module, PyType_Spec *spec, PyObject *bases);
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);
/* Exported by 3.9, whose headers keep it from users of the limited API. */
PyAPI_FUNC(void *) PyMem_Calloc(size_t count, size_t size);
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
enum { Py_am_send = 81 };
typedef enum { PYGEN_RETURN = 0, PYGEN_ERROR = -1, PYGEN_NEXT = 1 } PySendResult;
#endif

static inline PyObject *fc_new_ref(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
#undef Py_NewRef
#define Py_NewRef(object) fc_new_ref((PyObject *)(object))

/** Whether the interpreter that runs knows the slot am_send: 3.10 and later. */
static inline bool fc_has_am_send(void)
{
    return strncmp(Py_GetVersion(), "3.9.", 4) != 0;
}
#endif
