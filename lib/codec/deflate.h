/* From the bytes of a profile to the caller's sink, as one gzip member, one zstd frame or plain. */
#ifndef PD_CODEC_DEFLATE_H
#define PD_CODEC_DEFLATE_H

#include "codec/compress.h" /* PD_ZSTD_SHORT, PD_ZSTD_ROOM */

#include <stdbool.h>

typedef struct pd_deflater {
    pprofdelta_compression compression;
    int level;     /* 1..9, or 0 for the default */
    void *gzip;    /* struct libdeflate_compressor, made when first needed and kept */
    void *zstd;    /* ZSTD_CCtx, likewise */
    pd_buffer out; /* the compressed bytes; capacity kept */
    struct {       /* of what is compressed a part at a time */
        struct pd_member_check *check; /* gzip */
        pd_buffer in;                  /* zstd: all, as long as it is short; */
        bool is_long;                  /* it is not */
        uint32_t crc;
        uint64_t len; /* of what came */
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

/* The same for what is cut into parts (cut.h): begins, compresses part after part, the last one as
 * such, into deflater->out, and hands that to the sink. What is begun need not come to an end. For
 * zstd and plain the result does not depend on the cuts, and is that of pd_deflate; for gzip it is
 * where there is one part. */
pprofdelta_status pd_deflate_begin(pd_deflater *deflater, pd_mem *mem, pprofdelta_error *err);
pprofdelta_status pd_deflate_part(pd_deflater *deflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  bool is_last, pprofdelta_error *err);
pprofdelta_status pd_deflate_write(const pd_deflater *deflater, const pprofdelta_sink *sink,
                                   uint64_t *written, pprofdelta_error *err);

/* The same for what is there whole: for gzip it is cut into parts of length `part`, as many as fit
 * into its first `early` bytes, and the rest. *out is `in` itself where it stays plain. */
pprofdelta_status pd_deflate_cut(pd_deflater *deflater, pd_mem *mem, pd_bytes in, size_t early,
                                 size_t part, pd_bytes *out, pprofdelta_error *err);

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

/* A zstd frame of more than PD_ZSTD_SHORT bytes, which come in any pieces: the frame is the same.
 * Nothing is allocated from mem where deflater->out has room for ZSTD_compressBound and PD_ZSTD_ROOM. */
pprofdelta_status pd_zstd_begin_long(pd_deflater *deflater, pd_mem *mem, pprofdelta_error *err);
pprofdelta_status pd_zstd_add_long(pd_deflater *deflater, pd_mem *mem, pd_bytes in,
                                   pprofdelta_error *err);
pprofdelta_status pd_zstd_end_long(pd_deflater *deflater, pd_mem *mem, uint64_t len,
                                   pprofdelta_error *err);

/* Gets compressor and room for len bytes ready; then whole compresses them, and allocates nothing
 * that mem counts. */
pprofdelta_status pd_deflate_prepare(pd_deflater *deflater, pd_mem *mem, size_t len,
                                     pprofdelta_error *err);
pprofdelta_status pd_deflate_whole(pd_deflater *deflater, const uint8_t *in, size_t len,
                                   pd_bytes *out, pprofdelta_error *err);
pprofdelta_status pd_deflate_hand_over(pd_bytes out, const pprofdelta_sink *sink, uint64_t *written,
                                       pprofdelta_error *err);

#endif
