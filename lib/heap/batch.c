/* Batches: begin, write, then commit or abandon.
 *
 *     epoch 1                                                   epoch 2
 *     full seq 1   delta 2   delta 3   delta 3, attempt 2 ...   full 5   delta 6
 *                            abandoned                          4 was lost
 *
 * A sequence number is used up when its batch is committed or lost. The first attempt at a full
 * batch opens an epoch; later attempts at that batch belong to the same epoch.
 *
 * Each batch ends later than every batch and attempt before it, whatever the clock says. So the
 * beginning of a batch shows which attempt at the batch before it was committed. */
#include "heap/heap.h"
#include "base/option_checks.h"

#include "base/random.h"
#include "encode/encode.h"

/* The number of sites handled without giving the lock: a microsecond or two. */
enum { AT_ONCE = 32 };

/* ---- begin ----------------------------------------------------------------------------------- */

/* The series is as it is if the process is killed now. With exporting held, or nobody else there. */
static void write_journal(pprofdelta_heap *heap)
{
    pd_heap_export *e = &heap->export;
    e->now.serial = e->journalled + 1;
    e->now.series = pd_steps_series(&e->steps);
    e->now.sending = pd_sites_sending(&heap->sites);
    e->now.check = pd_heap_check_of(&e->now, sizeof e->now);
    e->journal[e->now.serial & 1] = e->now;
    PD_WRITTEN_FIRST();
    e->journalled = e->now.serial;
    PD_WRITTEN_FIRST();
}

void pd_export_init(pprofdelta_heap *heap, uint64_t id, int64_t started_nanos)
{
    heap->export = (pd_heap_export){
        .steps = heap->export.steps,
        .id = id,
        .started_nanos = started_nanos,
        .now = {.ended_nanos = started_nanos, .is_full_due = true, .newer = PD_NEITHER}};
    pd_steps_forked(&heap->export.steps, started_nanos);
    write_journal(heap);
}

void pd_export_make_id(pprofdelta_heap *heap)
{
    if (!heap->export.id)
        heap->export.id = pd_random_id(heap);
    heap->seal = pd_heap_seal(heap);
}

void pprofdelta_heap_resync(pprofdelta_heap *heap)
{
    __atomic_store_n(&heap->export.is_resync_wanted, PD_WANTED, __ATOMIC_RELAXED);
}

/* The next batch. A receiver of OTLP or tables adds counters up whatever the kind is, so that a full batch would
 * count there what was committed before. */
static pprofdelta_heap_window number_batch(pd_heap_export *e, pprofdelta_format format, int64_t now)
{
    pd_heap_journal *n = &e->now;
    bool may_be_full = format == PPROFDELTA_PPROF || !e->steps.series.acked.sequence;
    if (__atomic_exchange_n(&e->is_resync_wanted, 0, __ATOMIC_RELAXED) && may_be_full) {
        n->is_full_due = true;
        n->has_epoch = false;
    }
    if (n->is_full_due && !n->has_epoch) {
        n->epoch++;
        n->has_epoch = true;
    }
    const pd_interval *window = &e->steps.window;
    pd_steps_number(&e->steps, PPROFDELTA_RESTART_NONE,
                    now > n->ended_nanos ? now : n->ended_nanos + 1, 0);
    n->ended_nanos = window->to_nanos;
    return (pprofdelta_heap_window){
        .kind = n->is_full_due ? PPROFDELTA_HEAP_FULL : PPROFDELTA_HEAP_DELTA,
        .id = e->id,
        .epoch = n->epoch,
        .sequence = window->sequence,
        .from_nanos = n->is_full_due ? e->started_nanos : window->from_nanos,
        .to_nanos = window->to_nanos,
        .attempt = window->attempt,
    };
}

