/* The ready runner: POSIX threads that take tasks from a queue.
 *
 *     start   ->  queue: first ... last  ->  a thread runs the task, then marks it as done
 *     wait    ->  takes a task that no thread has begun out of the queue and runs it, or
 *                 sleeps until a thread has marked it as done
 *
 * The queue is first in, first out. start creates a thread if there are fewer threads than tasks
 * that are not done, up to the number that the caller chose. One lock guards everything; no task
 * runs while it is held. Handles that were waited for are kept in a list and used again.
 *
 * In the child of a fork the lock may be held by a thread that is not there. So each function
 * compares the process id before it takes the lock. */
#include "base/error.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* One task. It is waiting (in the queue), begun, or done. */
typedef struct pd_job {
    struct pd_job *prev, *next; /* in the queue; next: also in the list of free handles */
    void (*run)(void *arg);
    void *arg;
    bool is_begun, is_done;
} pd_job;

typedef struct pd_crew {
    pid_t pid; /* of the process that made it */
    unsigned max;
    pthread_mutex_t lock;
    pthread_cond_t queued;   /* a task was queued, or the crew is to end */
    pthread_cond_t finished; /* a task that a thread had begun is done */
    bool is_ending;
    pd_job *first, *last, *unused;
    unsigned not_done; /* tasks that are queued, or were begun by a thread */
    unsigned threads_len;
    pthread_t threads[];
} pd_crew;

static void queue_job(pd_crew *crew, pd_job *job)
{
    job->prev = crew->last;
    job->next = NULL;
    *(crew->last ? &crew->last->next : &crew->first) = job;
    crew->last = job;
}

static void unqueue_job(pd_crew *crew, pd_job *job)
{
    *(job->prev ? &job->prev->next : &crew->first) = job->next;
    *(job->next ? &job->next->prev : &crew->last) = job->prev;
    job->is_begun = true;
}

/* A thread: runs tasks until the crew is to end. */
static void *work(void *cookie)
{
    pd_crew *crew = cookie;
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        pd_job *job = crew->first;
        if (job) {
            unqueue_job(crew, job);
            pthread_mutex_unlock(&crew->lock);
            job->run(job->arg);
            pthread_mutex_lock(&crew->lock);
            job->is_done = true;
            crew->not_done--;
            pthread_cond_broadcast(&crew->finished);
        } else if (crew->is_ending) {
            break;
        } else {
            pthread_cond_wait(&crew->queued, &crew->lock);
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Creates a thread. It inherits the signal mask, so all signals are blocked around the call. */
static void add_thread(pd_crew *crew)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before))
        return;
    if (!pthread_create(&crew->threads[crew->threads_len], NULL, work, crew))
        crew->threads_len++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* An unused handle, or NULL if memory is short. */
static pd_job *take_job(pd_crew *crew)
{
    pd_job *job = crew->unused;
    if (job)
        crew->unused = job->next;
    else
        job = malloc(sizeof *job);
    return job;
}

static void give_job(pd_crew *crew, pd_job *job)
{
    job->next = crew->unused;
    crew->unused = job;
}

static pd_job *start_locked(pd_crew *crew, void (*run)(void *arg), void *arg)
{
    if (crew->threads_len <= crew->not_done && crew->threads_len < crew->max)
        add_thread(crew);
    pd_job *job = crew->threads_len ? take_job(crew) : NULL;
    if (!job)
        return NULL;
    *job = (pd_job){.run = run, .arg = arg};
    queue_job(crew, job);
    crew->not_done++;
    pthread_cond_signal(&crew->queued);
    return job;
}

static void *start(void *cookie, void (*run)(void *arg), void *arg)
{
    pd_crew *crew = cookie;
    if (crew->pid != getpid())
        return NULL;
    pthread_mutex_lock(&crew->lock);
    pd_job *job = start_locked(crew, run, arg);
    pthread_mutex_unlock(&crew->lock);
    return job;
}

/* Runs a task of the queue on the calling thread. Takes and gives the lock. */
static void run_here(pd_crew *crew, pd_job *job)
{
    unqueue_job(crew, job);
    crew->not_done--;
    pthread_mutex_unlock(&crew->lock);
    job->run(job->arg);
    pthread_mutex_lock(&crew->lock);
}

/* In the child of a fork: a task that a thread had begun stays as the thread left it. */
static void wait_in_child(pd_job *job)
{
    if (!job->is_begun)
        job->run(job->arg);
    free(job);
}

static void wait_for(void *cookie, void *handle)
{
    pd_crew *crew = cookie;
    pd_job *job = handle;
    if (crew->pid != getpid()) {
        wait_in_child(job);
        return;
    }
    pthread_mutex_lock(&crew->lock);
    if (!job->is_begun)
        run_here(crew, job);
    else
        while (!job->is_done)
            pthread_cond_wait(&crew->finished, &crew->lock);
    give_job(crew, job);
    pthread_mutex_unlock(&crew->lock);
}

/* Makes the locks; false if the system has no room for them. */
static bool init_locks(pd_crew *crew)
{
    if (pthread_mutex_init(&crew->lock, NULL))
        return false;
    if (!pthread_cond_init(&crew->queued, NULL)) {
        if (!pthread_cond_init(&crew->finished, NULL))
            return true;
        pthread_cond_destroy(&crew->queued);
    }
    pthread_mutex_destroy(&crew->lock);
    return false;
}

pprofdelta_status pprofdelta_threads_new(unsigned threads, pprofdelta_runner *out,
                                         pprofdelta_error *err)
{
    if (!out || threads < 1 || threads > PPROFDELTA_MAX_THREADS)
        return pd_refuse(err, "threads must be 1 to 64, and out must not be NULL");
    pd_crew *crew = calloc(1, sizeof *crew + threads * sizeof *crew->threads);
    if (!crew || !init_locks(crew)) {
        free(crew);
        return pd_no_memory(err, "a runner");
    }
    crew->pid = getpid();
    crew->max = threads;
    *out = (pprofdelta_runner){start, wait_for, crew};
    return PPROFDELTA_OK;
}

/* Ends the threads. Not in the child of a fork: there are none, and the locks may be held. */
static void end_threads(pd_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->is_ending = true;
    pthread_cond_broadcast(&crew->queued);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->threads_len; i++)
        pthread_join(crew->threads[i], NULL);
    pthread_cond_destroy(&crew->queued);
    pthread_cond_destroy(&crew->finished);
    pthread_mutex_destroy(&crew->lock);
}

void pprofdelta_threads_free(pprofdelta_runner *runner)
{
    pd_crew *crew = runner ? runner->cookie : NULL;
    if (!crew)
        return;
    if (crew->pid == getpid())
        end_threads(crew);
    for (pd_job *job = crew->unused, *next; job; job = next) {
        next = job->next;
        free(job);
    }
    free(crew);
    *runner = (pprofdelta_runner){0};
}
