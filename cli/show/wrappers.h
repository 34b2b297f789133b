/* Which frames of a stack say nothing about the program: the functions of the allocator and the inner
 * ones of the library at its leaf end, and those that start a program or a thread at its root end.
 * `show` folds them away.
 *
 *     _start  __libc_start_main  main  serve  parse  operator new  malloc     root first
 *     `-- start-up, hidden ---'                      `-- allocator, hidden -'
 *
 *     main  serve  std::vector::push_back  std::vector::_M_realloc_insert  std::string::string  malloc
 *                  the program's call      `-- hidden -------------------------------------------'
 *
 * A frame of any kind in the middle of a stack is shown, but for those of CPython itself between Python frames:
 *
 *     main.<module>  main.load_rows  numpy.zeros  PyArray_Zeros     with --all-frames: PyEval_EvalCode, _PyEval_Vector, ... */
#ifndef CLI_SHOW_WRAPPERS_H
#define CLI_SHOW_WRAPPERS_H

#include "text.h"

enum {
    CLI_FRAME_ALLOCATES = 1,   /* a function of an allocator, or of what wraps it */
    CLI_FRAME_STARTS = 2,      /* starts the program, a thread, a goroutine, an event */
    CLI_FRAME_IN_LIBC = 4,     /* a start of the C library's */
    CLI_FRAME_IS_NAMELESS = 8, /* the frame has no function */
    CLI_FRAME_IS_MAIN = 16,    /* main: a start if it calls CLI_FRAME_STARTS_RUST */
    CLI_FRAME_STARTS_RUST = 32,
    CLI_FRAME_IN_LIBRARY = 64, /* a public function of the library of C++ or Rust */
    CLI_FRAME_INTERPRETS = 128 /* of CPython itself: hidden in a stack that has a Python frame */
};

/* What a frame is: the bits above. name is the function as it is shown, demangled or not; file is
 * that of the mapping; source may be empty. is_nameless: name was made from an address. */
unsigned cli_frame_kind(cli_string name, cli_string file, cli_string source, bool is_nameless);

/* The same for a frame that is also of an allocator. */
static inline unsigned cli_frame_as_allocator(unsigned kind)
{
    return (kind & ~(unsigned)CLI_FRAME_IN_LIBRARY) | CLI_FRAME_ALLOCATES;
}

/* Whose a frame is, by its function, its file or its source. A later one says more about the program. Of Python, the
 * language has a library and packages are others. file is empty if it is the program's. */
typedef enum cli_frame_owner {
    CLI_FRAME_OF_LANGUAGE,
    CLI_FRAME_OF_LIBRARY,
    CLI_FRAME_OF_PROGRAM
} cli_frame_owner;
cli_frame_owner cli_frame_owner_of(cli_string name, cli_string file, cli_string source);

/* Does the frame start the program, as the outermost that is left of a stack, which calls `callee`? */
bool cli_frame_starts(unsigned kind, unsigned callee, bool is_root);

#endif
