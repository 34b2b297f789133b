/* max_memory: what succeeds with a limit succeeds with every higher one, and has the same bytes: with
 * every plan. */
#include "delta/context.h"
#include "emit.h"
#include "keep.h"
#include "pack.h"
#include "pprofdelta_profile.h"
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
    return serial_write(a, &b.m, &style);
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

static pprofdelta_status by_course(pprofdelta *pd, const trial *s, course c, outcome *o)
{
    pprofdelta_status status = PPROFDELTA_OK;
    if (c == BY_STEPS)
        status = pprofdelta_begin(pd, s->cur.ptr, s->cur.len, &o->err);
    if (!status && c == BY_STATE)
        status = keep_load(pd, s->state, &o->err);
    else if (!status)
        status = pprofdelta_base(pd, s->prev.ptr, s->prev.len, &o->err);
    if (!status && c == BY_STEPS)
        status = pprofdelta_write(pd, collecting(&o->out), NULL, &o->err);
    else if (!status)
        status = pprofdelta_window(pd, s->cur.ptr, s->cur.len, collecting(&o->out), NULL, &o->err);
    pprofdelta_abandon(pd);
    return status;
}

static outcome run(arena *a, const trial *s, course c, uint64_t limit)
{
    tracker memory = {0};
    pprofdelta_options options = options_of(s->shape, limit);
    outcome o = {.out.bytes = buf_begin(a)};
    pprofdelta *pd = NULL;
    o.status = pprofdelta_new(&options, tracking(&memory), &pd, &o.err);
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

/* ---- Files that inflate to much ---------------------------------------------------------------- */

enum { BOMB = 3 << 20, LOW = 1 << 20, HIGH = 64 << 20 };

/* Of random letters, that compresses about 20 times. */
static buf draw_filler(arena *a, rng *r, size_t len)
{
    buf b = {.arena = a, .ptr = arena_alloc(a, len), .len = len};
    for (size_t i = 0; i < len; i++)
        b.ptr[i] = i % 32 ? b.ptr[i - 1] : (uint8_t)rng_next(r);
    return b;
}

static buf valid_profile(arena *a)
{
    ENDS(build_free) build b = {.m = model_empty};
    build_types(&b, HEAP_TYPES);
    build_sample(&b, "leaf main", "1 2 3 4");
    return build_bytes_in(a, &b);
}

typedef enum matter {
    SAMPLES, /* those are read, and added up: this is no bomb */
    UNKNOWN_FIELDS,
    UNKNOWN_FIELDS_OF_FUNCTIONS,
    THE_TIME_AGAIN,
    NO_PROFILE,
    NO_SAMPLE, /* but its field */
    ONE_STRING,
    MATTERS
} matter;

static void add_matter(buf *b, matter m, rng *r, unsigned nth)
{
    buf filler = draw_filler(b->arena, r, 20000), function = buf_begin(b->arena), sample = function;
    switch (m) {
    case SAMPLES:
        for (unsigned i = 0; i < 1000; i++) {
            sample.len = 0;
            wire_number(&sample, 1, 1);
            wire_number(&sample, 1, 2);
            for (unsigned type = 0; type < 4; type++)
                wire_number(&sample, 2, i % 8 ? 1 : rng_below(r, 100));
            wire_bytes(b, 2, sample);
        }
        break;
    case UNKNOWN_FIELDS:
        wire_bytes(b, 100, filler);
        break;
    case UNKNOWN_FIELDS_OF_FUNCTIONS:
        wire_number(&function, 1, 1000 + nth);
        wire_bytes(&function, 100, filler);
        wire_bytes(b, 5, function);
        break;
    case THE_TIME_AGAIN:
        for (unsigned i = 0; i < 2000; i++)
            wire_number(b, 9, i % 16 ? 1 : rng_next(r));
        break;
    default:
        buf_add(b, filler.ptr, filler.len);
    }
}

/* A file that is damaged at its end, and announces its length. */
static buf draw_bomb(arena *a, matter m, unsigned way)
{
    rng r = {m + 1};
    buf b = m == NO_PROFILE ? buf_begin(a) : valid_profile(a);
    if (m == NO_SAMPLE)
        wire_number(&b, 2, 1);
    if (m == ONE_STRING) {
        wire_varint(&b, 6 << 3 | 2);
        wire_varint(&b, BOMB);
    }
    for (unsigned nth = 0; b.len < BOMB; nth++)
        add_matter(&b, m, &r, nth);
    buf file = way == 2 ? pack_zstd(a, b, 3) : pack_gzip(a, b, 1 + 2 * way);
    CHECK(file.len * 100 > b.len && file.len < LOW);
    buf_text(&file, "!");
    buf_add32(&file, (uint32_t)b.len);
    return file;
}

/* The status of each call that takes a profile. */
enum { CALLS = 4 };

static pprofdelta_error call_with(unsigned call, buf file, uint64_t limit)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_error err = {0};
    options.max_memory = limit;
    if (call == 0) {
        pprofdelta_profile *profile = NULL;
        pprofdelta_profile_open(&options, NULL, file.ptr, file.len, &profile, &err);
        pprofdelta_profile_free(profile);
    } else if (call == 1) {
        pprofdelta_adder *adder = NULL;
        CHECK(!pprofdelta_adder_new(&options, NULL, &adder, NULL));
        pprofdelta_adder_add(adder, file.ptr, file.len, NULL, &err);
        pprofdelta_adder_free(adder);
    } else {
        ENDS(arena_free) arena a = {0};
        ENDS(context_end) pprofdelta *pd = NULL;
        collector out = {.bytes = buf_begin(&a)};
        CHECK(!pprofdelta_new(&options, NULL, &pd, NULL));
        if (call == 2)
            pprofdelta_base(pd, file.ptr, file.len, &err);
        else
            pprofdelta_window(pd, file.ptr, file.len, collecting(&out), NULL, &err);
    }
    return err;
}

