/* Compressed files, read and written: what goes in comes out, whatever the format, the level and the pieces; a
 * wrong checksum is found; memory stays within the limit, whatever a file promises. fuzz_inflate.c compares what is
 * read whole with what is read in pieces, and testdata/hostile has files with every damage and lie. */
#include "fuzz/fuzz.h"

#include "codec/compress.h"
#include "pack.h"
#include "run.h"
#include "seeds.h"

#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>

#define PLENTY (UINT64_C(1) << 30)

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
    pd_mem_init(&k->mem, tracking(&k->memory), limit);
}

static void kit_fini(kit *k)
{
    pd_source_end(&k->source);
    pd_compressor_end(&k->compressor);
    pd_mem_drop(&k->mem);
    CHECK(k->mem.used == 0 && k->memory.live == 0);
}

static pprofdelta_status open_file(kit *k, buf file, size_t piece)
{
    return pd_source_open(&k->source, &k->mem, (pd_bytes){file.ptr, file.len}, piece, &k->err);
}

/* Whole, and in pieces of every length. */
static void check_inflates_to(buf file, buf want)
{
    ENDS(kit_fini) kit k;
    kit_init(&k, PLENTY);
    pprofdelta_status status = open_file(&k, file, 0);
    pd_bytes out = k.source.whole;
    CHECK_MSG(status == PPROFDELTA_OK, "status %d: %s", (int)status, k.err.text);
    CHECK(out.len == want.len && (!out.len || !memcmp(out.ptr, want.ptr, out.len)));
    CHECK(!LLVMFuzzerTestOneInput(file.ptr, file.len));
}

/* Noise, one byte, few letters, near copies, far copies: deflate data of every kind. */
static buf draw_content(arena *a, rng *r, size_t len)
{
    buf b = {.arena = a, .ptr = arena_alloc(a, len + 1), .len = len};
    size_t kind = rng_below(r, 5), period = 1 + rng_below(r, kind == 3 ? 30 : 40000);
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = (uint8_t)(rng_next(r) >> 56);
        b.ptr[i] = kind == 0                ? byte
                   : kind == 1              ? 'x'
                   : kind == 2              ? (uint8_t)(byte % 9 * (byte % 5))
                   : i < period || byte < 3 ? byte
                                            : b.ptr[i - period];
    }
    return b;
}

enum { FTEXT = 1, FHCRC = 2, FEXTRA = 4, FNAME = 8, FCOMMENT = 16, ALL_FLAGS = 31 };

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

static void append_member(buf *b, buf content, int level, unsigned flags)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    size_t bound = libdeflate_deflate_compress_bound(c, content.len);
    uint8_t *packed = arena_alloc(b->arena, bound);
    append_header(b, flags);
    buf_add(b, packed, libdeflate_deflate_compress(c, content.ptr, content.len, packed, bound));
    libdeflate_free_compressor(c);
    buf_add32(b, libdeflate_crc32(0, content.ptr, content.len));
    buf_add32(b, (uint32_t)content.len);
}

/* zstd frames, the last of which does not say how long it is, between skippable ones. */
static buf pack_frames(arena *a, buf content, unsigned frames)
{
    static const uint8_t skippable[] = "\x5a\x2a\x4d\x18\3\0\0\0abc";
    buf out = buf_begin(a), first = pack_zstd(a, content, frames);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(0);
    uint8_t *packed = arena_alloc(a, bound);
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
    buf_add(&out, skippable, sizeof skippable - 1);
    buf_add(&out, first.ptr, first.len);
    buf_add(&out, skippable, sizeof skippable - 1);
    buf_add(&out, packed, ZSTD_compress2(c, packed, bound, "", 0));
    ZSTD_freeCCtx(c);
    return out;
}

