/* Temporary files beside the ones that they will replace, which no way out of the process forgets.
 *
 * SIGINT, SIGTERM and SIGHUP remove them and then do what they always do. Creating a file and
 * remembering its name is one step to them, and so is renaming it and forgetting the name. What
 * nobody can catch (SIGKILL, a reset) leaves a file behind; as each is locked while its process
 * lives, the next run that looks (cli_temporary_sweep) knows the dead ones. There are at most two
 * at a time: an output and a state. */
#ifndef CLI_TEMPORARY_H
#define CLI_TEMPORARY_H

#include <stdbool.h>

/* Creates a file beside `target`: with target's mode and owner if it exists, or, if it is to be
 * private, for this user alone. Returns its name, which temporary_replace or temporary_remove
 * frees, and its descriptor in *fd; or NULL with errno set. */
char *cli_temporary_create(const char *target, bool is_private, int *fd);

/* Renames it to target. Returns 0, or -1 with errno set and the file removed. */
int cli_temporary_replace(char *name, const char *target);

void cli_temporary_remove(char *name);

/* Removes what runs that were killed left beside target: files of ours that nobody holds. */
void cli_temporary_sweep(const char *target);

/* The directory that path lies in, for the caller to free; NULL when there is no memory. */
char *cli_temporary_folder(const char *path);

/* Syncs that directory, so that what was renamed in it stays. Returns 0, or -1 with errno set. */
int cli_temporary_sync_folder(const char *path);

#endif
