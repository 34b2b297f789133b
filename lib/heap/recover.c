/* Recovers a tracker from the memory that a dead process left: pprofdelta_heap_recover.
 *
 * The memory is read as data. An address in it becomes an offset that is checked, a number has a
 * bound, and no lock, list or chain is followed. The process may have been killed at any instruction:
 *
 *     a site       counts if its key is that of its stack and labels, and its check word that of its sums
 *     base         what was committed. It changes by moves of sums, of which one may be under way
 *                  (pd_site_moving): that one is done again
 *     in use,      base + changed. At most the one event under way is missing in some of them: that of the
 *     allocated    site that `writing` names
 *     the windows  are those of the last journal (pd_heap_journal). If the window being sent was about to be
 *                  counted, this is done again. Otherwise its events belong to the next window, as
 *                  after pprofdelta_heap_abandon; if a sink was called with it, that is the next
 *                  attempt at it, which replaces it at a receiver
 *
 * Nor is the memory taken for what the process wrote. Whatever is used has a check:
 *
 *     what does not change (the root), the mappings, a journal   its own; if it is wrong, nothing is recovered
 *     a site, a cell of ages                                    its own; if it is wrong, it is left out
 *     all sites, all cells                                      their numbers: those that are missing are counted
 *     the shares of the peak                                    their sum; if it is wrong, no site has any
 *
 * The new tracker has the sites with their sums and numbers, and no entries. */
#include "base/option_checks.h"
#include "heap/heap.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct recovery {
    pprofdelta_heap_remains from;
    pprofdelta_heap dead; /* a copy of the root, without its writer */
    pd_heap_journal journal;
    pprofdelta_heap *heap; /* the new one */
    size_t size;           /* of all areas */
    size_t traces_left;    /* bytes of stacks and labels still to come, which do not overlap */
    uint64_t lost_sites, lost_ages; /* left out */
    uint64_t in_flight;             /* sites whose sums were being written */
    pprofdelta_weight shares, sent; /* of the peak, of all sites */
} recovery;

static pprofdelta_status refuse_remains(pprofdelta_error *err, const char *why)
{
    return PD_FAIL(err, PPROFDELTA_E_STATE, PPROFDELTA_STAGE_RECOVER, NULL, "%s", why);
}

/* ---- memory of the dead process -------------------------------------------------------------- */

/* What was at the address, or NULL if the remains do not have all of it. *most: the bytes up to the end of
 * its area. */
static const void *find_bytes(const recovery *r, uint64_t address, uint64_t *most)
{
    for (size_t i = 0; i < r->from.areas_len; i++) {
        const pprofdelta_heap_area *area = &r->from.areas[i];
        uint64_t off = address - area->base;
        *most = off < area->len ? area->len - off : 0;
        if (address && *most)
            return (const uint8_t *)area->bytes + off;
    }
    return NULL;
}

static const void *at_address(const recovery *r, uint64_t address, uint64_t size)
{
    uint64_t most;
    const void *found = find_bytes(r, address, &most);
    return found && size <= most && address % sizeof(uint64_t) == 0 ? found : NULL;
}

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Does the move that was under way, as far as it concerns an element: its copy, and where it was. */
static void end_move(const recovery *r, uint64_t address, uint8_t *element, uint64_t size)
{
    const pd_moving *m = &r->dead.sites.moving;
    const uint64_t bytes = (uint64_t)m->len * sizeof *m->result;
    const uint64_t to = address_of(m->to) - address, from = address_of(m->from) - address;
    if (!m->len || m->len > PD_HEAP_SUMS)
        return;
    if (to < size && bytes <= size - to)
        memcpy(element + to, m->result, bytes);
    if (from < size && bytes <= size - from)
        memset(element + from, 0, bytes);
}

