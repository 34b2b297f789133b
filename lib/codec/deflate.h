/* From the bytes of a profile to the caller's sink, as one gzip member, one zstd frame or plain. */
#ifndef PD_CODEC_DEFLATE_H
#define PD_CODEC_DEFLATE_H

#include "base/mem.h"

#include <stdbool.h>

typedef struct pd_deflater {
    pprofdelta_compression compression;
    int level;     /* 1..9, or 0 for the default */
    void *gzip;    /* struct libdeflate_compressor, made when first needed and kept */
    void *zstd;    /* ZSTD_CCtx, likewise */
    pd_buffer out; /* the compressed bytes; capacity kept */
    struct {       /* of a gzip member that is made a part at a time */
        struct pd_member_check *check;
        pd_buffer in; /* what is not compressed yet */
        uint32_t crc;
        uint64_t len; /* of what is */
    } parts;
} pd_deflater; /* zero it, set compression and level for good, to begin */

/* mem is the one that all calls were made with. */
void pd_deflater_fini(pd_deflater *deflater, pd_mem *mem);

/* Makes what gzip needs, and touches its memory: for who has to wait anyway. */
void pd_deflate_warm(pd_deflater *deflater);

/* Compresses in[0..len) whole and only then hands it to the sink, in one call (plain input is
 * handed on as it is). *written is the number of bytes given to the sink; set on success only.
 * A sink that refuses is PPROFDELTA_E_SINK, stage "write". Equal input gives equal bytes: the gzip
 * header carries no time and no name. */
pprofdelta_status pd_deflate(pd_deflater *deflater, pd_mem *mem, const uint8_t *in, size_t len,
                             const pprofdelta_sink *sink, uint64_t *written, pprofdelta_error *err);

/* The same for what is never there whole: begins, compresses part after part, the last one as such,
 * into deflater->out, and hands that to the sink. What is begun need not come to an end. */
pprofdelta_status pd_deflate_begin(pd_deflater *deflater, pd_mem *mem, pprofdelta_error *err);
pprofdelta_status pd_deflate_part(pd_deflater *deflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  bool is_last, pprofdelta_error *err);
pprofdelta_status pd_deflate_write(const pd_deflater *deflater, const pprofdelta_sink *sink,
                                   uint64_t *written, pprofdelta_error *err);

/* Chosen for speed: see deflate.c. */
enum { PD_GZIP_DEFAULT_LEVEL = 2, PD_ZSTD_DEFAULT_LEVEL = 3 };

/* What the ways share. A compressor of this level, as libdeflate makes it; one that has its memory
 * touched; and is there the first? */
void *pd_deflate_new_gzip(const pd_deflater *deflater);
void pd_deflate_warm_gzip(void *gzip);
bool pd_deflate_has_gzip(pd_deflater *deflater);
pprofdelta_status pd_deflate_fail(const char *what, pprofdelta_error *err);
pprofdelta_status pd_deflate_refused(uint64_t len, pprofdelta_error *err);
pprofdelta_status pd_deflate_zstd(pd_deflater *deflater, pprofdelta_error *err);
void pd_deflate_end(pd_deflater *deflater, pd_mem *mem);

/* Gets compressor and room for len bytes ready; then whole compresses them, and allocates nothing
 * that mem counts. */
pprofdelta_status pd_deflate_prepare(pd_deflater *deflater, pd_mem *mem, size_t len,
                                     pprofdelta_error *err);
pprofdelta_status pd_deflate_whole(pd_deflater *deflater, const uint8_t *in, size_t len,
                                   pd_bytes *out, pprofdelta_error *err);
pprofdelta_status pd_deflate_hand_over(pd_bytes out, const pprofdelta_sink *sink, uint64_t *written,
                                       pprofdelta_error *err);

#endif
