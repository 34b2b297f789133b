/* The options of the library, from the tuple that _options.py packs. */
#include "core.h"

#include <string.h>

/* A tuple of strings as an array of C strings, which belong to the tuple. The array is never NULL
 * on success. */
static const char **names_of(PyObject *tuple, size_t *len)
{
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count < 0)
        return NULL;
    const char **names = PyMem_Malloc(((size_t)count + 1) * sizeof *names);
    if (!names)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; names && i < count; i++) {
        /* bytes: the limited API of 3.11 gives a C string without a NUL inside for them only */
        char *name = NULL;
        Py_ssize_t name_len;
        PyObject *item = PyTuple_GetItem(tuple, i);
        if (!item || PyBytes_AsStringAndSize(item, &name, &name_len)) {
            PyMem_Free(names);
            return NULL;
        }
        if (strlen(name) != (size_t)name_len) {
            PyErr_SetString(PyExc_ValueError, "the name of a type has a NUL");
            PyMem_Free(names);
            return NULL;
        }
        names[i] = name;
    }
    *len = names ? (size_t)count : 0;
    return names;
}

bool core_options_init(core_options *parsed, PyObject *packed)
{
    int on_reset, first, compression;
    PyObject *max_memory, *counters, *gauges;
    pprofdelta_options *o = &parsed->options;
    *parsed = (core_options){.options = PPROFDELTA_OPTIONS_INIT};
    if (!PyArg_ParseTuple(packed, "IiiiiO!O!O!", &o->flags, &on_reset, &first, &compression,
                          &o->level, &PyLong_Type, &max_memory, &PyTuple_Type, &counters,
                          &PyTuple_Type, &gauges))
        return false;
    o->on_reset = (pprofdelta_on_reset)on_reset;
    o->first = (pprofdelta_first)first;
    o->compression = (pprofdelta_compression)compression;
    o->max_memory = PyLong_AsUnsignedLongLong(max_memory);
    if (o->max_memory == (uint64_t)-1 && PyErr_Occurred())
        return false;
    parsed->counters = names_of(counters, &o->counters_len);
    parsed->gauges = parsed->counters ? names_of(gauges, &o->gauges_len) : NULL;
    o->counters = parsed->counters;
    o->gauges = parsed->gauges;
    if (!parsed->gauges)
        core_options_fini(parsed);
    return parsed->gauges != NULL;
}

void core_options_fini(core_options *parsed)
{
    PyMem_Free(parsed->counters);
    PyMem_Free(parsed->gauges);
    *parsed = (core_options){.options = PPROFDELTA_OPTIONS_INIT};
}
