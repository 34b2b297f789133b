/* Bytes as a program of calls on a builder: several samples that are flushed in any order, also from within the allocator, the sink and a fork, as other threads and samplers do.
 * Whatever fails on the way:
 *
 *   - an export that arrives is a valid, compact profile of what was flushed since the last one,
 *     added up sample by sample, once; what was flushed while it was under way may be in the next
 *   - written again as OTLP it means the same (otlp_model.h)
 *   - one that is refused or has no memory loses nothing; what had no memory when it was flushed is
 *     in the next one, or the call that flushed it failed
 *   - a wrong sample and a wrong call are refused
 *   - the child of a fork has nothing of the parent's, and the parent everything
 *   - every failure fills in the error struct, no success touches it, and everything is given
 *     back */
#include "fuzz.h"

#include "builder/builder.h"
#include "compare.h"
#include "live.h"
#include "pprofdelta_record.h"
#include "program.h"
#include "run.h"
#include "same_meaning.h"
#include "serial.h"

#include <unistd.h>

enum { SLOTS = 6, FRAMES = 6, PLACES = 2 * FRAMES };
enum { TYPES = 4, MOST_DEPTH = 40, MOST_LABELS = 8, MOST_EXPORTS = 12 };

/* A sample of a caller, and what it should become. */
typedef struct slot {
    pprofdelta_frame frames[MOST_DEPTH];
    uint64_t addresses[MOST_DEPTH];
    pprofdelta_label labels[MOST_LABELS];
    int64_t values[TYPES];
    unsigned lacks;  /* arrays that are NULL: LACKS_... */
    model_sample *m; /* NULL: the slot is free */
} slot;

enum { LACKS_FRAMES = 1, LACKS_LABELS = 2, LACKS_VALUES = 4 };

typedef struct trial {
    program in;
    arena arena, export_arena;
    tracker memory;
    pprofdelta_builder_options options;
    pprofdelta_builder *b;
    model m; /* its samples: what the next export has to have */
    slot slots[SLOTS];
    uint64_t sequence;
    unsigned exports;
    /* Somebody flushes this slot in the middle of the next allocation; 0: nobody, else 1 more. */
    size_t interrupting;
    model_sample *interrupted; /* who did, in an export: in it, or in the next */
    /* The export under way. */
    unsigned sink_does;
    size_t asked; /* samples that were flushed before the sink was called */
    buf output;
    bool is_called, is_forked;
} trial;

/* ---- what a program names -------------------------------------------------------------------- */

static const pprofdelta_value_type types[TYPES] = {{"cpu", "nanoseconds", 0},
                                                   {"samples", "count", 0},
                                                   {"alloc", "bytes", 0},
                                                   {"cpu", "nanoseconds", 0}};

static const pprofdelta_frame frames[FRAMES] = {
    {"main", NULL, "main.c", 1, 2, 3}, {"main", "main", "main.c", 1, 2, 3}, /* the same */
    {"main", NULL, "main.c", 1, 3, 3}, {"f", "_Z1f", "", 0, 0, 0},
    {NULL, NULL, NULL, 0, 0, 0},       {"", NULL, NULL, -1, -2, 0},
};

static const pprofdelta_label labels[] = {{"thread", "a", 0, NULL}, {"thread", "b", 0, NULL},
                                          {"size", NULL, 8, "kb"},  {"size", NULL, -8, NULL},
                                          {NULL, "a", 0, ""},       {"size", "", 0, "kb"}};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Each frame twice: without an address, and with one that two of them share. */
static uint64_t address_of(size_t frame, bool has_address)
{
    return has_address ? 0x1000 + frame / 2 : 0;
}

static void make_places(trial *t)
{
    for (size_t i = 0; i < PLACES; i++) {
        const pprofdelta_frame *frame = &frames[i / 2];
        model_function *f = arena_alloc(&t->arena, sizeof *f);
        model_location *l = arena_alloc(&t->arena, sizeof *l);
        *f = (model_function){.name = or_empty(frame->name),
                              .system_name =
                                  or_empty(frame->system_name ? frame->system_name : frame->name),
                              .filename = or_empty(frame->filename),
                              .start_line = frame->start_line};
        *l = (model_location){.address = address_of(i / 2, i & 1), .lines_len = 1};
        l->lines = ARENA_ARRAY(&t->arena, model_line, 1);
        l->lines[0] = (model_line){f, frame->line, frame->column};
        ARENA_PUSH(&t->arena, t->m.functions, t->m.functions_len, t->m.functions_cap, f);
        ARENA_PUSH(&t->arena, t->m.locations, t->m.locations_len, t->m.locations_cap, l);
    }
}

