#include "codec/relay.h"

#include "codec/cut.h"
#include "codec/member.h"

#include <libdeflate.h>
#include <string.h>

enum { AROUND = PD_MEMBER_HEAD + PD_MEMBER_JOINT + PD_MEMBER_TAIL };

struct pd_relay_part {
    pd_buffer kept; /* what goes in, where it is the relay's */
    pd_bytes in;
    uint8_t *out;      /* room for the member's head, what comes out, and the member's tail */
    size_t room, made; /* made 0: not yet, or it could not be */
};

pprofdelta_status pd_relay_begin(pd_relay *r, pd_deflater *deflater, pd_mem *mem,
                                 pprofdelta_error *err)
{
    *r = (pd_relay){.deflater = deflater, .mem = mem, .part_len = SIZE_MAX};
    return pd_monitor_init(&r->monitor, err);
}

void pd_relay_measure(pd_relay *r, size_t len)
{
    if (r->deflater->compression == PPROFDELTA_GZIP)
        r->part_len = pd_cut_part(len);
}

static void make_next(pd_relay *r, const pd_relay_tools *tools);

/* ---- the writer -------------------------------------------------------------------------------- */

static pprofdelta_status reserve_check(pd_relay *r, struct pd_member_check **check,
                                       pprofdelta_error *err)
{
    size_t none = 0;
    return *check ? PPROFDELTA_OK : pd_mem_reserve(r->mem, check, &none, 1, sizeof **check, err);
}

/* Room for more parts, and what it takes to make them. */
static pprofdelta_status reserve(pd_relay *r, size_t more, pprofdelta_error *err)
{
    pprofdelta_status status = reserve_check(r, &r->own.check, err);
    if (!status)
        status = reserve_check(r, &r->helpers.check, err);
    if (!status) {
        pd_monitor_enter(&r->monitor);
        status = pd_mem_grow(r->mem, &r->parts, &r->cap, r->given + more, sizeof *r->parts, err);
        pd_monitor_leave(&r->monitor);
    }
    return status;
}

/* Room for what comes out of a part. */
static pprofdelta_status begin_part(pd_relay *r, pd_relay_part *part, pd_bytes in,
                                    pprofdelta_error *err)
{
    *part = (pd_relay_part){.in = in};
    size_t bound = libdeflate_deflate_compress_bound(NULL, in.len);
    return pd_mem_reserve(r->mem, &part->out, &part->room, bound + AROUND, 1, err);
}

static void release_part(pd_relay *r, pd_relay_part *part)
{
    pd_buffer_release(r->mem, &part->kept);
    pd_mem_release(r->mem, &part->out, &part->room, 1);
}

static void count(pd_relay *r, pd_bytes in)
{
    r->crc = libdeflate_crc32(r->crc, in.ptr, in.len);
    r->len += in.len;
}

/* Has the writer what it takes to compress? */
static bool has_tools(pd_relay *r)
{
    if (!r->own.gzip && pd_deflate_has_gzip(r->deflater))
        r->own.gzip = r->deflater->gzip;
    return r->own.gzip;
}

/* Inside the monitor: gives back what a part that is made has too much, but for its buffer, which may
 * become *next. */
static void tidy(pd_relay *r, pd_relay_part *part, pd_buffer *next)
{
    pd_mem_trim(r->mem, &part->out, &part->room, part->made + AROUND, 1);
    if (r->gathers)
        return;
    if (next->cap) {
        pd_buffer_release(r->mem, &part->kept);
    } else {
        *next = part->kept;
        next->len = 0;
        part->kept = (pd_buffer){0};
    }
}

/* Another buffer for the writer, with room for another part and what begins with `rest`. */
static pprofdelta_status next_buffer(pd_relay *r, size_t len, pd_bytes rest, pd_buffer *out,
                                     pprofdelta_error *err)
{
    size_t cap = len + len / 16 + rest.len;
    pd_monitor_enter(&r->monitor);
    for (; r->tidied < r->taken && r->parts[r->tidied].made; r->tidied++)
        tidy(r, &r->parts[r->tidied], out);
    pd_monitor_leave(&r->monitor);
    pprofdelta_status status = pd_mem_reserve(r->mem, &out->ptr, &out->cap, cap, 1, err);
    if (!status && rest.len)
        memcpy(out->ptr, rest.ptr, rest.len);
    out->len = status ? 0 : rest.len;
    return status;
}

