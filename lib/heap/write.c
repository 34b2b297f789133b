/* Writes a batch as a profile: sites become samples, addresses become locations. */
#include "heap/heap.h"
#include "profile/stamp.h"
#include "profile/identity.h"

/* Sites share most of their addresses. So the location of an address is stored while a profile is
 * written, in a table with one slot for each hash. */
enum { KNOWN = 4096 };

typedef struct pd_known_place {
    uint64_t address, run;
    pd_encoded location;
    uint32_t born; /* valid for sites of this era or a later one */
} pd_known_place;

typedef struct writing {
    pprofdelta_heap *heap;
    pd_heap_press *press;
    pd_compact *out;
    bool has_mappings, is_all; /* is_all: in use: everything, not changes */
    bool has_inuse;            /* a value of inuse_space is not 0 */
    pprofdelta_heap_kind kind;
    uint32_t map, mapping; /* the mapping that was written last, and its id */
    pprofdelta_error *err;
} writing;

void pd_press_release_known(pd_heap_press *press)
{
    pd_mem_release(&press->mem, &press->known, &press->known_cap, sizeof *press->known);
    pd_keymap_release(&press->numbers, &press->mem);
    pd_mem_release(&press->mem, &press->number_place, &press->number_place_cap,
                   sizeof *press->number_place);
}

static uint32_t string(writing *w, const char *text)
{
    return text ? pd_compact_string(w->out, (pd_bytes){(const uint8_t *)text, strlen(text)}) : 0;
}

static void write_types(writing *w)
{
    static const char *const types[PD_HEAP_TYPES][2] = {
        [PD_ALLOC_OBJECTS] = {"alloc_objects", "count"},
        [PD_ALLOC_BYTES] = {"alloc_space", "bytes"},
        [PD_INUSE_OBJECTS] = {"inuse_objects", "count"},
        [PD_INUSE_BYTES] = {"inuse_space", "bytes"},
        [PD_PEAK_OBJECTS] = {"peak_objects", "count"},
        [PD_PEAK_BYTES] = {"peak_space", "bytes"},
    };
    for (int i = 0; i < PD_HEAP_TYPES; i++) {
        uint32_t type = string(w, types[i][0]);
        pd_compact_type(w->out, type, string(w, types[i][1]));
    }
    const pprofdelta_heap_options *o = &w->heap->options;
    if (o->gauge) {
        uint32_t type = string(w, o->gauge);
        pd_compact_type(w->out, type, string(w, o->gauge_unit));
    }
}

/* What a mapping may know (pd_compact_mapping.has). pprof does not look for names in a mapping that
 * has functions. So with PPROFDELTA_HEAP_NAMES_ONLY a mapping is added with nothing, and gets
 * HAS_FUNCTIONS when one of its addresses has a name. */
enum { HAS_FUNCTIONS = 1, HAS_ALL = 0xf };

static uint32_t add_mapping(writing *w, uint32_t map)
{
    const pd_maps *maps = &w->press->places.maps;
    uint64_t words[] = {map}, start;
    pd_key key = pd_key_of_words(words, 1, 0);
    uint32_t id = pd_compact_find_mapping(w->out, key, &start);
    if (id)
        return id;
    const pd_map *m = &maps->maps[map];
    const pprofdelta_heap_options *o = &w->heap->options;
    bool has_all = o->symbolize && !(o->flags & PPROFDELTA_HEAP_NAMES_ONLY);
    pd_compact_mapping mapping = {
        .start = m->start,
        .limit = m->limit,
        .file_offset = m->file_offset,
        .filename = pd_compact_string(w->out, pd_maps_name(maps, map)),
        .build_id = pd_compact_string(w->out, pd_maps_build_id(maps, map)),
        .has = has_all ? HAS_ALL : 0,
    };
    return pd_compact_add_mapping(w->out, key, &mapping, &start);
}

/* Neighbours in a stack are often in one mapping. */
static uint32_t write_mapping(writing *w, uint32_t map)
{
    if (map == PD_MAP_NONE)
        return 0;
    if (map != w->map || !w->mapping) {
        w->map = map;
        w->mapping = add_mapping(w, map);
    }
    return w->mapping;
}

/* The symbol of an address; empty without a symbolizer. */
static pprofdelta_symbol symbolize(const writing *w, uint64_t address)
{
    const pprofdelta_heap_options *o = &w->heap->options;
    pprofdelta_symbol symbol = {0};
    if (o->symbolize)
        o->symbolize(o->symbolize_cookie, address, &symbol);
    return symbol;
}

