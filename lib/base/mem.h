/* Memory: the caller's allocator with a running total held against a limit.
 *
 * Every array of the library grows through pd_mem_grow: the capacity changes only after the
 * allocation succeeded, sizes are multiplied checked, and the total tells when max_memory is
 * passed. */
#ifndef PD_BASE_MEM_H
#define PD_BASE_MEM_H

#include "base/error.h"

#include <stdbool.h>

typedef struct pd_mem {
    pprofdelta_allocator allocator;
    uint64_t used;   /* bytes held now */
    uint64_t peak;   /* most bytes ever held */
    uint64_t limit;  /* used never passes it */
    uint64_t lacked; /* what it would have held, had it not refused that; set by each refusal */
    bool is_tight;   /* arrays grow by little, and by how much does not depend on the limit */
} pd_mem;

/* Never more than a process has room for, whatever its caller allows: a quarter of its addresses,
 * so that even the largest array finds another place when it grows. */
#define PD_MEM_MOST ((uint64_t)(SIZE_MAX / 4))

void pd_mem_init(pd_mem *mem, const pprofdelta_allocator *allocator, uint64_t limit);

/* For an object that lives in memory of its own: *mem begins, and `object`, a pointer to one of
 * `size` bytes, is set to them, cleared; *mem then becomes the object's. max_memory 0: the default.
 * On failure nothing is held and the pointer stays. */
pprofdelta_status pd_mem_begin(pd_mem *mem, const pprofdelta_allocator *allocator,
                               uint64_t max_memory, void *object, size_t size,
                               pprofdelta_error *err);

/* Gives such an object back, the last thing that its memory holds. */
void pd_mem_end(const pd_mem *mem, void *object, size_t size);

/* How much room an array gets that grows from `len` elements on. */
static inline size_t pd_mem_roomy(const pd_mem *mem, size_t len)
{
    return len + len / (mem->is_tight ? 32 : 2) + 16;
}

/* Makes *ptr (NULL or from here, holding *cap elements) hold at least `need` elements of `size`
 * bytes, growing geometrically. New space is not cleared. On failure both stay as they were. */
pprofdelta_status pd_mem_grow(pd_mem *mem, void *ptr, size_t *cap, size_t need, size_t size,
                              pprofdelta_error *err);

/* The same, but to exactly `need` elements where it has to grow. */
pprofdelta_status pd_mem_reserve(pd_mem *mem, void *ptr, size_t *cap, size_t need, size_t size,
                                 pprofdelta_error *err);

/* Makes *ptr hold `need` elements only, where it holds more. Where the allocator refuses, it
 * stays. */
void pd_mem_trim(pd_mem *mem, void *ptr, size_t *cap, size_t need, size_t size);

/* Gives back *ptr, an array of *cap elements of `size` bytes; both become zero. NULL is fine. */
void pd_mem_release(pd_mem *mem, void *ptr, size_t *cap, size_t size);

/* How much more it may hold. */
static inline uint64_t pd_mem_left(const pd_mem *mem)
{
    return mem->limit - mem->used;
}

/* Whose limit it is, as the end of "more than so many bytes that ...". */
const char *pd_mem_who_allows(const pd_mem *mem);

/* A run of bytes that belongs to somebody else. */
typedef struct pd_bytes {
    const uint8_t *ptr;
    size_t len;
} pd_bytes;

/* A run of bytes that grows. Zero it to begin; its memory belongs to the pd_mem it grew in. */
typedef struct pd_buffer {
    uint8_t *ptr;
    size_t len, cap;
} pd_buffer;

/* Makes room for `more` bytes behind len. */
static inline pprofdelta_status pd_buffer_room(pd_mem *mem, pd_buffer *buffer, size_t more,
                                               pprofdelta_error *err)
{
    if (__builtin_expect(more <= buffer->cap - buffer->len, 1))
        return PPROFDELTA_OK;
    size_t need = buffer->len + more < more ? SIZE_MAX : buffer->len + more;
    return pd_mem_grow(mem, &buffer->ptr, &buffer->cap, need, 1, err);
}

static inline void pd_buffer_release(pd_mem *mem, pd_buffer *buffer)
{
    pd_mem_release(mem, &buffer->ptr, &buffer->cap, 1);
    buffer->len = 0;
}

#endif