/* Copies an element of a pool. number is at most pool->made. */
static bool read_element(const recovery *r, const pd_pool *pool, uint32_t number, void *out)
{
    const uint8_t *chunks =
        at_address(r, address_of(pool->chunks),
                   ((uint64_t)(number >> PD_POOL_CHUNK_BITS) + 1) * sizeof(uint8_t *));
    const uint8_t *chunk;
    if (!chunks)
        return false;
    memcpy(&chunk, chunks + (number >> PD_POOL_CHUNK_BITS) * sizeof chunk, sizeof chunk);
    uint64_t address = address_of(chunk) + (number & (PD_POOL_CHUNK - 1)) * pool->element;
    const uint8_t *found = at_address(r, address, pool->element);
    if (!found)
        return false;
    memcpy(out, found, pool->element);
    end_move(r, address, out, pool->element);
    return true;
}

/* The same for parts of a trace. All traces together fit into the remains, and so the work is bounded. */
static const void *trace_part(recovery *r, uint64_t address, uint64_t size)
{
    const void *found = size <= r->traces_left ? at_address(r, address, size) : NULL;
    r->traces_left -= found ? (size_t)size : 0;
    return found;
}

/* Replaces a text of the dead process, which may be NULL. Returns false if it has no end there. */
static bool read_text(recovery *r, const char **text)
{
    uint64_t most;
    if (!*text)
        return true;
    *text = find_bytes(r, address_of(*text), &most);
    if (!*text)
        return false;
    most = most < r->traces_left ? most : r->traces_left;
    size_t len = strnlen(*text, (size_t)most);
    r->traces_left -= len;
    return len < most;
}

/* Sets *event to the stack and the labels of a trace. The labels are in *labels, the caller's array. */
static bool read_trace(recovery *r, const pd_trace *there, pprofdelta_heap_event *event,
                       pprofdelta_label **labels)
{
    pd_mem *mem = &r->heap->writer.mem;
    pd_trace trace;
    const void *found = trace_part(r, address_of(there), sizeof trace);
    if (!found)
        return false;
    memcpy(&trace, found, sizeof trace);
    const uint64_t stack_size = (uint64_t)trace.depth * sizeof(uint64_t);
    const size_t len = trace.labels_len, labels_size = len * sizeof **labels;
    const uint64_t stack = address_of(there) + sizeof trace;
    const uint64_t *words = trace_part(r, stack, stack_size);
    const void *rows = trace_part(r, stack + stack_size, labels_size);
    if (trace.depth > r->dead.sites.max_depth || !words || !rows ||
        PD_GROW(mem, *labels, len + 1, NULL))
        return false;
    memcpy(*labels, rows, labels_size);
    for (size_t i = 0; i < len; i++)
        if (!read_text(r, &(*labels)[i].key) || !read_text(r, &(*labels)[i].str) ||
            !read_text(r, &(*labels)[i].num_unit))
            return false;
    *event = (pprofdelta_heap_event){.stack = words,
                                     .depth = trace.depth,
                                     .labels = *labels,
                                     .labels_len = len,
                                     .code = trace.code};
    return true;
}

/* ---- the mappings ---------------------------------------------------------------------------- */

/* The table at an address, or NULL if that is not whole. */
static const pd_heap_maps *whole_maps(const recovery *r, uint64_t address)
{
    const pd_heap_maps *maps = at_address(r, address, sizeof *maps);
    const uint64_t most = r->size / sizeof(pd_place_span);
    if (!maps || maps->len > most || maps->spans_len > most || maps->text_len > r->size ||
        maps->size != sizeof *maps + maps->len * sizeof *maps->maps +
                          maps->spans_len * sizeof(pd_place_span) + maps->text_len ||
        !at_address(r, address, maps->size) ||
        maps->check != pd_heap_check_of(maps, (size_t)maps->size))
        return NULL;
    return maps;
}

static bool is_sound(const pd_map *m, uint64_t text_len)
{
    return m->start < m->limit && m->name_off <= text_len &&
           m->name_len <= text_len - m->name_off && m->build_id_off <= text_len &&
           m->build_id_len <= text_len - m->build_id_off;
}

