/* Waiting for another thread without a lock and with a time limit; and whether the loader can be called
 * (dl_iterate_phdr) without waiting forever.
 *
 * The loader holds a lock while it is called. fork copies that lock. If another thread was
 * loading something at that time, the lock of the child stays taken, and any call waits forever.
 * The program itself may never call the loader in the child. So in a child the agent's own thread
 * calls it first. Until that call has returned, the agent does without what it needs the loader
 * for. */
#ifndef PD_AGENT_AWAIT_H
#define PD_AGENT_AWAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits until *word differs from `value`, until it is woken, or for so many nanoseconds. */
void pd_await_futex(const void *word, uint32_t value, uint64_t nanos);
void pd_await_wake(const void *word);

/* Waits until *word differs from `value`, for so many milliseconds at most. Returns whether it
 * differs. */
bool pd_await_change(const _Atomic int *word, int value, unsigned milliseconds);

/* Sets the word, and wakes the threads that wait for that. */
void pd_await_set(_Atomic int *word, int value);

/* Announces a thread that will call pd_loader_try, or that this thread could not be started. */
void pd_loader_expect(bool is_expected);

/* Calls the loader if the state is not known: at the start, and in the child of a fork. May wait forever. */
void pd_loader_try(void);

enum { PD_LOADER_PATIENCE = 300 }; /* milliseconds; a call takes well under one, or forever */

/* Returns whether the loader can be called. If a thread is in pd_loader_try, waits for it for so
 * many milliseconds at most. */
bool pd_loader_answers(unsigned milliseconds);

#endif