/* With both locks. */
static void begin_batch(pprofdelta_heap *heap, int64_t now)
{
    pd_heap_export *e = &heap->export;
    uint64_t epoch = e->now.epoch;
    e->batch = number_batch(e, heap->options.format, now);
    e->batch.changed = heap->sites.changed_len[heap->sites.gathering];
    heap->writer.rows_len = 0; /* those of an earlier batch are not valid any more */
    heap->writer.comment = NULL;
    e->sites_made = heap->sites.pool.made;
    heap->sites.held_peak = heap->sites.peak;
    e->held = (pprofdelta_weight){heap->stats.peak_objects, heap->stats.peak_bytes};
    heap->sites.gathering ^= 1;
    heap->sites.window++;
    heap->stats.batches++;
    heap->stats.resyncs += epoch && e->now.epoch > epoch;
    heap->stats.epoch = e->batch.epoch;
    heap->stats.sequence = e->batch.sequence;
    e->now.newer = heap->sites.gathering;
    write_journal(heap);
}

pprofdelta_status pprofdelta_heap_begin(pprofdelta_heap *heap, int64_t now,
                                        pprofdelta_heap_window *window, pprofdelta_error *err)
{
    if (now > PD_HEAP_LATEST)
        return pd_refuse(err, "now is later than the time of a batch can be");
    if (window)
        PD_TRY(pd_result_check(window, err));
    PD_TRY(pd_export_enter(heap, err));
    pprofdelta_status status;
    if (pd_heap_enter(heap)) {
        status = pd_steps_begin(&heap->export.steps, err);
        if (!status)
            begin_batch(heap, now);
        pd_heap_leave(heap);
    } else {
        status = pd_refuse_lost(err);
    }
    if (!status && window)
        pd_result_write(window, &heap->export.batch, sizeof heap->export.batch);
    pd_lock_give(&heap->exporting);
    return status;
}

void pd_export_hold_peak(pprofdelta_heap *heap)
{
    pd_sites *sites = &heap->sites;
    if (!pd_export_has_new_peak(heap) || !pd_heap_enter(heap))
        return;
    for (uint32_t number = 1; number <= heap->export.sites_made; number++) {
        pd_site_hold(sites, pd_site_at(sites, number));
        if (number % AT_ONCE == 0 && !pd_heap_rest(heap))
            return;
    }
    pd_heap_leave(heap);
}

/* ---- write ----------------------------------------------------------------------------------- */

/* `exporting` is held while the profile is computed, so that a fork finds complete buffers. No lock
 * is held while the sink is called, which may take long. Buffers are pages. They are kept for the
 * next profile, unless a large profile made them large. */
enum { KEEP = 4 << 20 };

pprofdelta_status pd_batch_open(pprofdelta_heap *heap, pprofdelta_error *err)
{
    pd_batch_writer *writer = &heap->writer;
    const pprofdelta_heap_options *o = &heap->options;
    pd_pages_init(&writer->pages, &heap->pages.work, UINT64_MAX);
    pprofdelta_allocator allocator = pd_pages_allocator(&writer->pages);
    pd_mem_init(&writer->mem, &allocator, o->max_export);
    writer->door.encoder.has_lasting_malloc = true;
    pd_door_options options = *PD_DOOR_OPTIONS(o);
    options.id = heap->export.id;
    /* Most batches are small. To begin gzip's level 2, the default for whole profiles, takes twice
     * as long as to make such a batch. */
    options.level = o->level || o->compression != PPROFDELTA_GZIP ? o->level : 1;
    writer->places.symbolize = o->symbolize;
    writer->places.symbolize_cookie = o->symbolize_cookie;
    writer->places.has_mappings = !(o->flags & PPROFDELTA_NO_MAPPINGS);
    writer->places.watch = PD_WATCH_LOADER;
    writer->places.names =
        o->flags & PPROFDELTA_HEAP_NAMES_ONLY ? PD_NAMES_FUNCTIONS : PD_NAMES_ALL;
    return pd_door_open(&writer->door, &writer->mem, &options, err);
}

