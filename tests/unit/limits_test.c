/* max_memory: what succeeds with a limit succeeds with every higher one, and has the same bytes: with
 * every plan. */
#include "keep.h"
#include "pack.h"
#include "delta/context.h"
#include "run.h"
#include "test.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------
 * Looks at a heap, by hand
 * ------------------------------------------------------------------------------------------ */

typedef struct shape {
    const char *name;
    bool is_field_order; /* as most write it, else as Go does: locations between the samples */
    bool is_zstd;        /* the input is, and does not say how long it is */
    unsigned stacks, depth, locations;
    unsigned times; /* each stack comes so often */
    unsigned live;  /* percent of the stacks that are in use, and that change */
    unsigned flags, level;
    pprofdelta_compression compression;
    pprofdelta_on_reset on_reset;
} shape;

static const shape shapes[] = {
    {"Go's order", 0, 0, 3000, 12, 900, 1, 15, 0, 0, 0, 0},
    {"all live", 0, 0, 3000, 12, 900, 1, 100, PPROFDELTA_VERIFY, 9, 0, 0},
    {"more out than in", 0, 0, 9000, 1, 4000, 1, 100, PPROFDELTA_VERIFY, 1, 0, 0},
    {"more out than in, zstd", 0, 1, 9000, 1, 4000, 1, 100, 0, 3, PPROFDELTA_ZSTD, 0},
    {"field order", 1, 0, 3000, 12, 900, 1, 100, 0, 6, 0, 0},
    {"repeated stacks", 1, 0, 400, 10, 300, 40, 15, PPROFDELTA_VERIFY, 0, PPROFDELTA_ZSTD, 0},
    {"repeated stacks, Go's order", 0, 0, 400, 10, 300, 40, 100, 0, 0, PPROFDELTA_PLAIN, 0},
    {"negative", 0, 1, 2000, 8, 900, 1, 50, 0, 0, 0, PPROFDELTA_ON_RESET_NEGATIVE},
    {"small", 0, 0, 200, 8, 150, 1, 50, PPROFDELTA_VERIFY, 0, 0, 0},
    {"many locations", 0, 0, 2500, 3, 7000, 1, 30, PPROFDELTA_VERIFY, 2, 0, 0},
};

enum { SHAPES = sizeof shapes / sizeof *shapes, FIRST_FUNCTION_NAME = 9 };

static void put(buf *b, uint64_t value)
{
    uint8_t bytes[10], *end = bytes;
    for (; value > 0x7f; value >>= 7)
        *end++ = (uint8_t)(value | 0x80);
    *end++ = (uint8_t)value;
    buf_add(b, bytes, (size_t)(end - bytes));
}

static void put_scalar(buf *b, unsigned field, uint64_t value)
{
    put(b, field << 3);
    put(b, value);
}

static void put_bytes(buf *b, unsigned field, buf *bytes)
{
    put(b, field << 3 | 2);
    put(b, bytes->len);
    buf_add(b, bytes->ptr, bytes->len);
    bytes->len = 0;
}

static void put_place(arena *a, buf *out, unsigned i)
{
    buf part = buf_begin(a), line = buf_begin(a);
    put_scalar(&line, 1, i + 1);
    put_scalar(&line, 2, 10 + i % 300);
    put_scalar(&part, 1, i + 1);
    put_scalar(&part, 2, 1);
    put_scalar(&part, 3, 0x400000 + 16 * i);
    put_bytes(&part, 4, &line);
    put_bytes(out, 4, &part);
    put_scalar(&part, 1, i + 1);
    put_scalar(&part, 2, FIRST_FUNCTION_NAME + i);
    put_scalar(&part, 4, FIRST_FUNCTION_NAME + i / 8 * 8);
    put_bytes(out, 5, &part);
}

static void put_strings(arena *a, buf *out, unsigned functions)
{
    static const char *const first[FIRST_FUNCTION_NAME] = {
        "", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "/b",
        "x"};
    buf text = buf_begin(a);
    for (unsigned i = 0; i < FIRST_FUNCTION_NAME + functions; i++) {
        if (i < FIRST_FUNCTION_NAME)
            buf_text(&text, first[i]);
        else
            buf_format(&text, "example.com/package%u.(*Type%u).method%u", i % 37, i % 101, i);
        put_bytes(out, 6, &text);
    }
}

