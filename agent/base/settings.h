/* The agent's settings, from environment variables. `pprofdelta record` sets the variables; they
 * may also be set by hand together with LD_PRELOAD. They are read once, before main, and copied,
 * since the program may change its environment.
 *
 *     PPROFDELTA_RECORD_DIR        directory for profiles (the current directory at the start)
 *     PPROFDELTA_RECORD_COMMAND    shell command that gets each profile, instead of a directory; if
 *                                  it fails for the last profile, that is written to
 *                                  PPROFDELTA_RECORD_DIR if that is set
 *     PPROFDELTA_RECORD_TIMEOUT    time limit of the command in seconds (the interval, but at least
 *                                  5 and at most 60)
 *     PPROFDELTA_RECORD_INTERVAL   seconds between two profiles, with a fraction (60)
 *     PPROFDELTA_RECORD_RATE       mean number of bytes between two samples (524288)
 *     PPROFDELTA_RECORD_SNAPSHOT   1: in-use values are totals, not changes, as always in otlp
 *     PPROFDELTA_RECORD_SIGNAL     number of the signal that asks for a profile (SIGUSR2; 0: none)
 *     PPROFDELTA_RECORD_THRESHOLD  bytes in use at which the largest sites are reported; 1% to 100% are a
 *                                  share of the memory limit (memory_limit.h)
 *     PPROFDELTA_RECORD_ACCOUNT    0: no account of what the process is made of (1)
 *     PPROFDELTA_RECORD_LIVE       0: no file from which the last window of a killed process is made (1)
 *     PPROFDELTA_RECORD_PROBES     1: no stacks and no profiles: samples are only probes (heap/usdt.h), and taken only
 *                                  while somebody listens
 *     PPROFDELTA_RECORD_PRESSURE   1: a profile when threads wait for memory (memory_limit.h)
 *     PPROFDELTA_RECORD_PID        the process that prints where its profiles are
 *     PPROFDELTA_RECORD_QUIET      1: it does not
 *     PPROFDELTA_RECORD_SAID       two digits, which become 1 in the environment of a process that
 *                                  said why it is not recorded, or which functions were not
 *                                  replaced: programs that it starts do not repeat that
 *     PPROFDELTA_RECORD_FORMAT     as --format (pprof)
 *     PPROFDELTA_RECORD_RESOURCE   the attributes of the resource of otlp, as in OTEL_RESOURCE_ATTRIBUTES:
 *                                  KEY=VALUE,KEY=VALUE. Bytes of either may be written %XX; , = and %
 *                                  must be
 *     PPROFDELTA_RECORD_KEEP       LIMIT,RUN: delete the oldest files of the run over the limit, which is
 *                                  files=N, bytes=N or nanos=N; RUN has letters and digits. Without effect
 *                                  with a command
 */
#ifndef PD_AGENT_SETTINGS_H
#define PD_AGENT_SETTINGS_H

#include "agent/base/launch.h"
#include "agent/base/memory_limit.h"
#include "pprofdelta_common.h"

#include <sys/types.h>

#define PD_NANOS_PER_SECOND UINT64_C(1000000000)

enum { PD_PATH_MAX = 1024 };

typedef enum pd_keep { PD_KEEP_ALL, PD_KEEP_FILES, PD_KEEP_BYTES, PD_KEEP_NANOS } pd_keep;

typedef struct pd_settings {
    char dir[PD_PATH_MAX];   /* absolute; empty: none, only with command */
    const char *command;     /* NULL: none */
    uint64_t timeout;        /* of command, in seconds, at least 1 */
    uint64_t interval_nanos; /* at least a millisecond */
    uint64_t rate;           /* at least 1 */
    uint64_t threshold;      /* 0: none */
    uint64_t share;          /* the percentage of the limit that threshold is; 0: it is none */
    pd_memory_limit limit;   /* valid if it is */
    uint64_t signal;         /* 0: none */
    uint64_t command_pid;    /* the process that `pprofdelta record` became; 0: not known */
    uint64_t snapshot, account, live, is_quiet, pressure, probes; /* 0 or 1 */
    char pressure_file[PD_LIMIT_PATH_MAX]; /* if it is 1; empty: there is none */
    pd_keep keep;                          /* what keep_most limits */
    uint64_t keep_most;
    char run[PD_RUN_MAX]; /* which run that is, for keep */
    pprofdelta_format format;
    const pprofdelta_attribute *resource;
    size_t resource_len;
    const char *resource_text; /* as the variable has it; empty: none */
} pd_settings;

/* The end of the names of files with profiles. */
static inline const char *pd_settings_ending(const pd_settings *settings)
{
    return settings->format != PPROFDELTA_PPROF ? ".otlp.gz" : ".pb.gz";
}

/* Reads the environment, or a copy of one: NAME=VALUE, each with a NUL, and one more NUL. Returns NULL, or the variable
 * whose value is invalid. */
const char *pd_settings_read(pd_settings *settings, const char *copy);

#endif
