#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int collect(void *cookie, const void *data, size_t len)
{
    collector *c = cookie;
    if (++c->calls == c->fail_at)
        return 1;
    buf_add(&c->bytes, data, len);
    return 0;
}

pprofdelta_sink collector_sink(collector *c)
{
    return (pprofdelta_sink){.write = collect, .cookie = c};
}

const pprofdelta_sink *collecting(collector *c)
{
    c->sink = collector_sink(c);
    return &c->sink;
}

/* The size is stored before each allocation. */
enum { HEAD = _Alignof(max_align_t) };

static void *track_resize(void *cookie, void *ptr, size_t size)
{
    tracker *t = cookie;
    if (!size) /* the library never asks for nothing */
        abort();
    t->calls++;
    bool is_turn = t->is_alone ? t->calls == t->fail_at : t->calls >= t->fail_at;
    if (t->fail_at && is_turn) {
        t->refused++;
        return NULL;
    }
    size_t old = 0;
    uint8_t *block = ptr ? (uint8_t *)ptr - HEAD : NULL;
    if (block)
        memcpy(&old, block, sizeof old);
    block = realloc(block, HEAD + size);
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    t->live = t->live - old + size;
    if (t->live > t->peak)
        t->peak = t->live;
    return block + HEAD;
}

static void track_release(void *cookie, void *ptr)
{
    tracker *t = cookie;
    size_t size;
    uint8_t *block = (uint8_t *)ptr - HEAD;
    memcpy(&size, block, sizeof size);
    t->live -= size;
    free(block);
}

pprofdelta_allocator tracker_allocator(tracker *t)
{
    return (pprofdelta_allocator){track_resize, track_release, t};
}

const pprofdelta_allocator *tracking(tracker *t)
{
    t->allocator = tracker_allocator(t);
    return &t->allocator;
}

static void *map_pages(void *cookie, size_t size)
{
    void *pages = track_resize(cookie, NULL, size);
    return pages ? memset(pages, 0, size) : NULL;
}

static void unmap_pages(void *cookie, void *pages, size_t size)
{
    (void)size;
    track_release(cookie, pages);
}

pprofdelta_heap_pages tracker_pages(tracker *t)
{
    return (pprofdelta_heap_pages){map_pages, unmap_pages, t};
}

pprofdelta_options draw_options(rng *r, const gen *g)
{
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    o.id = 1;
    o.flags = rng_chance(r, 20) ? PPROFDELTA_NO_STAMP : 0;
    o.flags |= rng_chance(r, 20) ? PPROFDELTA_FORCE : 0;
    o.flags |= rng_chance(r, 70) ? PPROFDELTA_VERIFY : 0;
    o.flags |= rng_chance(r, 50) ? PPROFDELTA_DEFAULT_COUNTER : 0;
    o.on_reset = (pprofdelta_on_reset)rng_below(r, PPROFDELTA_ON_RESET_FAIL + 1);
    if (rng_chance(r, 40))
        o.on_reset = PPROFDELTA_ON_RESET_AUTO;
    o.first = rng_chance(r, 25) ? PPROFDELTA_FIRST_ZERO : PPROFDELTA_FIRST_FULL;
    o.compression = rng_chance(r, 70)   ? PPROFDELTA_PLAIN
                    : rng_chance(r, 50) ? PPROFDELTA_ZSTD
                                        : PPROFDELTA_GZIP;
    o.level = (int)rng_below(r, 10);
    o.counters = g->counters;
    o.counters_len = g->counters_len;
    o.gauges = g->gauges;
    o.gauges_len = g->gauges_len;
    return o;
}

void twin_begin(twin *t, const pprofdelta_options *options, const pprofdelta_allocator *allocator)
{
    *t = (twin){0};
    oracle_init(&t->oracle, options);
    pprofdelta_error err;
    if (pprofdelta_new(options, allocator, &t->pd, &err) != PPROFDELTA_OK) {
        fprintf(stderr, "no context: %s\n", err.text);
        abort();
    }
}

