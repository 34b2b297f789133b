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
#include "agent/say.h"

#include <stddef.h>
#include <sys/types.h>

/* A descriptor above 2, closed by exec, for a new file that has no name yet but a temporary one in
 * dir; or -1 and errno. */
typedef struct pd_spool_file {
    int fd;
    char temporary[PD_PATH_MAX + 64];
} pd_spool_file;

int pd_spool_create(pd_spool_file *file, const char *dir, pid_t pid);

/* All of it, or an errno value. */
int pd_spool_write(int fd, const void *data, size_t len);

/* Closes it and gives it its name, with the sequence number *sequence or the first one above that
 * is free, which *sequence becomes. name (may be NULL) becomes the path. Returns 0 or an errno
 * value; then the file is gone. */
int pd_spool_publish(pd_spool_file *file, const char *dir, pid_t pid, const char *suffix,
                     uint64_t *sequence, pd_text *name);

/* Closes it and removes it. */
void pd_spool_discard(pd_spool_file *file);

/* Moves a descriptor out of the way of 0, 1 and 2. Returns the new one, or -1 and errno. */
int pd_spool_high(int fd);

#endif
