/* Compression of a finished profile into one gzip member or one zstd frame, in one call. */
#ifndef PD_CODEC_COMPRESS_H
#define PD_CODEC_COMPRESS_H

#include "base/steps.h"
#include "base/mem.h"

typedef struct pd_compressor {
    pprofdelta_compression compression;
    int level;     /* 1..9; 0: the default. 1 stores what is small */
    void *state;   /* of the library, made when first needed and kept */
    pd_buffer out; /* the compressed bytes; the capacity is kept */
} pd_compressor;   /* zero it, set compression and level, to begin */

/* Gives back what the compression library has. */
void pd_compressor_end(pd_compressor *compressor);

/* Bytes that the compression library has allocated itself. */
uint64_t pd_compressor_own(const pd_compressor *compressor);

/* Compresses all of `in`. *out is in compressor->out, or is `in` itself for PPROFDELTA_PLAIN. It is
 * set on success only. Equal input gives equal bytes: the gzip header has no time and no name. */
pprofdelta_status pd_compress_bytes(pd_compressor *compressor, pd_mem *mem, pd_bytes in,
                                    pd_bytes *out, pprofdelta_error *err);

/* Compresses all of `in` and hands it to the sink. */
static inline pprofdelta_status pd_compress(pd_compressor *c, pd_mem *mem, pd_bytes in,
                                            const pprofdelta_sink *sink, uint64_t *written,
                                            pprofdelta_error *err)
{
    pd_bytes out = {NULL, 0};
    pprofdelta_status status = pd_compress_bytes(c, mem, in, &out, err);
    return status ? status : pd_sink_write(sink, out, written, err);
}

#endif
