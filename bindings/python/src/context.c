/* _core.Context: the methods of a context. Each holds the guard, takes its input, calls the library
 * without the GIL, and builds its result before it releases the input and the guard: a report has
 * names that belong to the context, and a census has names that are in the input. */
#include "core.h"

#include <string.h>

typedef struct Context {
    core_object base;
    uint64_t max_memory;
    core_output output; /* empty between calls */
} Context;

static PyTypeObject *type_of(Context *self)
{
    return Py_TYPE((PyObject *)self);
}

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *packed;
    core_options parsed;
    pprofdelta *pd = NULL;
    pprofdelta_error err;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!:Context", &PyTuple_Type, &packed) ||
        !core_options_init(&parsed, packed))
        return NULL;
    pprofdelta_status status = pprofdelta_new(&parsed.options, NULL, &pd, &err);
    uint64_t max_memory = parsed.options.max_memory;
    core_options_fini(&parsed);
    if (status)
        return core_raise(type, &err);
    Context *self = core_alloc(type);
    if (self) {
        self->base.made = pd;
        self->max_memory = max_memory;
    } else {
        pprofdelta_free(pd);
    }
    return (PyObject *)self;
}

static void context_dealloc(PyObject *object)
{
    Context *self = (Context *)object;
    pprofdelta_free(self->base.made);
    core_output_fini(&self->output);
    core_dealloc(object);
}

