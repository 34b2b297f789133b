/* Identities: every rule of identity.h, and that different things have different identities. */
#include "../support/test.h"

#include "profile/identity.h"
#include "rng.h"

static pd_bytes text(const char *s)
{
    return (pd_bytes){(const uint8_t *)s, strlen(s)};
}

static const pd_bytes none = {NULL, 0};

/* A location at an address in a mapping. */
static pd_key at(uint64_t start, uint64_t offset, const char *file, const char *build_id,
                 uint64_t address)
{
    pd_place place = pd_place_of_mapping(start, offset, text(file), text(build_id));
    return pd_location_key_address(place, address, false);
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
    CHECK(!pd_key_equal(here, at(0x400000, 0, "/bin/app(deleted)", "", 0x402010)));
    CHECK(!pd_key_equal(here, at(0x400000, 0, "/bin/app (deleted)x", "", 0x402010)));
    CHECK(pd_key_equal(at(0, 0, "/bin/app", "id", 9), at(0, 0, "/bin/app (deleted)", "id", 9)));
}

TEST(memory_without_a_file_is_identified_by_address)
{
    static const char *const names[] = {"",
                                        "//anon",
                                        "[anon]",
                                        "[heap]",
                                        "[stack]",
                                        "[anon: Go heap]",
                                        "[",
                                        "[vdso",
                                        "[vdso] ",
                                        "/memfd:jit (deleted)",
                                        "/memfd:jit",
                                        "/dev/zero (deleted)",
                                        "/SYSV00000000 (deleted)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pd_place place = pd_place_of_mapping(0x7000, 0x100, text(names[i]), none);
        CHECK_MSG(!place.file.lo && !place.file.hi && !place.bias, "%s", names[i]);
        CHECK(pd_key_equal(at(0x7000, 0x100, names[i], "", 0x7010),
                           pd_location_key_address(PD_NOWHERE_MAPPED, 0x7010, false)));
        CHECK(!pd_key_equal(at(0x7000, 0, names[i], "", 0x7010),
                            at(0x8000, 0, names[i], "", 0x8010)));
    }
    pd_place place = pd_place_of_mapping(0x7000, 0x100, none, none);
    CHECK(!place.file.lo && !place.file.hi && !place.bias);
}

TEST(regions_of_the_kernel_are_identified_by_name)
{
    static const char *const names[] = {"[vdso]",      "[vsyscall]", "/a",   "a",
                                        "//anonymous", "anon",       "//ano"};
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
    pd_place place = pd_place_of_mapping(0x1000, 0, text("f"), none);
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
        pd_function_key(text("n"), text("s"), text("f"), 1),
        pd_function_key(text("m"), text("s"), text("f"), 1),
        pd_function_key(text("n"), text("t"), text("f"), 1),
        pd_function_key(text("n"), text("s"), text("g"), 1),
        pd_function_key(text("n"), text("s"), text("f"), 2),
        pd_function_key(text("n"), text("s"), text("f"), -1),
        pd_function_key(text("s"), text("n"), text("f"), 1),
        pd_function_key(text("f"), text("s"), text("n"), 1),
        pd_function_key(text("ns"), none, text("f"), 1),
        pd_function_key(none, text("ns"), text("f"), 1),
        pd_function_key(none, none, none, 0),
    };
    CHECK(all_different(keys, sizeof keys / sizeof *keys));
    char copy[] = "n";
    CHECK(pd_key_equal(keys[0], pd_function_key(text(copy), text("s"), text("f"), 1)));
    CHECK(pd_key_equal(keys[10], pd_function_key(text(""), none, text(""), 0)));
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
    pd_place by_id = pd_place_of_mapping(0x400000, 0x1000, text("/bin/app"), text("abc123"));
    pd_place by_name = pd_place_of_mapping(0x400000, 0x1000, text("/bin/app"), none);
    pd_key function = pd_function_key(text("main.main"), text("main.main"), text("main.go"), 12);
    pd_key got[] = {
        pd_location_key_address(by_id, 0x401234, false),
        pd_location_key_address(by_name, 0x401234, false),
        pd_location_key_address(PD_NOWHERE_MAPPED, 0x401234, false),
        pd_location_key_address(by_id, 0x401234, true),
        pd_location_key_address(PD_NOWHERE_MAPPED, 0, false),
        function,
        pd_location_key_line(pd_location_key_lines_begin(false), function, 15, 3),
        pd_location_key_line(pd_location_key_lines_begin(true), function, 15, 3),
    };
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        CHECK_MSG(pd_key_equal(got[i], pinned[i].want), "%s is {0x%016llx, 0x%016llx}",
                  pinned[i].what, (unsigned long long)got[i].lo, (unsigned long long)got[i].hi);
}

TEST_MAIN(CASE(the_load_address_does_not_matter), CASE(the_file_offset_matters),
          CASE(a_build_id_overrides_the_name), CASE(a_deleted_file_is_the_same_file),
          CASE(memory_without_a_file_is_identified_by_address),
          CASE(regions_of_the_kernel_are_identified_by_name), CASE(folded_locations_differ),
          CASE(address_zero_means_none), CASE(every_field_of_a_function_matters),
          CASE(the_order_of_lines_matters), CASE(identities_have_fixed_values))