static void release_buffers(pd_batch_writer *writer)
{
    pd_door_drop(&writer->door);
    if (writer->mem.used > KEEP)
        pd_places_trim(&writer->places, &writer->mem);
}

void pd_batch_close(pprofdelta_heap *heap)
{
    pd_door_close(&heap->writer.door);
    pd_mem_drop(&heap->writer.mem);
}

typedef struct outgoing {
    pprofdelta_heap *heap;
    pprofdelta_heap_inuse inuse;
} outgoing;

/* From here on the attempt is used up. */
static int send_batch(void *cookie, const pprofdelta_sink *sink, const void *data, size_t len)
{
    pprofdelta_heap *heap = ((outgoing *)cookie)->heap;
    if (pd_heap_is_lost(heap))
        return -1;
    write_journal(heap);
    pd_lock_give(&heap->exporting);
    int refused = sink->write(sink->cookie, data, len);
    pd_lock_take(&heap->exporting);
    return refused;
}

static pprofdelta_status make_batch(void *cookie, pd_bytes *out, pprofdelta_error *err)
{
    const outgoing *s = cookie;
    pd_batch_writer *writer = &s->heap->writer;
    pprofdelta_status status = pd_batch_compose(s->heap, s->inuse, out, err);
    pd_heap_copy_maps(s->heap);
    PD_TRY(status);
    return pd_compress_bytes(&writer->door.compressor, &writer->door.mem, *out, out, err);
}

pprofdelta_status pprofdelta_heap_write(pprofdelta_heap *heap, pprofdelta_heap_inuse inuse,
                                        const pprofdelta_sink *sink, pprofdelta_error *err)
{
    static const pd_door_job job = {make_batch, send_batch};
    pd_batch_writer *writer = &heap->writer;
    pd_steps *steps = &heap->export.steps;
    outgoing cookie = {heap, inuse};
    uint64_t written;
    if ((unsigned)inuse > PPROFDELTA_HEAP_SNAPSHOT)
        return pd_refuse(err, "inuse is not one of pprofdelta_heap_inuse");
    uint64_t loads = pd_places_loads(&writer->places); /* a fork waits for `exporting` */
    PD_TRY(pd_export_enter(heap, err));
    writer->loads = loads;
    uint64_t ticket = steps->ticket;
    pprofdelta_status status =
        pd_door_write(&writer->door, steps, &job, &cookie, sink, &written, err);
    /* After E_MEMORY the caller may write again with fewer symbols. If the window was abandoned meanwhile, the
     * buffers may be those of the next one. */
    if (ticket == steps->ticket && (status == PPROFDELTA_E_MEMORY || writer->mem.used > KEEP))
        release_buffers(writer);
    pd_lock_give(&heap->exporting);
    return status;
}

pprofdelta_status pprofdelta_heap_set_gauge(pprofdelta_heap *heap, const pprofdelta_heap_row *rows,
                                            size_t rows_len, const char *comment,
                                            pprofdelta_error *err)
{
    pd_batch_writer *writer = &heap->writer;
    pprofdelta_status status = PPROFDELTA_OK;
    PD_TRY(pd_need_array(rows, rows_len, err));
    for (size_t i = 0; i < rows_len; i++) {
        PD_TRY(pd_need_array(rows[i].frames, rows[i].frames_len, err));
        PD_TRY(pd_need_array(rows[i].stack, rows[i].depth, err));
    }
    PD_TRY(pd_export_enter(heap, err));
    if (!heap->options.gauge)
        status = pd_refuse(err, "options.gauge is not set");
    else if (heap->export.steps.stage == PD_IDLE || heap->export.steps.is_in_sink)
        status = pd_refuse(err, "no window is under way, or its sink is being called");
    if (!status) {
        writer->rows = rows;
        writer->rows_len = rows_len;
        writer->comment = comment;
    }
    pd_lock_give(&heap->exporting);
    return status;
}