static pprofdelta_status copy_maps(recovery *r, const pd_heap_maps *from, pprofdelta_error *err)
{
    pd_places *places = &r->heap->writer.places;
    pd_maps *to = &places->maps;
    pd_mem *mem = &r->heap->writer.mem;
    const size_t len = (size_t)from->len, spans_len = (size_t)from->spans_len;
    const pd_place_span *spans = (const void *)&from->maps[len];
    bool is_whole = spans_len || !len;
    PD_TRY(PD_GROW(mem, to->maps, len, err));
    PD_TRY(PD_GROW(mem, places->spans, spans_len, err));
    PD_TRY(PD_GROW(mem, places->known_maps, len, err));
    PD_TRY(pd_buffer_room(mem, &to->text, (size_t)from->text_len, err));
    pd_buffer_put(&to->text, &spans[spans_len], (size_t)from->text_len);
    for (size_t i = 0; i < len && is_whole; i++) {
        to->maps[i] = from->maps[i];
        places->known_maps[i] = (pd_place_map){0};
        is_whole = is_sound(&to->maps[i], from->text_len);
    }
    for (uint32_t i = 0; i < spans_len && is_whole; i++) {
        is_whole = spans[i].map < len;
        if (is_whole)
            places->known_maps[spans[i].map].span = i;
        places->spans[i] = spans[i];
    }
    to->len = places->known_maps_len = len;
    places->spans_len = spans_len;
    to->main = from->main < len ? from->main : PD_MAP_NONE;
    places->era = from->era ? from->era : 1;
    return is_whole ? pd_maps_sort(to, mem, err)
                    : refuse_remains(err, "the table of mapped files is damaged");
}

/* The mappings are those of the dead process, and never read again. */
static pprofdelta_status read_maps(recovery *r, pprofdelta_error *err)
{
    pd_places *places = &r->heap->writer.places;
    const uint64_t again = ~(uint64_t)r->dead.maps_again;
    const pd_heap_maps *maps = whole_maps(r, address_of(r->dead.maps));
    places->watch = PD_WATCH_GONE;
    places->is_whole = true;
    places->era = 1;
    pd_maps_clear(&places->maps);
    maps = maps ? maps : whole_maps(r, again);
    if (maps)
        return copy_maps(r, maps, err);
    return r->dead.maps || again ? refuse_remains(err, "the table of mapped files is damaged")
                                 : PPROFDELTA_OK;
}

/* ---- sites ----------------------------------------------------------------------------------- */

/* Settles the window if that was under way. */
static void finish_ending(const recovery *r, uint32_t number, pd_site *site)
{
    pd_heap_sums *sent = &site->changed[r->journal.sending & 1];
    if (!r->journal.is_ending)
        return;
    pd_heap_sums_add(&site->base, sent);
    *sent = (pd_heap_sums){{0}};
    if (number <= r->journal.ending_peaks)
        site->peak.sent = site->peak.held;
}

static const uint64_t peak_number = 2; /* of the last peak, in the new tracker */

/* Adds the sums of a dead site to those of the new one. */
static void add_site(recovery *r, const pd_site *dead, uint32_t number)
{
    pd_sites *sites = &r->heap->sites;
    pd_site *site = pd_site_at(sites, number);
    pprofdelta_heap_stats *stats = &r->heap->stats;
    pd_heap_sums changed = dead->changed[0], now = dead->base;
    pd_heap_sums_add(&changed, &dead->changed[1]);
    pd_heap_sums_add(&now, &changed);
    const pprofdelta_weight live = {now.at[PD_INUSE_OBJECTS], now.at[PD_INUSE_BYTES]};
    /* A share is kept before the site changes. */
    const bool has_share = dead->peak.number == r->dead.sites.peak;
    const pprofdelta_weight share = has_share ? dead->peak.share : live;
    pd_heap_sums_add(&site->base, &dead->base);
    if (memcmp(&changed, &(pd_heap_sums){{0}}, sizeof changed) != 0)
        pd_heap_sums_add(pd_site_changed(sites, number), &changed);
    pd_heap_add(&site->live[0], live.objects);
    pd_heap_add(&site->live[1], live.bytes);
    pd_heap_add(&stats->inuse_objects, live.objects);
    pd_heap_add(&stats->inuse_bytes, live.bytes);
    site->peak.number = peak_number;
    pd_weight_add(&site->peak.share, &share);
    pd_weight_add(&site->peak.sent, &dead->peak.sent);
    pd_weight_add(&r->shares, &share);
    pd_weight_add(&r->sent, &dead->peak.sent);
    /* One that was in no profile has the mappings of now, which are the last ones. */
    const uint32_t era = pd_site_era(dead), last = r->heap->writer.places.era;
    site->era = pd_era_sealed(era && era < last ? era : last);
}

