/* The profile of a window, read with the help of tasks.
 *
 *     pair     task         inflate -> tables -> keys of all samples
 *              this thread  base                                  -> values -> window
 *
 *     state    task         inflate -> tables     keys of the second half
 *              this thread  load                  samples of the first half -> window -> values
 *
 * Everything that a task does depends on the profile alone. The look of the first task has an account
 * of memory of its own: half of what the context's limit leaves, until the look is taken or dropped.
 * If a task fails, for whatever reason, this thread reads the same again and finds the error. */
#ifndef PD_DELTA_BESIDE_H
#define PD_DELTA_BESIDE_H

#include "delta/look.h"

typedef struct pd_beside {
    pd_task task;
    pd_mem mem;
    pd_look look;
    pd_reading reading;
    bool is_pair;
    /* Of the samples from keys.first on; without memory for them, keys.keys is NULL. */
    pd_sample_keys keys;
    const pd_look *taken; /* what the keys are of, once the look was taken */
    uint64_t unknown_fields;
    pprofdelta_status status;
} pd_beside; /* zero it to begin */

static inline bool pd_beside_is_begun(const pd_beside *beside)
{
    return pd_task_is_started(&beside->task);
}

/* Starts the first task. The memory that it may take is lent by `mem`. */
void pd_beside_begin(pd_beside *beside, pd_mem *mem, const pd_stack_numbers *numbers,
                     const pd_reading *reading, bool is_pair);

/* Waits for the first task. If it succeeded, *look takes its place; what *look held is released. Else
 * false, and nothing has changed. */
bool pd_beside_take(pd_beside *beside, pd_mem *mem, pd_look *look);

/* Keys for the samples of the look that was taken, from keys->first on; the others are for this
 * thread to read. NULL if there are none. The keys are complete after pd_beside_has_keys. For a
 * state, this starts the second task. */
const pd_sample_keys *pd_beside_keys(pd_beside *beside);

/* Waits for the keys. False if they could not be read. */
bool pd_beside_has_keys(pd_beside *beside);

/* Waits for the task and gives everything back to `mem`. Does nothing if there is nothing. */
void pd_beside_end(pd_beside *beside, pd_mem *mem);

#endif
