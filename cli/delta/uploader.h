/* The uploader: a command that gets the delta on its stdin.
 *
 * It is run without a shell. Its stdin is a file in memory, so it may read it once, several times
 * (as /dev/stdin), or in part. Only its exit status says if the delta has arrived; the bytes that
 * it did not read are counted for a note. Its stdout and stderr are those of this process, unless it is silent. It has a
 * process group of its own, so that everything it starts can be ended with it. It is ended when
 * this process ends, also by SIGKILL. It may read the terminal if this process may. */
#ifndef CLI_UPLOADER_H
#define CLI_UPLOADER_H

#include "output_file.h"

typedef struct cli_uploader {
    char *const *argv;     /* its argument vector */
    int64_t timeout_nanos; /* 0: none */
    bool is_not_recorded;  /* without the variables of `record`; everything it starts, too */
    bool is_silent;        /* its stdout and stderr go nowhere */
} cli_uploader;

/* Runs the uploader and waits for it. The report is that of the delta: its id, sequence,
 * attempt and times are in the environment of the command as PPROFDELTA_ID, _SEQUENCE, _ATTEMPT, _FROM
 * and _TO. Returns CLI_DONE if the command exits with status 0, else prints what is wrong and returns
 * CLI_UPLOAD. SIGINT, SIGTERM or SIGHUP ends it and then this process. *unread is set if CLI_DONE is
 * returned: the number of bytes that the command did not read, 0 if it is not known. */
int cli_upload_run(const cli_uploader *uploader, const cli_buffer *delta,
                   const pprofdelta_report *report, uint64_t *unread);

#endif
