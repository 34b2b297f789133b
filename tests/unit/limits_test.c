/* max_memory: what succeeds with a limit succeeds with every higher one, and has the same bytes: with
 * every plan. */
#include "keep.h"
#include "emit.h"
#include "pack.h"
#include "delta/context.h"
#include "run.h"
#include "seeds.h"
#include "test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Looks at a heap, by hand ---------------------------------------------------------------- */

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

static void put_place(message *out, unsigned i)
{
    message location = message_begin(out->e, 5), line = message_begin(out->e, 3),
            function = message_begin(out->e, 5);
    emit_scalar(&line, 1, i + 1);
    emit_scalar(&line, 2, 10 + i % 300);
    emit_scalar(&location, 1, i + 1);
    emit_scalar(&location, 2, 1);
    emit_scalar(&location, 3, 0x400000 + 16 * i);
    emit_message(&location, 4, &line);
    emit_message(out, 4, &location);
    emit_scalar(&function, 1, i + 1);
    emit_scalar(&function, 2, FIRST_FUNCTION_NAME + i);
    emit_scalar(&function, 4, FIRST_FUNCTION_NAME + i / 8 * 8);
    emit_message(out, 5, &function);
}

static void put_strings(message *out, unsigned functions)
{
    static const char *const first[FIRST_FUNCTION_NAME] = {
        "", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "/b",
        "x"};
    for (unsigned i = 0; i < FIRST_FUNCTION_NAME + functions; i++) {
        const char *text =
            i < FIRST_FUNCTION_NAME
                ? first[i]
                : arena_format(out->e->arena, "example.com/package%u.(*Type%u).method%u", i % 37,
                               i % 101, i);
        emit_bytes(out, 6, text, strlen(text));
    }
}

static void put_sample(message *out, const shape *s, unsigned stack, unsigned look)
{
    enum { MOST_DEPTH = 12 };
    rng r = {stack + 1};
    message sample = message_begin(out->e, 3), label = message_begin(out->e, 4);
    uint64_t ids[MOST_DEPTH];
    for (unsigned i = 0; i < s->depth; i++)
        ids[i] = 1 + (i ? rng_below(&r, s->locations) : stack % s->locations);
    emit_repeated(&sample, 1, ids, s->depth);
    bool is_live = rng_chance(&r, s->live);
    uint64_t objects = 1 + rng_below(&r, 50) + (is_live ? look * rng_below(&r, 30) : 0);
    uint64_t inuse = is_live ? objects / 2 : 0;
    emit_repeated(&sample, 2, (uint64_t[]){objects, objects * 64, inuse, inuse * 64}, 4);
    if (stack % 3 == 0) {
        emit_scalar(&label, 1, 4);
        emit_scalar(&label, 3, 1 + stack / s->locations);
        emit_message(&sample, 3, &label);
    }
    emit_message(out, 2, &sample);
}

static buf make_look(arena *a, const shape *s, unsigned look)
{
    static const uint8_t types[][2] = {{1, 2}, {3, 4}, {5, 2}, {6, 4}};
    emitter e = {.arena = a, .packing = EMIT_AS_GO};
    message out = message_begin(&e, 14), mapping = message_begin(&e, 10);
    unsigned samples = s->stacks * s->times, places = 0;
    for (size_t i = 0; i < 4; i++) {
        message type = message_begin(&e, 2);
        emit_scalar(&type, 1, types[i][0]);
        emit_scalar(&type, 2, types[i][1]);
        emit_message(&out, 1, &type);
    }
    for (unsigned i = 0; i < samples; i++) {
        for (; !s->is_field_order && places < s->locations && (!i || places <= i * s->depth + 200);
             places++)
            put_place(&out, places);
        put_sample(&out, s, i % s->stacks, look);
    }
    for (; places < s->locations; places++)
        put_place(&out, places);
    emit_scalar(&mapping, 1, 1);
    emit_scalar(&mapping, 2, 0x400000);
    emit_scalar(&mapping, 3, 0x4000000);
    emit_scalar(&mapping, 5, 7);
    emit_message(&out, 3, &mapping);
    put_strings(&out, s->locations);
    emit_scalar(&out, 9, 1700000000000000000 + look * UINT64_C(60000000000));
    buf bytes = message_end(&out);
    return s->is_zstd ? pack_zstd(a, bytes, 1) : pack_gzip(a, bytes, 1);
}

/* ---- Ways to a delta ------------------------------------------------------------------------- */

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
        pd->is_always_tight = c == BY_STREAM;
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

/* ---- Every limit ----------------------------------------------------------------------------- */

/* Tries one way with a limit, after it did or did not succeed with a lower one. */
static bool try(const scene *s, course c, uint64_t limit, bool did, buf want)
{
    arena a = {0};
    outcome o = run(&a, s, c, limit);
    CHECK_MSG(!o.status || o.status == PPROFDELTA_E_LIMIT, "%s, %s, %" PRIu64 ": %s",
              s->shape->name, course_names[c], limit, o.err.text);
    CHECK_MSG(!o.status || !did, "%s, %s: less than %" PRIu64 " was enough; %s", s->shape->name,
              course_names[c], limit, o.err.text);
    CHECK_MSG(o.status || buf_equal(o.out.bytes, want), "%s, %s: other bytes with %" PRIu64,
              s->shape->name, course_names[c], limit);
    arena_free(&a);
    return !o.status;
}

static void try_shape(const shape *of)
{
    /* A step is this part of the limit. */
    const unsigned fine = is_short_run() ? 10 : 20, coarse = is_short_run() ? 3 : 10;
    scene s;
    bool did[COURSES] = {false};
    size_t refused = 0, did_all = 0;
    scene_begin(&s, of);
    arena a = {0};
    outcome with_state = run(&a, &s, BY_STATE, 0);
    bool is_negative = of->on_reset == PPROFDELTA_ON_RESET_NEGATIVE;
    for (uint64_t limit = 120000; limit < UINT64_C(5000000);
         limit += limit / (did_all ? coarse : fine)) {
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

TEST_MAIN()
