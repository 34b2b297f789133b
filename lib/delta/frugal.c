/* A call that fails for want of memory is made again, with a plan that needs less: see plan.h.
 *
 * Plans after the first one begin with nothing but what the context remembers. So whether they
 * succeed does not depend on what the context did before. */
#include "delta/context.h"

/* There is a NUL behind it. */
static void trim_text(pd_mem *mem, pd_buffer *text)
{
    pd_mem_trim(mem, &text->ptr, &text->cap, text->len + 1, 1);
}

/* Gives back all that the next profile does not need. A delta that was made can then not be written
 * any more. */
static void shed(pprofdelta *pd)
{
    pd_mem *mem = &pd->mem;
    pd->is_made = false;
    pd_window_abandon(&pd->cur.window);
    pd_look_release(&pd->cur);
    pd_look_release(&pd->proof);
    pd_look_trim(&pd->prev);
    pd_window_keep_origins(&pd->prev.window, mem, pd->ledger.keys.len);
    pd_transfer_release(&pd->prev.transfer, mem);
    pd_source_end(&pd->prev.source);
    trim_text(mem, &pd->schema.text);
    trim_text(mem, &pd->last.build_id);
    pd_schema_release(&pd->spare_schema, mem);
    pd_buffer_release(mem, &pd->next.build_id);
    pd_ledger_release(&pd->spare, mem);
    pd_ledger_trim(&pd->ledger, mem, pd->ledger.keys.len);
    pd_keymap_fold(&pd->ledger.keys, mem);
    pd_compact_release(&pd->compact, mem);
    pd_buffer_release(mem, &pd->compressor.out);
}

static pprofdelta_status try_plan(pprofdelta *pd, unsigned nth, pd_call *call, void *cookie,
                                  pprofdelta_error *err)
{
    bool is_tight = pd_plan_is_tight(nth);
    if (is_tight)
        shed(pd);
    pd->nth_plan = nth;
    pd->mem.is_tight = is_tight;
    pprofdelta_status status = call(pd, cookie, err);
    pd->nth_plan = 0;
    pd->mem.is_tight = false;
    return status;
}

/* Other limits are those of a profile: no plan helps. */
static bool is_of_memory(pprofdelta_status status, const pprofdelta_error *err)
{
    return status == PPROFDELTA_E_LIMIT &&
           (!strcmp(err->stage, "memory") || !strcmp(err->stage, "inflate"));
}

pprofdelta_status pd_call_with_plans(pprofdelta *pd, pd_call *call, void *cookie,
                                     pprofdelta_error *err)
{
    pprofdelta_error last;
    pprofdelta_status status = PPROFDELTA_E_LIMIT;
    bool is_short = true;
    for (unsigned nth = pd->first_plan; nth < PD_PLANS && is_short; nth++) {
        status = try_plan(pd, nth, call, cookie, &last);
        is_short = is_of_memory(status, &last);
    }
    if (status == PPROFDELTA_E_LIMIT)
        shed(pd); /* or else the next call finds all memory taken */
    if (status && err)
        *err = last;
    return status;
}
