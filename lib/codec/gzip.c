/* gzip (RFC 1952): members one behind the other, and nothing else.
 *
 *     1f 8b | method | flags | time | extra, system        10 bytes
 *     [extra field] [name 0] [comment 0] [CRC-16]          as the flags tell
 *     deflate data                                         ends by itself
 *     CRC-32 | length modulo 2^32                          8 bytes, of the content
 *
 * Header and trailer are read here and only the deflate data is left to libdeflate, because its own
 * reading of gzip has one answer, "bad data", for everything that can be wrong. Its answer for the
 * deflate data itself is no better; pd_damage_find finds the words for that.
 *
 * libdeflate and the library that inflates streams each accept a little that the other refuses: a
 * Huffman code with gaps, or a code that no symbol has. No compressor writes such data, but damage
 * makes it, now and then without an effect on the content. So that a file is good or not, whichever
 * way it is read, what one library refuses is given to the other: here, and in stream.c. The CRC
 * decides in any case. */
#include "codec/gzip.h"

#include "codec/damage.h"
#include "codec/unpack.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <string.h>

enum { HEADER_LEN = 10, TRAILER_LEN = 8, METHOD_DEFLATE = 8 };
enum { FHCRC = 0x02, FEXTRA = 0x04, FNAME = 0x08, FCOMMENT = 0x10, FRESERVED = 0xe0 };

/* The most that a byte of deflate data inflates to: a copy of 258 bytes takes 2 bits. */
enum { MAX_RATIO = 258 * 4 };

typedef pd_gzip_source source;

