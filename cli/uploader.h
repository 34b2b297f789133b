/* The uploader: a command that is given the delta on its standard input.
 *
 * It is run as it stands, without a shell. Its standard input is a file in memory, so it may be
 * read once, several times (by the name /dev/stdin), or in part: whether the delta has arrived is
 * told by the exit status alone. What it left unread is counted, for a note. Standard output and standard error are ours. It runs in a process
 * group of its own, so that whatever it starts can be ended with it, and it is ended when we
 * are. */
#ifndef CLI_UPLOADER_H
#define CLI_UPLOADER_H

#include <stddef.h>
#include <stdint.h>

typedef struct cli_upload {
    char *const *argv; /* NULL behind the last */
    const void *bytes;
    size_t len;
    int64_t timeout_nanos; /* 0: none */
    /* For its environment: PPROFDELTA_SEQUENCE, _ATTEMPT, _FROM and _TO. */
    uint64_t sequence, attempt;
    int64_t from_nanos, to_nanos;
} cli_upload;

/* Runs it and waits. CLI_DONE where it ended with status 0; CLI_UPLOAD where it did not or could
 * not be run; CLI_FAILED where we could not get so far. Prints why. SIGINT, SIGTERM or SIGHUP ends
 * it and then this process. *unread is the number of bytes that the command did not read, 0 where
 * that is not known; it is set where CLI_DONE is returned. */
int cli_upload_run(const cli_upload *upload, uint64_t *unread);

#endif
