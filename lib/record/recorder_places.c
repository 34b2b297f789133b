/* From a program counter to its place: frames, address, mapping. */
#include "profile/identity.h"
#include "record/recorder.h"

/* A program counter as a key. The low bits choose the slot of a table, so they are mixed. */
static pd_key key_of(uintptr_t pc)
{
    uint64_t mixed = (uint64_t)pc * UINT64_C(0x9e3779b97f4a7c15);
    return (pd_key){mixed ^ mixed >> 32, pc};
}

static pprofdelta_status add_lines(pprofdelta_recorder *r, const pprofdelta_symbol *symbol,
                                   pprofdelta_error *err)
{
    for (size_t i = 0; i < symbol->frames_len; i++) {
        pd_function_parts parts = pd_function_parts_of(&symbol->frames[i]);
        pd_symbol_line line = {.line = symbol->frames[i].line, .column = symbol->frames[i].column};
        pprofdelta_status status =
            pd_symbols_function(&r->symbols, &r->mem, &parts, &line.function, err);
        if (!status)
            status = pd_symbols_add_line(&r->symbols, &r->mem, line, err);
        if (status)
            return status;
    }
    return PPROFDELTA_OK;
}

static pprofdelta_status add_place(pprofdelta_recorder *r, uintptr_t pc, uint32_t *out,
                                   pprofdelta_error *err)
{
    pd_symbol_place *place;
    pprofdelta_symbol symbol = {0};
    pprofdelta_status status = pd_symbols_add(&r->symbols, &r->mem, key_of(pc), &place, err);
    if (status)
        return status;
    if (r->symbolize)
        r->symbolize(r->symbolize_cookie, pc, &symbol);
    bool is_return = (r->flags & PPROFDELTA_RETURN_ADDRESSES) && pc;
    place->address = is_return ? pc - 1 : pc;
    place->is_hidden = symbol.hide != 0;
    r->may_hide |= place->is_hidden;
    status = add_lines(r, &symbol, err);
    if (status) {
        pd_symbols_drop_last(&r->symbols);
        return status;
    }
    *out = (uint32_t)r->symbols.place_keys.len - 1;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_recorder_place(pprofdelta_recorder *r, uintptr_t pc, uint32_t *out,
                                    pprofdelta_error *err)
{
    uint32_t found = pd_symbols_find(&r->symbols, key_of(pc));
    if (found == PD_KEYMAP_NONE)
        return add_place(r, pc, out, err);
    *out = found;
    return PPROFDELTA_OK;
}

/* The mappings are read again at most once for each write. A program counter that is in none of
 * them after that is code that was generated at run time. */
static pprofdelta_status find_map(pprofdelta_recorder *r, uint64_t address, uint32_t *out,
                                  pprofdelta_error *err)
{
    *out = pd_maps_find(&r->maps, address);
    if (*out != PD_MAP_NONE || r->has_read_again)
        return PPROFDELTA_OK;
    pprofdelta_status status = pd_maps_read(&r->maps, &r->mem, true, err);
    if (status)
        return status;
    r->has_read_again = true;
    *out = pd_maps_find(&r->maps, address);
    return PPROFDELTA_OK;
}

/* A number in no mapping has no meaning in other processes, and may be no address: the frames of an
 * interpreter have numbers of their own. If the symbolizer has lines for it, the place is
 * identified by them. */
static void name_by_lines(pprofdelta_recorder *r, pd_symbol_place *place)
{
    const pd_symbols *s = &r->symbols;
    place->ident = pd_location_key_lines_begin(false);
    for (size_t i = 0; i < place->lines_len; i++) {
        const pd_symbol_line *line = &s->lines[place->lines_first + i];
        place->ident = pd_location_key_line(place->ident, s->function_keys.keys[line->function],
                                            line->line, line->column);
    }
    place->address = 0;
    r->by_lines++;
}

static void name_by_address(pprofdelta_recorder *r, pd_symbol_place *place, uint32_t map)
{
    pd_place file = PD_NOWHERE_MAPPED;
    if (map != PD_MAP_NONE) {
        file = r->maps.maps[map].place;
        r->maps.maps[map].lacks_symbols |= !place->lines_len;
    }
    place->ident = pd_location_key_address(file, place->address, false);
}

pprofdelta_status pd_recorder_mapped_place(pprofdelta_recorder *r, uintptr_t pc, uint32_t *out,
                                           pprofdelta_error *err)
{
    pprofdelta_status status = pd_recorder_place(r, pc, out, err);
    if (status)
        return status;
    pd_symbol_place *place = &r->symbols.places[*out];
    if (place->mapping != PD_UNMAPPED)
        return PPROFDELTA_OK;
    uint32_t map = PD_MAP_NONE;
    if (!(r->flags & PPROFDELTA_NO_MAPPINGS))
        status = find_map(r, place->address, &map, err);
    if (status)
        return status;
    if (map == PD_MAP_NONE && place->lines_len)
        name_by_lines(r, place);
    else
        name_by_address(r, place, map);
    place->mapping = map == PD_MAP_NONE ? PD_NO_MAPPING : map;
    return PPROFDELTA_OK;
}
