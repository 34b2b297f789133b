/* In the place of demangle_libiberty.c in builds without libiberty. */
#include "symbolize/demangle.h"

bool cli_demangle_is_supported(void)
{
    return false;
}

size_t cli_demangle(const char *mangled, char to[CLI_DEMANGLED_MAX])
{
    (void)mangled;
    *to = 0;
    return 0;
}
