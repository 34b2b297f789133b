/* Compression of a finished profile into one gzip member or one zstd frame, in one call. */
#ifndef PD_CODEC_COMPRESS_H
#define PD_CODEC_COMPRESS_H

#include "base/mem.h"

typedef struct pd_compressor {
    pprofdelta_compression compression;
    int level;     /* 1..9; 0: the default */
    void *state;   /* of the library, made when first needed and kept */
    pd_buffer out; /* the compressed bytes; the capacity is kept */
} pd_compressor;   /* zero it, set compression and level, to begin */

/* mem is the one that every call was made with. */
void pd_compressor_fini(pd_compressor *compressor, pd_mem *mem);

/* Compresses all of `in`. *out is in compressor->out, or is `in` itself for PPROFDELTA_PLAIN. It is
 * set on success only. Equal input gives equal bytes: the gzip header has no time and no name. */
pprofdelta_status pd_compress_bytes(pd_compressor *compressor, pd_mem *mem, pd_bytes in,
                                    pd_bytes *out, pprofdelta_error *err);

/* Hands bytes to the sink in one call. *written is their number; it is set on success only. If the
 * sink refuses, the status is PPROFDELTA_E_SINK and the stage "write". */
pprofdelta_status pd_compress_write(pd_bytes bytes, const pprofdelta_sink *sink, uint64_t *written,
                                    pprofdelta_error *err);

/* Compresses all of `in` and hands it to the sink. */
pprofdelta_status pd_compress(pd_compressor *compressor, pd_mem *mem, pd_bytes in,
                              const pprofdelta_sink *sink, uint64_t *written,
                              pprofdelta_error *err);

/* One for each library: compress_gzip.c and compress_zstd.c. */
typedef struct pd_packer {
    /* Returns the most that `len` bytes are compressed to, or 0 if there is no memory. */
    size_t (*bound)(pd_compressor *c, size_t len);
    /* Compresses all of `in` into c->out. Returns the length, or 0 if it does not fit. */
    size_t (*pack)(pd_compressor *c, pd_bytes in);
    void (*end)(void *state);
} pd_packer;

extern const pd_packer pd_gzip_packer, pd_zstd_packer;

#endif
