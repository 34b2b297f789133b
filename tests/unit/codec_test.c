/* The containers: what goes in comes out, and nothing that was damaged on the way does. */
#include "../support/test.h"

#include "codec/deflate.h"
#include "codec/inflate.h"
#include "codec/walk.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#define LIMIT (UINT64_C(64) << 20)

/* ---------------------------------------------------------------------------------------------
 * An allocator that counts and fails, content, and files made by hand
 * ------------------------------------------------------------------------------------------ */

typedef struct counting {
    unsigned long calls, fail_at; /* fail_at: the call, from 1, that returns NULL; 0: none */
    size_t largest;
} counting;

static void *counting_resize(void *cookie, void *ptr, size_t size)
{
    counting *c = cookie;
    if (size > c->largest)
        c->largest = size;
    return ++c->calls == c->fail_at ? NULL : realloc(ptr, size);
}

static void counting_release(void *cookie, void *ptr)
{
    (void)cookie;
    free(ptr);
}

/* Everything that one test inflates and deflates with. */
typedef struct kit {
    counting counting;
    pd_mem mem;
    pd_inflater inflater;
    pd_deflater deflater;
    pd_buffer into, sunk;
    pprofdelta_error err;
    unsigned long writes;
    bool refuse;
} kit;

static void kit_init(kit *k, uint64_t limit)
{
    *k = (kit){0};
    pprofdelta_allocator allocator = {counting_resize, counting_release, &k->counting};
    pd_mem_init(&k->mem, &allocator, limit);
}

static void kit_fini(kit *k)
{
    pd_inflater_fini(&k->inflater);
    pd_deflater_fini(&k->deflater, &k->mem);
    pd_buffer_release(&k->mem, &k->into);
    CHECK(k->mem.used == 0);
    free(k->sunk.ptr);
}

static void append(pd_buffer *b, const void *data, size_t len)
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

static void append_byte(pd_buffer *b, unsigned byte)
{
    append(b, &(uint8_t){(uint8_t)byte}, 1);
}

static void append32(pd_buffer *b, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        append_byte(b, value >> 8 * i & 0xff);
}

static int sink_write(void *cookie, const void *data, size_t len)
{
    kit *k = cookie;
    k->writes++;
    if (k->refuse)
        return 1;
    append(&k->sunk, data, len);
    return 0;
}

static pprofdelta_status deflate_into_sunk(kit *k, const uint8_t *in, size_t len, uint64_t *written)
{
    pprofdelta_sink sink = {sink_write, k};
    k->sunk.len = 0;
    return pd_deflate(&k->deflater, &k->mem, in, len, &sink, written, &k->err);
}

static pprofdelta_status inflate_with(kit *k, pd_buffer file, pd_bytes *out)
{
    return pd_inflate(&k->inflater, &k->mem, file.ptr, file.len, &k->into, out, &k->err);
}

/* Bytes that compress about as a profile does, the same ones for the same seed. */
static void fill(uint8_t *p, size_t len, uint32_t seed)
{
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        bool again = i >= 40 && seed >> 29 > 2;
        p[i] = again ? p[i - 40] : (uint8_t)(seed >> 16 & 0x3f);
    }
}

static pd_buffer content_of(size_t len, uint32_t seed)
{
    pd_buffer b = {malloc(len + 1), len, len + 1};
    if (!b.ptr)
        abort();
    fill(b.ptr, len, seed);
    return b;
}

/* Deflate data of level 0 (stored) to 12. */
static void append_deflated(pd_buffer *b, pd_buffer content, int level)
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

static void append_header(pd_buffer *b, unsigned flags, uint16_t crc_error)
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

static void append_member(pd_buffer *b, pd_buffer content, unsigned flags)
{
    append_header(b, flags, 0);
    append_deflated(b, content, 6);
    append32(b, libdeflate_crc32(0, content.ptr, content.len));
    append32(b, (uint32_t)content.len);
}

static void append_frame(pd_buffer *b, pd_buffer content, bool with_size)
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

static void append_skippable(pd_buffer *b)
{
    append(b, "\x5a\x2a\x4d\x18\3\0\0\0abc", 11);
}

static bool equal(pd_bytes got, const uint8_t *want, size_t len)
{
    return got.len == len && (len == 0 || memcmp(got.ptr, want, len) == 0);
}

/* Expects E_INFLATE with these words at this offset, and *out untouched. */
static void check_refused(pd_buffer file, const char *words, size_t offset)
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

static void check_inflates_to(pd_buffer file, const uint8_t *want, size_t len)
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

/* ---------------------------------------------------------------------------------------------
 * What goes in comes out
 * ------------------------------------------------------------------------------------------ */

