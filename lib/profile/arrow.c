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
    shared *values;               /* what the values are in; NULL: in the block */
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

/* The bytes of the values or offsets of so many rows. */
static size_t values_size(char format, size_t rows)
{
    return format == 'b' ? (rows + 7) / 8
           : format == '+' || format == 'u'
               ? (rows + 1) * sizeof(int32_t)
               : rows * (format == 'i' ? sizeof(int32_t) : sizeof(int64_t));
}

static void leave(shared *s)
{
    const pprofdelta_allocator allocator = s->allocator;
    if (__atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL) == 0)
        allocator.release(allocator.cookie, s);
}

void pd_arrow_values_begin(pd_arrow_values *v, pd_writer *w)
{
    shared *s = (void *)v->values.ptr;
    if (s && __atomic_load_n(&s->users, __ATOMIC_ACQUIRE) > 1)
        pd_arrow_values_release(v, w->mem);
    v->values.len = 0;
    v->nulls = 0;
    s = (void *)pd_write_room(w, &v->values, PD_ARROW_HEAD);
    if (!s)
        return;
    *s = (shared){w->mem->allocator, 1};
    v->values.len = PD_ARROW_HEAD;
}

void pd_arrow_values_room(pd_arrow_values *v, pd_writer *w, size_t rows, const pd_arrow_kind *kind)
{
    size_t size = PD_ARROW_HEAD + values_size(kind->format[0], rows);
    if (!w->status)
        w->status = pd_mem_reserve(w->mem, &v->values.ptr, &v->values.cap, size, 1, w->err);
    if (!w->status && kind->is_nullable)
        w->status = pd_mem_reserve(w->mem, &v->valid.ptr, &v->valid.cap, rows / 8 + 1, 1, w->err);
}

void pd_arrow_values_release(pd_arrow_values *v, pd_mem *mem)
{
    if (v->values.ptr) {
        mem->used -= v->values.cap; /* what arrays have is theirs from now on */
        leave((void *)v->values.ptr);
    }
    v->values = (pd_buffer){NULL, 0, 0};
    pd_buffer_release(mem, &v->valid);
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
    if (h->values)
        leave(h->values);
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

static void make_array(pd_arrow *a, struct ArrowArray *out, const pd_arrow_kind *kind,
                       size_t length, size_t text)
{
    const pd_arrow_values *given = kind->given;
    bool is_struct = !strcmp(kind->format, "+s"), is_utf8 = !strcmp(kind->format, "u");
    bool is_shared = given && !a->is_copied;
    size_t structs = kind->children + kind->has_dictionary, bits = (length + 7) / 8;
    size_t values = is_struct ? 0 : values_size(kind->format[0], length);
    size_t sizes[BUFFERS] = {kind->is_nullable ? bits : 0, is_shared ? 0 : values, text};
    size_t first = structs * (sizeof(void *) + sizeof *out) + ALIGNED, size = first;
    for (int i = 0; i < BUFFERS; i++)
        size += aligned(sizes[i]);
    head *h = make_block(a, size);
    if (!h)
        return;
    struct ArrowArray **list = (void *)(h + 1);
    uint8_t *at = put_structs((uint8_t *)list, structs, sizeof *out);
    at += aligned((uintptr_t)at) - (uintptr_t)at;
    for (int i = 0; i < BUFFERS; at += aligned(sizes[i++]))
        h->buffers[i] = at;
    if (!kind->is_nullable)
        h->buffers[0] = NULL;
    else if (bits)
        memcpy((uint8_t *)h->buffers[0], given->valid.ptr, bits);
    if (is_shared) {
        h->values = (void *)given->values.ptr;
        __atomic_add_fetch(&h->values->users, 1, __ATOMIC_RELAXED);
        h->buffers[1] = pd_arrow_values_of(given);
        a->shared += values;
    } else if (given) {
        memcpy((uint8_t *)h->buffers[1], pd_arrow_values_of(given), values);
    } else if (values >= sizeof(int32_t)) { /* the first offset, if it has any */
        memset((uint8_t *)h->buffers[1], 0, sizeof(int32_t));
    }
    *out = (struct ArrowArray){.length = (int64_t)length,
                               .null_count = given ? given->nulls : 0,
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
