/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the library's log on their way to Python's logging.
 *
 * Threads of the library must not wait for the interpreter, so the hook puts a line into a pair of
 * sockets as one packet and goes on; when that is full, the line is lost and counted. A thread of
 * Python (fluss/_logging.py) takes packets out. Nothing is freed, for the hook may be running at
 * any time: there is one route a process. A forked child's lines go nowhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core.h"

enum { LINE_SIZE = 1280 };
static const char route_name[] = "fluss.log";

typedef struct log_route {
    int ends[2]; /* written to, read from */
    pid_t pid;
    atomic_size_t lost;
} log_route;

/* A packet: the level as one byte, the component, 0, the text. */
static void on_line(int level, const char *component, const char *text, void *user)
{
    log_route *route = user;
    char packet[LINE_SIZE];
    const int size =
        snprintf(packet, sizeof(packet), "%c%s%c%s", '0' + (level & 7), component, '\0', text);
    const size_t used = (size_t)size < sizeof(packet) ? (size_t)size : sizeof(packet) - 1;
    if (getpid() == route->pid &&
        send(route->ends[0], packet, used, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        atomic_fetch_add(&route->lost, 1);
    }
}

/** log_open(debug) -> route: lines go into it from now on */
static PyObject *log_open(PyObject *module, PyObject *debug)
{
    (void)module;
    const int wants_debug = PyObject_IsTrue(debug);
    log_route *route = wants_debug < 0 ? NULL : calloc(1, sizeof(*route));
    if (route == NULL) {
        return wants_debug < 0 ? NULL : PyErr_NoMemory();
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, route->ends) != 0) {
        free(route);
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    route->pid = getpid();
    fluss_set_log(on_line, wants_debug ? 7 : 6, route);
    return PyCapsule_New(route, route_name, NULL);
}

/** log_hook(route) -> (function, user), addresses for fluss_server_set_log */
static PyObject *log_hook(PyObject *module, PyObject *capsule)
{
    (void)module;
    void *route = PyCapsule_GetPointer(capsule, route_name);
    return route == NULL ? NULL
                         : Py_BuildValue("KK", (unsigned long long)(uintptr_t)on_line,
                                         (unsigned long long)(uintptr_t)route);
}

static void emit(PyObject *function, int level, const char *component, const char *text,
                 Py_ssize_t size)
{
    PyObject *decoded = PyUnicode_DecodeUTF8(text, size, "replace");
    PyObject *done =
        decoded == NULL ? NULL : PyObject_CallFunction(function, "isO", level, component, decoded);
    if (done == NULL) {
        PyErr_WriteUnraisable(function);
    }
    Py_XDECREF(decoded);
    Py_XDECREF(done);
}

/** log_pump(route, emit): call emit(level, component, text) for each line, until log_close() */
static PyObject *log_pump(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *function;
    if (!PyArg_ParseTuple(args, "OO", &capsule, &function)) {
        return NULL;
    }
    log_route *route = PyCapsule_GetPointer(capsule, route_name);
    while (route != NULL) {
        char packet[LINE_SIZE];
        ssize_t size;
        Py_BEGIN_ALLOW_THREADS size = recv(route->ends[1], packet, sizeof(packet) - 1, 0);
        Py_END_ALLOW_THREADS if (size < 0 && errno == EINTR)
        {
            continue;
        }
        if (size <= 0) {
            break;
        }
        packet[size] = '\0';
        const size_t head = strlen(packet) + 1;
        if (head <= (size_t)size) {
            emit(function, packet[0] - '0', packet + 1, packet + head, size - (ssize_t)head);
        }
        const size_t lost = atomic_exchange(&route->lost, 0);
        if (lost > 0) {
            char text[64];
            const int length = snprintf(text, sizeof(text), "%zu lines of the log were lost", lost);
            emit(function, 4, "log", text, length);
        }
    }
    return route == NULL ? NULL : Py_NewRef(Py_None);
}

/** log_close(route): no more lines; log_pump ends after those that are there */
static PyObject *log_close(PyObject *module, PyObject *capsule)
{
    (void)module;
    log_route *route = PyCapsule_GetPointer(capsule, route_name);
    if (route == NULL) {
        return NULL;
    }
    (void)shutdown(route->ends[0], SHUT_WR);
    Py_RETURN_NONE;
}

PyMethodDef fc_log_methods[] = {
    {"log_open", log_open, METH_O, NULL},
    {"log_hook", log_hook, METH_O, NULL},
    {"log_pump", log_pump, METH_VARARGS, NULL},
    {"log_close", log_close, METH_O, NULL},
    {0},
};
