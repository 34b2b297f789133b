/* May the loader be asked what it has loaded?
 *
 * Asking takes a lock of the loader's. A fork copies it as it is: if another thread was loading
 * something just then, the child has a lock that nobody is there to give back, and whoever asks
 * waits for ever. The child itself may well never ask. So in a child the agent's own thread asks
 * first, and what depends on the answer goes without until then. */
#ifndef PD_AGENT_LOADER_H
#define PD_AGENT_LOADER_H

#include <stdbool.h>

/* In the child of a fork: nobody knows. */
void pd_loader_forget(void);

/* A thread is about to be started that will ask; or could not be started. */
void pd_loader_expect(bool is_expected);

/* Asks, if nobody knows: in a thread that has the time. */
void pd_loader_ask(void);

enum { PD_LOADER_PATIENCE = 300 }; /* milliseconds: it takes well under one, or for ever */

/* Waits for the answer, if somebody is asking, but not longer than that. */
bool pd_loader_answers(unsigned milliseconds);

#endif
