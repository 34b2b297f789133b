/* OTLP from inside a process: a window of a recorder, of a builder or of a live heap means the same as
 * OTLP and as pprof. A sink that refuses it and an allocation that fails cost no window: what is
 * written after that means what it means where nothing failed. */
#include "otlp_kit.h"
#include "seeds.h"

#include "pprofdelta_heap.h"
#include "pprofdelta_record.h"

enum { WINDOWS = 4, EVENTS = 12 };

/* What writes the windows. */
typedef struct side {
    void *it;
    tracker memory;
    pprofdelta_heap_pages pages;
    int64_t now;
} side;

typedef struct door {
    const char *name;
    const char
        *unknown;   /* a location or a function of which nothing is known, as the model has it */
    bool has_clock; /* of its own: the times and ids of two builders differ */
    pprofdelta_status (*make)(side *s, pprofdelta_format format);
    void (*happen)(side *s, size_t window); /* what the window is about; nothing fails */
    pprofdelta_status (*begin)(side *s, size_t window);
    pprofdelta_status (*write)(side *s, const pprofdelta_sink *sink);
    void (*commit)(side *s);
    void (*abandon)(side *s);
    void (*end)(side *s);
} door;

static void symbolize(void *cookie, uint64_t address, pprofdelta_symbol *out)
{
    static pprofdelta_frame frames[2];
    static const char *const names[] = {"main", "bad\xff", "f", "bad\xfe"};
    (void)cookie;
    size_t len = address % 3;
    for (size_t i = 0; i < len; i++)
        frames[i] = (pprofdelta_frame){
            .name = names[(address + i) % 4], .filename = names[i], .line = (int64_t)address};
    *out = (pprofdelta_symbol){.frames = frames, .frames_len = len};
}

static const pprofdelta_label labels[] = {{.key = "k", .str = "one"},
                                          {.key = "k", .str = "two"},
                                          {.key = "n", .num = 7, .num_unit = "bytes"}};
enum { LABELS = sizeof labels / sizeof *labels };

/* ---- a recorder ---------------------------------------------------------------------------------- */

static pprofdelta_status make_recorder(side *s, pprofdelta_format format)
{
    pprofdelta_allocator allocator = tracker_allocator(&s->memory);
    pprofdelta_recorder_options o = PPROFDELTA_RECORDER_OPTIONS_INIT;
    o.id = 1;
    pprofdelta_recorder *made = NULL;
    o.kind = PPROFDELTA_KIND_CONTENTION;
    o.flags = PPROFDELTA_NO_MAPPINGS | PPROFDELTA_VERIFY;
    o.symbolize = symbolize;
    o.format = format;
    o.resource = resource;
    o.resource_len = sizeof resource / sizeof *resource;
    pprofdelta_status status = pprofdelta_recorder_new(&o, &allocator, &made, NULL);
    s->it = made;
    return status;
}

/* Records are told to a window that has begun. */
static void recorder_happen(side *s, size_t window)
{
    (void)s, (void)window;
}

static pprofdelta_status recorder_begin(side *s, size_t window)
{
    pprofdelta_recording look = {.time_nanos = s->now};
    pprofdelta_status status = pprofdelta_recorder_begin(s->it, &look, NULL);
    for (size_t i = 0; i < EVENTS + window && !status; i++) {
        const uintptr_t stack[] = {0x100 + i, 0x200, 0x300 + i, 0};
        const int64_t values[] = {(int64_t)(i + window), (int64_t)(i * window)};
        pprofdelta_record record = {.stack = stack,
                                    .depth = i % 5,
                                    .values = values,
                                    .labels = labels,
                                    .labels_len = i % (LABELS + 1)};
        status = pprofdelta_recorder_add(s->it, &record, NULL);
    }
    return status;
}

static pprofdelta_status recorder_write(side *s, const pprofdelta_sink *sink)
{
    return pprofdelta_recorder_write(s->it, sink, NULL, NULL);
}

static void recorder_commit(side *s)
{
    pprofdelta_recorder_commit(s->it);
}

static void recorder_abandon(side *s)
{
    pprofdelta_recorder_abandon(s->it);
}

static void recorder_end(side *s)
{
    pprofdelta_recorder_free(s->it);
}

/* ---- a builder ----------------------------------------------------------------------------------- */

