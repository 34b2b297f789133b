/* Bytes as the life of a heap and a program of calls on its tracker: allocations that
 * are tracked, deferred, moved, freed and dropped; batches that are written, refused,
 * committed and abandoned at any time; forks. Whatever is called, and wherever pages or caps
 * run out:
 *
 *   - what a receiver has added up is what a naive list says was alive when the batch began, and what
 *     had ended, by age; a window says all that is in use
 *   - a batch that is written again as OTLP means the same (otlp_model.h)
 *   - an answer of "dropped" is counted once, comes only of a cap or of pages that were refused,
 *     and leaves nothing behind; the stats say what the list says
 *   - every failure fills in the error struct, no success touches it, and all pages are given back,
 *     with the filter as clean as it came */
#include "life.h"

#include "heap/heap.h"
#include "same_meaning.h"

/* ---- what the tracker says of itself --------------------------------------------------------- */

static void require_stats(trial *t)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    int64_t objects = 0, bytes = 0;
    uint64_t live = 0, deferred = 0, pieces = 0;
    require(drops_of(t, &stats) == t->drops);
    for (size_t i = 0; i < SLOTS; i++) {
        live += t->slots[i].state == LIVE;
        pieces += t->slots[i].state == LIVE ? t->slots[i].len - 1 : 0;
        deferred += t->slots[i].state == DEFERRED;
    }
    for (size_t i = 0; i < HANDS; i++) {
        live += t->hands[i].is_full;
        pieces += t->hands[i].is_full ? t->hands[i].was.len - 1 : 0;
    }
    for (size_t i = 0; i < t->sums.len; i++) {
        objects += t->sums.rows[i].values[2];
        bytes += t->sums.rows[i].values[3];
    }
    require(stats.live >= live && stats.live <= live + pieces); /* some pieces are joined */
    require(t->nested || stats.deferred == deferred);
    require(stats.inuse_objects == objects && stats.inuse_bytes == bytes);
    require(stats.peak_bytes == t->most && stats.peak_bytes >= bytes);
    require(stats.memory <= t->memory.live && stats.memory <= t->options.max_memory);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Some columns of the sums. Where sites were forgotten nobody knows of which of them their
 * allocations and their peak were: then these are one row, and a row for each age. Where an age was
 * dropped, there are none. */
static live_sums part(trial *t, const live_sums *of, bool has_allocs, bool has_inuse)
{
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    live_sums out = {.arena = &t->arena};
    pprofdelta_heap_describe(t->heap, &stats);
    for (size_t i = 0; i < of->len; i++) {
        const int64_t *v = of->rows[i].values;
        const int64_t allocs[LIVE_TYPES] = {v[0], v[1]}, inuse[LIVE_TYPES] = {0, 0, v[2], v[3]},
                      peak[LIVE_TYPES] = {0, 0, 0, 0, v[4], v[5]};
        const int64_t freed[LIVE_TYPES] = {0, 0, 0, 0, 0, 0, v[6], v[7]};
        const char *age = strstr(of->rows[i].key, "{age="), *key = of->rows[i].key;
        if (stats.forgotten)
            key = age ? arena_format(&t->arena, "%.*s", (int)strcspn(age, "}"), age) : "forgotten";
        if (has_allocs)
            live_add(&out, key, allocs);
        if (has_allocs && !stats.dropped_ages)
            live_add(&out, key, freed);
        if (has_inuse) {
            live_add(&out, of->rows[i].key, inuse);
            live_add(&out, key, peak);
        }
    }
    return out;
}

static void agree(trial *t, const live_sums *got, const live_sums *want, bool allocs, bool inuse)
{
    live_sums a = part(t, got, allocs, inuse), b = part(t, want, allocs, inuse);
    fuzz_agree(live_differ(&a, &b));
}

static void begin(trial *t)
{
    pprofdelta_error err = fuzz_unfilled();
    t->now += 1 + (int64_t)(program_number(&t->in) % 100000);
    pprofdelta_heap_window batch = {.size = sizeof batch};
    pprofdelta_status status = pprofdelta_heap_begin(t->heap, t->now, &batch, &err);
    require(status == (t->has_batch ? PPROFDELTA_E_USAGE : PPROFDELTA_OK));
    fuzz_require_told(&err, status);
    if (status)
        return;
    t->id = t->id ? t->id : batch.id; /* a child has a random one */
    require(batch.id == t->id && batch.to_nanos == t->now && batch.from_nanos < t->now);
    t->batch = batch;
    t->has_batch = true;
    t->has_arrived = t->is_written = false;
    t->then = (live_sums){.arena = &t->arena};
    for (size_t i = 0; i < t->sums.len; i++)
        live_add(&t->then, t->sums.rows[i].key, t->sums.rows[i].values);
    if (t->options.flags & PPROFDELTA_HEAP_AGES)
        add_ages(t, &t->then);
    t->stretch++;
    require_stats(t);
}

