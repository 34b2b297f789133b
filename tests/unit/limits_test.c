/* max_memory: what succeeds with a limit succeeds with every higher one, and has the same bytes: with
 * every plan. */
#include "delta/context.h"
#include "keep.h"
#include "scene.h"
#include "seeds.h"
#include "test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Looks at a heap ------------------------------------------------------------------------- */

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

enum { SHAPES = sizeof shapes / sizeof *shapes };

static void add_places(build *b, unsigned locations)
{
    model_mapping *app = build_mapping(b, 0x400000, 0x4000000, 0, "/b", "");
    for (unsigned i = 0; i < locations; i++) {
        const char *name =
            arena_format(&b->arena, "example.com/package%u.(*Type%u).method%u", i % 37, i % 101, i);
        const char *file = arena_format(&b->arena, "example.com/package%u.go", i / 8);
        build_line(b, build_bare(b, name, app, 0x400000 + 16 * i), build_function(b, name, file),
                   10 + i % 300);
    }
}

static void add_stack(build *b, const shape *s, unsigned stack, unsigned look)
{
    rng r = {stack + 1};
    model_sample *sample = build_sample(b, "", "");
    sample->depth = s->depth;
    sample->stack = ARENA_ARRAY(&b->arena, model_location *, s->depth);
    for (unsigned i = 0; i < s->depth; i++)
        sample->stack[i] = b->m.locations[i ? rng_below(&r, s->locations) : stack % s->locations];
    bool is_live = rng_chance(&r, s->live);
    int64_t objects = 1 + (int64_t)rng_below(&r, 50);
    objects += is_live ? look * (int64_t)rng_below(&r, 30) : 0;
    int64_t inuse = is_live ? objects / 2 : 0;
    const int64_t values[] = {objects, objects * 64, inuse, inuse * 64};
    memcpy(sample->values, values, sizeof values);
    if (stack % 3 == 0)
        build_label(b, sample, "bytes", "", 1 + stack / s->locations, "");
}

static buf make_look(arena *a, const shape *s, unsigned look)
{
    const serial_style style = {.tables = s->is_field_order ? TABLES_AFTER : TABLES_AS_USED,
                                .packing = EMIT_AS_GO,
                                .pack = s->is_zstd ? PACK_ZSTD : PACK_GZIP};
    ENDS(build_free) build b = {.m = model_empty};
    build_types(&b, HEAP_TYPES);
    add_places(&b, s->locations);
    for (unsigned i = 0; i < s->stacks * s->times; i++)
        add_stack(&b, s, i % s->stacks, look);
    b.m.time_nanos = INT64_C(1700000000000000000) + look * INT64_C(60000000000);
    buf bytes = serial_write(&b.arena, &b.m, &style), kept = buf_begin(a);
    buf_add(&kept, bytes.ptr, bytes.len);
    return kept;
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

typedef struct trial {
    arena arena;
    const shape *shape;
    buf prev, cur, state, want;
} trial;

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

static pprofdelta_status by_steps(pprofdelta *pd, const trial *s, outcome *o)
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

static pprofdelta_status by_window(pprofdelta *pd, const trial *s, course c, outcome *o)
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

static pprofdelta_status by_course(pprofdelta *pd, const trial *s, course c, outcome *o)
{
    return c == BY_STEPS ? by_steps(pd, s, o) : by_window(pd, s, c, o);
}

static outcome run(arena *a, const trial *s, course c, uint64_t limit)
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

static buf save(trial *s)
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

static void trial_begin(trial *s, const shape *of)
{
    *s = (trial){.shape = of};
    s->prev = make_look(&s->arena, of, 0);
    s->cur = make_look(&s->arena, of, 1);
    outcome o = run(&s->arena, s, BY_WINDOW, 0);
    CHECK_MSG(!o.status, "%s: %s", of->name, o.err.text);
    s->want = o.out.bytes;
    s->state = save(s);
}

/* ---- Every limit ----------------------------------------------------------------------------- */

/* Tries one way with a limit, after it did or did not succeed with a lower one. */
static bool try(const trial *s, course c, uint64_t limit, bool did, buf want)
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
    const unsigned fine = is_short_run() ? 5 : 20, coarse = is_short_run() ? 2 : 5;
    trial s;
    bool did[COURSES] = {false};
    size_t refused = 0, did_all = 0;
    trial_begin(&s, of);
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
