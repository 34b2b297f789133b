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
        for (int i = 0; i < 400 && plain.len; i++) {
            size_t at = rng_below(&r, plain.len);
            uint8_t was = plain.ptr[at];
            plain.ptr[at] = (uint8_t)rng_next(&r);
            read(&a, &r, plain);
            if (rng_chance(&r, 90))
                plain.ptr[at] = was;
        }
    }
}

TEST_MAIN()
