/* The life of a window, the same on every door: every sequence of up to six calls is made to the
 * recorder, the builder, the heap and the context for parsed profiles, and to one small model.
 *
 * What is counted goes up by one before each begin. So the model also knows what a window has: what
 * was counted since the last commit.
 *
 * An object that has written once needs no more memory. So sequences in which memory is short begin with a
 * new object, and have one call less. */
#include "../support/test.h"

#include "live.h"
#include "pprofdelta_heap.h"
#include "pprofdelta_profile.h"
#include "pprofdelta_record.h"
#include "run.h"
#include "seeds.h"

#include <setjmp.h>

enum { MOST_CALLS = 6, MOST_SHORT = 5 };

/* ---- what is called -------------------------------------------------------------------------- */

typedef enum call {
    BEGIN,
    WRITE,
    WRITE_REFUSED, /* by the sink */
    WRITE_NULL,    /* without a sink */
    WRITE_BACK,    /* to a sink that calls the door: begin, write, commit */
    WRITE_ENDED,   /* to a sink that abandons the window */
    WRITE_LEFT,    /* to a sink that does not return: only abandon helps */
    COMMIT,
    ABANDON,
    WRITE_SHORT, /* of memory: the allocator fails */
    CALLS
} call;

static const char *const names[CALLS] = {"begin",      "write",       "write refused", "write NULL",
                                         "write back", "write ended", "write left",    "commit",
                                         "abandon",    "write short"};

/* What a write that succeeded says of itself. */
typedef struct said {
    uint64_t sequence, attempt;
    int64_t counted;
} said;

typedef struct trial trial;

typedef struct door {
    const char *name;
    pprofdelta_status (*open)(trial *t);
    void (*close)(trial *t);
    void (*count)(trial *t); /* one more */
    pprofdelta_status (*begin)(trial *t, pprofdelta_error *err);
    pprofdelta_status (*write)(trial *t, const pprofdelta_sink *sink, said *out,
                               pprofdelta_error *err);
    pprofdelta_status (*commit)(trial *t);
    void (*abandon)(trial *t);
} door;

/* ---- the model ------------------------------------------------------------------------------- */

typedef enum stage { IDLE, OPEN, WRITTEN } stage;

typedef struct course {
    stage stage;
    bool is_handed_out, is_in_sink;
    uint64_t committed; /* the last sequence */
    uint64_t attempts;  /* at the one after it */
    int64_t counted, arrived, window;
} course;

static bool is_write(call c)
{
    return (c >= WRITE && c <= WRITE_LEFT) || c == WRITE_SHORT;
}

/* Returns the status of the call. */
static pprofdelta_status course_call(course *m, call c)
{
    bool is_allowed = c == BEGIN     ? m->stage == IDLE
                      : c == COMMIT  ? m->stage == WRITTEN
                      : c == ABANDON ? true
                                     : m->stage != IDLE && c != WRITE_NULL;
    if (!is_allowed || (m->is_in_sink && c != ABANDON))
        return PPROFDELTA_E_USAGE;
    if (c == BEGIN) {
        m->stage = OPEN;
        m->is_handed_out = false;
        m->window = m->counted - m->arrived;
    } else if (c == COMMIT) {
        m->stage = IDLE;
        m->committed++;
        m->attempts = 0;
        m->arrived += m->window;
    } else if (is_write(c)) {
        m->stage = c == WRITE || c == WRITE_BACK ? WRITTEN : OPEN;
        m->is_handed_out |= c != WRITE_SHORT;
        m->is_in_sink = c == WRITE_LEFT;
    }
    if (c == ABANDON || c == WRITE_ENDED) {
        m->attempts += m->stage != IDLE && m->is_handed_out;
        m->stage = IDLE;
        m->is_in_sink = false;
    }
    return c == WRITE_REFUSED ? PPROFDELTA_E_SINK
           : c == WRITE_SHORT ? PPROFDELTA_E_MEMORY
           : c == WRITE_ENDED ? PPROFDELTA_E_USAGE
                              : PPROFDELTA_OK;
}

/* ---- a door and the model -------------------------------------------------------------------- */

