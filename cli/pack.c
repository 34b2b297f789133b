#include "pack.h"

#include "thread.h"

static void *compress(void *cookie)
{
    cli_pack *p = cookie;
    pd_pack_second(&p->state);
    return NULL;
}

pprofdelta_status cli_pack_begin(cli_pack *p, pprofdelta *context, pprofdelta_error *err)
{
    pprofdelta_status status = pd_pack_begin(&p->state, context, err);
    if (status)
        return status;
    p->has_begun = true;
    p->is_running = pd_pack_is_large(&p->state) && cli_thread_start(&p->thread, compress, p);
    return PPROFDELTA_OK;
}

pprofdelta_status cli_pack_finish(cli_pack *p, const pprofdelta_sink *sink,
                                  pprofdelta_report *report, pprofdelta_error *err)
{
    pd_pack_first(&p->state);
    if (p->is_running)
        pthread_join(p->thread, NULL);
    else
        pd_pack_second(&p->state);
    p->has_begun = p->is_running = false;
    return pd_pack_finish(&p->state, sink, report, err);
}

static int refuse(void *cookie, const void *data, size_t len)
{
    (void)cookie, (void)data, (void)len;
    return -1;
}

void cli_pack_abandon(cli_pack *p)
{
    pprofdelta_sink nowhere = {refuse, NULL};
    if (!p->has_begun)
        return;
    if (p->is_running)
        pthread_join(p->thread, NULL);
    p->has_begun = p->is_running = false;
    pd_pack_finish(&p->state, &nowhere, NULL, NULL);
}
