/* A task: one call of a function that may run on another thread, by the caller's runner.
 *
 *     start(task)      the runner takes it; or nobody does, where there is no runner
 *     ... other work
 *     wait(task)       returns when it has run; runs it here where nobody took it
 *
 * A task does not wait for another task and takes no memory from the context's pd_mem: what it needs
 * is reserved before it starts. So it does not matter when it runs, or where. */
#ifndef PD_BASE_TASK_H
#define PD_BASE_TASK_H

#include "pprofdelta.h"

#include <stdbool.h>

typedef struct pd_task {
    void (*run)(void *arg); /* NULL: nothing is started */
    void *arg;
    const pprofdelta_runner *runner;
    void *handle; /* the runner's; NULL: the task runs when it is waited for */
} pd_task;        /* zero it to begin */

static inline bool pd_task_is_started(const pd_task *task)
{
    return task->run != NULL;
}

/* Starts run(arg). runner may be NULL. The task has not been started, or has been waited for. */
static inline void pd_task_start(pd_task *task, const pprofdelta_runner *runner,
                                 void (*run)(void *arg), void *arg)
{
    *task = (pd_task){.run = run, .arg = arg, .runner = runner};
    if (runner)
        task->handle = runner->start(runner->cookie, run, arg);
}

/* Returns when the task has run. Does nothing if it was not started, or was waited for before. */
static inline void pd_task_wait(pd_task *task)
{
    if (task->run && task->handle)
        task->runner->wait(task->runner->cookie, task->handle);
    else if (task->run)
        task->run(task->arg);
    *task = (pd_task){0};
}

#endif
