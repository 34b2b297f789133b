#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void *libc_resize(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    return realloc(ptr, size);
}

static void libc_release(void *cookie, void *ptr)
{
    (void)cookie;
    free(ptr);
}

void pd_mem_init(pd_mem *mem, const pprofdelta_allocator *allocator, uint64_t limit)
{
    static const pprofdelta_allocator libc = {libc_resize, libc_release, NULL};
    *mem = (pd_mem){.allocator = allocator ? *allocator : libc,
                    .limit = limit < PD_MEM_MOST ? limit : PD_MEM_MOST};
}

pprofdelta_status pd_mem_refuse(const pd_mem *mem, pprofdelta_stage stage, uint64_t offset,
                                const char *what, pprofdelta_error *err)
{
    static const struct {
        const char *who;
        pprofdelta_reason reason;
    } all[] = {{"max_memory allows", PPROFDELTA_REASON_MAX_MEMORY},
               {"a 64-bit process has room for", PPROFDELTA_REASON_NONE},
               {"a 32-bit process has room for", PPROFDELTA_REASON_ADDRESS_SPACE}};
    const int at = mem->limit < PD_MEM_MOST ? 0 : PD_MEM_MOST > UINT32_MAX ? 1 : 2;
    return pd_because(err, all[at].reason,
                      pd_fail(err, PPROFDELTA_E_LIMIT, stage, NULL, PPROFDELTA_NOWHERE, offset,
                              "%s than %s", what, all[at].who));
}

pprofdelta_status pd_mem_reserve(pd_mem *mem, void *ptr, size_t *cap, size_t need, size_t size,
                                 pprofdelta_error *err)
{
    size_t bytes;
    uint64_t held = (uint64_t)*cap * size;
    if (need <= *cap)
        return PPROFDELTA_OK;
    bool is_possible = !__builtin_mul_overflow(need, size, &bytes) && bytes <= PTRDIFF_MAX;
    if (!is_possible || bytes - held > pd_mem_left(mem))
        return pd_mem_refuse(mem, PPROFDELTA_STAGE_MEMORY, PPROFDELTA_NOWHERE,
                             "this takes more memory", err);
    /* ptr points at the caller's typed pointer: copied, not cast, because of the aliasing rules. */
    void *old;
    memcpy(&old, ptr, sizeof old);
    void *moved = mem->allocator.resize(mem->allocator.cookie, old, bytes);
    if (!moved)
        return PD_FAIL(err, PPROFDELTA_E_MEMORY, PPROFDELTA_STAGE_MEMORY, NULL,
                       "no memory for %zu bytes more", bytes);
    memcpy(ptr, &moved, sizeof moved);
    *cap = need;
    mem->used += bytes - held;
    if (mem->used > mem->peak)
        mem->peak = mem->used;
    return PPROFDELTA_OK;
}

/* A 32nd more than needed, at most MOST bytes more. */
static size_t tight_size(size_t need, size_t size)
{
    enum { MOST = 256 << 10 };
    size_t more = need / 32, most = MOST / size;
    more = (more < most ? more : most) + 64 / size;
    return need < SIZE_MAX - more ? need + more : need;
}

pprofdelta_status pd_mem_grow(pd_mem *mem, void *ptr, size_t *cap, size_t need, size_t size,
                              pprofdelta_error *err)
{
    if (need <= *cap)
        return PPROFDELTA_OK;
    if (mem->is_tight)
        return pd_mem_reserve(mem, ptr, cap, tight_size(need, size), size, err);
    size_t want = *cap < SIZE_MAX / 2 ? *cap + *cap / 2 + 64 / size + 4 : need;
    if (want < need)
        want = need;
    /* Near the limit the geometric step may not fit where the needed size does. */
    if (want > need && (uint64_t)(want - *cap) > pd_mem_left(mem) / size)
        want = need;
    return pd_mem_reserve(mem, ptr, cap, want, size, err);
}

void pd_mem_trim(pd_mem *mem, void *ptr, size_t *cap, size_t need, size_t size)
{
    if (need >= *cap)
        return;
    if (!need) {
        pd_mem_release(mem, ptr, cap, size);
        return;
    }
    void *old;
    memcpy(&old, ptr, sizeof old);
    void *moved = mem->allocator.resize(mem->allocator.cookie, old, need * size);
    if (!moved)
        return;
    memcpy(ptr, &moved, sizeof moved);
    mem->used -= (uint64_t)(*cap - need) * size;
    *cap = need;
}

void pd_mem_release(pd_mem *mem, void *ptr, size_t *cap, size_t size)
{
    void *old;
    memcpy(&old, ptr, sizeof old);
    if (!old)
        return;
    mem->allocator.release(mem->allocator.cookie, old);
    mem->used -= (uint64_t)*cap * size;
    *cap = 0;
    old = NULL;
    memcpy(ptr, &old, sizeof old);
}

pprofdelta_status pd_mem_begin(pd_mem *mem, const pprofdelta_allocator *allocator,
                               uint64_t max_memory, void *object, size_t size,
                               pprofdelta_error *err)
{
    void *made = NULL;
    size_t cap = 0;
    if (allocator && (!allocator->resize || !allocator->release))
        return pd_refuse(err, "the allocator has no resize or no release");
    pd_mem_init(mem, allocator, max_memory ? max_memory : PPROFDELTA_DEFAULT_MAX_MEMORY);
    pprofdelta_status status = pd_mem_reserve(mem, &made, &cap, 1, size, err);
    if (made) {
        memset(made, 0, size);
        memcpy(object, &made, sizeof made);
    }
    return status;
}

void pd_mem_end(const pd_mem *mem, void *object, size_t size)
{
    pd_mem last = *mem; /* *mem is part of the object */
    size_t cap = 1;
    pd_mem_release(&last, &object, &cap, size);
}