/* An event, and what removes sites, may have changed the sums of a site and not yet its check word. */
static bool is_being_written(const recovery *r, uint32_t number)
{
    const uint32_t writing = r->dead.sites.writing;
    return writing && (number == writing || number == PD_SITE_EMPTY);
}

static bool is_whole(recovery *r, const pd_site *site, uint32_t number)
{
    bool is_checked = site->check == pd_site_check(site, number);
    if (site->era && site->era != pd_era_sealed(pd_site_era(site)))
        return false;
    r->in_flight += !is_checked && is_being_written(r, number);
    return is_checked || is_being_written(r, number);
}

/* Sets *lost if `found` elements of a pool were whole where `len` were in use. One that is being made may count not
 * yet. */
static pprofdelta_status count_lost(const pd_pool *pool, uint64_t len, uint64_t found,
                                    uint64_t *lost, pprofdelta_error *err)
{
    if (len > pool->made || found > len + 1)
        return refuse_remains(err,
                              "the remains are damaged: the number of stacks or ages is wrong");
    *lost = found < len ? len - found : 0;
    return PPROFDELTA_OK;
}

static pprofdelta_status read_sites(recovery *r, pprofdelta_error *err)
{
    pd_sites *sites = &r->heap->sites;
    const pd_pool *pool = &r->dead.sites.pool;
    pprofdelta_label *labels = NULL;
    uint64_t found = 0;
    pprofdelta_status status = PPROFDELTA_OK;
    for (uint32_t number = 1; number <= pool->made && !status; number++) {
        pd_site site;
        pprofdelta_heap_event event = {0};
        if (!read_element(r, pool, number, &site) || !site.trace ||
            !read_trace(r, site.trace, &event, &labels) ||
            !pd_key_equal(pd_site_key(sites, &event), site.key) || !is_whole(r, &site, number))
            continue;
        found++;
        finish_ending(r, number, &site);
        bool has_room = true;
        while (has_room && sites->pool.made + 1 < number) /* those before were left out */
            has_room = pd_pool_take(&sites->pool) != 0;
        uint32_t mine = has_room ? pd_site_for(sites, &event, site.key) : 0;
        if (mine)
            add_site(r, &site, mine);
        else
            status = PD_FAIL(err, PPROFDELTA_E_MEMORY, PPROFDELTA_STAGE_RECOVER, NULL,
                             "no memory for the sites");
    }
    pd_mem_release(&r->heap->writer.mem, &labels);
    if (!status && !found)
        status = refuse_remains(err, "the remains are damaged: none of the stacks can be read");
    return status ? status : count_lost(pool, r->dead.sites.chains.len, found, &r->lost_sites, err);
}

static void add_cell(const recovery *r, const pd_ended *cell)
{
    pd_sites *sites = &r->heap->sites;
    const uint32_t number = cell->site;
    pprofdelta_weight base = cell->base;
    for (unsigned window = 0; window < 2; window++) {
        const pprofdelta_weight *changed = &cell->changed[window];
        if (r->journal.is_ending && window == (r->journal.sending & 1)) {
            pd_weight_add(&base, changed);
        } else if (changed->objects || changed->bytes) {
            pd_site_changed(sites, number);
            pd_ages_add(sites, number, cell->link.hash - (window == r->journal.newer), changed);
        }
    }
    pd_ended *mine = pd_ages_cell(sites, number, cell->link.hash);
    if (mine)
        pd_weight_add(&mine->base, &base);
}

