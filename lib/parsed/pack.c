/* A delta on its way to its sink: what the relay does for it, and when there is one.
 *
 *     ahead_new     begins the relay; its thread helps as soon as it has read what there is to read
 *     pack_window   begins the relay, where there is no ahead; does without where memory is short
 *     the window    gives parts; what is left is given here, when it is made
 *     pack_free, ahead_free     whichever is last ends it
 *
 * All memory is taken before the pack is handed out, so that the context may be used meanwhile for
 * what leaves its writer and its deflater alone. */
#include "parsed/context.h"

struct pprofdelta_pack {
    pprofdelta *pd;
    bool is_done; /* it was compressed as it was written, for want of memory */
};

void pd_pack_leave(pprofdelta *pd)
{
    if (pd->ahead || pd->pack || !pd_relay_is_begun(&pd->relay))
        return;
    if (pd_pump_is_open(&pd->pump)) { /* there may be a helper at it */
        pd_relay_stop(&pd->relay);
        pd_pump_recall(&pd->pump);
    }
    pd_relay_end(&pd->relay);
}

pprofdelta_status pd_pack_begin(pprofdelta *pd, pprofdelta_pack **out, pprofdelta_error *err)
{
    pprofdelta_pack *p = NULL;
    size_t none = 0;
    pprofdelta_status status = pd_mem_reserve(&pd->mem, &p, &none, 1, sizeof *p, err);
    if (!status) {
        *p = (pprofdelta_pack){.pd = pd, .is_done = pd_packs_inline(pd)};
        pd->pack = p;
        if (!p->is_done)
            status = pd_relay_close(&pd->relay, pd->raw, err);
    }
    if (!status) {
        *out = p;
        pd->attempts++;
        return PPROFDELTA_OK;
    }
    pprofdelta_pack_free(p);
    pprofdelta_abandon(pd);
    return status;
}

static pprofdelta_status make_pack(pprofdelta *pd, const pd_source *source, pprofdelta_pack **out,
                                   pprofdelta_report *report, pprofdelta_error *err)
{
    pprofdelta_status status = pd_window_of(pd, source, NULL, report, err);
    if (!status)
        status = pd_pack_begin(pd, out, err);
    if (status)
        pd_pack_leave(pd);
    return status;
}

typedef struct pack_call {
    pd_source source;
    pprofdelta_pack **out;
    pprofdelta_report *report;
} pack_call;

/* There is no relay but in the usual way. */
static pprofdelta_status make(pprofdelta *pd, void *cookie, pprofdelta_error *err)
{
    const pack_call *call = cookie;
    pprofdelta_status status = PPROFDELTA_OK;
    if (!pd_relay_is_begun(&pd->relay) && !pd->way)
        status = pd_relay_begin(&pd->relay, &pd->deflater, &pd->mem, err);
    return status ? status : make_pack(pd, &call->source, call->out, call->report, err);
}

pprofdelta_status pprofdelta_pack_window(pprofdelta *pd, const void *bytes, size_t len,
                                         pprofdelta_pack **out, pprofdelta_report *report,
                                         pprofdelta_error *err)
{
    pprofdelta_report told;
    pack_call call = {{.bytes = bytes, .len = len}, out, report ? &told : NULL};
    pprofdelta_status status = pd_call_in_any_way(pd, make, &call, err);
    if (!status && report)
        *report = told;
    return status;
}

int pprofdelta_pack_is_large(const pprofdelta_pack *p)
{
    enum { LARGE = 256 << 10 }; /* measured */
    return !p->is_done && p->pd->deflater.compression != PPROFDELTA_PLAIN &&
           p->pd->relay.len >= LARGE;
}

void pprofdelta_pack_help(pprofdelta_pack *p)
{
    if (!p->is_done)
        pd_relay_help(&p->pd->relay);
}

pprofdelta_status pprofdelta_pack_finish(pprofdelta_pack *p, const pprofdelta_sink *sink,
                                         pprofdelta_report *report, pprofdelta_error *err)
{
    if (!sink || !sink->write)
        return pd_refuse(err, "there is no sink to write to");
    uint64_t written = 0;
    pprofdelta_status status = p->is_done ? pd_deflate_write(&p->pd->deflater, sink, &written, err)
                                          : pd_relay_finish(&p->pd->relay, sink, &written, err);
    if (!status && report)
        report->output_len = written;
    return status;
}

void pprofdelta_pack_free(pprofdelta_pack *p)
{
    if (!p)
        return;
    pprofdelta *pd = p->pd;
    size_t one = 1;
    pd_relay_drop(&pd->relay);
    pd->pack = NULL;
    pd_pack_leave(pd);
    pd_mem_release(&pd->mem, &p, &one, sizeof *p);
}
