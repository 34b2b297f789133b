/* The containers: what goes in comes out, whatever the format, the level and the pieces; a wrong
 * checksum is found; memory stays within the limit whatever a file promises. testdata/hostile has
 * files with every damage and lie; source_test.c cuts files off anywhere and flips their bits. */
#include "../support/test.h"

#include "codec/compress.h"
#include "codec/source.h"
#include "run.h"

#include <libdeflate.h>
#include <zstd.h>

#define LIMIT (UINT64_C(64) << 20)

/* Everything that one test inflates and deflates with. */
typedef struct kit {
    tracker memory;
    pd_mem mem;
    pd_source source;
    pd_compressor compressor;
    pprofdelta_error err;
} kit;

static void kit_init(kit *k, uint64_t limit)
{
    *k = (kit){.memory = {.is_alone = true}};
    pprofdelta_allocator allocator = tracker_allocator(&k->memory);
    pd_mem_init(&k->mem, &allocator, limit);
}

static void kit_fini(kit *k)
{
    pd_source_end(&k->source);
    pd_compressor_fini(&k->compressor, &k->mem);
    CHECK(k->mem.used == 0 && k->memory.live == 0);
}

static buf deflate_with(kit *k, buf in)
{
    collector c = {.bytes = buf_begin(in.arena)};
    pprofdelta_sink sink = collector_sink(&c);
    uint64_t written = 0;
    CHECK(!pd_compress(&k->compressor, &k->mem, (pd_bytes){in.ptr, in.len}, &sink, &written, NULL));
    CHECK(c.calls == 1 && written == c.bytes.len);
    return c.bytes;
}

static pprofdelta_status inflate_with(kit *k, buf file, pd_bytes *out)
{
    pprofdelta_status status =
        pd_source_open(&k->source, &k->mem, (pd_bytes){file.ptr, file.len}, 0, &k->err);
    if (!status)
        *out = k->source.whole;
    return status;
}

/* Bytes that compress about as a profile does, the same ones for the same seed. */
static buf content_of(arena *a, size_t len, uint32_t seed)
{
    buf b = {.arena = a, .ptr = arena_alloc(a, len), .len = len, .cap = len};
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        bool again = i >= 40 && seed >> 29 > 2;
        b.ptr[i] = again ? b.ptr[i - 40] : (uint8_t)(seed >> 16 & 0x3f);
    }
    return b;
}

enum { FTEXT = 1, FHCRC = 2, FEXTRA = 4, FNAME = 8, FCOMMENT = 16 };

static void append_header(buf *b, unsigned flags)
{
    size_t start = b->len;
    const uint8_t head[] = {0x1f, 0x8b, 8, (uint8_t)flags, 1, 2, 3, 4, 0, 3};
    buf_add(b, head, sizeof head);
    if (flags & FEXTRA)
        buf_add(b, "\5\0extra", 7);
    if (flags & FNAME)
        buf_add(b, "name", 5);
    if (flags & FCOMMENT)
        buf_add(b, "a comment", 10);
    if (flags & FHCRC) {
        uint32_t crc = libdeflate_crc32(0, b->ptr + start, b->len - start);
        const uint8_t bytes[] = {crc & 0xff, crc >> 8 & 0xff};
        buf_add(b, bytes, sizeof bytes);
    }
}

static void append_member(buf *b, buf content, unsigned flags)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    size_t bound = libdeflate_deflate_compress_bound(c, content.len);
    uint8_t *packed = arena_alloc(b->arena, bound);
    append_header(b, flags);
    buf_add(b, packed, libdeflate_deflate_compress(c, content.ptr, content.len, packed, bound));
    libdeflate_free_compressor(c);
    buf_add32(b, libdeflate_crc32(0, content.ptr, content.len));
    buf_add32(b, (uint32_t)content.len);
}

static void append_frame(buf *b, buf content, bool with_size)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(content.len);
    uint8_t *packed = arena_alloc(b->arena, bound);
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, with_size);
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    buf_add(b, packed, ZSTD_compress2(c, packed, bound, content.ptr, content.len));
    ZSTD_freeCCtx(c);
}

static void append_skippable(buf *b)
{
    buf_add(b, "\x5a\x2a\x4d\x18\3\0\0\0abc", 11);
}

static void check_inflates_to(buf file, buf want)
{
    ENDS(kit_fini) kit k;
    kit_init(&k, LIMIT);
    pd_bytes out = {0};
    pprofdelta_status status = inflate_with(&k, file, &out);
    CHECK_MSG(status == PPROFDELTA_OK, "status %d: %s", (int)status, k.err.text);
    CHECK(out.len == want.len && (!out.len || !memcmp(out.ptr, want.ptr, out.len)));
}

/* ---- formats and levels -------------------------------------------------------------------------- */

