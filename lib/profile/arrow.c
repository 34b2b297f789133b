#include "profile/arrow.h"

#include <string.h>

/* ---- blocks ---------------------------------------------------------------------------------- */

enum { ALIGNED = 64, BUFFERS = 3 };

/* The beginning of the memory of values. */
typedef struct shared {
    pprofdelta_allocator allocator;
    uint32_t users;
} shared;

_Static_assert(sizeof(shared) <= PD_ARROW_HEAD, "the values are behind the head");

/* The beginning of a block. */
typedef struct head {
    pprofdelta_allocator allocator;
    const void *buffers[BUFFERS]; /* of an array */
    shared *shares[BUFFERS];      /* what the buffers are in; NULL: in the block */
} head;

static size_t aligned(size_t size)
{
    return (size + ALIGNED - 1) & ~(size_t)(ALIGNED - 1);
}

/* A block with a head, and `size` bytes behind it; NULL on failure. */
static head *make_block(pd_arrow *a, size_t size)
{
    uint8_t *block = NULL;
    size_t cap = 0;
    if (!a->status)
        a->status = pd_mem_reserve(&a->mem, &block, &cap, sizeof(head) + size, 1, a->err);
    if (a->status)
        return NULL;
    head *h = (void *)block;
    *h = (head){.allocator = a->mem.allocator};
    return h;
}

static void release_block(head *h)
{
    const pprofdelta_allocator allocator = h->allocator;
    allocator.release(allocator.cookie, h);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void leave(shared *s)
{
    const pprofdelta_allocator allocator = s->allocator;
    if (__atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL) == 0)
        allocator.release(allocator.cookie, s);
}

static void release_shared(pd_buffer *buffer, pd_mem *mem)
{
    if (!buffer->ptr)
        return;
    mem->used -= buffer->cap; /* what arrays have is theirs from now on */
    leave((void *)buffer->ptr);
    *buffer = (pd_buffer){NULL, 0, 0};
}

static void begin_shared(pd_buffer *buffer, pd_writer *w)
{
    if (buffer->ptr &&
        __atomic_load_n(&((shared *)(void *)buffer->ptr)->users, __ATOMIC_ACQUIRE) > 1)
        release_shared(buffer, w->mem);
    buffer->len = 0;
    shared *s = (void *)pd_write_room(w, buffer, PD_ARROW_HEAD);
    if (!s)
        return;
    *s = (shared){w->mem->allocator, 1};
    buffer->len = PD_ARROW_HEAD;
}

void pd_arrow_values_begin(pd_arrow_values *v, pd_writer *writer, bool is_nullable)
{
    begin_shared(&v->values, writer);
    if (is_nullable)
        begin_shared(&v->valid, writer);
    v->nulls = 0;
}

void pd_arrow_values_room(pd_arrow_values *v, pd_writer *w, size_t rows, size_t size)
{
    pd_buffer *values = &v->values, *valid = &v->valid;
    if (!w->status)
        w->status = pd_mem_reserve(w->mem, &values->ptr, &values->cap, PD_ARROW_HEAD + rows * size,
                                   1, w->err);
    if (!w->status && valid->ptr)
        w->status = pd_mem_reserve(w->mem, &valid->ptr, &valid->cap, PD_ARROW_HEAD + rows / 8 + 1,
                                   1, w->err);
}

void pd_arrow_values_release(pd_arrow_values *v, pd_mem *mem)
{
    release_shared(&v->values, mem);
    release_shared(&v->valid, mem);
}

/* ---- release --------------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    release_block(schema->private_data);
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    head *h = array->private_data;
    for (int i = 0; i < BUFFERS; i++)
        if (h->shares[i])
            leave(h->shares[i]);
    release_block(h);
    array->release = NULL;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Sets up pointers to `len` structs of `size` bytes, which are cleared, behind `at`. Returns the end. */
static uint8_t *put_structs(uint8_t *at, size_t len, size_t size)
{
    uint8_t *structs = at + len * sizeof(void *);
    for (size_t i = 0; i < len; i++) {
        void *one = structs + i * size;
        memset(one, 0, size);
        memcpy(at + i * sizeof one, &one, sizeof one);
    }
    return structs + len * size;
}