static buf draw_file(arena *a, rng *r, buf content)
{
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
    buf out = buf_begin(a);
    switch (rng_below(r, 7)) {
    case 0:
        append_member(&out, content, (int)rng_below(r, 13), (unsigned)rng_below(r, ALL_FLAGS + 1));
        return out;
    case 1:
        return pack_gzip(a, content, 1 + (unsigned)rng_below(r, 4));
    case 2:
        return pack_zstd(a, content, 1 + (unsigned)rng_below(r, 4));
    case 3:
        return pack_frames(a, content, 1 + (unsigned)rng_below(r, 4));
    case 4:
        return content.len && pd_container_of(content.ptr, content.len) == PD_CONTAINER_PLAIN
                   ? content
                   : pack_zstd(a, content, 1);
    default:
        return pack_gzip_as(a, content, (int)rng_below(r, 10), strategies[rng_below(r, 4)]);
    }
}

/* ---- What goes in comes out ------------------------------------------------------------------ */

static buf compress_with(kit *k, buf in)
{
    collector c = {.bytes = buf_begin(in.arena)};
    uint64_t written = 0;
    CHECK(!pd_compress(&k->compressor, &k->mem, (pd_bytes){in.ptr, in.len}, collecting(&c),
                       &written, NULL));
    CHECK(c.calls == 1 && written == c.bytes.len);
    return c.bytes;
}

TEST(every_format_and_level_round_trips)
{
    static const pd_container format[] = {PD_CONTAINER_GZIP, PD_CONTAINER_ZSTD, PD_CONTAINER_PLAIN};
    static const size_t sizes[] = {1, 2, 100, 5000, 300000};
    rng r = {4};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes * 30; i++) {
        ENDS(arena_free) arena a = {0};
        ENDS(kit_fini) kit k;
        kit_init(&k, PLENTY);
        buf content = draw_content(&a, &r, sizes[i / 30]);
        content.ptr[0] = 'x'; /* or else it may begin as a compressed file does */
        k.compressor = (pd_compressor){.compression = (pprofdelta_compression)(i % 3),
                                       .level = (int)(i / 3 % 10)};
        buf packed = compress_with(&k, content);
        CHECK(pd_container_of(packed.ptr, packed.len) == format[i % 3]);
        check_inflates_to(packed, content);
    }
}

/* Up to 4000 bytes at the fastest level, to the byte; more, and other levels, are compressed. */
TEST(what_is_small_needs_no_compressor)
{
    static const struct {
        size_t len;
        int level;
        bool is_stored;
    } rows[] = {{1, 1, true}, {4000, 1, true}, {4001, 1, false}, {100, 2, false}, {100, 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ENDS(arena_free) arena a = {0};
        ENDS(kit_fini) kit k;
        kit_init(&k, PLENTY);
        rng r = {5};
        buf content = draw_content(&a, &r, rows[i].len);
        content.ptr[0] = 'x';
        k.compressor.level = rows[i].level;
        buf packed = compress_with(&k, content);
        CHECK((k.compressor.state == NULL) == rows[i].is_stored);
        CHECK(!rows[i].is_stored || packed.len == content.len + 23);
        check_inflates_to(packed, content);
        packed.ptr[packed.len - 5] ^= 1;
        CHECK(open_file(&k, packed, 0) == PPROFDELTA_E_INFLATE);
    }
}

TEST(what_is_written_has_its_size_and_a_checksum)
{
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_ZSTD; c++) {
        ENDS(arena_free) arena a = {0};
        ENDS(kit_fini) kit k;
        kit_init(&k, PLENTY);
        k.compressor.compression = (pprofdelta_compression)c;
        rng r = {3};
        bool is_zstd = c == PPROFDELTA_ZSTD;
        buf content = draw_content(&a, &r, 5000), packed = compress_with(&k, content);
        CHECK(!is_zstd || ZSTD_getFrameContentSize(packed.ptr, packed.len) == content.len);
        packed.ptr[packed.len - (is_zstd ? 1 : 5)] ^= 1;
        for (size_t piece = 0; piece < 200000; piece += 100000) {
            pd_bytes out;
            pprofdelta_status status = open_file(&k, packed, piece);
            status = status ? status : pd_source_reach(&k.source, 0, 6000, &out, &k.err);
            CHECK(status == PPROFDELTA_E_INFLATE &&
                  strstr(k.err.text, is_zstd ? "checksum" : "CRC-32"));
        }
    }
}

