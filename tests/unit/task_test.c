/* A task runs exactly once, whatever the runner does with it. */
#include "base/task.h"
#include "runners.h"
#include "test.h"

enum { TASKS = 40 };

typedef struct counted {
    pd_task task;
    unsigned runs;
} counted;

static void count(void *arg)
{
    counted *c = arg;
    c->runs++;
}

TEST(each_task_runs_once)
{
    for (runner_kind kind = RUNNER_NULL; kind < RUNNER_KINDS; kind++) {
        test_runner *t = test_runner_new(kind, 1);
        counted tasks[TASKS] = {{{0}, 0}};
        for (size_t i = 0; i < TASKS; i++) {
            CHECK(!pd_task_is_started(&tasks[i].task));
            pd_task_start(&tasks[i].task, test_runner_get(t), count, &tasks[i]);
            CHECK(pd_task_is_started(&tasks[i].task));
        }
        for (size_t i = 0; i < TASKS; i++) {
            counted *c = &tasks[i * 7 % TASKS];
            pd_task_wait(&c->task);
            CHECK_MSG(c->runs == 1, "%s: task %zu", test_runner_name(kind), i);
            CHECK(!pd_task_is_started(&c->task));
            pd_task_wait(&c->task);
            CHECK(c->runs == 1);
        }
        size_t started = test_runner_started(t);
        if (kind == RUNNER_NULL || kind == RUNNER_REFUSES)
            CHECK(started == 0);
        else
            CHECK_MSG(kind == RUNNER_MIXED ? started < TASKS : started == TASKS, "%s: %zu",
                      test_runner_name(kind), started);
        test_runner_free(t);
    }
}

TEST(a_task_that_was_waited_for_may_start_again)
{
    for (runner_kind kind = RUNNER_NULL; kind < RUNNER_KINDS; kind++) {
        test_runner *t = test_runner_new(kind, 2);
        counted c = {{0}, 0};
        for (unsigned i = 1; i <= TASKS; i++) {
            pd_task_start(&c.task, test_runner_get(t), count, &c);
            pd_task_wait(&c.task);
            CHECK(c.runs == i);
        }
        test_runner_free(t);
    }
}

TEST_MAIN(CASE(each_task_runs_once), CASE(a_task_that_was_waited_for_may_start_again))