/* A call that has read a file to its end has found the damage. */
TEST(what_inflates_to_much_is_not_read_beyond_the_limit)
{
    for (matter m = SAMPLES; m < MATTERS; m++)
        for (unsigned way = 0; way < 3; way++) {
            ENDS(arena_free) arena a = {0};
            buf file = draw_bomb(&a, m, way);
            for (unsigned call = 0; call < CALLS; call++) {
                pprofdelta_error low = call_with(call, file, LOW),
                                 high = call_with(call, file, HIGH);
                bool is_streamed = m == SAMPLES && call != 1; /* a sum holds all bytes */
                CHECK_MSG(low.status == (is_streamed ? PPROFDELTA_E_INFLATE : PPROFDELTA_E_LIMIT),
                          "%d, way %u, call %u: %s", (int)m, way, call, low.text);
                CHECK(is_streamed || low.reason == PPROFDELTA_REASON_MAX_MEMORY);
                CHECK_MSG(high.status == PPROFDELTA_E_INFLATE, "%d, way %u, call %u: %s", (int)m,
                          way, call, high.text);
            }
        }
}

/* Parses a profile, and counts the attempts. */
static pprofdelta_status parse(pprofdelta *pd, void *cookie, pprofdelta_error *err)
{
    trial *t = cookie;
    pd_reading how = {.bytes = {t->cur.ptr, t->cur.len}};
    t->want.len++;
    return pd_input_parse(&pd->cur, &how, err);
}

TEST(a_refusal_that_less_memory_cannot_change_is_not_repeated)
{
    static const struct {
        matter matter;
        size_t attempts;
    } rows[] = {{NO_PROFILE, 1}, {UNKNOWN_FIELDS, 1}, {ONE_STRING, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        trial t = {0};
        pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
        ENDS(context_end) pprofdelta *pd = NULL;
        options.max_memory = LOW;
        t.cur = draw_bomb(&t.arena, rows[i].matter, 0);
        REQUIRE(!pprofdelta_new(&options, NULL, &pd, NULL));
        CHECK(pd_context_call(pd, parse, &t, NULL) == PPROFDELTA_E_LIMIT);
        CHECK_MSG(t.want.len == rows[i].attempts, "row %zu: %zu", i, t.want.len);
        arena_free(&t.arena);
    }
}

TEST_MAIN()
