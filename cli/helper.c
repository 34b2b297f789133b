#include "helper.h"

#include "thread.h"

/* What inflates to a few pieces only is not worth a thread, in bytes of file. */
enum { LEAST = 256 << 10 };

static void *work(void *cookie)
{
    pprofdelta_helper_work(cookie);
    return NULL;
}

void cli_helper_start(cli_helper *h, pprofdelta *context, const cli_input *in, uint64_t limit)
{
    if (limit >= PPROFDELTA_DEFAULT_MAX_MEMORY || in->len < LEAST || !cli_thread_pays() ||
        pprofdelta_helper_new(context, &h->state, NULL) != PPROFDELTA_OK)
        return;
    if (!cli_thread_start(&h->thread, work, h->state)) {
        pprofdelta_helper_free(h->state);
        h->state = NULL;
    }
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