static void receive(trial *t, const live_profile *p)
{
    bool is_full = t->batch.kind == PPROFDELTA_HEAP_FULL;
    t->has_arrived = true;
    if (t->is_deaf && !is_full)
        return;
    live_receive(&t->receiver, p);
    t->is_deaf = false;
    require(!t->receiver.gaps);
    agree(t, &t->receiver.now, &t->then, true, true);
}

static void arrive(trial *t, pprofdelta_heap_inuse inuse, const live_mail *mail)
{
    live_profile p;
    require(live_read(&t->arena, mail->bytes, mail->len, &p));
    require(p.types == (t->options.flags & PPROFDELTA_HEAP_AGES ? LIVE_TYPES : LIVE_PLAIN));
    require(p.epoch == t->batch.epoch && p.sequence == t->batch.sequence && p.id == t->id);
    require(p.from_nanos == t->batch.from_nanos && p.to_nanos == t->batch.to_nanos);
    bool is_full = t->batch.kind == PPROFDELTA_HEAP_FULL;
    bool is_window = !is_full && inuse == PPROFDELTA_HEAP_SNAPSHOT;
    require(!strcmp(p.kind, is_full ? "full" : is_window ? "window" : "delta"));
    if (!is_window) {
        receive(t, &p);
        return;
    }
    agree(t, &p.sums, &t->then, false, true);
    if (t->has_arrived && !t->is_deaf)
        agree(t, &p.sums, &t->receiver.last.sums, true, false);
}

/* Writes the batch under way. */
static pprofdelta_status write_once(trial *t, pprofdelta_heap_inuse inuse, live_mail *mail)
{
    pprofdelta_sink sink = live_sink(mail);
    pprofdelta_error err = fuzz_unfilled();
    size_t refused = t->memory.refused;
    pprofdelta_status status = pprofdelta_heap_write(t->heap, inuse, &sink, &err);
    fuzz_require_told(&err, status);
    require(t->has_batch || status == PPROFDELTA_E_USAGE);
    t->is_written = !status;
    if (status == PPROFDELTA_E_MEMORY || status == PPROFDELTA_E_LIMIT)
        require(t->memory.refused > refused || t->options.max_export < UINT64_C(1) << 20);
    else if (t->has_batch)
        require(status == (mail->refuses ? PPROFDELTA_E_SINK : PPROFDELTA_OK));
    bool is_empty =
        !status && !mail->calls && t->heap->writer.door.encoder.format == PPROFDELTA_OTLP;
    require(is_empty || mail->calls == (status == PPROFDELTA_OK || status == PPROFDELTA_E_SINK));
    return status;
}

static buf live_bytes(const live_mail *mail)
{
    return (buf){.ptr = (uint8_t *)(uintptr_t)mail->bytes, .len = mail->len};
}

static void write_as_otlp(trial *t, pprofdelta_heap_inuse inuse, const live_mail *pprof)
{
    live_mail mail = {.arena = &t->arena};
    if (!meaning_is_compared(pprof->len))
        return;
    pd_batch_writer *writer = &t->heap->writer;
    writer->door.encoder.format = PPROFDELTA_OTLP;
    if (!write_once(t, inuse, &mail))
        require_same_meaning(live_bytes(pprof), live_bytes(&mail));
    writer->door.encoder.format = PPROFDELTA_PPROF;
    t->heap->export.steps.is_empty = false; /* the receiver has the profile */
}

static void write(trial *t)
{
    unsigned how = program_byte(&t->in);
    pprofdelta_heap_inuse inuse = how & 1 ? PPROFDELTA_HEAP_SNAPSHOT : PPROFDELTA_HEAP_CHANGES;
    live_mail mail = {.arena = &t->arena, .refuses = how >> 1 & 1};
    if (t->writes++ >= MOST_WRITES || write_once(t, inuse, &mail))
        return;
    arrive(t, inuse, &mail);
    write_as_otlp(t, inuse, &mail);
}

static void end_batch(trial *t)
{
    unsigned how = program_byte(&t->in) % 8;
    if (how < 3) {
        pprofdelta_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
        pprofdelta_heap_describe(t->heap, &before);
        pprofdelta_heap_abandon(t->heap);
        pprofdelta_heap_describe(t->heap, &after);
        if (t->has_batch)
            begin_stretch(t, after.lost != before.lost);
        t->has_batch = false;
    } else if (how == 3) {
        pprofdelta_heap_resync(t->heap);
    } else if (pprofdelta_heap_commit(t->heap) == PPROFDELTA_OK) {
        require(t->has_batch && t->is_written);
        t->is_deaf |= !t->has_arrived;
        t->has_batch = false;
        begin_stretch(t, true);
    } else {
        require(!t->has_batch || !t->is_written);
    }
}

/* ---- forks ----------------------------------------------------------------------------------- */