TEST(any_pieces_are_the_whole)
{
    seed_range range = slow_seeds(20);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        ENDS(arena_free) arena a = {0};
        buf content = draw_content(&a, &r, rng_below(&r, rng_chance(&r, 20) ? 300000 : 3000));
        check_inflates_to(draw_file(&a, &r, content), content);
    }
}

TEST(what_is_wrong_is_told_the_same_in_every_way)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        ENDS(arena_free) arena a = {0};
        buf content = draw_content(&a, &r, rng_below(&r, 300));
        buf file = draw_file(&a, &r, content), more = buf_begin(&a);
        buf_add(&more, file.ptr, file.len);
        buf_text(&more, "more");
        CHECK(!LLVMFuzzerTestOneInput(more.ptr, more.len));
        for (size_t len = 0; len < file.len; len++)
            CHECK(!LLVMFuzzerTestOneInput(file.ptr, len));
        for (size_t i = 0; i < file.len; i++) { /* a bit of each byte */
            uint8_t bit = (uint8_t)(1 << (i + seed) % 8);
            file.ptr[i] ^= bit;
            CHECK(!LLVMFuzzerTestOneInput(file.ptr, file.len));
            file.ptr[i] ^= bit;
        }
    }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

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
        rng r = {8};
        buf zeros = {.ptr = arena_alloc(&a, ZEROS), .len = ZEROS}, file = buf_begin(&a);
        buf content = lies[i].len == ZEROS ? zeros : draw_content(&a, &r, lies[i].len);
        append_member(&file, content, 6, 0);
        file.len -= 4;
        buf_add32(&file, lies[i].says);
        ENDS(kit_fini) kit k;
        kit_init(&k, lies[i].limit);
        const char *words = arena_format(&a, "the gzip trailer says %u", lies[i].says);
        CHECK_MSG(open_file(&k, file, 0) == PPROFDELTA_E_INFLATE, "%zu", i);
        CHECK_MSG(strstr(k.err.text, words), "%zu: %s", i, k.err.text);
        CHECK_MSG(k.mem.peak < lies[i].most, "%zu: %" PRIu64, i, k.mem.peak);
    }
}

TEST(what_the_limit_cannot_hold_is_refused)
{
    enum { LEN = 4 << 20, LIMIT = 1 << 20, PIECE = 1000 };
    ENDS(arena_free) arena a = {0};
    rng r = {1};
    buf content = {.arena = &a, .ptr = arena_alloc(&a, LEN), .len = LEN};
    for (size_t i = 0; i < LEN; i++)
        content.ptr[i] = (uint8_t)(rng_next(&r) >> 60);
    const buf files[] = {content, pack_gzip(&a, content, 1), pack_zstd(&a, content, 20)};
    for (size_t i = 0; i < 3; i++) {
        ENDS(kit_fini) kit k;
        kit_init(&k, LIMIT);
        pd_bytes out;
        REQUIRE(!open_file(&k, files[i], PIECE));
        CHECK(pd_source_reach(&k.source, LEN / 4, LEN / 8, &out, &k.err) == PPROFDELTA_OK);
        CHECK(out.len >= LEN / 8 && memcmp(out.ptr, content.ptr + LEN / 4, out.len) == 0);
        CHECK(pd_source_reach(&k.source, LEN / 4, LEN / 2, &out, &k.err) == PPROFDELTA_E_LIMIT);
        CHECK(k.mem.peak <= LIMIT);
    }
}

