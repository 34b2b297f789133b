/* Generated profiles that are cut off or damaged, plain and compressed, for fuzz_reader.c, which holds what is
 * said of them whole against what is said of them in pieces, and against protobuf-c. */
#include "fuzz/fuzz.h"

#include "gen.h"
#include "pack.h"
#include "seeds.h"
#include "serial.h"
#include "test.h"

static void read(arena *a, rng *r, buf plain)
{
    buf file = rng_chance(r, 10) ? pack_gzip(a, plain, 1) : plain;
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
        for (size_t len = 0; len < plain.len; len += step)
            read(&a, &r, (buf){.ptr = plain.ptr, .len = len});
        for (int i = 0; i < 400 && plain.len; i++)
            read(&a, &r, damaged(&a, &r, plain));
    }
}

TEST_MAIN()
