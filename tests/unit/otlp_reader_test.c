/* OTLP requests as input: what the writer made is read back, and every way in which the reader can
 * fail. tests/hostile has the messages, and tests/fuzz compares the reader with protobuf-c. */
#include "delta_stage.h"
#include "otlp_kit.h"
#include "seeds.h"

#include "otlp/request.h"
#include "otlp/shape.h"

/* A file of the test data. */
static buf real(arena *a, const char *name)
{
    const char *data = getenv("PD_TESTDATA");
    FILE *file = fopen(arena_format(a, "%s/%s", data ? data : PD_TESTDATA, name), "rb");
    buf out = buf_begin(a);
    uint8_t piece[4096];
    size_t got;
    CHECK_MSG(file, "%s", name);
    while (file && (got = fread(piece, 1, sizeof piece, file)) > 0)
        buf_add(&out, piece, got);
    if (file)
        fclose(file);
    return out;
}

/* ---- there and back ------------------------------------------------------------------------------ */

/* NULL if the request, read back, means what the profile means. */
static const char *differ_read_back(arena *a, buf pprof, buf request)
{
    pprofdelta *pd;
    pprofdelta_error err = {.text = ""};
    const uint8_t *bytes = NULL;
    size_t len = 0;
    otlp_model want, got;
    const char *wrong = NULL;
    CHECK(!pprofdelta_new(NULL, NULL, &pd, NULL));
    if (pprofdelta_inflate(pd, request.ptr, request.len, &bytes, &len, &err))
        wrong = arena_format(a, "%s: %s", err.field, err.text);
    else if (!otlp_model_read_pprof(a, pprof.ptr, pprof.len, &want) ||
             !otlp_model_of_pprof(a, bytes, len, &got))
        wrong = "a profile cannot be unpacked";
    else
        wrong = otlp_model_differ(a, &want, &got);
    pprofdelta_free(pd);
    return wrong;
}

TEST(deltas_are_read_back)
{
    seed_range range = seeds(8);
    size_t pairs = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        stage s;
        pprofdelta_status status, other;
        stage_begin(&s, seed + 9000000);
        pprofdelta_options otlp = s.options;
        otlp.format = PPROFDELTA_OTLP;
        buf prev = look(&s);
        gen_evolve(&s.g, GEN_ANYTHING & ~GEN_WINDOW);
        buf cur = look(&s);
        buf pprof = pair(&s.arena, &s.options, prev, cur, &status);
        buf request = pair(&s.arena, &otlp, prev, cur, &other);
        CHECK(status == other);
        const char *wrong = status ? NULL : differ_read_back(&s.arena, pprof, request);
        AGREE(seed, wrong);
        pairs += !status;
        stage_end(&s);
    }
    CHECK(getenv("PD_TEST_SEED") || pairs > range.to / 4);
}

TEST(deltas_of_real_profiles_are_read_back)
{
    static const char *const kinds[] = {"heap", "mutex", "block"};
    for (size_t i = 0; i < 3; i++) {
        arena a = {NULL};
        pprofdelta_status status, other;
        pprofdelta_options plain = PPROFDELTA_OPTIONS_INIT, otlp = PPROFDELTA_OPTIONS_INIT;
        otlp.format = PPROFDELTA_OTLP;
        buf prev = real(&a, arena_format(&a, "valid/%s.1.pb.gz", kinds[i]));
        buf cur = real(&a, arena_format(&a, "valid/%s.2.pb.gz", kinds[i]));
        buf pprof = pair(&a, &plain, prev, cur, &status);
        buf request = pair(&a, &otlp, prev, cur, &other);
        CHECK(!status && !other);
        const char *wrong = differ_read_back(&a, pprof, request);
        CHECK_MSG(!wrong, "%s: %s", kinds[i], wrong);
        arena_free(&a);
    }
}

/* ---- a request ----------------------------------------------------------------------------------- */

/* A delta of the bundled profiles, not compressed. */
static buf request_of(arena *a, const char *kind, pprofdelta_compression compression)
{
    pprofdelta_status status;
    pprofdelta_options otlp = PPROFDELTA_OPTIONS_INIT;
    otlp.format = PPROFDELTA_OTLP;
    otlp.compression = compression;
    buf prev = real(a, arena_format(a, "valid/%s.1.pb.gz", kind));
    buf cur = real(a, arena_format(a, "valid/%s.2.pb.gz", kind));
    buf made = pair(a, &otlp, prev, cur, &status);
    CHECK(!status);
    return made;
}

