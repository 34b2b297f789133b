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

void pd_mem_part(pd_mem *part, pd_mem *of)
{
    *part = (pd_mem){.whole = pd_mem_whole(of)};
}

/* ---- blocks ------------------------------------------------------------------------------------ */

void pd_mem_count(pd_mem *mem, uint64_t before, uint64_t now)
{
    pd_mem *whole = pd_mem_whole(mem);
    whole->used += now - before;
    if (whole->used > whole->peak)
        whole->peak = whole->used;
}

/* Makes its neighbours point to a block. */
static void link_block(pd_mem *mem, pd_mem_block *b)
{
    *(b->before ? &b->before->next : &mem->blocks) = b;
    if (b->next)
        b->next->before = b;
}

static void add_block(pd_mem *mem, pd_mem_block *b)
{
    b->before = NULL;
    b->next = mem->blocks;
    link_block(mem, b);
}

static void unlink_block(pd_mem *mem, const pd_mem_block *b)
{
    *(b->before ? &b->before->next : &mem->blocks) = b->next;
    if (b->next)
        b->next->before = b->before;
}

/* Makes the array, or NULL, one of so many bytes. Returns NULL, and changes nothing, if the
 * allocator refuses. */
static void *resize_array(pd_mem *mem, void *array, size_t bytes)
{
    const pprofdelta_allocator *a = &pd_mem_whole(mem)->allocator;
    pd_mem_block *b = array ? pd_mem_base(array) : NULL;
    size_t before = b ? b->bytes : 0;
    pd_mem_block *moved = a->resize(a->cookie, b, bytes + sizeof *b);
    if (!moved)
        return NULL;
    moved->bytes = bytes + sizeof *b;
    if (b)
        link_block(mem, moved);
    else
        add_block(mem, moved);
    pd_mem_count(mem, before, moved->bytes);
    return moved + 1;
}

static void release_block(pd_mem *mem, pd_mem_block *b)
{
    const pprofdelta_allocator *a = &pd_mem_whole(mem)->allocator;
    unlink_block(mem, b);
    pd_mem_count(mem, b->bytes, 0);
    a->release(a->cookie, b);
}

void pd_mem_drop(pd_mem *mem)
{
    while (mem->blocks)
        release_block(mem, mem->blocks);
}

void pd_mem_pass(pd_mem *from, pd_mem *to, void *array)
{
    if (!array)
        return;
    unlink_block(from, pd_mem_base(array));
    add_block(to, pd_mem_base(array));
}

/* ---- arrays ------------------------------------------------------------------------------------ */

pprofdelta_status pd_mem_refuse(const pd_mem *mem, pprofdelta_stage stage, uint64_t offset,
                                const char *what, pprofdelta_error *err)
{
    static const struct {
        const char *who;
        pprofdelta_reason reason;
    } all[] = {{"max_memory allows", PPROFDELTA_REASON_MAX_MEMORY},
               {"a 64-bit process has room for", PPROFDELTA_REASON_NONE},
               {"a 32-bit process has room for", PPROFDELTA_REASON_ADDRESS_SPACE}};
    const uint64_t limit = mem->whole ? mem->whole->limit : mem->limit;
    const int at = limit < PD_MEM_MOST ? 0 : PD_MEM_MOST > UINT32_MAX ? 1 : 2;
    return pd_because(err, all[at].reason,
                      pd_fail(err, PPROFDELTA_E_LIMIT, stage, NULL, PPROFDELTA_NOWHERE, offset,
                              "%s than %s", what, all[at].who));
}

static pprofdelta_status no_memory(size_t bytes, pprofdelta_error *err)
{
    return PD_FAIL(err, PPROFDELTA_E_MEMORY, PPROFDELTA_STAGE_MEMORY, NULL,
                   "no memory for %zu bytes more", bytes);
}

