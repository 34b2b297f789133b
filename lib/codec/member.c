#include "codec/member.h"

#include <string.h>

/* Decodes the data and finds, in bits, where their last block begins and where they end. */
static bool find_end(pd_member_check *c, const uint8_t *data, size_t len, size_t *last, size_t *end)
{
    pd_decode_run run = {data, data + len, c->out, c->out + PD_DECODE_HISTORY + PD_MEMBER_DECODED};
    pd_decode_end how;
    pd_decode_begin(&c->decoder);
    while ((how = pd_decode(&c->decoder, &run)) == PD_DECODE_FULL) {
        memmove(c->out, run.out - PD_DECODE_HISTORY, PD_DECODE_HISTORY);
        run.out = c->out + PD_DECODE_HISTORY;
    }
    *last = (size_t)(c->decoder.block - data) * 8 - c->decoder.block_held;
    *end = (size_t)(run.in - data) * 8 - c->decoder.held;
    return how == PD_DECODE_DONE;
}

size_t pd_member_open(pd_member_check *check, uint8_t *data, size_t len)
{
    static const uint8_t nothing[] = {0, 0, 0xff, 0xff}; /* a stored block's length, twice */
    size_t last, end;
    if (!find_end(check, data, len, &last, &end))
        return 0;
    data[last / 8] = (uint8_t)(data[last / 8] & ~(1u << last % 8));
    len = (end + 3 + 7) / 8; /* not final, stored: three zeros, and more to the next byte */
    data[end / 8] = end % 8 ? data[end / 8] & (uint8_t)((1u << end % 8) - 1) : 0;
    memset(data + end / 8 + 1, 0, len - end / 8 - 1);
    memcpy(data + len, nothing, sizeof nothing);
    return len + sizeof nothing;
}
