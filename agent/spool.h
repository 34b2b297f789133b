/* Where finished profiles go: one file each into a directory.
 *
 *     heap.PID.SEQUENCE.pb.gz    a window
 *     heap.PID.SEQUENCE.top.txt  the largest sites, when memory ran out or passed the threshold
 *
 * A file appears whole under its name or not at all, and never replaces another: the sequence goes
 * on where an earlier program with this pid (before an exec, or long ago) left off. */
#ifndef PD_AGENT_SPOOL_H
#define PD_AGENT_SPOOL_H

#include "agent/settings.h"
#include "agent/notice.h"

#include <stddef.h>
#include <sys/types.h>

typedef struct pd_spool_file {
    int fd;
    char temporary[PD_PATH_MAX + 64]; /* empty: the file has no name yet */
} pd_spool_file;

/* Makes a new file in dir. It has no name where the file system can do that, else a temporary one.
 * Returns a descriptor above 2 that exec closes, or -1 and errno. */
int pd_spool_create(pd_spool_file *file, const char *dir, pid_t pid);

/* All of it, or an errno value. */
int pd_spool_write(int fd, const void *data, size_t len);

/* Gives it its name and closes it, with the sequence number *sequence or the first one above that
 * is free, which *sequence becomes. name (may be NULL) becomes the path. Returns 0 or an errno
 * value; then the file is gone. */
int pd_spool_publish(pd_spool_file *file, const char *dir, pid_t pid, const char *suffix,
                     uint64_t *sequence, pd_fixed_text *name);

/* Closes it and removes it. */
void pd_spool_discard(pd_spool_file *file);

/* Moves a descriptor out of the way of 0, 1 and 2. Returns the new one, or -1 and errno. */
int pd_spool_high(int fd);

#endif
