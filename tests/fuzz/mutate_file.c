/* The mutator of targets that read one message: mostly at the level of fields, so that what is changed is read at all,
 * and one time of four on the bytes, so that what no writer writes is read too. */
#include "mutate_message.h"

#include <string.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    rng r = {seed};
    arena a = {0};
    if (!rng_below(&r, 4))
        return LLVMFuzzerMutate(data, size, max_size);
    const buf given = {.ptr = data, .len = size};
    buf out = mutate_message(&r, &a, given, given);
    for (size_t more = rng_below(&r, 3); more; more--)
        out = mutate_message(&r, &a, out, given);
    if (out.len && out.len <= max_size) {
        memcpy(data, out.ptr, out.len);
        size = out.len;
    }
    arena_free(&a);
    return size;
}