TEST(formats_are_told_by_their_magic)
{
    static const struct {
        const char *bytes;
        size_t len;
        pd_format format;
    } cases[] = {
        {"", 0, PD_FORMAT_PLAIN},
        {"\x1f", 1, PD_FORMAT_PLAIN},
        {"\x1f\x8b", 2, PD_FORMAT_GZIP},
        {"\x1f\x8c", 2, PD_FORMAT_PLAIN},
        {"\x28\xb5\x2f", 3, PD_FORMAT_PLAIN},
        {"\x28\xb5\x2f\xfd", 4, PD_FORMAT_ZSTD},
        {"\x28\xb5\x2f\xfc", 4, PD_FORMAT_PLAIN},
        {"\x50\x2a\x4d\x18", 4, PD_FORMAT_ZSTD},
        {"\x5f\x2a\x4d\x18", 4, PD_FORMAT_ZSTD},
        {"\x60\x2a\x4d\x18", 4, PD_FORMAT_PLAIN},
        {"\x0a\x04\x08\x01\x10\x02", 6, PD_FORMAT_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_MSG(pd_format_of((const uint8_t *)cases[i].bytes, cases[i].len) == cases[i].format,
                  "case %zu", i);
    CHECK_STR(pd_format_name(PD_FORMAT_PLAIN), "plain");
    CHECK_STR(pd_format_name(PD_FORMAT_GZIP), "gzip");
    CHECK_STR(pd_format_name(PD_FORMAT_ZSTD), "zstd");
}

TEST(plain_is_handed_on_as_it_is)
{
    kit k;
    kit_init(&k, 0);
    pd_bytes out = {0};
    uint8_t plain[] = "\x0a\x04";
    CHECK(inflate_with(&k, (pd_buffer){plain, 2, 2}, &out) == PPROFDELTA_OK);
    CHECK(out.ptr == plain && out.len == 2);
    CHECK(inflate_with(&k, (pd_buffer){0}, &out) == PPROFDELTA_OK);
    CHECK(out.len == 0);
    CHECK(k.counting.calls == 0);
    kit_fini(&k);
}

static void check_round_trip(pprofdelta_compression compression, int level, pd_buffer content)
{
    static const pd_format format[] = {PD_FORMAT_GZIP, PD_FORMAT_ZSTD, PD_FORMAT_PLAIN};
    kit k;
    kit_init(&k, LIMIT);
    k.deflater.compression = compression;
    k.deflater.level = level;
    uint64_t written = 0;
    pd_bytes out = {0};
    CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_OK);
    CHECK(k.writes == 1 && written == k.sunk.len);
    CHECK(pd_format_of(k.sunk.ptr, k.sunk.len) == format[compression]);
    CHECK(inflate_with(&k, k.sunk, &out) == PPROFDELTA_OK);
    CHECK_MSG(equal(out, content.ptr, content.len), "compression %d, level %d, %zu bytes",
              (int)compression, level, content.len);
    kit_fini(&k);
}

TEST(every_format_and_level_round_trips)
{
    static const size_t sizes[] = {1, 2, 100, 5000, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pd_buffer content = content_of(sizes[i], (uint32_t)i);
        for (int level = 0; level <= 9; level++)
            for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++)
                check_round_trip((pprofdelta_compression)c, level, content);
        free(content.ptr);
    }
}

TEST(a_higher_level_compresses_more)
{
    pd_buffer content = content_of(300000, 1);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_ZSTD; c++) {
        uint64_t fast = 0, small = 0;
        for (int level = 1; level <= 9; level += 8) {
            kit k;
            kit_init(&k, LIMIT);
            k.deflater.compression = (pprofdelta_compression)c;
            k.deflater.level = level;
            CHECK(deflate_into_sunk(&k, content.ptr, content.len, level == 1 ? &fast : &small) ==
                  PPROFDELTA_OK);
            kit_fini(&k);
        }
        CHECK_MSG(small < fast, "compression %d: %llu and %llu", c, (unsigned long long)small,
                  (unsigned long long)fast);
    }
    free(content.ptr);
}

TEST(equal_input_gives_equal_bytes)
{
    pd_buffer content = content_of(20000, 7);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_ZSTD; c++) {
        kit first, again;
        uint64_t written = 0;
        kit_init(&first, LIMIT);
        kit_init(&again, LIMIT);
        first.deflater.compression = again.deflater.compression = (pprofdelta_compression)c;
        CHECK(deflate_into_sunk(&first, content.ptr, content.len, &written) == PPROFDELTA_OK);
        CHECK(deflate_into_sunk(&again, content.ptr, 100, &written) == PPROFDELTA_OK);
        CHECK(deflate_into_sunk(&again, content.ptr, content.len, &written) == PPROFDELTA_OK);
        CHECK(equal((pd_bytes){first.sunk.ptr, first.sunk.len}, again.sunk.ptr, again.sunk.len));
        if (c == PPROFDELTA_GZIP)
            CHECK(memcmp(first.sunk.ptr, "\x1f\x8b\x08\0\0\0\0\0", 8) == 0);
        kit_fini(&first);
        kit_fini(&again);
    }
    free(content.ptr);
}

TEST(zstd_output_carries_its_size_and_a_checksum)
{
    kit k;
    kit_init(&k, LIMIT);
    k.deflater.compression = PPROFDELTA_ZSTD;
    uint64_t written = 0;
    pd_buffer content = content_of(5000, 3);
    CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_OK);
    CHECK(ZSTD_getFrameContentSize(k.sunk.ptr, k.sunk.len) == content.len);
    k.sunk.ptr[k.sunk.len - 1] ^= 1;
    check_refused(k.sunk, "checksum", 0);
    free(content.ptr);
    kit_fini(&k);
}