static pprofdelta_status make_builder(side *s, pprofdelta_format format)
{
    static const pprofdelta_value_type types[] = {{"cpu", "nanoseconds", 1},
                                                  {"samples", "count", 1}};
    pprofdelta_allocator allocator = tracker_allocator(&s->memory);
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    o.id = 1;
    pprofdelta_builder *made = NULL;
    o.types = types;
    o.types_len = 2;
    o.default_type = "cpu";
    o.format = format;
    o.resource = resource;
    o.resource_len = sizeof resource / sizeof *resource;
    pprofdelta_status status = pprofdelta_builder_new(&o, &allocator, &made, NULL);
    s->it = made;
    return status;
}

static void builder_happen(side *s, size_t window)
{
    for (size_t i = 0; i < EVENTS + window; i++) {
        pprofdelta_sample *sample = pprofdelta_sample_start(s->it);
        pprofdelta_frame frame = {
            .name = i % 2 ? "odd" : "even", .filename = "a\xff", .line = (int64_t)i};
        pprofdelta_sample_push_frame(sample, &frame, 0);
        pprofdelta_sample_push_frame(sample, &(pprofdelta_frame){.line = (int64_t)(i % 3)}, 0);
        for (size_t j = 0; j < i % (LABELS + 1); j++)
            pprofdelta_sample_push_label(sample, &labels[j]);
        pprofdelta_sample_push_value(sample, i % 2, 1 + (int64_t)(i * window));
        CHECK(!pprofdelta_sample_add(sample, NULL));
    }
}

static pprofdelta_status builder_begin(side *s, size_t window)
{
    (void)window;
    return pprofdelta_builder_begin(s->it, NULL);
}

static pprofdelta_status builder_write(side *s, const pprofdelta_sink *sink)
{
    return pprofdelta_builder_write(s->it, sink, NULL, NULL);
}

static void builder_commit(side *s)
{
    pprofdelta_builder_commit(s->it);
}

static void builder_abandon(side *s)
{
    pprofdelta_builder_abandon(s->it);
}

static void builder_end(side *s)
{
    pprofdelta_builder_free(s->it);
}

/* ---- a live heap --------------------------------------------------------------------------------- */

static void *map(void *cookie, size_t size)
{
    pprofdelta_allocator allocator = tracker_allocator(cookie);
    void *pages = allocator.resize(allocator.cookie, NULL, size);
    return pages ? memset(pages, 0, size) : NULL;
}

static void unmap(void *cookie, void *pages, size_t size)
{
    pprofdelta_allocator allocator = tracker_allocator(cookie);
    (void)size;
    allocator.release(allocator.cookie, pages);
}

static pprofdelta_status make_heap(side *s, pprofdelta_format format)
{
    pprofdelta_heap_options o = PPROFDELTA_HEAP_OPTIONS_INIT;
    pprofdelta_heap *made = NULL;
    s->pages = (pprofdelta_heap_pages){map, unmap, &s->memory};
    o.pages = &s->pages;
    o.flags = PPROFDELTA_NO_MAPPINGS;
    o.symbolize = symbolize;
    o.id = 77;
    o.started_nanos = 1;
    o.format = format;
    o.resource = resource;
    o.resource_len = sizeof resource / sizeof *resource;
    pprofdelta_status status = pprofdelta_heap_new(&o, &made, NULL);
    s->it = made;
    return status;
}

static void heap_happen(side *s, size_t window)
{
    for (size_t i = 0; i < EVENTS; i++) {
        uint64_t stack[] = {0x100 + i + window, 0x200, 0x300 + i, 0};
        size_t block = i + window * EVENTS;
        pprofdelta_heap_event event = {.ptr = (const void *)(uintptr_t)(0x10000 + block * 4096),
                                       .weight = {2, 100},
                                       .stack = stack,
                                       .depth = i % 5,
                                       .labels = labels,
                                       .labels_len = i % (LABELS + 1)};
        CHECK(pprofdelta_heap_track(s->it, &event));
        if (block % 5 == 4)
            CHECK(pprofdelta_heap_untrack(s->it, event.ptr));
    }
}

static pprofdelta_status heap_begin(side *s, size_t window)
{
    (void)window;
    return pprofdelta_heap_begin(s->it, s->now, NULL, NULL);
}

static pprofdelta_status heap_write(side *s, const pprofdelta_sink *sink)
{
    return pprofdelta_heap_write(s->it, PPROFDELTA_HEAP_CHANGES, sink, NULL);
}

static void heap_commit(side *s)
{
    pprofdelta_heap_commit(s->it);
}

static void heap_abandon(side *s)
{
    pprofdelta_heap_abandon(s->it);
}

static void heap_end(side *s)
{
    pprofdelta_heap_free(s->it);
}

/* ---- the same windows of two sides --------------------------------------------------------------- */

