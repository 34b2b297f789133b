#include "ahead.h"

#include "parsed/pack.h"
#include "thread.h"

#include <sys/stat.h>

/* What the thread has come to: the tables are there, and it goes on with the samples; or they are
 * not. */
enum { AT_WORK, READY, FAILED };

static bool is_large(const char *path, uint64_t least)
{
    struct stat st;
    return !cli_input_is_stdin(path) && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size >= least;
}

/* Two processors, and the memory of both: no limit against it, nor 32-bit addresses. */
static bool has_room_for_two(uint64_t limit)
{
    return limit >= PPROFDELTA_DEFAULT_MAX_MEMORY && sizeof(void *) >= 8 && cli_thread_pays();
}

static bool open_ahead(cli_ahead *a)
{
    bool is_own = a->in == &a->file;
    if ((is_own && !cli_input_try(&a->file, a->file.name, a->limit)) ||
        pd_ahead_open(&a->state, a->in->bytes, a->in->len) != PPROFDELTA_OK)
        return false;
    if (is_own && !pd_ahead_borrows(&a->state)) /* it is inflated, and room is needed */
        cli_input_release(&a->file);
    return pd_ahead_feed(&a->state) == PPROFDELTA_OK;
}

static void *read_ahead(void *cookie)
{
    cli_ahead *a = cookie;
    bool is_good = open_ahead(a);
    pthread_mutex_lock(&a->lock);
    a->progress = is_good ? READY : FAILED;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    if (is_good)
        pd_ahead_read(&a->state);
    pd_pack_warm(a->context);
    return NULL;
}

static void start(cli_ahead *a, pprofdelta *context, const cli_input *in)
{
    a->in = in;
    a->context = context;
    pd_ahead_begin(&a->state, context);
    a->has_begun = true;
    a->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    a->changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    a->progress = AT_WORK;
    a->is_running = cli_thread_start(&a->thread, read_ahead, a);
}

bool cli_ahead_start_file(cli_ahead *a, pprofdelta *context, const char *path, uint64_t limit,
                          cli_ahead_least least)
{
    if (!is_large(path, least) || !has_room_for_two(limit))
        return false;
    a->file.name = path;
    a->limit = limit;
    start(a, context, &a->file);
    return true;
}

void cli_ahead_start(cli_ahead *a, pprofdelta *context, const cli_input *in, uint64_t limit,
                     cli_ahead_least least)
{
    if (in->len >= least && has_room_for_two(limit))
        start(a, context, in);
}

bool cli_ahead_wait(cli_ahead *a)
{
    if (!a->is_running)
        return false;
    pthread_mutex_lock(&a->lock);
    while (a->progress == AT_WORK)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return a->progress == READY;
}

void cli_ahead_join(cli_ahead *a)
{
    if (cli_ahead_wait(a))
        pd_ahead_stop(&a->state);
    if (a->is_running)
        pthread_join(a->thread, NULL);
    a->is_running = false;
}

bool cli_ahead_end(cli_ahead *a, pprofdelta *context)
{
    bool had_begun = a->has_begun;
    cli_ahead_join(a);
    if (had_begun)
        pd_ahead_end(&a->state, context);
    cli_input_free(&a->file);
    a->has_begun = false;
    return had_begun;
}
