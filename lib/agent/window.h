/* One window on its way: from the tracker to a file, or to the command. */
#ifndef PD_AGENT_WINDOW_H
#define PD_AGENT_WINDOW_H

/* Takes what happened since the last one and sends it off. What does not arrive comes again with
 * the next; that it did not is said once. Does nothing if another thread is at it. */
void pd_window_export(void);

/* In the child of a fork: nobody is at it. */
void pd_window_forget(void);

#endif
