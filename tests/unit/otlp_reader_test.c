/* OTLP requests as input: what is in one, every way in which the reader can fail, and requests that multiply.
 * tests/hostile has the messages, and tests/fuzz compares the reader with protobuf-c. */
#include "delta_stage.h"

#include "emit.h"
#include "otlp/request.h"
#include "seeds.h"

#include <inttypes.h>

/* ---- failures ------------------------------------------------------------------------------------ */

static pprofdelta_status read_within(uint64_t limit, buf bytes, pprofdelta_error *err,
                                     uint64_t *peak)
{
    pd_mem mem;
    pd_request request = {.takes_several = true};
    pd_bytes input = {bytes.ptr, bytes.len};
    pd_mem_init(&mem, NULL, limit);
    pprofdelta_status status = pd_request_read(&request, &mem, &input, err);
    pd_mem_drop(&mem);
    CHECK(mem.used == 0);
    *peak = mem.peak;
    return status;
}

TEST(each_prefix_is_refused)
{
    ENDS(arena_free) arena a = {NULL};
    buf request = testdata_file(&a, "regress/otlp-everything");
    uint64_t peak;
    for (size_t len = 0; len < request.len; len++) {
        pprofdelta_error err = {.text = ""};
        buf part = request;
        uint8_t *copy = arena_alloc(&a, len); /* so that a sanitizer sees what is read behind it */
        memcpy(copy, request.ptr, len);
        part.ptr = copy;
        part.len = len;
        pprofdelta_status status = read_within(UINT64_C(1) << 28, part, &err, &peak);
        CHECK_MSG(status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE, "%zu: %d", len,
                  status);
        CHECK(err.text[0]);
    }
    CHECK(!read_within(UINT64_C(1) << 28, request, NULL, &peak));
}

/* ---- requests that multiply ---------------------------------------------------------------------- */

/* A message of one field: a number, or a part. */
static buf of(arena *a, unsigned field, uint64_t value)
{
    buf b = buf_begin(a);
    wire_number(&b, field, value);
    return b;
}

static buf in(arena *a, unsigned field, buf part)
{
    buf b = buf_begin(a);
    wire_bytes(&b, field, part);
    return b;
}

/* The same bytes so often that they take about `size` bytes. */
static buf again(arena *a, buf part, size_t size)
{
    buf b = buf_begin(a);
    while (b.len < size)
        buf_add(&b, part.ptr, part.len);
    return b;
}

static buf text(arena *a, const char *string)
{
    buf b = buf_begin(a);
    buf_text(&b, string);
    return b;
}

static buf both(buf one, buf other)
{
    buf_add(&one, other.ptr, other.len);
    return one;
}

/* A list of about `size` bytes: KeyValues with other keys, each with the number 1. */
static buf members(arena *a, unsigned field, size_t size)
{
    buf b = buf_begin(a);
    for (unsigned i = 0; b.len < size; i++)
        wire_bytes(&b, field,
                   both(in(a, 1, text(a, arena_format(a, "%u", i))), in(a, 2, of(a, 3, 1))));
    return b;
}

/* A request of about `size` bytes that is made of two things. Half of the bytes refer to the other
 * half. What a shape does not set is one profile with one sample. */
typedef struct parts {
    arena *a;
    size_t half;
    buf tables[8]; /* entries of the dictionary, with their tags, without the zero value */
    buf samples;   /* of the profile, with their tags */
    buf profiles;  /* in place of the profile with the samples; with their tags */
    buf resource;  /* of a second resource_profiles, with its tag; the first has no profile */
    buf resources; /* in place of both; with their tags */
} parts;

static buf request_of_parts(parts *p)
{
    buf dictionary = buf_begin(p->a), nothing = buf_begin(p->a), body = buf_begin(p->a);
    for (unsigned i = 1; i <= 7; i++) {
        wire_bytes(&dictionary, i, nothing);
        dictionary = both(dictionary, p->tables[i]);
    }
    if (!p->samples.len)
        p->samples = in(p->a, 2, of(p->a, 4, 1));
    if (!p->profiles.len)
        p->profiles = in(p->a, 2, p->samples);
    if (p->resource.len)
        wire_bytes(&body, 1, nothing);
    wire_bytes(&body, 1, both(p->resource, in(p->a, 2, p->profiles)));
    return both(in(p->a, 2, dictionary), p->resources.len ? p->resources : body);
}