struct trial {
    const door *door;
    course m;
    union {
        pprofdelta_recorder *recorder;
        pprofdelta_builder *builder;
        pprofdelta_heap *heap;
        pprofdelta *pd;
    };
    tracker memory; /* not of the heap */
    arena arena;
    buf given, output, first; /* first: of the window's first write */
    call sink_does;
    size_t sink_calls;
    jmp_buf out_of_sink;
    pprofdelta_heap_window window;
    pprofdelta_heap_pages pages;
    const call *calls; /* for messages */
    size_t calls_len;
};

static const char *story_of(const trial *t)
{
    static char text[200];
    size_t len = (size_t)snprintf(text, sizeof text, "%s:", t->door->name);
    for (size_t i = 0; i < t->calls_len; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, " %s,", names[t->calls[i]]);
    return text;
}

#define AGREES(condition) CHECK_MSG(condition, "after %s", story_of(t))

static int take(void *cookie, const void *data, size_t len)
{
    trial *t = cookie;
    said untouched;
    pprofdelta_sink again = {.write = take, .cookie = t};
    t->sink_calls++;
    buf_add(&t->output, data, len);
    if (t->sink_does == WRITE_BACK) {
        AGREES(t->door->begin(t, NULL) == PPROFDELTA_E_USAGE);
        AGREES(t->door->write(t, &again, &untouched, NULL) == PPROFDELTA_E_USAGE);
        AGREES(t->door->commit(t) == PPROFDELTA_E_USAGE);
    } else if (t->sink_does == WRITE_ENDED) {
        t->door->abandon(t);
    } else if (t->sink_does == WRITE_LEFT) {
        longjmp(t->out_of_sink, 1);
    }
    return t->sink_does == WRITE_REFUSED;
}

static pprofdelta_status write_window(trial *t, call c, pprofdelta_error *err)
{
    const said unset = {77, 77, 77};
    said got = unset;
    const pprofdelta_sink sink = {.write = take, .cookie = t}, no_function = {.cookie = t};
    pprofdelta_status status;
    t->sink_does = c;
    t->sink_calls = 0;
    t->output = buf_begin(&t->arena);
    t->memory.fail_at = c == WRITE_SHORT ? t->memory.calls + 1 : 0;
    if (c == WRITE_NULL) {
        AGREES(t->door->write(t, &no_function, &got, NULL) == PPROFDELTA_E_USAGE);
        status = t->door->write(t, NULL, &got, err);
    } else if (setjmp(t->out_of_sink)) {
        return PPROFDELTA_OK;
    } else {
        status = t->door->write(t, &sink, &got, err);
    }
    t->memory.fail_at = 0;
    if (status) {
        AGREES(memcmp(&got, &unset, sizeof got) == 0);
        return status;
    }
    AGREES(got.sequence == t->m.committed + 1 && got.attempt == t->m.attempts + 1);
    AGREES(got.counted == t->m.window);
    if (!t->first.len)
        t->first = t->output;
    AGREES(buf_equal(t->first, t->output));
    return status;
}

static void make_call(trial *t, call c)
{
    pprofdelta_error err = {.status = PPROFDELTA_OK};
    pprofdelta_status status = PPROFDELTA_OK;
    bool is_open = t->m.stage != IDLE && !t->m.is_in_sink;
    if (c == BEGIN && t->m.stage == IDLE) {
        t->door->count(t);
        t->m.counted++;
        t->first = buf_begin(&t->arena);
    }
    if (c == BEGIN)
        status = t->door->begin(t, &err);
    else if (c == COMMIT)
        err.status = status = t->door->commit(t);
    else if (c == ABANDON)
        t->door->abandon(t);
    else
        status = write_window(t, c, &err);
    if (c == WRITE_SHORT && status != PPROFDELTA_E_MEMORY)
        c = WRITE; /* which needed no memory */
    bool reaches_sink = is_open && is_write(c) && c != WRITE_NULL && c != WRITE_SHORT;
    pprofdelta_status wanted = course_call(&t->m, c);
    CHECK_MSG(status == wanted, "%d, not %d, after %s", (int)status, (int)wanted, story_of(t));
    AGREES(err.status == wanted);
    AGREES(!is_write(c) || (t->sink_calls > 0) == reaches_sink);
}

