/* Temporary files in the directories of the files that they will replace. They are removed when the process ends.
 *
 *     dir/target  ->  dir/.pprofdelta-HASH-XXXXXX      HASH: of the owner's name, 8 digits
 *
 * SIGINT, SIGTERM and SIGHUP remove the files and then end the process as usual. These signals are
 * blocked while a file is created and its name is stored, and while it is renamed.
 *
 * SIGKILL and a power cut leave a file behind. cli_temporary_create removes the files that earlier
 * runs of the same owner left in that directory. In a run with a state, the owner of all files is
 * the state, because OUT may have another name in each run. Otherwise the owner is the target. Each
 * file is locked (flock) while its process lives, so a file that can be locked is left over. A file
 * of another user, another owner or another kind is left alone. If the file system has no locks,
 * nothing is removed. A process has at most two of them: an output and a state. */
#ifndef CLI_TEMPORARY_H
#define CLI_TEMPORARY_H

#include <stdbool.h>

/* Removes the files that killed runs of this owner left in the directory of target, and creates a file there. It
 * has the mode and the owner of target, or, if is_private, is for this user only. `owner` is a
 * path, of which the last name counts. Returns the name of the file, which cli_temporary_replace or
 * cli_temporary_remove frees, and its descriptor in *fd; or NULL with errno set. The descriptor
 * holds the lock of the file until it is closed, also after the file has replaced target. */
char *cli_temporary_create(const char *target, const char *owner, bool is_private, int *fd);

/* Renames the file to target. Returns 0, or -1 with errno set and the file removed. */
int cli_temporary_replace(char *name, const char *target);

void cli_temporary_remove(char *name);

/* The directory of path, which the caller frees; NULL if there is no memory. */
char *cli_temporary_folder(const char *path);

/* Syncs that directory, so that a rename in it survives a power cut. Returns 0, or -1 with errno
 * set. */
int cli_temporary_sync_folder(const char *path);

#endif
