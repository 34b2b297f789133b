/* cli/show/wrappers.c: which frames `show` folds away; cli/names.c: what it calls the rest. The names are in
 * tables/wrappers.txt. */
#include "names.h"
#include "rows.h"
#include "show/wrappers.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static unsigned kind_of(const char *letters)
{
    static const char known[] = "ASLPNMRI";
    static const unsigned kinds[] = {
        CLI_FRAME_ALLOCATES,   CLI_FRAME_STARTS,  CLI_FRAME_IN_LIBC,     CLI_FRAME_IN_LIBRARY,
        CLI_FRAME_IS_NAMELESS, CLI_FRAME_IS_MAIN, CLI_FRAME_STARTS_RUST, CLI_FRAME_INTERPRETS};
    unsigned kind = 0;
    for (; *letters && *letters != '-'; letters++)
        kind |= kinds[strchr(known, *letters) - known];
    return kind;
}

TEST(frames_are_judged_by_name_and_file)
{
    table_rows r = {0};
    while (rows_next(&r, "wrappers", "kinds"))
        for (size_t i = 3; i < r.len; i++) {
            unsigned got =
                cli_frame_kind(cli_string_of(r.cells[i]), cli_string_of(r.cells[1]),
                               cli_string_of(r.cells[2]), strchr(r.cells[0], 'N') != NULL);
            CHECK_MSG(got == kind_of(r.cells[0]), "%s in %s of %s: %u", r.cells[i], r.cells[1],
                      r.cells[2], got);
        }
}

TEST(functions_have_owners)
{
    static const char *const owners[] = {[CLI_FRAME_OF_PROGRAM] = "program",
                                         [CLI_FRAME_OF_LIBRARY] = "library",
                                         [CLI_FRAME_OF_LANGUAGE] = "language"};
    table_rows r = {0};
    while (rows_next(&r, "wrappers", "owners"))
        CHECK_STR(owners[cli_frame_owner_of(cli_string_of(r.cells[3]), cli_string_of(r.cells[1]),
                                            cli_string_of(r.cells[2]))],
                  r.cells[0]);
}

/* ---- names as people say them --------------------------------------------------------------- */

TEST(names_are_short)
{
    static char to[CLI_SHORT_NAME_MAX];
    table_rows r = {0};
    while (rows_next(&r, "wrappers", "short names")) {
        const char *name = *r.cells[0] ? r.cells[0] : r.cells[1];
        cli_string got = cli_short_name(cli_string_of(name), to);
        CHECK_MSG(cli_string_is(got, r.cells[1]), "%s: %.*s", name, (int)got.len, got.ptr);
        char copy[1024];
        size_t len = got.len;
        memcpy(copy, got.ptr, len);
        got = cli_short_name((cli_string){copy, len}, to);
        CHECK_MSG(got.len == len && got.ptr == copy, "twice: %.*s", (int)len, copy);
    }
}

/* Every prefix of a name, copied to exactly so many bytes, and names that are too long. */
TEST(odd_names_are_left_or_get_shorter)
{
    static const char name[] =
        "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
        "X, std::less<std::__cxx11::basic_string<char, std::char_traits<char>, "
        "std::allocator<char> > > >::operator->[abi:a]";
    static char to[CLI_SHORT_NAME_MAX], large[CLI_SHORT_NAME_MAX + 2];
    for (size_t len = 0; len < sizeof name; len++) {
        char *copy = malloc(len + 1), *out = malloc(CLI_SHORT_NAME_MAX);
        REQUIRE(copy && out); // NOLINT(clang-analyzer-unix.Malloc): the test ends
        memcpy(copy, name, len);
        CHECK(cli_short_name((cli_string){copy, len}, out).len <= len);
        free(copy);
        free(out);
    }
    memset(large, 'a', sizeof large);
    memcpy(large, "a::[abi:x]", 10); // NOLINT(bugprone-not-null-terminated-result)
    CHECK(cli_short_name((cli_string){large, CLI_SHORT_NAME_MAX + 1}, to).ptr == large);
    CHECK(cli_short_name((cli_string){large, CLI_SHORT_NAME_MAX}, to).len ==
          CLI_SHORT_NAME_MAX - 7);
}

TEST_MAIN()
