/* The program that this process runs: see program.h. */
#include "agent/program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

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

void pd_program_begin(void)
{
    static const char removed[] = " (deleted)"; /* which the kernel adds */
    char path[PATH_MAX];
    int kept = errno;
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    const char *from = program_invocation_short_name;
    if (len > 0) {
        path[len] = '\0';
        size_t end = sizeof removed - 1;
        if ((size_t)len > end && strcmp(path + len - end, removed) == 0)
            path[(size_t)len - end] = '\0';
        const char *slash = strrchr(path, '/');
        from = slash ? slash + 1 : path;
    }
    if (from && *from)
        pd_program_copy(name, from);
    errno = kept;
}

const char *pd_program_name(void)
{
    return name;
}
