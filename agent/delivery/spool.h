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

#include "agent/base/settings.h"
#include "agent/base/text.h"

/* Keeps a descriptor of the directory, which exec closes, for the time after a call by which the path may
 * lead elsewhere. The files are written there from now on, as long as the descriptor is that of the
 * directory and that was not removed; otherwise the path counts. */
void pd_spool_hold(void);

/* A process of root that becomes another user cannot write to a directory of root any more. Then its files are in a
 * folder of that user in there, uid-NUMBER. open: makes it, if nobody but root can put something into the directory;
 * otherwise a folder of this name may be a trap. Returns a descriptor, or -1. use: from now on, the files of this
 * process are written there, by the descriptor. begin, at the start: so are those of a program that such a
 * process has executed. */
int pd_spool_open_folder(uid_t user);
void pd_spool_use_folder(int fd, uid_t user);
void pd_spool_begin(void);

/* Gives the calling thread a table of descriptors of its own, with no other descriptor than that of
 * pd_spool_hold. Returns false if the system cannot do that. */
bool pd_spool_own_table(void);

/* openat (which follows no link; a new file is for its user alone), fstatat and unlinkat of a name in the directory,
 * which begins with a slash. */
int pd_spool_open(const char *name, int flags);
int pd_spool_stat(const char *name, struct stat *status);
int pd_spool_remove(const char *name);

/* Writes the contents of a file to the descriptor. Returns 0 or an errno value. */
typedef int pd_spool_writer(int fd, void *cookie);

/* Writes a file with this ending of its name to the directory of the settings. Its number is the next one
 * that is free; *number is set to it. Adds its path to `path`. Returns 0 or an errno value; after an error
 * there is no file. */
int pd_spool_write(const char *ending, pd_spool_writer *write, void *cookie, uint64_t *number,
                   pd_fixed_text *path);

/* ---- keep -----------------------------------------------------------------------------------
 * Deletes the oldest profiles of a run, so that its directory has a limit.
 *
 *     DIR/.pprofdelta-RUN-UID     the list of the files that the run has there, the oldest first
 *
 * All processes of a run that have one user share a list. A process that writes a file adds it to the list,
 * under a lock, and deletes what is over the limit. So no file of another run is deleted, nor one that
 * is not in the list. The newest is never deleted. */

/* Adds the file that was written, and deletes files over the limit of the settings. A file that
 * cannot be listed stays. */
void pd_keep_add(const pd_fixed_text *path);

/* Has this process deleted a file? */
bool pd_keep_has_deleted(void);

/* Removes the list at the end of the command. Processes that it leaves behind begin another one. */
void pd_keep_end(void);

#endif
