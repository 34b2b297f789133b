#include "runners.h"

#include "rng.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 4 };

typedef enum job_state { JOB_QUEUED, JOB_RUNS, JOB_DONE } job_state;

/* One task. Its address is its handle. */
typedef struct job {
    void (*run)(void *arg);
    void *arg;
    job_state state;
    bool waits_only; /* wait does not run it: a thread will */
    struct job *prev, *next;
} job;

struct test_runner {
    pprofdelta_runner runner;
    runner_kind kind;
    pthread_t threads[MOST_THREADS];
    size_t threads_len;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The lock guards what follows. */
    rng rng;
    job *oldest, *newest; /* the queued ones */
    size_t queued, unwaited, started;
    bool is_over;
};

static void enqueue(test_runner *t, job *j)
{
    j->prev = t->newest;
    *(t->newest ? &t->newest->next : &t->oldest) = j;
    t->newest = j;
    t->queued++;
}

static void dequeue(test_runner *t, job *j)
{
    *(j->prev ? &j->prev->next : &t->oldest) = j->next;
    *(j->next ? &j->next->prev : &t->newest) = j->prev;
    t->queued--;
}

/* Called with the lock held; runs a queued job without it. */
static void run_queued(test_runner *t, job *j)
{
    dequeue(t, j);
    j->state = JOB_RUNS;
    pthread_mutex_unlock(&t->lock);
    j->run(j->arg);
    pthread_mutex_lock(&t->lock);
    j->state = JOB_DONE;
    pthread_cond_broadcast(&t->changed);
}

/* Called with the lock held: runs some queued jobs in random order. */
static void run_some(test_runner *t)
{
    while (t->queued && rng_chance(&t->rng, 40)) {
        job *j = t->oldest;
        for (size_t skip = rng_below(&t->rng, t->queued); skip; skip--)
            j = j->next;
        run_queued(t, j);
    }
}

static void *work(void *cookie)
{
    test_runner *t = cookie;
    pthread_mutex_lock(&t->lock);
    while (!t->is_over || t->queued) {
        if (t->queued)
            run_queued(t, t->kind == RUNNER_NEWEST ? t->newest : t->oldest);
        else
            pthread_cond_wait(&t->changed, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* What a start of a mixed runner does. */
static runner_kind draw_kind(test_runner *t)
{
    static const runner_kind kinds[] = {RUNNER_REFUSES, RUNNER_AT_START, RUNNER_TWO, RUNNER_NEWEST};
    return kinds[rng_below(&t->rng, sizeof kinds / sizeof *kinds)];
}

static void *start(void *cookie, void (*run)(void *arg), void *arg)
{
    test_runner *t = cookie;
    pthread_mutex_lock(&t->lock);
    runner_kind kind = t->kind == RUNNER_MIXED ? draw_kind(t) : t->kind;
    job *j = kind == RUNNER_REFUSES ? NULL : malloc(sizeof *j);
    if (j) {
        *j = (job){.run = run, .arg = arg, .waits_only = kind == RUNNER_NEWEST};
        t->started++;
        t->unwaited++;
        enqueue(t, j);
        if (kind == RUNNER_AT_START)
            run_queued(t, j);
        if (kind == RUNNER_SHUFFLED)
            run_some(t);
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return j;
}

static void wait_for(void *cookie, void *handle)
{
    test_runner *t = cookie;
    job *j = handle;
    pthread_mutex_lock(&t->lock);
    if (t->kind == RUNNER_SHUFFLED)
        run_some(t);
    while (j->state != JOB_DONE) {
        if (j->state == JOB_QUEUED && !j->waits_only)
            run_queued(t, j);
        else
            pthread_cond_wait(&t->changed, &t->lock);
    }
    t->unwaited--;
    pthread_mutex_unlock(&t->lock);
    free(j);
}

test_runner *test_runner_new(runner_kind kind, uint64_t seed)
{
    static const size_t threads[RUNNER_KINDS] = {[RUNNER_ONE] = 1,
                                                 [RUNNER_TWO] = 2,
                                                 [RUNNER_FOUR] = 4,
                                                 [RUNNER_NEWEST] = 2,
                                                 [RUNNER_MIXED] = 2};
    test_runner *t = calloc(1, sizeof *t);
    if (!t || pthread_mutex_init(&t->lock, NULL) || pthread_cond_init(&t->changed, NULL))
        abort();
    t->runner = (pprofdelta_runner){start, wait_for, t};
    t->kind = kind;
    t->rng.state = seed;
    for (; t->threads_len < threads[kind]; t->threads_len++)
        if (pthread_create(&t->threads[t->threads_len], NULL, work, t))
            abort();
    return t;
}

void test_runner_free(test_runner *t)
{
    pthread_mutex_lock(&t->lock);
    if (t->unwaited) {
        fprintf(stderr, "%zu tasks were not waited for\n", t->unwaited);
        abort();
    }
    t->is_over = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    for (size_t i = 0; i < t->threads_len; i++)
        pthread_join(t->threads[i], NULL);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

const pprofdelta_runner *test_runner_get(const test_runner *t)
{
    return t->kind == RUNNER_NULL ? NULL : &t->runner;
}

const char *test_runner_name(runner_kind kind)
{
    static const char *const names[RUNNER_KINDS] = {
        [RUNNER_NULL] = "no runner",      [RUNNER_REFUSES] = "refuses",
        [RUNNER_AT_START] = "at start",   [RUNNER_AT_WAIT] = "at wait",
        [RUNNER_SHUFFLED] = "shuffled",   [RUNNER_ONE] = "one thread",
        [RUNNER_TWO] = "two threads",     [RUNNER_FOUR] = "four threads",
        [RUNNER_NEWEST] = "newest first", [RUNNER_MIXED] = "mixed",
    };
    return names[kind];
}

size_t test_runner_started(test_runner *t)
{
    pthread_mutex_lock(&t->lock);
    size_t started = t->started;
    pthread_mutex_unlock(&t->lock);
    return started;
}