TEST(members_and_frames_are_joined)
{
    pd_buffer content = content_of(70000, 9), gzip = {0}, zstd = {0};
    size_t cuts[] = {0, 0, 1, 1, 30000, 69999, 70000, 70000};
    append_skippable(&zstd);
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++) {
        pd_buffer part = {content.ptr + cuts[i], cuts[i + 1] - cuts[i], 0};
        append_member(&gzip, part, i % 2 ? FNAME : 0);
        append_frame(&zstd, part, i % 2);
        if (i % 3 == 0)
            append_skippable(&zstd);
    }
    check_inflates_to(gzip, content.ptr, content.len);
    check_inflates_to(zstd, content.ptr, content.len);
    free(gzip.ptr);
    free(zstd.ptr);
    free(content.ptr);
}

TEST(empty_members_and_frames_are_empty)
{
    pd_buffer gzip = {0}, zstd = {0}, skippable = {0}, nothing = {0};
    append_member(&gzip, nothing, 0);
    check_inflates_to(gzip, NULL, 0);
    append_member(&gzip, nothing, 0);
    check_inflates_to(gzip, NULL, 0);
    append_frame(&zstd, nothing, true);
    append_frame(&zstd, nothing, false);
    check_inflates_to(zstd, NULL, 0);
    append_skippable(&skippable);
    check_inflates_to(skippable, NULL, 0);
    free(gzip.ptr);
    free(zstd.ptr);
    free(skippable.ptr);
}

TEST(stored_blocks_inflate)
{
    pd_buffer content = content_of(200000, 2), file = {0};
    append_header(&file, 0, 0);
    append_deflated(&file, content, 0);
    append32(&file, libdeflate_crc32(0, content.ptr, content.len));
    append32(&file, (uint32_t)content.len);
    check_inflates_to(file, content.ptr, content.len);
    free(file.ptr);
    free(content.ptr);
}

/* Sizes that no claim tells, and claims beyond what is believed at once. */
TEST(output_grows_as_far_as_it_must)
{
    pd_buffer zeros = {calloc(3000000, 1), 3000000, 3000000}, gzip = {0}, zstd = {0}, claim = {0};
    pd_buffer nothing = {0};
    if (!zeros.ptr)
        abort();
    append_member(&gzip, zeros, 0);
    check_inflates_to(gzip, zeros.ptr, zeros.len);
    append_member(&gzip, nothing, 0);
    check_inflates_to(gzip, zeros.ptr, zeros.len);
    append_frame(&zstd, zeros, false);
    check_inflates_to(zstd, zeros.ptr, zeros.len);
    append_frame(&claim, zeros, true);
    check_inflates_to(claim, zeros.ptr, zeros.len);
    free(gzip.ptr);
    free(zstd.ptr);
    free(claim.ptr);
    free(zeros.ptr);
}

/* ---------------------------------------------------------------------------------------------
 * gzip headers and trailers
 * ------------------------------------------------------------------------------------------ */

TEST(every_header_option_is_read)
{
    pd_buffer content = content_of(500, 4);
    for (unsigned flags = 0; flags < 32; flags++) {
        pd_buffer file = {0};
        append_member(&file, content, flags);
        check_inflates_to(file, content.ptr, content.len);
        append_member(&file, content, 31 - flags);
        pd_buffer twice = {0};
        append(&twice, content.ptr, content.len);
        append(&twice, content.ptr, content.len);
        check_inflates_to(file, twice.ptr, twice.len);
        free(twice.ptr);
        free(file.ptr);
    }
    free(content.ptr);
}

TEST(a_wrong_header_crc_is_refused)
{
    for (unsigned bit = 0; bit < 16; bit++) {
        pd_buffer file = {0};
        append_header(&file, FHCRC | FNAME, (uint16_t)(1u << bit));
        append(&file, "\3\0\0\0\0\0\0\0\0\0", 10);
        check_refused(file, "the gzip header has the CRC-16", 15);
        free(file.ptr);
    }
}

TEST(what_gzip_does_not_have_is_refused)
{
    pd_buffer content = content_of(50, 4), file = {0};
    append_member(&file, content, 0);
    file.ptr[2] = 7;
    check_refused(file, "the gzip method is 7", 2);
    file.ptr[2] = 8;
    for (unsigned bit = 5; bit < 8; bit++) {
        file.ptr[3] = (uint8_t)(1u << bit);
        check_refused(file, "reserved gzip flags", 3);
    }
    free(file.ptr);
    free(content.ptr);
}

TEST(the_trailer_is_checked)
{
    pd_buffer content = content_of(5000, 4), file = {0};
    append_member(&file, content, 0);
    for (unsigned bit = 0; bit < 64; bit++) {
        size_t trailer = file.len - 8;
        uint8_t *byte = file.ptr + trailer + bit / 8;
        *byte ^= (uint8_t)(1u << bit % 8);
        if (bit < 32)
            check_refused(file, "the content has the CRC-32", trailer);
        else
            check_refused(file, "the content is 5000 bytes long and the gzip trailer says",
                          trailer + 4);
        *byte ^= (uint8_t)(1u << bit % 8);
    }
    check_inflates_to(file, content.ptr, content.len);
    free(file.ptr);
    free(content.ptr);
}

