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

#include "codec/pump.h"
#include "codec/unpack.h"

enum { PD_STREAM_PIECE = 128 << 10 }; /* what it inflates at a time, unless told otherwise */

typedef struct pd_stream {
    pd_mem *mem;
    pd_unpacker unpacker;
    pd_pump *pump; /* who inflates instead, or NULL */
    size_t piece;
    pd_buffer window;
    uint64_t base; /* the offset of window.ptr[0] in what the file inflates to */
    bool is_done;  /* everything is inflated and checked */
} pd_stream;       /* zero it to begin */

/* Goes to the beginning of a file, which is borrowed until the stream has ended or begun anew.
 * piece: how much to inflate at a time. pump: who may do that ahead, or NULL; it stays open as long. */
pprofdelta_status pd_stream_begin(pd_stream *stream, pd_mem *mem, const uint8_t *in, size_t len,
                                  size_t piece, pd_pump *pump, pprofdelta_error *err);

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

/* The file is needed no more, until the stream begins anew. */
void pd_stream_rest(pd_stream *stream);

/* Gives everything back. */
void pd_stream_end(pd_stream *stream);

#endif
