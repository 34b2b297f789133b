/* gzip (RFC 1952): members one behind the other, and nothing else.
 *
 *     1f 8b | method | flags | time | extra, system        10 bytes
 *     [extra field] [name 0] [comment 0] [CRC-16]          as the flags tell
 *     deflate data                                         ends by itself
 *     CRC-32 | length modulo 2^32                          8 bytes, of the content
 *
 * Header and trailer are read here, for both ways. Only the deflate data is left to a library: to zlib,
 * which stops at the byte that is wrong and has words for it, or to libdeflate, which is twice as fast
 * and knows only "bad data". */
#include "codec/inflate.h"

#include <libdeflate.h>
#include <zlib.h>

enum { HEADER_LEN = 10, TRAILER_LEN = 8, METHOD_DEFLATE = 8 };
enum { FHCRC = 0x02, FEXTRA = 0x04, FNAME = 0x08, FCOMMENT = 0x10, FRESERVED = 0xe0 };

/* Bytes of a gzip file, and how far they are read. */
typedef struct reading {
    const uint8_t *in;
    size_t len, pos;
} reading;

/* A little endian number of up to four bytes. */
static uint32_t load(const uint8_t *p, size_t len)
{
    return (uint32_t)pd_little_endian(p, len);
}

static pprofdelta_status cut_off(const reading *src, const char *where, pprofdelta_error *err)
{
    return PD_REFUSE(err, src->len, "the file is cut off in the %s", where);
}

static bool skip(reading *src, size_t n)
{
    if (n > src->len - src->pos)
        return false;
    src->pos += n;
    return true;
}

static bool skip_extra(reading *src)
{
    size_t at = src->pos;
    return skip(src, 2) && skip(src, load(src->in + at, 2));
}

static bool skip_string(reading *src)
{
    const uint8_t *from = src->in + src->pos;
    const uint8_t *end = memchr(from, 0, src->len - src->pos);
    return end && skip(src, (size_t)(end - from) + 1);
}

static pprofdelta_status read_header_crc(reading *src, size_t start, pprofdelta_error *err)
{
    size_t at = src->pos;
    if (!skip(src, 2))
        return cut_off(src, "gzip header", err);
    unsigned want = load(src->in + at, 2);
    unsigned got = libdeflate_crc32(0, src->in + start, at - start) & 0xffff;
    if (got != want)
        return PD_REFUSE(err, at, "the gzip header has the CRC-16 %04x and says %04x", got, want);
    return PPROFDELTA_OK;
}

/* Reads the header of a member, whose two magic bytes are known. */
static pprofdelta_status read_header(reading *src, pprofdelta_error *err)
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

/* Reads the trailer of a member whose content has the CRC-32 `got` and this length. */
static pprofdelta_status read_trailer(reading *src, uint32_t got, uint64_t len,
                                      pprofdelta_error *err)
{
    size_t at = src->pos;
    if (!skip(src, TRAILER_LEN))
        return cut_off(src, "gzip trailer", err);
    unsigned crc = load(src->in + at, 4), size = load(src->in + at + 4, 4);
    if (got != crc)
        return PD_REFUSE(err, at, "the content has the CRC-32 %08x and the gzip trailer says %08x",
                         got, crc);
    if ((uint32_t)len != size)
        return PD_REFUSE(err, at + 4, "the content is %llu bytes long and the gzip trailer says %u",
                         (unsigned long long)len, size);
    return PPROFDELTA_OK;
}

/* The length in the file's last bytes: of all the content if there is one member. */
static uint64_t announced(pd_bytes file)
{
    enum { MAX_RATIO = 258 * 4 }; /* a copy of 258 bytes takes 2 bits */
    uint64_t size = file.len < HEADER_LEN + TRAILER_LEN ? 0 : load(file.ptr + file.len - 4, 4);
    return size > (uint64_t)file.len * MAX_RATIO ? 0 : size;
}

/* ---- the quick way ------------------------------------------------------------------------- */

/* Inflates the next member into the room behind into->len. */
static bool inflate_member(struct libdeflate_decompressor *gzip, reading *src, pd_buffer *into)
{
    size_t used = 0, made = 0;
    uint8_t *out = into->ptr + into->len;
    if (read_header(src, NULL) ||
        libdeflate_deflate_decompress_ex(gzip, src->in + src->pos, src->len - src->pos, out,
                                         into->cap - into->len, &used, &made) != LIBDEFLATE_SUCCESS)
        return false;
    src->pos += used;
    into->len += made;
    return !read_trailer(src, libdeflate_crc32(0, out, made), made, NULL);
}

static bool inflate_quick(pd_inflater *u, pd_buffer *into)
{
    reading src = {u->in.ptr, u->in.len, 0};
    if (!u->gzip)
        u->gzip = libdeflate_alloc_decompressor();
    bool is_good = u->gzip && into->cap;
    into->len = 0;
    while (is_good && src.pos < src.len)
        is_good = pd_container_of(src.in + src.pos, src.len - src.pos) == PD_CONTAINER_GZIP &&
                  inflate_member(u->gzip, &src, into);
    if (!is_good)
        into->len = 0;
    return is_good;
}

