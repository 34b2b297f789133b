/* A second thread for the bounded way: it inflates (pump.h), and when all is read it compresses what
 * is written (relay.h). */
#include "parsed/context.h"

pprofdelta_status pprofdelta_helper_new(pprofdelta *pd, pprofdelta_helper **out,
                                        pprofdelta_error *err)
{
    if (pd_pump_is_open(&pd->pump))
        return pd_refuse(err, "a helper of this context is there: free it first");
    pprofdelta_status status = pd_pump_open(&pd->pump, &pd->mem, err);
    if (status)
        return status;
    pd->helper.pd = pd;
    *out = &pd->helper;
    return PPROFDELTA_OK;
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
    pd_pump_close(&h->pd->pump);
}