static PyObject *context_close(Context *self, PyObject *unused)
{
    (void)unused;
    if (!core_enter_closed(self))
        return NULL;
    pprofdelta_free(self->base.made);
    self->base.made = NULL;
    core_output_fini(&self->output);
    core_leave(self);
    Py_RETURN_NONE;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* (delta, report, tables), or NULL with an exception. */
static PyObject *window_result(Context *self, const pprofdelta_report *report,
                               pprofdelta_status status, pprofdelta_error *err)
{
    if (core_output_status(&self->output, status, err))
        return core_raise(type_of(self), err);
    return Py_BuildValue("(NNN)", core_output_bytes(&self->output), core_report(report),
                         core_output_tables(&self->output, type_of(self)));
}

static PyObject *context_window(Context *self, PyObject *profile)
{
    core_input input;
    pprofdelta_sink sink = core_output_sink(&self->output);
    pprofdelta_report report = {.size = sizeof report};
    pprofdelta_error err;
    pprofdelta_status status;
    PyObject *result = NULL;
    if (!core_enter(self))
        return NULL;
    if (core_input_init(&input, profile)) {
        Py_BEGIN_ALLOW_THREADS
        status = pprofdelta_window(self->base.made, input.bytes, input.len, &sink, &report, &err);
        Py_END_ALLOW_THREADS
        core_input_fini(&input);
        result = window_result(self, &report, status, &err);
        if (!status && !result) /* the caller never sees this window */
            pprofdelta_abandon(self->base.made);
    }
    core_output_reset(&self->output);
    core_leave(self);
    return result;
}

/* Calls a function of the library that takes bytes and returns nothing. */
static PyObject *took(Context *self, PyObject *object,
                      pprofdelta_status (*take)(pprofdelta *pd, const void *bytes, size_t len,
                                                pprofdelta_error *err))
{
    core_input input;
    pprofdelta_error err;
    pprofdelta_status status = PPROFDELTA_OK;
    if (!core_enter(self))
        return NULL;
    bool has_input = core_input_init(&input, object);
    if (has_input) {
        Py_BEGIN_ALLOW_THREADS
        status = take(self->base.made, input.bytes, input.len, &err);
        Py_END_ALLOW_THREADS
        core_input_fini(&input);
    }
    core_leave(self);
    if (status)
        return core_raise(type_of(self), &err);
    return has_input ? Py_NewRef(Py_None) : NULL;
}

static PyObject *context_base(Context *self, PyObject *profile)
{
    return took(self, profile, pprofdelta_base);
}

static PyObject *end_window(Context *self, void (*end)(pprofdelta *pd))
{
    if (!core_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    end(self->base.made);
    Py_END_ALLOW_THREADS
    core_leave(self);
    Py_RETURN_NONE;
}

/* Does nothing without a window, as the method is documented. */
static void commit(pprofdelta *pd)
{
    (void)pprofdelta_commit(pd);
}

static PyObject *context_commit(Context *self, PyObject *unused)
{
    (void)unused;
    return end_window(self, commit);
}

static PyObject *context_abandon(Context *self, PyObject *unused)
{
    (void)unused;
    return end_window(self, pprofdelta_abandon);
}

static PyObject *context_set_started(Context *self, PyObject *nanos)
{
    long long started = PyLong_AsLongLong(nanos);
    if ((started == -1 && PyErr_Occurred()) || !core_enter(self))
        return NULL;
    pprofdelta_set_started(self->base.made, started);
    core_leave(self);
    Py_RETURN_NONE;
}

/* ---- the state ------------------------------------------------------------------------------- */

static PyObject *context_save(Context *self, PyObject *unused)
{
    pprofdelta_sink sink = core_output_sink(&self->output);
    pprofdelta_error err;
    pprofdelta_status status;
    (void)unused;
    if (!core_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = pprofdelta_save(self->base.made, &sink, &err);
    Py_END_ALLOW_THREADS
    status = core_output_status(&self->output, status, &err);
    PyObject *result = status ? core_raise(type_of(self), &err) : core_output_bytes(&self->output);
    core_output_reset(&self->output);
    core_leave(self);
    return result;
}

/* The source of pprofdelta_load: the rest of the caller's bytes. */
typedef struct rest {
    const char *bytes;
    size_t len;
} rest;

static int read_rest(void *cookie, void *buf, size_t len, size_t *got)
{
    rest *left = cookie;
    *got = len < left->len ? len : left->len;
    memcpy(buf, left->bytes, *got);
    left->bytes += *got;
    left->len -= *got;
    return 0;
}

static pprofdelta_status load(pprofdelta *pd, const void *bytes, size_t len, pprofdelta_error *err)
{
    return pprofdelta_load(pd, &(pprofdelta_source){read_rest, &(rest){bytes, len}}, err);
}

static PyObject *context_load(Context *self, PyObject *state)
{
    return took(self, state, load);
}

static PyObject *context_describe(Context *self, PyObject *unused)
{
    pprofdelta_memory memory = {.size = sizeof memory};
    (void)unused;
    if (!core_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    pprofdelta_describe(self->base.made, &memory);
    Py_END_ALLOW_THREADS
    PyObject *result = core_memory(&memory);
    core_leave(self);
    return result;
}

/* ---- looking at profiles --------------------------------------------------------------------- */

/* Opens a profile, and returns what look makes of it. */
static PyObject *opened(Context *self, PyObject *object, pprofdelta_options *options,
                        PyObject *(*look)(Context *self, pprofdelta_profile *profile))
{
    core_input input;
    pprofdelta_profile *profile = NULL;
    pprofdelta_error err;
    pprofdelta_status status;
    PyObject *result = NULL;
    if (!core_enter(self))
        return NULL;
    options->max_memory = self->max_memory;
    if (core_input_init(&input, object)) {
        Py_BEGIN_ALLOW_THREADS
        status = pprofdelta_profile_open(options, NULL, input.bytes, input.len, &profile, &err);
        Py_END_ALLOW_THREADS
        result = status ? core_raise(type_of(self), &err) : look(self, profile);
        pprofdelta_profile_free(profile);
        core_input_fini(&input);
    }
    core_leave(self);
    return result;
}

static PyObject *census_of(Context *self, pprofdelta_profile *profile)
{
    pprofdelta_census census = {.size = sizeof census};
    (void)self;
    pprofdelta_profile_census(profile, &census);
    return core_census(&census);
}

static PyObject *context_check(Context *self, PyObject *profile)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    return opened(self, profile, &options, census_of);
}

static PyObject *tables_of(Context *self, pprofdelta_profile *profile)
{
    pprofdelta_sink sink = core_output_sink(&self->output);
    pprofdelta_error err;
    pprofdelta_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pprofdelta_profile_rewrite(profile, &sink, &err);
    Py_END_ALLOW_THREADS
    status = core_output_status(&self->output, status, &err);
    PyObject *result =
        status ? core_raise(type_of(self), &err) : core_output_tables(&self->output, type_of(self));
    core_output_reset(&self->output);
    return result;
}

static PyObject *context_tables(Context *self, PyObject *args)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_attribute target = {"target", NULL};
    PyObject *profile;
    if (!PyArg_ParseTuple(args, "Oz:tables", &profile, &target.value))
        return NULL;
    options.format = PPROFDELTA_TABLES;
    options.resource = &target;
    options.resource_len = target.value != NULL;
    return opened(self, profile, &options, tables_of);
}

#define METHOD(name, flags, doc)                                                                   \
    {                                                                                              \
#name, (PyCFunction)(void (*)(void))context_##name, flags, doc                             \
    }

static PyMethodDef methods[] = {
    METHOD(window, METH_O, "pprofdelta_window: returns (delta, report, tables)."),
    METHOD(base, METH_O, "pprofdelta_base."),
    METHOD(commit, METH_NOARGS, "pprofdelta_commit."),
    METHOD(abandon, METH_NOARGS, "pprofdelta_abandon."),
    METHOD(set_started, METH_O, "pprofdelta_set_started."),
    METHOD(save, METH_NOARGS, "pprofdelta_save: returns the state."),
    METHOD(load, METH_O, "pprofdelta_load."),
    METHOD(describe, METH_NOARGS, "pprofdelta_describe: returns a tuple."),
    METHOD(tables, METH_VARARGS, "pprofdelta_profile_rewrite: returns a tuple of four tables."),
    METHOD(check, METH_O, "pprofdelta_profile_census: returns a tuple."),
    METHOD(close, METH_NOARGS, "Frees the context."),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)context_new},
    {Py_tp_dealloc, (void *)context_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)"A context of the library."},
    {0, NULL},
};

PyType_Spec core_context_spec = {
    .name = "pprofdelta._core.Context",
    .basicsize = sizeof(Context),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
