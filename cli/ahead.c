#include "ahead.h"

#include "thread.h"

#include <sys/stat.h>

bool cli_ahead_is_large(const char *path, uint64_t least)
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

static void *read_ahead(void *cookie)
{
    cli_ahead *a = cookie;
    bool is_own = a->in == &a->file;
    if ((!is_own || cli_input_try(&a->file, a->file.name, a->limit)) &&
        !pprofdelta_ahead_open(a->state, a->in->bytes, a->in->len) && is_own)
        cli_input_release(&a->file); /* it is inflated, and room is needed */
    pprofdelta_ahead_read(a->state);
    return NULL;
}

static void start(cli_ahead *a, pprofdelta *context, const cli_input *in)
{
    a->in = in;
    if (pprofdelta_ahead_new(context, &a->state, NULL) != PPROFDELTA_OK)
        return;
    a->is_running = cli_thread_start(&a->thread, read_ahead, a);
    if (!a->is_running)
        cli_ahead_end(a);
}

bool cli_ahead_start_file(cli_ahead *a, pprofdelta *context, const char *path, uint64_t limit,
                          cli_ahead_least least)
{
    if (!cli_ahead_is_large(path, least) || !has_room_for_two(limit))
        return false;
    a->file.name = path;
    a->limit = limit;
    start(a, context, &a->file);
    return a->is_running;
}

void cli_ahead_start(cli_ahead *a, pprofdelta *context, const cli_input *in, uint64_t limit,
                     cli_ahead_least least)
{
    if (in->len >= least && has_room_for_two(limit))
        start(a, context, in);
}

static void join(cli_ahead *a)
{
    if (a->is_running)
        pthread_join(a->thread, NULL);
    a->is_running = false;
}

pprofdelta_status cli_ahead_window(cli_ahead *a, pprofdelta_pack **out, pprofdelta_report *report,
                                   pprofdelta_error *err)
{
    if (!a->state)
        return PPROFDELTA_E_AHEAD;
    pprofdelta_status status = pprofdelta_ahead_window(a->state, out, report, err);
    if (status == PPROFDELTA_E_AHEAD)
        cli_ahead_end(a);
    return status;
}

bool cli_ahead_end(cli_ahead *a)
{
    bool had_begun = a->state != NULL;
    if (a->is_running)
        pprofdelta_ahead_stop(a->state);
    join(a);
    pprofdelta_ahead_free(a->state);
    a->state = NULL;
    cli_input_free(&a->file);
    return had_begun;
}
