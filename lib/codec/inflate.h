/* From the bytes of a file to the bytes of a profile: gzip (any number of members), zstd (any
 * number of frames) or plain, told by the first bytes.
 *
 * Whole buffers: the input is in memory and so is the output, which is how the hot path wants it.
 * Everything in the container is checked here (headers, lengths, CRCs, nothing behind the end), so
 * that what comes out is what went in. */
#ifndef PD_CODEC_INFLATE_H
#define PD_CODEC_INFLATE_H

#include "base/mem.h"

typedef enum pd_format { PD_FORMAT_PLAIN, PD_FORMAT_GZIP, PD_FORMAT_ZSTD } pd_format;

/* Told by the magic number alone; whatever is neither gzip nor zstd is taken as plain. */
pd_format pd_format_of(const uint8_t *in, size_t len);
const char *pd_format_name(pd_format format);

typedef struct pd_inflater {
    void *gzip; /* struct libdeflate_decompressor, made when first needed and kept */
    void *zstd; /* ZSTD_DCtx, likewise */
} pd_inflater; /* zero it to begin */

void pd_inflater_fini(pd_inflater *inflater);

/* Inflates in[0..len). *out is the input itself where it is plain, else it lies in *into, whose
 * capacity is kept from call to call and never grows past what mem's limit allows. *out is set on
 * success only. Errors have stage "inflate" and the offset in the compressed bytes. */
pprofdelta_status pd_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                             pd_buffer *into, pd_bytes *out, pprofdelta_error *err);

/* The two containers, each in its own file; both append to *into, which starts empty. */
pprofdelta_status pd_gzip_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  pd_buffer *into, pprofdelta_error *err);
pprofdelta_status pd_zstd_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  pd_buffer *into, pprofdelta_error *err);

#endif
