/* The hints of the command are chosen by the status and the reason of an error, and by nothing that
 * its text says. */
#include "message.h"

#include "../support/test.h"

#include "base/error.h"
#include "text.h"

#include <unistd.h>

static const struct {
    pprofdelta_status status;
    pprofdelta_reason reason;
    const char *hint; /* NULL: none */
} advices[] = {
    {PPROFDELTA_E_LIMIT, PPROFDELTA_REASON_MAX_MEMORY, "--max-memory=SIZE"},
    {PPROFDELTA_E_LIMIT, PPROFDELTA_REASON_ADDRESS_SPACE, "64-bit"},
    {PPROFDELTA_E_LIMIT, PPROFDELTA_REASON_NONE, NULL},
    {PPROFDELTA_E_PROFILE, PPROFDELTA_REASON_IS_STATE, "--state=FILE"},
    {PPROFDELTA_E_PROFILE, PPROFDELTA_REASON_SEVERAL, "of its own"},
    {PPROFDELTA_E_PROFILE, PPROFDELTA_REASON_NONE, NULL},
    {PPROFDELTA_E_NOT_CUMULATIVE, PPROFDELTA_REASON_IS_WINDOW, "?seconds="},
    {PPROFDELTA_E_NOT_CUMULATIVE, PPROFDELTA_REASON_NONE, "-c TYPE"},
    {PPROFDELTA_E_MISMATCH, PPROFDELTA_REASON_SWAPPED, "older profile comes first"},
    {PPROFDELTA_E_MISMATCH, PPROFDELTA_REASON_NO_COUNTER, "-c TYPE"},
    {PPROFDELTA_E_MISMATCH, PPROFDELTA_REASON_OTHER_TYPES, "one kind of profile"},
    {PPROFDELTA_E_MISMATCH, PPROFDELTA_REASON_OTHER_OPTIONS, "same -c and -g"},
    {PPROFDELTA_E_MISMATCH, PPROFDELTA_REASON_NONE, NULL},
    {PPROFDELTA_E_STATE, PPROFDELTA_REASON_NEWER_STATE, "use that pprofdelta"},
    {PPROFDELTA_E_STATE, PPROFDELTA_REASON_NONE, "the file is unchanged"},
};

/* What is printed on stderr for an error with this text. */
static void print(size_t i, const char *wording, char out[4096])
{
    pprofdelta_error err = {.status = advices[i].status,
                            .reason = advices[i].reason,
                            .stage = PPROFDELTA_STAGE_DELTA,
                            .field = "",
                            .element = PPROFDELTA_NOWHERE,
                            .offset = PPROFDELTA_NOWHERE};
    int ends[2], kept = dup(STDERR_FILENO);
    snprintf(err.text, sizeof err.text, "%s", wording);
    REQUIRE(!pipe(ends) && dup2(ends[1], STDERR_FILENO) >= 0);
    cli_inputs_error(CLI_A_STATE, "state", "cur", &err);
    REQUIRE(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    close(ends[1]);
    ssize_t got = read(ends[0], out, 4095);
    close(ends[0]);
    REQUIRE(got > 0);
    out[got] = 0;
}

TEST(another_wording_has_the_same_hint)
{
    static const char *const wordings[] = {
        "it is so", "more than max_memory allows in a 32-bit process; this is a state; newer",
        "the value types differ; the options name other types; not a state; missing between them"};
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
        for (size_t w = 0; w < sizeof wordings / sizeof *wordings; w++) {
            char out[4096];
            print(i, wordings[w], out);
            const char *hint = strstr(out, "hint: ");
            CHECK_MSG(!hint == !advices[i].hint, "case %zu: %s", i, out);
            CHECK_MSG(!hint || strstr(hint, advices[i].hint), "case %zu: %s", i, out);
        }
    }
}

TEST_MAIN()

/* The text of an error of the library that quotes this name, and the name as the command shows it. */
static void check_quoted(const char *name)
{
    char shown[64];
    pprofdelta_error err;
    PD_FAIL(&err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_DELTA, NULL, "%s", name);
    cli_string_write(shown, sizeof shown, cli_string_of(name));
    CHECK_STR(err.text, shown);
}

TEST(the_library_escapes_what_the_command_escapes)
{
    for (uint32_t code = 1; code < 0x110000; code++) {
        char name[8] = {0};
        if (code < 0x80)
            name[0] = (char)code;
        else
            for (size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, i = 0; i < len; i++)
                name[i] = (char)((i ? 0x80 : 0xf00 >> len) |
                                 (code >> 6 * (len - 1 - i) & (i ? 0x3f : 0x7fu >> len)));
        check_quoted(name);
    }
    for (unsigned bytes = 0x8000; bytes < 0x10000; bytes++) /* also what is cut off or not UTF-8 */
        check_quoted((const char[]){(char)(bytes >> 8), (char)(bytes & 0xff), 0});
}

TEST(a_long_text_is_cut_between_characters)
{
    char name[3 * sizeof((pprofdelta_error){0}.text)];
    pprofdelta_error err;
    for (size_t at = 0; at < 8; at++) {
        memset(name, '\x1b', sizeof name);
        memset(name, 'a', at);
        name[sizeof name - 1] = 0;
        PD_FAIL(&err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_DELTA, NULL, "%s", name);
        size_t len = strlen(err.text);
        CHECK(len < sizeof err.text && len > sizeof err.text - 6 && (len - at) % 4 == 0);
    }
}
