#include "thread.h"

#include <sched.h>
#include <stdbool.h>

static pprofdelta_runner runner;

static bool has_two_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
}

const pprofdelta_runner *cli_thread_runner(void)
{
    if (!runner.start && has_two_processors() &&
        pprofdelta_threads_new(1, &runner, NULL) != PPROFDELTA_OK)
        return NULL;
    return runner.start ? &runner : NULL;
}

void cli_thread_end(void)
{
    if (runner.start)
        pprofdelta_threads_free(&runner);
    runner = (pprofdelta_runner){0};
}
