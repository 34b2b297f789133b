/* What a file inflates to, in order, some of it at a time, wherever the caller wants to have it.
 *
 * Beside inflate.h, which has everything in memory at once: the same is checked, and refused in the
 * same words. Who takes it to its end has seen what all of it was; who begins again finds the same,
 * as the compressed bytes stay in memory. */
#ifndef PD_CODEC_UNPACK_H
#define PD_CODEC_UNPACK_H

#include "codec/inflate.h"

/* What inflates to more than so many times its length is refused as too large: with nothing in
 * memory to stop it, it would take its time. Profiles shrink 3 to 10 times. */
enum { PD_UNPACK_RATIO = 100 };

typedef struct pd_unpacker {
    pd_mem *mem;
    const uint8_t *in;
    size_t in_len, pos;
    pd_format format;
    bool is_done; /* everything is inflated and checked */
    bool in_member;
    uint64_t len;         /* what it has inflated to so far */
    size_t member_off;    /* where the member's deflate data begin, or the frame */
    uint64_t member_len;  /* what it has inflated to */
    uint64_t member_most; /* zstd: what it can, */
    size_t member_size;   /* and its own length */
    uint32_t crc;
    const pd_inflate_backend *backend; /* gzip; set by pd_unpack_begin where it is NULL */
    void *state;                       /* the backend's */
    size_t state_cap;
    void *zstd;         /* ZSTD_DCtx */
    uint64_t zstd_held; /* what it is counted as in mem */
} pd_unpacker;          /* zero it to begin */

/* Goes to the beginning of a file, which is borrowed until the unpacker has ended or begun anew. */
pprofdelta_status pd_unpack_begin(pd_unpacker *unpacker, pd_mem *mem, const uint8_t *in, size_t len,
                                  pprofdelta_error *err);

/* Inflates the next part into out[0..room) and sets *made, which may be 0, to its length. Sets
 * is_done when everything is inflated and checked. For gzip mem is only read. */
pprofdelta_status pd_unpack_some(pd_unpacker *unpacker, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err);

/* Has it inflated to more than a file of its length may? */
static inline bool pd_unpack_is_too_large(const pd_unpacker *unpacker)
{
    return unpacker->len / PD_UNPACK_RATIO > unpacker->in_len;
}

/* Gives everything back. */
void pd_unpack_end(pd_unpacker *unpacker);

/* What the containers do for pd_unpack_some. */
pprofdelta_status pd_unpack_gzip(pd_unpacker *unpacker, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err);
pprofdelta_status pd_unpack_zstd(pd_unpacker *unpacker, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err);
void pd_unpack_zstd_end(pd_unpacker *unpacker);

/* pd_peek for zstd: the frames need not be whole. */
pprofdelta_status pd_zstd_peek(pd_bytes in, void *out, size_t room, size_t *made, bool *is_good,
                               pprofdelta_error *err);

#endif
