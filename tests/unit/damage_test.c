/* Profiles for fuzz_reader.c, which compares what is said of them whole with what is said of them in pieces and with
 * protobuf-c, and the quick reader of samples with the careful one: generated profiles that are cut off or damaged,
 * and samples whose elements stand by themselves. And ids that promise large tables. */
#include "fuzz/fuzz.h"

#include "emit.h"
#include "pack.h"
#include "rows.h"
#include "run.h"
#include "seeds.h"
#include "serial.h"

static void read(buf file)
{
    CHECK(LLVMFuzzerTestOneInput(file.ptr, file.len) == 0);
}

/* Bytes changed, cut out, or put in twice. */
static buf damaged(arena *a, rng *r, buf whole)
{
    size_t at = rng_below(r, whole.len), len = rng_below(r, whole.len - at + 1) % 40;
    size_t how = rng_below(r, 3);
    buf out = buf_begin(a);
    buf_add(&out, whole.ptr, how ? at : whole.len);
    if (how == 1)
        buf_add(&out, whole.ptr + at, len);
    if (how)
        buf_add(&out, whole.ptr + at + (how == 2 ? len : 0), whole.len - at - (how == 2 ? len : 0));
    for (size_t n = how ? 0 : 1 + rng_below(r, 3); n; n--)
        out.ptr[rng_below(r, out.len)] ^= (uint8_t)(1 + rng_below(r, 255));
    return out;
}

TEST(what_is_cut_off_or_damaged_is_told_the_same_in_every_way)
{
    seed_range range = seeds(1);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(arena_free) arena a = {0};
        ENDS(gen_free) gen g;
        rng r = {seed + 1};
        gen_init(&g, seed + 300000);
        serial_style style = serial_draw(&r);
        style.pack = PACK_PLAIN;
        buf plain = serial_write(&a, &g.m, &style);
        size_t step = 1 + plain.len / 500;
        for (size_t i = 0; i < plain.len + 400 * step && plain.len; i += step) {
            buf file = {.ptr = plain.ptr, .len = i};
            if (i >= plain.len)
                file = damaged(&a, &r, plain);
            read(rng_chance(&r, 10) ? pack_gzip(&a, file, 1) : file);
        }
    }
    uint8_t longest[] = {0x32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'a'};
    read((buf){.ptr = longest, .len = sizeof longest}); /* a string of 2^64 - 1 bytes */
}

/* ---- Samples, element by element ------------------------------------------------------------- */

/* Two types, and locations with the ids 1, 2, 3 and 300; and perhaps something behind the sample that ends every
 * varint or none. */
static buf profile_of(arena *a, const uint8_t *sample, size_t len, int behind)
{
    static const uint64_t ids[] = {1, 2, 3, 300};
    static const char *const strings[] = {"", "bytes", "thread"};
    uint8_t bytes[20];
    buf out = buf_begin(a);
    for (size_t i = 0; i < 2; i++)
        wire_bytes(&out, 1, (buf){.ptr = (uint8_t *)"\x08\x01", .len = 2});
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        buf location = buf_begin(a);
        wire_number(&location, 1, ids[i]);
        wire_number(&location, 3, ids[i] * 16);
        wire_bytes(&out, 4, location);
    }
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        wire_bytes(&out, 6,
                   (buf){.ptr = (uint8_t *)(uintptr_t)strings[i], .len = strlen(strings[i])});
    wire_bytes(&out, 2, (buf){.ptr = (uint8_t *)(uintptr_t)sample, .len = len});
    memset(bytes, behind, sizeof bytes);
    if (behind)
        wire_bytes(&out, 31, (buf){.ptr = bytes, .len = sizeof bytes});
    return out;
}

static void read_sample(arena *a, const uint8_t *sample, size_t len)
{
    read(profile_of(a, sample, len, 0));
    read(profile_of(a, sample, len, 0x01));
    read(profile_of(a, sample, len, 0xff));
}

/* Each whole, cut anywhere, and with any of its bits the other way round. */
TEST(samples_of_lone_elements)
{
    table_rows r = {0};
    while (rows_next(&r, "kinds", "lone elements")) {
        ENDS(arena_free) arena a = {0};
        uint8_t bytes[24];
        size_t len = rows_bytes(r.cells[2]), taken = fuzz_reader_quick;
        REQUIRE(len <= sizeof bytes);
        memcpy(bytes, r.cells[2], len);
        read_sample(&a, bytes, len);
        CHECK_MSG(fuzz_reader_quick - taken == (*r.cells[0] == 'q' ? 3 : 0), "%s", r.cells[1]);
        for (size_t cut = 0; cut < len; cut++)
            read_sample(&a, bytes, cut);
        for (size_t bit = 0; bit < 8 * len; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            read_sample(&a, bytes, len);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

/* What a table takes depends on how many ids there are, not on how large they are. */
TEST(a_huge_id_takes_no_extra_memory)
{
    for (unsigned bit = 2; bit < 64; bit++) {
        ENDS(arena_free) arena a = {0};
        tracker memory = {0};
        buf file = profile_of(&a, (const uint8_t *)"\x10\x05\x10\x07", 4, 0),
            location = buf_begin(&a);
        wire_number(&location, 1, UINT64_C(1) << bit);
        wire_bytes(&file, 4, location);
        CHECK(!census_within(NULL, tracking(&memory), file.ptr, file.len, NULL, NULL));
        CHECK_MSG(memory.peak < 65536 && !memory.live, "2 to the %u: %zu bytes", bit, memory.peak);
    }
}

TEST_MAIN()
