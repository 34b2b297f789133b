/* Profiles for fuzz_reader.c, which compares what is said of them whole with what is said of them in pieces and with
 * protobuf-c, and the quick reader of samples with the careful one: generated profiles that are cut off or damaged,
 * and samples whose elements stand by themselves. And ids that promise large tables. */
#include "fuzz/fuzz.h"

#include "emit.h"
#include "pack.h"
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

/* Samples with elements that stand by themselves, and whether they are for the quick reader. */
static const struct {
    const char *what;
    size_t len;
    bool is_quick;
    uint8_t bytes[24];
} lone[] = {
    {"values first", 8, true, {0x10, 5, 0x10, 7, 8, 1, 8, 2}},
    {"stack first", 8, true, {8, 1, 8, 2, 0x10, 5, 0x10, 7}},
    {"no stack", 4, true, {0x10, 5, 0x10, 7}},
    {"values before a run", 9, true, {0x10, 5, 0x10, 7, 0x0a, 3, 1, 2, 3}},
    {"values behind a run", 9, true, {0x0a, 3, 1, 2, 3, 0x10, 5, 0x10, 7}},
    {"ids behind a run of values", 8, true, {0x12, 2, 5, 7, 8, 1, 8, 2}},
    {"ids before a run of values", 8, true, {8, 1, 8, 2, 0x12, 2, 5, 7}},
    {"labels behind", 12, true, {0x10, 5, 0x10, 7, 8, 1, 0x1a, 4, 8, 1, 0x18, 9}},
    {"labels behind the values", 12, true, {8, 1, 0x10, 5, 0x10, 7, 0x1a, 4, 8, 1, 0x18, 9}},
    {"bytes to spare", 11, true, {0x10, 0x85, 0x80, 0, 0x10, 7, 8, 0x81, 0x80, 0x80, 0}},
    {"an id of two bytes", 7, true, {0x10, 5, 0x10, 7, 8, 0xac, 2}},
    {"a cut value", 4, false, {0x10, 5, 0x10, 0x87}},
    {"a value too few", 4, false, {0x10, 5, 8, 1}},
    {"a value too many", 8, false, {0x10, 5, 0x10, 7, 0x10, 9, 8, 1}},
    {"a value too many, behind", 8, false, {8, 1, 0x10, 5, 0x10, 7, 0x10, 9}},
    {"no values", 4, false, {8, 1, 8, 2}},
    {"nothing", 0, false, {0}},
    {"an id 0", 6, false, {0x10, 5, 0x10, 7, 8, 0}},
    {"an id that is not there", 7, false, {0x10, 5, 0x10, 7, 8, 0xad, 2}},
    {"an id between values", 6, false, {0x10, 5, 8, 1, 0x10, 7}},
    {"values between ids", 8, false, {8, 1, 0x10, 5, 0x10, 7, 8, 2}},
    {"half a run of values, one behind", 7, false, {0x12, 1, 5, 0x10, 7, 8, 1}},
    {"half a run of values, one before", 7, false, {0x10, 5, 0x12, 1, 7, 8, 1}},
    {"a run of ids, one behind", 9, false, {0x10, 5, 0x10, 7, 0x0a, 1, 1, 8, 2}},
    {"a run of ids, one before", 9, false, {0x10, 5, 0x10, 7, 8, 2, 0x0a, 1, 1}},
    {"an empty run, values behind", 6, false, {0x12, 0, 0x10, 5, 0x10, 7}},
    {"an empty run, ids behind", 8, false, {0x10, 5, 0x10, 7, 0x0a, 0, 8, 1}},
    {"labels before", 8, false, {0x1a, 2, 8, 1, 0x10, 5, 0x10, 7}},
    {"labels between", 8, false, {0x10, 5, 0x10, 7, 0x1a, 0, 8, 1}},
    {"a tag of two bytes", 5, false, {0x90, 0, 5, 0x10, 7}},
    {"a value of ten bytes",
     15,
     false,
     {0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x10, 7, 8, 1}},
    {"an id of nine bytes",
     14,
     false,
     {0x10, 5, 0x10, 7, 8, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}},
    {"another wire type", 5, false, {0x10, 5, 0x10, 7, 9}},
};

static void read_sample(arena *a, const uint8_t *sample, size_t len)
{
    read(profile_of(a, sample, len, 0));
    read(profile_of(a, sample, len, 0x01));
    read(profile_of(a, sample, len, 0xff));
}

/* Each whole, cut anywhere, and with any of its bits the other way round. */
TEST(samples_of_lone_elements)
{
    for (size_t i = 0; i < sizeof lone / sizeof *lone; i++) {
        ENDS(arena_free) arena a = {0};
        uint8_t bytes[sizeof lone->bytes];
        size_t len = lone[i].len, taken = fuzz_reader_quick;
        memcpy(bytes, lone[i].bytes, sizeof bytes);
        read_sample(&a, bytes, len);
        CHECK_MSG(fuzz_reader_quick - taken == 3 * lone[i].is_quick, "%s", lone[i].what);
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
