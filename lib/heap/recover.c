/* Recovers a tracker from the memory that a dead process left: pprofdelta_heap_recover.
 *
 * The memory is read as data. An address in it becomes an offset that is checked, a number has a
 * bound, and no lock, list or chain is followed. The process may have been killed at any instruction:
 *
 *     in use       follows from the entries that are alive; an entry's state is written last
 *     base         what was committed. It changes by moves of sums, of which one may be under way
 *                  (pd_site_moving): that one is done again
 *     allocated    base + changed; at most the one event under way is missing in it
 *     a site       counts if its key is that of its stack and labels
 *     the windows  are those of the last note (pd_heap_note). If the window being sent was about to be
 *                  settled, this is done again. Otherwise its events belong to the next window, as
 *                  after pprofdelta_heap_abandon; if a sink was called with it, that is the next
 *                  attempt at it, which replaces it at a receiver
 *
 * The new tracker has the sites with their sums and no entries. */
#include "base/option_checks.h"
#include "heap/ages.h"
#include "heap/heap.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct recovery {
    pprofdelta_heap_remains from;
    pprofdelta_heap dead; /* a copy of the root */
    pd_heap_note note;
    pprofdelta_heap *heap;     /* the new one */
    pprofdelta_weight *in_use; /* of each site of the dead tracker, by its number */
    size_t in_use_cap;
    size_t size;        /* of all areas */
    size_t cells_left;  /* the same for cells of ages */
    size_t traces_left; /* bytes of stacks and labels still to come, which do not overlap */
    uint64_t left_out;  /* sites and entries that cannot be read or were being written */
    uint64_t in_flight; /* sites whose sums were being written */
} recovery;

static pprofdelta_status refuse(pprofdelta_error *err, const char *why)
{
    return PD_FAIL(err, PPROFDELTA_E_STATE, "recover", NULL, "%s", why);
}

/* ---- memory of the dead process -------------------------------------------------------------- */

/* What was at the address, or NULL if the remains do not have all of it. *most: the bytes up to the end of
 * its area. */
static const void *find(const recovery *r, uint64_t address, uint64_t *most)
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

static const void *at(const recovery *r, uint64_t address, uint64_t size)
{
    uint64_t most;
    const void *found = find(r, address, &most);
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
    const uint8_t *chunks = at(r, address_of(pool->chunks),
                               ((uint64_t)(number >> PD_POOL_CHUNK_BITS) + 1) * sizeof(uint8_t *));
    const uint8_t *chunk;
    if (!chunks)
        return false;
    memcpy(&chunk, chunks + (number >> PD_POOL_CHUNK_BITS) * sizeof chunk, sizeof chunk);
    uint64_t address = address_of(chunk) + (number & (PD_POOL_CHUNK - 1)) * pool->element;
    const uint8_t *found = at(r, address, pool->element);
    if (!found)
        return false;
    memcpy(out, found, pool->element);
    end_move(r, address, out, pool->element);
    return true;
}

/* The same for parts of a trace. All traces together fit into the remains, and so the work is bounded. */
static const void *trace_part(recovery *r, uint64_t address, uint64_t size)
{
    const void *found = size <= r->traces_left ? at(r, address, size) : NULL;
    r->traces_left -= found ? (size_t)size : 0;
    return found;
}

/* Replaces a text of the dead process, which may be NULL. Returns false if it has no end there. */
static bool read_text(recovery *r, const char **text)
{
    uint64_t most;
    if (!*text)
        return true;
    *text = find(r, address_of(*text), &most);
    if (!*text)
        return false;
    most = most < r->traces_left ? most : r->traces_left;
    size_t len = strnlen(*text, (size_t)most);
    r->traces_left -= len;
    return len < most;
}

/* Sets *event to the stack and the labels of a trace. The labels are in *labels, the caller's array. */
static bool read_trace(recovery *r, const pd_trace *there, pprofdelta_heap_event *event,
                       pprofdelta_label **labels, size_t *labels_cap)
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
        pd_mem_grow(mem, labels, labels_cap, len + 1, sizeof **labels, NULL))
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

/* ---- sites ----------------------------------------------------------------------------------- */