/* ---- commit and abandon ---------------------------------------------------------------------- */

/* Removes the first changed site from the window that is being sent. Returns 0 if there is none. */
static uint32_t pop_changed(pd_sites *sites)
{
    unsigned sending = pd_sites_sending(sites);
    uint32_t number = sites->changed[sending];
    if (number == PD_SITE_LAST)
        return 0;
    pd_site *site = pd_site_at(sites, number);
    sites->changed[sending] = site->next_changed[sending];
    site->next_changed[sending] = 0;
    sites->changed_len[sending]--;
    return number;
}

/* Adds the window that was sent to the bases. Without the lock. */
static void settle_window(pd_sites *sites)
{
    unsigned sending = pd_sites_sending(sites);
    uint32_t number;
    while ((number = pop_changed(sites))) {
        pd_site *site = pd_site_at(sites, number);
        pd_move(sites, &site->changed[sending], &site->base, PD_HEAP_SUMS);
        pd_ages_end_window(sites, site);
    }
}

/* The batch waits: the next one has its events, too. The window that was sent gathers events again, and
 * what came since is added to it. That took its ages for one window older. */
static void merge_windows(pprofdelta_heap *heap)
{
    pd_sites *sites = &heap->sites;
    uint32_t number;
    if (!pd_heap_enter(heap))
        return;
    sites->gathering ^= 1;
    sites->window--;
    unsigned sending = pd_sites_sending(sites);
    for (size_t i = 1; (number = pop_changed(sites)); i++) {
        pd_move(sites, &pd_site_at(sites, number)->changed[sending], pd_site_changed(sites, number),
                PD_HEAP_SUMS);
        pd_ages_merge(sites, number);
        if (i % AT_ONCE == 0 && !pd_heap_rest(heap))
            return;
    }
    sites->held_peak = 0;
    heap->stats.abandoned++;
    pd_heap_leave(heap);
    if (pd_has_ages(sites))
        pd_entries_rejoin(heap);
    heap->export.now.newer = PD_NEITHER;
    write_journal(heap);
}

/* Removes sites with nothing in use and nothing to send. Receivers know these sites, so the next
 * batch is full. The window that was sent is counted: its lists are empty. */
static void make_room(pprofdelta_heap *heap)
{
    pd_sites *sites = &heap->sites;
    uint64_t forgotten = 0;
    if (!pd_heap_enter(heap))
        return;
    for (uint32_t number = PD_SITE_EMPTY + 1; number <= sites->pool.made; number++) {
        const pd_site *site = pd_site_at(sites, number);
        if (site->trace && !site->holders && !site->next_changed[sites->gathering]) {
            pd_site_forget(sites, number);
            forgotten++;
        }
        if (number % AT_ONCE == 0 && !pd_heap_rest(heap))
            return;
    }
    heap->is_short_of_room = false;
    heap->stats.forgotten += forgotten;
    pd_heap_leave(heap);
    if (forgotten)
        pprofdelta_heap_resync(heap);
}

/* The batch ended: its events belong to no later batch. counter is that of such batches. */
static void end_batch(pprofdelta_heap *heap, bool is_written, uint64_t *counter)
{
    pd_heap_export *e = &heap->export;
    if (e->batch.kind == PPROFDELTA_HEAP_FULL)
        e->now.is_full_due = e->now.has_epoch = false;
    e->now.newer = PD_NEITHER;
    e->now.is_ending = true;
    if (is_written && pd_export_has_new_peak(heap)) {
        e->now.ending_peaks = e->sites_made;
        e->now.sent_peak = heap->sites.held_peak;
        e->now.sent = e->held;
    }
    write_journal(heap);
    settle_window(&heap->sites);
    for (uint32_t number = 1; number <= e->now.ending_peaks; number++) {
        pd_site_peak *peak = &pd_site_at(&heap->sites, number)->peak;
        peak->sent = peak->held; /* the receiver has the shares that were written */
    }
    e->now.is_ending = e->now.ending_peaks = 0;
    write_journal(heap);
    if (!pd_heap_enter(heap))
        return;
    ++*counter;
    heap->sites.held_peak = 0;
    bool is_short = heap->is_short_of_room;
    pd_heap_leave(heap);
    if (is_short)
        make_room(heap);
}

