/* Python's way to libslowpath_spans: loads the library when told where it is and passes on calls,
 * a tenth of what ctypes costs. Built once for every Python 3 from 3.9 on (limited API). Knows nothing of
 * OpenTelemetry. by_ctypes.py does the same where this could not be built. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>

typedef void (*span_call)(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id);

static span_call span_start, span_end, span_follow;
static int (*span_recording)(void);
static void (*span_forget)(void);
static void (*before_fork_call)(sigset_t *), (*after_fork_parent_call)(sigset_t *), (*after_fork_child_call)(sigset_t *);

struct ids {
    uint64_t trace_id_high, trace_id_low, span_id;
};

/* Reads (trace_id, span_id), Python's integers of 128 and 64 bits; false with an exception set. */
static int read_ids(PyObject *arguments, struct ids *ids)
{
    PyObject *trace_id, *span_id;
    static PyObject *sixty_four;
    if (!PyArg_UnpackTuple(arguments, "ids", 2, 2, &trace_id, &span_id))
        return 0;
    if (!sixty_four && !(sixty_four = PyLong_FromLong(64)))
        return 0;
    PyObject *high = PyNumber_Rshift(trace_id, sixty_four);
    if (!high)
        return 0;
    ids->trace_id_high = PyLong_AsUnsignedLongLongMask(high);
    Py_DECREF(high);
    ids->trace_id_low = PyLong_AsUnsignedLongLongMask(trace_id);
    ids->span_id = PyLong_AsUnsignedLongLongMask(span_id);
    return !PyErr_Occurred();
}

static PyObject *call_with(span_call call, PyObject *arguments)
{
    struct ids ids;
    if (!read_ids(arguments, &ids))
        return NULL;
    if (call)
        call(ids.trace_id_high, ids.trace_id_low, ids.span_id);
    Py_RETURN_NONE;
}

static PyObject *start(PyObject *module, PyObject *arguments)
{
    (void)module;
    return call_with(span_start, arguments);
}

static PyObject *end(PyObject *module, PyObject *arguments)
{
    (void)module;
    return call_with(span_end, arguments);
}

static PyObject *follow(PyObject *module, PyObject *arguments)
{
    (void)module;
    return call_with(span_follow, arguments);
}

static PyObject *recording(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return PyBool_FromLong(span_recording && span_recording());
}

static PyObject *forget(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    if (span_forget)
        span_forget();
    Py_RETURN_NONE;
}

/* LTTng's threads end in a forked child; these start them again. Called with the interpreter's lock
 * held from before the fork to after it, so one set of signals will do. */
static sigset_t signals_before_fork;

#define FORK_CALL(name)                                        \
    static PyObject *name(PyObject *module, PyObject *none)    \
    {                                                          \
        (void)module;                                          \
        (void)none;                                            \
        if (name##_call)                                       \
            name##_call(&signals_before_fork);                 \
        Py_RETURN_NONE;                                        \
    }

FORK_CALL(before_fork)
FORK_CALL(after_fork_parent)
FORK_CALL(after_fork_child)

static PyObject *load(PyObject *module, PyObject *path)
{
    (void)module;
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    void *library = dlopen(PyBytes_AsString(bytes), RTLD_NOW | RTLD_LOCAL);
    Py_DECREF(bytes);
    if (!library) {
        PyErr_SetString(PyExc_OSError, dlerror());
        return NULL;
    }
    span_start = (span_call)dlsym(library, "slowpath_span_start");
    span_end = (span_call)dlsym(library, "slowpath_span_end");
    span_follow = (span_call)dlsym(library, "slowpath_span_follow");
    span_recording = (int (*)(void))dlsym(library, "slowpath_span_recording");
    span_forget = (void (*)(void))dlsym(library, "slowpath_span_forget");
    before_fork_call = (void (*)(sigset_t *))dlsym(library, "lttng_ust_before_fork");
    after_fork_parent_call = (void (*)(sigset_t *))dlsym(library, "lttng_ust_after_fork_parent");
    after_fork_child_call = (void (*)(sigset_t *))dlsym(library, "lttng_ust_after_fork_child");
    if (!span_start || !span_end || !span_follow || !span_recording || !span_forget) {
        span_recording = NULL;
        PyErr_SetString(PyExc_OSError, "libslowpath_spans.so is of another version");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef calls[] = {
    {"load", load, METH_O, "load(path): loads the library; OSError where that fails."},
    {"start", start, METH_VARARGS, "start(trace_id, span_id)"},
    {"end", end, METH_VARARGS, "end(trace_id, span_id)"},
    {"follow", follow, METH_VARARGS, "follow(trace_id, span_id): what this thread works on; 0, 0: no span."},
    {"recording", recording, METH_NOARGS, "recording(): whether a session records any of the events."},
    {"forget", forget, METH_NOARGS, "forget(): a recording began; all threads start anew."},
    {"before_fork", before_fork, METH_NOARGS, NULL},
    {"after_fork_parent", after_fork_parent, METH_NOARGS, NULL},
    {"after_fork_child", after_fork_child, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_calls", "Calls of libslowpath_spans.", -1, calls, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__calls(void)
{
    return PyModule_Create(&definition);
}