TEST(both_crcs_are_told)
{
    pd_buffer file = {0};
    append_header(&file, 0, 0);
    append(&file, "\x01\x01\x00\xfe\xff\x61", 6);
    append32(&file, 0x12345678);
    append32(&file, 1);
    check_refused(file, "the CRC-32 e8b7be43 and the gzip trailer says 12345678", 16);
    free(file.ptr);
}

TEST(bytes_behind_the_end_are_refused)
{
    pd_buffer content = content_of(50, 4), gzip = {0}, zstd = {0};
    append_member(&gzip, content, 0);
    append_frame(&zstd, content, true);
    size_t gzip_len = gzip.len, zstd_len = zstd.len;
    append_byte(&gzip, 0);
    append_byte(&zstd, 0x28);
    check_refused(gzip, "bytes after the gzip trailer: 1, the first 0x00", gzip_len);
    check_refused(zstd, "bytes after the last zstd frame: 1, the first 0x28", zstd_len);
    append_frame(&gzip, content, true);
    append_member(&zstd, content, 0);
    check_refused(gzip, "bytes after the gzip trailer", gzip_len);
    check_refused(zstd, "bytes after the last zstd frame", zstd_len);
    gzip.ptr[gzip_len] = 0x1f;
    gzip.len = gzip_len + 1;
    check_refused(gzip, "bytes after the gzip trailer: 1, the first 0x1f", gzip_len);
    free(gzip.ptr);
    free(zstd.ptr);
    free(content.ptr);
}

/* ---------------------------------------------------------------------------------------------
 * Files that are cut off or damaged
 * ------------------------------------------------------------------------------------------ */

/* A copy of just the size, so that a sanitizer sees a read behind it. */
static pd_buffer prefix_of(pd_buffer file, size_t len)
{
    if (len == 0 || len > file.len || !file.ptr)
        abort();
    pd_buffer b = {malloc(len), len, len};
    if (!b.ptr)
        abort();
    memcpy(b.ptr, file.ptr, len);
    return b;
}

TEST(gzip_cut_off_at_any_byte_is_told_as_such)
{
    pd_buffer content = content_of(900, 5);
    for (int level = 0; level <= 6; level += 3) {
        pd_buffer file = {0};
        append_header(&file, 31, 0);
        size_t body = file.len;
        append_deflated(&file, content, level);
        size_t trailer = file.len;
        append32(&file, libdeflate_crc32(0, content.ptr, content.len));
        append32(&file, (uint32_t)content.len);
        for (size_t len = 2; len < file.len; len++) {
            pd_buffer cut = prefix_of(file, len);
            check_refused(cut,
                          len < body      ? "the file is cut off in the gzip header"
                          : len < trailer ? "the file is cut off in the deflate data"
                                          : "the file is cut off in the gzip trailer",
                          len);
            free(cut.ptr);
        }
        free(file.ptr);
    }
    free(content.ptr);
}

TEST(a_second_member_cut_off_at_any_byte_is_told_as_such)
{
    pd_buffer content = content_of(300, 5), file = {0};
    append_member(&file, content, 0);
    size_t first = file.len;
    append_member(&file, content, FNAME);
    for (size_t len = first + 2; len < file.len; len++) {
        pd_buffer cut = prefix_of(file, len);
        check_refused(cut, "the file is cut off in the", len);
        free(cut.ptr);
    }
    free(file.ptr);
    free(content.ptr);
}

TEST(zstd_cut_off_at_any_byte_is_told_as_such)
{
    pd_buffer content = content_of(900, 5), file = {0};
    append_frame(&file, content, true);
    size_t first = file.len;
    append_frame(&file, content, false);
    size_t second = file.len;
    append_skippable(&file);
    for (size_t len = 4; len < file.len; len++) {
        size_t into_frame = len < first ? len : len < second ? len - first : len - second;
        if (into_frame == 0)
            continue;
        pd_buffer cut = prefix_of(file, len);
        if (into_frame < 4)
            check_refused(cut, "bytes after the last zstd frame", len - into_frame);
        else
            check_refused(cut, "the file is cut off in a zstd frame", len);
        free(cut.ptr);
    }
    free(file.ptr);
    free(content.ptr);
}

static void flip_every_bit(pd_buffer file, pd_buffer content)
{
    unsigned long refused = 0;
    for (size_t bit = 0; bit < file.len * 8; bit++) {
        kit k;
        kit_init(&k, LIMIT);
        pd_buffer flipped = prefix_of(file, file.len);
        flipped.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
        pd_bytes out = {0};
        pprofdelta_status status = inflate_with(&k, flipped, &out);
        if (pd_format_of(flipped.ptr, flipped.len) == PD_FORMAT_PLAIN) {
            CHECK(status == PPROFDELTA_OK && out.ptr == flipped.ptr);
        } else if (status == PPROFDELTA_OK) {
            CHECK_MSG(equal(out, content.ptr, content.len), "bit %zu", bit);
        } else {
            CHECK_MSG(status == PPROFDELTA_E_INFLATE, "bit %zu: status %d", bit, (int)status);
            CHECK(k.err.offset <= flipped.len && k.err.text[0]);
            refused++;
        }
        free(flipped.ptr);
        kit_fini(&k);
    }
    CHECK_MSG(refused > file.len * 8 * 3 / 4, "%lu of %zu", refused, file.len * 8);
}