/* ---- the recorder ---------------------------------------------------------------------------- */

static const uint64_t stack[] = {0x1000};

static pprofdelta_status open_recorder(trial *t)
{
    pprofdelta_recorder_options o = PPROFDELTA_RECORDER_OPTIONS_INIT;
    o.compression = PPROFDELTA_PLAIN;
    o.flags = PPROFDELTA_NO_MAPPINGS | PPROFDELTA_VERIFY;
    return pprofdelta_recorder_new(&o, tracking(&t->memory), &t->recorder, NULL);
}

static void count_nothing(trial *t)
{
    (void)t;
}

static pprofdelta_status begin_recorder(trial *t, pprofdelta_error *err)
{
    const int64_t values[] = {t->m.counted, t->m.counted, 0, 0};
    const pprofdelta_record record = {.stack = stack, .depth = 1, .values = values};
    pprofdelta_status status = pprofdelta_recorder_begin(t->recorder, NULL, err);
    if (status)
        return status;
    status = pprofdelta_recorder_add(t->recorder, &record, err);
    if (status) /* this window can only be abandoned */
        pprofdelta_recorder_abandon(t->recorder);
    return status;
}

static pprofdelta_report unset_report(void)
{
    pprofdelta_report report;
    memset(&report, 77, sizeof report);
    report.size = sizeof report;
    return report;
}

/* Only a write that succeeded touches its report. */
static pprofdelta_status say(trial *t, pprofdelta_status status, said *out,
                             const pprofdelta_report *report)
{
    const pprofdelta_report unset = unset_report();
    const void *now = report, *before = &unset;
    AGREES(!status || memcmp(now, before, sizeof unset) == 0);
    if (!status)
        *out = (said){report->sequence, report->attempt, (int64_t)report->types[0].delta.lo};
    return status;
}

static pprofdelta_status write_recorder(trial *t, const pprofdelta_sink *sink, said *out,
                                        pprofdelta_error *err)
{
    pprofdelta_report report = unset_report();
    return say(t, pprofdelta_recorder_write(t->recorder, sink, &report, err), out, &report);
}

/* ---- the builder ----------------------------------------------------------------------------- */

static pprofdelta_status open_builder(trial *t)
{
    static const pprofdelta_value_type types[] = {{"samples", "count", 0}};
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    o.compression = PPROFDELTA_PLAIN;
    o.types = types;
    o.types_len = 1;
    return pprofdelta_builder_new(&o, tracking(&t->memory), &t->builder, NULL);
}

static void count_sample(trial *t)
{
    const pprofdelta_frame frame = {.name = "main"};
    const pprofdelta_sample sample = {
        .frames = &frame, .frames_len = 1, .values = (const int64_t[]){1}};
    t->m.counted -= pprofdelta_builder_add(t->builder, &sample, NULL) != PPROFDELTA_OK;
}

static pprofdelta_status begin_builder(trial *t, pprofdelta_error *err)
{
    return pprofdelta_builder_begin(t->builder, err);
}

