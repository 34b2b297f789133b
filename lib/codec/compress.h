/* Compression of one buffer into one gzip member or one zstd frame, and what encoder.h shares with
 * it. */
#ifndef PD_CODEC_COMPRESS_H
#define PD_CODEC_COMPRESS_H

#include "base/mem.h"

typedef struct pd_compressor {
    pprofdelta_compression compression;
    int level;     /* 1..9; 0: the default */
    void *gzip;    /* struct libdeflate_compressor, made when first needed and kept */
    void *zstd;    /* ZSTD_CCtx, made when first needed and kept */
    pd_buffer out; /* the compressed bytes; the capacity is kept */
} pd_compressor;   /* zero it, set compression and level, to begin */

/* mem is the one that every call was made with. */
void pd_compressor_fini(pd_compressor *compressor, pd_mem *mem);

/* Compresses all of `in` and then hands it to the sink, in one call. PPROFDELTA_PLAIN hands `in`
 * itself to the sink. *written is the number of bytes that the sink got; it is set on success only.
 * If the sink refuses, the status is PPROFDELTA_E_SINK and the stage "write". Equal input gives
 * equal bytes: the gzip header has no time and no name. */
pprofdelta_status pd_compress(pd_compressor *compressor, pd_mem *mem, pd_bytes in,
                              const pprofdelta_sink *sink, uint64_t *written,
                              pprofdelta_error *err);

/* The sink refused `len` bytes. */
pprofdelta_status pd_compress_refused(uint64_t len, pprofdelta_error *err);

/* A compression library failed. */
pprofdelta_status pd_compress_failed(const char *why, pprofdelta_error *err);

/* compress_gzip.c makes *gzip, a struct libdeflate_compressor, unless it is there. level 0: the
 * default. */
pprofdelta_status pd_gzip_ready(void **gzip, int level, pprofdelta_error *err);
void pd_gzip_free(void *gzip);

/* Compresses `in` into deflate data. Returns their length, or 0 if the room does not suffice. */
size_t pd_gzip_deflate(void *gzip, pd_bytes in, uint8_t *out, size_t room);

/* Room for deflate data. */
size_t pd_gzip_bound(size_t len);

/* The CRC-32 of some bytes and of what has the CRC-32 `crc` before them. */
uint32_t pd_gzip_crc(uint32_t crc, pd_bytes in);

/* compress_zstd.c makes *zstd, a ZSTD_CCtx, unless it is there. level 0: the default. */
pprofdelta_status pd_zstd_ready(void **zstd, int level, pprofdelta_error *err);
void pd_zstd_free(void *zstd);

/* A frame of more than PD_ZSTD_SHORT bytes comes of begin, add ... add, end, and
 * goes to the end of *out, which is empty at the beginning. The bytes of the frame do not depend on
 * how the input is divided among the calls. *out grows in mem, by PD_ZSTD_ROOM at least. */
enum { PD_ZSTD_SHORT = 1 << 20, PD_ZSTD_ROOM = 64 << 10 };
pprofdelta_status pd_zstd_begin(void *zstd, pd_mem *mem, pd_buffer *out, pprofdelta_error *err);
pprofdelta_status pd_zstd_add(void *zstd, pd_mem *mem, pd_bytes in, pd_buffer *out,
                              pprofdelta_error *err);
pprofdelta_status pd_zstd_end(void *zstd, pd_mem *mem, uint64_t len, pd_buffer *out,
                              pprofdelta_error *err);

/* A frame of at most PD_ZSTD_SHORT bytes. Returns its length, or 0 and sets *why. Takes no memory
 * from a pd_mem. */
size_t pd_zstd_short(void *zstd, pd_bytes in, uint8_t *out, size_t room, const char **why);

/* Room for such a frame. */
size_t pd_zstd_bound(size_t len);

#endif