static void write_lines(writing *w, const pprofdelta_symbol *symbol)
{
    for (size_t i = 0; i < symbol->frames_len; i++) {
        const pprofdelta_frame *f = &symbol->frames[i];
        uint32_t name = string(w, f->name);
        uint32_t system_name = f->system_name ? string(w, f->system_name) : name;
        uint32_t function = pd_compact_add_function(w->out, name, system_name,
                                                    string(w, f->filename), f->start_line);
        pd_compact_add_line(w->out, function, f->line, f->column);
    }
}

/* The mapping of an address in a site of this era. If the site has no era yet, the mapping may be
 * newer than the last reading. */
static uint32_t find_map(writing *w, uint64_t address, uint32_t era)
{
    pd_places *places = &w->press->places;
    uint32_t map = pd_places_find(places, address, era ? era : places->era);
    if (map != PD_MAP_NONE || era || w->press->is_reread || w->out->writer.status)
        return map;
    w->press->is_reread = true;
    w->out->writer.status = pd_places_read(places, &w->press->mem, true, w->err);
    return w->out->writer.status ? PD_MAP_NONE : pd_places_find(places, address, places->era);
}

/* Mixes an address, so that the low bits depend on all bits. */
static inline uint64_t mix(uint64_t address)
{
    uint64_t product = address * UINT64_C(0x9e3779b97f4a7c15);
    return product ^ product >> 32;
}

static pd_key key_of_lines(const pprofdelta_symbol *symbol)
{
    pd_key key = pd_location_key_lines_begin(false);
    for (size_t i = 0; i < symbol->frames_len; i++) {
        const pprofdelta_frame *f = &symbol->frames[i];
        key = pd_location_key_line(key, pd_function_parts_of(f).key, f->line, f->column);
    }
    return key;
}

/* The location with this identity. Adds it if it is new. */
static pd_encoded place(writing *w, pd_key ident, uint32_t mapping, uint64_t address,
                        const pprofdelta_symbol *symbol)
{
    uint32_t id = pd_compact_find_location(w->out, ident);
    if (!id) {
        write_lines(w, symbol);
        id = pd_compact_add_location(w->out, ident, mapping, address, false);
    }
    return pd_encode_id(id);
}

/* A number in no mapping has no meaning in other processes, and may be no address: the frames of an
 * interpreter have numbers of their own. If the symbolizer has lines for it, the location is
 * identified by them and has no address. The symbolizer is called once for each number, so the
 * result is stored by the number. */
static pd_encoded meet_number(writing *w, uint64_t number, pd_key ident)
{
    pd_heap_press *press = w->press;
    uint32_t known = pd_keymap_find(&press->numbers, ident);
    if (known != PD_KEYMAP_NONE)
        return press->number_place[known];
    pprofdelta_status status = pd_keymap_room(&press->numbers, &press->mem, ident, w->err);
    if (!status)
        status = pd_mem_grow(&press->mem, &press->number_place, &press->number_place_cap,
                             press->numbers.len + 1, sizeof *press->number_place, w->err);
    if (status && !w->out->writer.status)
        w->out->writer.status = status;
    if (w->out->writer.status)
        return 0;
    pprofdelta_symbol symbol = symbolize(w, number);
    pd_encoded encoded = symbol.frames_len ? place(w, key_of_lines(&symbol), 0, 0, &symbol)
                                           : place(w, ident, 0, number, &symbol);
    press->number_place[pd_keymap_add(&press->numbers, ident)] = encoded;
    return encoded;
}

static pd_encoded meet_address(writing *w, uint64_t address, uint32_t map, pd_key ident)
{
    uint32_t id = pd_compact_find_location(w->out, ident);
    if (id)
        return pd_encode_id(id);
    uint32_t mapping = write_mapping(w, map);
    pprofdelta_symbol symbol = symbolize(w, address);
    if (symbol.frames_len && mapping)
        pd_compact_mapping_has(w->out, mapping, HAS_FUNCTIONS);
    return place(w, ident, mapping, address, &symbol);
}