static pprofdelta_status write_builder(trial *t, const pprofdelta_sink *sink, said *out,
                                       pprofdelta_error *err)
{
    pprofdelta_builder_report report, unset;
    memset(&report, 77, sizeof report);
    report.size = sizeof report;
    unset = report;
    pprofdelta_status status = pprofdelta_builder_write(t->builder, sink, &report, err);
    if (!status)
        *out = (said){report.sequence, report.attempt, (int64_t)report.samples_in};
    AGREES(!status || memcmp(&report, &unset, sizeof report) == 0);
    return status;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static pprofdelta_status open_heap(trial *t)
{
    static pprofdelta_heap_filter filter;
    pprofdelta_heap_options o = PPROFDELTA_HEAP_OPTIONS_INIT;
    t->pages = tracker_pages(&t->memory);
    o.compression = PPROFDELTA_PLAIN;
    o.flags = PPROFDELTA_NO_MAPPINGS;
    o.filter = &filter;
    o.pages = &t->pages;
    o.max_live = 16;
    o.max_sites = 16;
    o.max_attempts = UINT32_MAX;
    return pprofdelta_heap_new(&o, &t->heap, NULL);
}

static void count_allocation(trial *t)
{
    const uint64_t addresses[] = {0x1000};
    const pprofdelta_heap_event event = {
        .ptr = addresses, .weight = {1, 8}, .stack = addresses, .depth = 1};
    t->m.counted -= !pprofdelta_heap_track(t->heap, &event);
    pprofdelta_heap_untrack(t->heap, addresses);
}

static pprofdelta_status begin_heap(trial *t, pprofdelta_error *err)
{
    t->window.size = sizeof t->window;
    return pprofdelta_heap_begin(t->heap, 1, &t->window, err);
}

/* A full window has what was allocated since the beginning. */
static pprofdelta_status write_heap(trial *t, const pprofdelta_sink *sink, said *out,
                                    pprofdelta_error *err)
{
    live_profile p;
    pprofdelta_status status = pprofdelta_heap_write(t->heap, PPROFDELTA_HEAP_CHANGES, sink, err);
    if (status)
        return status;
    AGREES(live_read(&t->arena, t->output.ptr, t->output.len, &p));
    int64_t before = t->window.kind == PPROFDELTA_HEAP_FULL ? t->m.arrived : 0, counted = 0;
    for (size_t i = 0; i < p.sums.len; i++)
        counted += p.sums.rows[i].values[0];
    AGREES(p.sequence == t->window.sequence && p.attempt == t->window.attempt);
    *out = (said){p.sequence, p.attempt, counted - before};
    return status;
}

/* ---- parsed profiles ------------------------------------------------------------------------- */

/* A profile with one sample of one counter. */
static buf profile_of(arena *a, int64_t counted)
{
    static const uint8_t
        head[] =
            {
                0x32, 0x00, /* string_table: "" */
                0x32, 0x0d, 'a',  'l',  'l',  'o',  'c',  '_',  'o', 'b',
                'j',  'e',  'c',  't',  's',  0x32, 0x05, 'c',  'o', 'u',
                'n',  't',  0x0a, 0x04, 0x08, 0x01, 0x10, 0x02, /* sample_type */
                0x22, 0x05, 0x08, 0x01, 0x18, 0x80, 0x20,       /* location 1, its address */
                0x12, 0x08, 0x0a, 0x01, 0x01, 0x12, 0x03,       /* sample: location 1, a value */
            };
    const uint8_t value[] = {(uint8_t)(0x80 | (counted & 0x7f)),
                             (uint8_t)(0x80 | (counted >> 7 & 0x7f)),
                             (uint8_t)(counted >> 14 & 0x7f)};
    buf b = buf_begin(a);
    buf_add(&b, head, sizeof head);
    buf_add(&b, value, sizeof value);
    return b;
}

static pprofdelta_status open_context(trial *t)
{
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    o.compression = PPROFDELTA_PLAIN;
    o.flags = PPROFDELTA_VERIFY;
    return pprofdelta_new(&o, tracking(&t->memory), &t->pd, NULL);
}

static pprofdelta_status begin_context(trial *t, pprofdelta_error *err)
{
    buf given = profile_of(&t->arena, t->m.counted);
    return pprofdelta_begin(t->pd, given.ptr, given.len, err);
}

static pprofdelta_status write_context(trial *t, const pprofdelta_sink *sink, said *out,
                                       pprofdelta_error *err)
{
    pprofdelta_report report = unset_report();
    return say(t, pprofdelta_write(t->pd, sink, &report, err), out, &report);
}

/* ---- what every door has under the same names ------------------------------------------------- */

#define ENDINGS(door, member, functions)                                                           \
    static void close_##door(trial *t)                                                             \
    {                                                                                              \
        functions##_free(t->member);                                                               \
    }                                                                                              \
    static pprofdelta_status commit_##door(trial *t)                                               \
    {                                                                                              \
        return functions##_commit(t->member);                                                      \
    }                                                                                              \
    static void abandon_##door(trial *t)                                                           \
    {                                                                                              \
        functions##_abandon(t->member);                                                            \
    }

ENDINGS(recorder, recorder, pprofdelta_recorder)
ENDINGS(builder, builder, pprofdelta_builder)
ENDINGS(heap, heap, pprofdelta_heap)
ENDINGS(context, pd, pprofdelta)

/* ---- every sequence -------------------------------------------------------------------------- */

static const door doors[] = {
    {"recorder", open_recorder, close_recorder, count_nothing, begin_recorder, write_recorder,
     commit_recorder, abandon_recorder},
    {"builder", open_builder, close_builder, count_sample, begin_builder, write_builder,
     commit_builder, abandon_builder},
    {"heap", open_heap, close_heap, count_allocation, begin_heap, write_heap, commit_heap,
     abandon_heap},
    {"context", open_context, close_context, count_nothing, begin_context, write_context,
     commit_context, abandon_context},
};
enum { DOORS = sizeof doors / sizeof *doors };

/* Makes these calls and ends what is under way, so that the next sequence begins idle. */
static void play(trial *t, const call *calls, size_t len)
{
    t->calls = calls;
    for (t->calls_len = 1; t->calls_len <= len; t->calls_len++)
        make_call(t, calls[t->calls_len - 1]);
    t->calls_len = len;
    t->door->abandon(t);
    course_call(&t->m, ABANDON);
    arena_free(&t->arena);
}

static void play_all(trial *t, call *calls, size_t len)
{
    if (len + is_short_run() == MOST_CALLS) { /* five calls in a short run */
        play(t, calls, len);
        return;
    }
    for (call c = BEGIN; c < WRITE_SHORT; c++) {
        calls[len] = c;
        play_all(t, calls, len + 1);
    }
}

/* Returns in how many calls memory was short. */
static size_t play_anew(const door *of, const call *calls)
{
    trial t = {.door = of};
    CHECK(t.door->open(&t) == PPROFDELTA_OK);
    play(&t, calls, MOST_SHORT);
    t.door->close(&t);
    CHECK(t.memory.live == 0);
    return t.memory.refused;
}

TEST(every_sequence_of_six_calls_does_what_the_model_does)
{
    for (size_t i = 0; i < DOORS; i++) {
        trial t = {.door = &doors[i]};
        call calls[MOST_CALLS];
        REQUIRE(t.door->open(&t) == PPROFDELTA_OK);
        play_all(&t, calls, 0);
        t.door->close(&t);
        CHECK(t.memory.live == 0);
    }
}

/* In a short run, every seventh: the number of calls is no multiple of 7, so each call is made in each place. */
TEST(so_does_every_sequence_of_five_calls_in_which_memory_is_short)
{
    size_t sequences = 1, step = is_short_run() ? 7 : 1;
    for (size_t i = 0; i < MOST_SHORT; i++)
        sequences *= CALLS;
    for (size_t i = 0; i < DOORS; i++) {
        size_t refused = 0;
        for (size_t number = 0; number < sequences; number += step) {
            call calls[MOST_SHORT];
            bool is_short = false;
            for (size_t at = 0, rest = number; at < MOST_SHORT; at++, rest /= CALLS) {
                calls[at] = (call)(rest % CALLS);
                is_short |= calls[at] == WRITE_SHORT;
            }
            refused += is_short ? play_anew(&doors[i], calls) : 0;
        }
        CHECK_MSG(refused > 0, "%s", doors[i].name);
    }
}

/* Ends the window whose sink this is, and makes the next one. */
static int make_next(void *cookie, const void *data, size_t len)
{
    trial *t = cookie;
    said got = {0, 0, 0};
    const pprofdelta_sink sink = {.write = take, .cookie = t};
    (void)data, (void)len;
    t->door->abandon(t);
    t->output = buf_begin(&t->arena);
    t->sink_does = WRITE;
    AGREES(t->door->begin(t, NULL) == PPROFDELTA_OK);
    AGREES(t->door->write(t, &sink, &got, NULL) == PPROFDELTA_OK);
    AGREES(got.sequence == 1 && got.attempt == 2 && got.counted == 1);
    AGREES(t->door->commit(t) == PPROFDELTA_OK);
    return 0;
}

static void end_in_the_sink(trial *t)
{
    const pprofdelta_sink sink = {.write = make_next, .cookie = t};
    said untouched;
    REQUIRE(t->door->open(t) == PPROFDELTA_OK);
    t->door->count(t);
    AGREES(t->door->begin(t, NULL) == PPROFDELTA_OK);
    AGREES(t->door->write(t, &sink, &untouched, NULL) == PPROFDELTA_E_USAGE);
    AGREES(t->door->commit(t) == PPROFDELTA_E_USAGE);
    AGREES(t->door->begin(t, NULL) == PPROFDELTA_OK);
    t->door->close(t);
    CHECK(t->memory.live == 0);
    arena_free(&t->arena);
}

TEST(a_sink_may_end_its_window_and_make_the_next_one)
{
    for (size_t i = 0; i < DOORS; i++)
        end_in_the_sink(&(trial){.door = &doors[i], .m = {.counted = 1}});
}

/* ---- the same checks at every door -------------------------------------------------------------- */

static const pprofdelta_sink no_sink = {0};

static pprofdelta_status write_to(pprofdelta *pd, const pprofdelta_sink *sink)
{
    return pprofdelta_write(pd, sink, NULL, NULL);
}

static pprofdelta_status save_to(pprofdelta *pd, const pprofdelta_sink *sink)
{
    return pprofdelta_save(pd, sink, NULL);
}

/* Of no object: nothing to do. */
static void abandon_and_free_nothing(void)
{
    pprofdelta_abandon(NULL);
    pprofdelta_recorder_abandon(NULL);
    pprofdelta_builder_abandon(NULL);
    pprofdelta_heap_abandon(NULL);
    pprofdelta_free(NULL);
    pprofdelta_recorder_free(NULL);
    pprofdelta_builder_free(NULL);
    pprofdelta_heap_free(NULL);
    pprofdelta_adder_free(NULL);
    pprofdelta_profile_free(NULL);
}

TEST(every_door_refuses_a_sink_without_a_function_and_an_array_without_elements)
{
    static const char *const no_names[] = {NULL};
    pprofdelta *pd;
    pprofdelta_adder *adder;
    pprofdelta_profile *profile;
    const pprofdelta_source no_source = {0};
    const pprofdelta_options wrong[] = {
        {.size = sizeof *wrong, .counters_len = 1},
        {.size = sizeof *wrong, .gauges_len = 1},
        {.size = sizeof *wrong, .counters = no_names, .counters_len = 1},
        {.size = sizeof *wrong, .gauges = no_names, .gauges_len = 1},
        {.size = sizeof *wrong, .resource_len = 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(pprofdelta_new(&wrong[i], NULL, &pd, NULL) == PPROFDELTA_E_USAGE &&
              pprofdelta_adder_new(&wrong[i], NULL, &adder, NULL) == PPROFDELTA_E_USAGE);
    abandon_and_free_nothing();
    REQUIRE(!pprofdelta_new(NULL, NULL, &pd, NULL) &&
            !pprofdelta_adder_new(NULL, NULL, &adder, NULL));
    CHECK(pprofdelta_base(pd, NULL, 1, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_begin(pd, NULL, 1, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_adder_add(adder, NULL, 1, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_profile_open(NULL, NULL, NULL, 1, &profile, NULL) == PPROFDELTA_E_USAGE);
    CHECK(!pprofdelta_begin(pd, NULL, 0, NULL));
    pprofdelta_status (*const calls[])(pprofdelta *, const pprofdelta_sink *) = {write_to, save_to};
    for (size_t i = 0; i < 2; i++)
        CHECK(calls[i](pd, NULL) == PPROFDELTA_E_USAGE &&
              calls[i](pd, &no_sink) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_load(pd, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_load(pd, &no_source, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_adder_finish(adder, &no_sink, NULL) == PPROFDELTA_E_USAGE);
    pprofdelta_adder_free(adder);
    pprofdelta_free(pd);
}

TEST_MAIN()