TEST(no_flipped_bit_changes_the_content)
{
    pd_buffer content = content_of(1500, 6);
    for (int level = 0; level <= 6; level += 3) {
        pd_buffer gzip = {0};
        append_header(&gzip, FHCRC | FEXTRA | FNAME, 0);
        append_deflated(&gzip, content, level);
        append32(&gzip, libdeflate_crc32(0, content.ptr, content.len));
        append32(&gzip, (uint32_t)content.len);
        flip_every_bit(gzip, content);
        free(gzip.ptr);
    }
    pd_buffer zstd = {0};
    append_frame(&zstd, content, true);
    flip_every_bit(zstd, content);
    free(zstd.ptr);
    free(content.ptr);
}

TEST(zstd_that_announces_too_much_is_refused)
{
    /* A single segment of 2^62 bytes: an empty raw block. */
    pd_buffer file = {0};
    append(&file, "\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x40\1\0\0", 16);
    check_refused(file, "too short for the 4611686018427387904 bytes it announces", 0);
    free(file.ptr);
}

TEST(zstd_that_announces_too_little_is_refused)
{
    /* A single segment of 5 bytes: one byte 1000 times. */
    pd_buffer file = {0};
    append(&file, "\x28\xb5\x2f\xfd\x20\5\x43\x1f\0a", 10);
    check_refused(file, "the zstd frame inflates to more than it can hold", 0);
    free(file.ptr);
}

TEST(zstd_that_needs_a_dictionary_is_refused)
{
    /* Dictionary 7, 0 bytes in one segment: an empty raw block. */
    pd_buffer file = {0};
    append(&file, "\x28\xb5\x2f\xfd\x21\7\0\1\0\0", 10);
    check_refused(file, "needs a dictionary", 0);
    free(file.ptr);
}

/* ---------------------------------------------------------------------------------------------
 * What is wrong with deflate data
 * ------------------------------------------------------------------------------------------ */

TEST(whole_deflate_data_walks_to_its_end)
{
    static const size_t sizes[] = {0, 1, 50, 5000, 200000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pd_buffer content = content_of(sizes[i], 8);
        memset(content.ptr, 0, sizes[i] / 2);
        for (int level = 0; level <= 12; level += 2) {
            pd_buffer packed = {0};
            append_deflated(&packed, content, level);
            size_t len = packed.len;
            append(&packed, "behind it", 9);
            pd_walk walk = pd_deflate_walk(packed.ptr, packed.len);
            CHECK_MSG(walk.end == PD_WALK_WHOLE && walk.at == len && !walk.why,
                      "level %d, %zu bytes: %zu, not %zu", level, sizes[i], walk.at, len);
            free(packed.ptr);
        }
        free(content.ptr);
    }
}

/* Bits as text, in the order of the stream, with zeros behind. */
static size_t pack_bits(const char *text, uint8_t room[64])
{
    size_t n = 0;
    memset(room, 0, 64);
    for (; *text; text++) {
        if (*text == ' ')
            continue;
        room[n / 8] |= (uint8_t)((*text - '0') << n % 8);
        n++;
    }
    return n;
}

