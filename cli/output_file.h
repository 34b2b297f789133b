/* Where the bytes of a run go: into memory, to stdout, or into the file OUT, which is replaced as a
 * whole or not at all.
 *
 *   stdout, a pipe,   written directly
 *   a device
 *   a regular file    OUT's directory: .pprofdelta-HASH-XXXXXX --written, closed--> rename --> OUT
 *   or no file yet    (a symbolic link is followed first, so the link stays)
 *
 * Nothing is opened before the first byte is written. Until then a failure leaves no trace, not
 * even an empty write to a pipe. If a state depends on the output, or it has to last, the file is synced before it is
 * renamed, and its directory after. A state is written in the same way.
 *
 * While there is a temporary file, SIGINT, SIGTERM and SIGHUP are blocked. If one of them comes, the
 * file is not renamed but removed, and then the signal ends the process. So write the first byte only
 * when everything that takes long has been done.
 *
 * SIGKILL and a power cut leave a temporary file behind. The next one of the same owner removes it:
 * HASH is 8 digits of the owner's name. In a run with a state, the owner of all files is the state,
 * because OUT may have another name in each run. Otherwise the owner is OUT. Each file is locked (flock)
 * while its process lives, so a file that can be locked is left over, and so is one that has its target's
 * name already. A file of another user, another owner or another kind is left alone. If the file system has
 * no locks, nothing is removed. A process has one temporary file at a time.
 *
 * Tables are the exception: their caller writes several at once, and blocks the signals before the first
 * byte of the first. The user has named the folder of a table, but not the file, so only a regular file
 * is replaced, and no link is followed. */
#ifndef CLI_OUTPUT_FILE_H
#define CLI_OUTPUT_FILE_H

#include "pprofdelta.h"

#include <signal.h>
#include <stdbool.h>

/* Bytes in memory that grow at their end. */
typedef struct cli_buffer {
    uint8_t *bytes; /* free them */
    size_t len, cap;
} cli_buffer; /* zero it to begin */

/* Returns len bytes more at the end, not yet set; NULL if there is no memory for them. */
uint8_t *cli_buffer_extend(cli_buffer *buffer, size_t len);

/* For a sink whose cookie is a cli_buffer. Refuses bytes that there is no memory for. */
int cli_buffer_append(void *buffer, const void *data, size_t len);

/* Writes len bytes, also after an interruption. Returns 0 or an errno value. */
int cli_write_all(int fd, const void *bytes, size_t len);

typedef enum cli_output_kind {
    CLI_OUTPUT_STDOUT,
    CLI_OUTPUT_DIRECT,
    CLI_OUTPUT_REPLACE
} cli_output_kind;

/* {.fd = -1} to begin. */
typedef struct cli_output {
    /* Set before cli_output_prepare. */
    const char *state; /* the state that depends on the output, or NULL */
    bool is_page;      /* a page: it is no failure if the reader of stdout closes the pipe */
    bool is_table;     /* a table, of which several are written at once (see below) */
    bool is_state;     /* the output is the state itself, which nobody else may read */
    bool is_new;       /* if target exists already, finish returns CLI_OVERTAKEN */
    bool is_lasting;   /* it is synced, as if a state depended on it */
    bool is_unread;    /* the reader has closed the pipe */
    cli_output_kind kind;
    const char *name;        /* for messages: OUT as it was given, or "(stdout)" */
    const char *target;      /* OUT with its symbolic links followed; NULL: stdout */
    char *temporary;         /* the name of the temporary file; NULL: there is none */
    sigset_t before;         /* the signals that were blocked before there was one */
    int fd;                  /* -1 before the first byte */
    int failure;             /* the exit code of a failure that was printed, else 0 */
    struct cli_output *next; /* of those with a temporary file */
} cli_output;

/* Checks that OUT (NULL or "-": stdout) can be an output: that it is not the state, and that what
 * is written may replace it. A profile replaces only a profile or an empty file, a page only a page
 * or an empty file, a table only a table or an empty file, by whatever name. Prints what is wrong;
 * returns an exit code. The path is borrowed. */
int cli_output_prepare(cli_output *out, const char *path);

/* For a sink whose cookie is a cli_output. A failure is printed at once and kept in out->failure. */
int cli_output_write(void *output, const void *data, size_t len);

/* Ends the output after the last byte: closes it, or renames it to OUT; then fd is open and locked.
 * Prints what is wrong; returns an exit code. */
int cli_output_finish(cli_output *out);

/* Writes these bytes, and ends the output. */
int cli_output_finish_with(cli_output *out, const cli_buffer *bytes);

/* Closes everything. If cli_output_finish was not called or failed, OUT is unchanged. The end of the process
 * has the same effect. */
void cli_output_close(cli_output *out);

/* Prints the error of the library, unless the output failed, which is printed already. Returns the exit code. */
int cli_output_error(const cli_output *out, const char *name, const pprofdelta_error *err);

/* Opens the directory of path; how: O_RDONLY or O_PATH. Returns -1 with errno set. */
int cli_folder_open(const char *path, int how);

/* Has one of these signals come, which ends this process when the signals of *before are blocked,
 * and no others? */
bool cli_is_ending(const sigset_t *before);

/* SIGINT, SIGTERM and SIGHUP, without those that this process ignores (nohup, a background job). */
void cli_ending_signals(sigset_t *set);

/* Flushes, closes and checks stdout after text was printed to it. Prints what is wrong; returns an
 * exit code. A closed pipe (`| head`) is no failure. */
int cli_output_end_text(void);

/* Has writing to stdout failed, so that printing more text is useless? */
bool cli_output_is_over(void);

#endif
