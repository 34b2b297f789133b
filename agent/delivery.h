/* One window on its way: from the tracker to a file, or to the command. */
#ifndef PD_AGENT_DELIVERY_H
#define PD_AGENT_DELIVERY_H

#include <stdbool.h>

/* Takes what happened since the last one and sends it off. What does not arrive comes again with
 * the next; that it did not is said once. Waits for another thread that is at it, but no longer than
 * that: then it does nothing, and says false. After true nobody is at it until the release. */
bool pd_delivery_send(unsigned milliseconds);
void pd_delivery_release(void);

/* The same for a window after which there may be no other: waits for another thread for as long as
 * that may take. What the command does not take goes to a file, if there is a directory for it; what
 * is lost is said. */
bool pd_delivery_send_last(void);

/* Milliseconds that sending off one window may take. */
unsigned pd_delivery_max_millis(void);

/* In the child of a fork: nobody is at it. */
void pd_delivery_forget(void);

#endif
