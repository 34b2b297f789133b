/* Kinds of files by their first bytes: plain and compressed, whole and cut off, and the beginnings of
 * profiles. testdata/hostile has a file of every kind with a name. */
#include "test.h"

#include "arena.h"
#include "pprofdelta_profile.h"
#include "pack.h"
#include "delta/kind.h"
#include "rng.h"

#include <elf.h>
#include <stdlib.h>

#define OTHER PPROFDELTA_FILE_OTHER

/* A tar header has its magic where the name, the mode, the owner and so on have ended. */
static const char tar[512] = {[0] = 'h', [257] = 'u', 's', 't', 'a', 'r'};

static const struct {
    const char *bytes;
    size_t len;
    pprofdelta_file_kind kind;
    const char *name;
} files[] = {
#define FILE(text, kind, name)                                                                     \
    {                                                                                              \
        text, sizeof(text) - 1, kind, name                                                         \
    }
    FILE("", PPROFDELTA_FILE_EMPTY, "an empty file"),
    FILE("\x89PDS\r\n\x1a\n\2", PPROFDELTA_FILE_STATE, "a state that pprofdelta wrote"),
    {tar, sizeof tar, OTHER, "a tar archive"},
    FILE("go 1.22 trace\0\0\0", OTHER, "an execution trace of Go"),
    FILE("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
         OTHER, "a CPU profile in the old form of gperftools"),
    FILE(ELFMAG "\2\1\1\0\0\0\0\0\0\0\0\0\4\0\x3e\0", OTHER, "a program or a core dump"),
    FILE("ARROW1\0\0\xff\xff\xff\xff", PPROFDELTA_FILE_ARROW, "an Arrow file"),
    FILE("\xef\xbb\xbf\r\n <html lang=en>", PPROFDELTA_FILE_HTML, "an HTML page"),
    FILE(" [\n {}]", OTHER, "JSON"),
    FILE("<?xml version=\"1.0\"?><Error>", OTHER, "an XML document"),
    FILE("heap_v2/0\n", OTHER, "a heap profile as text"),
    FILE("heap_v2/524288\n  t*: 1: 2 [0: 0]\n", PPROFDELTA_FILE_TEXT, "a heap profile as text"),
    FILE("heap profile:      1:     2 [     1:     2] @ heapprofile\n", PPROFDELTA_FILE_TEXT,
         "a heap profile as text"),
    FILE("goroutine 1 [running]:\nmain.main()\n", OTHER,
         "a list of goroutines, as ?debug=2 gives it"),
    FILE("\xc3\xa9\n", OTHER, "text"),
    FILE("\0\0\0\0", PPROFDELTA_FILE_UNKNOWN, "data of an unknown kind"),
    FILE("\xff\xff\0", PPROFDELTA_FILE_UNKNOWN, "data of an unknown kind"),
    FILE("\0\0\0\0\0\0\0\3\0\0\0\0\0\0\x27\x10\0\0\0\0", OTHER,
         "a CPU profile in the old form of gperftools"),
    FILE("--- contentionz 1 ---\n", OTHER,
         "a contention profile in an old text form (contentionz)"),
    FILE("--- threadz 1 ---\n", OTHER, "a list of threads in an old text form (threadz)"),
    FILE("heap profile:  1:  2 [ 1:  2] @ growthz\n", OTHER,
         "a heap growth profile in an old text form (growthz)"),
    FILE("heap profile:  1:  2 [ 1:  2] @ heap/4\n 1: 2 [ 1: 2] @ 0x1\n", OTHER,
         "a heap profile in an old text form (heapz)"),
    FILE("heap profile: 1: 2 [1: 2] @ heap/4\n1: 2 [1: 2] @ 0x1\n#\t0x1\tmain.f+0x1  a.go:1\n",
         OTHER, "the text form of a profile, as ?debug=1 gives it"),
    FILE("--- mutex:\ncycles/second=1\n", OTHER,
         "the text form of a profile, as ?debug=1 gives it"),
    FILE("--- a/x.c\n+++ b/x.c\n", OTHER, "text"),
    FILE("\0\0\0\4\x0a\2\x0a\0", OTHER,
         "a stream of OTLP requests, as the Collector's file exporter writes it"),
    FILE("\0\0\0\x10\x28\xb5\x2f\xfd\0", OTHER,
         "a stream of OTLP requests, as the Collector's file exporter writes it"),
    FILE("\0\0\0\4\x0a\2\x08\1", PPROFDELTA_FILE_UNKNOWN, "data of an unknown kind"),
    FILE("\x0a\x04\x08\x01\x10\x02\x32\0", PPROFDELTA_FILE_PROFILE, "a pprof profile"),
    FILE("\x12\x07\x0a\x01\x01\x12\x02\x05\x06", PPROFDELTA_FILE_PROFILE, "a pprof profile"),
    FILE("\x12\xff\x7f\x0a\x01\x01", PPROFDELTA_FILE_PROFILE, "a pprof profile"), /* cut off */
    FILE("\xa8\x06\x01\x0a\x04\x08\x01\x10\x02", PPROFDELTA_FILE_PROFILE, "a pprof profile"),
    FILE("\x08\x01\x0a\x04\x08\x01\x10\x02", PPROFDELTA_FILE_UNKNOWN, "data of an unknown kind"),
    FILE("\xa8\x06\x01", PPROFDELTA_FILE_UNKNOWN, "data of an unknown kind"),
    /* requests and profiles, which are told by their shape */
    FILE("\x0a\0", PPROFDELTA_FILE_PROFILE, "a pprof profile"), /* both have an empty field 1 */
    FILE("\x12\0", PPROFDELTA_FILE_PROFILE, "a pprof profile"),
    FILE("\x0a\4\x08\1\x10\2", PPROFDELTA_FILE_PROFILE, "a pprof profile"), /* a sample type */
    FILE("\x0a\2\x0a\0", PPROFDELTA_FILE_OTLP, "an OTLP request"),          /* a resource */
    FILE("\x0a\2\x12\0", PPROFDELTA_FILE_OTLP, "an OTLP request"),          /* scope_profiles */
    FILE("\x0a\2\x1a\0", PPROFDELTA_FILE_OTLP, "an OTLP request"),          /* schema_url */
    FILE("\x0a\x7f\x0a\x7f\x0a", PPROFDELTA_FILE_OTLP, "an OTLP request"),  /* its beginning */
    FILE("\x0a\2\x0a\0\x32\0", PPROFDELTA_FILE_PROFILE, "a pprof profile"), /* a string table */
    FILE("\x12\2\x08\1", PPROFDELTA_FILE_PROFILE, "a pprof profile"),       /* a sample */
    FILE("\x12\6\x0a\1\1\x12\1\1", PPROFDELTA_FILE_PROFILE,
         "a pprof profile"),                                             /* a sample, packed */
    FILE("\x12\4\x0a\0\x2a\0", PPROFDELTA_FILE_OTLP, "an OTLP request"), /* a dictionary */
    FILE("\x12\4\x0a\0\x2a\0\x0a\2\x0a\0", PPROFDELTA_FILE_OTLP, "an OTLP request"),
    FILE("\x12\x7f\x0a\0\x0a\0", PPROFDELTA_FILE_OTLP,
         "an OTLP request"), /* tables, and more that is missing */
    FILE("\x12\4\x0a\0\x0a\0", PPROFDELTA_FILE_OTLP,
         "an OTLP request"), /* no sample has two empty lists */
    FILE("\n\n\n\n\n\n\n\n\n\n\n\n\n\n", OTHER, "text"),
    FILE("\x1a\0", PPROFDELTA_FILE_PROFILE, "a pprof profile"),
    FILE("\x12\4\x22\0\x22\0\x12\4\x22\0\x22\0", PPROFDELTA_FILE_OTLP, "an OTLP request"),
    FILE("\x12\2\x22\0\x12\2\x22\0\x12\2\x22\0", PPROFDELTA_FILE_PROFILE,
         "a pprof profile"), /* one dictionary more than by mistake */
#undef FILE
};
enum { FILES = sizeof files / sizeof *files };