static void become_child(trial *t)
{
    pprofdelta_heap_fork(t->heap, PPROFDELTA_FORK_CHILD, t->now);
    t->id = 0;
    t->receiver = (live_receiver){.arena = &t->arena};
    if (t->has_batch)
        begin_stretch(t, true);
    begin_stretch(t, true); /* what is inherited is older than the first window */
    t->stretch++;
    t->deaths_len = 0;
    t->is_deaf = t->has_batch = false;
    t->drops = 0;
    t->sums = live_inherited(&t->sums, &t->most);
}

static void fork_by_hand(trial *t)
{
    unsigned how = program_byte(&t->in);
    if (t->nested)
        return;
    pprofdelta_heap_fork(t->heap, PPROFDELTA_FORK_PREPARE, 0);
    if (how & 1)
        become_child(t);
    else
        pprofdelta_heap_fork(t->heap, PPROFDELTA_FORK_PARENT, 0);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void arm(trial *t)
{
    unsigned how = program_byte(&t->in);
    t->memory.fail_at = t->memory.calls + 1 + how / 2;
    t->memory.is_alone = !(how & 1);
}

static void step(trial *t)
{
    unsigned op = program_byte(&t->in), what = op % 20;
    if (t->steps++ >= MOST_STEPS)
        return;
    if (what >= 10) {
        static void (*const calls[])(trial *) = {
            begin,         write,         write, end_batch,    commit,
            require_stats, require_stats, write, fork_by_hand, arm};
        calls[what - 10](t);
        return;
    }
    size_t slot = program_below(&t->in, SLOTS);
    hand *h = &t->hands[slot % HANDS];
    if (what < 4)
        track(t, slot, op >= 128);
    else if (what == 4)
        defer(t, slot);
    else if (what < 8)
        untrack(t, slot);
    else if (what == 8)
        begin_realloc(t, slot, h);
    else
        end_realloc(t, h, slot, op >= 64);
}

static void symbolize(void *cookie, uint64_t address, pprofdelta_symbol *out)
{
    static pprofdelta_frame frames[2];
    static const char *const names[] = {"main", NULL, "f", ""};
    (void)cookie;
    size_t len = address % 3;
    for (size_t i = 0; i < len; i++)
        frames[i] = (pprofdelta_frame){.name = names[(address + i) % 4],
                                       .system_name = names[address % 4],
                                       .filename = names[i % 4],
                                       .start_line = 1,
                                       .line = (int64_t)address};
    *out = (pprofdelta_symbol){.frames = frames, .frames_len = len};
}

static bool make_heap(trial *t)
{
    unsigned how = program_byte(&t->in), caps = program_byte(&t->in);
    pprofdelta_heap_options *o = &t->options;
    *o = (pprofdelta_heap_options)PPROFDELTA_HEAP_OPTIONS_INIT;
    o->flags = PPROFDELTA_NO_MAPPINGS | (how & 2 ? PPROFDELTA_HEAP_AGES : 0);
    o->id = t->id = 7;
    o->started_nanos = 500;
    o->filter = &filter;
    o->pages = &t->pages;
    o->compression = how >= 252 ? (pprofdelta_compression)(how & 1) : PPROFDELTA_PLAIN;
    o->symbolize = how & 1 ? symbolize : NULL;
    o->max_live = caps & 1 ? 1 + program_byte(&t->in) % SLOTS : 1000;
    o->max_sites = caps & 2 ? 1 + program_byte(&t->in) % SLOTS : 1000;
    o->max_depth = caps & 4 ? 1 + program_byte(&t->in) % MOST_DEPTH : 100;
    o->max_deferred = caps & 8 ? 1 + program_byte(&t->in) % SLOTS : 1000;
    o->max_attempts = 1 + how / 2 % 4;
    o->max_retry = caps & 16 ? 100 * (1 + (uint64_t)program_byte(&t->in)) : 0;
    o->max_memory = caps & 32 ? 4096 * (1 + (uint64_t)program_byte(&t->in)) : UINT64_C(1) << 28;
    o->max_export = caps & 64 ? 256 * (1 + (uint64_t)program_byte(&t->in)) : UINT64_C(1) << 28;
    if (caps & 128)
        arm(t);
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_status status = pprofdelta_heap_new(o, &t->heap, &err);
    fuzz_require_told(&err, status);
    if (status)
        require(status == PPROFDELTA_E_MEMORY && !t->heap && (t->memory.refused || caps & 32));
    return !status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > PROGRAM_MOST_BYTES)
        return 0;
    trial t = {.in = program_of(data, size), .step = step, .now = 1000};
    t.pages = tracker_pages(&t.memory);
    t.sums.arena = t.receiver.arena = &t.arena;
    begin_stretch(&t, true);
    if (make_heap(&t)) {
        while (program_has_more(&t.in) && t.steps < MOST_STEPS)
            step(&t);
        require_stats(&t);
        pprofdelta_heap_free(t.heap);
    }
    require(!t.memory.live);
    for (size_t i = 0; i < SLOTS; i++)
        require(!pprofdelta_heap_maybe(&filter, pointer(i)));
    arena_free(&t.arena);
    return 0;
}
