/* Python: the frames of CPython in a stack, and their names.
 *
 * A sample is taken in a thread that is in malloc, so its Python frames do not change meanwhile. They are read
 * from the interpreter's memory without a reference, an allocation or a lock of Python's. Where each version has them is in
 * layouts.inc. A frame becomes a number that is no address; what it means is in the tracker's pages (base/remains.h),
 * so that it is known after the process, too.
 *
 *     thread state -> frame -> code object, instruction -> line -> number of (function, file, line)
 *
 * Native and Python frames join at the interpreter's evaluation of a frame, which is a C function:
 *
 *     malloc  list_resize  evaluation | load_rows (main.py:42)  main (main.py:50) | PyEval_EvalCode  main
 *
 * Up to 3.10 each evaluation has one Python frame, and is known by its address. Since 3.11 it may have several, up to
 * one that is marked, and has a record of its own in its C frame. */
#ifndef PD_AGENT_PYTHON_H
#define PD_AGENT_PYTHON_H

#include "agent/stacks/stacks.h"

#include <stdbool.h>

/* Since 3.13 the interpreter publishes the offsets of frames and code objects itself, in _PyRuntime. */
enum { PD_PYTHON_PUBLISHED = 11 };

/* Offsets in the interpreter's structures, and sizes by which its build is known. 0: not in this version. */
typedef struct pd_python_layout {
    uint16_t minor;
    uint16_t code_size, str_size; /* tp_basicsize */
    uint16_t thread_id, thread_record,
        thread_frame; /* thread_frame is in the record, if there is one */
    uint16_t record_previous;
    uint16_t frame_previous, frame_code, frame_instruction, frame_is_entry, frame_owner;
    uint16_t code_name, code_file, code_first_line,
        code_lines; /* the instructions are at code_size */
    uint16_t bytes_length, bytes_text;
    uint16_t str_length, str_state, str_ascii, str_wide, str_kind_bit, str_ascii_bit;
    uint16_t published[PD_PYTHON_PUBLISHED]; /* where those are that it publishes */
} pd_python_layout;

/* The interpreter of this process. */
typedef struct pd_python {
    const pd_python_layout *layout; /* NULL: there is none whose frames can be read */
    void *(*current_state)(void);   /* up to 3.11: of the thread that holds the GIL */
    void *(*own_state)(void);       /* also without the GIL */
    int (*is_finalizing)(void);
    const void *code_type, *str_type, *bytes_type;
    uintptr_t evaluation, evaluation_end; /* the function; up to 3.10 */
} pd_python;

extern pd_python pd_the_python;

/* Looks for an interpreter among what is loaded. Returns whether there is one. If its frames cannot be read, says so once. */
bool pd_python_find(void);

/* Was an object loaded since this or the last call? */
bool pd_python_may_have_come(void);

enum { PD_JOINED_MAX = 2 * PD_STACK_MAX };

/* Calls the function with the stack of the caller, as of pd_unwind, and the Python frames of this thread in it. If there are
 * more than fit, the last frame says so. */
typedef void pd_stack_use(void *cookie, const uint64_t *stack, size_t depth);
void pd_python_stack(const pd_caller *caller, pd_stack_use *use, void *cookie);

/* ---- lines ------------------------------------------------------------------------------------ */

/* The line of an instruction by the table of its code object. instruction: its offset in bytes; -1: none has run yet. An instruction without a line
 * has the one before it. */
int pd_python_line(unsigned minor, const uint8_t *table, size_t len, int first_line,
                   long instruction);

/* ---- names ------------------------------------------------------------------------------------ */

/* A str, or bytes. */
typedef struct pd_python_text {
    const uint8_t *bytes;
    size_t len; /* in characters */
    unsigned width;
} pd_python_text;

/* The number of a frame. Equal frames have the same one. Returns 0 without memory. */
uint64_t pd_python_number(const pd_python_text *function, const pd_python_text *file,
                          int first_line, int line);

/* The number that stands for frames that are left out. */
uint64_t pd_python_deeper(void);

/* A pprofdelta_heap_namer of the numbers of frames. */
int pd_python_name_frame(void *cookie, uint64_t address, pprofdelta_frame *out);

/* The same for the names of a profile. *out is valid until the next call. One thread at a time. */
bool pd_python_name(uint64_t address, pprofdelta_symbol *out);

/* No thread makes a number meanwhile: while the pages of the tracker are moved or copied. */
void pd_python_hold(void);
void pd_python_give(void);

#endif
