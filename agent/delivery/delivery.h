/* Delivers a profile of one window: takes it from the tracker and writes it to a file or hands it
 * to the command. Only one thread delivers at a time. And what is said: reports of the largest sites,
 * and messages at the start and at the end. */
#ifndef PD_AGENT_DELIVERY_H
#define PD_AGENT_DELIVERY_H

#include "agent/base/text.h"
#include "pprofdelta_heap.h"

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

/* Copies the environment for the commands. Call at the start, since the program may change
 * its environment later; a second call does nothing. */
void pd_handover_begin(void);

/* Runs the command and waits for it. Kills it at its time limit. Returns whether it took the profile;
 * otherwise adds the reason. Only one thread may call this at a time. */
bool pd_hand_over(const void *data, size_t len, pd_fixed_text *why);

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

void pd_summary_begin(void);
void pd_summary_end(void);

/* A profile could not be written. If this process may not, another one of the program that may makes a file that says
 * so (tell: every second, and at the end, in the thread that may deliver), and prints it. */
void pd_summary_lost(int error);
void pd_summary_tell(void);

/* Before the process becomes a program into which the agent is not loaded. `why` is said, as the end of a sentence about
 * the program, if nothing in its file is in the way. */
void pd_summary_leave(const char *program, const char *why);

/* ---- spool ----------------------------------------------------------------------------------
 * Writes finished profiles to a directory, one file each.
 *
 *     heap.PROGRAM.PID.SEQUENCE.pb.gz    a window
 *     heap.PROGRAM.PID.SEQUENCE.top.txt  the largest sites, when memory ran out or passed the threshold
 *
 * A file appears complete under its name or not at all, and never replaces another one. The
 * sequence numbers continue those of an earlier process with this program and pid (before an exec,
 * or long ago). */

/* Keeps a descriptor of the directory, which exec closes, for the time after a call by which the path may
 * lead elsewhere. The files are written there from now on, as long as the descriptor is that of the
 * directory and that was not removed; otherwise the path counts. */
void pd_spool_hold(void);

/* A process of root that becomes another user cannot write to a directory of root any more. Then its files are in a
 * folder of that user in there, uid-NUMBER. open: makes it, if nobody but root can put something into the directory;
 * otherwise a folder of this name may be a trap. Returns a descriptor, or -1. use: from now on, the files of this
 * process are written there, by the descriptor. begin, at the start: so are those of a program that such a
 * process has executed. */
int pd_spool_open_folder(uid_t user);
void pd_spool_use_folder(int fd, uid_t user);
void pd_spool_begin(void);

/* Gives the calling thread a table of descriptors of its own, with no other descriptor than that of
 * pd_spool_hold. Returns false if the system cannot do that. */
bool pd_spool_own_table(void);

/* openat (which follows no link; a new file is for its user alone), fstatat and unlinkat of a name in the directory,
 * which begins with a slash. */
int pd_spool_open(const char *name, int flags);
int pd_spool_stat(const char *name, struct stat *status);
int pd_spool_remove(const char *name);

/* Writes the contents of a file to the descriptor. Returns 0 or an errno value. */
typedef int pd_spool_writer(int fd, void *cookie);

/* Writes a file with this ending of its name to the directory of the settings. Its number is the next one
 * that is free; *number is set to it. Adds its path to `path`. Returns 0 or an errno value; after an error
 * there is no file. */
int pd_spool_write(const char *ending, pd_spool_writer *write, void *cookie, uint64_t *number,
                   pd_fixed_text *path);

/* ---- keep -----------------------------------------------------------------------------------
 * Deletes the oldest profiles of a run, so that its directory has a limit.
 *
 *     DIR/.pprofdelta-RUN-UID     the list of the files that the run has there, the oldest first
 *
 * All processes of a run that have one user share a list. A process that writes a file adds it to the list,
 * under a lock, and deletes what is over the limit. So no file of another run is deleted, nor one that
 * is not in the list. The newest is never deleted. */

/* Adds the file that was written, and deletes files over the limit of the settings. A file that
 * cannot be listed stays. */
void pd_keep_add(const pd_fixed_text *path);

/* Removes the list at the end of the command. Processes that it leaves behind begin another one. */
void pd_keep_end(void);

/* ---- live -----------------------------------------------------------------------------------
 * The file from which the last window is made if the process is killed: see base/remains.h.
 *
 *     the agent's thread begins      heap.PROGRAM.PID.live appears, and is locked; before, if a window cannot be written
 *     every second                   the time goes into it
 *     the last window has arrived    it is removed: at the end of the process, before an exec. A thread that begins
 *                                    only then makes none for a second, or it would stay
 *     the process is killed          it stays; pprofdelta recover, record and leaks find it
 *
 * No descriptor stays open: the mapping keeps the file and its lock. The child of a fork gets a file of its own
 * when its own thread begins. Only the thread that may deliver a window (delivery.h) calls these. */

/* In the agent's thread, when it begins and then every second: makes the file if there is none, and notes in
 * it that the process lives. */
void pd_live_beat(void);

/* Makes the file if there is none, or gives it what the tracker has more than it. If there is no room for that,
 * the file goes. */
void pd_live_fit(void);

/* The same. Returns whether the file is where it was made, and so has all of the tracker. has_all: the file as it is;
 * any thread may call it, also inside the tracker. */
bool pd_live_is_there(void);
bool pd_live_has_all(void);

/* What becomes of the last window if it cannot be delivered, as the end of a sentence about it. */
const char *pd_live_fate(void);

/* Removes the file: nothing is left to recover. goes_on: another one may be made at once, where the files are now. */
void pd_live_end(bool goes_on);

/* The same, for a tracker that is not that of the process any more: its pages are no file's then. */
void pd_live_leave(pprofdelta_heap *heap);

#endif
