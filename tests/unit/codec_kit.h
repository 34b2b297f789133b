/* What containers are tested with: an allocator that counts and fails, content, and files made by
 * hand. */
#ifndef PD_TESTS_CODEC_KIT_H
#define PD_TESTS_CODEC_KIT_H

#include "../support/test.h"

#include "codec/compress.h"
#include "codec/source.h"
#include "run.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#define LIMIT (UINT64_C(64) << 20)

/* Everything that one test inflates and deflates with. */
typedef struct kit {
    tracker memory;
    pd_mem mem;
    pd_source source;
    pd_compressor compressor;
    pd_buffer sunk;
    pprofdelta_error err;
    unsigned long writes;
    bool refuse;
} kit;

static inline void kit_init(kit *k, uint64_t limit)
{
    *k = (kit){.memory = {.is_alone = true}};
    pprofdelta_allocator allocator = tracker_allocator(&k->memory);
    pd_mem_init(&k->mem, &allocator, limit);
}

static inline void kit_fini(kit *k)
{
    pd_source_end(&k->source);
    pd_compressor_fini(&k->compressor, &k->mem);
    CHECK(k->mem.used == 0 && k->memory.live == 0);
    free(k->sunk.ptr);
}

static inline void append(pd_buffer *b, const void *data, size_t len)
{
    if (!len)
        return;
    if (len > b->cap - b->len) {
        b->cap = (b->len + len) * 2;
        b->ptr = realloc(b->ptr, b->cap);
        if (!b->ptr)
            abort();
    }
    memcpy(b->ptr + b->len, data, len);
    b->len += len;
}

static inline void append_byte(pd_buffer *b, unsigned byte)
{
    append(b, &(uint8_t){(uint8_t)byte}, 1);
}

static inline void append32(pd_buffer *b, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        append_byte(b, value >> 8 * i & 0xff);
}

static inline int sink_write(void *cookie, const void *data, size_t len)
{
    kit *k = cookie;
    k->writes++;
    if (k->refuse)
        return 1;
    append(&k->sunk, data, len);
    return 0;
}

static inline pprofdelta_status deflate_into_sunk(kit *k, const uint8_t *in, size_t len,
                                                  uint64_t *written)
{
    pprofdelta_sink sink = {sink_write, k};
    k->sunk.len = 0;
    return pd_compress(&k->compressor, &k->mem, (pd_bytes){in, len}, &sink, written, &k->err);
}

static inline pprofdelta_status inflate_with(kit *k, pd_buffer file, pd_bytes *out)
{
    pprofdelta_status status =
        pd_source_open(&k->source, &k->mem, (pd_bytes){file.ptr, file.len}, 0, &k->err);
    if (!status)
        *out = k->source.whole;
    return status;
}

/* Bytes that compress about as a profile does, the same ones for the same seed. */
static inline void fill(uint8_t *p, size_t len, uint32_t seed)
{
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        bool again = i >= 40 && seed >> 29 > 2;
        p[i] = again ? p[i - 40] : (uint8_t)(seed >> 16 & 0x3f);
    }
}

static inline pd_buffer content_of(size_t len, uint32_t seed)
{
    pd_buffer b = {malloc(len + 1), len, len + 1};
    if (!b.ptr)
        abort();
    fill(b.ptr, len, seed);
    return b;
}

/* Deflate data of level 0 (stored) to 12. */
static inline void append_deflated(pd_buffer *b, pd_buffer content, int level)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    size_t bound = libdeflate_deflate_compress_bound(c, content.len);
    uint8_t *packed = malloc(bound);
    if (!c || !packed)
        abort();
    append(b, packed, libdeflate_deflate_compress(c, content.ptr, content.len, packed, bound));
    free(packed);
    libdeflate_free_compressor(c);
}

enum { FTEXT = 1, FHCRC = 2, FEXTRA = 4, FNAME = 8, FCOMMENT = 16 };

static inline void append_header(pd_buffer *b, unsigned flags, uint16_t crc_error)
{
    size_t start = b->len;
    append(b, "\x1f\x8b\x08", 3);
    append_byte(b, flags);
    append(b, "\1\2\3\4\0\3", 6);
    if (flags & FEXTRA)
        append(b, "\5\0extra", 7);
    if (flags & FNAME)
        append(b, "name", 5);
    if (flags & FCOMMENT)
        append(b, "a comment", 10);
    if (flags & FHCRC) {
        uint32_t crc = libdeflate_crc32(0, b->ptr + start, b->len - start) ^ crc_error;
        append_byte(b, crc & 0xff);
        append_byte(b, crc >> 8 & 0xff);
    }
}

static inline void append_member(pd_buffer *b, pd_buffer content, unsigned flags)
{
    append_header(b, flags, 0);
    append_deflated(b, content, 6);
    append32(b, libdeflate_crc32(0, content.ptr, content.len));
    append32(b, (uint32_t)content.len);
}

static inline void append_frame(pd_buffer *b, pd_buffer content, bool with_size)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(content.len);
    uint8_t *packed = malloc(bound);
    if (!c || !packed)
        abort();
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, with_size);
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    append(b, packed, ZSTD_compress2(c, packed, bound, content.ptr, content.len));
    free(packed);
    ZSTD_freeCCtx(c);
}

static inline void append_skippable(pd_buffer *b)
{
    append(b, "\x5a\x2a\x4d\x18\3\0\0\0abc", 11);
}

/* A copy of just the size, so that a sanitizer sees a read behind it. */
static inline pd_buffer prefix_of(pd_buffer file, size_t len)
{
    if (len == 0 || len > file.len || !file.ptr)
        abort();
    pd_buffer b = {malloc(len), len, len};
    if (!b.ptr)
        abort();
    memcpy(b.ptr, file.ptr, len);
    return b;
}

static inline bool equal(pd_bytes got, const uint8_t *want, size_t len)
{
    return got.len == len && (len == 0 || memcmp(got.ptr, want, len) == 0);
}

/* Expects E_INFLATE with these words at this offset, and *out untouched. */
static inline void check_refused(pd_buffer file, const char *words, size_t offset)
{
    kit k;
    kit_init(&k, LIMIT);
    pd_bytes out = {(const uint8_t *)"untouched", 9};
    pprofdelta_status status = inflate_with(&k, file, &out);
    CHECK_MSG(status == PPROFDELTA_E_INFLATE, "status %d for \"%s\"", (int)status, words);
    CHECK(k.err.status == PPROFDELTA_E_INFLATE);
    CHECK_MSG(strstr(k.err.text, words), "\"%s\" is not in \"%s\"", words, k.err.text);
    CHECK_MSG(k.err.offset == offset, "%s: %llu, not %zu", words, (unsigned long long)k.err.offset,
              offset);
    CHECK(k.err.stage && strcmp(k.err.stage, "inflate") == 0);
    CHECK(k.err.element == PPROFDELTA_NOWHERE && !k.err.field[0]);
    CHECK(out.len == 9 && memcmp(out.ptr, "untouched", 9) == 0);
    kit_fini(&k);
}

static inline void check_inflates_to(pd_buffer file, const uint8_t *want, size_t len)
{
    kit k;
    kit_init(&k, LIMIT);
    pd_bytes out = {0};
    pprofdelta_status status = inflate_with(&k, file, &out);
    CHECK_MSG(status == PPROFDELTA_OK, "status %d: %s", (int)status, k.err.text);
    if (status == PPROFDELTA_OK)
        CHECK(equal(out, want, len));
    kit_fini(&k);
}

#endif
