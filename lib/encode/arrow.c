#include "encode/arrow.h"

#include <string.h>

/* ---- blocks ------------------------------------------------------------------------------------- */

enum { ALIGNED = 64, BUFFERS = 3 };

/* The beginning of a block. */
typedef struct head {
    pprofdelta_allocator allocator;
    const void *buffers[BUFFERS]; /* of an array */
} head;

static size_t aligned_size(size_t size)
{
    return (size + ALIGNED - 1) & ~(size_t)(ALIGNED - 1);
}

/* A block with a head, and `size` bytes behind it; NULL on failure. */
static head *make_block(pd_arrow *a, size_t size)
{
    uint8_t *block = NULL;
    if (!a->writer->status)
        a->writer->status = PD_RESERVE(&a->mem, block, sizeof(head) + size, a->writer->err);
    if (a->writer->status)
        return NULL;
    head *h = (void *)block;
    *h = (head){.allocator = a->mem.allocator};
    return h;
}

static void release_block(head *h)
{
    const pprofdelta_allocator allocator = h->allocator;
    allocator.release(allocator.cookie, pd_mem_base(h));
}

/* ---- release ------------------------------------------------------------------------------------ */

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
    release_block(array->private_data);
    array->release = NULL;
}

/* ---- making ------------------------------------------------------------------------------------- */

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

static size_t children_of(const pd_arrow_kind *kind)
{
    return !strcmp(kind->format, "+l") ? 1 : kind->columns;
}

static bool has_dictionary(const pd_arrow_kind *kind)
{
    return *kind->format == 'i';
}

static void make_schema(pd_arrow *a, struct ArrowSchema *out, const pd_arrow_kind *kind)
{
    size_t children = children_of(kind), structs = children + has_dictionary(kind),
           name = strlen(kind->name) + 1;
    head *h = make_block(a, structs * (sizeof(void *) + sizeof *out) + name);
    if (!h)
        return;
    struct ArrowSchema **list = (void *)(h + 1);
    char *text = (char *)put_structs((uint8_t *)list, structs, sizeof *out);
    *out = (struct ArrowSchema){.format = kind->format,
                                .name = memcpy(text, kind->name, name),
                                .flags = kind->is_nullable ? ARROW_FLAG_NULLABLE : 0,
                                .n_children = (int64_t)children,
                                .children = list,
                                .dictionary = has_dictionary(kind) ? list[children] : NULL,
                                .release = release_schema,
                                .private_data = h};
}

/* The bytes of the values or offsets of so many rows. */
static size_t values_size(const char *format, size_t rows)
{
    if (!strcmp(format, "+s"))
        return 0;
    if (*format == 'b')
        return (rows + 7) / 8;
    return *format == '+' || *format == 'u' ? (rows + 1) * sizeof(int32_t)
           : *format == 'i'                 ? rows * sizeof(int32_t)
                                            : rows * sizeof(int64_t);
}

static void make_array(pd_arrow *a, struct ArrowArray *out, const pd_arrow_kind *kind,
                       size_t length, size_t text)
{
    size_t children = children_of(kind), structs = children + has_dictionary(kind),
           bits = (length + 7) / 8;
    size_t values = values_size(kind->format, length);
    size_t sizes[BUFFERS] = {kind->is_nullable ? bits : 0, values, text};
    size_t size = structs * (sizeof(void *) + sizeof *out) + ALIGNED;
    for (int i = 0; i < BUFFERS; i++)
        size += aligned_size(sizes[i]);
    head *h = make_block(a, size);
    if (!h)
        return;
    struct ArrowArray **list = (void *)(h + 1);
    uint8_t *at = put_structs((uint8_t *)list, structs, sizeof *out);
    at += aligned_size((uintptr_t)at) - (uintptr_t)at;
    for (int i = 0; i < BUFFERS; at += aligned_size(sizes[i++]))
        h->buffers[i] = at;
    if (sizes[0])
        memset((uint8_t *)h->buffers[0], 0, bits);
    if (*kind->format == 'b' || (*kind->format == '+' && values) || *kind->format == 'u')
        memset((uint8_t *)h->buffers[1], 0, *kind->format == 'b' ? values : sizeof(int32_t));
    if (!kind->is_nullable)
        h->buffers[0] = NULL;
    *out = (struct ArrowArray){.length = (int64_t)length,
                               .null_count = kind->is_nullable ? (int64_t)length : 0,
                               .n_buffers = !strcmp(kind->format, "+s") ? 1
                                            : *kind->format == 'u'      ? 3
                                                                        : 2,
                               .n_children = (int64_t)children,
                               .buffers = h->buffers,
                               .children = list,
                               .dictionary = has_dictionary(kind) ? list[children] : NULL,
                               .release = release_array,
                               .private_data = h};
}

void *pd_arrow_make(pd_arrow *a, pd_arrow_at at, const pd_arrow_kind *kind, size_t length,
                    size_t text)
{
    const size_t most = INT32_MAX < SIZE_MAX / 16 ? INT32_MAX : SIZE_MAX / 16;
    pd_writer *w = a->writer;
    if (!w->status && (length > most || text > most))
        w->status = PD_FAIL(w->err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_WRITE, kind->name,
                            "more than %zu elements or bytes in a column", most);
    make_schema(a, at.schema, kind);
    make_array(a, at.array, kind, length, text);
    return w->status ? NULL : (void *)at.array->buffers[1];
}