/* Each case ends with the bit that shows the damage. */
TEST(the_damage_is_named_with_its_byte)
{
    static const struct {
        const char *bits, *why;
    } cases[] = {
        {"1 11", "a block of a type that does not exist"},
        {"0 00 00000 0000000000000000 1111111111111111 0 11",
         "a block of a type that does not exist"},
        {"1 00 00000 1010000000000000 0000000000000000",
         "a stored block that contradicts itself about its length"},
        {"1 10 0000001 00000", "a copy from before the beginning"},
        {"1 10 00110000 0000001 00001", "a copy from before the beginning"},
        {"1 10 11000110", "a literal or length that has no code"},
        {"1 10 00110000 0000001 11110", "a distance that has no code"},
        {"1 01 11111 00000 0000", "more symbols than there are"},
        {"1 01 00000 00000 0000 100 100 100 100",
         "a Huffman code with more symbols than its lengths have room for"},
        {"1 01 00000 00000 0000 010 010 000 000", "a Huffman code with gaps"},
        {"1 01 00000 00000 0000 000 000 100 000 111111111111111", "a code length that has no code"},
        {"1 01 00000 00000 0000 100 000 000 000 0", "a code length that repeats nothing"},
        {"1 01 00000 00000 0000 000 000 100 000 0 1111111 0 1111111",
         "more code lengths than there are symbols"},
        {"1 01 00000 00000 0000 000 000 100 000 0 1111111 0 1011011", "a block that cannot end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t packed[64];
        size_t bits = pack_bits(cases[i].bits, packed);
        pd_walk walk = pd_deflate_walk(packed, sizeof packed);
        CHECK_MSG(walk.end == PD_WALK_DAMAGED, "case %zu", i);
        CHECK_STR(walk.why ? walk.why : "no reason", cases[i].why);
        CHECK_MSG(walk.at == (bits - 1) / 8, "case %zu: %zu", i, walk.at);
    }
}

/* The same damage seen through gzip, at its place in the file. */
TEST(damaged_deflate_data_is_told_with_its_offset)
{
    pd_buffer file = {0};
    append_header(&file, FNAME, 0);
    size_t body = file.len;
    append(&file, "\x00\x00\x00\xff\xff\x07\0\0\0\0\0\0\0\0", 14);
    check_refused(file, "the deflate data is damaged: a block of a type", body + 5);
    free(file.ptr);
}

/* The walk may be stricter than libdeflate, never more lenient. */
TEST(damaged_deflate_data_never_walks_to_its_end)
{
    pd_buffer content = content_of(700, 10), packed = {0};
    append_deflated(&packed, content, 6);
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d)
        abort();
    unsigned long damaged = 0;
    for (size_t bit = 0; bit < packed.len * 8; bit++) {
        uint8_t room[8192];
        size_t used = 0, made = 0;
        packed.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
        enum libdeflate_result result = libdeflate_deflate_decompress_ex(
            d, packed.ptr, packed.len, room, sizeof room, &used, &made);
        pd_walk walk = pd_deflate_walk(packed.ptr, packed.len);
        CHECK_MSG(walk.end != PD_WALK_WHOLE || (result == LIBDEFLATE_SUCCESS && walk.at == used),
                  "bit %zu", bit);
        damaged += result == LIBDEFLATE_BAD_DATA;
        packed.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK(damaged > 0);
    libdeflate_free_decompressor(d);
    free(packed.ptr);
    free(content.ptr);
}

/* ---------------------------------------------------------------------------------------------
 * Memory and the sink
 * ------------------------------------------------------------------------------------------ */

TEST(a_lying_length_does_not_allocate)
{
    pd_buffer content = content_of(100, 4), file = {0};
    append_member(&file, content, 0);
    memset(file.ptr + file.len - 4, 0xff, 4);
    kit k;
    kit_init(&k, UINT64_C(8) << 30);
    pd_bytes out = {0};
    CHECK(inflate_with(&k, file, &out) == PPROFDELTA_E_INFLATE);
    CHECK(strstr(k.err.text, "says 4294967295"));
    CHECK_MSG(k.mem.peak < 10000, "%llu", (unsigned long long)k.mem.peak);
    kit_fini(&k);
    free(file.ptr);
    free(content.ptr);
}

TEST(a_length_that_could_be_true_is_not_believed_at_once)
{
    pd_buffer content = content_of(100000, 4), file = {0};
    append_member(&file, content, 0);
    memcpy(file.ptr + file.len - 4, "\0\0\0\1", 4);
    kit k;
    kit_init(&k, UINT64_C(8) << 30);
    pd_bytes out = {0};
    CHECK(inflate_with(&k, file, &out) == PPROFDELTA_E_INFLATE);
    CHECK_MSG(k.mem.peak <= 32 * file.len, "%llu", (unsigned long long)k.mem.peak);
    kit_fini(&k);
    free(file.ptr);
    free(content.ptr);
}

TEST(a_lying_length_does_not_allocate_when_room_runs_out_either)
{
    pd_buffer zeros = {calloc(3000000, 1), 3000000, 3000000}, file = {0};
    if (!zeros.ptr)
        abort();
    append_member(&file, zeros, 0);
    memset(file.ptr + file.len - 4, 0xff, 4);
    kit k;
    kit_init(&k, UINT64_C(8) << 30);
    pd_bytes out = {0};
    CHECK(inflate_with(&k, file, &out) == PPROFDELTA_E_INFLATE);
    CHECK_MSG(k.mem.peak < 3 * zeros.len, "%llu", (unsigned long long)k.mem.peak);
    kit_fini(&k);
    free(file.ptr);
    free(zeros.ptr);
}

TEST(a_lie_beyond_the_limit_is_told_as_a_lie)
{
    pd_buffer content = content_of(100000, 4), file = {0};
    append_member(&file, content, 0);
    memcpy(file.ptr + file.len - 4, "\0\0\2\0", 4);
    kit k;
    kit_init(&k, content.len);
    pd_bytes out = {0};
    CHECK(inflate_with(&k, file, &out) == PPROFDELTA_E_INFLATE);
    CHECK_MSG(strstr(k.err.text, "the gzip trailer says 131072"), "%s", k.err.text);
    kit_fini(&k);
    free(file.ptr);
    free(content.ptr);
}

static void check_bomb(pd_buffer file)
{
    kit k;
    kit_init(&k, 1 << 20);
    pd_bytes out = {(const uint8_t *)"untouched", 9};
    CHECK(inflate_with(&k, file, &out) == PPROFDELTA_E_LIMIT);
    CHECK_STR(k.err.stage, "inflate");
    CHECK_MSG(strstr(k.err.text, "1048576 bytes of max-memory"), "%s", k.err.text);
    CHECK_MSG(strstr(k.err.text, "--max-memory"), "%s", k.err.text);
    CHECK(k.err.offset < file.len);
    CHECK(k.mem.peak <= 1 << 20);
    CHECK(out.len == 9);
    kit_fini(&k);
}

TEST(bombs_end_at_the_limit)
{
    pd_buffer zeros = {calloc(10 << 20, 1), 10 << 20, 10 << 20}, file = {0}, nothing = {0};
    if (!zeros.ptr)
        abort();
    append_member(&file, zeros, 0);
    check_bomb(file);
    append_member(&file, nothing, 0);
    check_bomb(file);
    for (int with_size = 0; with_size < 2; with_size++) {
        file.len = 0;
        append_frame(&file, zeros, with_size);
        check_bomb(file);
    }
    free(file.ptr);
    free(zeros.ptr);
}

TEST(an_announced_bomb_ends_before_it_is_allocated)
{
    pd_buffer zeros = {calloc(10 << 20, 1), 10 << 20, 10 << 20};
    if (!zeros.ptr)
        abort();
    for (int zstd = 0; zstd < 2; zstd++) {
        pd_buffer file = {0};
        if (zstd)
            append_frame(&file, zeros, true);
        else
            append_member(&file, zeros, 0);
        kit k;
        kit_init(&k, 9 << 20);
        pd_bytes out;
        CHECK(inflate_with(&k, file, &out) == PPROFDELTA_E_LIMIT);
        CHECK(strstr(k.err.text, "says that it inflates"));
        CHECK_MSG(k.mem.peak <= 32 * file.len, "%llu", (unsigned long long)k.mem.peak);
        kit_fini(&k);
        free(file.ptr);
    }
    free(zeros.ptr);
}

TEST(the_limit_itself_can_be_used_up)
{
    pd_buffer zeros = {calloc(1 << 20, 1), 1 << 20, 1 << 20};
    if (!zeros.ptr)
        abort();
    for (int zstd = 0; zstd < 2; zstd++) {
        pd_buffer file = {0};
        if (zstd)
            append_frame(&file, zeros, false);
        else
            append_member(&file, zeros, 0);
        for (int less = 0; less < 2; less++) {
            kit k;
            kit_init(&k, zeros.len - (size_t)less);
            pd_bytes out = {0};
            CHECK(inflate_with(&k, file, &out) == (less ? PPROFDELTA_E_LIMIT : PPROFDELTA_OK));
            kit_fini(&k);
        }
        free(file.ptr);
    }
    free(zeros.ptr);
}

TEST(no_room_at_all_is_a_limit)
{
    pd_buffer content = content_of(100, 4), gzip = {0}, zstd = {0};
    append_member(&gzip, content, 0);
    append_frame(&zstd, content, true);
    kit k;
    kit_init(&k, 0);
    pd_bytes out = {0};
    uint64_t written = 99;
    CHECK(inflate_with(&k, gzip, &out) == PPROFDELTA_E_LIMIT);
    CHECK(inflate_with(&k, zstd, &out) == PPROFDELTA_E_LIMIT);
    CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_E_LIMIT);
    CHECK(k.writes == 0 && written == 99);
    kit_fini(&k);
    free(gzip.ptr);
    free(zstd.ptr);
    free(content.ptr);
}