TEST(what_shrinks_too_much_is_not_streamed)
{
    enum { ZEROS = 2 << 20, NOISE = 100000, PIECE = 1000 };
    ENDS(arena_free) arena a = {0};
    rng r = {2};
    buf content = {.arena = &a, .ptr = arena_alloc(&a, ZEROS + NOISE), .len = ZEROS + NOISE};
    for (size_t i = 0; i < NOISE; i++)
        content.ptr[ZEROS + i] = (uint8_t)rng_next(&r);
    const buf files[] = {pack_gzip(&a, content, 1), pack_zstd(&a, content, 20)};
    for (size_t i = 0; i < 2; i++) {
        ENDS(kit_fini) kit k;
        kit_init(&k, PLENTY);
        CHECK(files[i].len * PD_INFLATE_RATIO > content.len);
        REQUIRE(!open_file(&k, files[i], PIECE));
        CHECK(pd_source_finish(&k.source, &k.err) == PPROFDELTA_E_LIMIT);
        CHECK(pd_source_len(&k.source) < ZEROS);
        CHECK(open_file(&k, files[i], 0) == PPROFDELTA_OK && k.source.whole.len == content.len);
    }
}

/* A frame of five bytes that wants a window of this length. */
static buf draw_wide_frame(arena *a, unsigned log)
{
    buf b = buf_begin(a);
    const uint8_t head[] = {0x28,       0xb5, 0x2f, 0xfd, 0, (uint8_t)((log - 10) << 3),
                            5 << 3 | 1, 0,    0};
    buf_add(&b, head, sizeof head);
    buf_text(&b, "hello");
    return b;
}

TEST(the_window_of_a_frame_counts_before_it_is_allocated)
{
    enum { LIMIT = 1 << 20, LOG = 27 };
    ENDS(arena_free) arena a = {0};
    buf first = draw_wide_frame(&a, LOG), second = pack_zstd(&a, first, 1);
    buf_add(&second, first.ptr, first.len);
    const buf files[] = {first, second};
    for (size_t i = 0; i < 2; i++) {
        pd_bytes bytes = {files[i].ptr, files[i].len};
        pd_head head;
        ENDS(kit_fini) kit k;
        kit_init(&k, LIMIT);
        CHECK(pd_source_head(&k.mem, bytes, &head, &k.err) == PPROFDELTA_E_LIMIT);
        CHECK(strstr(k.err.text, "the window of the zstd frame") &&
              strstr(k.err.text, "max_memory"));
        CHECK(k.err.reason == PPROFDELTA_REASON_MAX_MEMORY && k.mem.peak <= LIMIT);
        k.mem.limit = PLENTY;
        CHECK(pd_source_head(&k.mem, bytes, &head, &k.err) == PPROFDELTA_OK);
        CHECK(head.is_good && !memcmp(head.bytes + head.len - 5, "hello", 5));
        CHECK(k.mem.peak > 1 << LOG);
    }
}

TEST(a_failed_allocation_is_told)
{
    ENDS(arena_free) arena a = {0};
    rng r = {7};
    buf content = draw_content(&a, &r, 100000);
    const buf files[] = {content, pack_gzip(&a, content, 2), pack_zstd(&a, content, 2)};
    for (size_t i = 0; i < 3; i++) {
        bool refused = true;
        for (size_t nth = 1; refused; nth++) {
            ENDS(kit_fini) kit k;
            kit_init(&k, PLENTY);
            k.memory.fail_at = nth;
            pprofdelta_status status = open_file(&k, files[i], 1000);
            pd_bytes out = {NULL, 1};
            for (uint64_t from = 0; !status && out.len; from += out.len)
                status = pd_source_reach(&k.source, from, 1 + nth * 900, &out, NULL);
            refused = k.memory.refused > 0;
            CHECK_MSG(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK),
                      "file %zu, allocation %zu", i, nth);
        }
    }
}

TEST_MAIN()