/* Adds up what is in use, by site. */
static void read_entries(recovery *r)
{
    const pd_pool *pool = &r->dead.entries;
    pprofdelta_heap_stats *stats = &r->heap->stats;
    for (uint32_t number = 1; number <= pool->made; number++) {
        pd_entry entry;
        bool is_there = read_element(r, pool, number, &entry);
        if (is_there && !pd_entry_is_counted(&entry))
            continue;
        if (!is_there || !entry.site || entry.site > r->dead.sites.pool.made) {
            r->left_out++;
            continue;
        }
        pd_weight_add(&r->in_use[entry.site], &entry.weight);
        stats->live++;
        pd_heap_add(&stats->inuse_objects, entry.weight.objects);
        pd_heap_add(&stats->inuse_bytes, entry.weight.bytes);
    }
}

static unsigned sending_of(const recovery *r)
{
    return pd_sites_sending(&r->dead.sites) & 1;
}

/* Settles the window if that was under way. */
static void end_settling(const recovery *r, uint32_t number, pd_site *site)
{
    if (!r->note.is_settling)
        return;
    pd_heap_sums_add(&site->base, &site->changed[sending_of(r)]);
    site->changed[sending_of(r)] = (pd_heap_sums){{0}};
    if (r->note.sent_peak != r->dead.export.sent_peak && number <= r->dead.export.sites_made)
        site->peak.sent = site->peak.held;
}

static const uint64_t peak_number = 2; /* of the last peak, in the new tracker */

/* Adds the sums of a dead site to those of the new one. What changed in use is what is in use now, without
 * what was committed. */
static void add_site(recovery *r, const pd_site *dead, const pprofdelta_weight *live,
                     uint32_t number)
{
    pd_sites *sites = &r->heap->sites;
    pd_site *site = pd_site_at(sites, number);
    pd_heap_sums changed = dead->changed[0];
    /* A share is kept before the site changes. */
    pprofdelta_weight share = dead->peak.number == r->dead.sites.peak
                                  ? dead->peak.share
                                  : (pprofdelta_weight){dead->live[0], dead->live[1]};
    pd_heap_sums_add(&changed, &dead->changed[1]);
    const int64_t now[] = {live->objects, live->bytes};
    bool is_changed = false, was_written = false;
    for (int i = 0; i < PD_HEAP_SUMS; i++) {
        int64_t was = changed.at[i];
        if (i == PD_INUSE_OBJECTS || i == PD_INUSE_BYTES)
            changed.at[i] =
                (int64_t)((uint64_t)now[i - PD_INUSE_OBJECTS] - (uint64_t)dead->base.at[i]);
        is_changed |= changed.at[i] != 0;
        was_written |= changed.at[i] != was;
    }
    r->in_flight += was_written;
    pd_heap_sums_add(&site->base, &dead->base);
    if (is_changed)
        pd_heap_sums_add(pd_site_changed(sites, number), &changed);
    pd_heap_add(&site->live[0], live->objects);
    pd_heap_add(&site->live[1], live->bytes);
    site->peak.number = peak_number;
    pd_weight_add(&site->peak.share, &share);
    pd_weight_add(&site->peak.sent, &dead->peak.sent);
    site->era = dead->era;
}

static bool cell_is_read(const recovery *r, uint32_t number, pd_ended *cell)
{
    if (!read_element(r, &r->dead.sites.ended, number, cell) || !cell->link.hash)
        return false;
    pprofdelta_weight *sent = &cell->changed[sending_of(r)];
    if (r->note.is_settling) {
        pd_weight_add(&cell->base, sent);
        *sent = (pprofdelta_weight){0, 0};
    }
    return true;
}

/* Adds the cells of a site, by age. All lists together have at most as many as there are. */
static void add_ages(recovery *r, const pd_site *dead, uint32_t number)
{
    pd_sites *sites = &r->heap->sites;
    pd_site *site = pd_site_at(sites, number);
    pd_ended cell, *mine;
    for (uint32_t at = dead->ended; at; at = cell.link.next) {
        if (at > r->dead.sites.ended.made || !r->cells_left-- || !cell_is_read(r, at, &cell)) {
            r->left_out++;
            return;
        }
        mine = pd_ages_cell(sites, site, cell.link.hash);
        if (mine)
            pd_weight_add(&mine->base, &cell.base);
        for (unsigned window = 0; window < 2; window++)
            if (cell.changed[window].objects || cell.changed[window].bytes) {
                pd_site_changed(sites, number);
                pd_ages_add(sites, number, cell.link.hash - (window == r->note.newer),
                            &cell.changed[window]);
            }
    }
}

