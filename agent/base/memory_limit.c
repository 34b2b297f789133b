/* The memory limit of the process: see memory_limit.h. */
#include "agent/base/memory_limit.h"

#include "agent/base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

/* Takes the number in the file if it is smaller. "max" is no number, and the number that version 1
 * has instead is larger than any machine. */
static void take(const char *path, pd_memory_limit *out)
{
    char text[32];
    pd_read_text(path, text, sizeof text);
    uint64_t bytes = 0;
    for (const char *at = text; *at >= '0' && *at <= '9'; at++)
        bytes = 10 * bytes + (uint64_t)(*at - '0');
    if (!bytes || (out->bytes && bytes >= out->bytes))
        return;
    out->bytes = bytes;
    memcpy(out->where, path, strlen(path) + 1);
}

/* The cgroup whose path is behind the mark, those above it, and the mount itself. */
static void take_all(const char *lines, const char *mark, const char *folder, const char *mount,
                     const char *file, pd_memory_limit *out)
{
    const char *cgroup = strstr(lines, mark);
    if (!cgroup)
        return;
    cgroup += strlen(mark);
    for (size_t len = strcspn(cgroup, "\n") + 1; len--;) {
        char path[PD_LIMIT_PATH_MAX];
        if (len && cgroup[len] != '/' && cgroup[len] != '\n' && cgroup[len])
            continue;
        int size =
            snprintf(path, sizeof path, "%s%s%.*s/%s", folder, mount, (int)len, cgroup, file);
        if (size > 0 && (size_t)size < sizeof path)
            take(path, out);
    }
}

/* A line is HIERARCHY:CONTROLLERS:PATH. Version 2 is hierarchy 0 and has no controllers in it. */
void pd_memory_limit_find(const char *cgroups, const char *folder, uint64_t machine_bytes,
                          pd_memory_limit *out)
{
    char text[8192] = "\n";
    *out = (pd_memory_limit){.bytes = machine_bytes};
    pd_read_text(cgroups, text + 1, sizeof text - 1);
    take_all(text, "\n0::", folder, "", "memory.max", out);
    take_all(text, ":memory:", folder, "/memory", "memory.limit_in_bytes", out);
}

void pd_memory_limit_of_self(pd_memory_limit *out)
{
    struct sysinfo machine;
    uint64_t bytes = sysinfo(&machine) ? 0 : (uint64_t)machine.totalram * machine.mem_unit;
    pd_memory_limit_find("/proc/self/cgroup", "/sys/fs/cgroup", bytes, out);
}
