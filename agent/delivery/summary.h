/* The messages of the process that `pprofdelta record` became: what is seen of a program in another
 * language, at the start, and at the end where the profiles are and what to do with them; or why
 * nothing is recorded. */
#ifndef PD_AGENT_SUMMARY_H
#define PD_AGENT_SUMMARY_H

#include <stdint.h>

/* Notes the sequence number of a file that was written. */
void pd_summary_wrote(uint64_t number);

void pd_summary_begin(void);
void pd_summary_end(void);

/* A profile could not be written. If this process may not, another one of the program that may makes a file that says
 * so (tell: every second, and at the end, in the thread that may deliver), and prints it. */
void pd_summary_lost(int error);
void pd_summary_tell(void);

/* Before the process becomes a program into which the agent is not loaded. `why` is said, as the end of a sentence about
 * the program, if nothing in its file is in the way. */
void pd_summary_leave(const char *program, const char *why);

#endif
