/* Kinds of files by their first bytes: plain and compressed, whole and cut off, and the beginnings of
 * profiles. testdata/hostile has a file of every kind with a name. */
#include "test.h"

#include "arena.h"
#include "pprofdelta_profile.h"
#include "pack.h"
#include "delta/kind.h"
#include "rng.h"
#include "rows.h"

#include <stdlib.h>

#define OTHER PPROFDELTA_FILE_OTHER

/* A tar header has its magic where the name, the mode, the owner and so on have ended. */
static const char tar[512] = {[0] = 'h', [257] = 'u', 's', 't', 'a', 'r'};

enum { MOST = 80 };

/* Those of tables/kinds.txt, an empty one and an archive. */
static struct {
    char bytes[512], name[80];
    size_t len;
    pprofdelta_file_kind kind;
} files[MOST];
static size_t files_len;

static void add_file(const char *bytes, size_t len, pprofdelta_file_kind kind, const char *name)
{
    memcpy(files[files_len].bytes, bytes, len);
    snprintf(files[files_len].name, sizeof files->name, "%s", name);
    files[files_len].len = len;
    files[files_len++].kind = kind;
}

__attribute__((constructor)) static void read_files(void)
{
    static const char *const words[] = {
        [PPROFDELTA_FILE_EMPTY] = "empty", [PPROFDELTA_FILE_UNKNOWN] = "unknown",
        [PPROFDELTA_FILE_OTHER] = "other", [PPROFDELTA_FILE_PROFILE] = "profile",
        [PPROFDELTA_FILE_OTLP] = "otlp",   [PPROFDELTA_FILE_STATE] = "state",
        [PPROFDELTA_FILE_TEXT] = "text",   [PPROFDELTA_FILE_HTML] = "html",
        [PPROFDELTA_FILE_ARROW] = "arrow"};
    table_rows r = {0};
    add_file("", 0, PPROFDELTA_FILE_EMPTY, "an empty file");
    add_file(tar, sizeof tar, OTHER, "a tar archive");
    while (rows_next(&r, "kinds", "kinds")) {
        size_t kind = 0;
        while (strcmp(words[kind], r.cells[0]) != 0)
            kind++;
        add_file(r.cells[2], rows_bytes(r.cells[2]), (pprofdelta_file_kind)kind, r.cells[1]);
    }
}

TEST(every_kind_is_recognised)
{
    for (size_t i = 0; i < files_len; i++) {
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
    for (size_t i = 0; i < files_len; i++)
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
    for (size_t i = 0; i < files_len; i++) {
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
