/* The options of the library, from the tuple that _options.py packs. */
#include "core.h"

/* A tuple of bytes objects as an array of C strings, which belong to the tuple. _options.py has refused
 * strings with a NUL. The array is never NULL on success. */
static const char **names_of(PyObject *tuple, size_t *len)
{
    Py_ssize_t count = PyTuple_Size(tuple);
    const char **names = PyMem_Malloc(((size_t)count + 1) * sizeof *names);
    if (!names)
        return (const char **)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++)
        if (!(names[i] = PyBytes_AsString(PyTuple_GetItem(tuple, i)))) {
            PyMem_Free(names);
            return NULL;
        }
    *len = (size_t)count;
    return names;
}

/* Keys with their values behind them. */
static bool take_resource(core_options *parsed, PyObject *tuple)
{
    size_t len = 0;
    const char **texts = names_of(tuple, &len);
    if (!texts)
        return false;
    parsed->resource = PyMem_Malloc((len / 2 + 1) * sizeof *parsed->resource);
    for (size_t i = 0; parsed->resource && i < len / 2; i++)
        parsed->resource[i] = (pprofdelta_attribute){texts[2 * i], texts[2 * i + 1]};
    PyMem_Free(texts);
    parsed->options.resource = parsed->resource;
    parsed->options.resource_len = len / 2;
    return parsed->resource || PyErr_NoMemory();
}

bool core_options_init(core_options *parsed, PyObject *packed)
{
    int on_reset, first, compression, format;
    unsigned long long id, last_sequence;
    PyObject *max_memory, *counters, *gauges, *resource;
    pprofdelta_options *o = &parsed->options;
    *parsed = (core_options){.options = PPROFDELTA_OPTIONS_INIT};
    if (!PyArg_ParseTuple(packed, "IiiiiO!O!O!iO!zKK", &o->flags, &on_reset, &first, &compression,
                          &o->level, &PyLong_Type, &max_memory, &PyTuple_Type, &counters,
                          &PyTuple_Type, &gauges, &format, &PyTuple_Type, &resource,
                          &o->target_label, &id, &last_sequence))
        return false;
    o->on_reset = (pprofdelta_on_reset)on_reset;
    o->first = (pprofdelta_first)first;
    o->compression = (pprofdelta_compression)compression;
    o->format = (pprofdelta_format)format;
    o->id = id;
    o->last_sequence = last_sequence;
    o->max_memory = PyLong_AsUnsignedLongLong(max_memory);
    if (o->max_memory == (uint64_t)-1 && PyErr_Occurred())
        return false;
    parsed->counters = names_of(counters, &o->counters_len);
    parsed->gauges = parsed->counters ? names_of(gauges, &o->gauges_len) : NULL;
    o->counters = parsed->counters;
    o->gauges = parsed->gauges;
    if (parsed->gauges && take_resource(parsed, resource))
        return true;
    core_options_fini(parsed);
    return false;
}

void core_options_fini(core_options *parsed)
{
    PyMem_Free(parsed->counters);
    PyMem_Free(parsed->gauges);
    PyMem_Free(parsed->resource);
    *parsed = (core_options){.options = PPROFDELTA_OPTIONS_INIT};
}
