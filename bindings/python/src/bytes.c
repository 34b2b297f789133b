/* Bytes in and out: the caller's bytes, a copy of a buffer or a file as input, and a growing buffer as the
 * sink. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

static bool copy_buffer(core_input *input, PyObject *object)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE))
        return false;
    input->len = (size_t)view.len;
    if (view.len)
        input->bytes = input->copy = malloc(input->len);
    if (input->copy)
        memcpy(input->copy, view.buf, input->len);
    PyBuffer_Release(&view);
    if (!input->bytes)
        PyErr_NoMemory();
    return input->bytes != NULL;
}

/* Reads an open file, or the one of a path, to its end. Returns a new reference, or NULL with an exception. */
static PyObject *read_file(PyObject *object)
{
    if (PyObject_HasAttrString(object, "read"))
        return PyObject_CallMethod(object, "read", NULL);
    if (!PyObject_HasAttrString(object, "__fspath__"))
        return PyErr_Format(
            PyExc_TypeError,
            "these are bytes (any object with a contiguous buffer), a path (pathlib.Path) "
            "or a file that is open for reading, and not %R",
            Py_TYPE(object));
    PyObject *pathlib = PyImport_ImportModule("pathlib");
    PyObject *path = pathlib ? PyObject_CallMethod(pathlib, "Path", "O", object) : NULL;
    PyObject *bytes = path ? PyObject_CallMethod(path, "read_bytes", NULL) : NULL;
    Py_XDECREF(path);
    Py_XDECREF(pathlib);
    return bytes;
}

bool core_input_init(core_input *input, PyObject *object)
{
    *input = (core_input){.bytes = ""};
    if (PyBytes_CheckExact(object)) {
        input->owner = Py_NewRef(object);
        input->bytes = PyBytes_AsString(object);
        input->len = (size_t)PyBytes_Size(object);
        return true;
    }
    if (PyObject_CheckBuffer(object))
        return copy_buffer(input, object);
    PyObject *content = read_file(object);
    bool is_good = content && PyObject_CheckBuffer(content);
    if (content && !is_good)
        PyErr_Format(PyExc_TypeError, "read() gives %R and not bytes: open the file with \"rb\"",
                     Py_TYPE(content));
    is_good = is_good && core_input_init(input, content);
    Py_XDECREF(content);
    return is_good;
}

void core_input_fini(core_input *input)
{
    Py_XDECREF(input->owner);
    free(input->copy);
}

/* Makes room for len more bytes: at least twice the old capacity, so that a long output is copied
 * few times. */
static bool reserve(core_output *output, size_t len)
{
    size_t cap = output->cap ? output->cap : 4096;
    if (len > PY_SSIZE_T_MAX - output->len)
        return false;
    while (cap < output->len + len)
        cap = cap > PY_SSIZE_T_MAX / 2 ? (size_t)PY_SSIZE_T_MAX : 2 * cap;
    if (cap == output->cap)
        return true;
    char *bytes = realloc(output->bytes, cap);
    if (!bytes)
        return false;
    output->bytes = bytes;
    output->cap = cap;
    return true;
}

static int append(void *cookie, const void *data, size_t len)
{
    core_output *output = cookie;
    if (!reserve(output, len)) {
        output->is_short = true;
        return -1;
    }
    memcpy(output->bytes + output->len, data, len);
    output->len += len;
    return 0;
}

pprofdelta_sink core_output_sink(core_output *output)
{
    return (pprofdelta_sink){append, output, core_output_take};
}

PyObject *core_output_bytes(const core_output *output)
{
    return PyBytes_FromStringAndSize(output->bytes, (Py_ssize_t)output->len);
}

void core_output_fini(core_output *output)
{
    core_output_drop_tables(output);
    free(output->bytes);
    *output = (core_output){0};
}

void core_output_reset(core_output *output)
{
    enum { KEPT = 1 << 20 };
    if (output->cap > KEPT)
        core_output_fini(output);
    core_output_drop_tables(output);
    output->len = 0;
    output->is_short = false;
}

pprofdelta_status core_output_status(const core_output *output, pprofdelta_status status,
                                     pprofdelta_error *err)
{
    if (!status || !output->is_short)
        return status;
    *err = (pprofdelta_error){.status = PPROFDELTA_E_MEMORY,
                              .stage = PPROFDELTA_STAGE_WRITE,
                              .field = "",
                              .element = PPROFDELTA_NOWHERE,
                              .offset = PPROFDELTA_NOWHERE,
                              .text = "there is no memory for the output"};
    return err->status;
}
