/* The symbols of places: strings, functions and lines, each stored once, and the places (a program
 * counter, a frame) that have them.
 *
 *     strings     [off,len] ...             into `text`
 *     functions   [name,system,file,start] ...
 *     lines       [function,line,column] ...          of all places, one after the other
 *     places      [ident,address,mapping,lines] ...   numbered in order of addition
 *
 * Each has the id that it has in the profile that is being written. `round` shows whether that id
 * belongs to this profile or to an earlier one, so nothing has to be cleared between profiles. */
#ifndef PD_PLACES_SYMBOLS_H
#define PD_PLACES_SYMBOLS_H

#include "profile/compact.h"
#include "profile/identity.h"

typedef struct pd_symbol_string {
    size_t off;
    uint64_t round;
    uint32_t len, out;
} pd_symbol_string;

typedef struct pd_symbol_function {
    uint32_t name, system_name, filename, out;
    uint64_t round;
    int64_t start_line;
} pd_symbol_function;

typedef struct pd_symbol_line {
    uint32_t function;
    int64_t line, column;
} pd_symbol_line;

typedef struct pd_symbol_place {
    pd_key ident; /* for the writer: see identity.h */
    uint64_t address, round;
    size_t lines_first;
    uint32_t lines_len;
    uint32_t mapping; /* for the owner of the table */
    pd_encoded out;
    bool is_hidden;
} pd_symbol_place;

typedef struct pd_symbols {
    pd_keymap string_keys, function_keys, place_keys;
    pd_buffer text;
    pd_symbol_string *strings;
    pd_symbol_function *functions;
    pd_symbol_line *lines;
    pd_symbol_place *places;
    size_t lines_len;
    size_t strings_cap, functions_cap, lines_cap, places_cap;
    uint64_t round; /* of the profile that is being written; 0: none yet */
} pd_symbols;       /* zero it to begin */

/* Removes everything and keeps the capacity. */
void pd_symbols_clear(pd_symbols *symbols);

/* The number of a string. A new one is copied. */
pprofdelta_status pd_symbols_string(pd_symbols *symbols, pd_mem *mem, pd_bytes text, uint32_t *out,
                                    pprofdelta_error *err);

static inline pd_bytes pd_symbols_text(const pd_symbols *symbols, uint32_t string)
{
    const pd_symbol_string *s = &symbols->strings[string];
    return (pd_bytes){s->len ? symbols->text.ptr + s->off : NULL,
                      s->len}; /* perhaps no text at all */
}

/* The number of the place with this key, or PD_KEYMAP_NONE. */
static inline uint32_t pd_symbols_find(const pd_symbols *symbols, pd_key key)
{
    return pd_keymap_find(&symbols->place_keys, key);
}

/* Adds a new place in two steps: each of its lines in order, and then the place itself, which has
 * the lines from place->lines_first on. Set that to lines_len at the beginning, and set lines_len
 * back to it if one of the steps fails. */
pprofdelta_status pd_symbols_add_line(pd_symbols *symbols, pd_mem *mem,
                                      const pd_function_parts *function, int64_t line,
                                      int64_t column, pprofdelta_error *err);
pprofdelta_status pd_symbols_add(pd_symbols *symbols, pd_mem *mem, pd_key key,
                                 const pd_symbol_place *place, uint32_t *out,
                                 pprofdelta_error *err);

/* Begins a profile: nothing is written yet. */
static inline void pd_symbols_begin_profile(pd_symbols *symbols)
{
    symbols->round++;
}

uint32_t pd_symbols_write_string(pd_symbols *symbols, pd_compact *compact, uint32_t string);

/* Writes the place, with its lines and functions, if it is not in the output yet. mapping is an
 * output id or 0. A failure is in the writer's status. */
pd_encoded pd_symbols_write_place(pd_symbols *symbols, pd_compact *compact, uint32_t place,
                                  uint32_t mapping);

void pd_symbols_release(pd_symbols *symbols, pd_mem *mem);

#endif