static void make_schema(pd_arrow *a, struct ArrowSchema *out, const pd_arrow_kind *kind)
{
    size_t structs = kind->children + kind->has_dictionary, name = strlen(kind->name) + 1;
    head *h = make_block(a, structs * (sizeof(void *) + sizeof *out) + name);
    if (!h)
        return;
    struct ArrowSchema **list = (void *)(h + 1);
    char *text = (char *)put_structs((uint8_t *)list, structs, sizeof *out);
    *out = (struct ArrowSchema){.format = kind->format,
                                .name = memcpy(text, kind->name, name),
                                .flags = kind->is_nullable ? ARROW_FLAG_NULLABLE : 0,
                                .n_children = (int64_t)kind->children,
                                .children = list,
                                .dictionary = kind->has_dictionary ? list[kind->children] : NULL,
                                .release = release_schema,
                                .private_data = h};
}

static size_t values_size(char format, size_t length)
{
    if (format == 'b')
        return (length + 7) / 8;
    return length * (format == 'i' ? sizeof(int32_t) : sizeof(int64_t));
}

static void make_array(pd_arrow *a, struct ArrowArray *out, const pd_arrow_kind *kind,
                       size_t length, size_t text)
{
    bool is_struct = !strcmp(kind->format, "+s"), is_utf8 = !strcmp(kind->format, "u");
    bool has_offsets = is_utf8 || !strcmp(kind->format, "+l");
    size_t structs = kind->children + kind->has_dictionary;
    size_t sizes[BUFFERS] = {kind->is_nullable ? (length + 7) / 8 : 0,
                             is_struct     ? 0
                             : has_offsets ? (length + 1) * sizeof(int32_t)
                                           : values_size(kind->format[0], length),
                             text};
    const pd_buffer *given[BUFFERS] = {NULL};
    size_t first = structs * (sizeof(void *) + sizeof *out) + ALIGNED, size = first;
    if (kind->given && sizes[0])
        given[0] = &kind->given->valid;
    if (kind->given)
        given[1] = &kind->given->values;
    for (int i = 0; i < BUFFERS; i++)
        if (!given[i] || a->is_copied)
            size += aligned(sizes[i]);
        else
            a->shared += sizes[i];
    head *h = make_block(a, size);
    if (!h)
        return;
    struct ArrowArray **list = (void *)(h + 1);
    uint8_t *at = put_structs((uint8_t *)list, structs, sizeof *out);
    at += aligned((uintptr_t)at) - (uintptr_t)at;
    for (int i = 0; i < BUFFERS; i++) {
        const uint8_t *values = given[i] ? given[i]->ptr + PD_ARROW_HEAD : NULL;
        h->buffers[i] = at;
        if (values && !a->is_copied) {
            h->buffers[i] = values;
            h->shares[i] = (void *)given[i]->ptr;
            __atomic_add_fetch(&h->shares[i]->users, 1, __ATOMIC_RELAXED);
            continue;
        }
        if (values && sizes[i])
            memcpy(at, values, sizes[i]);
        at += aligned(sizes[i]);
    }
    if (!kind->is_nullable)
        h->buffers[0] = NULL;
    else if (!given[0])
        memset((uint8_t *)h->buffers[0], 0xff, sizes[0]);
    if (has_offsets && !given[1])
        memset((uint8_t *)h->buffers[1], 0, sizeof(int32_t));
    *out = (struct ArrowArray){.length = (int64_t)length,
                               .null_count = kind->given ? kind->given->nulls : 0,
                               .n_buffers = is_struct ? 1
                                            : is_utf8 ? 3
                                                      : 2,
                               .n_children = (int64_t)kind->children,
                               .buffers = h->buffers,
                               .children = list,
                               .dictionary = kind->has_dictionary ? list[kind->children] : NULL,
                               .release = release_array,
                               .private_data = h};
}

void *pd_arrow_make(pd_arrow *a, pd_arrow_at at, const pd_arrow_kind *kind, size_t length,
                    size_t text)
{
    const size_t most = INT32_MAX < SIZE_MAX / 16 ? INT32_MAX : SIZE_MAX / 16;
    if (!a->status && (length > most || text > most))
        a->status = PD_FAIL(a->err, PPROFDELTA_E_LIMIT, "write", kind->name,
                            "more than %zu elements or bytes in a column", most);
    make_schema(a, at.schema, kind);
    make_array(a, at.array, kind, length, text);
    return a->status ? NULL : (void *)at.array->buffers[1];
}