static pprofdelta_status read_ages(recovery *r, pprofdelta_error *err)
{
    const pd_sites *dead = &r->dead.sites, *sites = &r->heap->sites;
    uint64_t found = 0;
    for (uint32_t number = 1; number <= dead->ended.made; number++) {
        pd_ended cell;
        if (!read_element(r, &dead->ended, number, &cell) ||
            !pd_ages_is_whole(&cell, number, is_being_written(r, cell.site)) ||
            cell.site > dead->pool.made)
            continue;
        found++;
        if (cell.site <= sites->pool.made && pd_site_at(sites, cell.site)->trace)
            add_cell(r, &cell);
    }
    return count_lost(&dead->ended, dead->ended_len, found, &r->lost_ages, err);
}

/* ---- the windows ----------------------------------------------------------------------------- */

static bool is_equal(pprofdelta_weight a, int64_t objects, int64_t bytes)
{
    return a.objects == objects && a.bytes == bytes;
}

/* No site has more than what is known for certain: nothing. The number of the sent peak is that of the last one. */
static void leave_out_peak(recovery *r)
{
    for (uint32_t number = 1; number <= r->heap->sites.pool.made; number++)
        pd_site_at(&r->heap->sites, number)->peak = (pd_site_peak){.number = peak_number};
    r->heap->export.now.sent_peak = peak_number;
}

