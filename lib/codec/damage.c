/* libdeflate says only "bad data", for a file that is cut off as for one that is damaged, and not
 * where; ISA-L's answers are about as short. zlib stops at the byte and has words for it. It takes
 * twice the time, which matters to nobody once the file is refused. */
#include "codec/damage.h"

#include "codec/inflate_zlib.h"

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
        damage.at -= damage.at > 0; /* the last byte that zlib took shows the damage */
        damage.why = z.msg;
    }
    inflateEnd(&z);
    return damage;
}
