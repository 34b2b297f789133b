#include "base/order.h"

#include "base/mem.h"

/* Moves the element at `at` down in a heap, in which none is before those below it. */
static void sift_down(uint32_t *list, size_t at, size_t len, pd_is_behind *is_behind,
                      const void *cookie)
{
    for (size_t child; (child = 2 * at + 1) < len; at = child) {
        child += child + 1 < len && is_behind(cookie, list[child + 1], list[child]);
        if (!is_behind(cookie, list[child], list[at]))
            return;
        PD_SWAP(uint32_t, list[at], list[child]);
    }
}

void pd_order(uint32_t *list, size_t len, pd_is_behind *is_behind, const void *cookie)
{
    for (size_t i = len / 2; i-- > 0;)
        sift_down(list, i, len, is_behind, cookie);
    for (size_t end = len; end-- > 1;) {
        PD_SWAP(uint32_t, list[0], list[end]);
        sift_down(list, 0, end, is_behind, cookie);
    }
}
