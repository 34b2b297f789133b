/* A zstd frame, with its content size and a checksum. */
#include "codec/compress.h"

#include <zstd.h>

/* Measured on heap profiles and their deltas: level 3 gives 4 to 7 percent less than level 1 and takes
 * hardly longer; level 5 takes twice as long. */
enum { ZSTD_LEVEL = 3 };

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

static size_t bound(pd_compressor *c, size_t len)
{
    if (!c->state)
        c->state = new_zstd(c->level ? c->level : ZSTD_LEVEL);
    return c->state ? ZSTD_compressBound(len) : 0;
}

static size_t pack(pd_compressor *c, pd_bytes in)
{
    size_t len = ZSTD_compress2(c->state, c->out.ptr, c->out.cap, in.ptr, in.len);
    return ZSTD_isError(len) ? 0 : len;
}

static void end(void *state)
{
    ZSTD_freeCCtx(state);
}

const pd_packer pd_zstd_packer = {bound, pack, end};
