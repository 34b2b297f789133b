#include "places/places.h"

/* A place whose mapping is not known yet. PD_MAP_NONE: it is in none. */
#define UNMAPPED (UINT32_MAX - 1)

/* ---- the mappings and their eras ------------------------------------------------------------- */

/* Opens a span of the mapping, if none is open. There is room for one more of each. */
static void note_presence(pd_places *p, uint32_t map)
{
    if (map < p->known_maps_len && !p->spans[p->known_maps[map].span].gone)
        return;
    if (map >= p->known_maps_len)
        p->known_maps[map] = (pd_place_map){0};
    p->known_maps[map].span = (uint32_t)p->spans_len;
    p->spans[p->spans_len++] = (pd_place_span){map, p->era, 0};
}

static pprofdelta_status note_spans(pd_places *p, pd_mem *mem, pprofdelta_error *err)
{
    size_t len = p->maps.len;
    PD_TRY(PD_GROW(mem, p->spans, p->spans_len + len, err));
    PD_TRY(PD_GROW(mem, p->known_maps, len, err));
    p->era++;
    for (uint32_t map = 0; map < len; map++) {
        bool is_there = p->maps.maps[map].is_there;
        if (map >= p->known_maps_len || is_there)
            note_presence(p, map);
        pd_place_span *span = &p->spans[p->known_maps[map].span];
        if (!is_there && !span->gone)
            span->gone = p->era;
    }
    p->known_maps_len = len;
    return PPROFDELTA_OK;
}

static pprofdelta_status read_maps(pd_places *p, pd_mem *mem, uint64_t loads, pprofdelta_error *err)
{
    p->is_whole = false;
    pprofdelta_status status = pd_maps_read(&p->maps, mem, err);
    if (!status)
        status = note_spans(p, mem, err);
    p->is_whole = !status;
    p->loads = loads;
    return status;
}

uint64_t pd_places_loads(const pd_places *p)
{
    return p->watch == PD_WATCH_LOADER ? pd_maps_loads() : 0;
}

pprofdelta_status pd_places_read(pd_places *p, uint64_t loads, pd_mem *mem, pprofdelta_error *err)
{
    bool is_current = p->is_whole && p->loads == loads && p->watch != PD_WATCH_ALWAYS;
    return is_current || !p->has_mappings ? PPROFDELTA_OK : read_maps(p, mem, loads, err);
}

static bool was_there(const pd_place_span *span, uint32_t era)
{
    return span->born <= era && (!span->gone || era < span->gone);
}

static uint32_t map_in_era(const pd_places *p, uint64_t address, uint32_t era)
{
    uint32_t now = pd_maps_find(&p->maps, address);
    if (now != PD_MAP_NONE && p->spans[p->known_maps[now].span].born <= era)
        return now;
    for (size_t i = 0; i < p->spans_len; i++) {
        const pd_map *map = &p->maps.maps[p->spans[i].map];
        if (map->start <= address && address < map->limit && was_there(&p->spans[i], era))
            return p->spans[i].map;
    }
    return now;
}

/* The mapping of an address in an era (0: of now), or PD_MAP_NONE. One of now may be newer than the
 * last reading. */
