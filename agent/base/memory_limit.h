/* How much memory the process may use: the smallest limit of its cgroup and of those above it, or what the
 * machine has. And for how long threads have waited for memory (pressure stall information, PSI).
 *
 * The process reads this at its start, not the command that started it: that may be in another
 * cgroup, or outside the container, and the settings may be those of an image. */
#ifndef PD_AGENT_MEMORY_LIMIT_H
#define PD_AGENT_MEMORY_LIMIT_H

#include <stdint.h>

enum { PD_LIMIT_PATH_MAX = 512 };

typedef struct pd_memory_limit {
    uint64_t bytes;                /* 0: not known */
    char where[PD_LIMIT_PATH_MAX]; /* the file that has it; empty: it is what the machine has */
} pd_memory_limit;

/* Finds the limit. `cgroups` is the path of the process's file in /proc, `folder` where cgroups are
 * mounted. Files that are not there are limits that are not there: in a container, the path of the
 * process is often that of the host, and the container's own limit is that of the mount. */
void pd_memory_limit_find(const char *cgroups, const char *folder, uint64_t machine_bytes,
                          pd_memory_limit *out);

/* The same of this process. */
void pd_memory_limit_of_self(pd_memory_limit *out);

/* Finds the file that says for how long a thread of the cgroup has waited for memory, in the innermost cgroup
 * that has one; otherwise it is that of the machine. Empty if there is none: the kernel has no PSI. */
void pd_memory_pressure_find(const char *cgroups, const char *folder, const char *machine,
                             char path[PD_LIMIT_PATH_MAX]);

/* Returns that time in microseconds, of which there are only more, or 0 if it cannot be read. */
uint64_t pd_memory_pressure_read(const char *path);

#endif
