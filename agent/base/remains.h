/* The file in which the tables of a recorded process outlive it: what the agent writes and the command
 * reads.
 *
 *     heap.PROGRAM.PID.live     pd_remains_head | pages of the tracker ...
 *
 * The file is a memory image in areas that follow each other. The mapping holds a lock on the file (flock), so
 * that it is locked as long as the process lives. Another mount of the same file may have other locks (overlayfs). So
 * the head says which process has the file, and which file that is.
 *
 * Nothing in the file is trusted. What does not change has a check, a beat and an account have one each, and so has
 * what the library needs of the tracker. */
#ifndef PD_AGENT_REMAINS_H
#define PD_AGENT_REMAINS_H

#include "agent/base/launch.h"

#include "pprofdelta_common.h"

#include <stddef.h>

#define PD_REMAINS_ENDING ".live"     /* of the name; a number may follow: ".live.1" */
#define PD_REMAINS_USER   "uid-"      /* of the name of a folder for one user; the number follows */
#define PD_REMAINS_LOST   ".lost.txt" /* of the name of a file about windows that were lost */
/* They differ in many bits. */
#define PD_REMAINS_EARLY UINT64_C(0x0377656e66647070) /* the file is not complete yet */
#define PD_REMAINS_MAGIC UINT64_C(0x0365766c66647070)
#define PD_REMAINS_OVER  UINT64_C(0x03646e6566647070) /* the last window was written */

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
    uint64_t check; /* of what follows; 0: there is none */
    uint64_t len;   /* of the rows */
    int64_t nanos;  /* when it was made */
    char comment[1024];
    _Alignas(pd_remains_row) char rows[48 << 10];
} pd_remains_account;

/* The frames of an interpreter, in the tracker's pages. A stack has a number in place of an address: the address of a
 * pd_remains_frame, with what no address of a program has. */
#define PD_REMAINS_NUMBER ((uint64_t)0x5059 << 48)

typedef struct pd_remains_function {
    uint64_t check; /* of what follows */
    uint32_t name_len, file_len;
    uint32_t first_line;
    uint32_t unused;
    char text[]; /* the name and the file, each with a NUL; whole words */
} pd_remains_function;

typedef struct pd_remains_frame {
    uint64_t check;
    uint64_t function; /* its address */
    uint64_t line;
} pd_remains_frame;

/* A process, for others that see it in a /proc of their own. */
typedef struct pd_remains_process {
    char boot[40];       /* the id of the boot of its kernel */
    uint64_t numbers;    /* the inode of its namespace of process numbers */
    uint64_t number;     /* in there */
    uint64_t since_boot; /* when it began, in ticks; 0: not known */
} pd_remains_process;

/* What is noted every second. Two take turns, since the process may be killed while it writes one. */
typedef struct pd_remains_beat {
    uint64_t check;       /* of what follows */
    uint64_t serial;      /* the latest one has the highest */
    int64_t alive_nanos;  /* when the process was alive last, within a second or so */
    uint64_t next_number; /* of its next file */
} pd_remains_beat;

typedef struct pd_remains_head {
    uint64_t magic;
    uint64_t check;    /* of what follows, up to the areas */
    uint64_t root;     /* the address of the tracker */
    uint64_t dev, ino; /* of the file, as the process sees it */
    pd_remains_process process;
    uint32_t format, snapshot, has_account;
    uint32_t resource_len;
    char resource[PD_RESOURCE_MAX]; /* as in PPROFDELTA_RECORD_RESOURCE */
    pd_remains_area areas[PD_REMAINS_AREAS];
    pd_remains_beat beats[2];
    pd_remains_account account;
} pd_remains_head;

/* The check of a record of so many bytes, which begins with it: of the words behind it. Never 0. Sizes that the record
 * itself has are compared with their bounds before. */
uint64_t pd_remains_check(const uint64_t *check, size_t size);

enum { PD_REMAINS_HEAD_SIZE = offsetof(pd_remains_head, areas) - offsetof(pd_remains_head, check) };

static inline size_t pd_remains_size_of_account(const pd_remains_account *account)
{
    return offsetof(pd_remains_account, rows) + (size_t)account->len;
}

static inline size_t pd_remains_size_of_function(uint32_t name_len, uint32_t file_len)
{
    return (sizeof(pd_remains_function) + name_len + file_len + 2 + 7) / 8 * 8;
}

/* Returns the bytes at an address of the process, or NULL if not so many are there. */
typedef const void *pd_remains_find(const void *cookie, uint64_t address, size_t len);

/* Returns whether the number is that of a frame that is there. *out borrows. */
bool pd_remains_name_frame(pd_remains_find *find, const void *cookie, uint64_t number,
                           pprofdelta_frame *out);

/* The latest beat that is whole, or NULL. */
const pd_remains_beat *pd_remains_last_beat(const pd_remains_head *head);

/* Notes that the process lives. */
void pd_remains_beat_now(pd_remains_head *head, int64_t nanos, uint64_t next_number);

/* What /proc/PID/stat says. */
typedef struct pd_stat {
    char state;          /* of the main thread; 0: not known */
    uint64_t since_boot; /* when the process began, in ticks */
    int exit_code;       /* as waitpid returns it, if the main thread has ended */
} pd_stat;

pd_stat pd_stat_read(const char *text);

static inline bool pd_stat_has_ended(const pd_stat *stat)
{
    return !stat->state || stat->state == 'Z' || stat->state == 'X' || stat->state == 'x';
}

/* Reads what /proc/PID/stat and /proc/PID/status say: when the process began, 0 if it has ended, and its number in the
 * innermost namespace, 0 if the kernel does not say. */
void pd_remains_read_process(const char *stat, const char *status, pd_remains_process *out);

#endif
