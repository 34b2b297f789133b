/* Runs code that reads untrusted data in a child process.
 *
 * The libraries that read ELF files, debug information and mangled names are not part of this
 * project, and a damaged file may make them crash, loop or take all memory. So they run in a child,
 * with a limit for its memory and its processor time. The child writes its results into a pipe. What
 * it has written before it died is valid.
 *
 * The child is a copy of this process, so the function reads its input from memory. Processor time
 * is limited, not time: a busy machine changes no result. */
#ifndef CLI_APART_H
#define CLI_APART_H

#include "output_file.h"
#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Processor time, and bytes in addition to those of this process, at most. */
enum { CLI_APART_SECONDS = 60 };
#define CLI_APART_MEMORY (UINT64_C(8) << 30)

typedef enum cli_apart_end {
    CLI_APART_DONE,     /* the function returned */
    CLI_APART_FAILED,   /* memory was short */
    CLI_APART_CRASHED,  /* a signal ended the child */
    CLI_APART_TOO_SLOW, /* the processor time was over */
    CLI_APART_TOO_LONG, /* the answer is too long */
    CLI_APART_NOT_RUN   /* the child could not be started; errno says why */
} cli_apart_end;

typedef struct cli_answer {
    cli_buffer buffer;
    size_t at;    /* of the next byte to read */
    bool is_over; /* a read went past the end: sticky */
} cli_answer;

/* The function writes to `out`. It must not use stdout, stderr or memory that is shared with other
 * processes. */
typedef void cli_apart_work(const void *cookie, FILE *out);

/* Runs the function in a child and waits for it. Free *answer whatever is returned. */
cli_apart_end cli_apart_run(cli_apart_work *work, const void *cookie, cli_answer *answer);
void cli_answer_free(cli_answer *answer);

/* ---- in the child ---- */

/* Sets the limits of the child, which begins with those above. */
void cli_apart_limit(unsigned seconds, uint64_t memory);

/* The child may read this open file (-1: none): it gets memory and processor time in proportion to its
 * size, and a little of each, up to the limits above. The allowances of several files are added up. */
void cli_apart_allow(int fd);

/* Zeroed memory for `len` elements. If there is none, the child ends (CLI_APART_FAILED). */
void *cli_apart_take(size_t len, size_t size);

/* May the child open files? The libraries open those that an ELF file names, which may be pipes. */
void cli_apart_open_files(bool is_allowed);

/* ---- in the parent ---- */

/* The reason, as the end of a sentence that begins with what was read. */
const char *cli_apart_reason(cli_apart_end end);

/* ---- answers ---- */

void cli_answer_put_number(FILE *out, uint64_t number);
void cli_answer_put_string(FILE *out, const char *text); /* NULL: empty */

/* Read what was put. Behind the end they return 0 and the empty string. */
uint64_t cli_answer_number(cli_answer *answer);
cli_string cli_answer_string(cli_answer *answer);

#endif
