/* The program that this process runs: see program.h. */
#include "agent/base/program.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static char name[PD_PROGRAM_MAX + 1] = "unknown";

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-+.", c));
}

/* A name that begins with a period or a hyphen would be a hidden file or look like an option. */
void pd_program_copy(char out[PD_PROGRAM_MAX + 1], const char *from)
{
    size_t len = strlen(from) < PD_PROGRAM_MAX ? strlen(from) : PD_PROGRAM_MAX;
    for (size_t i = 0; i < len; i++)
        out[i] = is_plain(from[i]) && (i || (from[i] != '.' && from[i] != '-')) ? from[i] : '_';
    out[len] = '\0';
    if (!len)
        memcpy(out, "_", 2);
}

/* A login shell is started with a hyphen in front of its name. */
void pd_program_begin(void)
{
    const char *from = program_invocation_short_name;
    if (from && *from == '-')
        from++;
    if (from && *from)
        pd_program_copy(name, from);
}

const char *pd_program_name(void)
{
    return name;
}
