/* A task: one call of a function that may run on another thread, through the caller's runner.
 *
 *     pd_task_start    hands the task to the runner, if there is one and it can take it
 *     ... other work
 *     pd_task_wait     returns when the task has run; runs it here if no runner took it
 *
 * A task does not wait for another task and takes no memory from the context's pd_mem: its memory
 * is reserved before it is started. So its result does not depend on when and where it runs. */
#ifndef PD_BASE_TASK_H
#define PD_BASE_TASK_H

#include "pprofdelta.h"

#include <stdbool.h>

typedef struct pd_task {
    void (*run)(void *arg); /* NULL: not started */
    void *arg;
    const pprofdelta_runner *runner;
    void *handle; /* from the runner; NULL: the task runs in pd_task_wait */
} pd_task;        /* zero it to begin */

static inline bool pd_task_is_started(const pd_task *task)
{
    return task->run != NULL;
}

/* Starts run(arg). runner may be NULL. The task must not be started already. */
static inline void pd_task_start(pd_task *task, const pprofdelta_runner *runner,
                                 void (*run)(void *arg), void *arg)
{
    *task = (pd_task){.run = run, .arg = arg, .runner = runner};
    if (runner)
        task->handle = runner->start(runner->cookie, run, arg);
}

/* Returns when the task has run. Does nothing if it is not started. */
static inline void pd_task_wait(pd_task *task)
{
    if (task->run && task->handle)
        task->runner->wait(task->runner->cookie, task->handle);
    else if (task->run)
        task->run(task->arg);
    *task = (pd_task){0};
}

#endif
