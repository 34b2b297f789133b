/* Identities: every rule of identity.h, that different things have different identities, that the
 * key of a sample is that of a naive hash, and fixed values, because states on disk hold keys. */
#include "../support/test.h"

#include "profile/identity.h"
#include "rng.h"

static pd_bytes text(const char *s)
{
    return (pd_bytes){(const uint8_t *)s, strlen(s)};
}

static const pd_bytes none = {NULL, 0};

static pd_place place_of(uint64_t start, uint64_t offset, const char *file, const char *build_id)
{
    return pd_place_in_file(pd_file_key(text(file), text(build_id)), start, offset);
}

/* A location at an address in a mapping. */
static pd_key at(uint64_t start, uint64_t offset, const char *file, const char *build_id,
                 uint64_t address)
{
    return pd_location_key_address(place_of(start, offset, file, build_id), address, false);
}

static pd_key function(const char *name, const char *system_name, const char *filename,
                       int64_t start_line)
{
    pprofdelta_frame frame = {
        .name = name, .system_name = system_name, .filename = filename, .start_line = start_line};
    return pd_function_parts_of(&frame).key;
}

static bool all_different(const pd_key *keys, size_t len)
{
    for (size_t i = 0; i < len; i++)
        for (size_t j = 0; j < i; j++)
            if (pd_key_equal(keys[i], keys[j]))
                return false;
    return true;
}

TEST(the_load_address_does_not_matter)
{
    rng r = {1};
    for (int i = 0; i < 2000; i++) {
        uint64_t start = rng_next(&r) & ~UINT64_C(0xfff), moved = rng_next(&r) & ~UINT64_C(0xfff);
        uint64_t offset = rng_next(&r) >> 40, inside = 1 + (rng_next(&r) >> 40);
        if (!(start + inside) || !(moved + inside))
            continue;
        const char *build_id = rng_chance(&r, 50) ? "id" : "";
        pd_key here = at(start, offset, "/bin/app", build_id, start + inside);
        CHECK(pd_key_equal(here, at(moved, offset, "/bin/app", build_id, moved + inside)));
        CHECK(!pd_key_equal(here, at(moved, offset, "/bin/app", build_id, moved + inside + 1)));
        CHECK(!pd_key_equal(here, at(start, offset, "/bin/app", build_id, moved + inside)) ||
              start == moved);
    }
}

/* One segment that starts later in the file, or the same bytes mapped in two pieces. */
TEST(the_file_offset_matters)
{
    CHECK(
        pd_key_equal(at(0x400000, 0, "f", "", 0x402010), at(0x402000, 0x2000, "f", "", 0x402010)));
    CHECK(
        pd_key_equal(at(0x400000, 0, "f", "", 0x402010), at(0x700000, 0x1000, "f", "", 0x701010)));
    CHECK(!pd_key_equal(at(0x400000, 0, "f", "", 0x402010), at(0x400000, 1, "f", "", 0x402010)));
}

TEST(a_build_id_overrides_the_name)
{
    CHECK(pd_key_equal(at(0, 0, "/old/app", "id", 9), at(0, 0, "/new/app", "id", 9)));
    CHECK(pd_key_equal(at(0, 0, "[anon]", "id", 9), at(0, 0, "", "id", 9)));
    pd_key keys[] = {at(0, 0, "app", "id", 9), at(0, 0, "app", "di", 9), at(0, 0, "app", "", 9),
                     at(0, 0, "id", "", 9), at(0, 0, "", "app", 9)};
    CHECK(all_different(keys, sizeof keys / sizeof *keys));
}

TEST(a_deleted_file_is_the_same_file)
{
    pd_key here = at(0x400000, 0, "/bin/app", "", 0x402010);
    CHECK(pd_key_equal(here, at(0x700000, 0, "/bin/app (deleted)", "", 0x702010)));
    CHECK(pd_key_equal(here, at(0x700000, 0, "/bin/app (deleted) (deleted)", "", 0x702010)));
    CHECK(pd_key_equal(at(0, 0, "/bin/app", "id", 9), at(0, 0, "/bin/app (deleted)", "id", 9)));
}