TEST(the_second_call_allocates_nothing)
{
    pd_buffer content = content_of(100000, 11);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++) {
        kit k;
        kit_init(&k, LIMIT);
        k.deflater.compression = (pprofdelta_compression)c;
        unsigned long calls = 0;
        for (int round = 0; round < 3; round++) {
            uint64_t written = 0;
            pd_bytes out = {0};
            CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_OK);
            CHECK(inflate_with(&k, k.sunk, &out) == PPROFDELTA_OK);
            CHECK(equal(out, content.ptr, content.len));
            if (round == 0)
                calls = k.counting.calls;
        }
        CHECK(k.counting.calls == calls);
        CHECK(c == PPROFDELTA_PLAIN || calls > 0);
        kit_fini(&k);
    }
    free(content.ptr);
}

TEST(one_inflater_takes_every_format_and_outlives_failures)
{
    pd_buffer content = content_of(3000, 12), gzip = {0}, zstd = {0};
    append_member(&gzip, content, 0);
    append_frame(&zstd, content, true);
    kit k;
    kit_init(&k, LIMIT);
    for (int round = 0; round < 3; round++) {
        pd_bytes out = {0};
        CHECK(inflate_with(&k, gzip, &out) == PPROFDELTA_OK);
        CHECK(equal(out, content.ptr, content.len));
        CHECK(inflate_with(&k, (pd_buffer){gzip.ptr, gzip.len - 20, 0}, &out) != PPROFDELTA_OK);
        CHECK(inflate_with(&k, zstd, &out) == PPROFDELTA_OK);
        CHECK(equal(out, content.ptr, content.len));
        pd_buffer damaged = prefix_of(zstd, zstd.len);
        damaged.ptr[damaged.len / 2] ^= 1;
        CHECK(inflate_with(&k, damaged, &out) != PPROFDELTA_OK);
        free(damaged.ptr);
    }
    kit_fini(&k);
    free(gzip.ptr);
    free(zstd.ptr);
    free(content.ptr);
}

/* Inflates the file and deflates what came out, with the nth allocation failing. True while there
 * was an nth. */
