/* Waiting for another thread without a lock and with a time limit. */
#ifndef PD_AGENT_AWAIT_H
#define PD_AGENT_AWAIT_H

#include <stdatomic.h>
#include <stdbool.h>

/* Waits until *word differs from `value`, for so many milliseconds at most. Returns whether it
 * differs. */
bool pd_await_change(const _Atomic int *word, int value, unsigned milliseconds);

#endif