/* The names are those of mapping_test.c, of which one of each kind is enough here. */
TEST(memory_without_a_file_is_identified_by_address)
{
    static const char *const names[] = {"", "[anon]", "/memfd:jit (deleted)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pd_place place = place_of(0x7000, 0x100, names[i], "");
        CHECK_MSG(!place.file.lo && !place.file.hi && !place.bias, "%s", names[i]);
        CHECK(pd_key_equal(at(0x7000, 0x100, names[i], "", 0x7010),
                           pd_location_key_address(PD_NOWHERE_MAPPED, 0x7010, false)));
        CHECK(!pd_key_equal(at(0x7000, 0, names[i], "", 0x7010),
                            at(0x8000, 0, names[i], "", 0x8010)));
    }
    pd_place place = pd_place_in_file(pd_file_key(none, none), 0x7000, 0x100);
    CHECK(!place.file.lo && !place.file.hi && !place.bias);
}

TEST(regions_of_the_kernel_are_identified_by_name)
{
    static const char *const names[] = {"[vdso]", "/a", "a", "//anonymous"};
    pd_key keys[sizeof names / sizeof *names + 1];
    size_t len = 0;
    for (; len < sizeof names / sizeof *names; len++) {
        keys[len] = at(0x7000, 0, names[len], "", 0x7010);
        CHECK_MSG(pd_key_equal(keys[len], at(0x9000, 0, names[len], "", 0x9010)), "%s", names[len]);
    }
    keys[len++] = at(0x7000, 0, "", "", 0x7010);
    CHECK(all_different(keys, len));
}

TEST(folded_locations_differ)
{
    pd_place place = place_of(0x1000, 0, "f", "");
    pd_key keys[] = {
        pd_location_key_address(place, 0x1010, false),
        pd_location_key_address(place, 0x1010, true),
        pd_location_key_address(place, 0, false),
        pd_location_key_address(place, 0, true),
        pd_location_key_line(pd_location_key_lines_begin(false), (pd_key){1, 2}, 3, 4),
        pd_location_key_line(pd_location_key_lines_begin(true), (pd_key){1, 2}, 3, 4),
    };
    CHECK(all_different(keys, sizeof keys / sizeof *keys));
}

/* No address does not move, and is not the address that happens to come out as zero. */
TEST(address_zero_means_none)
{
    pd_key here = at(0x5000, 0, "f", "", 0);
    CHECK(pd_key_equal(here, at(0x9000, 0x10, "f", "", 0)));
    CHECK(!pd_key_equal(here, at(0x5000, 0, "f", "", 0x5000)));
    CHECK(!pd_key_equal(here, at(0x5000, 0, "g", "", 0)));
    CHECK(!pd_key_equal(here, pd_location_key_address(PD_NOWHERE_MAPPED, 0, false)));
}

TEST(every_field_of_a_function_matters)
{
    pd_key keys[] = {
        function("n", "s", "f", 1), function("m", "s", "f", 1), function("n", "t", "f", 1),
        function("n", "s", "g", 1), function("n", "s", "f", 2), function("n", "s", "f", -1),
        function("s", "n", "f", 1), function("f", "s", "n", 1), function("ns", "", "f", 1),
        function("", "ns", "f", 1), function("", "", "", 0),
    };
    CHECK(all_different(keys, sizeof keys / sizeof *keys));
    char copy[] = "n";
    CHECK(pd_key_equal(keys[0], function(copy, "s", "f", 1)));
    CHECK(pd_key_equal(keys[10], function(NULL, NULL, NULL, 0)));
    CHECK(pd_key_equal(function("n", NULL, "f", 1), function("n", "n", "f", 1)));
}

typedef struct line {
    pd_key function;
    int64_t line, column;
} line;

static pd_key of_lines(const line *lines, size_t len)
{
    pd_key key = pd_location_key_lines_begin(false);
    for (size_t i = 0; i < len; i++)
        key = pd_location_key_line(key, lines[i].function, lines[i].line, lines[i].column);
    return key;
}

