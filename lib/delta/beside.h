/* The profile of a window, read by a task before the window is made: beside a base or a state, which
 * this thread reads meanwhile.
 *
 *     task         inflate -> tables -> keys of all samples
 *     this thread  base, or load, ...                       -> values -> window
 *
 * All of this depends on the profile alone. The look of the task has an account of memory of its
 * own: half of what the context's limit leaves, until the look is taken or dropped. If the task
 * fails, for whatever reason, the profile is read again by this thread, which finds the error. */
#ifndef PD_DELTA_BESIDE_H
#define PD_DELTA_BESIDE_H

#include "delta/look.h"

typedef struct pd_beside {
    pd_task task;
    pd_mem mem;
    pd_look look;
    pd_reading reading;
    pd_sample_keys keys; /* of all samples; empty if there was no memory for them */
    pprofdelta_status status;
} pd_beside; /* zero it to begin */

static inline bool pd_beside_is_begun(const pd_beside *beside)
{
    return pd_task_is_started(&beside->task);
}

/* Starts the task. The memory that it may take is lent by `mem`. */
void pd_beside_begin(pd_beside *beside, pd_mem *mem, const pd_stack_numbers *numbers,
                     const pd_reading *reading);

/* Waits for the task. If it succeeded, *look takes its place: what *look held is released, and
 * beside->keys is the context's until pd_beside_end. Else false, and nothing has changed. */
bool pd_beside_take(pd_beside *beside, pd_mem *mem, pd_look *look);

/* Waits for the task and gives everything back to `mem`. Does nothing if there is nothing. */
void pd_beside_end(pd_beside *beside, pd_mem *mem);

#endif
