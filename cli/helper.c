#include "helper.h"

#include "thread.h"

/* In bytes of file: what inflates to a few pieces only is not worth a thread; and what is so large is
 * read by one that is helped as quickly as by two, in much less memory. */
enum { LEAST = 256 << 10, LARGE = CLI_HELPER_LARGE };

static bool is_gzip(const cli_input *in)
{
    return in->len > 1 && in->bytes[0] == 0x1f && in->bytes[1] == 0x8b;
}

static void *work(void *cookie)
{
    pprofdelta_helper_work(cookie);
    return NULL;
}

bool cli_helper_start(cli_helper *h, pprofdelta *context, const cli_input *in, uint64_t limit)
{
    size_t least = limit >= PPROFDELTA_DEFAULT_MAX_MEMORY ? LARGE : LEAST;
    if (in->len < least || !is_gzip(in) || !cli_thread_pays() ||
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
