/* From the bytes of a file to the bytes of a profile: gzip (any number of members), zstd (any
 * number of frames) or plain, told by the first bytes.
 *
 * Whole buffers: the input is in memory and so is the output, which is how the hot path wants it.
 * Everything in the container is checked here (headers, lengths, CRCs, nothing behind the end), so
 * that what comes out is what went in. */
#ifndef PD_CODEC_INFLATE_H
#define PD_CODEC_INFLATE_H

#include "base/mem.h"
#include "codec/inflate_stream.h"

#include <stdbool.h>

typedef enum pd_format { PD_FORMAT_PLAIN, PD_FORMAT_GZIP, PD_FORMAT_ZSTD } pd_format;

/* Told by the magic number alone; whatever is neither gzip nor zstd is taken as plain. */
pd_format pd_format_of(const uint8_t *in, size_t len);
const char *pd_format_name(pd_format format);

typedef struct pd_inflater {
    void *gzip; /* struct libdeflate_decompressor, made when first needed and kept */
    void *zstd; /* ZSTD_DCtx, likewise */
    const pd_inflate_backend *backend; /* for gzip's second opinion; NULL: the one in use */
} pd_inflater;                         /* zero it to begin */

void pd_inflater_fini(pd_inflater *inflater);

/* Inflates in[0..len). *out is the input itself where it is plain, else it lies in *into, whose
 * capacity is kept from call to call and never grows past what mem's limit allows. *out is set on
 * success only; what *into held before is lost either way. Errors about the input have stage
 * "inflate" and the offset in the compressed bytes: of what is wrong, or len where the input is cut
 * off. */
pprofdelta_status pd_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                             pd_buffer *into, pd_bytes *out, pprofdelta_error *err);

/* The two containers, each in its own file; both append to *into, which starts empty. The input
 * begins with the magic number of the format. */
pprofdelta_status pd_gzip_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  pd_buffer *into, pprofdelta_error *err);
pprofdelta_status pd_zstd_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  pd_buffer *into, pprofdelta_error *err);

/* Free what the containers keep in an inflater. */
void pd_gzip_free_decompressor(void *gzip);
void pd_zstd_free_decompressor(void *zstd);

/* pd_gzip_inflate without its second opinion: what libdeflate refuses is refused. */
pprofdelta_status pd_gzip_by_libdeflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in,
                                        size_t len, pd_buffer *into, pprofdelta_error *err);

/* How much in[0..len) says that it inflates to, or 0 where it does not say or says what cannot
 * be. */
uint64_t pd_inflate_announced(const uint8_t *in, size_t len);
uint64_t pd_gzip_announced(const uint8_t *in, size_t len);
uint64_t pd_zstd_announced(const uint8_t *in, size_t len);

/* The steps of zstd that both ways to inflate have in common. read_frame: the form of the frame at
 * in[pos], its size and the most that it can hold. read_end: nothing may follow the last one.
 * refuse_frame: what the library said, in `code`. */
pprofdelta_status pd_zstd_read_frame(const uint8_t *in, size_t len, size_t pos, size_t *size,
                                     uint64_t *most, pprofdelta_error *err);
pprofdelta_status pd_zstd_read_end(const uint8_t *in, size_t len, size_t pos,
                                   pprofdelta_error *err);
pprofdelta_status pd_zstd_refuse_frame(size_t code, size_t pos, pprofdelta_error *err);

/* What all that they refuse has in common. */
#define PD_REFUSE(err, offset, ...)                                                                \
    pd_fail(err, PPROFDELTA_E_INFLATE, "inflate", NULL, PPROFDELTA_NOWHERE, offset, __VA_ARGS__)

/* How both make room for output whose size is at best a claim. `announced` is the length that *into
 * would reach by that claim, or 0 where there is none.
 *
 * first_room is for the first attempt at `packed` compressed bytes: it believes a claim as far as
 * profiles compress and asks for no more than the limit has left, so it never fails for a lie.
 *
 * more_room is for the attempt after one that ran out of room, which has shown that the input
 * expands well: it believes the claim, or doubles. PPROFDELTA_E_LIMIT, at `offset`, when that is
 * not to be had. */
pprofdelta_status pd_inflate_first_room(pd_mem *mem, pd_buffer *into, uint64_t announced,
                                        size_t packed, pprofdelta_error *err);
pprofdelta_status pd_inflate_more_room(pd_mem *mem, pd_buffer *into, uint64_t announced,
                                       size_t offset, pprofdelta_error *err);

/* PPROFDELTA_E_LIMIT: the input inflates to too much, or says so. */
pprofdelta_status pd_inflate_too_large(const pd_mem *mem, bool says_so, size_t offset,
                                       pprofdelta_error *err);

#endif
