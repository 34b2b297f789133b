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

/* There is a NUL behind it. */
static void trim_text(pd_mem *mem, pd_buffer *text)
{
    pd_mem_trim(mem, &text->ptr, &text->cap, text->len + 1, 1);
}

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
    trim_text(mem, &pd->schema.text);
    trim_text(mem, &pd->last.build_id);
    pd_schema_release(&pd->spare_schema, mem);
    pd_buffer_release(mem, &pd->next.build_id);
    pd_ledger_release(&pd->spare, mem);
    pd_ledger_trim(&pd->ledger, mem, pd->ledger.keys.len);
    pd_keymap_fold(&pd->ledger.keys, mem);
    pd_compact_release(&pd->compact, mem);
    pd_deflate_end(&pd->deflater, mem);
    pd_buffer_release(mem, &pd->deflater.out);
    pd_pump_empty(&pd->pump);
}

/* *held: what the context holds before. */
static pprofdelta_status go(pprofdelta *pd, pd_way way, pd_call *call, void *cookie, uint64_t *held,
                            pprofdelta_error *err)
{
    if (way != PD_WAY_USUAL)
        shed(pd);
    *held = pd->mem.used;
    pd->way = way;
    pd->mem.is_tight = way != PD_WAY_USUAL;
    pd->mem.lacked = 0;
    pprofdelta_status status = call(pd, cookie, err);
    pd->way = PD_WAY_USUAL;
    pd->mem.is_tight = false;
    return status;
}

/* What the bounded way will take, if the rest of the file is like what was read of it; 0 where that
 * is not known. */
static uint64_t foresee(const pprofdelta *pd, uint64_t held)
{
    const pd_unpacker *u = &pd->cur.stream.unpacker;
    if (!pd->cur.is_streamed || !u->pos || u->pos >= u->in_len || pd->mem.lacked < held)
        return 0;
    double more = (double)(pd->mem.lacked - held) * ((double)u->in_len / (double)u->pos);
    return more < (double)PD_MEM_MOST ? held + (uint64_t)more : 0;
}

/* Says how much it takes, as well as that is known. */
static void say_how_much(const pprofdelta *pd, uint64_t lacked, uint64_t foreseen,
                         pprofdelta_error *err)
{
    if (lacked && lacked != UINT64_MAX && foreseen > lacked)
        pd_fail(err, PPROFDELTA_E_LIMIT, "memory", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                "this takes about %llu bytes, by what was read of it, more than the %llu that %s",
                (unsigned long long)foreseen, (unsigned long long)pd->mem.limit,
                pd_mem_who_allows(&pd->mem));
}

pprofdelta_status pd_call_in_any_way(pprofdelta *pd, pd_call *call, void *cookie,
                                     pprofdelta_error *err)
{
    pprofdelta_error least, this;
    uint64_t lacked = 0, foreseen = 0, held; /* 0: not known */
    pprofdelta_status status = PPROFDELTA_E_LIMIT;
    for (pd_way way = pd->first_way; way < PD_WAYS && status == PPROFDELTA_E_LIMIT; way++) {
        status = go(pd, way, call, cookie, &held, &this);
        bool is_less = pd->mem.lacked && (!lacked || pd->mem.lacked < lacked);
        if (way == pd->first_way || status != PPROFDELTA_E_LIMIT || is_less) {
            least = this;
            lacked = way == PD_WAY_USUAL ? 0 : pd->mem.lacked; /* it is not what the call needs */
        }
        foreseen = way == PD_WAY_BOUNDED ? foresee(pd, held) : foreseen;
    }
    if (status == PPROFDELTA_E_LIMIT)
        say_how_much(pd, lacked, foreseen, &least);
    if (status && err)
        *err = least;
    return status;
}