static void make_model(trial *t, size_t types_len)
{
    t->m = model_empty;
    t->m.types_len = types_len;
    t->m.types = ARENA_ARRAY(&t->arena, model_type, types_len);
    for (size_t i = 0; i < types_len; i++)
        t->m.types[i] = (model_type){types[i].type, types[i].unit};
    make_places(t);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void start(trial *t, slot *s)
{
    if (s->m)
        return;
    *s = (slot){.m = arena_alloc(&t->arena, sizeof *s->m)};
    s->m->stack = ARENA_ARRAY(&t->arena, model_location *, MOST_DEPTH);
    s->m->labels = ARENA_ARRAY(&t->arena, model_label, MOST_LABELS);
    s->m->values = ARENA_ARRAY(&t->arena, int64_t, TYPES);
}

static void push_frame(trial *t, slot *s)
{
    unsigned which = program_byte(&t->in);
    size_t place = which % PLACES;
    if (!s->m || s->m->depth == MOST_DEPTH)
        return;
    s->lacks |= which >= 250 ? LACKS_FRAMES : 0;
    s->frames[s->m->depth] = frames[place / 2];
    s->addresses[s->m->depth] = address_of(place / 2, place & 1);
    s->m->stack[s->m->depth++] = t->m.locations[place];
}

static void push_label(trial *t, slot *s)
{
    unsigned which = program_byte(&t->in);
    const pprofdelta_label *l = &labels[which % (sizeof labels / sizeof *labels)];
    if (!s->m || s->m->labels_len == MOST_LABELS)
        return;
    s->lacks |= which >= 250 ? LACKS_LABELS : 0;
    s->labels[s->m->labels_len] = *l;
    s->m->labels[s->m->labels_len++] =
        (model_label){or_empty(l->key), or_empty(l->str), l->num, or_empty(l->num_unit)};
}

static void push_value(trial *t, slot *s)
{
    size_t type = program_below(&t->in, TYPES + 1);
    int64_t value = (int64_t)program_number(&t->in) >> 16; /* their sums fit in 64 bits */
    if (!s->m)
        return;
    if (type >= t->m.types_len) {
        s->lacks |= type == TYPES ? LACKS_VALUES : 0;
        return;
    }
    s->values[type] += value;
    s->m->values[type] += value;
}

static bool counts(const trial *t, const slot *s)
{
    return is_nonzero(s->m->values, t->m.types_len) && !s->lacks;
}

static bool has_addresses(const slot *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (s->addresses[i])
            return true;
    return false;
}

/* Returns what the next export has to have of it; NULL: nothing. */
static model_sample *flush(trial *t, slot *s)
{
    pprofdelta_error err = fuzz_unfilled();
    size_t refused = t->memory.refused;
    const pprofdelta_sample sample = {
        .frames = s->lacks & LACKS_FRAMES ? NULL : s->frames,
        .addresses = has_addresses(s, s->m->depth) ? s->addresses : NULL,
        .frames_len = s->m->depth,
        .values = s->lacks & LACKS_VALUES ? NULL : s->values,
        .labels = s->lacks & LACKS_LABELS ? NULL : s->labels,
        .labels_len = s->m->labels_len,
    };
    model_sample *m = counts(t, s) ? s->m : NULL;
    s->m = NULL; /* nobody else may flush it now */
    pprofdelta_status status = pprofdelta_builder_add(t->b, &sample, &err);
    bool is_refused = m && status == PPROFDELTA_E_MEMORY; /* for it, or for those before it */
    if (is_refused)
        require(t->memory.refused > refused);
    else
        require(status == (s->lacks ? PPROFDELTA_E_USAGE : PPROFDELTA_OK));
    fuzz_require_told(&err, status);
    if (m && !is_refused)
        ARENA_PUSH(&t->arena, t->m.samples, t->m.samples_len, t->m.samples_cap, m);
    return is_refused ? NULL : m;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *resize(void *cookie, void *ptr, size_t size)
{
    trial *t = cookie;
    pprofdelta_allocator inner = tracker_allocator(&t->memory);
    slot *s = t->interrupting ? &t->slots[t->interrupting - 1] : NULL;
    t->interrupting = 0;
    if (s && s->m)
        t->interrupted = flush(t, s);
    return inner.resize(inner.cookie, ptr, size);
}

static void release(void *cookie, void *ptr)
{
    trial *t = cookie;
    pprofdelta_allocator inner = tracker_allocator(&t->memory);
    inner.release(inner.cookie, ptr);
}

/* One allocation fails, or is interrupted. */
static void arm(trial *t, unsigned which, bool interrupts)
{
    t->memory.fail_at = t->interrupting = 0;
    if (interrupts)
        t->interrupting = 1 + which % SLOTS;
    else
        t->memory.fail_at = t->memory.calls + 1 + which;
}

/* ---- forks ----------------------------------------------------------------------------------- */

static void become_child(trial *t)
{
    t->m.samples_len = 0;
    t->sequence = 0;
    t->interrupted = NULL;
}

/* Another thread may flush while the fork is on its way: into a queue. (It would wait for the fork,
 * here for ever, if there were nothing to add.) */
static void fork_by_hand(trial *t, unsigned how)
{
    slot *s = &t->slots[how / 4 % SLOTS];
    t->memory.fail_at = t->interrupting = 0;
    pprofdelta_builder_fork(t->b, PPROFDELTA_FORK_PREPARE);
    if (how & 2 && s->m && counts(t, s))
        flush(t, s);
    if (how & 1) {
        pprofdelta_builder_fork(t->b, PPROFDELTA_FORK_CHILD);
        become_child(t);
    } else {
        pprofdelta_builder_fork(t->b, PPROFDELTA_FORK_PARENT);
    }
}

/* ---- exports --------------------------------------------------------------------------------- */

enum { SINK_REFUSES = 1, SINK_FLUSHES = 2, SINK_FORKS = 4 };

static int sink_write(void *cookie, const void *data, size_t len)
{
    trial *t = cookie;
    unsigned how = t->sink_does, which = how / 16;
    slot *s = &t->slots[which % SLOTS];
    require(!t->is_called);
    t->is_called = true;
    t->asked = t->m.samples_len;
    buf_add(&t->output, data, len);
    if (how & SINK_FLUSHES && s->m)
        flush(t, s);
    if (how & SINK_FORKS) {
        fork_by_hand(t, which);
        t->is_forked = which & 1;
    }
    return how & SINK_REFUSES;
}

static live_sums sums_of(arena *a, buf profile, reading *r)
{
    live_sums sums = {.arena = a};
    require(reading_make(a, profile.ptr, profile.len, r) == PPROFDELTA_OK);
    for (size_t i = 0; i < r->samples_len; i++) {
        int64_t values[LIVE_TYPES] = {0};
        memcpy(values, r->samples[i].values, r->view->n_sample_type * sizeof *values);
        live_add(&sums, r->samples[i].key, values);
    }
    return sums;
}

static void require_report(trial *t, const pprofdelta_builder_report *report, const reading *r)
{
    require(report->pid == getpid() && report->sequence > t->sequence);
    require(report->samples_out == r->records && r->records == r->samples_len);
    require(report->strings == r->view->n_string_table && report->output_len == t->output.len);
    require(r->view->time_nanos == report->to_nanos && r->view->period == t->options.period);
    require(r->view->duration_nanos == report->to_nanos - report->from_nanos);
    const char *default_type = reading_string(r, r->view->default_sample_type);
    require(!strcmp(default_type, or_empty(t->options.default_type)));
    require(r->view->n_comment == 1 && reading_is_stamp(r, 0));
    for (size_t i = 0; i < r->samples_len; i++)
        require(is_nonzero(r->samples[i].values, t->m.types_len));
    fuzz_agree(compare_compact(&t->export_arena, r));
}

/* In it is what was flushed before the sink was called, but perhaps not the one that
 * interrupted. */
static void arrived(trial *t, const pprofdelta_builder_report *report)
{
    const serial_style style = {0};
    reading got, want;
    size_t len = t->m.samples_len, in = report->samples_in;
    require(in <= t->asked && in + (t->interrupted != NULL) >= t->asked);
    require(report->samples_lost == 0);
    t->m.samples_len = in;
    live_sums said = sums_of(&t->export_arena, t->output, &got);
    buf profile = serial_write(&t->export_arena, &t->m, &style);
    live_sums wanted = sums_of(&t->export_arena, profile, &want);
    fuzz_agree(live_differ(&said, &wanted));
    require_report(t, report, &got);
    for (size_t i = in; i < len; i++)
        t->m.samples[i - in] = t->m.samples[i];
    t->m.samples_len = len - in;
    t->sequence = report->sequence;
}

/* What is flushed in the middle of it is in the next export. */
static void write_as_otlp(trial *t)
{
    size_t fail_at = t->memory.fail_at, calls = t->memory.calls;
    collector c = {.bytes = buf_begin(&t->export_arena)};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_error err = fuzz_unfilled();
    if (!meaning_is_compared(t->output.len))
        return;
    t->memory.fail_at = 0;
    t->b->door.encoder.format = PPROFDELTA_OTLP;
    require(pprofdelta_builder_write(t->b, &sink, NULL, &err) == PPROFDELTA_OK);
    fuzz_require_untouched(&err);
    require_same_meaning(t->output, c.bytes);
    t->b->door.encoder.format = PPROFDELTA_PPROF;
    t->b->steps.is_empty = false; /* the receiver has the profile */
    t->memory.fail_at = fail_at ? fail_at + t->memory.calls - calls : 0;
}

static void export(trial *t)
{
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_builder_report report = {.size = sizeof report};
    pprofdelta_sink sink = {.write = sink_write, .cookie = t};
    size_t refused = t->memory.refused;
    if (t->exports++ == MOST_EXPORTS)
        return;
    arena_free(&t->export_arena);
    t->output = buf_begin(&t->export_arena);
    t->is_called = t->is_forked = false;
    t->interrupted = NULL;
    t->sink_does = program_byte(&t->in);
    pprofdelta_status status = pprofdelta_builder_begin(t->b, &err);
    if (!status)
        status = pprofdelta_builder_write(t->b, &sink, &report, &err);
    fuzz_require_told(&err, status);
    if (status == PPROFDELTA_E_MEMORY)
        require(t->memory.refused > refused && !t->is_called);
    else if (t->is_forked)
        require(status == PPROFDELTA_E_USAGE);
    else
        require(status == (t->sink_does & SINK_REFUSES ? PPROFDELTA_E_SINK : PPROFDELTA_OK));
    if (status) {
        pprofdelta_builder_abandon(t->b);
        return;
    }
    arrived(t, &report);
    write_as_otlp(t);
    require(pprofdelta_builder_commit(t->b) == PPROFDELTA_OK);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void step(trial *t)
{
    unsigned op = program_byte(&t->in), what = op % 16;
    slot *s = &t->slots[op / 16 % SLOTS];
    if (what == 0)
        start(t, s);
    else if (what < 4)
        push_frame(t, s);
    else if (what < 6)
        push_value(t, s);
    else if (what == 6)
        push_label(t, s);
    else if (what < 9 && s->m)
        flush(t, s);
    else if (what == 9)
        s->m = NULL; /* never flushed */
    else if (what > 9 && what < 13)
        arm(t, program_byte(&t->in), what == 12);
    else if (what == 13)
        fork_by_hand(t, program_byte(&t->in));
    else if (what > 13)
        export(t);
}

static bool make_builder(trial *t)
{
    unsigned how = program_byte(&t->in);
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    pprofdelta_allocator allocator = {resize, release, t};
    pprofdelta_error err = fuzz_unfilled();
    o.types = types;
    o.types_len = 1 + how % TYPES;
    o.compression = how >= 252 ? (pprofdelta_compression)(how & 1) : PPROFDELTA_PLAIN;
    o.period_type = how & 4 ? "cpu" : NULL;
    o.period = how & 4 ? 10000000 : 0;
    o.default_type = how & 8 ? "samples" : NULL;
    t->options = o;
    make_model(t, o.types_len);
    t->memory.is_alone = true;
    if (how & 16)
        arm(t, program_byte(&t->in), false);
    pprofdelta_status status = pprofdelta_builder_new(&o, &allocator, &t->b, &err);
    fuzz_require_told(&err, status);
    require(status == (t->memory.refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK));
    require(!t->b == (status != PPROFDELTA_OK));
    return t->b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > PROGRAM_MOST_BYTES)
        return 0;
    trial t = {.in = program_of(data, size)};
    if (make_builder(&t)) {
        while (program_has_more(&t.in))
            step(&t);
        pprofdelta_builder_free(t.b);
    }
    require(!t.memory.live);
    arena_free(&t.arena);
    arena_free(&t.export_arena);
    return 0;
}
