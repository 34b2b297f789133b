#include "keep.h"

#include "ledger/state.h"
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
    pprofdelta_error err;
    if (pprofdelta_save(pd, collecting(&c), &err) != PPROFDELTA_OK) {
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
    if (len < PD_STATE_END)
        return;
    len -= PD_STATE_END;
    XXH128_hash_t sum = XXH3_128bits(state, len);
    const uint64_t words[] = {pd_le64(sum.low64), pd_le64(sum.high64)};
    memcpy(state + len, words, sizeof words);
}
