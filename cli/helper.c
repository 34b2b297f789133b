#include "helper.h"

#include "thread.h"

/* In bytes of file: what inflates to a few pieces only is not worth a thread. */
enum { LEAST = 256 << 10 };

static void *work(void *cookie)
{
    pprofdelta_helper_work(cookie);
    return NULL;
}

bool cli_helper_start(cli_helper *h, pprofdelta *context, const cli_input *in)
{
    if (in->len < LEAST || !cli_thread_pays() ||
        !pprofdelta_helper_pays(context, in->bytes, in->len) ||
        pprofdelta_helper_new(context, &h->state, NULL) != PPROFDELTA_OK)
        return false;
    if (cli_thread_start(&h->thread, work, h->state))
        return true;
    pprofdelta_helper_free(h->state);
    h->state = NULL;
    return false;
}

bool cli_helper_end(cli_helper *h)
{
    if (!h->state)
        return false;
    pprofdelta_helper_stop(h->state);
    pthread_join(h->thread, NULL);
    pprofdelta_helper_free(h->state);
    h->state = NULL;
    return true;
}
