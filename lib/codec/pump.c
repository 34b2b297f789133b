#include "codec/pump.h"

#include <string.h>

/* Waking somebody for one piece costs a good part of making it. Who sleeps for want of pieces, or of
 * free slots, is woken when there are so many. */
enum { ENOUGH = PD_PUMP_SLOTS / 2 };

pprofdelta_status pd_pump_open(pd_pump *p, pd_mem *mem, pprofdelta_error *err)
{
    *p = (pd_pump){.mem = mem};
    return pd_monitor_init(&p->monitor, err);
}

/* ---- whoever inflates -------------------------------------------------------------------------- */

/* What came before a piece, in front of its slot: the end of what the one before holds. */
static void put_history(pd_pump_slot *slot, const pd_pump_slot *before)
{
    memcpy(slot->ptr, before->ptr + before->len, PD_DECODE_HISTORY);
}

/* Inside the monitor, which is left meanwhile: inflates the next piece. */
static void make_piece(pd_pump *p)
{
    pd_pump_slot *slot = &p->slots[p->made % PD_PUMP_SLOTS];
    const pd_pump_slot *before = &p->slots[(p->made + PD_PUMP_SLOTS - 1) % PD_PUMP_SLOTS];
    pprofdelta_error err;
    p->is_working = true;
    pd_monitor_leave(&p->monitor);
    put_history(slot, before);
    pprofdelta_status status =
        pd_unpack_some(&p->unpacker, slot->ptr + PD_DECODE_HISTORY, p->piece, &slot->len, &err);
    pd_monitor_enter(&p->monitor);
    p->is_working = false;
    p->made++;
    p->status = status;
    if (status)
        p->err = err;
    if (status || p->unpacker.is_done)
        p->is_wanted = false;
}

/* Inside the monitor: is there a piece to be made, and room for it? */
static bool has_work(const pd_pump *p)
{
    return p->is_wanted && !p->is_working && p->made - p->taken < PD_PUMP_SLOTS;
}

bool pd_pump_work(pd_pump *p)
{
    pd_monitor_enter(&p->monitor);
    while (!p->is_stopped && !p->is_lent) {
        if (!has_work(p)) {
            pd_monitor_wait(&p->monitor);
            continue;
        }
        make_piece(p);
        if (!p->is_wanted || p->made - p->taken >= ENOUGH)
            pd_monitor_tell(&p->monitor);
    }
    bool is_lent = p->is_lent && !p->is_stopped;
    p->is_lent = false;
    p->is_away |= is_lent;
    pd_monitor_tell(&p->monitor);
    pd_monitor_leave(&p->monitor);
    return is_lent;
}

void pd_pump_return(pd_pump *p)
{
    pd_monitor_enter(&p->monitor);
    p->is_away = false;
    pd_monitor_tell(&p->monitor);
    pd_monitor_leave(&p->monitor);
}

void pd_pump_stop(pd_pump *p)
{
    pd_monitor_enter(&p->monitor);
    p->is_stopped = true;
    pd_monitor_tell(&p->monitor);
    pd_monitor_leave(&p->monitor);
}

void pd_pump_lend(pd_pump *p)
{
    pd_monitor_enter(&p->monitor);
    p->is_lent = true;
    pd_monitor_tell(&p->monitor);
    pd_monitor_leave(&p->monitor);
}

void pd_pump_recall(pd_pump *p)
{
    pd_monitor_enter(&p->monitor);
    p->is_lent = false;
    while (p->is_away)
        pd_monitor_wait(&p->monitor);
    pd_monitor_leave(&p->monitor);
}

/* ---- the reader -------------------------------------------------------------------------------- */

static void release_slots(pd_pump *p)
{
    for (size_t i = 0; i < PD_PUMP_SLOTS; i++)
        pd_mem_release(p->mem, &p->slots[i].ptr, &p->slots[i].cap, 1);
}

/* The slots are to be a small part of what the limit has left. */
static bool has_room(pd_pump *p)
{
    enum { SHARE = 8 };
    size_t need = PD_DECODE_HISTORY + p->piece + PD_DECODE_SLACK;
    bool is_small = p->slots[0].cap >= need || need <= pd_mem_left(p->mem) / SHARE / PD_PUMP_SLOTS;
    bool has_all = need > p->piece && is_small;
    for (size_t i = 0; i < PD_PUMP_SLOTS && has_all; i++) {
        pd_pump_slot *slot = &p->slots[i];
        has_all = !pd_mem_reserve(p->mem, &slot->ptr, &slot->cap, need, 1, NULL);
        slot->len = 0;
    }
    if (!has_all)
        release_slots(p);
    return has_all;
}

bool pd_pump_begin(pd_pump *p, const uint8_t *in, size_t len, size_t piece)
{
    if (p->is_taken)
        return false;
    p->piece = piece;
    if (!has_room(p) || pd_unpack_begin(&p->unpacker, p->mem, in, len, NULL))
        return false;
    p->is_taken = true;
    pd_monitor_enter(&p->monitor);
    p->made = p->taken = 0;
    p->status = PPROFDELTA_OK;
    p->is_wanted = true;
    pd_monitor_tell(&p->monitor);
    pd_monitor_leave(&p->monitor);
    return true;
}

/* Inside the monitor: waits for a piece, or makes it. False where there is none any more. */
static bool await_piece(pd_pump *p)
{
    while (p->made == p->taken) {
        if (p->is_working)
            pd_monitor_wait(&p->monitor);
        else if (!p->is_wanted)
            return false;
        else {
            make_piece(p);
            pd_monitor_tell(&p->monitor);
        }
    }
    return true;
}

pprofdelta_status pd_pump_take(pd_pump *p, uint8_t *out, size_t *made, bool *is_done,
                               pprofdelta_error *err)
{
    pd_monitor_enter(&p->monitor);
    bool is_there = await_piece(p);
    bool is_last = !p->is_wanted && !p->is_working && p->made - p->taken <= 1;
    const pd_pump_slot *slot = &p->slots[p->taken % PD_PUMP_SLOTS];
    pprofdelta_status status = is_last ? p->status : PPROFDELTA_OK;
    if (status && err)
        *err = p->err;
    pd_monitor_leave(&p->monitor);
    *made = 0;
    *is_done = is_last;
    if (status || !is_there)
        return status;
    *made = slot->len;
    memcpy(out, slot->ptr + PD_DECODE_HISTORY, slot->len);
    pd_monitor_enter(&p->monitor);
    p->taken++;
    if (has_work(p) && p->made - p->taken == PD_PUMP_SLOTS - ENOUGH)
        pd_monitor_tell(&p->monitor);
    pd_monitor_leave(&p->monitor);
    return PPROFDELTA_OK;
}

void pd_pump_leave(pd_pump *p)
{
    pd_monitor_enter(&p->monitor);
    p->is_wanted = false;
    while (p->is_working)
        pd_monitor_wait(&p->monitor);
    pd_monitor_leave(&p->monitor);
    p->is_taken = false;
}

void pd_pump_empty(pd_pump *p)
{
    if (!pd_pump_is_open(p) || p->is_taken)
        return;
    release_slots(p);
    pd_unpack_end(&p->unpacker);
}

void pd_pump_close(pd_pump *p)
{
    if (!pd_pump_is_open(p))
        return;
    p->is_taken = false;
    pd_pump_empty(p);
    pd_monitor_fini(&p->monitor);
    *p = (pd_pump){0};
}
