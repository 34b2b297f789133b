/* The file from which the last window is made if the process is killed: see base/remains.h.
 *
 *     the agent's thread begins      heap.PROGRAM.PID.live appears, and is locked; before, if a window cannot be written
 *     every second                   the time goes into it
 *     the last window has arrived    it is removed: at the end of the process, before an exec. A thread that begins
 *                                    only then makes none for a second, or it would stay
 *     the process is killed          it stays; pprofdelta recover, record and leaks find it
 *
 * No descriptor stays open: the mapping keeps the file and its lock. The child of a fork gets a file of its own
 * when its own thread begins. Only the thread that may deliver a window (delivery.h) calls these. */
#ifndef PD_AGENT_LIVE_H
#define PD_AGENT_LIVE_H

#include <stdbool.h>

/* Call once, in the constructor, when the pages of the tracker have begun. */
void pd_live_prepare(void);

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

#endif
