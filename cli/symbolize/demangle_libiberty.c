/* The names of C++ and Rust functions as people write them: see symbolize_view.h.
 *
 * libiberty knows both schemes of Rust and that of C++, is small, has no dependencies, and has a
 * static library. __cxa_demangle knows C++ only and needs the C++ library. Names are shown without
 * the parameters of the function, as pprof shows them, and with template arguments.
 *
 * A name of a few bytes can stand for gigabytes, and damaged names have made demanglers crash. So
 * names and results have limits, and all names are demangled in a child process (apart.h). A name
 * that is not demangled there stays mangled. */
#include "symbolize/symbolize_view.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

typedef struct result {
    char *to;
    size_t len;
    jmp_buf too_long;
} result;

/* The demangler has no other way to stop. What it has allocated then is lost with the process. */
static void take_text(const char *text, size_t len, void *cookie)
{
    result *r = cookie;
    if (len >= CLI_DEMANGLED_MAX - r->len)
        longjmp(r->too_long, 1);
    memcpy(r->to + r->len, text, len);
    r->len += len;
}

static bool demangle_name(const char *mangled, result *r)
{
    if (setjmp(r->too_long))
        return false;
    if (rust_demangle_callback(mangled, DMGL_RUST, take_text, r))
        return true;
    r->len = 0;
    return cplus_demangle_v3_callback(mangled, DMGL_ANSI, take_text, r) != 0;
}

size_t cli_demangle(const char *mangled, char to[CLI_DEMANGLED_MAX]) // NOLINT: it is filled
{
    result r = {.to = to};
    if (strlen(mangled) > CLI_MANGLED_MAX)
        return 0;
    while (mangled[0] == '_' && mangled[1] == '_') /* of macOS, and of some linkers */
        mangled++;
    return demangle_name(mangled, &r) ? r.len : 0;
}
