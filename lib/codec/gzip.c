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
#include "codec/source.h"

#include <libdeflate.h>
#include <zlib.h>

enum { HEADER_LEN = 10, TRAILER_LEN = 8, METHOD_DEFLATE = 8 };
enum { FHCRC = 0x02, FEXTRA = 0x04, FNAME = 0x08, FCOMMENT = 0x10, FRESERVED = 0xe0 };

/* A little endian number of up to four bytes. */
static uint32_t load_number(const uint8_t *p, size_t len)
{
    return (uint32_t)pd_little_endian(p, len);
}

static pprofdelta_status cut_off(const pd_source *s, const char *where, pprofdelta_error *err)
{
    return PD_REFUSE(err, s->file.len, "the file is cut off in the %s", where);
}

static bool skip_bytes(pd_source *s, size_t n)
{
    if (n > s->file.len - s->pos)
        return false;
    s->pos += n;
    return true;
}

static bool skip_extra(pd_source *s)
{
    size_t at = s->pos;
    return skip_bytes(s, 2) && skip_bytes(s, load_number(s->file.ptr + at, 2));
}

static bool skip_string(pd_source *s)
{
    const uint8_t *from = s->file.ptr + s->pos;
    const uint8_t *end = memchr(from, 0, s->file.len - s->pos);
    return end && skip_bytes(s, (size_t)(end - from) + 1);
}

static pprofdelta_status read_header_crc(pd_source *s, size_t start, pprofdelta_error *err)
{
    size_t at = s->pos;
    if (!skip_bytes(s, 2))
        return cut_off(s, "gzip header", err);
    unsigned want = load_number(s->file.ptr + at, 2);
    unsigned got = libdeflate_crc32(0, s->file.ptr + start, at - start) & 0xffff;
    if (got != want)
        return PD_REFUSE(err, at, "the gzip header has the CRC-16 %04x and says %04x", got, want);
    return PPROFDELTA_OK;
}

/* Reads the header of a member, whose two magic bytes are known. */
static pprofdelta_status read_header(pd_source *s, pprofdelta_error *err)
{
    size_t start = s->pos;
    if (!skip_bytes(s, HEADER_LEN))
        return cut_off(s, "gzip header", err);
    unsigned method = s->file.ptr[start + 2], flags = s->file.ptr[start + 3];
    if (method != METHOD_DEFLATE)
        return PD_REFUSE(err, start + 2, "the gzip method is %u and not 8, deflate", method);
    if (flags & FRESERVED)
        return PD_REFUSE(err, start + 3, "reserved gzip flags are set: 0x%02x", flags & FRESERVED);

    if ((flags & FEXTRA && !skip_extra(s)) || (flags & FNAME && !skip_string(s)) ||
        (flags & FCOMMENT && !skip_string(s)))
        return cut_off(s, "gzip header", err);
    return flags & FHCRC ? read_header_crc(s, start, err) : PPROFDELTA_OK;
}

/* Reads the trailer of a member whose content has the CRC-32 `got` and this length. */
static pprofdelta_status read_trailer(pd_source *s, uint32_t got, uint64_t len,
                                      pprofdelta_error *err)
{
    size_t at = s->pos;
    if (!skip_bytes(s, TRAILER_LEN))
        return cut_off(s, "gzip trailer", err);
    unsigned crc = load_number(s->file.ptr + at, 4), size = load_number(s->file.ptr + at + 4, 4);
    if (got != crc)
        return PD_REFUSE(err, at, "the content has the CRC-32 %08x and the gzip trailer says %08x",
                         got, crc);
    if ((uint32_t)len != size)
        return PD_REFUSE(err, at + 4, "the content is %llu bytes long and the gzip trailer says %u",
                         (unsigned long long)len, size);
    return PPROFDELTA_OK;
}

/* The length in the file's last bytes: of all the content if there is one member. */
static uint64_t announced_size(pd_bytes file)
{
    enum { MAX_RATIO = 258 * 4 }; /* a copy of 258 bytes takes 2 bits */
    uint64_t size =
        file.len < HEADER_LEN + TRAILER_LEN ? 0 : load_number(file.ptr + file.len - 4, 4);
    return size > (uint64_t)file.len * MAX_RATIO ? 0 : size;
}

/* ---- the quick way ------------------------------------------------------------------------- */

/* Inflates the next member into the room of the window. */
static bool inflate_member(pd_source *s)
{
    size_t used = 0, made = 0;
    pd_buffer *w = &s->window;
    uint8_t *out = w->ptr + w->len;
    if (read_header(s, NULL) ||
        libdeflate_deflate_decompress_ex(s->gzip, s->file.ptr + s->pos, s->file.len - s->pos, out,
                                         w->cap - w->len, &used, &made) != LIBDEFLATE_SUCCESS)
        return false;
    s->pos += used;
    w->len += made;
    return !read_trailer(s, libdeflate_crc32(0, out, made), made, NULL);
}

