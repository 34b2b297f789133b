/* What a file inflates to, a piece at a time: the bounded way, beside the one in inflate.h that has
 * everything in memory at once.
 *
 *     window   [ history | from ........... end | room | slack ]
 *                base      what the reader gets
 *
 * It holds what the reader still needs, what copies may reach back to, and as much new as there is
 * room for. The window moves on as the reader does, and grows only for a piece that does not fit.
 * The same is checked as in the whole way, and refused in the same words. Whoever reads to the end
 * has seen what all of it was; whoever reads again finds the same, as the compressed bytes stay in
 * memory. */
#ifndef PD_CODEC_STREAM_H
#define PD_CODEC_STREAM_H

#include "codec/decode.h"
#include "codec/inflate.h"

enum { PD_STREAM_PIECE = 128 << 10 }; /* what it inflates at a time, unless told otherwise */

/* What inflates to more than so many times its length is refused as too large: with nothing in
 * memory to stop it, it would take its time. Profiles shrink 3 to 10 times. */
enum { PD_STREAM_RATIO = 100 };

typedef struct pd_stream {
    pd_mem *mem;
    const uint8_t *in;
    size_t in_len, pos;
    pd_format format;
    size_t piece;
    pd_buffer window;
    uint64_t base; /* the offset of window.ptr[0] in what the file inflates to */
    bool is_done;  /* everything is inflated and checked */
    bool in_member;
    size_t member_off;    /* where the member's deflate data begin, or the frame */
    uint64_t member_len;  /* what it has inflated to */
    uint64_t member_most; /* zstd: what it can, */
    size_t member_size;   /* and its own length */
    uint32_t crc;
    pd_decoder *decoder; /* gzip */
    size_t decoder_cap;
    void *zstd;         /* ZSTD_DCtx */
    uint64_t zstd_held; /* what it is counted as in mem */
} pd_stream;            /* zero it to begin */

/* Goes to the beginning of a file, which is borrowed until the stream has ended or begun anew.
 * piece: how much to inflate at a time. */
pprofdelta_status pd_stream_begin(pd_stream *stream, pd_mem *mem, const uint8_t *in, size_t len,
                                  size_t piece, pprofdelta_error *err);

/* Makes `need` bytes (at least 1) from the offset `from` on available, or as many as there are, and
 * forgets those before. More may come with them. *out lasts until the next call. `from` is not
 * before that of an earlier call.
 *
 * Where the limit does not let that many be held at once, it looks whether there are so many: only
 * then it is PPROFDELTA_E_LIMIT. Else *out is a part of them, and is_done. */
pprofdelta_status pd_stream_reach(pd_stream *stream, uint64_t from, uint64_t need, pd_bytes *out,
                                  pprofdelta_error *err);

/* How long everything is; known when it is done. */
static inline uint64_t pd_stream_len(const pd_stream *stream)
{
    return stream->base + stream->window.len;
}

/* Inflates what is left, to check it. */
pprofdelta_status pd_stream_finish(pd_stream *stream, pprofdelta_error *err);

/* Gives everything back. */
void pd_stream_end(pd_stream *stream);

/* What the containers do: inflate some more into out[0..room), with PD_DECODE_SLACK behind it, or
 * find that there is nothing more, and set is_done. *made may be 0. */
pprofdelta_status pd_stream_gzip(pd_stream *stream, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err);
pprofdelta_status pd_stream_zstd(pd_stream *stream, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err);
void pd_stream_zstd_end(pd_stream *stream);

#endif
