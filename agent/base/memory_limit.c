/* The memory limit of the process: see memory_limit.h. */
#include "agent/base/memory_limit.h"

#include "agent/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

/* Takes the number in the file if it is smaller. "max" is no number, and the number that version 1
 * has instead is larger than any machine. */
static void take(const char *path, pd_memory_limit *out)
{
    char text[32];
    if (!pd_read_text(path, text, sizeof text) || *text < '0' || *text > '9')
        return;
    uint64_t bytes = strtoull(text, NULL, 10);
    if (!bytes || (out->bytes && bytes >= out->bytes))
        return;
    out->bytes = bytes;
    memcpy(out->where, path, strlen(path) + 1);
}

/* The cgroup, those above it, and the mount itself. */
static void take_all(const char *folder, const char *cgroup, size_t len, const char *file,
                     pd_memory_limit *out)
{
    for (;;) {
        char path[PD_LIMIT_PATH_MAX];
        while (len && cgroup[len - 1] == '/')
            len--;
        int size = snprintf(path, sizeof path, "%s%.*s/%s", folder, (int)len, cgroup, file);
        if (size > 0 && (size_t)size < sizeof path)
            take(path, out);
        if (!len)
            return;
        while (len && cgroup[len - 1] != '/')
            len--;
    }
}

/* Returns whether the list, which has commas, names the controller of memory. */
static bool has_memory(const char *list, size_t len)
{
    static const char name[] = "memory";
    const size_t name_len = sizeof name - 1;
    for (const char *at = list; at + name_len <= list + len; at++) {
        const char *end = at + name_len;
        if ((at == list || at[-1] == ',') && !memcmp(at, name, name_len) &&
            (end == list + len || *end == ','))
            return true;
    }
    return false;
}

/* A line is HIERARCHY:CONTROLLERS:PATH. Version 2 has no controllers in it. */
static void take_line(const char *line, size_t len, const char *folder, pd_memory_limit *out)
{
    char mount[PD_LIMIT_PATH_MAX];
    const char *list = memchr(line, ':', len);
    const char *path = list ? memchr(list + 1, ':', len - (size_t)(list + 1 - line)) : NULL;
    if (!path)
        return;
    size_t list_len = (size_t)(path - ++list), path_len = (size_t)(line + len - ++path);
    if (!list_len) {
        take_all(folder, path, path_len, "memory.max", out);
    } else if (has_memory(list, list_len)) {
        int size = snprintf(mount, sizeof mount, "%s/memory", folder);
        if (size > 0 && (size_t)size < sizeof mount)
            take_all(mount, path, path_len, "memory.limit_in_bytes", out);
    }
}

void pd_memory_limit_find(const char *cgroups, const char *folder, uint64_t machine_bytes,
                          pd_memory_limit *out)
{
    char text[8192];
    *out = (pd_memory_limit){.bytes = machine_bytes};
    pd_read_text(cgroups, text, sizeof text);
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        take_line(line, len, folder, out);
        line += len + (line[len] == '\n');
    }
}

void pd_memory_limit_of_self(pd_memory_limit *out)
{
    struct sysinfo machine;
    uint64_t bytes = sysinfo(&machine) ? 0 : (uint64_t)machine.totalram * machine.mem_unit;
    pd_memory_limit_find("/proc/self/cgroup", "/sys/fs/cgroup", bytes, out);
}