TEST(every_kind_is_recognised)
{
    for (size_t i = 0; i < FILES; i++) {
        pd_bytes bytes = {(const uint8_t *)files[i].bytes, files[i].len};
        pd_kind got = pd_kind_of(bytes);
        CHECK_MSG(got.kind == files[i].kind, "%zu: %s", i, files[i].name);
        CHECK_STR(got.name, files[i].name);
    }
}

/* Bytes without the first fields of a profile are foreign; a profile that is damaged behind them is not. */
TEST(what_is_no_profile_is_told)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool is_foreign;
    } rows[] = {
#define ROW(text, is_foreign) {text, sizeof(text) - 1, is_foreign}
        ROW("\xff\xff\0", true),
        ROW("\x82\xb7\x0e\xee\x7f", true), /* a field that no profile has, longer than the file */
        ROW("\x0a\2\x08\1\x0b", true),
        ROW("\x0a\2\x08\1\x12\2\x10\1\x32\0\x0b", false),
        ROW("\x0a\2\x08\1\x32\x7f", false), /* cut off */
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pprofdelta_error err = {.text = "why"};
        pd_kind_tell((pd_bytes){(const uint8_t *)rows[i].bytes, rows[i].len}, PPROFDELTA_E_WIRE,
                     &err);
        CHECK_STR(err.text, rows[i].is_foreign ? "not a pprof profile: why" : "why");
    }
    pprofdelta_error full;
    memset(full.text, 'x', sizeof full.text - 1);
    full.text[sizeof full.text - 1] = 0;
    pd_kind_tell((pd_bytes){(const uint8_t *)"\xff\xff\0", 3}, PPROFDELTA_E_WIRE, &full);
    CHECK(strlen(full.text) == sizeof full.text - 1);
    CHECK(!pd_kind_tell((pd_bytes){(const uint8_t *)"\xff\xff\0", 3}, PPROFDELTA_OK, NULL));
}