/* Would the sites of the batch take more than max_retry? Stops counting there. */
static bool is_too_large(const pprofdelta_heap *heap)
{
    const pd_sites *sites = &heap->sites;
    unsigned sending = pd_sites_sending(sites);
    uint64_t bytes = 0;
    for (uint32_t number = sites->changed[sending];
         number != PD_SITE_LAST && bytes <= heap->options.max_retry;
         number = pd_site_at(sites, number)->next_changed[sending])
        bytes += sizeof(pd_site) + pd_trace_size(pd_site_at(sites, number)->trace);
    return bytes > heap->options.max_retry;
}

pprofdelta_status pprofdelta_heap_commit(pprofdelta_heap *heap)
{
    pd_steps *steps = &heap->export.steps;
    PD_TRY(pd_export_enter(heap, NULL));
    pprofdelta_status status = PPROFDELTA_OK;
    if (steps->stage == PD_WRITTEN && steps->is_empty) {
        pd_steps_abandon(steps);
        merge_windows(heap);
    } else {
        status = pd_steps_commit(steps, NULL);
        if (!status)
            end_batch(heap, true, &heap->stats.committed);
    }
    pd_lock_give(&heap->exporting);
    return status;
}

void pprofdelta_heap_abandon(pprofdelta_heap *heap)
{
    if (!heap)
        return;
    pd_steps *steps = &heap->export.steps;
    if (pd_export_enter(heap, NULL))
        return;
    bool is_written = steps->stage == PD_WRITTEN;
    if (pd_steps_abandon(steps)) {
        if (steps->series.last.attempt > heap->options.max_attempts || is_too_large(heap)) {
            pd_series_end_open(&steps->series);
            pprofdelta_heap_resync(heap); /* the batch is not sent again: the next one is full */
            end_batch(heap, is_written, &heap->stats.lost);
        } else {
            merge_windows(heap);
        }
    }
    pd_lock_give(&heap->exporting);
}

/* ---- the mappings ---------------------------------------------------------------------------- */

/* Assigns the current era to all sites that were not written yet: a later reading may show other
 * mappings at their addresses. All these sites are in the lists of changed sites. Only export steps
 * remove from these lists, and `exporting` is held. */
static void note_era(pprofdelta_heap *heap)
{
    uint32_t heads[2];
    if (!pd_heap_enter(heap))
        return;
    memcpy(heads, heap->sites.changed, sizeof heads);
    pd_heap_leave(heap);
    for (unsigned window = 0; window < 2; window++) {
        for (uint32_t number = heads[window]; number != PD_SITE_LAST;) {
            pd_site *site = pd_site_at(&heap->sites, number);
            if (!site->era)
                site->era = pd_era_sealed(heap->writer.places.era);
            number = site->next_changed[window];
        }
    }
}

void pprofdelta_heap_note_mappings(pprofdelta_heap *heap)
{
    pd_batch_writer *writer = &heap->writer;
    if (heap->options.flags & PPROFDELTA_NO_MAPPINGS)
        return;
    uint64_t loads = pd_places_loads(&heap->writer.places); /* a fork waits for `exporting` */
    if (pd_export_enter(heap, NULL))
        return;
    if (pd_heap_enter(heap)) { /* also enters the child of a fork */
        pd_heap_leave(heap);
        /* If memory is short, these sites have no mapping in the end. */
        if (pd_places_read(&writer->places, loads, &writer->mem, NULL) == PPROFDELTA_OK) {
            note_era(heap);
            pd_heap_copy_maps(heap);
        }
    }
    pd_lock_give(&heap->exporting);
}
