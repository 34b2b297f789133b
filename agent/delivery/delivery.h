/* Delivers a profile of one window: takes it from the tracker and writes it to a file or hands it
 * to the command. Only one thread delivers at a time. And what is said: reports of the largest sites, and messages at the
 * start and at the end. */
#ifndef PD_AGENT_DELIVERY_H
#define PD_AGENT_DELIVERY_H

#include "agent/base/text.h"

typedef enum pd_occasion {
    PD_DELIVER_ON_TIME,
    PD_DELIVER_ASKED, /* by the signal: also if nothing changed */
    PD_DELIVER_LAST   /* the program ends */
} pd_occasion;

/* Delivers the events since the last delivery. Events that could not be delivered are in the next
 * profile, and a message is written once. If another thread delivers, does nothing and returns false.
 * After true no other thread can deliver until pd_delivery_release. A window in which nothing changed
 * is not written, unless it was asked for. The last one waits for another thread for as long as a delivery may
 * take; if it does not arrive, a message says whether it is lost or can be recovered. */
bool pd_delivery_send(pd_occasion why);
void pd_delivery_release(void);

/* Keeps other threads from a delivery, for other work on what is delivered. If one delivers, waits for so
 * long at most. Release it if this returned true. */
bool pd_delivery_hold(unsigned milliseconds);

/* Has everything up to the last window been delivered? */
bool pd_delivery_has_all(void);

/* Returns how many milliseconds one delivery may take. */
unsigned pd_delivery_max_millis(void);

/* ---- handover -------------------------------------------------------------------------------
 * Hands a profile to a shell command. The command gets the profile on its standard input, and its
 * exit status says whether it was delivered.
 *
 * The command must not be a child of the program: the program may wait for any of its children,
 * and must not get a SIGCHLD for a process that it did not start. So the agent starts a helper
 * process that shares the memory of the program and sends no signal when it ends. The helper
 * starts the command and waits for it:
 *
 *     agent's thread --clone, no signal--> helper --vfork, exec--> sh -c COMMAND
 *
 * The command has the environment with which the program began, without LD_PRELOAD and the
 * agent's variables. Its standard output and error are /dev/null. No other descriptor of the
 * program is open in it. */

/* Copies the environment for the commands. Call once at the start, since the program may change
 * its environment later. */
void pd_handover_begin(void);

/* Runs the command and waits for it. Kills it after so many seconds. Returns whether it took the profile;
 * otherwise adds the reason. Only one thread may call this at a time. */
bool pd_hand_over(const char *command, const void *data, size_t len, unsigned seconds,
                  pd_fixed_text *why);

/* ---- largest sites --------------------------------------------------------------------------
 * Reports the sites with most memory in use when an allocation failed or the threshold was
 * passed. The report is a text file that pprof reads (heap.PID.SEQUENCE.top.txt). If profiles go
 * to a command, it is written to stderr instead. Nothing here allocates. There is at most one
 * report of a failed allocation in each window. */

/* Reports after an allocation of this size failed. */
void pd_largest_sites_out_of_memory(size_t size);

/* Reports after the threshold was passed. */
void pd_largest_sites_threshold(void);

/* Allows another report of a failed allocation. Call when a window was delivered. */
void pd_largest_sites_allow(void);

/* ---- summary --------------------------------------------------------------------------------
 * The messages of the process that `pprofdelta record` became: what is seen of a program in another
 * language, at the start, and at the end where the profiles are and what to do with them; or why
 * nothing is recorded. */

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
