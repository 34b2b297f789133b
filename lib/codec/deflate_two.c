/* The gzip compressor for two threads: two parts of one member (member.h). The first part's end has
 * to be found, so it is the smaller one. */
#include "codec/deflate.h"
#include "codec/member.h"

#include <libdeflate.h>
#include <string.h>

enum { FIRST_OF_16 = 7 }; /* the first part's share */

static pprofdelta_status reserve(pd_deflate_two *two, pprofdelta_error *err)
{
    pd_deflater *d = two->deflater;
    size_t none = 0, second_len = two->len - two->first_len;
    if (!pd_deflate_has_gzip(d) || !(two->compressor = pd_deflate_new_gzip(d)))
        return pd_deflate_fail("no memory for a gzip compressor", err);
    two->room = libdeflate_deflate_compress_bound(d->gzip, two->first_len);
    size_t second_room = libdeflate_deflate_compress_bound(two->compressor, second_len);
    pprofdelta_status status = pd_mem_reserve(
        two->mem, &d->out.ptr, &d->out.cap,
        PD_MEMBER_HEAD + two->room + PD_MEMBER_JOINT + second_room + PD_MEMBER_TAIL, 1, err);
    if (!status)
        status = pd_mem_reserve(two->mem, &two->check, &none, 1, sizeof *two->check, err);
    if (!status)
        two->second = d->out.ptr + PD_MEMBER_HEAD + two->room + PD_MEMBER_JOINT;
    return status;
}

void pd_deflate_two_end(pd_deflate_two *two)
{
    size_t one = two->check != NULL;
    libdeflate_free_compressor(two->compressor);
    two->compressor = NULL;
    pd_mem_release(two->mem, &two->check, &one, sizeof *two->check);
}

pprofdelta_status pd_deflate_two_begin(pd_deflate_two *two, pd_deflater *deflater, pd_mem *mem,
                                       const uint8_t *in, size_t len, pprofdelta_error *err)
{
    *two = (pd_deflate_two){.deflater = deflater, .mem = mem, .in = in, .len = len};
    if (deflater->compression != PPROFDELTA_GZIP || len < PD_DEFLATE_LARGE)
        return pd_deflate_prepare(deflater, mem, len, err);
    two->first_len = len / 16 * FIRST_OF_16;
    pprofdelta_status status = reserve(two, err);
    if (status)
        pd_deflate_two_end(two);
    return status;
}

void pd_deflate_two_first(pd_deflate_two *two)
{
    if (!two->first_len)
        return;
    uint8_t *data = two->deflater->out.ptr + PD_MEMBER_HEAD;
    size_t made =
        libdeflate_deflate_compress(two->deflater->gzip, two->in, two->first_len, data, two->room);
    if (made)
        two->first_made = pd_member_open(two->check, data, made);
}

void pd_deflate_two_second(pd_deflate_two *two)
{
    pd_deflater *d = two->deflater;
    if (!two->first_len) {
        two->status = pd_deflate_whole(d, two->in, two->len, &two->whole, &two->err);
        return;
    }
    const uint8_t *end = d->out.ptr + d->out.cap - PD_MEMBER_TAIL;
    two->second_made = libdeflate_deflate_compress(two->compressor, two->in + two->first_len,
                                                   two->len - two->first_len, two->second,
                                                   (size_t)(end - two->second));
}

/* Puts the parts together, and what stands around them. */
static void join(pd_deflate_two *two)
{
    pd_buffer *out = &two->deflater->out;
    uint8_t *at = out->ptr + PD_MEMBER_HEAD + two->first_made;
    pd_member_head(out->ptr);
    memmove(at, two->second, two->second_made);
    at += two->second_made;
    pd_member_tail(at, libdeflate_crc32(0, two->in, two->len), two->len);
    out->len = (size_t)(at + PD_MEMBER_TAIL - out->ptr);
    two->whole = (pd_bytes){out->ptr, out->len};
}

pprofdelta_status pd_deflate_two_finish(pd_deflate_two *two, const pprofdelta_sink *sink,
                                        uint64_t *written, pprofdelta_error *err)
{
    bool is_split = two->first_len;
    if (is_split && !(two->first_made && two->second_made))
        return pd_deflate_fail("the gzip compressor has not enough room", err);
    if (two->status) {
        if (err)
            *err = two->err;
        return two->status;
    }
    if (is_split && !two->whole.ptr)
        join(two);
    return pd_deflate_hand_over(two->whole, sink, written, err);
}
