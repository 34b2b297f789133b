/* The front of the inflaters: which format is it, who inflates it, and how much room the output
 * gets.
 *
 * Both libraries underneath are at their fastest when they fill one buffer in one call, but neither
 * can go on where it ran out of room: the buffer grows and the member or frame is inflated again.
 * Doubling keeps all the attempts together below twice the last one. A claim about the size saves
 * attempts; it is believed only as far as the input is likely to, or has been seen to, expand. */
#include "codec/inflate.h"

#include <stdbool.h>

/* Profiles shrink 3 to 10 times. A claim within TRUSTED_RATIO is allocated at once. */
enum { USUAL_RATIO = 4, TRUSTED_RATIO = 32, LEAST_ROOM = 4096 };

static bool is_gzip(const uint8_t *in, size_t len)
{
    return len >= 2 && in[0] == 0x1f && in[1] == 0x8b;
}

/* A frame, or one that carries no content and is to be skipped. Neither can begin a profile: among
 * the bytes is a field of profile.proto with a wire type that it does not have. */
static bool is_zstd(const uint8_t *in, size_t len)
{
    const uint32_t FRAME = 0xfd2fb528, SKIPPED = 0x184d2a50, SKIPPED_MASK = 0xfffffff0;
    if (len < 4)
        return false;
    uint32_t magic = in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
    return magic == FRAME || (magic & SKIPPED_MASK) == SKIPPED;
}

pd_format pd_format_of(const uint8_t *in, size_t len)
{
    if (is_gzip(in, len))
        return PD_FORMAT_GZIP;
    return is_zstd(in, len) ? PD_FORMAT_ZSTD : PD_FORMAT_PLAIN;
}

const char *pd_format_name(pd_format format)
{
    static const char *const name[] = {
        [PD_FORMAT_PLAIN] = "plain", [PD_FORMAT_GZIP] = "gzip", [PD_FORMAT_ZSTD] = "zstd"};
    return name[format];
}

void pd_inflater_fini(pd_inflater *inflater)
{
    pd_gzip_free_decompressor(inflater->gzip);
    pd_zstd_free_decompressor(inflater->zstd);
    *inflater = (pd_inflater){0};
}

pprofdelta_status pd_inflate(pd_inflater *inflater, pd_mem *mem, const uint8_t *in, size_t len,
                             pd_buffer *into, pd_bytes *out, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    pd_format format = pd_format_of(in, len);
    into->len = 0;
    if (format == PD_FORMAT_GZIP)
        status = pd_gzip_inflate(inflater, mem, in, len, into, err);
    else if (format == PD_FORMAT_ZSTD)
        status = pd_zstd_inflate(inflater, mem, in, len, into, err);
    if (status == PPROFDELTA_OK)
        *out = format == PD_FORMAT_PLAIN ? (pd_bytes){in, len} : (pd_bytes){into->ptr, into->len};
    return status;
}

uint64_t pd_inflate_announced(const uint8_t *in, size_t len)
{
    switch (pd_format_of(in, len)) {
    case PD_FORMAT_GZIP:
        return pd_gzip_announced(in, len);
    case PD_FORMAT_ZSTD:
        return pd_zstd_announced(in, len);
    default:
        return len;
    }
}

/* The capacity that *into may grow to. */
static uint64_t reach(const pd_mem *mem, const pd_buffer *into)
{
    uint64_t most = pd_mem_left(mem);
    return most < PTRDIFF_MAX - into->cap ? into->cap + most : PTRDIFF_MAX;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* To exactly `need` where arrays grow by little: the limit may have room for no more. */
static pprofdelta_status grow(pd_mem *mem, pd_buffer *into, uint64_t need, pprofdelta_error *err)
{
    if (mem->is_tight)
        return pd_mem_reserve(mem, &into->ptr, &into->cap, (size_t)need, 1, err);
    return pd_mem_grow(mem, &into->ptr, &into->cap, (size_t)need, 1, err);
}

pprofdelta_status pd_inflate_first_room(pd_mem *mem, pd_buffer *into, uint64_t announced,
                                        size_t packed, pprofdelta_error *err)
{
    uint64_t claim = announced > into->len ? announced - into->len : (uint64_t)packed * USUAL_RATIO;
    uint64_t room = smaller(claim, (uint64_t)packed * TRUSTED_RATIO);
    uint64_t need = larger(smaller(into->len + room, reach(mem, into)), 1);
    return grow(mem, into, need, err);
}

pprofdelta_status pd_inflate_too_large(const pd_mem *mem, bool says_so, size_t offset,
                                       pprofdelta_error *err)
{
    const char *does = says_so ? "says that it inflates" : "inflates";
    if (mem->limit == PD_MEM_MOST)
        return pd_because(err, pd_mem_reason(mem),
                          pd_fail(err, PPROFDELTA_E_LIMIT, "inflate", NULL, PPROFDELTA_NOWHERE,
                                  offset, "the input %s to more than the %llu bytes that %s", does,
                                  (unsigned long long)mem->limit, pd_mem_who_allows(mem)));
    return pd_because(
        err, pd_mem_reason(mem),
        pd_fail(err, PPROFDELTA_E_LIMIT, "inflate", NULL, PPROFDELTA_NOWHERE, offset,
                "the input %s to more than the %llu bytes that max_memory leaves room for", does,
                (unsigned long long)mem->limit));
}

pprofdelta_status pd_inflate_more_room(pd_mem *mem, pd_buffer *into, uint64_t announced,
                                       size_t offset, pprofdelta_error *err)
{
    uint64_t most = reach(mem, into);
    if (announced > most || into->cap >= most)
        return pd_inflate_too_large(mem, announced > most, offset, err);
    uint64_t want = larger(larger((uint64_t)into->cap * 2, announced), LEAST_ROOM);
    return grow(mem, into, smaller(want, most), err);
}
