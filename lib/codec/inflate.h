/* The careful way to inflate: what a file inflates to, in order, some of it at a time, wherever the
 * caller wants to have it.
 *
 * Everything in the container is checked (headers, lengths, checksums, nothing after the end), so what
 * comes out is what went in. Errors about the input have the stage INFLATE and the offset in the
 * compressed bytes: of what is wrong, or the length of the file if it is cut off. They do not depend on
 * how the output is divided. */
#ifndef PD_CODEC_INFLATE_H
#define PD_CODEC_INFLATE_H

#include "base/mem.h"

typedef enum pd_container { PD_CONTAINER_PLAIN, PD_CONTAINER_GZIP, PD_CONTAINER_ZSTD } pd_container;

/* By the magic number alone. Everything that is neither gzip nor zstd is taken as plain. */
pd_container pd_container_of(const uint8_t *in, size_t len);
const char *pd_container_name(pd_container container);

/* No memory is taken for more than so many times the length of a file because the file announces it. What
 * inflates to more without being held is refused, because nothing but its end would stop it. Profiles
 * shrink 3 to 10 times. */
enum { PD_INFLATE_RATIO = 100 };

typedef struct pd_inflater {
    pd_mem *mem;
    pd_bytes in; /* the file, borrowed */
    size_t pos;
    const struct pd_decoder *decoder;
    bool is_done; /* everything is inflated and checked */
    bool in_member;
    uint64_t len;    /* what it has inflated to so far */
    uint64_t useful; /* of that: what the reader has use for, if it says so; else UINT64_MAX */
    bool is_stream, is_too_much; /* see source.h */
    size_t member_off;           /* where the member's deflate data begin, or the frame */
    uint64_t member_len;         /* what it has inflated to */
    /* gzip */
    uint32_t crc;
    pd_buffer state; /* zlib's; kept */
    void *gzip;      /* libdeflate's decompressor; kept */
    /* zstd */
    size_t frame_size;
    void *zstd;         /* ZSTD_DCtx; kept */
    uint64_t zstd_held; /* what it is counted as in mem */
} pd_inflater;          /* zero it to begin. What is kept serves the next file, too */

/* How much a file says that it inflates to. 0: it does not say, or says what cannot be. */
uint64_t pd_inflate_announced(pd_bytes file);

/* Is called between two pieces. The host of a WebAssembly module may end the call there, but not in the
 * quick way, which has no pieces: that is for files of so many bytes then. */
#ifdef PD_POLL
#define PD_QUICK_MOST (UINT64_C(8) << 20)
void pd_poll(void);
#else
#define PD_QUICK_MOST UINT64_MAX
static inline void pd_poll(void)
{
}
#endif

#define PD_REFUSE(err, offset, ...)                                                                \
    pd_fail(err, PPROFDELTA_E_INFLATE, PPROFDELTA_STAGE_INFLATE, NULL, PPROFDELTA_NOWHERE, offset, \
            __VA_ARGS__)

/* ---- the formats --------------------------------------------------------------------------- */

typedef struct pd_decoder {
    const char *name;
    /* Inflates the next part into out[0..room) and sets *made to its length, also on failure. *made is less
     * than `room` only at the end, which sets is_done, or on failure. */
    pprofdelta_status (*some)(pd_inflater *inflater, uint8_t *out, size_t room, size_t *made,
                              pprofdelta_error *err);
    void (*end)(pd_inflater *inflater); /* gives back what it keeps; or NULL */
    uint64_t (*announced)(
        pd_bytes file); /* as pd_inflate_announced; NULL: the length of the file */
    /* The quick way, or NULL: inflates the file, if its content fits in into->cap. Returns false for a file
     * that it refuses. */
    bool (*quick)(pd_inflater *inflater, pd_buffer *into);
    /* The same as `some` for the first bytes of a file that may be cut off, if that differs; or NULL. */
    pprofdelta_status (*head)(pd_inflater *inflater, uint8_t *out, size_t room, size_t *made,
                              pprofdelta_error *err);
} pd_decoder;

extern const pd_decoder pd_gzip_decoder, pd_zstd_decoder; /* gzip.c and zstd.c */

/* Bytes that the library of a format has allocated itself. */
uint64_t pd_gzip_own(const pd_inflater *inflater);
uint64_t pd_zstd_own(const pd_inflater *inflater);

#endif
