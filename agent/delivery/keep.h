/* Deletes the oldest profiles of a run, so that its directory has a limit.
 *
 *     DIR/.pprofdelta-RUN-UID     the list of the files that the run has there, the oldest first
 *
 * All processes of a run that have one user share a list. A process that writes a file adds it to the list,
 * under a lock, and deletes what is over the limit. So no file of another run is deleted, nor one that
 * is not in the list. The newest is never deleted. */
#ifndef PD_AGENT_KEEP_H
#define PD_AGENT_KEEP_H

#include "agent/base/text.h"

/* Adds the file that was written, and deletes files over the limit of the settings. A file that
 * cannot be listed stays. */
void pd_keep_add(const pd_fixed_text *path);

/* Has this process deleted a file? */
bool pd_keep_has_deleted(void);

/* Removes the list at the end of the command. Processes that it leaves behind begin another one. */
void pd_keep_end(void);

#endif