void twin_end(twin *t)
{
    pprofdelta_free(t->pd);
    oracle_free(&t->oracle);
    arena_free(&t->arena);
}

static const char *compare_status(twin *t, pprofdelta_status got, status_set want,
                                  const pprofdelta_error *err)
{
    bool told = got == PPROFDELTA_OK || (err->status == got && err->field && *err->text);
    if (!told)
        return arena_format(&t->arena, "status %d without an error to go with it", got);
    if (want & STATUS(got))
        return NULL;
    return arena_format(&t->arena, "status %d (%s), not one of the set %#x", got,
                        got ? err->text : "OK", want);
}

/* After a failure: checks that the library left the caller's objects unchanged. */
static const char *check_untouched(twin *t, const collector *c, const pprofdelta_report *report)
{
    static const pprofdelta_report untouched = {.size = sizeof untouched};
    if (c->calls)
        return arena_text(&t->arena, "a refused window wrote something");
    if (memcmp(report, &untouched, sizeof untouched) != 0) /* NOLINT: it was zeroed byte by byte */
        return arena_text(&t->arena, "a refused window changed the report");
    return NULL;
}

const char *twin_base(twin *t, buf profile, pprofdelta_status *status)
{
    arena_free(&t->arena);
    pprofdelta_error err = {0};
    buf borrowed = buf_begin(&t->arena); /* for the call alone */
    buf_add(&borrowed, profile.ptr, profile.len);
    *status = pprofdelta_base(t->pd, borrowed.ptr, borrowed.len, &err);
    if (borrowed.len)
        memset(borrowed.ptr, 0xff, borrowed.len);
    return compare_status(t, *status, oracle_base(&t->oracle, profile.ptr, profile.len), &err);
}

const char *twin_window(twin *t, buf profile, pprofdelta_status *status)
{
    arena_free(&t->arena);
    pprofdelta_error err = {0};
    pprofdelta_report report;
    memset(&report, 0, sizeof report);
    report.size = sizeof report;
    collector c = {.bytes = buf_begin(&t->arena)};
    pprofdelta_sink sink = collector_sink(&c);
    *status = pprofdelta_window(t->pd, profile.ptr, profile.len, &sink, &report, &err);
    status_set want = oracle_window(&t->oracle, profile.ptr, profile.len, &t->expected);
    const char *wrong = compare_status(t, *status, want, &err);
    if (!wrong && *status)
        return check_untouched(t, &c, &report);
    if (wrong) {
        if (!*status)
            pprofdelta_abandon(t->pd);
        oracle_abandon(&t->oracle);
        return wrong;
    }
    t->output = c.bytes;
    t->report = report;
    wrong = compare_output(&t->arena, t->expected, c.bytes.ptr, c.bytes.len);
    if (!wrong)
        wrong = compare_report(&t->arena, t->expected, &report);
    if (!wrong && report.output_len != c.bytes.len)
        wrong = arena_text(&t->arena, "output_len is not what was written");
    return wrong;
}

void twin_commit(twin *t)
{
    pprofdelta_commit(t->pd);
    oracle_commit(&t->oracle);
}

void twin_abandon(twin *t)
{
    pprofdelta_abandon(t->pd);
    oracle_abandon(&t->oracle);
}

void twin_set_started(twin *t, int64_t started_nanos)
{
    pprofdelta_set_started(t->pd, started_nanos);
    oracle_set_started(&t->oracle, started_nanos);
}

buf testdata_file(arena *a, const char *name)
{
    const char *data = getenv("PD_TESTDATA");
    FILE *file = fopen(arena_format(a, "%s/%s", data ? data : PD_TESTDATA, name), "rb");
    buf out = buf_begin(a);
    uint8_t piece[4096];
    for (size_t got; file && (got = fread(piece, 1, sizeof piece, file)) > 0;)
        buf_add(&out, piece, got);
    if (file)
        fclose(file);
    return out;
}