static void put_sample(arena *a, buf *out, const shape *s, unsigned stack, unsigned look)
{
    rng r = {stack + 1};
    buf part = buf_begin(a), run = buf_begin(a);
    for (unsigned i = 0; i < s->depth; i++) {
        uint64_t id = 1 + (i ? rng_below(&r, s->locations) : stack % s->locations);
        s->depth > 1 ? put(&run, id) : put_scalar(&part, 1, id);
    }
    if (s->depth > 1)
        put_bytes(&part, 1, &run);
    bool is_live = rng_chance(&r, s->live);
    uint64_t objects = 1 + rng_below(&r, 50) + (is_live ? look * rng_below(&r, 30) : 0);
    put(&run, objects);
    put(&run, objects * 64);
    put(&run, is_live ? objects / 2 : 0);
    put(&run, is_live ? objects / 2 * 64 : 0);
    put_bytes(&part, 2, &run);
    if (stack % 3 == 0) {
        put_scalar(&run, 1, 4);
        put_scalar(&run, 3, 1 + stack / s->locations);
        put_bytes(&part, 3, &run);
    }
    put_bytes(out, 2, &part);
}

static buf make_look(arena *a, const shape *s, unsigned look)
{
    static const uint8_t types[][2] = {{1, 2}, {3, 4}, {5, 2}, {6, 4}};
    buf out = buf_begin(a), part = buf_begin(a);
    unsigned samples = s->stacks * s->times, places = 0;
    for (size_t i = 0; i < 4; i++) {
        put_scalar(&part, 1, types[i][0]);
        put_scalar(&part, 2, types[i][1]);
        put_bytes(&out, 1, &part);
    }
    for (unsigned i = 0; i < samples; i++) {
        arena some = {0};
        buf sample = buf_begin(&some);
        put_sample(&some, &sample, s, i % s->stacks, look);
        for (; !s->is_field_order && places < s->locations && places <= i * s->depth + 200;
             places++)
            put_place(&some, &out, places);
        for (; !i && !s->is_field_order && places < s->locations; places++)
            put_place(&some, &out, places);
        buf_add(&out, sample.ptr, sample.len);
        arena_free(&some);
    }
    for (; places < s->locations; places++)
        put_place(a, &out, places);
    put_scalar(&part, 1, 1);
    put_scalar(&part, 2, 0x400000);
    put_scalar(&part, 3, 0x4000000);
    put_scalar(&part, 5, 7);
    put_bytes(&out, 3, &part);
    put_strings(a, &out, s->locations);
    put_scalar(&out, 9, 1700000000000000000 + look * UINT64_C(60000000000));
    return s->is_zstd ? pack_zstd(a, out, 1) : pack_gzip(a, out, 1);
}

/* ---------------------------------------------------------------------------------------------
 * Ways to a delta
 * ------------------------------------------------------------------------------------------ */

typedef enum course {
    BY_WINDOW,
    BY_STEPS,  /* begin, base, write without a sink, write */
    BY_STREAM, /* plan 0 is not tried */
    BY_STATE,
    COURSES
} course;

static const char *const course_names[] = {"window", "steps", "stream", "state"};

typedef struct outcome {
    pprofdelta_status status;
    pprofdelta_error err;
    collector out;
} outcome;

typedef struct scene {
    arena arena;
    const shape *shape;
    buf prev, cur, state, want;
} scene;

static pprofdelta_options options_of(const shape *s, uint64_t limit)
{
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    o.flags = s->flags | PPROFDELTA_NO_SEQUENCE;
    o.level = (int)s->level;
    o.compression = s->compression;
    o.on_reset = s->on_reset;
    o.max_memory = limit;
    return o;
}

static pprofdelta_status by_steps(pprofdelta *pd, const scene *s, outcome *o)
{
    pprofdelta_sink sink = collector_sink(&o->out);
    pprofdelta_status status = pprofdelta_begin(pd, s->cur.ptr, s->cur.len, &o->err);
    if (!status)
        status = pprofdelta_base(pd, s->prev.ptr, s->prev.len, &o->err);
    if (!status)
        status = pprofdelta_write(pd, &sink, NULL, &o->err);
    pprofdelta_abandon(pd);
    return status;
}

static pprofdelta_status by_window(pprofdelta *pd, const scene *s, course c, outcome *o)
{
    pprofdelta_sink sink = collector_sink(&o->out);
    pprofdelta_status status = c == BY_STATE
                                   ? keep_load(pd, s->state, &o->err)
                                   : pprofdelta_base(pd, s->prev.ptr, s->prev.len, &o->err);
    if (!status)
        status = pprofdelta_window(pd, s->cur.ptr, s->cur.len, &sink, NULL, &o->err);
    pprofdelta_abandon(pd);
    return status;
}

