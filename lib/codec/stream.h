/* The bytes of a profile, in order: the interface through which profiles are read.
 *
 *     whole     all bytes are in memory
 *     stream    what a file inflates to, a piece at a time
 *
 *     window   [ from ............ end | room for a piece ]
 *                base
 *
 * The window of a stream holds what the reader still needs. It moves on as the reader does, and
 * grows only for a field that does not fit. What is checked, and the words of what is refused, are
 * those of inflate.h. A reader that has come to the end has seen all that is wrong with the file. To
 * read again is to begin again: the compressed bytes stay in memory. */
#ifndef PD_CODEC_STREAM_H
#define PD_CODEC_STREAM_H

#include "codec/unpack.h"

typedef struct pd_stream {
    pd_mem *mem;
    bool is_whole;
    bool is_done;    /* everything is inflated and checked */
    pd_bytes whole;  /* if is_whole: all bytes, borrowed */
    pd_bytes packed; /* else: the file, borrowed, */
    size_t piece;    /* and how much is inflated at a time */
    pd_unpacker unpacker;
    pd_buffer window;
    uint64_t base; /* the offset of window.ptr[0] in what the file inflates to */
} pd_stream;       /* zero it to begin */

/* Begins with bytes that are in memory. */
void pd_stream_begin_whole(pd_stream *stream, pd_mem *mem, pd_bytes whole);

/* Begins a file, which is borrowed while the stream is read. piece: how much to inflate at a time. */
pprofdelta_status pd_stream_begin(pd_stream *stream, pd_mem *mem, pd_bytes packed, size_t piece,
                                  pprofdelta_error *err);

/* Goes back to the first byte. */
pprofdelta_status pd_stream_rewind(pd_stream *stream, pprofdelta_error *err);

/* Makes `need` bytes (at least 1) from the offset `from` on available, or as many as there are, and
 * forgets those before. More may come with them. *out lasts until the next call. `from` is not
 * before that of an earlier call since the beginning, unless all bytes are in memory.
 *
 * If the limit does not let that many be held at once, the rest is inflated to see whether there are
 * so many: only then it is PPROFDELTA_E_LIMIT. Else *out is a part of them, and is_done. */
pprofdelta_status pd_stream_reach(pd_stream *stream, uint64_t from, uint64_t need, pd_bytes *out,
                                  pprofdelta_error *err);

/* The length of all bytes, if is_done. */
static inline uint64_t pd_stream_len(const pd_stream *stream)
{
    return stream->is_whole ? stream->whole.len : stream->base + stream->window.len;
}

/* Inflates what is left, to check it. */
pprofdelta_status pd_stream_finish(pd_stream *stream, pprofdelta_error *err);

/* Gives everything back. Does nothing if the stream is zeroed. */
void pd_stream_end(pd_stream *stream);

#endif
