/* zstd (RFC 8878): frames one behind the other, some of them to be skipped, and nothing else.
 *
 * The library measures a frame by its block headers alone before it is inflated. So a file that is
 * cut off is told from one that is damaged, and one frame at a time goes into one buffer in one
 * call, which needs no window beside it. It checks a frame's checksum and content size itself. */
#include "codec/inflate.h"

#include <stdbool.h>
#include <zstd.h>
#include <zstd_errors.h>

/* The most that a byte of a frame inflates to: a block of 4 bytes can be 128 KiB. */
enum { MAX_RATIO = (128 << 10) / 4 };

void pd_zstd_free_decompressor(void *zstd)
{
    ZSTD_freeDCtx(zstd);
}

/* What the library says of a frame in code, in our words where they are better. */
pprofdelta_status pd_zstd_refuse_frame(size_t code, size_t pos, pprofdelta_error *err)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
        return pd_no_memory(err, "a zstd decompressor");
    case ZSTD_error_checksum_wrong:
        return PD_REFUSE(err, pos, "the zstd frame's content does not have the checksum it says");
    case ZSTD_error_dstSize_tooSmall:
        return PD_REFUSE(err, pos, "the zstd frame inflates to more than it can hold");
    case ZSTD_error_dictionary_wrong:
        return PD_REFUSE(err, pos, "the zstd frame needs a dictionary");
    default:
        return PD_REFUSE(err, pos, "the zstd frame is damaged: %s", ZSTD_getErrorName(code));
    }
}

/* Does it say how much it inflates to? */
static bool is_known(uint64_t content)
{
    return content != ZSTD_CONTENTSIZE_UNKNOWN && content != ZSTD_CONTENTSIZE_ERROR;
}

uint64_t pd_zstd_announced(const uint8_t *in, size_t len)
{
    uint64_t content = ZSTD_getFrameContentSize(in, len);
    return is_known(content) && content <= (uint64_t)len * MAX_RATIO ? content : 0;
}

/* Where the first block's header is, in a frame that has blocks. */
static size_t first_block(const uint8_t *frame)
{
    enum { DESCRIPTOR = 4, SINGLE_SEGMENT = 0x20 };
    static const uint8_t dictionary_id[] = {0, 1, 2, 4}, content_size[] = {0, 2, 4, 8};
    unsigned flags = frame[DESCRIPTOR];
    size_t window = flags & SINGLE_SEGMENT ? 0 : 1;
    size_t content = flags >> 6 || window ? content_size[flags >> 6] : 1;
    return DESCRIPTOR + 1 + window + dictionary_id[flags & 3] + content;
}

/* Has it a compressed block without a byte? There is none such, but the library takes it as empty
 * where it reads a piece at a time. The frame is whole by its block headers. */
static bool has_empty_block(const uint8_t *frame, size_t size)
{
    enum { HEADER = 3, LAST = 1, REPEATED = 1, COMPRESSED = 2 };
    if ((frame[0] & 0xf0) == 0x50) /* of no content */
        return false;
    for (size_t at = first_block(frame); at <= size && size - at >= HEADER;) {
        uint32_t header = frame[at] | (uint32_t)frame[at + 1] << 8 | (uint32_t)frame[at + 2] << 16;
        uint32_t kind = header >> 1 & 3, len = header >> 3;
        if (kind == COMPRESSED && !len)
            return true;
        at += HEADER + (kind == REPEATED ? 1 : len);
        if (header & LAST)
            return false;
    }
    return false;
}

pprofdelta_status pd_zstd_read_frame(const uint8_t *in, size_t len, size_t pos, size_t *size,
                                     uint64_t *most, pprofdelta_error *err)
{
    *size = ZSTD_findFrameCompressedSize(in + pos, len - pos);
    if (ZSTD_getErrorCode(*size) == ZSTD_error_srcSize_wrong)
        return PD_REFUSE(err, len, "the file is cut off in a zstd frame");
    if (ZSTD_isError(*size))
        return pd_zstd_refuse_frame(*size, pos, err);
    if (has_empty_block(in + pos, *size))
        return PD_REFUSE(err, pos, "the zstd frame is damaged: a compressed block is empty");
    uint64_t content = ZSTD_getFrameContentSize(in + pos, *size);
    *most = (uint64_t)*size * MAX_RATIO;
    if (!is_known(content))
        return PPROFDELTA_OK;
    if (content > *most)
        return PD_REFUSE(err, pos, "the zstd frame is too short for the %llu bytes it announces",
                         (unsigned long long)content);
    *most = content;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_zstd_read_end(const uint8_t *in, size_t len, size_t pos, pprofdelta_error *err)
{
    if (pos < len)
        return PD_REFUSE(err, pos, "bytes after the last zstd frame: %zu, the first 0x%02x",
                         len - pos, in[pos]);
    return PPROFDELTA_OK;
}

/* Inflates the frame in[pos..pos + size), whole by its block headers, behind what *into holds.
 * most: what it can hold. */
static pprofdelta_status read_frame(ZSTD_DCtx *zstd, pd_mem *mem, const uint8_t *in, size_t pos,
                                    size_t size, uint64_t most, pd_buffer *into,
                                    pprofdelta_error *err)
{
    uint64_t announced = is_known(ZSTD_getFrameContentSize(in + pos, size)) ? into->len + most : 0;
    pprofdelta_status status = pd_inflate_first_room(mem, into, announced, size, err);
    while (status == PPROFDELTA_OK) {
        /* Never more than a frame of this size can hold, whatever capacity earlier inputs left:
         * what is refused must not depend on them. */
        size_t room = into->cap - into->len;
        if (room > most)
            room = (size_t)most;
        size_t made = ZSTD_decompressDCtx(zstd, into->ptr + into->len, room, in + pos, size);
        if (!ZSTD_isError(made)) {
            into->len += made;
            return PPROFDELTA_OK;
        }
        /* More than a frame can hold is damage that the library did not see as such. */
        if (ZSTD_getErrorCode(made) != ZSTD_error_dstSize_tooSmall || room >= most)
            return pd_zstd_refuse_frame(made, pos, err);
        status = pd_inflate_more_room(mem, into, announced, pos, err);
    }
    return status;
}

pprofdelta_status pd_zstd_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  pd_buffer *into, pprofdelta_error *err)
{
    if (!inflater->zstd && !(inflater->zstd = ZSTD_createDCtx()))
        return pd_no_memory(err, "a zstd decompressor");
    size_t pos = 0;
    do {
        size_t size = 0;
        uint64_t most = 0;
        pprofdelta_status status = pd_zstd_read_frame(in, len, pos, &size, &most, err);
        if (status == PPROFDELTA_OK)
            status = read_frame(inflater->zstd, mem, in, pos, size, most, into, err);
        if (status != PPROFDELTA_OK)
            return status;
        pos += size;
    } while (pd_format_of(in + pos, len - pos) == PD_FORMAT_ZSTD);
    return pd_zstd_read_end(in, len, pos, err);
}
