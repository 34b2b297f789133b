/* The library without codecs and with the parsed door only: plain profiles work, compressed ones are refused, and
 * so are options that it cannot keep. */
#include "census.h"
#include "test.h"

#include <stdlib.h>

typedef struct file {
    unsigned char bytes[1 << 16];
    size_t len;
} file;

static file read_file(const char *name)
{
    file f;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("PD_TESTDATA"), name);
    FILE *from = fopen(path, "rb");
    f.len = from ? fread(f.bytes, 1, sizeof f.bytes, from) : 0;
    if (from)
        fclose(from);
    return f;
}

static int keep(void *cookie, const void *data, size_t len)
{
    file *to = cookie;
    if (len > sizeof to->bytes - to->len)
        return 1;
    memcpy(to->bytes + to->len, data, len);
    to->len += len;
    return 0;
}

static const pprofdelta_options plain_options = {.size = sizeof(pprofdelta_options),
                                                 .compression = PPROFDELTA_PLAIN,
                                                 .max_memory = PPROFDELTA_DEFAULT_MAX_MEMORY};

static pprofdelta *plain_context(void)
{
    pprofdelta *pd = NULL;
    CHECK(pprofdelta_new(&plain_options, NULL, &pd, NULL) == PPROFDELTA_OK);
    return pd;
}

TEST(a_plain_profile_has_a_delta)
{
    file a = read_file("hostile/good.pb"), b = read_file("hostile/good-later.pb");
    file out = {.len = 0};
    pprofdelta *pd = plain_context();
    pprofdelta_sink sink = {keep, &out};
    pprofdelta_report report = {.size = sizeof report};
    pprofdelta_census census;
    REQUIRE(a.len && b.len && pd);
    CHECK(pprofdelta_base(pd, a.bytes, a.len, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_window(pd, b.bytes, b.len, &sink, &report, NULL) == PPROFDELTA_OK);
    CHECK(report.output_len == out.len && out.len > 0);
    pprofdelta_commit(pd);
    CHECK(census_within(&plain_options, NULL, out.bytes, out.len, &census, NULL) == PPROFDELTA_OK);
    CHECK(census.is_stamped && census.samples == report.samples_out);
    pprofdelta_free(pd);
}

static void refused(const char *name, const char *what)
{
    file in = read_file(name), out = {.len = 0};
    pprofdelta *pd = plain_context();
    pprofdelta_sink sink = {keep, &out};
    pprofdelta_error err;
    pprofdelta_file_kind kind;
    const char *noun;
    REQUIRE(in.len && pd);
    CHECK(pprofdelta_window(pd, in.bytes, in.len, &sink, NULL, &err) == PPROFDELTA_E_INFLATE);
    CHECK_STR(err.stage, "inflate");
    CHECK_MSG(err.offset == 0 && strstr(err.text, what), "%s", err.text);
    CHECK(out.len == 0);
    CHECK(pprofdelta_base(pd, in.bytes, in.len, NULL) == PPROFDELTA_E_INFLATE);
    CHECK(census_within(&plain_options, NULL, in.bytes, in.len, NULL, NULL) ==
          PPROFDELTA_E_INFLATE);
    CHECK(pprofdelta_identify(in.bytes, in.len, &kind, &noun, NULL) == PPROFDELTA_OK);
    CHECK(kind == PPROFDELTA_FILE_UNKNOWN);
    pprofdelta_free(pd);
}

TEST(compressed_input_is_refused)
{
    refused("valid/heap.1.pb.gz", "gzip");
    refused("hostile/zstd-size-wrong.pb.zst", "zstd");
    refused("hostile/gzip-bomb.pb.gz", "gzip");
    refused("hostile/gzip-cut-behind-magic.pb.gz", "gzip");
}

TEST(a_sum_refuses_compressed_input)
{
    file in = read_file("valid/heap.1.pb.gz"), plain = read_file("hostile/good.pb");
    file out = {.len = 0};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_adder *adder = NULL;
    pprofdelta_sink sink = {keep, &out};
    options.compression = PPROFDELTA_PLAIN;
    REQUIRE(pprofdelta_adder_new(&options, NULL, &adder, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_adder_add(adder, in.bytes, in.len, NULL, NULL) == PPROFDELTA_E_INFLATE);
    CHECK(pprofdelta_adder_add(adder, plain.bytes, plain.len, NULL, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_adder_finish(adder, &sink, NULL) == PPROFDELTA_OK && out.len > 0);
    pprofdelta_adder_free(adder);
}

TEST(a_context_writes_only_plain_profiles)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta *pd = NULL;
    pprofdelta_adder *adder = NULL;
    pprofdelta_error err;
    CHECK(pprofdelta_new(NULL, NULL, &pd, &err) == PPROFDELTA_E_USAGE && !pd);
    CHECK_MSG(strstr(err.text, "options.compression") != NULL, "%s", err.text);
    CHECK(pprofdelta_new(&options, NULL, &pd, NULL) == PPROFDELTA_E_USAGE && !pd);
    options.compression = PPROFDELTA_ZSTD;
    CHECK(pprofdelta_new(&options, NULL, &pd, NULL) == PPROFDELTA_E_USAGE && !pd);
    CHECK(pprofdelta_adder_new(&options, NULL, &adder, NULL) == PPROFDELTA_E_USAGE && !adder);
}

TEST_MAIN()
