/* Memory: the caller's allocator, with the total held against a limit.
 *
 * Every array of the library grows through pd_mem_grow or pd_mem_reserve, and knows how much room
 * it has: sizes are multiplied with a check for overflow, and a total above the limit is refused.
 *
 * An account is what is freed together, in one call: what an object remembers, what it works with,
 * what an encoder holds for a moment. So hardly any array is released by itself. An account can be
 * a part of another one, which has the allocator and the limit:
 *
 *     whole    allocator, limit, used        [block] <-> [block] <-> [block]
 *       part                                 [block] <-> [block]
 *
 *     block    links, size | array */
#ifndef PD_BASE_MEM_H
#define PD_BASE_MEM_H

#include "base/bytes.h"
#include "base/error.h"

/* Before each array. */
typedef struct pd_mem_block {
    _Alignas(max_align_t) struct pd_mem_block *before;
    struct pd_mem_block *next;
    size_t bytes; /* with this struct */
} pd_mem_block;

/* It may be moved. An array is resized and released by the account that it was made in. */
typedef struct pd_mem {
    pd_mem_block *blocks;
    struct pd_mem *whole; /* NULL: it is no part, and has the following members */
    pprofdelta_allocator allocator;
    uint64_t used; /* bytes held now, by its parts, too; at most limit */
    uint64_t peak; /* largest value of used */
    uint64_t limit;
    bool is_tight; /* arrays grow in small steps, of a size that does not depend on the limit */
} pd_mem;

/* The largest limit: a quarter of the address space, so that the largest array can be moved when it
 * grows. */
#define PD_MEM_MOST ((uint64_t)(SIZE_MAX / 4))

void pd_mem_init(pd_mem *mem, const pprofdelta_allocator *allocator, uint64_t limit);

/* Makes an account that is a part of another one, or of what that is a part of. That does not move
 * meanwhile. */
void pd_mem_part(pd_mem *part, pd_mem *of);

static inline pd_mem *pd_mem_whole(pd_mem *mem)
{
    return mem->whole ? mem->whole : mem;
}

/* Frees all arrays of the account. What points to them is to be zeroed. */
void pd_mem_drop(pd_mem *mem);

/* Makes an object that contains its own pd_mem: starts *mem and sets the pointer at `object` to
 * `size` cleared bytes. The caller then copies *mem into the object. max_memory 0 is the default.
 * On failure nothing is held and the pointer is unchanged. No links are before
 * it: the caller's pointer leads a checker for leaks to all of it. */
pprofdelta_status pd_mem_begin(pd_mem *mem, const pprofdelta_allocator *allocator,
                               uint64_t max_memory, void *object, size_t size,
                               pprofdelta_error *err);

/* Frees such an object, with all arrays of the account; not those of its parts. */
void pd_mem_end(const pd_mem *mem, void *object);

/* Of the whole. */
static inline bool pd_mem_is_tight(const pd_mem *mem)
{
    return mem->whole ? mem->whole->is_tight : mem->is_tight;
}

/* The room to make for an array of `len` elements that has to grow. */
static inline size_t pd_mem_roomy(const pd_mem *mem, size_t len)
{
    return len + len / (pd_mem_is_tight(mem) ? 32 : 2) + 16;
}

/* The bytes that an array has room for, or NULL. */
static inline size_t pd_mem_room(const void *array)
{
    return array ? ((const pd_mem_block *)array - 1)->bytes - sizeof(pd_mem_block) : 0;
}

/* Makes the array *ptr (NULL, or allocated here) hold at least `need` elements of `size` bytes;
 * grows geometrically. New memory is not cleared. On failure *ptr is unchanged. */
pprofdelta_status pd_mem_grow(pd_mem *mem, void *ptr, size_t need, size_t size,
                              pprofdelta_error *err);

/* The same, but grows to exactly `need` elements. */
pprofdelta_status pd_mem_reserve(pd_mem *mem, void *ptr, size_t need, size_t size,
                                 pprofdelta_error *err);

/* Shrinks *ptr to `need` elements, if it has room for more; 0 releases it. If the allocator
 * refuses, it stays. */
void pd_mem_trim(pd_mem *mem, void *ptr, size_t need, size_t size);

/* Frees the array *ptr by itself, and sets *ptr to NULL, which it may be. */
void pd_mem_release(pd_mem *mem, void *ptr);

/* Moves an array, or NULL, to another account of the same whole. */
void pd_mem_pass(pd_mem *from, pd_mem *to, void *array);

