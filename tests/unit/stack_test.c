/* The key of a sample compared with a naive hash at every depth, and with fixed values, because
 * states on disk hold keys. */
#include "../support/test.h"

#include "profile/stack.h"
#include "rng.h"

enum { DEPTH_MAX = 3 * PD_STACK_BLOCK + 3 };

/* A sample as the hash sees it. */
typedef struct stack {
    pd_key idents[DEPTH_MAX];
    size_t depth;
    pd_key labels[8];
    size_t labels_len;
} stack;

static void draw(rng *r, size_t depth, stack *out)
{
    out->depth = depth;
    out->labels_len = rng_below(r, 8);
    for (size_t i = 0; i < depth; i++)
        out->idents[i] = (pd_key){rng_next(r), rng_next(r)};
    for (size_t i = 0; i < out->labels_len; i++)
        out->labels[i] = (pd_key){rng_next(r), rng_next(r)};
}

static pd_key key_of(const stack *s)
{
    static pd_stack_numbers numbers;
    pd_stack_numbers_init(&numbers);
    pd_stack_hash hash = {0};
    for (size_t i = 0; i < s->depth; i++)
        pd_stack_hash_location(&hash, &numbers, s->idents[i]);
    for (size_t i = 0; i < s->labels_len; i++)
        pd_stack_hash_label(&hash, s->labels[i]);
    return pd_stack_hash_key(&hash);
}

/* ---------------------------------------------------------------------------------------------
 * The twin: what stack.h says, number by number
 * ------------------------------------------------------------------------------------------ */

/* XXH3 over the numbers, each as eight bytes, the lowest first. */
static pd_key naive_hash(const uint64_t *words, size_t len, uint64_t seed)
{
    uint8_t bytes[8 * 8];
    for (size_t i = 0; i < 8 * len; i++)
        bytes[i] = (uint8_t)(words[i / 8] >> 8 * (i % 8));
    XXH128_hash_t h = XXH3_128bits_withSeed(bytes, 8 * len, seed);
    return (pd_key){h.low64, h.high64};
}

/* a * b + c, modulo 2^64, by shifting and adding. */
static uint64_t naive_multiply_add(uint64_t a, uint64_t b, uint64_t c)
{
    for (unsigned bit = 0; bit < 64; bit++)
        if (b >> bit & 1)
            c += a << bit;
    return c;
}

static pd_key naive_key(const stack *s)
{
    uint64_t lo = 0, hi = 0;
    for (uint64_t i = 0; i < s->depth; i++) {
        uint64_t position = i % PD_STACK_BLOCK;
        pd_key number = naive_hash(&position, 1, 101);
        lo = naive_multiply_add(s->idents[i].lo, number.lo | 1, lo);
        hi = naive_multiply_add(s->idents[i].hi, number.hi | 1, hi);
        if (position + 1 < PD_STACK_BLOCK)
            continue;
        pd_key folded = naive_hash((uint64_t[]){lo, hi}, 2, 102);
        lo = folded.lo;
        hi = folded.hi;
    }
    pd_key labels = {0, 0};
    for (size_t i = 0; i < s->labels_len; i++) {
        labels.lo += s->labels[i].lo;
        labels.hi += s->labels[i].hi;
    }
    lo = naive_multiply_add(s->depth, UINT64_C(0x9e3779b97f4a7c15), lo + labels.lo);
    hi = naive_multiply_add(s->labels_len, UINT64_C(0xc2b2ae3d27d4eb4f), hi + labels.hi);
    return (pd_key){lo, hi};
}

TEST(keys_equal_a_naive_hash)
{
    rng r = {1};
    static stack s;
    for (size_t depth = 0; depth <= DEPTH_MAX; depth++) {
        draw(&r, depth, &s);
        CHECK_MSG(pd_key_equal(key_of(&s), naive_key(&s)), "depth %zu", depth);
    }
}

/* ---------------------------------------------------------------------------------------------
 * What makes two samples different
 * ------------------------------------------------------------------------------------------ */

/* Depths around the ends of the blocks, and one inside. */
static size_t depth_near_block(size_t i)
{
    return (i / 4 + 1) * PD_STACK_BLOCK - 2 + i % 4;
}

TEST(the_order_of_locations_matters)
{
    rng r = {2};
    static stack s;
    for (size_t i = 0; i < 12; i++) {
        size_t depth = depth_near_block(i);
        draw(&r, depth, &s);
        pd_key key = key_of(&s);
        for (int n = 0; n < 40; n++) {
            size_t a = rng_below(&r, depth), b = n % 2 ? rng_below(&r, depth) : (a + 1) % depth;
            pd_key kept = s.idents[a];
            s.idents[a] = s.idents[b];
            s.idents[b] = kept;
            CHECK(pd_key_equal(key_of(&s), key) == (a == b));
            s.idents[b] = s.idents[a];
            s.idents[a] = kept;
        }
        CHECK(pd_key_equal(key_of(&s), key));
    }
}

TEST(every_location_matters)
{
    rng r = {3};
    static stack s;
    for (size_t i = 0; i < 12; i++) {
        size_t depth = depth_near_block(i);
        draw(&r, depth, &s);
        pd_key key = key_of(&s);
        for (size_t n = 0; n < depth; n++) {
            uint64_t bit = UINT64_C(1) << rng_below(&r, 64);
            uint64_t *half = rng_chance(&r, 50) ? &s.idents[n].lo : &s.idents[n].hi;
            *half ^= bit;
            CHECK_MSG(!pd_key_equal(key_of(&s), key), "%zu of %zu", n, depth);
            *half ^= bit;
        }
    }
}

