/* Strings of the message view as C text. protobuf-c returns them as bytes, which may contain a NUL
 * and do not end with one. Views are unpacked with an allocator that puts a NUL after every block.
 */
#ifndef PD_TESTS_VIEW_H
#define PD_TESTS_VIEW_H

#include "profile.pb-c.h"

#include <stdlib.h>

static inline const char *view_text(const Pd__View__Profile *p, int64_t index)
{
    const ProtobufCBinaryData *text = &p->string_table[index];
    return text->len ? (const char *)text->data : "";
}

static inline void *view_take(void *cookie, size_t size)
{
    (void)cookie;
    return calloc(1, size + 1);
}

static inline void view_give(void *cookie, void *ptr)
{
    (void)cookie;
    free(ptr);
}

/* Unpacks with that allocator. view_free frees the view. */
static inline Pd__View__Profile *view_unpack(const uint8_t *bytes, size_t len)
{
    ProtobufCAllocator allocator = {view_take, view_give, NULL};
    return pd__view__profile__unpack(&allocator, len, bytes);
}

static inline void view_free(Pd__View__Profile *p)
{
    ProtobufCAllocator allocator = {view_take, view_give, NULL};
    pd__view__profile__free_unpacked(p, &allocator);
}

#endif
