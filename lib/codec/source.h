/* The bytes of a profile, in order, from a file that is gzip (any number of members), zstd (any number
 * of frames) or plain. All profiles are read through a source.
 *
 *     whole      all bytes are in memory. A gzip file is inflated by libdeflate, the quick
 *                way. What that refuses is inflated again, the careful way, which has the words.
 *     streamed   what a file inflates to, a chunk at a time, the careful way. E_LIMIT if
 *                more than the limit is of no use to the reader, or it inflates to more than 1 MiB and
 *                PD_INFLATE_RATIO times what was read: so a bomb ends soon, however large it is
 *
 *     window     [ from ............ end | room for a chunk ]
 *                  base
 *
 * The window of a streamed source holds what the reader still needs. It moves on as the reader does, and
 * grows only for a field that does not fit. A reader that has come to the end has seen all that is wrong
 * with the file. To read again is to begin again: the compressed bytes stay in memory.
 *
 * Everything in the container is checked (headers, lengths, checksums, nothing after the end), so what
 * comes out is what went in. Errors about the input have the stage INFLATE and the offset in the
 * compressed bytes: of what is wrong, or the length of the file if it is cut off. They do not depend on
 * how the output is divided.
 *
 * zstd has one way only, since libzstd's two decoders accept different damaged frames. libdeflate accepts
 * a Huffman code that no symbol has, which zlib refuses. No compressor writes one, and the content has
 * the right CRC all the same. */
#ifndef PD_CODEC_SOURCE_H
#define PD_CODEC_SOURCE_H

#include "base/mem.h"

typedef enum pd_container { PD_CONTAINER_PLAIN, PD_CONTAINER_GZIP, PD_CONTAINER_ZSTD } pd_container;

/* By the magic number alone. Everything that is neither gzip nor zstd is taken as plain. */
pd_container pd_container_of(const uint8_t *in, size_t len);
const char *pd_container_name(pd_container container);

/* No memory is taken for more than so many times the length of a file because the file announces it. What
 * inflates to more without being held is refused, because nothing but its end would stop it. Profiles
 * shrink 3 to 10 times. */
enum { PD_INFLATE_RATIO = 100 };

/* How much a file says that it inflates to. 0: it does not say, or says what cannot be. */
uint64_t pd_inflate_announced(pd_bytes file);

typedef struct pd_source {
    pd_mem *mem;
    bool is_whole;
    bool is_done;    /* everything is inflated and checked */
    pd_bytes whole;  /* if is_whole: all bytes, in window or borrowed */
    pd_bytes file;   /* borrowed */
    size_t chunk;    /* how much is inflated at a time; 0: everything */
    uint64_t useful; /* bytes that the reader has use for, if it says so; else UINT64_MAX */
    pd_buffer window;
    uint64_t base; /* the offset of window.ptr[0] in what the file inflates to */
    /* Inflating. */
    const struct pd_decoder *decoder;
    size_t pos; /* in `file` */
    bool in_member, is_too_much;
    size_t member_off;   /* where the member's deflate data begin, or the frame */
    uint64_t member_len; /* what it has inflated to */
    /* gzip */
    uint32_t crc;
    pd_buffer state; /* zlib's; kept */
    void *gzip;      /* libdeflate's decompressor; kept */
    /* zstd */
    void *zstd;         /* ZSTD_DCtx; kept */
    uint64_t zstd_held; /* what it is counted as in mem */
} pd_source;            /* zero it to begin. What is kept serves the next file, too */

/* Begins a file, which is borrowed until the next beginning: streamed, with chunks of this length, or
 * whole if chunk is 0. A file that is read whole is inflated here. */
pprofdelta_status pd_source_open(pd_source *source, pd_mem *mem, pd_bytes file, size_t chunk,
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

/* The length of the bytes so far: of all, if is_done. */
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

/* ---- between the files ----------------------------------------------------------------------- */

/* Is called between two chunks. The host of a WebAssembly module may end the call there, but not in the
 * quick way, which has no chunks: that is for files of so many bytes then. */
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
    pprofdelta_status (*some)(pd_source *source, uint8_t *out, size_t room, size_t *made,
                              pprofdelta_error *err);
    void (*end)(pd_source *source); /* gives back what it keeps; or NULL */
    uint64_t (*announced)(
        pd_bytes file); /* as pd_inflate_announced; NULL: the length of the file */
    /* The quick way, or NULL: inflates the file, if its content fits in the room of the window. Returns false for a
     * file that it refuses. */
    bool (*quick)(pd_source *source);
} pd_decoder;

extern const pd_decoder pd_gzip_decoder, pd_zstd_decoder; /* gzip.c and zstd.c */

/* Bytes that the library of a format has allocated itself. */
uint64_t pd_gzip_own(const pd_source *source);
uint64_t pd_zstd_own(const pd_source *source);

#endif
