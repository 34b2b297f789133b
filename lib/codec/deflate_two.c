/* The gzip compressor for two threads.
 *
 *     in      [ first part          | second part              ]
 *     out     [ header | blocks     ~ blocks, final | sum, length ]
 *
 * The library makes deflate data that are whole: the last block of the first part says that it is the
 * final one, which has to be taken back. Where that block begins is not told, so the first part is
 * decoded, which takes a quarter of the time that making it took, and is given to the one who has less
 * to compress. Then an empty stored block brings the data to a whole byte (that is ~ above), and the
 * second part follows as it is. */
#include "codec/decode.h"
#include "codec/deflate.h"

#include <libdeflate.h>
#include <string.h>

enum {
    FIRST_OF_16 = 7, /* the first part's share: it is decoded, too */
    HEADER = 10,
    JOINT = 6, /* what the empty block may take */
    TRAILER = 8,
    DECODED = 64 << 10 /* that are decoded at a time */
};

struct pd_deflate_check {
    pd_decoder decoder;
    uint8_t out[PD_DECODE_HISTORY + DECODED + PD_DECODE_SLACK];
};

static pprofdelta_status reserve(pd_deflate_two *two, pprofdelta_error *err)
{
    pd_deflater *d = two->deflater;
    size_t none = 0, second_len = two->len - two->first_len;
    if (!pd_deflate_has_gzip(d) || !(two->compressor = pd_deflate_new_gzip(d)))
        return pd_deflate_fail("no memory for a gzip compressor", err);
    two->room = libdeflate_deflate_compress_bound(d->gzip, two->first_len);
    size_t second_room = libdeflate_deflate_compress_bound(two->compressor, second_len);
    pprofdelta_status status =
        pd_mem_reserve(two->mem, &d->out.ptr, &d->out.cap,
                       HEADER + two->room + JOINT + second_room + TRAILER, 1, err);
    if (!status)
        status = pd_mem_reserve(two->mem, &two->checker, &none, 1, sizeof *two->checker, err);
    if (!status)
        two->second = d->out.ptr + HEADER + two->room + JOINT;
    return status;
}

static void release(pd_deflate_two *two)
{
    size_t one = two->checker != NULL;
    libdeflate_free_compressor(two->compressor);
    two->compressor = NULL;
    pd_mem_release(two->mem, &two->checker, &one, sizeof *two->checker);
}

pprofdelta_status pd_deflate_two_begin(pd_deflate_two *two, pd_deflater *deflater, pd_mem *mem,
                                       const uint8_t *in, size_t len, pprofdelta_error *err)
{
    *two = (pd_deflate_two){.deflater = deflater, .mem = mem, .in = in, .len = len};
    if (deflater->compression != PPROFDELTA_GZIP || len < PD_DEFLATE_LARGE)
        return PPROFDELTA_OK;
    two->first_len = len / 16 * FIRST_OF_16;
    pprofdelta_status status = reserve(two, err);
    if (status)
        release(two);
    return status;
}

/* Decodes the data and finds, in bits, where their last block begins and where they end. */
static bool find_end(struct pd_deflate_check *c, const uint8_t *data, size_t len, size_t *last,
                     size_t *end)
{
    pd_decode_run run = {data, data + len, c->out, c->out + PD_DECODE_HISTORY + DECODED};
    pd_decode_end how;
    pd_decode_begin(&c->decoder);
    while ((how = pd_decode(&c->decoder, &run)) == PD_DECODE_FULL) {
        memmove(c->out, run.out - PD_DECODE_HISTORY, PD_DECODE_HISTORY);
        run.out = c->out + PD_DECODE_HISTORY;
    }
    *last = (size_t)(c->decoder.block - data) * 8 - c->decoder.block_held;
    *end = (size_t)(run.in - data) * 8 - c->decoder.held;
    return how == PD_DECODE_DONE;
}

/* Makes the data go on: returns how many bytes they take now. */
static size_t open_end(uint8_t *data, size_t last, size_t end)
{
    static const uint8_t nothing[4] = {0, 0, 0xff,
                                       0xff}; /* a stored block's length, and its inverse */
    data[last / 8] &= (uint8_t) ~(1u << last % 8);
    size_t len = (end + 3 + 7) / 8; /* not final, stored: three zeros, and more to the next byte */
    data[end / 8] = end % 8 ? data[end / 8] & (uint8_t)((1u << end % 8) - 1) : 0;
    memset(data + end / 8 + 1, 0, len - end / 8 - 1);
    memcpy(data + len, nothing, sizeof nothing);
    return len + sizeof nothing;
}

void pd_deflate_two_first(pd_deflate_two *two)
{
    if (!two->first_len)
        return;
    uint8_t *data = two->deflater->out.ptr + HEADER;
    size_t last, end,
        made = libdeflate_deflate_compress(two->deflater->gzip, two->in, two->first_len, data,
                                           two->room);
    if (made && find_end(two->checker, data, made, &last, &end))
        two->first_made = open_end(data, last, end);
}

void pd_deflate_two_second(pd_deflate_two *two)
{
    pd_deflater *d = two->deflater;
    if (!two->first_len) {
        two->status = pd_deflate_whole(d, two->mem, two->in, two->len, &two->whole, &two->err);
        return;
    }
    const uint8_t *end = d->out.ptr + d->out.cap - TRAILER;
    two->second_made = libdeflate_deflate_compress(two->compressor, two->in + two->first_len,
                                                   two->len - two->first_len, two->second,
                                                   (size_t)(end - two->second));
}

/* Puts the parts together, and what stands around them. */
static pd_bytes join(pd_deflate_two *two)
{
    static const uint8_t header[HEADER] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    pd_buffer *out = &two->deflater->out;
    uint8_t *at = out->ptr + HEADER + two->first_made;
    memcpy(out->ptr, header, HEADER);
    memmove(at, two->second, two->second_made);
    at += two->second_made;
    uint32_t sum = libdeflate_crc32(0, two->in, two->len), len = (uint32_t)two->len;
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(sum >> 8 * i);
        at[4 + i] = (uint8_t)(len >> 8 * i);
    }
    out->len = (size_t)(at + TRAILER - out->ptr);
    return (pd_bytes){out->ptr, out->len};
}

pprofdelta_status pd_deflate_two_finish(pd_deflate_two *two, const pprofdelta_sink *sink,
                                        uint64_t *written, pprofdelta_error *err)
{
    bool is_split = two->first_len, is_whole = two->second_made && two->first_made;
    release(two);
    if (is_split && !is_whole)
        return pd_deflate_fail("the gzip compressor has not enough room", err);
    if (two->status) {
        if (err)
            *err = two->err;
        return two->status;
    }
    pd_bytes out = is_split ? join(two) : two->whole;
    return pd_deflate_hand_over(out, sink, written, err);
}
