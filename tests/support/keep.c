#include "keep.h"

#include "ledger/state_format.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

static int hand_out(void *cookie, void *out, size_t len, size_t *got)
{
    keep_source *s = cookie;
    if (++s->calls == s->fail_at)
        return 1;
    size_t part = s->len - s->at < len ? s->len - s->at : len;
    if (s->step && part > s->step)
        part = s->step;
    if (part)
        memcpy(out, s->ptr + s->at, part);
    s->at += part;
    *got = part;
    return 0;
}

pprofdelta_source keep_source_of(keep_source *s)
{
    return (pprofdelta_source){hand_out, s};
}

buf keep_save(arena *a, pprofdelta *pd)
{
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_error err;
    if (pprofdelta_save(pd, &sink, &err) != PPROFDELTA_OK) {
        fprintf(stderr, "cannot save: %s\n", err.text);
        abort();
    }
    return c.bytes;
}

pprofdelta_status keep_load(pprofdelta *pd, buf state, pprofdelta_error *err)
{
    keep_source s = {.ptr = state.ptr, .len = state.len};
    pprofdelta_source source = keep_source_of(&s);
    return pprofdelta_load(pd, &source, err);
}

void keep_forge(uint8_t *state, size_t len)
{
    if (len < PD_STATE_INTRO)
        return;
    size_t head = pd_get32(state + PD_STATE_AT_HEAD);
    if (head >= PD_STATE_INTRO + PD_STATE_HEAD_SUM && head <= len) {
        size_t summed = head - PD_STATE_HEAD_SUM;
        pd_put64(state + summed, XXH3_64bits(state, summed));
    }
    if (len < PD_STATE_INTRO + PD_STATE_CHECK + PD_STATE_ARRIVED)
        return;
    len -= PD_STATE_ARRIVED;
    XXH128_hash_t sum = XXH3_128bits(state, len - PD_STATE_CHECK);
    pd_put64(state + len - PD_STATE_CHECK, sum.low64);
    pd_put64(state + len - PD_STATE_CHECK + 8, sum.high64);
}
