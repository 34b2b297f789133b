/* Runners for tests: schedules of tasks that the contract of pprofdelta_runner allows.
 *
 *     test_runner *t = test_runner_new(kind, seed);
 *     options.runner = test_runner_get(t);
 *     ...
 *     test_runner_free(t);
 *
 * A task is allocated by malloc, so that a sanitizer finds a handle that is used after wait. */
#ifndef PD_TESTS_RUNNERS_H
#define PD_TESTS_RUNNERS_H

#include "pprofdelta.h"

#include <stddef.h>
#include <stdint.h>

typedef enum runner_kind {
    RUNNER_NULL,     /* no runner: test_runner_get returns NULL */
    RUNNER_REFUSES,  /* start returns NULL */
    RUNNER_AT_START, /* start runs the task before it returns */
    RUNNER_AT_WAIT,  /* wait runs the task */
    RUNNER_SHUFFLED, /* no thread; start and wait also run tasks of other handles, in random order */
    RUNNER_ONE,      /* one thread, which takes the oldest task; wait runs what has not begun */
    RUNNER_TWO,      /* two such threads */
    RUNNER_FOUR,     /* four such threads */
    RUNNER_NEWEST,   /* two threads, which take the newest task; wait never runs a task */
    RUNNER_MIXED,    /* two threads; each start does one of the above at random */
    RUNNER_KINDS
} runner_kind;

typedef struct test_runner test_runner;

/* Aborts if there is no memory or no thread. */
test_runner *test_runner_new(runner_kind kind, uint64_t seed);

/* Aborts if a handle was not waited for. */
void test_runner_free(test_runner *t);

/* Valid until test_runner_free. */
const pprofdelta_runner *test_runner_get(const test_runner *t);

const char *test_runner_name(runner_kind kind);

/* How many tasks the runner took. */
size_t test_runner_started(test_runner *t);

#endif
