#include "parsed/pack.h"

void pd_pack_warm(pprofdelta *pd)
{
    pd_deflate_warm(&pd->deflater);
}

pprofdelta_status pd_pack_begin(pd_pack *pack, pprofdelta *pd, pprofdelta_error *err)
{
    *pack = (pd_pack){.pd = pd, .is_done = pd->cur.is_streamed};
    if (pack->is_done)
        return PPROFDELTA_OK;
    return pd_deflate_two_begin(&pack->two, &pd->deflater, &pd->mem, pd->raw.ptr, pd->raw.len, err);
}

bool pd_pack_is_large(const pd_pack *pack)
{
    return !pack->is_done && pack->two.deflater->compression != PPROFDELTA_PLAIN &&
           pack->two.len >= PD_DEFLATE_LARGE;
}

void pd_pack_first(pd_pack *pack)
{
    if (!pack->is_done)
        pd_deflate_two_first(&pack->two);
}

void pd_pack_second(pd_pack *pack)
{
    if (!pack->is_done)
        pd_deflate_two_second(&pack->two);
}

pprofdelta_status pd_pack_finish(pd_pack *pack, const pprofdelta_sink *sink,
                                 pprofdelta_report *report, pprofdelta_error *err)
{
    uint64_t written = 0;
    pprofdelta_status status = pack->is_done
                                   ? pd_deflate_write(&pack->pd->deflater, sink, &written, err)
                                   : pd_deflate_two_finish(&pack->two, sink, &written, err);
    if (!status && report)
        report->output_len = written;
    return status;
}