static const door doors[] = {
    {"recorder", "(none @0)", false, make_recorder, recorder_happen, recorder_begin, recorder_write,
     recorder_commit, recorder_abandon, recorder_end},
    {"builder", "[none 0:0]", true, make_builder, builder_happen, builder_begin, builder_write,
     builder_commit, builder_abandon, builder_end},
    {"heap", "(none @0)", false, make_heap, heap_happen, heap_begin, heap_write, heap_commit,
     heap_abandon, heap_end},
};
enum { DOORS = sizeof doors / sizeof *doors };

typedef struct duo {
    const door *door;
    arena arena;
    side calm, tried;
} duo;

static void duo_begin(duo *d, const door *by, pprofdelta_format calm)
{
    *d = (duo){.door = by};
    CHECK(!by->make(&d->calm, calm) && !by->make(&d->tried, PPROFDELTA_OTLP));
}

static void duo_end(duo *d)
{
    d->door->end(&d->calm);
    d->door->end(&d->tried);
    CHECK(!d->calm.memory.live && !d->tried.memory.live);
    arena_free(&d->arena);
}

/* Begins the window of both. */
static void begin(duo *d, size_t window)
{
    d->calm.now += 1000;
    d->tried.now += 1000;
    CHECK(!d->door->begin(&d->calm, window) && !d->door->begin(&d->tried, window));
}

static void abandon(duo *d)
{
    d->door->abandon(&d->calm);
    d->door->abandon(&d->tried);
}

static void commit(duo *d)
{
    d->door->commit(&d->calm);
    d->door->commit(&d->tried);
}

/* The sink's nth call is refused; 0: none. */
static pprofdelta_status write_side(duo *d, side *s, size_t nth, collector *c)
{
    *c = (collector){.bytes = buf_begin(&d->arena), .fail_at = nth};
    pprofdelta_sink sink = collector_sink(c);
    pprofdelta_status status = d->door->write(s, &sink);
    CHECK_MSG((status == PPROFDELTA_E_SINK) == (nth && c->calls >= nth), "%s", d->door->name);
    return status;
}

/* The lines without the stamps and the times. */
static const char *untimed(arena *a, const char *text)
{
    buf out = buf_begin(a);
    for (; *text; text += strcspn(text, "\n") + 1)
        if (strncmp(text, "time", 4) != 0 && strncmp(text, "comment", 7) != 0)
            buf_add(&out, text, strcspn(text, "\n") + 1);
    return buf_string(&out);
}

/* NULL if both mean the same. The second is OTLP. */
static const char *differ_by_door(duo *d, otlp_model *one, otlp_model *other)
{
    if (d->door->has_clock) {
        one->text = untimed(&d->arena, one->text);
        other->text = untimed(&d->arena, other->text);
    }
    if (other->wrong)
        return other->wrong;
    if (one->types != 2 && one->types != 6)
        return "the types are not there";
    if (strcmp(other->resource, resource_text) != 0)
        return other->resource;
    return otlp_model_differ(&d->arena, one, other);
}

/* Both sides write OTLP, and mean the same. *out is set. */
static void check_same(duo *d, buf calm, buf tried, otlp_model *out)
{
    otlp_model want;
    otlp_model_read(&d->arena, calm.ptr, calm.len, &want);
    otlp_model_read(&d->arena, tried.ptr, tried.len, out);
    const char *wrong = want.wrong ? want.wrong : differ_by_door(d, &want, out);
    CHECK_MSG(!wrong, "%s: %s", d->door->name, wrong);
    CHECK_MSG(d->door->has_clock || same_ids(&want, out), "%s", d->door->name);
}

TEST(each_door_writes_what_it_writes_as_pprof)
{
    for (size_t i = 0; i < DOORS; i++) {
        duo d;
        otlp_model models[WINDOWS] = {{.types = 0}};
        duo_begin(&d, &doors[i], PPROFDELTA_PPROF);
        for (size_t window = 0; window < WINDOWS; window++) { /* 1 is sent again in 2 */
            collector pprof, request;
            otlp_model meant;
            d.door->happen(&d.calm, window);
            d.door->happen(&d.tried, window);
            begin(&d, window);
            REQUIRE(!write_side(&d, &d.calm, 0, &pprof));
            REQUIRE(!write_side(&d, &d.tried, 0, &request));
            REQUIRE(otlp_model_read_pprof(&d.arena, pprof.bytes.ptr, pprof.bytes.len, &meant));
            otlp_model_read(&d.arena, request.bytes.ptr, request.bytes.len, &models[window]);
            const char *wrong = differ_by_door(&d, &meant, &models[window]);
            CHECK_MSG(!wrong, "%s, window %zu: %s", d.door->name, window, wrong);
            CHECK_MSG(strstr(meant.text, d.door->unknown), "%s", d.door->name);
            (window == 1 ? abandon : commit)(&d);
        }
        CHECK(!common_ids(&models[0], &models[1]) && same_ids(&models[1], &models[2]));
        CHECK(!common_ids(&models[2], &models[3]));
        duo_end(&d);
    }
}

