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
 * Errors are sticky. A tree that was begun can be released after any failure. */
#ifndef PD_ENCODE_ARROW_H
#define PD_ENCODE_ARROW_H

#include "wire/writer.h"
#include "pprofdelta_tables.h"

typedef struct pd_arrow {
    pd_mem mem;        /* of the blocks; not reduced when they are released */
    pd_writer *writer; /* a failure of one is that of both */
} pd_arrow;

/* What is known of a column before it is made. In `format`:
 *
 *     +s struct     +l list      u utf8      l int64     L uint64     tsn:UTC     b bool
 *     i int32, which is an index of a dictionary */
typedef struct pd_arrow_kind {
    const char *name, *format;
    size_t columns;   /* of a struct */
    bool is_nullable; /* it has a validity bitmap */
} pd_arrow_kind;

/* Where a column goes. */
typedef struct pd_arrow_at {
    struct ArrowSchema *schema;
    struct ArrowArray *array;
} pd_arrow_at;

/* Makes the column, of `length` rows, and with `text` bytes behind the offsets if it is utf8. Then its children
 * and its dictionary can be made. Returns the values or the offsets, or NULL if there are none and on failure. They
 * are not set but for the first offset, and bits, which are 0. All rows are null, if they can be, until
 * pd_arrow_set. E_LIMIT if an offset of 32 bits would overflow. */
void *pd_arrow_make(pd_arrow *arrow, pd_arrow_at at, const pd_arrow_kind *kind, size_t length,
                    size_t text);

/* The text of a utf8 column. */
static inline uint8_t *pd_arrow_text(pd_arrow_at at)
{
    return (uint8_t *)at.array->buffers[2]; /* NOLINT: it was made */
}

/* Sets a bit that is 0. */
static inline void pd_arrow_set_bit(uint8_t *bits, size_t row)
{
    bits[row / 8] |= (uint8_t)(1U << row % 8);
}

/* The row of a nullable column is not null. */
static inline void pd_arrow_set(pd_arrow_at at, size_t row)
{
    pd_arrow_set_bit((uint8_t *)at.array->buffers[0], row); /* NOLINT: it was made */
    at.array->null_count--;
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