/* Copies of exactly so many bytes: what is read behind them is seen by a sanitizer. */
TEST(no_prefix_is_read_past_its_end)
{
    for (size_t i = 0; i < FILES; i++)
        for (size_t len = 0; len <= files[i].len; len++) {
            uint8_t *copy = malloc(len + 1);
            REQUIRE(copy);
            memcpy(copy + 1, files[i].bytes, len); /* unaligned, too */
            CHECK(pd_kind_of((pd_bytes){copy + 1, len}).name);
            pprofdelta_error err;
            pprofdelta_status status =
                pd_kind_tell((pd_bytes){copy + 1, len}, PPROFDELTA_E_WIRE, &err);
            CHECK(status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE);
            free(copy);
        }
}

static void check_identified(const buf *packed, size_t i)
{
    pprofdelta_file_kind kind;
    const char *name;
    REQUIRE(pprofdelta_identify(packed->ptr, packed->len, &kind, &name, NULL) == PPROFDELTA_OK);
    CHECK_MSG(kind == files[i].kind, "%zu: %s", i, name);
    CHECK_STR(name, files[i].name);
}

TEST(compressed_files_have_the_kind_of_their_content)
{
    ENDS(arena_free) arena a = {0};
    for (size_t i = 0; i < FILES; i++) {
        buf plain = buf_begin(&a);
        buf_add(&plain, files[i].bytes, files[i].len);
        buf packed[] = {plain, pack_gzip(&a, plain, 1), pack_gzip(&a, plain, 2),
                        pack_zstd(&a, plain, 1), pack_zstd(&a, plain, 2)};
        for (size_t n = 0; n < sizeof packed / sizeof *packed; n++)
            check_identified(&packed[n], i);
    }
}

/* The first part of something large is enough; what cannot be inflated is of no kind. */
TEST(a_prefix_of_compressed_data_is_enough)
{
    enum { LARGE = 1 << 20, HEAD = 64 << 10 };
    ENDS(arena_free) arena a = {0};
    pprofdelta_file_kind kind;
    const char *name;
    pprofdelta_error err = {0};
    rng r = {7};
    buf plain = buf_begin(&a);
    buf_add(&plain, tar, sizeof tar);
    for (size_t i = 0; i < LARGE / 8; i++) {
        uint64_t noise = rng_next(&r);
        buf_add(&plain, &noise, sizeof noise);
    }
    buf packed[] = {pack_gzip(&a, plain, 1), pack_zstd(&a, plain, 1)};
    for (int i = 0; i < 2; i++) {
        CHECK(pprofdelta_identify(packed[i].ptr, HEAD, &kind, &name, NULL) == PPROFDELTA_OK);
        CHECK_STR(name, "a tar archive");
        CHECK(pprofdelta_identify(packed[i].ptr, 12, &kind, &name, &err) == PPROFDELTA_OK);
        CHECK(kind == PPROFDELTA_FILE_UNKNOWN && !err.field);
        CHECK_STR(name, "compressed data that are damaged or cut off");
    }
    CHECK(pprofdelta_identify(NULL, 0, &kind, &name, NULL) == PPROFDELTA_OK);
    CHECK(kind == PPROFDELTA_FILE_EMPTY);
    CHECK(pprofdelta_identify(NULL, 1, &kind, &name, NULL) == PPROFDELTA_E_USAGE);
}

TEST_MAIN()
