/* Sums of 128 bits as text: see decimal.h. */
#include "decimal.h"

#include <stdbool.h>

char *cli_sum_format(pprofdelta_sum sum, char buf[48])
{
    bool negative = sum.hi < 0;
    if (negative)
        sum = (pprofdelta_sum){~sum.lo + 1, (int64_t)(~(uint64_t)sum.hi + !sum.lo)};
    /* Long division by ten over 32-bit limbs, the most significant first. */
    uint32_t limb[4] = {(uint32_t)((uint64_t)sum.hi >> 32), (uint32_t)sum.hi,
                        (uint32_t)(sum.lo >> 32), (uint32_t)sum.lo};
    char digits[40];
    size_t len = 0;
    do {
        uint64_t rest = 0;
        for (int i = 0; i < 4; i++) {
            uint64_t part = rest << 32 | limb[i];
            limb[i] = (uint32_t)(part / 10);
            rest = part % 10;
        }
        digits[len++] = (char)('0' + rest);
    } while (limb[0] | limb[1] | limb[2] | limb[3]);
    char *p = buf;
    if (negative)
        *p++ = '-';
    while (len)
        *p++ = digits[--len];
    *p = 0;
    return buf;
}