/* ptr points at the caller's typed pointer: copied, not cast, because of the aliasing rules. */
static void *array_at(const void *ptr)
{
    void *array;
    memcpy(&array, ptr, sizeof array);
    return array;
}

pprofdelta_status pd_mem_reserve(pd_mem *mem, void *ptr, size_t need, size_t size,
                                 pprofdelta_error *err)
{
    void *array = array_at(ptr);
    size_t bytes, held = array ? pd_mem_room(array) + sizeof(pd_mem_block) : 0;
    bool is_possible =
        !__builtin_mul_overflow(need, size, &bytes) && bytes <= PTRDIFF_MAX - sizeof(pd_mem_block);
    if (is_possible && bytes <= pd_mem_room(array))
        return PPROFDELTA_OK;
    if (!is_possible || bytes + sizeof(pd_mem_block) - held > pd_mem_left(mem))
        return pd_mem_refuse(mem, PPROFDELTA_STAGE_MEMORY, PPROFDELTA_NOWHERE,
                             "this takes more memory", err);
    array = resize_array(mem, array, bytes);
    if (!array)
        return no_memory(bytes, err);
    memcpy(ptr, &array, sizeof array);
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

pprofdelta_status pd_mem_grow(pd_mem *mem, void *ptr, size_t need, size_t size,
                              pprofdelta_error *err)
{
    const size_t room = pd_mem_room(array_at(ptr));
    size_t bytes;
    if (!__builtin_mul_overflow(need, size, &bytes) && bytes <= room) /* nearly always */
        return PPROFDELTA_OK;
    if (pd_mem_is_tight(mem))
        return pd_mem_reserve(mem, ptr, tight_size(need, size), size, err);
    const size_t cap = room / size;
    size_t want = cap < SIZE_MAX / 2 ? cap + cap / 2 + 64 / size + 4 : need;
    if (want < need)
        want = need;
    /* Near the limit the geometric step may not fit where the needed size does. */
    const uint64_t left = pd_mem_left(mem), links = room ? 0 : sizeof(pd_mem_block);
    if (want > need && (left < links || want - cap > (left - links) / size))
        want = need;
    return pd_mem_reserve(mem, ptr, want, size, err);
}

void pd_mem_trim(pd_mem *mem, void *ptr, size_t need, size_t size)
{
    void *array = array_at(ptr);
    if (need * size >= pd_mem_room(array))
        return;
    if (!need) {
        pd_mem_release(mem, ptr);
        return;
    }
    array = resize_array(mem, array, need * size);
    if (array)
        memcpy(ptr, &array, sizeof array);
}

void pd_mem_release(pd_mem *mem, void *ptr)
{
    void *array = array_at(ptr);
    if (array)
        release_block(mem, pd_mem_base(array));
    array = NULL;
    memcpy(ptr, &array, sizeof array);
}

pprofdelta_status pd_mem_begin(pd_mem *mem, const pprofdelta_allocator *allocator,
                               uint64_t max_memory, void *object, size_t size,
                               pprofdelta_error *err)
{
    if (allocator && (!allocator->resize || !allocator->release))
        return pd_refuse(err, "the allocator has no resize or no release");
    pd_mem_init(mem, allocator, max_memory ? max_memory : PPROFDELTA_DEFAULT_MAX_MEMORY);
    if (size > mem->limit)
        return pd_mem_refuse(mem, PPROFDELTA_STAGE_MEMORY, PPROFDELTA_NOWHERE,
                             "this takes more memory", err);
    void *made = mem->allocator.resize(mem->allocator.cookie, NULL, size);
    if (!made)
        return no_memory(size, err);
    pd_mem_count(mem, 0, size);
    memset(made, 0, size);
    memcpy(object, &made, sizeof made);
    return PPROFDELTA_OK;
}

void pd_mem_end(const pd_mem *mem, void *object)
{
    pd_mem last = *mem; /* *mem is part of the object */
    pd_mem_drop(&last);
    last.allocator.release(last.allocator.cookie, object);
}
