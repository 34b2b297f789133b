/* The ready runner of POSIX threads. It is compiled with the functions below for calloc, malloc and
 * pthread_create (see meson.build), so that these can be counted and can fail. */
#include "base/task.h"
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int allocations, threads_made;
static bool memory_is_short, threads_are_short;
static int locks_left = -1; /* locks that can still be made; -1: any number */

void *counted_malloc(size_t size);
void *counted_calloc(size_t count, size_t size);
int counted_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                   void *cookie);
int counted_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *how);
int counted_cond_init(pthread_cond_t *changed, const pthread_condattr_t *how);

void *counted_malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return memory_is_short ? NULL : malloc(size);
}

void *counted_calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return memory_is_short ? NULL : calloc(count, size);
}

int counted_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *cookie)
{
    if (threads_are_short)
        return 1;
    atomic_fetch_add(&threads_made, 1);
    return pthread_create(thread, how, run, cookie);
}

static bool is_lock_left(void)
{
    if (locks_left > 0)
        locks_left--;
    else if (!locks_left)
        return false;
    return true;
}

int counted_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *how)
{
    return is_lock_left() ? pthread_mutex_init(lock, how) : ENOMEM;
}

int counted_cond_init(pthread_cond_t *changed, const pthread_condattr_t *how)
{
    return is_lock_left() ? pthread_cond_init(changed, how) : ENOMEM;
}

/* A door that is closed at first. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    int came; /* tasks that were begun */
    char log[32];
} gate;

#define GATE                                                                                       \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

