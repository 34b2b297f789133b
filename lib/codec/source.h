/* The bytes of a profile, in order, from a file that is gzip (any number of members), zstd (any number
 * of frames) or plain. All profiles are read through a source.
 *
 *     whole      all bytes are in memory. A gzip file is inflated by libdeflate, the quick
 *                way. What that refuses is inflated again, the careful way, which has the words.
 *     streamed   what a file inflates to, a piece at a time, the careful way (inflate.h). E_LIMIT if
 *                more than the limit is of no use to the reader, or it inflates to more than 1 MiB and
 *                PD_INFLATE_RATIO times what was read: so a bomb ends soon, however large it is
 *
 *     window     [ from ............ end | room for a piece ]
 *                  base
 *
 * The window of a streamed source holds what the reader still needs. It moves on as the reader does, and
 * grows only for a field that does not fit. A reader that has come to the end has seen all that is wrong
 * with the file. To read again is to begin again: the compressed bytes stay in memory.
 *
 * zstd has one way only, since libzstd's two decoders accept different damaged frames. libdeflate accepts
 * a Huffman code that no symbol has, which zlib refuses. No compressor writes one, and the content has
 * the right CRC all the same. */
#ifndef PD_CODEC_SOURCE_H
#define PD_CODEC_SOURCE_H

#include "codec/inflate.h"

typedef struct pd_source {
    pd_mem *mem;
    bool is_whole;
    bool is_done;   /* everything is inflated and checked */
    pd_bytes whole; /* if is_whole: all bytes, in window or borrowed */
    pd_bytes file;  /* borrowed */
    size_t piece;   /* how much is inflated at a time; 0: everything */
    pd_inflater inflater;
    pd_buffer window;
    uint64_t base; /* the offset of window.ptr[0] in what the file inflates to */
} pd_source;       /* zero it to begin */

/* Begins a file, which is borrowed until the next beginning: streamed, with pieces of this length, or
 * whole if piece is 0. A file that is read whole is inflated here. */
pprofdelta_status pd_source_open(pd_source *source, pd_mem *mem, pd_bytes file, size_t piece,
                                 pprofdelta_error *err);

/* Begins with bytes that are in memory and not compressed. What the source has inflated stays valid. */
void pd_source_set(pd_source *source, pd_mem *mem, pd_bytes whole);

/* Goes back to the first byte. */
pprofdelta_status pd_source_rewind(pd_source *source, pprofdelta_error *err);

/* Makes `need` bytes (at least 1) from the offset `from` on available, or as many as there are, and
 * forgets those before. More may come with them. *out is valid until the next call. `from` is not
 * before that of an earlier call since the beginning, unless all bytes are in memory. E_LIMIT if the
 * limit does not let that many be held at once. */
pprofdelta_status pd_source_reach(pd_source *source, uint64_t from, uint64_t need, pd_bytes *out,
                                  pprofdelta_error *err);

/* The length of all bytes, if is_done. */
static inline uint64_t pd_source_len(const pd_source *source)
{
    return source->is_whole ? source->whole.len : source->base + source->window.len;
}

/* Inflates what is left, to check it. */
pprofdelta_status pd_source_finish(pd_source *source, pprofdelta_error *err);

/* Gives back what inflates the next file. What this one has inflated to stays; it is whole. */
void pd_source_rest(pd_source *source);

/* Gives everything back. Does nothing if the source is zeroed. */
void pd_source_end(pd_source *source);

/* The first bytes of what a file inflates to, or as many as there are. */
typedef struct pd_head {
    uint8_t bytes[16 << 10];
    size_t len;
    bool is_good; /* false: it is compressed, and nothing of it can be inflated */
} pd_head;

/* `file` may be the first part of a file. */
pprofdelta_status pd_source_head(pd_mem *mem, pd_bytes file, pd_head *head, pprofdelta_error *err);

#endif
