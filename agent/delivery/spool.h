/* Writes finished profiles to a directory, one file each.
 *
 *     heap.PROGRAM.PID.SEQUENCE.pb.gz    a window
 *     heap.PROGRAM.PID.SEQUENCE.top.txt  the largest sites, when memory ran out or passed the threshold
 *
 * A file appears complete under its name or not at all, and never replaces another one. The
 * sequence numbers continue those of an earlier process with this program and pid (before an exec,
 * or long ago). */
#ifndef PD_AGENT_SPOOL_H
#define PD_AGENT_SPOOL_H

#include "agent/base/notice.h"
#include "agent/base/settings.h"

#include <stddef.h>
#include <sys/types.h>

enum { PD_SPOOL_NAME_MAX = 128 }; /* bytes of a name, with a slash before it */

typedef struct pd_spool_file {
    int fd;
    int base; /* the directory, or AT_FDCWD: its path is in the names */
    char temporary[PD_PATH_MAX + PD_SPOOL_NAME_MAX]; /* empty: the file has no name yet */
} pd_spool_file;

/* Keeps a descriptor of dir, which exec closes, for the time after a call by which the path may lead
 * elsewhere. The files are written there from now on, as long as the descriptor is that of dir and dir
 * was not removed; otherwise the path counts. release: that call failed. */
void pd_spool_hold(const char *dir);
void pd_spool_release(void);

/* Gives the calling thread a table of descriptors of its own, with no other descriptor than that of
 * pd_spool_hold. Returns false if the system cannot do that. */
bool pd_spool_own_table(void);

/* Creates a file in dir, without a name if the file system supports that, otherwise with a
 * temporary one. Returns a descriptor above 2 that exec closes, or -1 and errno. */
int pd_spool_create(pd_spool_file *file, const char *dir, pid_t pid);

/* Writes all of the data. Returns 0 or an errno value. */
int pd_spool_write(int fd, const void *data, size_t len);

/* Gives the file its name and closes it. The sequence number is *sequence, or the next one that
 * is free; *sequence is set to it. Adds the path to name, which may be NULL. Returns 0 or an
 * errno value; after an error the file is gone. */
int pd_spool_publish(pd_spool_file *file, const char *dir, pid_t pid, const char *suffix,
                     uint64_t *sequence, pd_fixed_text *name);

/* Returns whether dir has a file with this name, which begins with a slash. */
bool pd_spool_has(const char *dir, const pd_fixed_text *name);

/* Closes and removes the file. */
void pd_spool_discard(pd_spool_file *file);

/* Moves a descriptor that is 0, 1 or 2 to a higher number. Returns the descriptor, or -1 and
 * errno. */
int pd_spool_high(int fd);

#endif
