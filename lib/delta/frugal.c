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
    pd_stream_end(&pd->prev.stream);
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

/* *held: what the context holds before. */
static pprofdelta_status try_plan(pprofdelta *pd, unsigned nth, pd_call *call, void *cookie,
                                  uint64_t *held, pprofdelta_error *err)
{
    bool is_tight = pd_plan_is_tight(nth);
    if (is_tight)
        shed(pd);
    *held = pd->mem.used;
    pd->nth_plan = nth;
    pd->mem.is_tight = is_tight;
    pd->mem.lacked = 0;
    pprofdelta_status status = call(pd, cookie, err);
    pd->nth_plan = 0;
    pd->mem.is_tight = false;
    return status;
}

/* What the plan with a stream will take if the rest of the file is like what was read of it; 0 if
 * that is not known. */
static uint64_t foresee(const pprofdelta *pd, uint64_t held)
{
    const pd_unpacker *u = &pd->cur.stream.unpacker;
    if (!pd->cur.stream.mem || pd->cur.stream.is_whole || !u->pos || u->pos >= u->in_len ||
        pd->mem.lacked < held)
        return 0;
    double more = (double)(pd->mem.lacked - held) * ((double)u->in_len / (double)u->pos);
    return more < (double)PD_MEM_MOST ? held + (uint64_t)more : 0;
}

/* Makes the error say how much memory is needed, if that is known. */
static void say_how_much(const pprofdelta *pd, uint64_t lacked, uint64_t foreseen,
                         pprofdelta_error *err)
{
    if (lacked && lacked != UINT64_MAX && foreseen > lacked)
        pd_because(
            err, pd_mem_reason(&pd->mem),
            pd_fail(
                err, PPROFDELTA_E_LIMIT, "memory", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                "this takes about %llu bytes, by what was read of it, more than the %llu that %s",
                (unsigned long long)foreseen, (unsigned long long)pd->mem.limit,
                pd_mem_who_allows(&pd->mem)));
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
    pprofdelta_error least, this;
    uint64_t lacked = 0, foreseen = 0, held; /* 0: not known */
    pprofdelta_status status = PPROFDELTA_E_LIMIT;
    bool is_short = true;
    for (unsigned nth = pd->first_plan; nth < PD_PLANS && is_short; nth++) {
        status = try_plan(pd, nth, call, cookie, &held, &this);
        is_short = is_of_memory(status, &this);
        bool is_less = pd->mem.lacked && (!lacked || pd->mem.lacked < lacked);
        if (nth == pd->first_plan || !is_short || is_less) {
            least = this;
            lacked = nth ? pd->mem.lacked : 0; /* what plan 0 lacks is not what the call needs */
        }
        foreseen = nth == PD_PLAN_STREAM ? foresee(pd, held) : foreseen;
    }
    if (is_short)
        say_how_much(pd, lacked, foreseen, &least);
    if (status == PPROFDELTA_E_LIMIT)
        shed(pd); /* or else the next call finds all memory taken */
    if (status && err)
        *err = least;
    return status;
}