static bool fails_at(pd_buffer file, pprofdelta_compression compression, unsigned long nth)
{
    kit k;
    kit_init(&k, LIMIT);
    k.deflater.compression = compression;
    k.counting.fail_at = nth;
    pd_bytes out = {0};
    uint64_t written = 99;
    pprofdelta_status status = inflate_with(&k, file, &out);
    CHECK(status == PPROFDELTA_OK || !out.ptr);
    if (status == PPROFDELTA_OK) {
        status = deflate_into_sunk(&k, out.ptr, out.len, &written);
        CHECK(status == PPROFDELTA_OK || (written == 99 && k.writes == 0));
    }
    bool reached = k.counting.calls >= nth;
    CHECK(status == (reached ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK));
    if (reached) {
        k.counting.fail_at = 0;
        CHECK(inflate_with(&k, file, &out) == PPROFDELTA_OK);
        CHECK(deflate_into_sunk(&k, out.ptr, out.len, &written) == PPROFDELTA_OK);
    }
    kit_fini(&k);
    return reached;
}

TEST(every_failing_allocation_is_told)
{
    pd_buffer zeros = {calloc(1 << 20, 1), 1 << 20, 1 << 20}, gzip = {0}, zstd = {0}, nothing = {0};
    if (!zeros.ptr)
        abort();
    append_member(&gzip, zeros, 0);
    append_member(&gzip, nothing, 0);
    append_frame(&zstd, zeros, false);
    unsigned long n = 0;
    while (fails_at(gzip, PPROFDELTA_GZIP, n + 1))
        n++;
    CHECK_MSG(n > 3, "%lu", n);
    for (n = 0; fails_at(zstd, PPROFDELTA_ZSTD, n + 1);)
        n++;
    CHECK_MSG(n > 3, "%lu", n);
    free(gzip.ptr);
    free(zstd.ptr);
    free(zeros.ptr);
}

TEST(a_sink_that_refuses_is_told)
{
    pd_buffer content = content_of(3000, 12);
    for (int c = PPROFDELTA_GZIP; c <= PPROFDELTA_PLAIN; c++) {
        kit k;
        kit_init(&k, LIMIT);
        k.deflater.compression = (pprofdelta_compression)c;
        k.refuse = true;
        uint64_t written = 99;
        CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_E_SINK);
        CHECK(k.err.status == PPROFDELTA_E_SINK && written == 99 && k.writes == 1);
        CHECK_STR(k.err.stage, "write");
        CHECK(k.err.offset == PPROFDELTA_NOWHERE);
        k.refuse = false;
        CHECK(deflate_into_sunk(&k, content.ptr, content.len, &written) == PPROFDELTA_OK);
        CHECK(written == k.sunk.len);
        kit_fini(&k);
    }
    free(content.ptr);
}

TEST(nobody_has_to_want_the_error)
{
    kit k;
    kit_init(&k, LIMIT);
    pd_bytes out = {0};
    CHECK(pd_inflate(&k.inflater, &k.mem, (const uint8_t *)"\x1f\x8b", 2, &k.into, &out, NULL) ==
          PPROFDELTA_E_INFLATE);
    kit_fini(&k);
}

TEST_MAIN(CASE(formats_are_told_by_their_magic), CASE(plain_is_handed_on_as_it_is),
          CASE(every_format_and_level_round_trips), CASE(a_higher_level_compresses_more),
          CASE(equal_input_gives_equal_bytes), CASE(zstd_output_carries_its_size_and_a_checksum),
          CASE(members_and_frames_are_joined), CASE(empty_members_and_frames_are_empty),
          CASE(stored_blocks_inflate), CASE(output_grows_as_far_as_it_must),
          CASE(every_header_option_is_read), CASE(a_wrong_header_crc_is_refused),
          CASE(what_gzip_does_not_have_is_refused), CASE(the_trailer_is_checked),
          CASE(both_crcs_are_told), CASE(bytes_behind_the_end_are_refused),
          CASE(gzip_cut_off_at_any_byte_is_told_as_such),
          CASE(a_second_member_cut_off_at_any_byte_is_told_as_such),
          CASE(zstd_cut_off_at_any_byte_is_told_as_such), CASE(no_flipped_bit_changes_the_content),
          CASE(zstd_that_announces_too_much_is_refused),
          CASE(zstd_that_announces_too_little_is_refused),
          CASE(zstd_that_needs_a_dictionary_is_refused), CASE(whole_deflate_data_walks_to_its_end),
          CASE(the_damage_is_named_with_its_byte),
          CASE(damaged_deflate_data_is_told_with_its_offset),
          CASE(damaged_deflate_data_never_walks_to_its_end), CASE(a_lying_length_does_not_allocate),
          CASE(a_length_that_could_be_true_is_not_believed_at_once),
          CASE(a_lying_length_does_not_allocate_when_room_runs_out_either),
          CASE(a_lie_beyond_the_limit_is_told_as_a_lie), CASE(bombs_end_at_the_limit),
          CASE(an_announced_bomb_ends_before_it_is_allocated),
          CASE(the_limit_itself_can_be_used_up), CASE(no_room_at_all_is_a_limit),
          CASE(the_second_call_allocates_nothing),
          CASE(one_inflater_takes_every_format_and_outlives_failures),
          CASE(every_failing_allocation_is_told), CASE(a_sink_that_refuses_is_told),
          CASE(nobody_has_to_want_the_error))