pprofdelta_status pd_relay_give(pd_relay *r, pd_buffer *in, size_t len, pprofdelta_error *err)
{
    enum { LAG = 1 };
    pd_relay_part part;
    pd_buffer next = {0};
    pprofdelta_status status = reserve(r, 1, err);
    if (!status)
        status = next_buffer(r, len, (pd_bytes){in->ptr + len, in->len - len}, &next, err);
    if (!status && in->cap / 2 > len) /* a sample longer than a part */
        pd_mem_trim(r->mem, &in->ptr, &in->cap, in->len = len, 1);
    if (!status)
        status = begin_part(r, &part, (pd_bytes){in->ptr, len}, err);
    if (status) {
        pd_buffer_release(r->mem, &next);
        return status;
    }
    count(r, part.in);
    part.kept = *in;
    *in = next;
    pd_monitor_enter(&r->monitor);
    r->parts[r->given++] = part;
    pd_monitor_tell(&r->monitor);
    while (r->has_deflater && r->given - r->taken > LAG && has_tools(r))
        make_next(r, &r->own);
    pd_monitor_leave(&r->monitor);
    return PPROFDELTA_OK;
}

static void close_with(pd_relay *r, size_t parts, bool is_whole)
{
    pd_monitor_enter(&r->monitor);
    r->given += parts;
    r->is_whole = is_whole;
    r->is_closed = true;
    pd_monitor_tell(&r->monitor);
    pd_monitor_leave(&r->monitor);
}