static void open_gate(gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->is_open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* Waits until that many tasks were begun. */
static void wait_until_came(gate *g, int tasks)
{
    pthread_mutex_lock(&g->lock);
    while (g->came < tasks)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

typedef struct errand {
    gate *gate; /* is passed first, if any */
    pthread_t ran_on;
    sigset_t blocked;
    int times;
    char name;
} errand;

static void run_errand(void *arg)
{
    errand *e = arg;
    if (e->gate) {
        pthread_mutex_lock(&e->gate->lock);
        e->gate->log[e->gate->came++] = e->name;
        pthread_cond_broadcast(&e->gate->changed);
        while (!e->gate->is_open)
            pthread_cond_wait(&e->gate->changed, &e->gate->lock);
        pthread_mutex_unlock(&e->gate->lock);
    }
    e->ran_on = pthread_self();
    pthread_sigmask(SIG_BLOCK, NULL, &e->blocked);
    e->times++;
}

static pprofdelta_runner make(unsigned threads)
{
    pprofdelta_runner runner = {0};
    pprofdelta_threads_new(threads, &runner, NULL);
    return runner;
}

static void *begin(const pprofdelta_runner *runner, errand *e)
{
    return runner->start(runner->cookie, run_errand, e);
}

static void finish(const pprofdelta_runner *runner, void *handle)
{
    runner->wait(runner->cookie, handle);
}

TEST(a_number_of_threads_out_of_range_is_refused)
{
    static const unsigned wrong[] = {0, PPROFDELTA_MAX_THREADS + 1, UINT_MAX};
    pprofdelta_runner runner = {.cookie = &runner};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pprofdelta_error err = {0};
        CHECK(pprofdelta_threads_new(wrong[i], &runner, &err) == PPROFDELTA_E_USAGE);
        CHECK(err.status == PPROFDELTA_E_USAGE && runner.cookie == &runner && !runner.start);
    }
    CHECK(pprofdelta_threads_new(1, NULL, NULL) == PPROFDELTA_E_USAGE);
    runner = make(PPROFDELTA_MAX_THREADS);
    CHECK(runner.start && runner.wait && runner.cookie);
    pprofdelta_threads_free(&runner);
}

TEST(a_runner_that_is_not_used_has_no_thread)
{
    int before = threads_made;
    pprofdelta_runner runner = make(8), nothing = {0};
    CHECK(threads_made == before);
    pprofdelta_threads_free(&runner);
    CHECK(!runner.start && !runner.wait && !runner.cookie);
    pprofdelta_threads_free(&runner);
    pprofdelta_threads_free(&nothing);
    pprofdelta_threads_free(NULL);
}

TEST(tasks_begin_in_the_order_in_which_they_were_started)
{
    pprofdelta_runner runner = make(1);
    gate g = GATE;
    errand errands[5];
    void *handles[5];
    for (int i = 0; i < 5; i++) {
        errands[i] = (errand){.gate = &g, .name = (char)('a' + i)};
        handles[i] = begin(&runner, &errands[i]);
        CHECK(handles[i]);
    }
    open_gate(&g);
    wait_until_came(&g, 5);
    for (int i = 4; i >= 0; i--) {
        finish(&runner, handles[i]);
        CHECK(errands[i].times == 1 && !pthread_equal(errands[i].ran_on, pthread_self()));
    }
    CHECK_STR(g.log, "abcde");
    pprofdelta_threads_free(&runner);
}

TEST(wait_runs_a_task_that_no_thread_has_begun)
{
    pprofdelta_runner runner = make(1);
    gate g = GATE;
    errand held = {.gate = &g, .name = 'h'}, first = {0}, middle = {0}, last = {0};
    void *of_held = begin(&runner, &held);
    wait_until_came(&g, 1);
    void *of_first = begin(&runner, &first), *of_middle = begin(&runner, &middle),
         *of_last = begin(&runner, &last);
    finish(&runner, of_middle); /* out of the middle of the queue, then its end, then all of it */
    finish(&runner, of_last);
    finish(&runner, of_first);
    CHECK(pthread_equal(first.ran_on, pthread_self()) &&
          pthread_equal(middle.ran_on, pthread_self()) &&
          pthread_equal(last.ran_on, pthread_self()));
    CHECK(first.times == 1 && middle.times == 1 && last.times == 1 && held.times == 0);
    open_gate(&g);
    finish(&runner, of_held);
    CHECK(held.times == 1 && !pthread_equal(held.ran_on, pthread_self()));
    pprofdelta_threads_free(&runner);
}

TEST(there_are_as_many_threads_as_are_needed_and_no_more_than_were_asked_for)
{
    enum { THREADS = 3, TASKS = 5 };
    int before = threads_made;
    pprofdelta_runner runner = make(THREADS);
    for (int round = 0; round < 2; round++) {
        gate g = GATE;
        errand errands[TASKS];
        void *handles[TASKS];
        for (int i = 0; i < TASKS; i++) {
            errands[i] = (errand){.gate = &g, .name = 'x'};
            handles[i] = begin(&runner, &errands[i]);
            if (!round)
                CHECK(threads_made - before == (i < THREADS ? i + 1 : THREADS));
        }
        wait_until_came(&g, THREADS); /* so that many run at once */
        open_gate(&g);
        for (int i = 0; i < TASKS; i++)
            finish(&runner, handles[i]);
    }
    CHECK(threads_made - before == THREADS);
    pprofdelta_threads_free(&runner);
}

TEST(the_memory_of_handles_is_used_again)
{
    pprofdelta_runner runner = make(2);
    int after_first = 0;
    for (int round = 0; round < 1000; round++) {
        errand a = {0}, b = {0};
        void *of_a = begin(&runner, &a), *of_b = begin(&runner, &b);
        finish(&runner, of_b);
        finish(&runner, of_a);
        CHECK(a.times == 1 && b.times == 1);
        if (!round)
            after_first = allocations;
    }
    CHECK(allocations == after_first);
    pprofdelta_threads_free(&runner);
}

TEST(all_signals_are_blocked_in_the_threads_alone)
{
    pprofdelta_runner runner = make(1);
    gate g = GATE;
    errand e = {.gate = &g};
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    void *handle = begin(&runner, &e);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    wait_until_came(&g, 1); /* on the thread, not in wait */
    open_gate(&g);
    finish(&runner, handle);
    static const int some[] = {SIGHUP,  SIGINT,  SIGTERM, SIGPROF,
                               SIGALRM, SIGCHLD, SIGUSR1, SIGPIPE};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        CHECK(sigismember(&e.blocked, some[i]) == 1 &&
              sigismember(&after, some[i]) == sigismember(&before, some[i]));
    pprofdelta_threads_free(&runner);
}

TEST(without_memory_there_is_no_runner)
{
    pprofdelta_runner runner = {.cookie = &runner};
    pprofdelta_error err = {0};
    memory_is_short = true;
    pprofdelta_status status = pprofdelta_threads_new(2, &runner, &err);
    memory_is_short = false;
    CHECK(status == PPROFDELTA_E_MEMORY && err.status == status);
    CHECK(runner.cookie == &runner && !runner.start);
}

TEST(without_locks_there_is_no_runner)
{
    for (int locks = 0; locks < 3; locks++) {
        pprofdelta_runner runner = {.cookie = &runner};
        pprofdelta_error err = {0};
        locks_left = locks;
        pprofdelta_status status = pprofdelta_threads_new(2, &runner, &err);
        locks_left = -1;
        CHECK(status == PPROFDELTA_E_MEMORY && err.status == status);
        CHECK(runner.cookie == &runner && !runner.start);
    }
}

TEST(without_memory_a_task_is_not_started)
{
    pprofdelta_runner runner = make(2);
    errand e = {0};
    memory_is_short = true;
    void *handle = begin(&runner, &e);
    memory_is_short = false;
    CHECK(!handle && !e.times);
    handle = begin(&runner, &e);
    REQUIRE(handle);
    finish(&runner, handle);
    CHECK(e.times == 1);
    pprofdelta_threads_free(&runner);
}

TEST(without_any_thread_a_task_is_not_started)
{
    pprofdelta_runner runner = make(2);
    errand e = {0};
    pd_task task = {0};
    threads_are_short = true;
    CHECK(!begin(&runner, &e) && !e.times);
    pd_task_start(&task, &runner, run_errand, &e); /* runs here, when it is waited for */
    CHECK(pd_task_is_started(&task) && !e.times);
    pd_task_wait(&task);
    threads_are_short = false;
    CHECK(e.times == 1 && pthread_equal(e.ran_on, pthread_self()));
    pd_task_wait(&task);
    CHECK(e.times == 1);
    pprofdelta_threads_free(&runner);
}

TEST(one_thread_is_enough_where_more_cannot_be_had)
{
    pprofdelta_runner runner = make(2);
    gate g = GATE;
    errand held = {.gate = &g}, e = {0};
    void *of_held = begin(&runner, &held);
    wait_until_came(&g, 1);
    threads_are_short = true;
    void *handle = begin(&runner, &e);
    threads_are_short = false;
    REQUIRE(handle);
    finish(&runner, handle);
    CHECK(e.times == 1);
    open_gate(&g);
    finish(&runner, of_held);
    CHECK(held.times == 1);
    pprofdelta_threads_free(&runner);
}

enum { USERS = 6, USER_ROUNDS = 300, USER_TASKS = 4 };

typedef struct user {
    const pprofdelta_runner *runner;
    int done[USER_TASKS];
} user;

static void count_up(void *arg)
{
    ++*(int *)arg;
}

static void *use(void *cookie)
{
    user *u = cookie;
    for (int round = 0; round < USER_ROUNDS; round++) {
        pd_task tasks[USER_TASKS];
        for (int i = 0; i < USER_TASKS; i++)
            pd_task_start(&tasks[i], u->runner, count_up, &u->done[i]);
        for (int i = 0; i < USER_TASKS; i++)
            pd_task_wait(&tasks[(i + round) % USER_TASKS]);
    }
    return NULL;
}

TEST(several_threads_may_use_one_runner)
{
    pprofdelta_runner runner = make(3);
    pthread_t threads[USERS];
    user users[USERS] = {{0}};
    for (int i = 0; i < USERS; i++) {
        users[i].runner = &runner;
        REQUIRE(!pthread_create(&threads[i], NULL, use, &users[i]));
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
        for (int t = 0; t < USER_TASKS; t++)
            CHECK(users[i].done[t] == USER_ROUNDS);
    }
    pprofdelta_threads_free(&runner);
}

/* What the child finds; 0 if all is well. */
static int be_a_child(pprofdelta_runner *runner, void *of_begun, errand *begun, void *of_queued,
                      errand *queued)
{
    errand e = {0};
    if (begin(runner, &e))
        return 1;
    finish(runner, of_begun);
    finish(runner, of_queued);
    if (begun->times || queued->times != 1)
        return 2;
    pprofdelta_threads_free(runner);
    return runner->cookie ? 3 : 0;
}

TEST(the_child_of_a_fork_has_no_threads)
{
    pprofdelta_runner runner = make(1);
    gate g = GATE;
    errand begun = {.gate = &g}, queued = {0};
    void *of_begun = begin(&runner, &begun);
    wait_until_came(&g, 1);
    void *of_queued = begin(&runner, &queued);
    pid_t pid = fork();
    if (!pid)
        _exit(be_a_child(&runner, of_begun, &begun, of_queued, &queued));
    int how = -1;
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        continue;
    CHECK_MSG(WIFEXITED(how) && WEXITSTATUS(how) == 0, "the child ended with %x", (unsigned)how);
    open_gate(&g);
    finish(&runner, of_begun);
    finish(&runner, of_queued);
    CHECK(begun.times == 1 && queued.times == 1);
    pprofdelta_threads_free(&runner);
}

TEST_MAIN(CASE(a_number_of_threads_out_of_range_is_refused),
          CASE(a_runner_that_is_not_used_has_no_thread),
          CASE(tasks_begin_in_the_order_in_which_they_were_started),
          CASE(wait_runs_a_task_that_no_thread_has_begun),
          CASE(there_are_as_many_threads_as_are_needed_and_no_more_than_were_asked_for),
          CASE(the_memory_of_handles_is_used_again),
          CASE(all_signals_are_blocked_in_the_threads_alone),
          CASE(without_memory_there_is_no_runner), CASE(without_locks_there_is_no_runner),
          CASE(without_memory_a_task_is_not_started),
          CASE(without_any_thread_a_task_is_not_started),
          CASE(one_thread_is_enough_where_more_cannot_be_had),
          CASE(several_threads_may_use_one_runner), CASE(the_child_of_a_fork_has_no_threads))
