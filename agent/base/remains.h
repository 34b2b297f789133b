/* The file in which the tables of a recorded process outlive it: what the agent writes and the command
 * reads.
 *
 *     heap.PROGRAM.PID.live     pd_remains_head | pages of the tracker ...
 *
 * The file is a memory image: each byte was at `base` + its offset. The process holds a lock on the
 * file (flock) while it lives. Nothing in the file is trusted. */
#ifndef PD_AGENT_REMAINS_H
#define PD_AGENT_REMAINS_H

#include "agent/base/launch.h"

#include <stdint.h>

#define PD_REMAINS_ENDING ".live" /* of the name; a number may follow: ".live.1" */
#define PD_REMAINS_MAGIC  UINT64_C(0x0165766c66647070)
#define PD_REMAINS_MOST   ((uint64_t)64 << 20) /* bytes of a file */

/* The type of the account of what the process is made of, which all profiles have if one has it. */
#define PD_ACCOUNT_TYPE "rss_space"
#define PD_ACCOUNT_UNIT "bytes"

typedef struct pd_remains_head {
    uint64_t magic; /* 0: the file is not complete yet */
    uint64_t base, root;
    uint64_t used; /* bytes of the file that hold something */
    uint64_t pid,
        pid_space;        /* the latter: the inode of the namespace that pid is in; 0: not known */
    int64_t alive_nanos;  /* when the process was alive last, within a second or so */
    uint64_t next_number; /* of its next file */
    uint32_t format, snapshot, account;
    uint32_t resource_len;
    char resource[PD_RESOURCE_MAX]; /* as in PPROFDELTA_RECORD_RESOURCE */
} pd_remains_head;

#endif
