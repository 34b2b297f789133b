/* Makes columns of the Arrow C data interface, which own their memory.
 *
 * A column is a node of two trees: an ArrowSchema, and an ArrowArray. Each node has one block of memory,
 * with everything that it owns, the structs of its children included:
 *
 *     schema   [ allocator | children | name ]
 *     array    [ allocator | children | validity, offsets or values, text ]     each aligned to 64 bytes
 *
 * So a child that was moved, which is a copy of its struct, does not need the block of its parent. A node
 * is released by releasing the children that are still there, and then its block.
 *
 * A long column is not copied into its node. Its owner fills pd_arrow_values, and arrays share the memory:
 *
 *     values   [ allocator, users | values ... ]
 *
 * The users are the owner and the arrays. The last one frees the memory, so that different threads may release
 * different nodes. The owner writes only to memory that no array has yet.
 *
 * Errors are sticky. A tree that was begun can be released after any failure. */
#ifndef PD_PROFILE_ARROW_H
#define PD_PROFILE_ARROW_H

#include "pprofdelta_tables.h"
#include "wire/writer.h"

/* A column that its owner fills. */
typedef struct pd_arrow_values {
    pd_buffer values; /* empty, or begun: with its head */
    pd_buffer valid;  /* the bitmap, if it is nullable */
    int64_t nulls;
} pd_arrow_values; /* zero it to begin */

enum { PD_ARROW_HEAD = 64 }; /* the bytes before the values */

typedef struct pd_arrow {
    pd_mem mem; /* of the blocks; not reduced when they are released */
    pprofdelta_error *err;
    uint64_t shared; /* the bytes of values that the arrays share */
    bool is_copied;  /* given values are copied, since their allocator ends with their owner */
    pprofdelta_status status; /* sticky */
} pd_arrow;

/* What is known of a column before it is made. In `format`:
 *
 *     +s struct     +l list      u utf8      i int32     l int64     L uint64     tsn:UTC     b bool */
typedef struct pd_arrow_kind {
    const char *name, *format; /* of a dictionary column: "i" */
    size_t children;
    bool is_nullable; /* it has a validity bitmap: only if it is given */
    bool has_dictionary;
    const pd_arrow_values *given; /* its values, or offsets, and its bitmap; or NULL */
} pd_arrow_kind;

/* Makes the column empty. Keeps its memory if no array shares it. */
void pd_arrow_values_begin(pd_arrow_values *v, pd_writer *writer);

/* Makes room for this many rows in total. */
void pd_arrow_values_room(pd_arrow_values *v, pd_writer *writer, size_t rows,
                          const pd_arrow_kind *kind);

void pd_arrow_values_release(pd_arrow_values *v, pd_mem *mem);

static inline void *pd_arrow_values_of(const pd_arrow_values *v)
{
    return v->values.ptr + PD_ARROW_HEAD;
}

/* Appends to a bitmap. */
static inline void pd_arrow_put_bit(uint8_t *bits, size_t row, bool value)
{
    if (row % 8 == 0)
        bits[row / 8] = 0;
    bits[row / 8] |= (uint8_t)((unsigned)value << row % 8);
}

/* The rows become null, or not, in their order. */
static inline void pd_arrow_values_mark(pd_arrow_values *v, size_t row, bool is_null)
{
    pd_arrow_put_bit(v->valid.ptr, row, !is_null);
    v->nulls += is_null;
}

/* Where a column goes. */
typedef struct pd_arrow_at {
    struct ArrowSchema *schema;
    struct ArrowArray *array;
} pd_arrow_at;

/* Makes the column, of `length` rows, and with `text` bytes behind the offsets if it is utf8. Then its children
 * and its dictionary can be made. Returns the values or the offsets, which are not set but for the first
 * offset, or NULL if there are none and on failure. E_LIMIT if an offset of 32 bits would overflow. */
void *pd_arrow_make(pd_arrow *arrow, pd_arrow_at at, const pd_arrow_kind *kind, size_t length,
                    size_t text);

/* The text of a utf8 column. */
static inline uint8_t *pd_arrow_text(pd_arrow_at at)
{
    return (uint8_t *)at.array->buffers[2];
}

/* The child with this index; the dictionary, if there is one, comes after the children. Nothing, which may
 * be passed to pd_arrow_make, if the column was not made. */
static inline pd_arrow_at pd_arrow_child(pd_arrow_at at, size_t index)
{
    if (!at.array || !at.array->release)
        return (pd_arrow_at){NULL, NULL};
    return (pd_arrow_at){at.schema->children[index], at.array->children[index]};
}

#endif
