#include "places/symbols.h"

void pd_symbols_clear_places(pd_symbols *s)
{
    pd_keymap_clear(&s->place_keys);
    s->lines_len = 0;
}

void pd_symbols_clear(pd_symbols *s)
{
    pd_symbols_clear_places(s);
    pd_keymap_clear(&s->string_keys);
    pd_keymap_clear(&s->function_keys);
    s->text.len = 0;
}

/* Gives a new key the next number, and makes room for it in the array. */
static pprofdelta_status number(pd_keymap *map, pd_mem *mem, pd_key key, void *array, size_t *cap,
                                size_t size, uint32_t *out, pprofdelta_error *err)
{
    pprofdelta_status status = pd_mem_grow(mem, array, cap, map->len + 1, size, err);
    if (!status)
        status = pd_keymap_room(map, mem, key, err);
    if (!status)
        *out = pd_keymap_add(map, key);
    return status;
}

pprofdelta_status pd_symbols_string(pd_symbols *s, pd_mem *mem, pd_bytes text, uint32_t *out,
                                    pprofdelta_error *err)
{
    if (text.len > UINT32_MAX)
        return pd_fail(err, PPROFDELTA_E_LIMIT, "memory", "string", PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "a string of %zu bytes", text.len);
    pd_key key = pd_key_of_bytes(text.ptr, text.len, 0);
    if ((*out = pd_keymap_find(&s->string_keys, key)) != PD_KEYMAP_NONE)
        return PPROFDELTA_OK;
    pprofdelta_status status = pd_buffer_room(mem, &s->text, text.len, err);
    if (!status)
        status = number(&s->string_keys, mem, key, &s->strings, &s->strings_cap, sizeof *s->strings,
                        out, err);
    if (status)
        return status;
    s->strings[*out] = (pd_symbol_string){.off = s->text.len, .len = (uint32_t)text.len};
    pd_buffer_put(&s->text, text.ptr, text.len);
    return PPROFDELTA_OK;
}

/* The number of a function. */
static pprofdelta_status add_function(pd_symbols *s, pd_mem *mem, const pd_function_parts *parts,
                                      uint32_t *out, pprofdelta_error *err)
{
    if ((*out = pd_keymap_find(&s->function_keys, parts->key)) != PD_KEYMAP_NONE)
        return PPROFDELTA_OK;
    pd_symbol_function f = {.start_line = parts->start_line};
    pprofdelta_status status = pd_symbols_string(s, mem, parts->name, &f.name, err);
    if (!status)
        status = pd_symbols_string(s, mem, parts->system_name, &f.system_name, err);
    if (!status)
        status = pd_symbols_string(s, mem, parts->filename, &f.filename, err);
    if (!status)
        status = number(&s->function_keys, mem, parts->key, &s->functions, &s->functions_cap,
                        sizeof *s->functions, out, err);
    if (!status)
        s->functions[*out] = f;
    return status;
}

pprofdelta_status pd_symbols_add_line(pd_symbols *s, pd_mem *mem, const pd_function_parts *function,
                                      int64_t line, int64_t column, pprofdelta_error *err)
{
    pd_symbol_line row = {.line = line, .column = column};
    pprofdelta_status status = add_function(s, mem, function, &row.function, err);
    if (!status)
        status = pd_mem_grow(mem, &s->lines, &s->lines_cap, s->lines_len + 1, sizeof row, err);
    if (!status)
        s->lines[s->lines_len++] = row;
    return status;
}

pprofdelta_status pd_symbols_add(pd_symbols *s, pd_mem *mem, pd_key key,
                                 const pd_symbol_place *place, uint32_t *out, pprofdelta_error *err)
{
    uint32_t index;
    pprofdelta_status status =
        number(&s->place_keys, mem, key, &s->places, &s->places_cap, sizeof *place, &index, err);
    if (status)
        return status;
    s->places[index] = *place;
    *out = index;
    return PPROFDELTA_OK;
}

uint32_t pd_symbols_write_string(pd_symbols *s, pd_compact *compact, uint32_t string)
{
    pd_symbol_string *row = &s->strings[string];
    if (row->round != s->round) {
        row->out = pd_compact_string(compact, pd_symbols_text(s, string));
        row->round = s->round;
    }
    return row->out;
}

static uint32_t write_function(pd_symbols *s, pd_compact *compact, uint32_t function)
{
    pd_symbol_function *row = &s->functions[function];
    if (row->round != s->round) {
        uint32_t name = pd_symbols_write_string(s, compact, row->name);
        uint32_t system_name = pd_symbols_write_string(s, compact, row->system_name);
        uint32_t filename = pd_symbols_write_string(s, compact, row->filename);
        row->out = pd_compact_add_function(compact, name, system_name, filename, row->start_line);
        row->round = s->round;
    }
    return row->out;
}

pd_encoded pd_symbols_write_place(pd_symbols *s, pd_compact *compact, pd_symbol_place *row,
                                  uint32_t mapping)
{
    if (row->round == s->round)
        return row->out;
    uint32_t id = pd_compact_find_location(compact, row->ident);
    if (!id) {
        for (size_t i = 0; i < row->lines_len; i++) {
            const pd_symbol_line *line = &s->lines[row->lines_first + i];
            uint32_t function = write_function(s, compact, line->function);
            pd_compact_add_line(compact, function, line->line, line->column);
        }
        id = pd_compact_add_location(compact, row->ident, mapping, row->address, false);
    }
    row->round = s->round;
    return row->out = pd_encode_id(id);
}

void pd_symbols_release(pd_symbols *s, pd_mem *mem)
{
    pd_keymap_release(&s->string_keys, mem);
    pd_keymap_release(&s->function_keys, mem);
    pd_keymap_release(&s->place_keys, mem);
    pd_buffer_release(mem, &s->text);
    pd_mem_release(mem, &s->strings, &s->strings_cap, sizeof *s->strings);
    pd_mem_release(mem, &s->functions, &s->functions_cap, sizeof *s->functions);
    pd_mem_release(mem, &s->lines, &s->lines_cap, sizeof *s->lines);
    pd_mem_release(mem, &s->places, &s->places_cap, sizeof *s->places);
}