enum { MAPPING = 1, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK };

/* Other timestamps from this one on, of so many bytes: samples that differ in nothing are one sample. */
static buf times(parts *p, uint64_t from, size_t size)
{
    buf b = buf_begin(p->a);
    for (uint64_t time = from; b.len < size; time++)
        buf_add(&b, &time, sizeof time);
    return in(p->a, 5, b);
}

/* Samples that have this part, of other times. */
static buf samples_of(parts *p, buf part)
{
    buf b = buf_begin(p->a);
    for (uint64_t i = 1; b.len < p->half; i++)
        wire_bytes(&b, 2, both(times(p, i, sizeof i), part));
    return b;
}

/* Samples that refer to entry 1 of a table by this field. */
static buf samples_with(parts *p, unsigned field)
{
    return samples_of(p, of(p->a, field, 1));
}

static buf long_string(parts *p)
{
    return in(p->a, STRING, again(p->a, text(p->a, "k"), p->half));
}

static void set_attribute(parts *p, const char *key, buf value)
{
    p->tables[STRING] = in(p->a, STRING, text(p->a, key));
    p->tables[ATTRIBUTE] = in(p->a, ATTRIBUTE, both(of(p->a, 1, 1), in(p->a, 2, value)));
}

static void set_stack(parts *p, size_t depth)
{
    p->tables[LOCATION] = in(p->a, LOCATION, of(p->a, 2, 5));
    p->tables[STACK] = in(p->a, STACK, in(p->a, 1, again(p->a, text(p->a, "\1"), depth)));
}

static void samples_x_depth(parts *p)
{
    set_stack(p, p->half);
    p->samples = samples_with(p, 1);
}

static void key_x_depth(parts *p)
{
    buf value = of(p->a, 3, 1);
    for (size_t depth = 0; depth < 15; depth++)
        value = in(p->a, 6, in(p->a, 1, both(of(p->a, 3, 1), in(p->a, 2, value))));
    set_attribute(p, "", in(p->a, 5, again(p->a, in(p->a, 1, value), p->half)));
    p->tables[STRING] = long_string(p);
    p->samples = in(p->a, 2, both(of(p->a, 2, 1), of(p->a, 4, 1)));
}

static void points_x_attributes(parts *p)
{
    buf list = buf_begin(p->a);
    for (size_t i = 1; list.len < p->half / 16; i++) {
        const char *key = arena_format(p->a, "%zu", i);
        p->tables[STRING] = both(p->tables[STRING], in(p->a, STRING, text(p->a, key)));
        buf attribute = both(of(p->a, 1, i), in(p->a, 2, of(p->a, 3, 1)));
        p->tables[ATTRIBUTE] = both(p->tables[ATTRIBUTE], in(p->a, ATTRIBUTE, attribute));
        wire_varint(&list, i);
    }
    p->samples = in(p->a, 2, both(in(p->a, 2, list), times(p, 1, p->half)));
}

static void samples_x_resource(parts *p)
{
    p->resource = in(p->a, 1, members(p->a, 1, p->half));
    p->samples = samples_of(p, buf_begin(p->a));
}

/* Profiles of other times, with or without a sample. */
static buf profiles_of_times(parts *p, buf sample)
{
    buf b = buf_begin(p->a);
    for (uint64_t i = 1; b.len < p->half; i++)
        wire_bytes(&b, 2, both(of(p->a, 4, i), sample));
    return b;
}

static void empty_times_x_resource(parts *p)
{
    p->resource = in(p->a, 1, members(p->a, 1, p->half));
    p->profiles = profiles_of_times(p, buf_begin(p->a));
}

static void resources_x_key(parts *p)
{
    buf attribute = both(of(p->a, 3, 1), in(p->a, 2, of(p->a, 3, 1)));
    buf sample = in(p->a, 2, in(p->a, 2, in(p->a, 2, of(p->a, 4, 1))));
    p->tables[STRING] = long_string(p);
    p->resources =
        again(p->a, in(p->a, 1, both(in(p->a, 1, in(p->a, 1, attribute)), sample)), p->half);
}

