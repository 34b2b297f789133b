/* libdeflate says only "bad data", for a file that is cut off as for one that is damaged, and not
 * where; ISA-L's answers are about as short. zlib stops at the byte and has words for it. It takes
 * twice the time, which matters to nobody once the file is refused. */
#include "codec/damage.h"

#include "codec/inflate_zlib.h"

/* The last byte that zlib used. It may have taken a few more, whose bits it holds unused; the lowest
 * six bits of data_type count those. */
static size_t last_used(const z_stream *z, const uint8_t *in)
{
    size_t taken = (size_t)(z->next_in - in), unused = (size_t)(z->data_type & 63) / 8;
    return taken > unused ? taken - unused - 1 : 0;
}

pd_damage pd_damage_find(const uint8_t *in, size_t len)
{
    enum { RAW = -15 };
    uint8_t out[4096];
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)in}; /* zlib does not write there */
    pd_damage damage = {.kind = PD_DAMAGE_NO_MEMORY};
    if (inflateInit2(&z, RAW) != Z_OK)
        return damage;
    int status;
    do {
        z.avail_in = pd_zlib_len(z.next_in, in + len);
        z.next_out = out;
        z.avail_out = sizeof out;
        status = inflate(&z, Z_NO_FLUSH);
        damage.made += sizeof out - z.avail_out;
    } while (status == Z_OK);
    damage.at = (size_t)(z.next_in - in);
    if (status == Z_STREAM_END) {
        damage.kind = PD_DAMAGE_NONE;
    } else if (status == Z_BUF_ERROR) {
        damage.kind = PD_DAMAGE_CUT_OFF;
        damage.at = len;
    } else if (status == Z_DATA_ERROR) {
        damage.kind = PD_DAMAGE_BAD;
        damage.at = last_used(&z, in);
        damage.why = z.msg;
    }
    inflateEnd(&z);
    return damage;
}
