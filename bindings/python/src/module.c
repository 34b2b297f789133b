/* The module object: its types, its one function, and how an error becomes an exception. */
#include "core.h"

#include <string.h>

PyObject *core_raise(PyTypeObject *type, const pprofdelta_error *err)
{
    core_state *state = PyType_GetModuleState(type);
    unsigned long long element = err->element, offset = err->offset;
    char line[PPROFDELTA_ERROR_LINE];
    pprofdelta_error_line(err, line, sizeof line);
    PyObject *error = NULL;
    if (state)
        error = PyObject_CallFunction(state->error_for, "siisKKOis", err->text, (int)err->status,
                                      (int)err->stage, err->field, element, offset,
                                      err->is_prev ? Py_True : Py_False, (int)err->reason, line);
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return NULL;
}

static void refuse(PyTypeObject *type, const char *text)
{
    pprofdelta_error err = {.status = PPROFDELTA_E_USAGE,
                            .field = "",
                            .element = PPROFDELTA_NOWHERE,
                            .offset = PPROFDELTA_NOWHERE};
    strncpy(err.text, text, sizeof err.text - 1);
    core_raise(type, &err);
}

void *core_alloc(PyTypeObject *type)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return alloc(type, 0);
}

void core_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

bool core_enter_closed(void *self)
{
    bool is_free = !atomic_exchange(&((core_object *)self)->is_busy, true);
    if (!is_free)
        refuse(Py_TYPE((PyObject *)self),
               "another call is using this object; use one object for each thread, or a lock");
    return is_free;
}

bool core_enter(void *self)
{
    if (!core_enter_closed(self))
        return false;
    if (((core_object *)self)->made)
        return true;
    core_leave(self);
    refuse(Py_TYPE((PyObject *)self), "the object is closed or finished");
    return false;
}

void core_leave(void *self)
{
    ((core_object *)self)->is_busy = false;
}

/* ---- the module ------------------------------------------------------------------------------ */

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(pprofdelta_version());
}

static int fill(PyObject *module)
{
    PyType_Spec *specs[CORE_TYPES] = {&core_context_spec, &core_adder_spec, &core_table_spec};
    core_state *state = PyModule_GetState(module);
    PyObject *errors = PyImport_ImportModule("pprofdelta._errors");
    state->error_for = errors ? PyObject_GetAttrString(errors, "error_for") : NULL;
    Py_XDECREF(errors);
    bool is_full = state->error_for != NULL;
    for (size_t i = 0; is_full && i < CORE_TYPES; i++) {
        state->types[i] = (PyTypeObject *)PyType_FromModuleAndSpec(module, specs[i], NULL);
        is_full = state->types[i] && !PyModule_AddType(module, state->types[i]);
    }
    return is_full ? 0 : -1;
}

static int visit_state(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = PyModule_GetState(module);
    for (size_t i = 0; i < CORE_TYPES; i++)
        Py_VISIT(state->types[i]);
    Py_VISIT(state->error_for);
    return 0;
}

static int clear_state(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    for (size_t i = 0; i < CORE_TYPES; i++)
        Py_CLEAR(state->types[i]);
    Py_CLEAR(state->error_for);
    return 0;
}

static void free_state(void *module)
{
    clear_state(module);
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "Returns the version of the library."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pprofdelta._core",
    .m_doc = "The functions of libpprofdelta.",
    .m_size = sizeof(core_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = visit_state,
    .m_clear = clear_state,
    .m_free = free_state,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