/* An address that is not in the table. */
static __attribute__((noinline)) pd_encoded meet(writing *w, uint64_t address, uint32_t era,
                                                 pd_known_place *known)
{
    uint32_t map = w->has_mappings ? find_map(w, address, era) : PD_MAP_NONE;
    pd_key ident = {mix(address), map}; /* mix is reversible: other addresses, other keys */
    if (map == PD_MAP_NONE && w->heap->options.symbolize)
        return meet_number(w, address, ident);
    pd_encoded location = meet_address(w, address, map, ident);
    if (map != PD_MAP_NONE && w->press->places.maps.maps[map].is_there)
        *known = (pd_known_place){address, w->press->run, location,
                                  pd_places_born(&w->press->places, map)};
    return location;
}

/* Puts the locations of addresses in the mappings of an era (0: of now). */
static uint8_t *put_addresses(writing *w, uint8_t *at, const uint64_t *stack, size_t depth,
                              uint32_t given_era)
{
    uint32_t era = given_era ? given_era : w->press->places.era;
    for (size_t i = 0; i < depth; i++) {
        uint64_t address = stack[i];
        pd_known_place *known = &w->press->known[mix(address) & (KNOWN - 1)];
        bool is_known =
            known->address == address && known->run == w->press->run && known->born <= era;
        at = pd_compact_stack_put(at,
                                  is_known ? known->location : meet(w, address, given_era, known));
    }
    return at;
}

static void write_stack(writing *w, const pd_site *site)
{
    const pd_trace *trace = site->trace;
    uint8_t *at = trace->depth ? pd_compact_stack(w->out, trace->depth) : NULL;
    if (at)
        pd_compact_stack_end(w->out, put_addresses(w, at, trace->stack, trace->depth, site->era));
}

static void end_sample(writing *w, const int64_t values[PD_HEAP_TYPES + 1])
{
    pd_compact_sample_end(w->out, values, PD_HEAP_TYPES + (w->heap->options.gauge != NULL));
}

static void write_labels(writing *w, const pd_trace *trace)
{
    for (uint32_t i = 0; i < trace->labels_len; i++) {
        const pprofdelta_label *label = &trace->labels[i];
        uint32_t key = string(w, label->key), str = string(w, label->str);
        pd_compact_sample_label(w->out, key, str, label->num, string(w, label->num_unit));
    }
}

/* The share of the batch's peak, or what changed in it since the last batch. */
static pprofdelta_weight share_of_peak(const writing *w, const pd_site *site)
{
    const pprofdelta_weight sent = site->peak.sent;
    const pprofdelta_weight now = pd_export_has_new_peak(w->heap) ? site->peak.held : sent;
    if (w->is_all)
        return now;
    return (pprofdelta_weight){(int64_t)((uint64_t)now.objects - (uint64_t)sent.objects),
                               (int64_t)((uint64_t)now.bytes - (uint64_t)sent.bytes)};
}

static void write_site(writing *w, uint32_t number)
{
    pd_site *site = pd_site_at(&w->heap->sites, number);
    const pd_heap_sums *changed = &site->changed[pd_sites_sending(&w->heap->sites)];
    int first = w->kind == PPROFDELTA_HEAP_FULL ? 0 : w->is_all ? PD_INUSE_OBJECTS : PD_HEAP_SUMS;
    int64_t values[PD_HEAP_TYPES + 1] = {0};
    memcpy(values, changed->at, sizeof changed->at);
    for (int i = first; i < PD_HEAP_SUMS; i++)
        pd_heap_add(&values[i], site->base.at[i]);
    pprofdelta_weight peak = share_of_peak(w, site);
    values[PD_PEAK_OBJECTS] = peak.objects;
    values[PD_PEAK_BYTES] = peak.bytes;
    /* The values of a site that is being made are 0. Nothing else of it may be read. */
    if (!pd_compact_has_value(values, PD_HEAP_TYPES))
        return;
    w->has_inuse |= values[PD_INUSE_BYTES] != 0;
    write_stack(w, site);
    write_labels(w, site->trace);
    end_sample(w, values);
    if (!site->era)
        site->era = w->press->places.era;
}

static void write_sites(writing *w)
{
    const pd_sites *sites = &w->heap->sites;
    if (w->is_all || pd_export_has_new_peak(w->heap)) {
        for (uint32_t number = 1; number <= w->heap->export.sites_made; number++)
            write_site(w, number);
        return;
    }
    unsigned sending = pd_sites_sending(sites);
    for (uint32_t number = sites->changed[sending]; number != PD_SITE_LAST;
         number = pd_site_at(sites, number)->next_changed[sending])
        write_site(w, number);
}

