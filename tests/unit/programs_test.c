/* The fuzz target of a door that it is linked with, without a fuzzer: programs made by chance, and
 * programs in which each allocation fails in turn, alone or with all that follow. What must hold is in
 * the target, which ends the test if it does not hold. */
#include "fuzz/fuzz.h"

#include "rng.h"
#include "seeds.h"
#include "test.h"

enum { MOST = 2048, NTH = -1, END = -2 };

/* How a program begins: bytes, and where the number of the allocation goes. A number made by chance
 * follows where the program ends early. */
static const struct {
    const char *target;
    int bytes[64];
} beginnings[] = {
    {"heap", {0, 128, NTH, END}},
    {"heap", {1, 128, NTH, END}},
    {"builder", {16, NTH, END}},
    {"sum", {4, NTH, END}},
    /* each word of the remains, as nothing and as something */
    {"recover", {0, 0, NTH, 200, END}},
    /* a recorder that is made without memory */
    {"records", {0, 2, 0, 1, NTH, END}},
    /* two records, a window, a change and a third record, and two more windows */
    {"records",
     {0, 8, 0, 0, 0, 2,  5, 7, 10, 10, 10, 10, 0, 3, 1, 2,  3,  20, 20, 20,  20, 11, 40, 0, 1,  NTH,
      3, 0, 0, 5, 0, 26, 8, 9, 16, 1,  0,  5,  5, 5, 5, 11, 43, 0,  1,  NTH, 11, 8,  0,  1, END}},
};

/* The corpus has programs that were found to matter; these are many more. */
TEST(programs_made_by_chance)
{
    static uint8_t bytes[MOST];
    seed_range range = seeds(25);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed};
        size_t len = 1 + rng_below(&r, MOST / 2);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (uint8_t)(rng_chance(&r, 30) ? rng_below(&r, 16) : rng_next(&r));
        CHECK(LLVMFuzzerTestOneInput(bytes, len) == 0);
    }
}

TEST(each_allocation_may_fail)
{
    static uint8_t bytes[MOST];
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        if (strcmp(beginnings[i].target, PD_TARGET) != 0)
            continue;
        for (unsigned nth = 0; nth < 256; nth++) {
            rng r = {nth / 16};
            size_t len = 0;
            for (const int *at = beginnings[i].bytes; *at != END; at++)
                bytes[len++] = (uint8_t)(*at == NTH ? (int)nth : *at);
            for (size_t more = 600; more; more--)
                bytes[len++] = (uint8_t)rng_next(&r);
            CHECK(LLVMFuzzerTestOneInput(bytes, len) == 0);
        }
    }
}

TEST_MAIN()