static void check_round_trip(pprofdelta_compression compression, int level, buf content)
{
    static const pd_format format[] = {PD_FORMAT_GZIP, PD_FORMAT_ZSTD, PD_FORMAT_PLAIN};
    ENDS(kit_fini) kit k;
    kit_init(&k, LIMIT);
    k.compressor.compression = compression;
    k.compressor.level = level;
    buf packed = deflate_with(&k, content);
    CHECK(pd_format_of(packed.ptr, packed.len) == format[compression]);
    check_inflates_to(packed, content);
}

TEST(every_format_and_level_round_trips)
{
    static const size_t sizes[] = {1, 2, 100, 5000, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ENDS(arena_free) arena a = {0};
        buf content = content_of(&a, sizes[i], (uint32_t)i);
        for (int level = 0; level <= 9; level++)
            for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++)
                check_round_trip((pprofdelta_compression)c, level, content);
    }
}

TEST(zstd_output_carries_its_size_and_a_checksum)
{
    ENDS(arena_free) arena a = {0};
    ENDS(kit_fini) kit k;
    kit_init(&k, LIMIT);
    k.compressor.compression = PPROFDELTA_ZSTD;
    buf content = content_of(&a, 5000, 3), packed = deflate_with(&k, content);
    CHECK(ZSTD_getFrameContentSize(packed.ptr, packed.len) == content.len);
    packed.ptr[packed.len - 1] ^= 1;
    pd_bytes out;
    CHECK(inflate_with(&k, packed, &out) == PPROFDELTA_E_INFLATE);
    CHECK(strstr(k.err.text, "checksum"));
}

TEST(members_and_frames_are_joined)
{
    ENDS(arena_free) arena a = {0};
    buf content = content_of(&a, 70000, 9), gzip = buf_begin(&a), zstd = buf_begin(&a);
    size_t cuts[] = {0, 0, 1, 1, 30000, 69999, 70000, 70000};
    append_skippable(&zstd);
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++) {
        buf part = {.ptr = content.ptr + cuts[i], .len = cuts[i + 1] - cuts[i]};
        append_member(&gzip, part, i % 2 ? FNAME : 0);
        append_frame(&zstd, part, i % 2);
        if (i % 3 == 0)
            append_skippable(&zstd);
    }
    check_inflates_to(gzip, content);
    check_inflates_to(zstd, content);
}

TEST(every_header_option_is_read)
{
    ENDS(arena_free) arena a = {0};
    buf content = content_of(&a, 500, 4), twice = buf_begin(&a);
    buf_add(&twice, content.ptr, content.len);
    buf_add(&twice, content.ptr, content.len);
    for (unsigned flags = 0; flags < 32; flags++) {
        buf file = buf_begin(&a);
        append_member(&file, content, flags);
        check_inflates_to(file, content);
        append_member(&file, content, 31 - flags);
        check_inflates_to(file, twice);
    }
}

/* ---- memory and sinks ---------------------------------------------------------------------------- */

/* More than what a file of a few bytes is inflated with the careful way. */
enum { CAREFUL = 140000 };

/* A trailer that lies is told as a lie, also if what it says is beyond the limit, and takes no more
 * memory than a file of that length may. */
TEST(a_lying_length_does_not_allocate)
{
    enum { ZEROS = 3000000 };
    static const struct {
        size_t len; /* of the content; ZEROS: of zeros, which compress a thousand times */
        uint32_t says;
        uint64_t limit, most;
    } lies[] = {
        {100, UINT32_MAX, UINT64_C(8) << 30, 10000 + CAREFUL},
        {100000, 1 << 24, UINT64_C(8) << 30, 100000 * PD_INFLATE_RATIO / 2 + CAREFUL},
        {ZEROS, UINT32_MAX, UINT64_C(8) << 30, 3 * ZEROS},
        {50000, 2 << 20, 1 << 20, 1 << 20},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        ENDS(arena_free) arena a = {0};
        buf zeros = {.ptr = arena_alloc(&a, ZEROS), .len = ZEROS}, file = buf_begin(&a);
        append_member(&file, lies[i].len == ZEROS ? zeros : content_of(&a, lies[i].len, 4), 0);
        file.len -= 4;
        buf_add32(&file, lies[i].says);
        ENDS(kit_fini) kit k;
        kit_init(&k, lies[i].limit);
        pd_bytes out = {0};
        char words[40];
        snprintf(words, sizeof words, "the gzip trailer says %u", lies[i].says);
        CHECK_MSG(inflate_with(&k, file, &out) == PPROFDELTA_E_INFLATE, "%zu", i);
        CHECK_MSG(strstr(k.err.text, words), "%zu: %s", i, k.err.text);
        CHECK_MSG(k.mem.peak < lies[i].most, "%zu: %llu", i, (unsigned long long)k.mem.peak);
    }
}

TEST_MAIN()