static pprofdelta_status read_sites(recovery *r, pprofdelta_error *err)
{
    pd_sites *sites = &r->heap->sites;
    pprofdelta_label *labels = NULL;
    size_t labels_cap = 0;
    pprofdelta_status status = PPROFDELTA_OK;
    for (uint32_t number = 1; number <= r->dead.sites.pool.made && !status; number++) {
        pd_site site;
        pprofdelta_heap_event event = {0};
        bool is_there = read_element(r, &r->dead.sites.pool, number, &site);
        if (is_there && !site.trace)
            continue;
        if (!is_there || !read_trace(r, site.trace, &event, &labels, &labels_cap) ||
            !pd_key_equal(pd_site_key(sites, &event), site.key)) {
            r->left_out++;
            continue;
        }
        end_settling(r, number, &site);
        uint32_t made = pd_site_for(sites, &event, site.key);
        if (!made)
            status = PD_FAIL(err, PPROFDELTA_E_MEMORY, "recover", NULL, "no memory for the sites");
        else
            add_site(r, &site, &r->in_use[number], made);
        if (made && pd_has_ages(sites))
            add_ages(r, &site, made);
    }
    pd_mem_release(&r->heap->writer.mem, &labels, &labels_cap, sizeof *labels);
    return status;
}

/* ---- the mappings ---------------------------------------------------------------------------- */

static pprofdelta_status add_map(recovery *r, const pd_heap_map *map, const uint8_t *text,
                                 uint64_t text_len, pprofdelta_error *err)
{
    pd_places *places = &r->heap->writer.places;
    pd_mem *mem = &r->heap->writer.mem;
    if (map->name_off > text_len || map->name_len > text_len - map->name_off ||
        map->build_id_off > text_len || map->build_id_len > text_len - map->build_id_off ||
        map->start >= map->limit) {
        r->left_out++;
        return PPROFDELTA_OK;
    }
    const pd_maps_line line = {.start = map->start,
                               .limit = map->limit,
                               .file_offset = map->file_offset,
                               .name = {text + map->name_off, map->name_len}};
    const pd_bytes build_id = {text + map->build_id_off, map->build_id_len};
    uint32_t number = (uint32_t)places->maps.len;
    PD_TRY(PD_GROW(mem, places->spans, (size_t)number + 1, err));
    PD_TRY(PD_GROW(mem, places->known_maps, (size_t)number + 1, err));
    PD_TRY(pd_maps_add(&places->maps, mem, &line, build_id, err));
    places->maps.maps[number].is_there = !map->gone;
    places->spans[number] = (pd_place_span){number, map->born, map->gone};
    places->known_maps[number] = (pd_place_map){.span = number};
    places->spans_len = places->known_maps_len = (size_t)number + 1;
    return PPROFDELTA_OK;
}

/* The mappings are those of the dead process, and never read again. */
static pprofdelta_status read_maps(recovery *r, pprofdelta_error *err)
{
    pd_places *places = &r->heap->writer.places;
    pd_heap_maps head;
    const uint8_t *found = at(r, address_of(r->dead.maps), sizeof head);
    places->watch = PD_WATCH_NOTHING;
    places->is_whole = true;
    places->era = 1;
    pd_maps_clear(&places->maps);
    if (!found)
        return PPROFDELTA_OK;
    memcpy(&head, found, sizeof head);
    uint64_t most = r->size / sizeof(pd_heap_map);
    if (head.len > most || head.text_len > r->size ||
        !at(r, address_of(r->dead.maps),
            sizeof head + head.len * sizeof(pd_heap_map) + head.text_len))
        return refuse(err, "the table of mapped files is damaged");
    const uint8_t *rows = found + sizeof head, *text = rows + head.len * sizeof(pd_heap_map);
    for (uint64_t i = 0; i < head.len; i++) {
        pd_heap_map map;
        memcpy(&map, rows + i * sizeof map, sizeof map);
        PD_TRY(add_map(r, &map, text, head.text_len, err));
        if (i == head.main)
            places->maps.main = (uint32_t)places->maps.len - 1;
    }
    places->era = head.era ? head.era : 1;
    return pd_maps_sort(&places->maps, &r->heap->writer.mem, err);
}

/* A site that was in no profile has the mappings of now, which are the last ones. */
static void set_eras(recovery *r)
{
    const pd_sites *sites = &r->heap->sites;
    for (uint32_t number = 1; number <= sites->pool.made; number++) {
        pd_site *site = pd_site_at(sites, number);
        if (!site->era || site->era > r->heap->writer.places.era)
            site->era = r->heap->writer.places.era;
    }
}