static void profiles_with(parts *p, const char *key, buf value)
{
    set_attribute(p, key, value);
    p->profiles = again(p->a, in(p->a, 2, of(p->a, 11, 1)), p->half);
}

static void profiles_x_comments(parts *p)
{
    profiles_with(p, "pprof.profile.comment",
                  in(p->a, 5, again(p->a, in(p->a, 1, in(p->a, 1, text(p->a, "c"))), p->half)));
}

static void mappings_x_build_id(parts *p)
{
    set_attribute(p, "process.executable.build_id.gnu",
                  in(p->a, 5, again(p->a, in(p->a, 1, in(p->a, 1, text(p->a, "b"))), p->half)));
    p->tables[MAPPING] = again(p->a, in(p->a, MAPPING, of(p->a, 5, 1)), p->half);
}

/* Fields that the reader does not know stand before the value. */
static void locations_x_unknown(parts *p)
{
    set_attribute(p, "pprof.location.is_folded",
                  both(again(p->a, of(p->a, 9, 1), p->half), of(p->a, 2, 1)));
    p->tables[LOCATION] = again(p->a, in(p->a, LOCATION, of(p->a, 4, 1)), p->half);
}

static void samples_x_link(parts *p)
{
    buf id = in(p->a, 2, text(p->a, "12345678"));
    p->tables[LINK] = in(p->a, LINK, again(p->a, id, p->half));
    p->samples = samples_with(p, 3);
}

static void deep_timestamps(parts *p)
{
    set_stack(p, 2000);
    p->samples = in(p->a, 2, both(of(p->a, 1, 1), times(p, 1, 200000 * sizeof(uint64_t))));
}

static parts parts_begin(arena *a, size_t size)
{
    parts p = {.a = a, .half = size / 2};
    buf *const bufs[] = {&p.samples, &p.profiles, &p.resource, &p.resources};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        *bufs[i] = buf_begin(a);
    for (size_t i = 0; i < sizeof p.tables / sizeof *p.tables; i++)
        p.tables[i] = buf_begin(a);
    return p;
}

/* The conversion of a shape ends, and takes no more memory than a request may take. A reader that is
 * quadratic in time does not end with the shapes of 1 MiB, which a short run makes smaller. */
TEST(requests_do_not_multiply)
{
    enum { SMALL = 128 << 10, LARGE = 1 << 20 };
    static const struct {
        const char *name;
        void (*make)(parts *p);
        size_t size;
        bool is_refused;
    } shapes[] = {
#define SHAPE(name, size, is_refused) {#name, name, size, is_refused}
        SHAPE(samples_x_depth, SMALL, true),         SHAPE(key_x_depth, SMALL, true),
        SHAPE(points_x_attributes, SMALL, true),     SHAPE(samples_x_resource, SMALL, true),
        SHAPE(resources_x_key, SMALL, true),         SHAPE(empty_times_x_resource, LARGE, false),
        SHAPE(profiles_x_comments, SMALL / 2, true), SHAPE(mappings_x_build_id, SMALL / 2, true),
        SHAPE(locations_x_unknown, LARGE, false),    SHAPE(samples_x_link, SMALL, true),
        SHAPE(deep_timestamps, SMALL, false),
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        ENDS(arena_free) arena a = {NULL};
        size_t size = shapes[i].size == LARGE && is_short_run() ? SMALL : shapes[i].size;
        parts p = parts_begin(&a, size);
        pprofdelta_error err = {.text = ""};
        uint64_t peak;
        shapes[i].make(&p);
        buf request = request_of_parts(&p);
        uint64_t most = PD_REQUEST_ALWAYS + request.len * (uint64_t)PD_REQUEST_TIMES;
        pprofdelta_status status = read_within(UINT64_C(8) << 30, request, &err, &peak);
        CHECK_MSG(status == (shapes[i].is_refused ? PPROFDELTA_E_LIMIT : PPROFDELTA_OK),
                  "%s: %d %s", shapes[i].name, status, err.text);
        CHECK_MSG(peak < 2 * most, "%s: %" PRIu64 " bytes", shapes[i].name, peak);
        if (status)
            CHECK_STR(err.text,
                      arena_format(&a,
                                   "the conversion of this OTLP request takes more than %" PRIu64
                                   " bytes: 512 times its size, and 64 MiB",
                                   most));
    }
}

TEST_MAIN()
