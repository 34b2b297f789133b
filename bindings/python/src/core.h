/* The extension module pprofdelta._core.
 *
 * The module is thin: one Python method for each function of pprofdelta.h that the package uses. A
 * method takes its input from the caller's bytes without a copy, releases the GIL while the library
 * works, and returns bytes and tuples. The Python files of the package turn tuples into dataclasses
 * and numbers into enums. They also name the members of the tuples (_core.pyi).
 *
 * The module uses the limited API of Python 3.11, the first that has Py_buffer. One binary runs with
 * that version and every later one. A free-threaded Python has no limited API, so there the binary is for
 * one version.
 */
#ifndef PPROFDELTA_PYTHON_CORE_H
#define PPROFDELTA_PYTHON_CORE_H

#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>

#include "pprofdelta_profile.h"
#include "pprofdelta_tables.h"

/* What belongs to the module object. */
enum { CORE_CONTEXT, CORE_ADDER, CORE_TABLE, CORE_TYPES };

typedef struct core_state {
    PyTypeObject *types[CORE_TYPES];
    PyObject *error_for; /* a function: makes an exception from the members of an error */
} core_state;

/* Sets the exception for this error. Returns NULL. The type is a type of this module. */
PyObject *core_raise(PyTypeObject *type, const pprofdelta_error *err);

/* Makes an object of this type, whose own members are zero. */
void *core_alloc(PyTypeObject *type);

/* The end of a type's dealloc. */
void core_dealloc(PyObject *object);

/* ---- objects of the library: one thread at a time -------------------------------------------- */

/* What contexts and adders begin with. The library allows one call at a time on an object. The thread that
 * sets the flag uses the object until it clears the flag. No other member of the object needs a lock, with the
 * GIL or without one. */
typedef struct core_object {
    PyObject_HEAD
    void *made; /* by the library; NULL: closed or finished */
    atomic_bool is_busy;
} core_object;

/* Each begins a call. If another call is under way, sets an exception and returns false. core_enter does so
 * also if the object is closed. self begins with a core_object. */
bool core_enter(void *self);
bool core_enter_closed(void *self);
void core_leave(void *self);

/* ---- input and output ------------------------------------------------------------------------ */

/* Either owner or copy is set, or neither if there is no byte. */
typedef struct core_input {
    const void *bytes; /* never NULL */
    size_t len;
    PyObject *owner;
    void *copy;
} core_input;

/* Takes the bytes of any object with a contiguous buffer, or of a file: an open one, or that of a path. Sets
 * an exception and returns false if the object is none of these. The library relies on its checks of the input, so the input must not change while
 * it works without the GIL. Nothing changes a bytes object. The bytes of every other object are
 * copied: also a buffer that is read-only may be a view of what another thread writes. */
bool core_input_init(core_input *input, PyObject *object);
void core_input_fini(core_input *input);

enum { CORE_TABLES = 4 };

typedef struct core_columns core_columns;

/* The bytes or the tables that a sink of the library got. Its memory grows without the GIL. */
typedef struct core_output {
    char *bytes;
    size_t len, cap;
    core_columns *tables[CORE_TABLES]; /* all are NULL if the sink got bytes */
    bool is_short;                     /* memory was short: the sink refused what it got */
} core_output;

pprofdelta_sink core_output_sink(core_output *output);
PyObject *core_output_bytes(const core_output *output);
void core_output_fini(core_output *output);

/* Moves the tables into a tuple of Table objects; None without tables. The type is a type of this module. */
PyObject *core_output_tables(core_output *output, PyTypeObject *type);
void core_output_drop_tables(core_output *output);
int core_output_take(void *cookie, pprofdelta_tables *tables); /* of the sink */

/* Makes the output empty. Keeps the memory for the next one, unless it is much: libc gives freed memory
 * back to the system, and the next window would get it page by page. */
void core_output_reset(core_output *output);

/* If the sink failed since memory was short, the error becomes E_MEMORY. */
pprofdelta_status core_output_status(const core_output *output, pprofdelta_status status,
                                     pprofdelta_error *err);

/* ---- options and results --------------------------------------------------------------------- */

/* The options of the library with the memory that they refer to. */
typedef struct core_options {
    pprofdelta_options options;
    const char **counters, **gauges;
    pprofdelta_attribute *resource;
} core_options;

/* Reads the tuple that _options.py packs. Sets an exception and returns false if a member has the
 * wrong type. The strings belong to the tuple. */
bool core_options_init(core_options *parsed, PyObject *packed);
void core_options_fini(core_options *parsed);

/* Each returns a new tuple, or NULL with an exception. */
PyObject *core_report(const pprofdelta_report *report);
PyObject *core_memory(const pprofdelta_memory *memory);
PyObject *core_census(const pprofdelta_census *census);

/* ---- the types ------------------------------------------------------------------------------- */

extern PyType_Spec core_context_spec, core_adder_spec, core_table_spec;

#endif