static uint32_t load16(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t load32(const uint8_t *p)
{
    return load16(p) | load16(p + 2) << 16;
}

static pprofdelta_status cut_off(const source *src, const char *where, pprofdelta_error *err)
{
    return PD_REFUSE(err, src->len, "the file is cut off in the %s", where);
}

static bool skip(source *src, size_t n)
{
    if (n > src->len - src->pos)
        return false;
    src->pos += n;
    return true;
}

static bool skip_extra(source *src)
{
    size_t at = src->pos;
    return skip(src, 2) && skip(src, load16(src->in + at));
}

static bool skip_string(source *src)
{
    const uint8_t *from = src->in + src->pos;
    const uint8_t *end = memchr(from, 0, src->len - src->pos);
    return end && skip(src, (size_t)(end - from) + 1);
}

static pprofdelta_status read_header_crc(source *src, size_t start, pprofdelta_error *err)
{
    size_t at = src->pos;
    if (!skip(src, 2))
        return cut_off(src, "gzip header", err);
    unsigned want = load16(src->in + at);
    unsigned got = libdeflate_crc32(0, src->in + start, at - start) & 0xffff;
    if (got != want)
        return PD_REFUSE(err, at, "the gzip header has the CRC-16 %04x and says %04x", got, want);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_gzip_read_header(source *src, pprofdelta_error *err)
{
    size_t start = src->pos;
    if (!skip(src, HEADER_LEN))
        return cut_off(src, "gzip header", err);
    unsigned method = src->in[start + 2], flags = src->in[start + 3];
    if (method != METHOD_DEFLATE)
        return PD_REFUSE(err, start + 2, "the gzip method is %u and not 8, deflate", method);
    if (flags & FRESERVED)
        return PD_REFUSE(err, start + 3, "reserved gzip flags are set: 0x%02x", flags & FRESERVED);

    if ((flags & FEXTRA && !skip_extra(src)) || (flags & FNAME && !skip_string(src)) ||
        (flags & FCOMMENT && !skip_string(src)))
        return cut_off(src, "gzip header", err);
    return flags & FHCRC ? read_header_crc(src, start, err) : PPROFDELTA_OK;
}

pprofdelta_status pd_gzip_explain(const source *src, uint64_t *made, pprofdelta_error *err)
{
    pd_damage damage = pd_damage_find(src->in + src->pos, src->len - src->pos);
    *made = damage.made;
    switch (damage.kind) {
    case PD_DAMAGE_NO_MEMORY:
        return pd_no_memory(err, "a gzip decompressor");
    case PD_DAMAGE_CUT_OFF:
        return cut_off(src, "deflate data", err);
    case PD_DAMAGE_BAD:
        return PD_REFUSE(err, src->pos + damage.at, "the deflate data is damaged: %s", damage.why);
    default:
        return PPROFDELTA_E_INFLATE;
    }
}

static pprofdelta_status explain(const source *body, pprofdelta_error *err)
{
    uint64_t made;
    return pd_gzip_explain(body, &made, err);
}

/* Appends what the deflate data at src->pos inflates to. */
static pprofdelta_status read_body(source *src, struct libdeflate_decompressor *gzip,
                                   uint64_t announced, pd_mem *mem, pd_buffer *into,
                                   pprofdelta_error *err)
{
    for (;;) {
        size_t used, made;
        enum libdeflate_result result = libdeflate_deflate_decompress_ex(
            gzip, src->in + src->pos, src->len - src->pos, into->ptr + into->len,
            into->cap - into->len, &used, &made);
        if (result == LIBDEFLATE_SUCCESS) {
            src->pos += used;
            into->len += made;
            return PPROFDELTA_OK;
        }
        if (result != LIBDEFLATE_INSUFFICIENT_SPACE)
            return PD_REFUSE(err, src->pos, "the deflate data is damaged");
        pprofdelta_status status = pd_inflate_more_room(mem, into, announced, src->pos, err);
        if (status != PPROFDELTA_OK)
            return status;
    }
}

pprofdelta_status pd_gzip_read_trailer(source *src, uint32_t got, uint64_t len,
                                       pprofdelta_error *err)
{
    size_t at = src->pos;
    if (!skip(src, TRAILER_LEN))
        return cut_off(src, "gzip trailer", err);
    unsigned crc = load32(src->in + at), size = load32(src->in + at + 4);
    if (got != crc)
        return PD_REFUSE(err, at, "the content has the CRC-32 %08x and the gzip trailer says %08x",
                         got, crc);
    if ((uint32_t)len != size)
        return PD_REFUSE(err, at + 4, "the content is %llu bytes long and the gzip trailer says %u",
                         (unsigned long long)len, size);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_gzip_read_end(const source *src, pprofdelta_error *err)
{
    if (src->pos < src->len)
        return PD_REFUSE(err, src->pos, "bytes after the gzip trailer: %zu, the first 0x%02x",
                         src->len - src->pos, src->in[src->pos]);
    return PPROFDELTA_OK;
}

static pprofdelta_status read_member(source *src, struct libdeflate_decompressor *gzip,
                                     uint64_t announced, pd_mem *mem, pd_buffer *into,
                                     pprofdelta_error *err)
{
    size_t before = into->len;
    pprofdelta_status status = pd_gzip_read_header(src, err);
    if (status != PPROFDELTA_OK)
        return status;
    source body = *src;
    status = read_body(src, gzip, announced, mem, into, err);
    if (status == PPROFDELTA_OK)
        status =
            pd_gzip_read_trailer(src, libdeflate_crc32(0, into->ptr + before, into->len - before),
                                 into->len - before, err);
    return status == PPROFDELTA_E_INFLATE ? explain(&body, err) : status;
}

/* The length in the file's last bytes: of all the content where there is one member, of less than
 * that where there are more. A length that cannot be is none. */
uint64_t pd_gzip_announced(const uint8_t *in, size_t len)
{
    uint64_t size = len < HEADER_LEN + TRAILER_LEN ? 0 : load32(in + len - 4);
    return size > (uint64_t)len * MAX_RATIO ? 0 : size;
}

void pd_gzip_free_decompressor(void *gzip)
{
    libdeflate_free_decompressor(gzip);
}

pprofdelta_status pd_gzip_by_libdeflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in,
                                        size_t len, pd_buffer *into, pprofdelta_error *err)
{
    if (!inflater->gzip && !(inflater->gzip = libdeflate_alloc_decompressor()))
        return pd_no_memory(err, "a gzip decompressor");
    source src = {in, len, 0};
    uint64_t announced = pd_gzip_announced(in, len);
    pprofdelta_status status = pd_inflate_first_room(mem, into, announced, len, err);
    do {
        if (status == PPROFDELTA_OK)
            status = read_member(&src, inflater->gzip, announced, mem, into, err);
        if (status != PPROFDELTA_OK)
            return status;
    } while (pd_format_of(in + src.pos, len - src.pos) == PD_FORMAT_GZIP);
    return pd_gzip_read_end(&src, err);
}

/* The whole file by the library that streams are inflated by. */
static pprofdelta_status inflate_as_stream(const pd_inflate_backend *backend, pd_mem *mem,
                                           const uint8_t *in, size_t len, pd_buffer *into,
                                           pprofdelta_error *err)
{
    pd_unpacker u = {.backend = backend};
    into->len = 0;
    pprofdelta_status status = pd_unpack_begin(&u, mem, in, len, err);
    while (!status && !u.is_done) {
        size_t made = 0;
        if (into->len == into->cap)
            status = pd_inflate_more_room(mem, into, 0, u.member_off, err);
        if (!status)
            status = pd_unpack_some(&u, into->ptr + into->len, into->cap - into->len, &made, err);
        into->len += made;
    }
    pd_unpack_end(&u);
    return status;
}

pprofdelta_status pd_gzip_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                                  pd_buffer *into, pprofdelta_error *err)
{
    pprofdelta_error other;
    pprofdelta_status status = pd_gzip_by_libdeflate(inflater, mem, in, len, into, err);
    if (status != PPROFDELTA_E_INFLATE)
        return status;
    pprofdelta_status again = inflate_as_stream(inflater->backend, mem, in, len, into, &other);
    if (again == PPROFDELTA_E_INFLATE && err)
        *err = other;
    return again == PPROFDELTA_OK ? PPROFDELTA_OK : status;
}