/* ---- failures ------------------------------------------------------------------------------------ */

/* A window of which each write is refused until none is left. Returns how many were. */
static size_t refuse_each_write(duo *d, otlp_model *out)
{
    collector calm, tried;
    size_t nth = 1;
    CHECK(!write_side(d, &d->calm, 0, &calm));
    while (write_side(d, &d->tried, nth, &tried) == PPROFDELTA_E_SINK)
        nth++;
    check_same(d, calm.bytes, tried.bytes, out);
    return nth - 1;
}

TEST(a_sink_that_refuses_costs_no_window)
{
    for (size_t i = 0; i < DOORS; i++) {
        duo d;
        duo_begin(&d, &doors[i], PPROFDELTA_OTLP);
        for (size_t window = 0; window < WINDOWS; window++) {
            otlp_model first = {.types = 0}, again = {.types = 0};
            collector refused;
            d.door->happen(&d.calm, window);
            d.door->happen(&d.tried, window);
            begin(&d, window);
            CHECK(refuse_each_write(&d, &first) > 0);
            CHECK(write_side(&d, &d.tried, 1, &refused) == PPROFDELTA_E_SINK);
            d.door->abandon(&d.calm);
            d.door->abandon(&d.tried);
            begin(&d, window);
            CHECK(refuse_each_write(&d, &again) > 0);
            CHECK_MSG(same_ids(&first, &again), "%s", d.door->name);
            commit(&d);
        }
        duo_end(&d);
    }
}

/* The nth allocation of the window fails, with all after it or alone. True if there was one. The
 * window is open and complete at the end. */
static bool fail_once(duo *d, size_t window, size_t nth, bool is_alone)
{
    tracker *memory = &d->tried.memory;
    collector lost = {.calls = 0};
    memory->refused = 0;
    memory->is_alone = is_alone;
    memory->fail_at = memory->calls + nth;
    d->calm.now = d->tried.now += 1000;
    pprofdelta_status status = d->door->begin(&d->tried, window);
    bool has_begun = !status;
    if (has_begun)
        status = write_side(d, &d->tried, 0, &lost);
    memory->fail_at = 0;
    CHECK_MSG(status == (memory->refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK), "%s, %zu: %d",
              d->door->name, nth, status);
    CHECK(!status || !lost.calls);
    if (!has_begun) { /* the next one takes its place */
        d->door->abandon(&d->tried);
        CHECK(!d->door->begin(&d->tried, window));
    }
    CHECK(!d->door->begin(&d->calm, window));
    return memory->refused;
}

TEST(each_allocation_may_fail_and_the_window_is_whole)
{
    for (size_t i = 0; i < (size_t)DOORS * 2; i++) {
        size_t failures = 0;
        bool has_failed = true;
        for (size_t nth = 1; has_failed; nth++) {
            duo d;
            duo_begin(&d, &doors[i / 2], PPROFDELTA_OTLP);
            has_failed = false;
            for (size_t window = 0; window < 2; window++) {
                collector calm, tried;
                otlp_model meant;
                d.door->happen(&d.calm, window);
                d.door->happen(&d.tried, window);
                has_failed |= fail_once(&d, window, nth, i % 2);
                REQUIRE(!write_side(&d, &d.calm, 0, &calm));
                REQUIRE(!write_side(&d, &d.tried, 0, &tried));
                check_same(&d, calm.bytes, tried.bytes, &meant);
                commit(&d);
            }
            failures += has_failed;
            duo_end(&d);
        }
        CHECK_MSG(failures > 4, "%s: %zu", doors[i / 2].name, failures);
    }
}

TEST(each_allocation_of_a_new_one_may_fail)
{
    for (size_t i = 0; i < DOORS; i++) {
        bool has_failed = true;
        for (size_t nth = 1; has_failed; nth++) {
            side s = {.memory = {.fail_at = nth}};
            pprofdelta_status status = doors[i].make(&s, PPROFDELTA_OTLP);
            has_failed = s.memory.refused > 0;
            CHECK(status == (has_failed ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK));
            CHECK(!s.it == has_failed);
            if (!status)
                doors[i].end(&s);
            CHECK(!s.memory.live);
        }
    }
}

TEST_MAIN()