static bool is_member_next(const pd_source *s)
{
    return pd_container_of(s->file.ptr + s->pos, s->file.len - s->pos) == PD_CONTAINER_GZIP;
}

static bool inflate_quick(pd_source *s)
{
    if (!s->gzip)
        s->gzip = libdeflate_alloc_decompressor();
    bool is_good = s->gzip && s->window.cap;
    while (is_good && s->pos < s->file.len)
        is_good = is_member_next(s) && inflate_member(s);
    if (!is_good)
        s->pos = s->window.len = 0;
    return is_good;
}

static void end_gzip(pd_source *s)
{
    pd_buffer_release(s->mem, &s->state);
    libdeflate_free_decompressor(s->gzip);
    s->gzip = NULL;
}

uint64_t pd_gzip_own(const pd_source *source)
{
    return source->gzip ? 11 << 10 : 0;
}

/* ---- the careful way ----------------------------------------------------------------------- */

/* zlib's inflate in memory that counts against the limit. zlib allocates its state and, later, the 32 KiB
 * of its window: about 40 KiB together. zlib-ng, which has zlib's interface, takes some more. */
typedef struct pd_zlib {
    z_stream z;
    size_t used; /* bytes of room that zlib has */
    _Alignas(max_align_t) uint8_t room[64 << 10];
} pd_zlib; /* nothing is to be given back */

static void *allocate_zlib(void *opaque, unsigned items, unsigned size)
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

static void release_zlib(void *opaque, void *ptr)
{
    (void)opaque;
    (void)ptr;
}

static pprofdelta_status begin_member(pd_source *s, pprofdelta_error *err)
{
    enum { RAW = -15 }; /* no header; a window of 2^15 bytes */
    PD_TRY(read_header(s, err));
    PD_TRY(pd_buffer_reserve(s->mem, &s->state, sizeof(pd_zlib), err));
    pd_zlib *zlib = (void *)s->state.ptr;
    zlib->used = 0;
    zlib->z = (z_stream){.zalloc = allocate_zlib, .zfree = release_zlib, .opaque = zlib};
    if (inflateInit2(&zlib->z, RAW) != Z_OK)
        return pd_no_memory(err, "a gzip decompressor");
    s->member_off = s->pos;
    s->member_len = 0;
    s->crc = 0;
    s->in_member = true;
    return PPROFDELTA_OK;
}

/* After the deflate data: another member, or the end. */
static pprofdelta_status end_member(pd_source *s, pprofdelta_error *err)
{
    PD_TRY(read_trailer(s, s->crc, s->member_len, err));
    s->in_member = false;
    s->is_done = !is_member_next(s);
    if (s->is_done && s->pos < s->file.len)
        return PD_REFUSE(err, s->pos, "bytes after the gzip trailer: %zu, the first 0x%02x",
                         s->file.len - s->pos, s->file.ptr[s->pos]);
    return PPROFDELTA_OK;
}

/* Inflates a part of the member. */
static pprofdelta_status read_part(pd_source *s, uint8_t *out, size_t room, size_t *made,
                                   pprofdelta_error *err)
{
    enum { MOST = 1 << 30 }; /* zlib counts in unsigned ints */
    pd_zlib *zlib = (void *)s->state.ptr;
    z_stream *z = &zlib->z;
    size_t left = s->file.len - s->pos;
    z->next_in = (uint8_t *)(uintptr_t)(s->file.ptr + s->pos); /* zlib does not write there */
    z->avail_in = (uInt)(left < MOST ? left : MOST);
    z->next_out = out;
    z->avail_out = (uInt)(room < MOST ? room : MOST);
    int code = inflate(z, Z_NO_FLUSH);
    *made = (size_t)(z->next_out - out);
    s->crc = libdeflate_crc32(s->crc, out, *made);
    s->member_len += *made;
    s->pos = (size_t)(z->next_in - s->file.ptr);
    switch (code) {
    case Z_OK:
        return PPROFDELTA_OK;
    case Z_STREAM_END:
        return end_member(s, err);
    case Z_BUF_ERROR: /* there is room, so input is missing */
        return PD_REFUSE(err, s->file.len, "the file is cut off in the deflate data");
    case Z_MEM_ERROR:
        return pd_no_memory(err, "a gzip decompressor");
    default: /* the last byte that zlib took shows the damage */
        return PD_REFUSE(err, s->pos - (s->pos > s->member_off), "the deflate data is damaged: %s",
                         z->msg);
    }
}

static pprofdelta_status inflate_some(pd_source *s, uint8_t *out, size_t room, size_t *made,
                                      pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && !s->is_done && *made < room) {
        size_t some = 0;
        if (!s->in_member)
            status = begin_member(s, err);
        if (!status)
            status = read_part(s, out + *made, room - *made, &some, err);
        *made += some;
    }
    return status;
}

const pd_decoder pd_gzip_decoder = {"gzip", inflate_some, end_gzip, announced_size, inflate_quick};
