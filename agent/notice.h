/* What the agent says: plain text put together without the C library's printf, and sent to stderr.
 *
 * The agent lives in a stranger's process. stdio allocates, takes locks and belongs to the program;
 * so text is put together in a buffer on the stack, and leaves in one write. Each thing is said
 * once in the life of a process, and only while descriptor 2 is still the file that it was when the
 * agent came: a program that closes stderr and opens a database gets no message into it. */
#ifndef PD_AGENT_NOTICE_H
#define PD_AGENT_NOTICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line being put together; what does not fit is cut off. Always ends with a NUL. */
typedef struct pd_fixed_text {
    char bytes[1024];
    size_t len;
} pd_fixed_text; /* zero it to begin */

void pd_fixed_text_add(pd_fixed_text *text, const char *string);
void pd_fixed_text_add_number(pd_fixed_text *text, uint64_t number);
/* At least `digits` digits, with zeros in front. */
void pd_fixed_text_add_padded(pd_fixed_text *text, uint64_t number, unsigned digits);
void pd_fixed_text_add_hex(pd_fixed_text *text, uint64_t number);
/* What errno values mean, in the few words that matter here, or its number. */
void pd_fixed_text_add_error(pd_fixed_text *text, int error);

/* Looks at descriptor 2: what it is now is where messages go. */
void pd_notice_begin(void);

/* Bits of what was said already: each is said once in a process. */
typedef enum pd_notice {
    PD_NOTICE_ASIDE = 1u << 0,   /* the agent cannot work here */
    PD_NOTICE_OUTPUT = 1u << 1,  /* a window could not be written */
    PD_NOTICE_MEMORY = 1u << 2,  /* the program ran out of memory */
    PD_NOTICE_THREAD = 1u << 3,  /* the thread could not be started */
    PD_NOTICE_LIMIT = 1u << 4,   /* the threshold was passed */
    PD_NOTICE_LAST = 1u << 5,    /* the last window did not go where it should */
    PD_NOTICE_WAITING = 1u << 6, /* the end waits for the command */
    PD_NOTICE_EXTRA = 1u << 7    /* an allocator's own functions go past the agent */
} pd_notice;

/* This thread has descriptors of its own, without the program's stderr: reach it through /proc. */
void pd_notice_use_own_descriptors(void);

/* "pprofdelta: TEXT" to stderr, if nothing was said on this topic yet. Keeps errno. */
void pd_notice_send(pd_notice topic, const pd_fixed_text *text);

/* The same, and returns a descriptor to which more on the topic may be written, which pd_notice_close is
 * to be given; or -1. */
int pd_notice_open(pd_notice topic, const pd_fixed_text *text);
void pd_notice_close(int fd);

#endif
