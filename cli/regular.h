/* Regular files, opened so that no path can make this process wait, follow a planted link, or read a
 * device.
 *
 *     path -> O_PATH descriptor -> is it a regular file? -> the same file, opened for reading
 *
 * Opening a pipe waits for its writer, and opening some devices has effects, so a file is examined
 * before it is opened. What was examined is what is opened: no other file can take its place in
 * between. The files that the kernel makes up (/proc, /sys) are refused, too.
 *
 * All files that no user has named are opened here: those found in a folder, where a stranger may
 * have planted them, and those that a profile names. So are files that are read more than once. */
#ifndef CLI_REGULAR_H
#define CLI_REGULAR_H

#include "pprofdelta_profile.h"

#include <dirent.h>
#include <stddef.h>

enum { CLI_WHY_ROOM = 1024 };

/* Opens a regular file of the folder (or AT_FDCWD). how: O_RDONLY or O_RDWR, with O_NOFOLLOW if name
 * must not be a link. Returns the descriptor; -1 if there is none, and writes to why, unless it is
 * NULL, the end of a sentence that begins with the name of the file. */
int cli_regular_open(int folder, const char *name, int how, char why[CLI_WHY_ROOM]);

/* The kind of the file at path, by its first bytes, and its name for a message, like "a zip archive". If
 * it cannot be read, returns NULL and writes to why as above. */
const char *cli_regular_kind(const char *path, pprofdelta_file_kind *kind, char why[CLI_WHY_ROOM]);

/* The profiles of a folder: the names that end with .pb.gz and do not begin with a dot, sorted. */
typedef struct cli_folder {
    DIR *dir;     /* NULL: not open */
    char **paths; /* "FOLDER/NAME" */
    size_t len;
} cli_folder;

/* Lists the folder. It stays open, so that its files can be opened in it. Prints what is wrong;
 * returns an exit code. Free *folder whatever is returned. */
int cli_folder_read(cli_folder *folder, const char *path);
void cli_folder_free(cli_folder *folder);

#endif
