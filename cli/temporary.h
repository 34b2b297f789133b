/* Temporary files beside the ones that they will replace, which no way out of the process forgets.
 *
 *     dir/target  ->  dir/.pprofdelta-HASH-XXXXXX      HASH: of the owner's name, 8 digits
 *
 * SIGINT, SIGTERM and SIGHUP remove them and then do what they always do. Creating a file and
 * remembering its name is one step to them, and so is renaming it and forgetting the name.
 *
 * SIGKILL and a power cut leave a file behind. cli_temporary_create removes the ones that earlier
 * runs of the same owner left in that directory. The owner is the state for all files of a run with
 * a state, since OUT may have another name in each run; else it is the target itself. Each file is
 * locked (flock) as long as its process lives: a file that can be locked is a dead one. A file of
 * another user, of another owner, or of another kind is left alone, and where the file system has no
 * locks nothing is removed. There are at most two at a time: an output and a state. */
#ifndef CLI_TEMPORARY_H
#define CLI_TEMPORARY_H

#include <stdbool.h>

/* Creates a file beside `target`: with target's mode and owner if it exists, or, if it is to be
 * private, for this user alone. Returns its name, which temporary_replace or temporary_remove
 * frees, and its descriptor in *fd; or NULL with errno set. The descriptor holds the file's lock,
 * also when the file has replaced the target, until it is closed. First removes what runs of this
 * owner (a path, of which the last name counts) that were killed left there. */
char *cli_temporary_create(const char *target, const char *owner, bool is_private, int *fd);

/* Renames it to target. Returns 0, or -1 with errno set and the file removed. */
int cli_temporary_replace(char *name, const char *target);

void cli_temporary_remove(char *name);

/* The directory that path lies in, for the caller to free; NULL when there is no memory. */
char *cli_temporary_folder(const char *path);

/* Syncs that directory, so that what was renamed in it stays. Returns 0, or -1 with errno set. */
int cli_temporary_sync_folder(const char *path);

#endif
