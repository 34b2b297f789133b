/* fuzz_reader's mutator: mostly at the level of messages, so that what is changed is read at all,
 * and one time of four on the bytes, so that what no writer writes is read too. */
#include "mutate_profile.h"

#include <string.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    dice d = {seed};
    if (!dice_below(&d, 4))
        return LLVMFuzzerMutate(data, size, max_size);
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_MAX);
    pd_buffer out = {0}, next = {0};
    mutate_profile(&d, &mem, (pd_bytes){data, size}, (pd_bytes){data, size}, &out);
    for (size_t more = dice_below(&d, 3); more; more--) {
        next.len = 0;
        mutate_profile(&d, &mem, (pd_bytes){out.ptr, out.len}, (pd_bytes){data, size}, &next);
        pd_buffer kept = out;
        out = next;
        next = kept;
    }
    if (out.len && out.len <= max_size) {
        memcpy(data, out.ptr, out.len);
        size = out.len;
    }
    pd_buffer_release(&mem, &out);
    pd_buffer_release(&mem, &next);
    return size;
}
