/* Can the agent get into a program? The command asks before it runs one, and the agent asks whenever
 * its own process starts another.
 *
 * The loader preloads nothing into a program that runs with other rights than its user, and there is
 * no loader in a program that is linked statically. A loader of another C library ends the program,
 * because it does not find the agent's C library. A sanitizer ends the program, because it must come
 * first.
 *
 * The agent asks between vfork and exec, too. So nothing here allocates, takes a lock or keeps state,
 * and a call needs about 3 kB of stack beside its arguments. Files are read, not mapped: a file that
 * is cut short meanwhile does no harm. */
#ifndef PD_AGENT_ADMISSION_H
#define PD_AGENT_ADMISSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* What the agent was built for. */
typedef struct pd_admission_agent {
    uint8_t elf_class, byte_order;
    uint16_t machine;
    bool is_for_glibc;
} pd_admission_agent;

typedef enum pd_obstacle {
    PD_ADMITTED = 0, /* none, or none that can be known: the file can be run and not be read */
    PD_NOT_OPENED,   /* *error is an errno value */
    PD_CUT_OFF,      /* the file ends within its header */
    PD_SETUID,       /* ... or setgid, or with file capabilities */
    PD_SETGID,
    PD_CAPABILITIES,
    PD_OTHER_MACHINE, /* or word size, or byte order */
    PD_STATIC,
    PD_OTHER_LIBC,
    PD_SANITIZED
} pd_obstacle;

typedef struct pd_admission {
    pd_obstacle obstacle;
    int error;             /* with PD_NOT_OPENED */
    const char *sanitizer; /* with PD_SANITIZED: its library, or what it exports */
    char path[PATH_MAX];   /* the file that is in the way: the program, or a script's interpreter */
} pd_admission;

/* Reads what the agent at path was built for. Returns 0, or an errno value, which is ENOEXEC where
 * the file is no shared object. */
int pd_admission_agent_read(const char *path, pd_admission_agent *out);

/* Finds the program as execvp does: a name without a slash in the folders of PATH (NULL: the
 * default of the system). Returns 0, or ENOENT, or EACCES where a file of that name is no program.
 */
int pd_admission_find(const char *command, const char *folders, char path[PATH_MAX]);

/* Looks at the program and, where it is a script, at its interpreter. */
void pd_admission_look(const char *program, const pd_admission_agent *agent, pd_admission *out);

#endif
