/* Messages of the agent on stderr.
 *
 * The agent runs in other people's programs. stdio allocates, takes locks and belongs to the
 * program. So a message is put together in a buffer on the stack and written by one write. Each
 * kind of message is written once in a process, and only while descriptor 2 is still the file
 * that it was at the start: if a program closes stderr and opens a database, no message goes into
 * the database. The messages at the end are also written if the program has closed stderr: to the
 * same file, opened once more. */
#ifndef PD_AGENT_NOTICE_H
#define PD_AGENT_NOTICE_H

#include "agent/base/text.h"

/* Notes which file descriptor 2 is. Call at the start. */
void pd_notice_begin(void);

/* Notes its path, by which a message at the end finds it if it is closed until then. */
void pd_notice_keep_path(void);

/* The kinds of messages, as bits. */
typedef enum pd_notice {
    PD_NOTICE_ASIDE = 1u << 0,   /* nothing is recorded in this process */
    PD_NOTICE_OUTPUT = 1u << 1,  /* a profile could not be delivered */
    PD_NOTICE_MEMORY = 1u << 2,  /* an allocation failed */
    PD_NOTICE_THREAD = 1u << 3,  /* the agent's thread could not be started */
    PD_NOTICE_LIMIT = 1u << 4,   /* the threshold was passed */
    PD_NOTICE_LAST = 1u << 5,    /* the last profile could not be delivered */
    PD_NOTICE_WAITING = 1u << 6, /* the end of the program waits for the command */
    PD_NOTICE_EXTRA = 1u << 7,   /* functions of an allocator could not be replaced */
    PD_NOTICE_RUNTIME = 1u << 8, /* what is seen of a program in another language */
    PD_NOTICE_END = 1u << 9,     /* where the profiles are */
    PD_NOTICE_NEXT = 1u << 10,   /* what to do with them */
    PD_NOTICE_LIVE = 1u << 11,   /* the last window would not outlive the process */
    PD_NOTICE_MISSING = 1u << 12 /* samples or profiles are missing */
} pd_notice;

/* Call in a thread that has its own table of descriptors, without the program's stderr. Its
 * messages go to the stderr of the process. */
void pd_notice_use_own_descriptors(void);

/* Writes "pprofdelta: TEXT" to stderr unless there was a message of this kind. Keeps errno. */
void pd_notice_send(pd_notice topic, const pd_fixed_text *text);
__attribute__((format(printf, 2, 3))) void pd_notice_print(pd_notice topic, const char *format,
                                                           ...);

/* The same, and returns a descriptor to which more may be written, or -1. The caller gives it to
 * pd_notice_close. */
int pd_notice_open(pd_notice topic, const pd_fixed_text *text);
void pd_notice_close(int fd);

#endif
