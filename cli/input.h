/* The files that are read. An input is in memory: a regular file, a pipe, a device, or stdin for "-".
 *
 * The file is read, not mapped. The library checks a plain profile first and relies on the checks
 * later, but a mapping changes when someone writes to the file, and cutting the file short raises
 * SIGBUS. A copy does not change.
 *
 * The first bytes decide whether the rest is read: of an endless device, a disk image or a core dump
 * only CLI_INPUT_HEAD bytes are.
 *
 * A file that no user has named (found in a folder, where a stranger may have planted it, or named by a
 * profile), and one that is read more than once, must be a regular file. It is opened so that no path
 * can make this process wait, follow a planted link, or read a device:
 *
 *     path -> O_PATH descriptor -> is it a regular file? -> the same file, opened for reading
 *
 * Opening a pipe waits for its writer, and opening some devices has effects, so a file is examined
 * before it is opened. What was examined is what is opened: no other file can take its place in
 * between. The files that the kernel makes up (/proc, /sys) are refused, too. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "pprofdelta_profile.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* -1 is none. */
static inline void cli_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Opens a regular file of the folder (or AT_FDCWD). how: O_RDONLY or O_RDWR, with O_NOFOLLOW if name
 * must not be a link. Returns the descriptor; -1 if there is none, and sets *why, unless why is
 * NULL, to the end of a sentence that begins with the name of the file (kept). */
int cli_regular_open(int folder, const char *name, int how, const char **why);

/* Reads a short file of the folder (or AT_FDCWD), of /proc, which ends with a NUL then. Returns its length. */
size_t cli_text_read(int folder, const char *name, char *text, size_t room);

/* The kind of the file at path, by its first bytes, and its name for a message, like "a zip archive". If
 * it cannot be read, returns NULL and sets *why as above. */
const char *cli_regular_kind(const char *path, pprofdelta_file_kind *kind, const char **why);

bool cli_is_folder(const char *path);

typedef struct cli_file {
    const char *path;
    /* It is read more than once, or was found in a folder: no other file than a regular one is read, and "-" is
     * the name of one. */
    bool is_regular;
    DIR *found_in; /* the folder that has path's last name, which is no link there; or NULL */
} cli_file;

/* Some files of a folder, sorted, and then those of the folders of users in it (see agent/base/remains.h). */
typedef struct cli_folder {
    cli_file *files; /* of "FOLDER/NAME" or "FOLDER/uid-NUMBER/NAME"; kept (keep.h) */
    size_t files_len, files_cap;
    const char *left_out; /* a folder of a user that this process may not read; NULL: none */
} cli_folder;

/* Lists what is_wanted. The folders of these files stay open, so that the files can be opened there. Prints what is
 * wrong; returns an exit code. */
int cli_folder_read(cli_folder *folder, const char *path,
                    int (*is_wanted)(const struct dirent *entry));
void cli_folder_close(cli_folder *folder);

typedef struct cli_input {
    const char *name; /* for messages: the path, or "(stdin)" */
    uint8_t *bytes;
    size_t len;
} cli_input;

/* The name of the file in messages: the path, or "(stdin)" for "-". */
const char *cli_input_name(const char *path);

enum { CLI_INPUT_HEAD = 256 << 10 };

enum { CLI_FOUND_MAX = 1 << 30 }; /* bytes of a file that no user has named */

/* Reads the whole file, at most `limit` bytes. Prints what is wrong, and frees the bytes then; returns an exit
 * code. */
int cli_input_read(cli_input *in, cli_file file, uint64_t limit);

/* Reads the file and checks that it is a profile. The names in the census are not valid. Prints what is
 * wrong; returns an exit code. If a file that was found is no profile, a note says that it is left out;
 * then *counts is false. */
int cli_input_check(cli_file file, uint64_t limit, pprofdelta_census *census, bool *counts);

/* Frees the bytes and keeps the name. */
void cli_input_free(cli_input *in);

#endif
