#include "pack.h"

#include "thread.h"

static void *compress(void *cookie)
{
    pprofdelta_pack_help(cookie);
    return NULL;
}

void cli_pack_start(cli_pack *p, bool has_helper)
{
    p->is_running = !has_helper && pprofdelta_pack_is_large(p->state) &&
                    cli_thread_start(&p->thread, compress, p->state);
}

pprofdelta_status cli_pack_finish(cli_pack *p, const pprofdelta_sink *sink,
                                  pprofdelta_report *report, pprofdelta_error *err)
{
    pprofdelta_status status = pprofdelta_pack_finish(p->state, sink, report, err);
    cli_pack_abandon(p);
    return status;
}

void cli_pack_abandon(cli_pack *p)
{
    if (p->is_running)
        pthread_join(p->thread, NULL);
    pprofdelta_pack_free(p->state);
    *p = (cli_pack){0};
}
