#include "codec/member_check.h"

#include <string.h>

const size_t pd_member_check_size = sizeof(pd_member_check);

/* How many bits of data[0..) zlib has used. The lowest six bits of data_type count those that it has
 * taken and not used. */
static size_t bits_used(const z_stream *z, const uint8_t *data)
{
    return (size_t)(z->next_in - data) * 8 - (size_t)(z->data_type & 63);
}

/* Inflates the data and finds, in bits, where its last block begins and where it ends. */
static bool find_end(pd_member_check *c, uint8_t *data, size_t len, size_t *last, size_t *end)
{
    enum { LAST_BLOCK = 64, AT_BLOCK_END = 128 }; /* in data_type */
    z_stream *z = &c->zlib.z;
    if (!pd_zlib_begin(&c->zlib))
        return false;
    int status = Z_OK;
    *last = *end = 0;
    for (z->next_in = data; status == Z_OK;) {
        z->avail_in = pd_zlib_len(z->next_in, data + len);
        z->next_out = c->out;
        z->avail_out = sizeof c->out;
        status = inflate(z, Z_BLOCK);
        if (z->data_type & AT_BLOCK_END)
            *(z->data_type & LAST_BLOCK ? end : last) = bits_used(z, data);
    }
    return status == Z_STREAM_END;
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