/* Locations that add nothing to the sums still add to the depth. */
TEST(the_depth_matters)
{
    static stack s;
    pd_key keys[2 * PD_STACK_BLOCK + 2];
    memset(&s, 0, sizeof s);
    for (size_t depth = 0; depth < sizeof keys / sizeof *keys; depth++) {
        s.depth = depth;
        keys[depth] = key_of(&s);
        for (size_t i = 0; i < depth; i++)
            CHECK_MSG(!pd_key_equal(keys[i], keys[depth]), "%zu and %zu", i, depth);
    }
}

TEST(the_order_of_labels_does_not_matter)
{
    rng r = {4};
    static stack s;
    for (int i = 0; i < 500; i++) {
        draw(&r, rng_below(&r, 4), &s);
        pd_key key = key_of(&s);
        size_t order[8];
        for (size_t n = 0; n < s.labels_len; n++)
            order[n] = n;
        rng_shuffle(&r, order, s.labels_len);
        stack shuffled = s;
        for (size_t n = 0; n < s.labels_len; n++)
            shuffled.labels[n] = s.labels[order[n]];
        CHECK(pd_key_equal(key_of(&shuffled), key));
        if (!s.labels_len)
            continue;
        shuffled.labels_len--;
        CHECK(!pd_key_equal(key_of(&shuffled), key));
        shuffled.labels[shuffled.labels_len++] = (pd_key){rng_next(&r), rng_next(&r)};
        CHECK(!pd_key_equal(key_of(&shuffled), key));
    }
}

/* A label that is there twice is another sample than one that has it once, and labels that add
 * nothing up still count. */
TEST(the_number_of_labels_matters)
{
    stack s = {.labels_len = 1, .labels = {{1, 2}, {1, 2}}};
    pd_key once = key_of(&s);
    s.labels_len = 2;
    CHECK(!pd_key_equal(key_of(&s), once));
    stack zeros = {0};
    pd_key without = key_of(&zeros);
    zeros.labels_len = 2;
    CHECK(!pd_key_equal(key_of(&zeros), without));
    zeros.labels_len = 0;
    zeros.depth = 2;
    CHECK(!pd_key_equal(key_of(&zeros), without));
}

static pd_bytes text(const char *s)
{
    return (pd_bytes){(const uint8_t *)s, strlen(s)};
}

static pd_key label(const char *key, const char *str, int64_t num, const char *unit)
{
    return pd_label_key(pd_label_names_key(text(key), text(str), text(unit)), num);
}

TEST(every_field_of_a_label_matters)
{
    pd_key keys[] = {
        label("k", "s", 1, "u"), label("l", "s", 1, "u"),  label("k", "t", 1, "u"),
        label("k", "s", 2, "u"), label("k", "s", -1, "u"), label("k", "s", 1, "v"),
        label("s", "k", 1, "u"), label("k", "u", 1, "s"),  label("ks", "", 1, "u"),
        label("", "ks", 1, "u"), label("", "", 0, ""),
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t j = 0; j < i; j++)
            CHECK_MSG(!pd_key_equal(keys[i], keys[j]), "%zu and %zu", i, j);
    char copy[] = "k";
    CHECK(pd_key_equal(label(copy, "s", 1, "u"), keys[0]));
}

/* States on disk hold keys: a change needs a new format of the state. */
TEST(keys_have_fixed_values)
{
    static const struct {
        size_t depth, labels;
        pd_key want;
    } pinned[] = {
        {0, 0, {UINT64_C(0x0000000000000000), UINT64_C(0x0000000000000000)}},
        {1, 0, {UINT64_C(0x47520df0f93ef784), UINT64_C(0xb5093b781a96e475)}},
        {0, 1, {UINT64_C(0x2375f639824c66d4), UINT64_C(0xcc679b4d14fb3ec3)}},
        {40, 2, {UINT64_C(0x3843cc6f4ad98fb1), UINT64_C(0x5512d70571564169)}},
        {256, 0, {UINT64_C(0x7117af873eb78c6c), UINT64_C(0x87cf100db6261585)}},
        {600, 0, {UINT64_C(0xd4b288260944a647), UINT64_C(0x3b3ed54720fc2564)}},
    };
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        static stack s;
        s.depth = pinned[i].depth;
        s.labels_len = pinned[i].labels;
        for (uint64_t n = 0; n < s.depth; n++)
            s.idents[n] = (pd_key){n * UINT64_C(0x9e3779b97f4a7c15) + 1, ~n};
        s.labels[0] = label("request", "GET", 0, "");
        s.labels[1] = label("bytes", "", 4096, "bytes");
        pd_key got = key_of(&s);
        CHECK_MSG(pd_key_equal(got, pinned[i].want), "depth %zu is {0x%016llx, 0x%016llx}", s.depth,
                  (unsigned long long)got.lo, (unsigned long long)got.hi);
    }
}

TEST_MAIN(CASE(keys_equal_a_naive_hash), CASE(the_order_of_locations_matters),
          CASE(every_location_matters), CASE(the_depth_matters),
          CASE(the_order_of_labels_does_not_matter), CASE(the_number_of_labels_matters),
          CASE(every_field_of_a_label_matters), CASE(keys_have_fixed_values))