static pprofdelta_status close_whole(pd_relay *r, pd_bytes in, pprofdelta_error *err)
{
    pprofdelta_status status = pd_deflate_prepare(r->deflater, r->mem, in.len, err);
    if (!status)
        status = pd_mem_grow(r->mem, &r->parts, &r->cap, 1, sizeof *r->parts, err);
    if (status)
        return status;
    r->parts[0] = (pd_relay_part){.in = in};
    r->len = in.len;
    close_with(r, 1, true);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_relay_close(pd_relay *r, pd_bytes in, pprofdelta_error *err)
{
    size_t parts = pd_cut_rest(r->part_len, in.len), at = 0;
    if (parts == 1 && !r->given)
        return close_whole(r, in, err);
    if (!has_tools(r))
        return pd_deflate_fail("no memory for a gzip compressor", err);
    pprofdelta_status status = reserve(r, parts, err);
    size_t begun = 0;
    for (; begun < parts && !status; begun++) {
        size_t len = (in.len - at) / (parts - begun);
        status = begin_part(r, &r->parts[r->given + begun], (pd_bytes){in.ptr + at, len}, err);
        at += len;
    }
    if (status) {
        while (begun)
            release_part(r, &r->parts[r->given + --begun]);
        return status;
    }
    count(r, in);
    close_with(r, parts, false);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_relay_gather(pd_relay *r, pd_bytes rest, pd_bytes *all, pprofdelta_error *err)
{
    *all = rest;
    if (!r->given)
        return PPROFDELTA_OK;
    r->gathered.len = 0;
    pprofdelta_status status = pd_buffer_room(r->mem, &r->gathered, (size_t)r->len + rest.len, err);
    if (status)
        return status;
    for (size_t i = 0; i <= r->given; i++) {
        pd_bytes part = i < r->given ? r->parts[i].in : rest;
        memcpy(r->gathered.ptr + r->gathered.len, part.ptr, part.len);
        r->gathered.len += part.len;
    }
    *all = (pd_bytes){r->gathered.ptr, r->gathered.len};
    return PPROFDELTA_OK;
}

/* ---- whoever compresses ------------------------------------------------------------------------ */

/* Inside the monitor, which is left meanwhile. Parts may be given then, and the array move. */
static void make_next(pd_relay *r, const pd_relay_tools *tools)
{
    size_t nth = r->taken++;
    pd_relay_part part = r->parts[nth];
    bool is_whole = r->is_whole, is_last = r->is_closed && nth + 1 == r->given;
    uint8_t *data = is_whole ? NULL : part.out + PD_MEMBER_HEAD;
    pprofdelta_status status = PPROFDELTA_OK;
    pprofdelta_error err;
    pd_bytes whole = {0};
    r->in_work++;
    pd_monitor_leave(&r->monitor);
    if (is_whole)
        status = pd_deflate_whole(r->deflater, part.in.ptr, part.in.len, &whole, &err);
    else
        part.made = libdeflate_deflate_compress(tools->gzip, part.in.ptr, part.in.len, data,
                                                part.room - AROUND);
    if (part.made && !is_last)
        part.made = pd_member_open(tools->check, data, part.made);
    pd_monitor_enter(&r->monitor);
    r->in_work--;
    r->parts[nth].made = part.made;
    if (is_whole) {
        r->whole = whole;
        r->status = status;
        if (status)
            r->err = err;
    }
    pd_monitor_tell(&r->monitor);
}

/* Inside the monitor: has a helper what the next part takes, or can it be had? If not, the part is
 * the writer's. */
static bool can_help(pd_relay *r)
{
    if (!r->is_whole && !r->helpers.gzip)
        r->helpers.gzip = pd_deflate_new_gzip(r->deflater);
    return r->is_whole || r->helpers.gzip;
}

/* Inside the monitor: takes parts until there will be no more. */
static void help(pd_relay *r)
{
    for (;;) {
        if (r->taken == r->given) {
            if (r->is_closed || r->is_stopped)
                return;
            pd_monitor_wait(&r->monitor);
        } else if (can_help(r)) {
            make_next(r, &r->helpers);
        } else {
            return;
        }
    }
}

void pd_relay_warm(pd_relay *r)
{
    if (r->deflater->compression != PPROFDELTA_GZIP)
        return;
    void *gzip = pd_deflate_new_gzip(r->deflater);
    if (gzip)
        pd_deflate_warm_gzip(gzip);
    pd_monitor_enter(&r->monitor);
    if (!r->helpers.gzip)
        r->helpers.gzip = gzip;
    else
        libdeflate_free_compressor(gzip);
    pd_monitor_leave(&r->monitor);
}

void pd_relay_help(pd_relay *r)
{
    pd_monitor_enter(&r->monitor);
    if (!r->has_helper) {
        r->has_helper = true;
        help(r);
        r->has_helper = false;
    }
    pd_monitor_leave(&r->monitor);
}

void pd_relay_stop(pd_relay *r)
{
    pd_monitor_enter(&r->monitor);
    r->is_stopped = true;
    pd_monitor_tell(&r->monitor);
    pd_monitor_leave(&r->monitor);
}

void pd_relay_drop(pd_relay *r)
{
    if (!pd_relay_is_begun(r))
        return;
    pd_monitor_enter(&r->monitor);
    r->taken = r->given;
    r->is_closed = true;
    pd_monitor_tell(&r->monitor);
    pd_monitor_leave(&r->monitor);
}

/* ---- the end ----------------------------------------------------------------------------------- */

static pprofdelta_status check_parts(const pd_relay *r, pprofdelta_error *err)
{
    for (size_t i = 0; i < r->given; i++)
        if (!r->parts[i].made)
            return pd_deflate_fail("the gzip compressor has not enough room", err);
    return PPROFDELTA_OK;
}

/* The first part with the member's head, the last with its tail. */
static pprofdelta_status hand_over(const pd_relay *r, const pprofdelta_sink *sink,
                                   uint64_t *written, pprofdelta_error *err)
{
    uint64_t len = 0;
    bool is_taken = true;
    pd_member_head(r->parts[0].out);
    pd_member_tail(r->parts[r->given - 1].out + PD_MEMBER_HEAD + r->parts[r->given - 1].made,
                   r->crc, r->len);
    for (size_t i = 0; i < r->given; i++) {
        const pd_relay_part *part = &r->parts[i];
        const uint8_t *from = part->out + (i ? PD_MEMBER_HEAD : 0);
        const uint8_t *to = part->out + PD_MEMBER_HEAD + part->made;
        to += i + 1 == r->given ? PD_MEMBER_TAIL : 0;
        is_taken = is_taken && !sink->write(sink->cookie, from, (size_t)(to - from));
        len += (size_t)(to - from);
    }
    if (!is_taken)
        return pd_deflate_refused(len, err);
    *written = len;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_relay_finish(pd_relay *r, const pprofdelta_sink *sink, uint64_t *written,
                                  pprofdelta_error *err)
{
    pd_monitor_enter(&r->monitor);
    while (r->taken < r->given)
        make_next(r, &r->own);
    while (r->in_work)
        pd_monitor_wait(&r->monitor);
    pd_monitor_leave(&r->monitor);
    if (!r->is_whole) {
        pprofdelta_status status = check_parts(r, err);
        return status ? status : hand_over(r, sink, written, err);
    }
    if (r->status && err)
        *err = r->err;
    return r->status ? r->status : pd_deflate_hand_over(r->whole, sink, written, err);
}

static void release_check(pd_relay *r, struct pd_member_check **check)
{
    size_t one = *check != NULL;
    pd_mem_release(r->mem, check, &one, sizeof **check);
}

void pd_relay_end(pd_relay *r)
{
    if (!pd_relay_is_begun(r))
        return;
    for (size_t i = 0; i < r->given; i++)
        release_part(r, &r->parts[i]);
    pd_mem_release(r->mem, &r->parts, &r->cap, sizeof *r->parts);
    release_check(r, &r->own.check);
    release_check(r, &r->helpers.check);
    libdeflate_free_compressor(r->helpers.gzip);
    pd_buffer_release(r->mem, &r->gathered);
    pd_monitor_fini(&r->monitor);
    *r = (pd_relay){0};
}