TEST(the_order_of_lines_matters)
{
    static const line lines[] = {{{1, 2}, 3, 4}, {{5, 6}, 7, 8}};
    static const line others[][2] = {
        {{{1, 2}, 3, 4}, {{5, 6}, 7, 9}}, {{{1, 2}, 3, 4}, {{5, 6}, 8, 8}},
        {{{1, 2}, 3, 4}, {{5, 7}, 7, 8}}, {{{1, 2}, 3, 4}, {{4, 6}, 7, 8}},
        {{{1, 2}, 3, 5}, {{5, 6}, 7, 8}}, {{{1, 2}, -3, 4}, {{5, 6}, 7, 8}},
        {{{1, 3}, 3, 4}, {{5, 6}, 7, 8}}, {{{0, 2}, 3, 4}, {{5, 6}, 7, 8}},
        {{{5, 6}, 7, 8}, {{1, 2}, 3, 4}}, {{{1, 2}, 3, 4}, {{1, 2}, 3, 4}},
        {{{1, 2}, 4, 3}, {{5, 6}, 7, 8}},
    };
    enum { OTHERS = sizeof others / sizeof *others };
    pd_key keys[OTHERS + 3] = {of_lines(lines, 2), of_lines(lines, 1), of_lines(lines + 1, 1)};
    for (size_t i = 0; i < OTHERS; i++)
        keys[i + 3] = of_lines(others[i], 2);
    CHECK(all_different(keys, OTHERS + 3));
    line same[2];
    memcpy(same, lines, sizeof same);
    CHECK(pd_key_equal(of_lines(same, 2), keys[0]));
}

/* States on disk hold keys made of these: a change needs a new format of the state. */
TEST(identities_have_fixed_values)
{
    static const struct {
        const char *what;
        pd_key want;
    } pinned[] = {
        {"build id", {UINT64_C(0xca48ea46c3890252), UINT64_C(0xc05d3a7813008222)}},
        {"name", {UINT64_C(0x709123d76e52882a), UINT64_C(0x54aae18e0069034c)}},
        {"absolute", {UINT64_C(0x429cd7f68fe91f6b), UINT64_C(0x966427d6fb2d1299)}},
        {"folded", {UINT64_C(0x67a48abac907b964), UINT64_C(0xaed2d77f49e9eed6)}},
        {"nothing", {UINT64_C(0x7d4d118bf95e75e5), UINT64_C(0x34f57a4eb9931da4)}},
        {"function", {UINT64_C(0x525faa84d5598d25), UINT64_C(0x7136509c8ad0690c)}},
        {"line", {UINT64_C(0x754f70179375eaef), UINT64_C(0xc443d1f10484f1ca)}},
        {"folded line", {UINT64_C(0xbb3e4fc22ff3169e), UINT64_C(0xb982bb465be85bca)}},
    };
    pd_place by_id = place_of(0x400000, 0x1000, "/bin/app", "abc123");
    pd_place by_name = place_of(0x400000, 0x1000, "/bin/app", "");
    pd_key main = function("main.main", "main.main", "main.go", 12);
    pd_key got[] = {
        pd_location_key_address(by_id, 0x401234, false),
        pd_location_key_address(by_name, 0x401234, false),
        pd_location_key_address(PD_NOWHERE_MAPPED, 0x401234, false),
        pd_location_key_address(by_id, 0x401234, true),
        pd_location_key_address(PD_NOWHERE_MAPPED, 0, false),
        main,
        pd_location_key_line(pd_location_key_lines_begin(false), main, 15, 3),
        pd_location_key_line(pd_location_key_lines_begin(true), main, 15, 3),
    };
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        CHECK_MSG(pd_key_equal(got[i], pinned[i].want), "%s is {0x%016llx, 0x%016llx}",
                  pinned[i].what, (unsigned long long)got[i].lo, (unsigned long long)got[i].hi);
}

/* ---- samples --------------------------------------------------------------------------------- */

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
    pd_identity hash = {0};
    for (size_t i = 0; i < s->depth; i++)
        pd_identity_place(&hash, &numbers, s->idents[i]);
    for (size_t i = 0; i < s->labels_len; i++)
        pd_identity_label(&hash, s->labels[i]);
    return pd_identity_key(&hash);
}

/* ---------------------------------------------------------------------------------------------
 * The twin: what identity.h says, number by number
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
    CHECK(all_different(keys, sizeof keys / sizeof *keys));
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

TEST_MAIN()
