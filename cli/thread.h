/* The runner of a run: one thread beside the first, if there is a second processor. */
#ifndef CLI_THREAD_H
#define CLI_THREAD_H

#include "pprofdelta.h"

/* The runner; NULL if there is one processor or no memory. Its thread starts with the first task. */
const pprofdelta_runner *cli_thread_runner(void);

/* Ends the thread, if there is one. Call it when no context uses the runner, and before a fork. */
void cli_thread_end(void);

#endif