TEST(what_is_in_a_request)
{
    static const pprofdelta_compression compressions[] = {PPROFDELTA_PLAIN, PPROFDELTA_GZIP,
                                                          PPROFDELTA_ZSTD};
    static const char *const formats[] = {"otlp", "gzip", "zstd"};
    for (size_t i = 0; i < 3; i++) {
        arena a = {NULL};
        pprofdelta *pd;
        pprofdelta_census census;
        pprofdelta_request facts = PPROFDELTA_REQUEST_INIT;
        pprofdelta_file_kind kind;
        const char *name;
        buf request = request_of(&a, "heap", compressions[i]);
        CHECK(!pprofdelta_new(NULL, NULL, &pd, NULL));
        CHECK(!pprofdelta_request_of(pd, &facts));
        CHECK(!pprofdelta_check(pd, request.ptr, request.len, &census, NULL));
        CHECK_STR(census.format, formats[i]);
        CHECK(census.is_stamped && census.types == 4 && !census.unknown_fields);
        CHECK(pprofdelta_request_of(pd, &facts));
        CHECK(facts.len == census.inflated_len && facts.resources == 1 && facts.scopes == 1);
        CHECK(facts.profiles == 4 && facts.samples > census.samples && !facts.timestamps);
        CHECK(!facts.links && !facts.payloads && !facts.other_attributes);
        CHECK(!pprofdelta_identify(pd, request.ptr, request.len, &kind, &name, NULL));
        CHECK(kind == PPROFDELTA_FILE_OTLP);
        CHECK_STR(name, "an OTLP request");
        buf profile = real(&a, "valid/heap.1.pb.gz");
        CHECK(!pprofdelta_check(pd, profile.ptr, profile.len, NULL, NULL));
        CHECK(!pprofdelta_request_of(pd, &facts));
        pprofdelta_free(pd);
        arena_free(&a);
    }
}

static void check_refused(pprofdelta_status status, const pprofdelta_error *err)
{
    CHECK(status == PPROFDELTA_E_PROFILE && err->status == status);
    CHECK_STR(err->text, "this is an OTLP request; a delta needs cumulative pprof profiles");
}

TEST(deltas_and_sums_refuse_a_request)
{
    arena a = {NULL};
    pprofdelta *pd;
    pprofdelta_adder *adder;
    pprofdelta_error err;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta_sink sink = collector_sink(&c);
    buf request = request_of(&a, "heap", PPROFDELTA_GZIP);
    buf profile = real(&a, "valid/heap.1.pb.gz");
    options.flags = PPROFDELTA_FORCE;
    CHECK(!pprofdelta_new(&options, NULL, &pd, NULL));
    check_refused(pprofdelta_base(pd, request.ptr, request.len, &err), &err);
    check_refused(pprofdelta_window(pd, request.ptr, request.len, &sink, NULL, &err), &err);
    CHECK(!pprofdelta_base(pd, profile.ptr, profile.len, &err));
    check_refused(pprofdelta_window(pd, request.ptr, request.len, &sink, NULL, &err), &err);
    CHECK(!pprofdelta_window(pd, profile.ptr, profile.len, &sink, NULL, &err));
    pprofdelta_free(pd);
    CHECK(!pprofdelta_adder_new(&options, NULL, &adder, NULL));
    check_refused(pprofdelta_adder_add(adder, request.ptr, request.len, NULL, &err), &err);
    pprofdelta_adder_free(adder);
    arena_free(&a);
}

/* ---- failures ------------------------------------------------------------------------------------ */

static pprofdelta_status read_with(const pprofdelta_allocator *allocator, uint64_t limit, buf bytes,
                                   pprofdelta_error *err)
{
    pd_mem mem;
    pd_request request = {0};
    pd_bytes input = {bytes.ptr, bytes.len};
    pd_mem_init(&mem, allocator, limit);
    pprofdelta_status status = pd_request_read(&request, &mem, &input, err);
    pd_request_release(&request, &mem);
    CHECK(mem.used == 0);
    return status;
}

TEST(each_prefix_is_refused)
{
    arena a = {NULL};
    buf request = request_of(&a, "block", PPROFDELTA_PLAIN);
    for (size_t len = 0; len < request.len; len++) {
        pprofdelta_error err = {.text = ""};
        buf part = request;
        uint8_t *copy = arena_alloc(&a, len); /* so that a sanitizer sees what is read behind it */
        memcpy(copy, request.ptr, len);
        part.ptr = copy;
        part.len = len;
        pprofdelta_status status = read_with(NULL, UINT64_C(1) << 28, part, &err);
        CHECK_MSG(status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE, "%zu: %d", len,
                  status);
        CHECK(err.text[0]);
    }
    CHECK(!read_with(NULL, UINT64_C(1) << 28, request, NULL));
    arena_free(&a);
}

