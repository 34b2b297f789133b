/* The memory limit of the process, and waits for memory: see memory_limit.h. */
#include "agent/base/memory_limit.h"

#include "agent/base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* Takes the number in the file if it is smaller. "max" is no number, and the number that version 1
 * has instead is larger than any machine. */
static void take_limit(const char *path, void *cookie)
{
    pd_memory_limit *out = cookie;
    char text[32];
    pd_read_text(path, text, sizeof text);
    uint64_t bytes = pd_number_at(text);
    if (!bytes || (out->bytes && bytes >= out->bytes))
        return;
    out->bytes = bytes;
    memcpy(out->where, path, strlen(path) + 1);
}

/* Visits the file of the cgroup whose path is behind the mark, of those above it, and of the mount itself. */
static void visit_all(const char *lines, const char *mark, const char *folder, const char *mount,
                      const char *file, void (*visit)(const char *path, void *cookie), void *cookie)
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
            visit(path, cookie);
    }
}

/* A line is HIERARCHY:CONTROLLERS:PATH. Version 2 is hierarchy 0 and has no controllers in it. */
enum { LINES_MAX = 8192 };
static const char version_2[] = "\n0::";

static void read_lines(const char *cgroups, char lines[LINES_MAX])
{
    lines[0] = '\n';
    pd_read_text(cgroups, lines + 1, LINES_MAX - 1);
}

void pd_memory_limit_find(const char *cgroups, const char *folder, uint64_t machine_bytes,
                          pd_memory_limit *out)
{
    char lines[LINES_MAX];
    *out = (pd_memory_limit){.bytes = machine_bytes};
    read_lines(cgroups, lines);
    visit_all(lines, version_2, folder, "", "memory.max", take_limit, out);
    visit_all(lines, ":memory:", folder, "/memory", "memory.limit_in_bytes", take_limit, out);
}

void pd_memory_limit_of_self(pd_memory_limit *out)
{
    struct sysinfo machine;
    uint64_t bytes = sysinfo(&machine) ? 0 : (uint64_t)machine.totalram * machine.mem_unit;
    pd_memory_limit_find("/proc/self/cgroup", "/sys/fs/cgroup", bytes, out);
}

/* ---- waits for memory ------------------------------------------------------------------------ */

/* The innermost cgroup comes first. */
static void find_first(const char *path, void *found)
{
    if (!*(char *)found && access(path, R_OK) == 0)
        memcpy(found, path, strlen(path) + 1);
}

void pd_memory_pressure_find(const char *cgroups, const char *folder, const char *machine,
                             char path[PD_LIMIT_PATH_MAX])
{
    char lines[LINES_MAX];
    *path = '\0';
    read_lines(cgroups, lines);
    visit_all(lines, version_2, folder, "", "memory.pressure", find_first, path);
    find_first(machine, path);
}

uint64_t pd_memory_pressure_read(const char *path)
{
    static const char first[] = "some ", total[] = " total=";
    char text[256];
    if (!*path || !pd_read_text(path, text, sizeof text) ||
        strncmp(text, first, sizeof first - 1) != 0)
        return 0;
    text[strcspn(text, "\n")] = '\0';
    const char *number = strstr(text, total);
    return number ? pd_number_at(number + sizeof total - 1) : 0;
}
