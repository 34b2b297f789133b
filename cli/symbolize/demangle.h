/* The names of C++ and Rust functions as people write them.
 *
 * libiberty knows both schemes of Rust and that of C++, is small, has no dependencies, and has a
 * static library. __cxa_demangle knows C++ only and needs the C++ library. Names are shown without
 * the parameters of the function, as pprof shows them, and with template arguments.
 *
 * A name of a few bytes can stand for gigabytes, and damaged names have made demanglers crash. So
 * names and results have limits, and all names are demangled in a child process (apart.h). A name
 * that is not demangled there stays mangled. */
#ifndef CLI_DEMANGLE_H
#define CLI_DEMANGLE_H

#include <stddef.h>

enum { CLI_MANGLED_MAX = 4096, CLI_DEMANGLED_MAX = 16384 };

/* Writes the demangled name to `to`. Returns its length, or 0 if the name is not mangled, or if it or
 * the result is too long. May crash or loop if the name is damaged. Weak: NULL in a build without
 * libiberty. */
__attribute__((weak)) size_t cli_demangle(const char *mangled, char to[CLI_DEMANGLED_MAX]);

#endif
