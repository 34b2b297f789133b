/* A second thread, for work of some length. */
#ifndef CLI_THREAD_H
#define CLI_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Is there a second processor for it? */
bool cli_thread_pays(void);

/* False where there is none, or where it cannot be started. */
bool cli_thread_start(pthread_t *thread, void *(*work)(void *), void *cookie);

#endif
