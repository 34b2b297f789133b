/* Waiting for another thread, without a lock and not for ever. */
#ifndef PD_AGENT_AWAIT_H
#define PD_AGENT_AWAIT_H

#include <stdatomic.h>
#include <stdbool.h>

/* Waits until *word is not `value` any more, but no longer than that. True: it is not. */
bool pd_await_change(const _Atomic int *word, int value, unsigned milliseconds);

#endif