static pprofdelta_status find_map(pd_places *p, pd_mem *mem, uint64_t address, uint32_t era,
                                  uint32_t *out, pprofdelta_error *err)
{
    *out = PD_MAP_NONE;
    if (!p->has_mappings)
        return PPROFDELTA_OK;
    *out = map_in_era(p, address, era ? era : p->era);
    if (*out != PD_MAP_NONE || era || p->is_reread)
        return PPROFDELTA_OK;
    p->is_reread = true;
    PD_TRY(read_maps(p, mem, p->loads, err));
    *out = map_in_era(p, address, p->era);
    return PPROFDELTA_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Mixes the address, so that the low bits depend on all bits. That is reversible: other addresses, other
 * results. */
static pd_key key_of(uint64_t address, uint32_t map)
{
    uint64_t product = address * UINT64_C(0x9e3779b97f4a7c15);
    return (pd_key){product ^ product >> 32, map};
}

static void set_mapping(pd_places *p, pd_symbol_place *place, uint32_t map)
{
    place->mapping = map;
    if (map == PD_MAP_NONE && place->frames_len) {
        place->address = 0;
        p->by_lines++;
        return;
    }
    place->ident = key_of(place->address, map);
    if (map != PD_MAP_NONE)
        p->known_maps[map].lacks_symbols |= !place->frames_len;
}

/* Adds the lines of the symbol: *place has them, and is not in the table yet. */
static pprofdelta_status make_place(pd_places *p, pd_mem *mem, const pprofdelta_symbol *symbol,
                                    pd_symbol_place *place, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    *place = (pd_symbol_place){.frames_at = p->frames.len,
                               .frames_len = (uint32_t)symbol->frames_len,
                               .mapping = UNMAPPED,
                               .is_hidden = symbol->hide != 0};
    if (symbol->frames_len)
        place->ident = pd_location_key_lines_begin(0, false);
    for (size_t i = 0; i < symbol->frames_len && !status; i++) {
        const pprofdelta_frame *f = &symbol->frames[i];
        pd_function_parts function = pd_function_parts_of(f);
        status = pd_buffer_room(mem, &p->frames, pd_packed_frame_size(&function), err);
        if (!status)
            pd_pack_frame(&p->frames, &function, f->line, f->column);
        place->ident = pd_location_key_line(place->ident, function.key, f->line, f->column);
    }
    if (status)
        p->frames.len = place->frames_at;
    return status;
}

static bool is_gone(const pd_places *p, uint32_t map)
{
    return map < p->known_maps_len && p->spans[p->known_maps[map].span].gone;
}

/* ... with the lines that the symbolizer has for the address. It is not asked about a mapping that is gone: other
 * code may be there now. */
static pprofdelta_status symbolize_address(pd_places *p, pd_mem *mem, uint64_t address,
                                           uint32_t map, pd_symbol_place *place,
                                           pprofdelta_error *err)
{
    pprofdelta_symbol symbol = {0};
    if (p->symbolize && !is_gone(p, map))
        p->symbolize(p->symbolize_cookie, address, &symbol);
    symbol.frames_len = symbol.frames ? symbol.frames_len : 0;
    pprofdelta_status status = make_place(p, mem, &symbol, place, err);
    place->address = p->has_return_addresses && address ? address - 1 : address;
    return status;
}

/* The place of an address that is, or will be found to be, in this mapping. */
static pprofdelta_status find_place(pd_places *p, pd_mem *mem, uint64_t address, uint32_t map,
                                    uint32_t *out, pprofdelta_error *err)
{
    pd_key key = key_of(address, map);
    pd_symbol_place place;
    *out = pd_keymap_find(&p->keys, key);
    if (*out != PD_KEYMAP_NONE)
        return PPROFDELTA_OK;
    PD_TRY(symbolize_address(p, mem, address, map, &place, err));
    pprofdelta_status status = PD_GROW(mem, p->places, p->keys.len + 1, err);
    if (!status)
        status = pd_keymap_room(&p->keys, mem, key, err);
    if (status) {
        p->frames.len = place.frames_at;
        return status;
    }
    *out = pd_keymap_add(&p->keys, key);
    p->places[*out] = place;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_places_find(pd_places *p, pd_mem *mem, uint64_t address, uint32_t *out,
                                 pprofdelta_error *err)
{
    return find_place(p, mem, address, UNMAPPED, out, err);
}

static pprofdelta_status find_mapped(pd_places *p, pd_mem *mem, uint64_t address, uint32_t era,
                                     uint32_t *out, pprofdelta_error *err)
{
    uint32_t map = UNMAPPED;
    if (era != PD_ERA_ANY)
        PD_TRY(find_map(p, mem, address, era, &map, err));
    PD_TRY(find_place(p, mem, address, map, out, err));
    if (p->places[*out].mapping != UNMAPPED)
        return PPROFDELTA_OK;
    if (map == UNMAPPED)
        PD_TRY(find_map(p, mem, p->places[*out].address, 0, &map, err));
    set_mapping(p, &p->places[*out], map);
    return PPROFDELTA_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

pprofdelta_status pd_places_begin(pd_places *p, uint64_t loads, pd_mem *mem, pprofdelta_error *err)
{
    p->round++;
    p->is_reread = p->watch == PD_WATCH_GONE;
    return pd_places_read(p, loads, mem, err);
}

enum { HAS_FUNCTIONS = 1, HAS_ALL = 0xf }; /* pd_model_mapping.has */

static pd_key map_key(uint32_t map)
{
    uint64_t word = map;
    return pd_key_of_words(&word, 1, 0);
}

static uint32_t write_mapping(pd_places *p, pd_model *out, uint32_t map)
{
    const pd_key key = map_key(map);
    uint32_t known = pd_model_find_mapping(out, key);
    if (known)
        return known;
    const pd_map *m = &p->maps.maps[map];
    pd_model_mapping mapping = {
        .start = m->start,
        .limit = m->limit,
        .file_offset = m->file_offset,
        .filename = pd_model_string(out, pd_maps_name(&p->maps, map)),
        .build_id = pd_model_string(out, pd_maps_build_id(&p->maps, map)),
        .has = p->symbolize && p->names == PD_NAMES_ALL ? HAS_ALL : 0,
    };
    return pd_model_add_mapping(out, key, &mapping);
}

void pd_places_write_main(pd_places *p, pd_model *out)
{
    if (pd_places_has_main(p))
        write_mapping(p, out, p->maps.main);
}

void pd_places_write_complete(const pd_places *p, pd_model *out)
{
    for (uint32_t map = 0; map < p->known_maps_len && p->symbolize; map++) {
        uint32_t mapping = pd_model_find_mapping(out, map_key(map));
        if (mapping && !p->known_maps[map].lacks_symbols)
            pd_model_mapping_has(out, mapping, HAS_ALL);
    }
}

static pd_encoded write_place(pd_places *p, pd_model *out, pd_symbol_place *place)
{
    uint32_t mapping = place->mapping == PD_MAP_NONE ? 0 : write_mapping(p, out, place->mapping);
    if (mapping && place->frames_len && p->names == PD_NAMES_FUNCTIONS)
        pd_model_mapping_has(out, mapping, HAS_FUNCTIONS);
    const uint8_t *frames = place->frames_len ? p->frames.ptr + place->frames_at : NULL;
    place->round = p->round;
    return place->out = pd_encode_id(pd_write_packed_location(
               out, place->ident, mapping, place->address, frames, place->frames_len));
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The place is not in the table: its lines are given back. */
static pd_encoded write_frame(pd_places *p, pd_model *out, const pprofdelta_frame *frame)
{
    pd_writer *w = &out->writer;
    pprofdelta_symbol symbol = {.frames = frame, .frames_len = 1};
    pd_symbol_place place;
    if (!w->status)
        w->status = make_place(p, pd_mem_whole(w->mem), &symbol, &place, w->err);
    if (w->status)
        return 0;
    set_mapping(p, &place, PD_MAP_NONE);
    pd_encoded location = write_place(p, out, &place);
    p->frames.len = place.frames_at;
    return location;
}

static pd_encoded write_address(pd_places *p, pd_model *out, uint64_t address, uint32_t era)
{
    pd_writer *w = &out->writer;
    uint32_t found;
    if (!w->status)
        w->status = find_mapped(p, pd_mem_whole(w->mem), address, era, &found, w->err);
    if (w->status)
        return 0;
    pd_symbol_place *place = &p->places[found];
    return place->round == p->round ? place->out : write_place(p, out, place);
}

void pd_places_write_stack(pd_places *p, pd_model *out, const pd_place_stack *s)
{
    size_t len = s->frames_len + s->depth;
    uint8_t *at = len ? pd_model_stack(out, len) : NULL;
    if (!at)
        return;
    for (size_t i = 0; i < s->frames_len; i++)
        at = pd_model_stack_put(at, write_frame(p, out, &s->frames[i]));
    for (size_t i = 0; i < s->depth; i++)
        at = pd_model_stack_put(at, write_address(p, out, s->stack[i], s->era));
    pd_model_stack_end(out, at);
}

/* ---- from begin to release ------------------------------------------------------------------- */

void pd_places_clear_places(pd_places *p)
{
    pd_keymap_clear(&p->keys);
    p->frames.len = 0;
}

void pd_places_clear(pd_places *p)
{
    pd_places_clear_places(p);
    pd_maps_clear(&p->maps);
    p->by_lines = p->spans_len = p->known_maps_len = 0;
    p->is_whole = false;
}

void pd_places_trim(pd_places *p, pd_mem *mem)
{
    pd_keymap_trim(&p->keys, mem, 0);
    pd_mem_release(mem, &p->places);
    pd_buffer_release(mem, &p->frames);
}