/* ---- the windows ----------------------------------------------------------------------------- */

static void continue_windows(recovery *r)
{
    pprofdelta_heap *heap = r->heap;
    pd_heap_export *e = &heap->export;
    e->life.series = r->note.series;
    e->epoch = r->note.epoch;
    e->ended_nanos = r->note.ended_nanos;
    e->is_full_due = r->note.is_full_due != 0;
    e->has_epoch = r->note.has_epoch != 0;
    e->is_resync_wanted = r->dead.export.is_resync_wanted;
    e->sent_peak = r->note.sent_peak == r->dead.sites.peak ? peak_number : peak_number - 1;
    heap->sites.peak = peak_number;
    heap->stats.peak_objects = r->dead.stats.peak_objects;
    heap->stats.peak_bytes = r->dead.stats.peak_bytes;
    heap->stats.peak_nanos = r->dead.stats.peak_nanos;
    snprintf(heap->writer.remark, sizeof heap->writer.remark,
             "recovered: the process was killed; stacks whose values were being written: %" PRIu64
             ", left out: %" PRIu64,
             r->in_flight, r->left_out);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pprofdelta_status read_root(recovery *r, pprofdelta_error *err)
{
    if (r->from.areas_len && !r->from.areas)
        return pd_refuse(err, "remains.areas is NULL, and its length is not 0");
    for (size_t i = 0; i < r->from.areas_len; i++) {
        const pprofdelta_heap_area *area = &r->from.areas[i];
        if (!area->bytes || area->base % sizeof(uint64_t) || area->len > SIZE_MAX - r->size)
            return pd_refuse(err, "an area has no bytes, or a base that is not a multiple of 8");
        r->size += area->len;
    }
    r->traces_left = r->size;
    const void *root = at(r, r->from.root, sizeof r->dead);
    if (!root)
        return refuse(err, "the remains are cut: the tracker lies outside");
    memcpy(&r->dead, root, sizeof r->dead);
    if (r->dead.layout != PD_HEAP_LAYOUT)
        return refuse(err, "the remains are damaged, or of another version or build");
    const pd_sites *sites = &r->dead.sites;
    const bool has_ages = (r->dead.options.flags & PPROFDELTA_HEAP_AGES) != 0;
    r->cells_left = r->size / sizeof(pd_ended);
    if (sites->max_depth > PD_HEAP_MOST_DEPTH || sites->pool.element != sizeof(pd_site) ||
        r->dead.entries.element != sizeof(pd_entry) ||
        (has_ages && sites->ended.element != sizeof(pd_ended)) ||
        sites->pool.made > r->size / sizeof(pd_site) + PD_POOL_CHUNK ||
        r->dead.entries.made > r->size / sizeof(pd_entry) + PD_POOL_CHUNK)
        return refuse(err, "the remains are damaged: more elements than there is room for");
    r->note = r->dead.export.notes[r->dead.export.note & 1];
    if (r->dead.export.started_nanos > PD_HEAP_LATEST || r->note.ended_nanos > PD_HEAP_LATEST)
        return refuse(err, "the remains are damaged: a time is too late");
    return PPROFDELTA_OK;
}

static pprofdelta_status make_tracker(recovery *r, const pprofdelta_heap_options *options,
                                      pprofdelta_error *err)
{
    pprofdelta_heap_options o = PPROFDELTA_HEAP_OPTIONS_INIT;
    PD_TRY(pd_options_read(&o, sizeof o, options, err));
    o.id = r->dead.export.id;
    o.started_nanos = r->dead.export.started_nanos;
    o.period = r->dead.options.period & INT64_MAX;
    o.flags |= r->dead.options.flags & PPROFDELTA_HEAP_AGES;
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
    pd_mem *mem = &r.heap->writer.mem;
    size_t sites = (size_t)r.dead.sites.pool.made + 1;
    pprofdelta_status status =
        pd_mem_reserve(mem, &r.in_use, &r.in_use_cap, sites, sizeof *r.in_use, err);
    if (!status) {
        memset(r.in_use, 0, sites * sizeof *r.in_use);
        read_entries(&r);
        status = read_sites(&r, err);
    }
    if (!status)
        status = read_maps(&r, err);
    if (!status) {
        set_eras(&r);
        continue_windows(&r);
    }
    PD_RELEASE(mem, r.in_use);
    if (status)
        pprofdelta_heap_free(r.heap);
    else
        *out = r.heap;
    return status;
}