static pprofdelta_status by_course(pprofdelta *pd, const scene *s, course c, outcome *o)
{
    return c == BY_STEPS ? by_steps(pd, s, o) : by_window(pd, s, c, o);
}

static outcome run(arena *a, const scene *s, course c, uint64_t limit)
{
    tracker memory = {0};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    pprofdelta_options options = options_of(s->shape, limit);
    outcome o = {.out.bytes = buf_begin(a)};
    pprofdelta *pd = NULL;
    o.status = pprofdelta_new(&options, &allocator, &pd, &o.err);
    if (!o.status) {
        pd->first_plan = c == BY_STREAM;
        o.status = by_course(pd, s, c, &o);
        pprofdelta_free(pd);
    }
    CHECK(!memory.live && (!limit || memory.peak <= limit));
    return o;
}

static buf save(scene *s)
{
    pprofdelta_options options = options_of(s->shape, 0);
    pprofdelta *pd;
    options.on_reset = PPROFDELTA_ON_RESET_AUTO;
    if (pprofdelta_new(&options, NULL, &pd, NULL))
        abort();
    CHECK(!pprofdelta_base(pd, s->prev.ptr, s->prev.len, NULL));
    buf state = keep_save(&s->arena, pd);
    pprofdelta_free(pd);
    return state;
}

static void scene_begin(scene *s, const shape *of)
{
    *s = (scene){.shape = of};
    s->prev = make_look(&s->arena, of, 0);
    s->cur = make_look(&s->arena, of, 1);
    outcome o = run(&s->arena, s, BY_WINDOW, 0);
    CHECK_MSG(!o.status, "%s: %s", of->name, o.err.text);
    s->want = o.out.bytes;
    s->state = save(s);
}

/* ---------------------------------------------------------------------------------------------
 * Every limit
 * ------------------------------------------------------------------------------------------ */

static bool is_same(buf a, buf b)
{
    return a.len == b.len && !memcmp(a.ptr, b.ptr, a.len);
}

/* Tries one way with a limit, after it did or did not succeed with a lower one. */
static bool try(const scene *s, course c, uint64_t limit, bool did, buf want)
{
    arena a = {0};
    outcome o = run(&a, s, c, limit);
    CHECK_MSG(!o.status || o.status == PPROFDELTA_E_LIMIT, "%s, %s, %" PRIu64 ": %s",
              s->shape->name, course_names[c], limit, o.err.text);
    CHECK_MSG(!o.status || !did, "%s, %s: less than %" PRIu64 " was enough; %s", s->shape->name,
              course_names[c], limit, o.err.text);
    CHECK_MSG(o.status || is_same(o.out.bytes, want), "%s, %s: other bytes with %" PRIu64,
              s->shape->name, course_names[c], limit);
    arena_free(&a);
    return !o.status;
}

static void try_shape(const shape *of)
{
    enum { FINE = 20, COARSE = 10 }; /* a step is a part of the limit */
    scene s;
    bool did[COURSES] = {false};
    size_t refused = 0, did_all = 0;
    scene_begin(&s, of);
    arena a = {0};
    outcome with_state = run(&a, &s, BY_STATE, 0);
    bool is_negative = of->on_reset == PPROFDELTA_ON_RESET_NEGATIVE;
    for (uint64_t limit = 120000; limit < UINT64_C(5000000);
         limit += limit / (did_all ? COARSE : FINE)) {
        did_all = 1;
        for (course c = 0; c < COURSES; c++) {
            if (c == BY_STATE && is_negative)
                continue;
            did[c] = try(&s, c, limit, did[c], c == BY_STATE ? with_state.out.bytes : s.want);
            CHECK_MSG(c == BY_STATE || did[c] == did[BY_WINDOW], "%s: %s in %" PRIu64 ": %d",
                      of->name, course_names[c], limit, did[c]);
            refused += !did[c];
            did_all &= did[c];
        }
    }
    CHECK(refused > COURSES);
    for (course c = 0; c < COURSES; c++)
        CHECK_MSG(did[c] || (c == BY_STATE && is_negative), "%s: %s", of->name, course_names[c]);
    arena_free(&a);
    arena_free(&s.arena);
}

TEST(what_succeeds_with_a_limit_succeeds_with_a_higher_one)
{
    const char *one = getenv("PD_TEST_SHAPE");
    for (size_t i = 0; i < SHAPES; i++)
        if (!one || strtoul(one, NULL, 10) == i)
            try_shape(&shapes[i]);
}

TEST_MAIN(CASE(what_succeeds_with_a_limit_succeeds_with_a_higher_one))
