/* The file in which the tables of a recorded process outlive it: what the agent writes and the command
 * reads.
 *
 *     heap.PROGRAM.PID.live     pd_remains_head | pages of the tracker ...
 *
 * The file is a memory image in areas that follow each other. The mapping holds a lock on the file (flock), so
 * that it is locked as long as the process lives. Nothing in the file is trusted. */
#ifndef PD_AGENT_REMAINS_H
#define PD_AGENT_REMAINS_H

#include "agent/base/launch.h"

#include <stdint.h>

#define PD_REMAINS_ENDING ".live" /* of the name; a number may follow: ".live.1" */
#define PD_REMAINS_MAGIC  UINT64_C(0x0265766c66647070)
#define PD_REMAINS_OVER   UINT64_C(0x0065766c66647070) /* the last window was written */

/* The sizes of the areas: each is as large as all before it together, so that a small tracker takes little
 * address space. */
enum { PD_REMAINS_AREAS = 7 };
#define PD_REMAINS_FIRST ((uint64_t)1 << 20)
#define PD_REMAINS_MOST  (PD_REMAINS_FIRST << (PD_REMAINS_AREAS - 1))

static inline uint64_t pd_remains_area_off(unsigned i)
{
    return i ? PD_REMAINS_FIRST << (i - 1) : 0;
}

static inline uint64_t pd_remains_area_size(unsigned i)
{
    return i ? PD_REMAINS_FIRST << (i - 1) : PD_REMAINS_FIRST;
}

typedef struct pd_remains_area {
    uint64_t base; /* the address of its first byte; 0: it is not in the file */
    uint64_t used; /* bytes that hold something */
} pd_remains_area;

/* The types of the account of what the process is made of, which all profiles have if one has them. */
#define PD_ACCOUNT_TYPE   "rss_space"
#define PD_ACCOUNT_MAPPED "mapped_space"
#define PD_ACCOUNT_UNIT   "bytes"

/* A row of it. Behind it are the stack and the names of the frames that call from no address, each with a NUL. */
typedef struct pd_remains_row {
    int64_t bytes, mapped;
    uint32_t size; /* with what is behind it, a multiple of 8 */
    uint16_t depth, names;
} pd_remains_row;

/* The account that was made last. */
typedef struct pd_remains_account {
    uint64_t len;  /* of the rows; 0: there is none */
    int64_t nanos; /* when it was made */
    char comment[1024];
    _Alignas(pd_remains_row) char rows[48 << 10];
} pd_remains_account;

typedef struct pd_remains_head {
    uint64_t magic; /* 0: the file is not complete yet */
    uint64_t root;  /* the address of the tracker */
    pd_remains_area areas[PD_REMAINS_AREAS];
    int64_t alive_nanos;  /* when the process was alive last, within a second or so */
    uint64_t next_number; /* of its next file */
    uint32_t format, snapshot, has_account;
    uint32_t resource_len;
    char resource[PD_RESOURCE_MAX]; /* as in PPROFDELTA_RECORD_RESOURCE */
    pd_remains_account account;
} pd_remains_head;

#endif