/* What the allocator gave for an array. */
static inline void *pd_mem_base(void *array)
{
    return (pd_mem_block *)array - 1;
}

/* The same for the elements of an array. */
#define PD_CAP(list)                     (pd_mem_room(list) / sizeof *(list))
#define PD_GROW(mem, list, need, err)    pd_mem_grow(mem, &(list), need, sizeof *(list), err)
#define PD_RESERVE(mem, list, need, err) pd_mem_reserve(mem, &(list), need, sizeof *(list), err)
#define PD_TRIM(mem, list, need)         pd_mem_trim(mem, &(list), need, sizeof *(list))

/* The bytes left below the limit. */
static inline uint64_t pd_mem_left(const pd_mem *mem)
{
    const pd_mem *whole = mem->whole ? mem->whole : mem;
    return whole->limit - whole->used;
}

/* Counts memory that is held elsewhere: `before` bytes until now. */
void pd_mem_count(pd_mem *mem, uint64_t before, uint64_t now);

/* Fails with E_LIMIT: "<what> than max_memory allows", or what the process has room for. */
pprofdelta_status pd_mem_refuse(const pd_mem *mem, pprofdelta_stage stage, uint64_t offset,
                                const char *what, pprofdelta_error *err);

/* The product, or SIZE_MAX, which is more than every limit. */
static inline size_t pd_mem_times(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static inline void pd_swap_memory(void *a, void *b, void *scratch, size_t size)
{
    memcpy(scratch, a, size);
    memcpy(a, b, size);
    memcpy(b, scratch, size);
}

#define PD_SWAP(type, a, b)                                                                        \
    do {                                                                                           \
        type scratch_;                                                                             \
        pd_swap_memory(&(a), &(b), &scratch_, sizeof scratch_);                                    \
    } while (0)

/* Bytes that grow. Zero it to begin. Its memory belongs to the pd_mem it grew in. */
typedef struct pd_buffer {
    uint8_t *ptr;
    size_t len, cap; /* cap: the room of ptr, for quick use */
} pd_buffer;

static inline pd_bytes pd_buffer_bytes(const pd_buffer *buffer)
{
    return (pd_bytes){buffer->ptr, buffer->len};
}

/* Makes room for `need` bytes, exactly. */
static inline pprofdelta_status pd_buffer_reserve(pd_mem *mem, pd_buffer *buffer, size_t need,
                                                  pprofdelta_error *err)
{
    pprofdelta_status status = pd_mem_reserve(mem, &buffer->ptr, need, 1, err);
    buffer->cap = pd_mem_room(buffer->ptr);
    return status;
}

/* Shrinks it to `need` bytes; 0 releases it. */
static inline void pd_buffer_trim(pd_mem *mem, pd_buffer *buffer, size_t need)
{
    pd_mem_trim(mem, &buffer->ptr, need, 1);
    buffer->cap = pd_mem_room(buffer->ptr);
}

/* Makes room for `more` bytes after len. */
static inline pprofdelta_status pd_buffer_room(pd_mem *mem, pd_buffer *buffer, size_t more,
                                               pprofdelta_error *err)
{
    if (__builtin_expect(more <= buffer->cap - buffer->len, 1))
        return PPROFDELTA_OK;
    size_t need = buffer->len + more < more ? SIZE_MAX : buffer->len + more;
    pprofdelta_status status = pd_mem_grow(mem, &buffer->ptr, need, 1, err);
    buffer->cap = pd_mem_room(buffer->ptr);
    return status;
}

/* Adds bytes for which there is room. */
static inline void pd_buffer_put(pd_buffer *buffer, const void *ptr, size_t len)
{
    if (ptr && len)
        memcpy(buffer->ptr + buffer->len, ptr, len);
    buffer->len += len;
}

/* Adds a string and a NUL. */
static inline pprofdelta_status pd_buffer_add_text(pd_mem *mem, pd_buffer *buffer, pd_bytes text,
                                                   pprofdelta_error *err)
{
    PD_TRY(pd_buffer_room(mem, buffer, text.len + 1, err));
    pd_buffer_put(buffer, text.ptr, text.len);
    buffer->ptr[buffer->len++] = 0;
    return PPROFDELTA_OK;
}

static inline void pd_buffer_release(pd_mem *mem, pd_buffer *buffer)
{
    pd_mem_release(mem, &buffer->ptr);
    buffer->len = buffer->cap = 0;
}

#endif
