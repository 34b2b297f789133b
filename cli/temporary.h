/* Files that are replaced as a whole or not at all: write a temporary file in the same directory, sync
 * it, rename it.
 *
 *     dir/target  ->  dir/.pprofdelta-HASH-XXXXXX      HASH: of the owner's name, 8 digits
 *
 * While there is a temporary file, SIGINT, SIGTERM and SIGHUP are blocked. If one of them comes, the
 * file is not renamed but removed, and then the signal ends the process. So create the file only when
 * everything that takes long has been done.
 *
 * SIGKILL and a power cut leave a file behind. cli_temporary_create removes the files that earlier
 * runs of the same owner left in that directory. In a run with a state, the owner of all files is
 * the state, because OUT may have another name in each run. Otherwise the owner is the target. Each
 * file is locked (flock) while its process lives, so a file that can be locked is left over. A file
 * of another user, another owner or another kind is left alone. If the file system has no locks,
 * nothing is removed. A process has one temporary file at a time. */
#ifndef CLI_TEMPORARY_H
#define CLI_TEMPORARY_H

#include <signal.h>
#include <stdbool.h>

typedef struct cli_temporary {
    char *name; /* NULL: there is none */
    int fd;     /* holds its lock, also after the file has replaced its target; -1: not open */
    sigset_t before;
} cli_temporary;

/* Removes the files that killed runs of this owner left in the directory of target, and creates a
 * file there. It has the owner of target, and its mode or, if is_private, 0600. `owner` is a path, of
 * which the last name counts. Returns 0, or -1 with errno set and no file. */
int cli_temporary_create(cli_temporary *t, const char *target, const char *owner, bool is_private);

/* Renames the file to target; is_synced: after the file, and before the directory, is synced. The
 * descriptor stays open. Returns 0, or -1 with errno set. If the rename failed, the file is removed. */
int cli_temporary_replace(cli_temporary *t, const char *target, bool is_synced);

/* Removes the file, if there is one, and closes it. */
void cli_temporary_remove(cli_temporary *t);

/* Syncs what can be synced: no pipe, no device. Returns 0, or -1 with errno set. */
int cli_sync(int fd);

/* The directory of path, which the caller frees; NULL if there is no memory. */
char *cli_temporary_folder(const char *path);

#endif