static void end(pd_inflater *u)
{
    pd_buffer_release(u->mem, &u->state);
    libdeflate_free_decompressor(u->gzip);
    u->gzip = NULL;
}

uint64_t pd_gzip_own(const pd_inflater *inflater)
{
    return inflater->gzip ? 11 << 10 : 0;
}

/* ---- the careful way ----------------------------------------------------------------------- */

/* zlib's inflate in memory that counts against the limit. zlib allocates its state and, later, the 32 KiB
 * of its window: about 40 KiB together. zlib-ng, which has zlib's interface, takes some more. */
typedef struct pd_zlib {
    z_stream z;
    size_t used; /* bytes of room that zlib has */
    _Alignas(max_align_t) uint8_t room[64 << 10];
} pd_zlib; /* nothing is to be given back */

static void *allocate(void *opaque, unsigned items, unsigned size)
{
    enum { ALIGN = 64 }; /* zlib-ng aligns its window to as much by itself */
    pd_zlib *zlib = opaque;
    size_t need = ((size_t)items * size + ALIGN - 1) / ALIGN * ALIGN;
    if (need > sizeof zlib->room - zlib->used)
        return NULL;
    void *ptr = zlib->room + zlib->used;
    zlib->used += need;
    return ptr;
}

static void release(void *opaque, void *ptr)
{
    (void)opaque;
    (void)ptr;
}

static pprofdelta_status begin_member(pd_inflater *u, pprofdelta_error *err)
{
    enum { RAW = -15 }; /* no header; a window of 2^15 bytes */
    reading src = {u->in.ptr, u->in.len, u->pos};
    PD_TRY(read_header(&src, err));
    PD_TRY(pd_mem_reserve(u->mem, &u->state.ptr, &u->state.cap, sizeof(pd_zlib), 1, err));
    pd_zlib *zlib = (void *)u->state.ptr;
    zlib->used = 0;
    zlib->z = (z_stream){.zalloc = allocate, .zfree = release, .opaque = zlib};
    if (inflateInit2(&zlib->z, RAW) != Z_OK)
        return pd_no_memory(err, "a gzip decompressor");
    u->pos = u->member_off = src.pos;
    u->member_len = 0;
    u->crc = 0;
    u->in_member = true;
    return PPROFDELTA_OK;
}

/* After the deflate data: another member, or the end. */
static pprofdelta_status end_member(pd_inflater *u, pprofdelta_error *err)
{
    reading src = {u->in.ptr, u->in.len, u->pos};
    PD_TRY(read_trailer(&src, u->crc, u->member_len, err));
    u->pos = src.pos;
    u->in_member = false;
    if (pd_container_of(src.in + src.pos, src.len - src.pos) == PD_CONTAINER_GZIP)
        return PPROFDELTA_OK;
    if (src.pos < src.len)
        return PD_REFUSE(err, src.pos, "bytes after the gzip trailer: %zu, the first 0x%02x",
                         src.len - src.pos, src.in[src.pos]);
    u->is_done = true;
    return PPROFDELTA_OK;
}

/* Inflates a part of the member. */
static pprofdelta_status read_part(pd_inflater *u, uint8_t *out, size_t room, size_t *made,
                                   pprofdelta_error *err)
{
    enum { MOST = 1 << 30 }; /* zlib counts in unsigned ints */
    pd_zlib *zlib = (void *)u->state.ptr;
    z_stream *z = &zlib->z;
    size_t left = u->in.len - u->pos;
    z->next_in = (uint8_t *)(uintptr_t)(u->in.ptr + u->pos); /* zlib does not write there */
    z->avail_in = (uInt)(left < MOST ? left : MOST);
    z->next_out = out;
    z->avail_out = (uInt)(room < MOST ? room : MOST);
    int code = inflate(z, Z_NO_FLUSH);
    *made = (size_t)(z->next_out - out);
    u->crc = libdeflate_crc32(u->crc, out, *made);
    u->member_len += *made;
    u->pos = (size_t)(z->next_in - u->in.ptr);
    switch (code) {
    case Z_OK:
        return PPROFDELTA_OK;
    case Z_STREAM_END:
        return end_member(u, err);
    case Z_BUF_ERROR: /* there is room, so input is missing */
        return PD_REFUSE(err, u->in.len, "the file is cut off in the deflate data");
    case Z_MEM_ERROR:
        return pd_no_memory(err, "a gzip decompressor");
    default: /* the last byte that zlib took shows the damage */
        return PD_REFUSE(err, u->pos - (u->pos > u->member_off), "the deflate data is damaged: %s",
                         z->msg);
    }
}

static pprofdelta_status inflate_some(pd_inflater *u, uint8_t *out, size_t room, size_t *made,
                                      pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && !u->is_done && *made < room) {
        size_t some = 0;
        if (!u->in_member)
            status = begin_member(u, err);
        if (!status)
            status = read_part(u, out + *made, room - *made, &some, err);
        *made += some;
    }
    return status;
}

const pd_decoder pd_gzip_decoder = {"gzip", inflate_some, end, announced, inflate_quick, NULL};
