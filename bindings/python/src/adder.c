/* _core.Adder: the sum of a cumulative profile and deltas. */
#include "core.h"

/* Ends a call after which the adder can only be freed. */
static void leave_for_good(core_object *self)
{
    pprofdelta_adder_free(self->made);
    self->made = NULL;
    core_leave(self);
}

static PyObject *adder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *packed;
    core_options parsed;
    pprofdelta_adder *adder = NULL;
    pprofdelta_error err;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!:Adder", &PyTuple_Type, &packed) ||
        !core_options_init(&parsed, packed))
        return NULL;
    pprofdelta_status status = pprofdelta_adder_new(&parsed.options, NULL, &adder, &err);
    core_options_fini(&parsed);
    if (status)
        return core_raise(type, &err);
    core_object *self = core_alloc(type);
    if (self)
        self->made = adder;
    else
        pprofdelta_adder_free(adder);
    return (PyObject *)self;
}

static void adder_dealloc(PyObject *object)
{
    pprofdelta_adder_free(((core_object *)object)->made);
    core_dealloc(object);
}

static PyObject *adder_add(core_object *self, PyObject *profile)
{
    core_input input;
    pprofdelta_join join;
    pprofdelta_error err;
    pprofdelta_status status = PPROFDELTA_OK;
    if (!core_enter(self))
        return NULL;
    if (!core_input_init(&input, profile)) {
        core_leave(self);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = pprofdelta_adder_add(self->made, input.bytes, input.len, &join, &err);
    Py_END_ALLOW_THREADS
    core_input_fini(&input);
    if (status == PPROFDELTA_E_MEMORY || status == PPROFDELTA_E_LIMIT)
        leave_for_good(self);
    else
        core_leave(self);
    return status ? core_raise(Py_TYPE((PyObject *)self), &err) : PyLong_FromLong((long)join);
}

static PyObject *adder_finish(core_object *self, PyObject *unused)
{
    core_output output = {0};
    pprofdelta_sink sink = core_output_sink(&output);
    pprofdelta_error err;
    pprofdelta_status status;
    (void)unused;
    if (!core_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = pprofdelta_adder_finish(self->made, &sink, &err);
    Py_END_ALLOW_THREADS
    status = core_output_status(&output, status, &err);
    leave_for_good(self);
    PyObject *result =
        status ? core_raise(Py_TYPE((PyObject *)self), &err) : core_output_bytes(&output);
    core_output_fini(&output);
    return result;
}

static PyObject *adder_close(core_object *self, PyObject *unused)
{
    (void)unused;
    if (!core_enter_closed(self))
        return NULL;
    leave_for_good(self);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"add", (PyCFunction)(void (*)(void))adder_add, METH_O,
     "pprofdelta_adder_add: returns the number of the join."},
    {"finish", (PyCFunction)(void (*)(void))adder_finish, METH_NOARGS,
     "pprofdelta_adder_finish: returns the sum, and frees the adder."},
    {"close", (PyCFunction)(void (*)(void))adder_close, METH_NOARGS, "Frees the adder."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)adder_new},
    {Py_tp_dealloc, (void *)adder_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)"An adder of the library."},
    {0, NULL},
};

PyType_Spec core_adder_spec = {
    .name = "pprofdelta._core.Adder",
    .basicsize = sizeof(core_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
