/* Room for the whole output is made first, by the compression library's own bound, so that nothing
 * is compressed twice (unless memory is short). Compressor and output buffer are kept for the next call. */
#include "codec/compress.h"

#include <libdeflate.h>
#include <zstd.h>

/* Measured on heap profiles and their deltas. gzip: level 2 gives 4 to 6 percent less than level 1; it
 * takes 6 percent more of a whole run if the delta is large, and no measurable time if it is small. Level
 * 3 gives hardly less than 2. zstd: level 3 gives 4 to 7 percent less than level 1 and takes hardly
 * longer; level 5 takes twice as long. */
enum { GZIP_LEVEL = 2, ZSTD_LEVEL = 3 };

/* Of frames with their content size and a checksum. */
static ZSTD_CCtx *new_zstd(int level)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (zstd && (ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level)) ||
                 ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)))) {
        ZSTD_freeCCtx(zstd);
        return NULL;
    }
    return zstd;
}

/* Returns the most that `len` bytes are compressed to, or 0 if there is no memory for a compressor. */
static size_t compressed_bound(pd_compressor *c, size_t len)
{
    bool is_gzip = c->compression == PPROFDELTA_GZIP;
    if (!c->state && is_gzip)
        c->state = libdeflate_alloc_compressor(c->level ? c->level : GZIP_LEVEL);
    else if (!c->state)
        c->state = new_zstd(c->level ? c->level : ZSTD_LEVEL);
    if (!c->state)
        return 0;
    return is_gzip ? libdeflate_gzip_compress_bound(c->state, len) : ZSTD_compressBound(len);
}

/* Compresses all of `in` into c->out. Returns the length, or 0 if it does not fit. */
static size_t compress_all(pd_compressor *c, pd_bytes in)
{
    if (c->compression == PPROFDELTA_GZIP)
        return libdeflate_gzip_compress(c->state, in.ptr, in.len, c->out.ptr, c->out.cap);
    size_t len = ZSTD_compress2(c->state, c->out.ptr, c->out.cap, in.ptr, in.len);
    return ZSTD_isError(len) ? 0 : len;
}

/* ---- without compression ---------------------------------------------------------------------- */

/* At the level that is fastest, what fits into a block of a file system is stored: the tables of a compressor
 * take longer to clear than such a profile to make. */
enum { FASTEST = 1, STORED_MOST = 4000, STORED_MORE = 10 + 5 + 8 };

static uint8_t *put_number(uint8_t *out, uint32_t number, size_t len)
{
    for (size_t i = 0; i < len; i++, number >>= 8)
        *out++ = (uint8_t)number;
    return out;
}

/* Writes one gzip member with one block as it is. Returns the length. */
static size_t store_gzip(pd_bytes in, uint8_t *out)
{
    static const uint8_t head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff, 1 /* the last block */};
    uint8_t *at = (uint8_t *)memcpy(out, head, sizeof head) + sizeof head;
    at = put_number(at, (uint32_t)in.len, 2);
    at = put_number(at, ~(uint32_t)in.len, 2);
    if (in.len)
        memcpy(at, in.ptr, in.len);
    put_number(put_number(at + in.len, libdeflate_crc32(0, in.ptr, in.len), 4), (uint32_t)in.len,
               4);
    return in.len + STORED_MORE;
}

void pd_compressor_end(pd_compressor *c)
{
    if (c->state && c->compression == PPROFDELTA_GZIP)
        libdeflate_free_compressor(c->state);
    else if (c->state)
        ZSTD_freeCCtx(c->state);
    c->state = NULL;
}

uint64_t pd_compressor_own(const pd_compressor *c)
{
    enum { FAST = 200 << 10, OTHER = 700 << 10 }; /* libdeflate does not tell */
    if (!c->state)
        return 0;
    return c->compression == PPROFDELTA_ZSTD ? ZSTD_sizeof_CCtx(c->state)
           : c->level == 1                   ? FAST
                                             : OTHER;
}

pprofdelta_status pd_compress_bytes(pd_compressor *c, pd_mem *mem, pd_bytes in, pd_bytes *out,
                                    pprofdelta_error *err)
{
    if (c->compression == PPROFDELTA_PLAIN || !in.len) {
        *out = in;
        return PPROFDELTA_OK;
    }
    if (c->compression == PPROFDELTA_GZIP && c->level == FASTEST && in.len <= STORED_MOST) {
        c->out.len = 0;
        PD_TRY(pd_buffer_room(mem, &c->out, in.len + STORED_MORE, err));
        c->out.len = store_gzip(in, c->out.ptr);
        *out = (pd_bytes){c->out.ptr, c->out.len};
        return PPROFDELTA_OK;
    }
    size_t most = compressed_bound(c, in.len);
    size_t room = pd_mem_is_tight(mem) ? most / 2 + 64 : most; /* profiles shrink 3 to 10 times */
    for (c->out.len = 0; most; room = most) {
        PD_TRY(pd_buffer_room(mem, &c->out, room, err));
        c->out.len = compress_all(c, in);
        *out = (pd_bytes){c->out.ptr, c->out.len};
        if (c->out.len)
            return PPROFDELTA_OK;
        if (room == most)
            break;
    }
    return pd_no_memory(err, "a compressor");
}
