/* A sink into memory. Its buffer keeps its capacity. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct collected {
    uint8_t *ptr;
    size_t len, cap;
} collected;

static inline int append(void *cookie, const void *data, size_t len)
{
    collected *out = cookie;
    if (len > out->cap - out->len) {
        size_t cap = 2 * (out->len + len);
        uint8_t *ptr = realloc(out->ptr, cap);
        if (!ptr)
            return -1;
        out->ptr = ptr;
        out->cap = cap;
    }
    memcpy(out->ptr + out->len, data, len);
    out->len += len;
    return 0;
}