TEST(each_allocation_may_fail)
{
    arena a = {NULL};
    buf request = request_of(&a, "block", PPROFDELTA_PLAIN);
    pprofdelta_status status = PPROFDELTA_E_MEMORY;
    for (size_t nth = 1; status && nth < 100000; nth++) {
        tracker t = {.fail_at = nth};
        pprofdelta_allocator allocator = tracker_allocator(&t);
        status = read_with(&allocator, UINT64_C(1) << 28, request, NULL);
        CHECK(status == PPROFDELTA_E_MEMORY || !t.refused);
        CHECK(!t.live);
    }
    CHECK(!status);
    arena_free(&a);
}

TEST(what_succeeds_with_one_limit_succeeds_with_a_higher_one)
{
    arena a = {NULL};
    buf request = request_of(&a, "heap", PPROFDELTA_GZIP);
    bool has_succeeded = false;
    for (uint64_t limit = 4096; limit < UINT64_C(8) << 20; limit += limit / 8) {
        pprofdelta *pd;
        pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
        options.max_memory = limit;
        if (pprofdelta_new(&options, NULL, &pd, NULL))
            continue;
        pprofdelta_status status = pprofdelta_check(pd, request.ptr, request.len, NULL, NULL);
        CHECK(!status || (status == PPROFDELTA_E_LIMIT && !has_succeeded));
        has_succeeded |= !status;
        pprofdelta_free(pd);
    }
    CHECK(has_succeeded);
    arena_free(&a);
}

/* ---- the shape ----------------------------------------------------------------------------------- */

#define BYTES(text) text, sizeof(text) - 1

TEST(the_shape_tells_a_request)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool is_request;
    } cases[] = {
        {BYTES(""), false},
        {BYTES("\x0a\x00"), false}, /* both have an empty field 1 */
        {BYTES("\x12\x00"), false},
        {BYTES("\x0a\x04\x08\x01\x10\x02"), false},         /* a sample type */
        {BYTES("\x0a\x02\x0a\x00"), true},                  /* a resource */
        {BYTES("\x0a\x02\x12\x00"), true},                  /* scope_profiles */
        {BYTES("\x0a\x02\x1a\x00"), true},                  /* schema_url */
        {BYTES("\x0a\x7f\x0a\x7f\x0a"), true},              /* its beginning */
        {BYTES("\x0a\x02\x0a\x00\x32\x00"), false},         /* a string table: a profile */
        {BYTES("\x12\x02\x08\x01"), false},                 /* a sample */
        {BYTES("\x12\x06\x0a\x01\x01\x12\x01\x01"), false}, /* a sample, packed */
        {BYTES("\x12\x04\x0a\x00\x2a\x00"), true},          /* a dictionary */
        {BYTES("\x12\x04\x0a\x00\x2a\x00\x0a\x02\x0a\x00"), true},
        {BYTES("\x12\x7f\x0a\x00\x0a\x00"), true},      /* tables, and more that is missing */
        {BYTES("\x12\x04\x0a\x00\x0a\x00"), false},     /* packed twice */
        {BYTES("\n\n\n\n\n\n\n\n\n\n\n\n\n\n"), false}, /* text */
        {BYTES("\x1a\x00"), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pd_bytes bytes = {(const uint8_t *)cases[i].bytes, cases[i].len};
        CHECK_MSG(pd_request_begins(bytes) == cases[i].is_request, "case %zu", i);
    }
}

TEST(generated_profiles_are_not_requests)
{
    seed_range range = seeds(4);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        stage s;
        stage_begin(&s, seed + 9500000);
        serial_style style = serial_draw(&s.rng);
        style.pack = PACK_PLAIN;
        buf profile = serial_write(&s.arena, &s.g.m, &style);
        CHECK_MSG(!pd_request_begins((pd_bytes){profile.ptr, profile.len}), "seed %" PRIu64, seed);
        stage_end(&s);
    }
}

TEST_MAIN(CASE(deltas_are_read_back), CASE(deltas_of_real_profiles_are_read_back),
          CASE(what_is_in_a_request), CASE(deltas_and_sums_refuse_a_request),
          CASE(each_prefix_is_refused), CASE(each_allocation_may_fail),
          CASE(what_succeeds_with_one_limit_succeeds_with_a_higher_one),
          CASE(the_shape_tells_a_request), CASE(generated_profiles_are_not_requests))
