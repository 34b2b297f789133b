/* A second thread for the bounded way: it inflates (pump.h), and when all is read it compresses what
 * is written (relay.h). */
#include "parsed/context.h"

struct pprofdelta_helper {
    pprofdelta *pd;
};

pprofdelta_status pprofdelta_helper_new(pprofdelta *pd, pprofdelta_helper **out,
                                        pprofdelta_error *err)
{
    pprofdelta_helper *h = NULL;
    size_t none = 0;
    if (pd_pump_is_open(&pd->pump))
        return pd_refuse(err, "a helper of this context is there: free it first");
    pprofdelta_status status = pd_mem_reserve(&pd->mem, &h, &none, 1, sizeof *h, err);
    if (status)
        return status;
    *h = (pprofdelta_helper){pd};
    status = pd_pump_open(&pd->pump, &pd->mem, err);
    if (status)
        pprofdelta_helper_free(h);
    else
        *out = h;
    return status;
}

int pprofdelta_helper_pays(pprofdelta *pd, const void *bytes, size_t len)
{
    if (pd->is_pending || pd->pack || pd->ahead || !bytes ||
        pd_format_of(bytes, len) != PD_FORMAT_GZIP)
        return false;
    return pd_look_is_large(pd, &pd->cur, bytes, len) || pd_once_suits(pd, bytes, len);
}

void pprofdelta_helper_work(pprofdelta_helper *helper)
{
    pprofdelta *pd = helper->pd;
    while (pd_pump_work(&pd->pump)) {
        pd_relay_help(&pd->relay);
        pd_pump_return(&pd->pump);
    }
}

void pprofdelta_helper_stop(pprofdelta_helper *helper)
{
    pd_pump_stop(&helper->pd->pump);
}

void pprofdelta_helper_free(pprofdelta_helper *h)
{
    if (!h)
        return;
    pprofdelta *pd = h->pd;
    size_t one = 1;
    pd_pump_close(&pd->pump);
    pd_mem_release(&pd->mem, &h, &one, sizeof *h);
}
