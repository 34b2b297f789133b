#include "ahead.h"

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

/* Where two threads begin to pay, in bytes of compressed file. */
enum { LARGE = 256 * 1024 };

static bool is_large(const char *path)
{
    struct stat st;
    return !cli_input_is_stdin(path) && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_size >= LARGE;
}

/* Two processors, and the memory of both: no limit against it, nor 32-bit addresses. */
static bool has_room_for_two(uint64_t limit)
{
    cpu_set_t set;
    return limit >= PPROFDELTA_DEFAULT_MAX_MEMORY && sizeof(void *) >= 8 &&
           sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
}

static void *read_ahead(void *cookie)
{
    cli_ahead *a = cookie;
    bool is_own = a->in == &a->file;
    if (is_own && !cli_input_try(&a->file, a->file.name, a->limit))
        return NULL;
    if (pd_ahead_open(&a->state, a->in->bytes, a->in->len) != PPROFDELTA_OK)
        return NULL;
    if (is_own && !pd_ahead_borrows(&a->state)) /* it is inflated, and room is needed */
        cli_input_release(&a->file);
    a->is_ready = pd_ahead_read(&a->state) == PPROFDELTA_OK;
    return NULL;
}

static void start(cli_ahead *a, pprofdelta *context, const cli_input *in)
{
    a->in = in;
    pd_ahead_begin(&a->state, context);
    a->has_begun = true;
    sigset_t all, before; /* signals are for the first thread, which knows when they may come */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    a->is_running = pthread_create(&a->thread, NULL, read_ahead, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cli_ahead_start_file(cli_ahead *a, pprofdelta *context, const char *path, uint64_t limit)
{
    if (!is_large(path) || !has_room_for_two(limit))
        return;
    a->file.name = path;
    a->limit = limit;
    start(a, context, &a->file);
}

void cli_ahead_start(cli_ahead *a, pprofdelta *context, const cli_input *in, uint64_t limit)
{
    if (in->len >= LARGE && has_room_for_two(limit))
        start(a, context, in);
}

bool cli_ahead_wait(cli_ahead *a)
{
    if (a->is_running)
        pthread_join(a->thread, NULL);
    a->is_running = false;
    return a->is_ready;
}

bool cli_ahead_end(cli_ahead *a, pprofdelta *context)
{
    bool had_begun = a->has_begun;
    cli_ahead_wait(a);
    if (had_begun)
        pd_ahead_end(&a->state, context);
    cli_input_free(&a->file);
    a->has_begun = a->is_ready = false;
    return had_begun;
}