static void write_row(writing *w, const pprofdelta_heap_row *row)
{
    const int64_t values[PD_HEAP_TYPES + 1] = {[PD_HEAP_TYPES] = row->value};
    size_t len = row->frames_len + row->depth;
    uint8_t *at = len ? pd_compact_stack(w->out, len) : NULL;
    if (at) {
        for (size_t i = 0; i < row->frames_len; i++) {
            const pprofdelta_symbol symbol = {.frames = &row->frames[i], .frames_len = 1};
            at = pd_compact_stack_put(at, place(w, key_of_lines(&symbol), 0, 0, &symbol));
        }
        pd_compact_stack_end(w->out, put_addresses(w, at, row->stack, row->depth, 0));
    }
    end_sample(w, values);
}

static void write_rows(writing *w)
{
    const pd_heap_press *press = w->press;
    for (size_t i = 0; i < press->rows_len; i++)
        if (press->rows[i].value)
            write_row(w, &press->rows[i]);
}

static void write_stamp(writing *w)
{
    const pprofdelta_heap_batch *b = &w->heap->export.batch;
    char text[PD_STAMP_MAX];
    pprofdelta_stamp stamp = {
        .live = w->kind == PPROFDELTA_HEAP_FULL ? PPROFDELTA_LIVE_FULL
                : w->is_all                     ? PPROFDELTA_LIVE_WINDOW
                                                : PPROFDELTA_LIVE_DELTA,
        .id = b->id,
        .epoch = b->epoch,
        .sequence = b->sequence,
        .first = b->sequence,
        .attempt = b->attempt,
        .from_nanos = b->from_nanos,
        .to_nanos = b->to_nanos,
    };
    pd_stamp_write(&stamp, text);
    pd_compact_comment(w->out, string(w, text));
}

/* If nothing is in use at the end, readers begin with when most was. */
static const char *default_type(const writing *w)
{
    return w->is_all && !w->has_inuse ? "peak_space" : "inuse_space";
}

static pd_compact_header make_header(writing *w)
{
    const pprofdelta_heap_batch *b = &w->heap->export.batch;
    int64_t duration = b->to_nanos > b->from_nanos ? b->to_nanos - b->from_nanos : 0;
    return (pd_compact_header){
        .has_period_type = true,
        .period_type = string(w, "space"),
        .period_unit = string(w, "bytes"),
        .period = (int64_t)w->heap->options.period,
        .time_nanos = b->to_nanos,
        .duration_nanos = duration,
        .default_sample_type = string(w, default_type(w)),
    };
}

static pprofdelta_status prepare(writing *w)
{
    pd_heap_press *press = w->press;
    /* Pages are zeroed, and no run has the number 0. */
    pprofdelta_status status = pd_mem_reserve(&press->mem, &press->known, &press->known_cap, KNOWN,
                                              sizeof *press->known, w->err);
    if (status)
        return status;
    press->run++;
    press->is_reread = false;
    pd_keymap_clear(&press->numbers);
    return w->has_mappings ? pd_places_read(&press->places, &press->mem, false, w->err)
                           : PPROFDELTA_OK;
}

pprofdelta_status pd_press_compose(pprofdelta_heap *heap, pprofdelta_heap_inuse inuse,
                                   pd_bytes *out, pprofdelta_error *err)
{
    pd_heap_press *press = &heap->press;
    pprofdelta_heap_kind kind = heap->export.batch.kind;
    writing w = {.heap = heap,
                 .press = press,
                 .out = &press->compact,
                 .has_mappings = !(heap->options.flags & PPROFDELTA_NO_MAPPINGS),
                 .is_all = kind == PPROFDELTA_HEAP_FULL || inuse == PPROFDELTA_HEAP_SNAPSHOT,
                 .kind = kind,
                 .err = err};
    pprofdelta_status status = prepare(&w);
    if (status)
        return status;
    pd_compact_begin(&press->compact, &press->mem, err);
    pd_export_hold_peak(heap);
    write_types(&w);
    if (w.has_mappings && press->places.maps.main != PD_MAP_NONE)
        write_mapping(&w, press->places.maps.main); /* pprof takes the first as the main binary */
    write_sites(&w);
    write_rows(&w);
    if (!(heap->options.flags & PPROFDELTA_NO_STAMP))
        write_stamp(&w);
    if (press->comment)
        pd_compact_comment(w.out, string(&w, press->comment));
    pd_compact_header header = make_header(&w);
    header.series = heap->export.batch.id;
    header.sequence = heap->export.batch.sequence;
    return pd_compact_finish(&press->compact, &header, out);
}
