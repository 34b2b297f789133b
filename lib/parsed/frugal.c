/* What is done where the limit is too low for a call: it is made again, in ways that need less.
 *
 *     usual      what is quickest for what the limit seems to allow: see look.c, once.c, pack.c
 *     bounded    a piece of the profile at a time, in two passes; compressed as it is written
 *     whole      inflated whole, for what is shorter than a piece; compressed as it is written
 *
 * The last two use no other thread, keep nothing for speed, and begin with nothing but what the
 * context remembers. Their arrays grow by amounts that do not depend on the limit, so each of the two
 * succeeds from a certain limit on. The usual way needs more than one of them, whatever it does. So
 * what succeeds with a limit succeeds with a higher one, and whether it does depends neither on other
 * threads nor on what the context did before. */
#include "parsed/context.h"

/* Gives back all that the next profile does not need. */
static void shed(pprofdelta *pd)
{
    pd_mem *mem = &pd->mem;
    pd_window_abandon(&pd->cur.window);
    pd_look_release(&pd->cur, mem);
    pd_look_release(&pd->proof, mem);
    pd_look_trim(&pd->prev, mem);
    pd_window_keep_origins(&pd->prev.window, mem, pd->ledger.keys.len);
    pd_transfer_release(&pd->prev.transfer, mem);
    pd_stream_end(&pd->prev.stream);
    pd_ledger_release(&pd->spare, mem);
    pd_ledger_trim(&pd->ledger, mem, pd->ledger.keys.len);
    pd_compact_release(&pd->compact, mem);
    pd_deflate_end(&pd->deflater, mem);
    pd_buffer_release(mem, &pd->deflater.out);
    pd_pump_empty(&pd->pump);
}

static pprofdelta_status go(pprofdelta *pd, pd_way way, pd_call *call, void *cookie,
                            pprofdelta_error *err)
{
    if (way != PD_WAY_USUAL)
        shed(pd);
    pd->way = way;
    pd->mem.is_tight = way != PD_WAY_USUAL;
    pd->mem.lacked = 0;
    pprofdelta_status status = call(pd, cookie, err);
    pd->way = PD_WAY_USUAL;
    pd->mem.is_tight = false;
    return status;
}

pprofdelta_status pd_call_in_any_way(pprofdelta *pd, pd_call *call, void *cookie,
                                     pprofdelta_error *err)
{
    pprofdelta_error least, this;
    uint64_t lacked = UINT64_MAX;
    pprofdelta_status status = PPROFDELTA_E_LIMIT;
    for (pd_way way = pd->first_way; way < PD_WAYS && status == PPROFDELTA_E_LIMIT; way++) {
        status = go(pd, way, call, cookie, &this);
        if (status != PPROFDELTA_E_LIMIT || pd->mem.lacked < lacked) {
            least = this;
            lacked = pd->mem.lacked;
        }
    }
    if (status && err)
        *err = least;
    return status;
}
