#include "profile/kept.h"

#include <string.h>

void pd_kept_begin(pd_kept *k, size_t most)
{
    k->bytes.len = k->len = 0;
    k->most = most;
    k->is_lost = false;
}

static bool has_room(pd_kept *k, pd_mem *mem, size_t len)
{
    return len <= k->most - k->bytes.len && !pd_buffer_room(mem, &k->bytes, len, NULL) &&
           !pd_mem_grow(mem, &k->at, &k->cap, k->len + 1, sizeof *k->at, NULL);
}

void pd_kept_lose(pd_kept *k, pd_mem *mem)
{
    pd_kept_release(k, mem);
    k->is_lost = true;
}

void pd_kept_add(pd_kept *k, pd_mem *mem, const uint8_t *start, const uint8_t *end)
{
    size_t len = (size_t)(end - start);
    if (k->is_lost)
        return;
    if (!has_room(k, mem, len)) {
        pd_kept_lose(k, mem);
        return;
    }
    memcpy(k->bytes.ptr + k->bytes.len, start, len);
    k->at[k->len++] = k->bytes.len;
    k->bytes.len += len;
}

void pd_kept_release(pd_kept *k, pd_mem *mem)
{
    pd_buffer_release(mem, &k->bytes);
    pd_mem_release(mem, &k->at, &k->cap, sizeof *k->at);
    *k = (pd_kept){0};
}