static void continue_windows(recovery *r)
{
    pprofdelta_heap *heap = r->heap;
    pd_heap_export *e = &heap->export;
    const pprofdelta_heap_stats *then = &r->dead.stats;
    const bool has_peak = r->dead.sites.writing ||
                          (r->dead.sites.peak_seal == pd_peak_seal(&r->dead) &&
                           is_equal(r->shares, then->peak_objects, then->peak_bytes) &&
                           is_equal(r->sent, r->journal.sent.objects, r->journal.sent.bytes));
    e->steps.series = r->journal.series;
    e->now = r->journal;
    e->now.is_ending = e->now.ending_peaks = 0;
    e->now.newer = PD_NEITHER;
    e->is_resync_wanted = r->dead.export.is_resync_wanted;
    e->now.sent_peak = r->journal.sent_peak == r->dead.sites.peak ? peak_number : peak_number - 1;
    heap->sites.peak = peak_number;
    heap->stats.peak_objects = then->peak_objects;
    heap->stats.peak_bytes = then->peak_bytes;
    heap->stats.peak_nanos = then->peak_nanos;
    if (!has_peak)
        leave_out_peak(r);
    heap->stats.left_out = r->lost_sites + r->lost_ages + !has_peak;
    int len = snprintf(heap->writer.remark, sizeof heap->writer.remark,
                       "recovered: the process was killed; stacks whose values were being written: "
                       "%" PRIu64 ", left out: %" PRIu64,
                       r->in_flight, heap->stats.left_out);
    if (heap->stats.left_out)
        snprintf(heap->writer.remark + len, sizeof heap->writer.remark - (size_t)len,
                 " (damaged: stacks %" PRIu64 ", ages %" PRIu64 ", the peak %d)", r->lost_sites,
                 r->lost_ages, !has_peak);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const pd_heap_journal *note_of(const recovery *r, uint64_t serial)
{
    const pd_heap_journal *journal = &r->dead.export.journal[serial & 1];
    return journal->serial == serial && journal->check == pd_heap_check_of(journal, sizeof *journal)
               ? journal
               : NULL;
}

/* A journal counts when it is complete, even if that was not written any more. */
static pprofdelta_status read_note(recovery *r, pprofdelta_error *err)
{
    const uint64_t serial = r->dead.export.journalled;
    const pd_heap_journal *latest = note_of(r, serial), *next = note_of(r, serial + 1);
    if (!latest)
        return refuse_remains(err, "the remains are damaged: what is known of the last window");
    r->journal = next ? *next : *latest;
    return r->journal.ended_nanos > PD_HEAP_LATEST
               ? refuse_remains(err, "the remains are damaged: a time is too late")
               : PPROFDELTA_OK;
}

static pprofdelta_status read_root(recovery *r, pprofdelta_error *err)
{
    PD_TRY(pd_need_array(r->from.areas, r->from.areas_len, err));
    for (size_t i = 0; i < r->from.areas_len; i++) {
        const pprofdelta_heap_area *area = &r->from.areas[i];
        if (!area->bytes || area->base % sizeof(uint64_t) || area->len > SIZE_MAX - r->size)
            return pd_refuse(err, "an area has no bytes, or a base that is not a multiple of 8");
        r->size += area->len;
    }
    r->traces_left = r->size;
    const void *root = at_address(r, r->from.root, PD_HEAP_READ);
    if (!root)
        return refuse_remains(err, "the remains are cut: the tracker lies outside");
    memcpy(&r->dead, root, PD_HEAP_READ);
    if (r->dead.layout != PD_HEAP_LAYOUT)
        return refuse_remains(err, "the remains are damaged, or of another version or build");
    const pd_sites *sites = &r->dead.sites;
    const bool has_ages = (r->dead.options.flags & PPROFDELTA_HEAP_AGES) != 0;
    const uint32_t wanted = r->dead.export.is_resync_wanted;
    if (r->dead.seal != pd_heap_seal(&r->dead) || (wanted && wanted != PD_WANTED))
        return refuse_remains(err,
                              "the remains are damaged: what the tracker had from its beginning");
    if (sites->max_depth > PD_HEAP_MOST_DEPTH || sites->pool.element != sizeof(pd_site) ||
        sites->ended.element != (has_ages ? sizeof(pd_ended) : 0) ||
        sites->pool.made > r->size / sizeof(pd_site) + PD_POOL_CHUNK ||
        sites->ended.made > (has_ages ? r->size / sizeof(pd_ended) + PD_POOL_CHUNK : 0))
        return refuse_remains(err, "the remains are damaged: more elements than there is room for");
    if (r->dead.export.started_nanos > PD_HEAP_LATEST)
        return refuse_remains(err, "the remains are damaged: a time is too late");
    return read_note(r, err);
}

static pprofdelta_status make_tracker(recovery *r, const pprofdelta_heap_options *options,
                                      pprofdelta_error *err)
{
    pprofdelta_heap_options o = PPROFDELTA_HEAP_OPTIONS_INIT;
    PD_TRY(pd_options_read(&o, sizeof o, options, err));
    o.id = r->dead.export.id;
    o.started_nanos = r->dead.export.started_nanos;
    o.period = r->dead.options.period & INT64_MAX;
    o.flags |= r->dead.options.flags & (PPROFDELTA_HEAP_AGES | PPROFDELTA_HEAP_ATTACHED);
    o.max_depth = r->dead.sites.max_depth;
    o.max_sites = r->dead.sites.pool.made;
    return pprofdelta_heap_new(&o, &r->heap, err);
}

pprofdelta_status pprofdelta_heap_recover(const pprofdelta_heap_remains *remains,
                                          const pprofdelta_heap_options *options,
                                          pprofdelta_heap **out, pprofdelta_error *err)
{
    PD_TRY(pd_need(remains && out ? out : NULL, err));
    recovery r = {.from = *remains};
    PD_TRY(read_root(&r, err));
    PD_TRY(make_tracker(&r, options, err));
    pprofdelta_status status = read_maps(&r, err);
    if (!status)
        status = read_sites(&r, err);
    if (!status)
        status = read_ages(&r, err);
    if (status) {
        pprofdelta_heap_free(r.heap);
        return status;
    }
    continue_windows(&r);
    *out = r.heap;
    return PPROFDELTA_OK;
}
