/* How the agent gets into a program. This is the part that the agent shares with the command
 * `pprofdelta record`; the command includes no other header of the agent.
 *
 *     variables   the environment variables that hold the agent's settings
 *     signal      which signal may ask the agent for a profile
 *     check       can the agent be loaded into this program?
 *     runtime     which language runtime is it?
 *     name        its name in names of files
 *
 * The command sets the variables and checks the program before it runs it. The agent reads the
 * variables, and checks each program that its own process starts.
 *
 * The agent cannot be loaded into some programs. The loader preloads nothing into a program that
 * runs with other rights than its user's, and a program that is linked statically has no loader.
 * The loader of another C library ends the program, because it does not find the agent's C
 * library. A sanitizer ends the program, because its own runtime must come first.
 *
 * The agent calls these functions between vfork and exec, too. So they do not allocate, take no
 * lock and keep no state, and a call needs about 3 kB of stack beside its arguments. */
#ifndef PD_AGENT_LAUNCH_H
#define PD_AGENT_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- variables ------------------------------------------------------------------------------- */

#define PD_VARIABLE_DIR       "PPROFDELTA_RECORD_DIR"
#define PD_VARIABLE_COMMAND   "PPROFDELTA_RECORD_COMMAND"
#define PD_VARIABLE_TIMEOUT   "PPROFDELTA_RECORD_TIMEOUT"
#define PD_VARIABLE_INTERVAL  "PPROFDELTA_RECORD_INTERVAL"
#define PD_VARIABLE_RATE      "PPROFDELTA_RECORD_RATE"
#define PD_VARIABLE_SNAPSHOT  "PPROFDELTA_RECORD_SNAPSHOT"
#define PD_VARIABLE_SIGNAL    "PPROFDELTA_RECORD_SIGNAL"
#define PD_VARIABLE_THRESHOLD "PPROFDELTA_RECORD_THRESHOLD"
#define PD_VARIABLE_ACCOUNT   "PPROFDELTA_RECORD_ACCOUNT"
#define PD_VARIABLE_PID       "PPROFDELTA_RECORD_PID"
#define PD_VARIABLE_QUIET     "PPROFDELTA_RECORD_QUIET"
#define PD_VARIABLE_SAID      "PPROFDELTA_RECORD_SAID"
#define PD_VARIABLE_FORMAT    "PPROFDELTA_RECORD_FORMAT"
#define PD_VARIABLE_RESOURCE  "PPROFDELTA_RECORD_RESOURCE"
#define PD_VARIABLE_KEEP      "PPROFDELTA_RECORD_KEEP"
#define PD_VARIABLE_LIVE      "PPROFDELTA_RECORD_LIVE"
#define PD_VARIABLE_PRESSURE  "PPROFDELTA_RECORD_PRESSURE"
#define PD_VARIABLE_PROBES    "PPROFDELTA_RECORD_PROBES"
#define PD_VARIABLE_PREFIX    "PPROFDELTA_RECORD_" /* of all of them */

/* The largest values. */
#define PD_TIMEOUT_SECONDS_MAX UINT64_C(86400)
#define PD_RATE_MAX            (UINT64_MAX / 128)
#define PD_RUN_MAX             40    /* bytes of the name of a run, with a NUL */
#define PD_RESOURCE_MAX        16384 /* bytes of the variable, with a NUL; 256 attributes */

/* Decodes %XX in place. Returns false if a % has no two hexadecimal digits behind it, or is a NUL. */
bool pd_decode_percent(char *text);

/* Returns the time limit of the command, in seconds: the given one, or else the interval within bounds. */
uint64_t pd_launch_timeout(uint64_t given_nanos, uint64_t interval_nanos);

/* Returns false for the variables that would start the agent in a command that gets a profile. */
bool pd_launch_is_for_command(const char *variable);

/* ---- signal ---------------------------------------------------------------------------------- */

/* Returns whether the signal may ask for a profile. The agent handles a signal only where it would end the
 * program. So the signal must end a program by default, and must be one that is sent on purpose. */
bool pd_launch_may_ask(int number);

/* ---- check ----------------------------------------------------------------------------------- */

typedef struct pd_launch_result {
    const char
        *obstacle; /* the end of a sentence that begins with the path: "is setuid"; NULL: none is
                             known, and the file may be one that cannot be read */
    int error;     /* an errno value if the file could not be opened; otherwise 0 */
    char path[PATH_MAX]; /* the file that was checked last: the program or its interpreter */
} pd_launch_result;

/* Finds a program as execvp does: a name without a slash in the folders of PATH (NULL: the
 * default of the system). Returns 0, ENAMETOOLONG, ENOENT, or EACCES if a file of that name
 * cannot be run. */
int pd_launch_find(const char *command, const char *folders, char path[PATH_MAX]);

/* Checks a program. Of a script, checks the interpreter. */
void pd_launch_check(const char *program, pd_launch_result *out);

/* ---- runtime ---------------------------------------------------------------------------------
 * A language runtime takes the memory of its objects from the kernel and not from malloc, so a heap agent
 * sees only a part of its heap. So does a program with an allocator whose functions have other names than malloc. */

/* Returns one sentence, with no period at its end: what is seen of the heap of the program at path, what is
 * not, and what shows the rest. Empty if its file is not one of a language runtime: it is one if it carries
 * the build note of Go, needs a library of the runtime, or has the function by which a launcher starts the
 * runtime. It has such an allocator if its symbol table says so. The file's name does not count. Does not allocate. */
const char *pd_launch_advice(const char *path);

/* ---- name ------------------------------------------------------------------------------------ */

enum { PD_PROGRAM_MAX = 40 }; /* bytes of its name in names of files */

/* Copies a name for use in names of files: not empty, cut to PD_PROGRAM_MAX bytes, and without
 * characters that a shell would change. */
void pd_program_copy(char out[PD_PROGRAM_MAX + 1], const char *from);

/* Reads the name. Call at the start. */
void pd_program_begin(void);

/* The name, for names of files: the last part of the path that was run, which may be a symbolic link.
 * Of a script, it is that of the interpreter. "unknown" if the program was started without a name. */
const char *pd_program_name(void);

#endif
