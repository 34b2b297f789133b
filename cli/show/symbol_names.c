/* The names of the frames at each location: see symbol_names.h.
 *
 * The names are numbered by sorting them. Functions with different ids and equal names get one
 * number, and the numbers are in the order of the names. */
#include "show/symbol_names.h"

#include "cli.h"
#include "message.h"
#include "show/short_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MADE_ROOM = CLI_SYMBOL_MADE,
    FILE_ROOM = 64
}; /* bytes for a name made from an address, and for its file */

static cli_string function_name(const cli_profile *profile, const Pd__View__Function *function)
{
    cli_string name = cli_profile_string(profile, function->name);
    if (!name.len)
        name = cli_profile_string(profile, function->system_name);
    return name.len ? name : cli_string_of("(no name)");
}

/* The last part of a path, at most FILE_ROOM bytes. It is empty only if the path is. */
static cli_string last_part(cli_string path)
{
    size_t from = path.len;
    while (from && (path.ptr[from - 1] != '/' || from == path.len))
        from--;
    cli_string part = {path.ptr + from, path.len - from};
    if (part.len > FILE_ROOM)
        part.len = FILE_ROOM;
    return part;
}

/* "libc.so.6+0x27a10": the last part of the file's path and the offset in the file. If the mapping
 * has no file and no build id, the name has the address instead: "[anon]@0x7f0000001000". */
static cli_string make_name(char to[MADE_ROOM], const cli_profile *profile,
                            const Pd__View__Location *location)
{
    const Pd__View__Mapping *mapping = cli_profile_mapping(profile, location->mapping_id);
    uint64_t address = location->address;
    if (!address)
        return cli_string_of("(unknown)");
    cli_string name = mapping ? cli_profile_string(profile, mapping->filename) : cli_string_of("");
    size_t file_len = cli_profile_file_len(name);
    bool is_known = file_len || (mapping && cli_profile_string(profile, mapping->build_id).len);
    if (file_len)
        name.len = file_len;
    cli_string part = last_part(name);
    size_t len = part.len;
    memcpy(to, part.ptr, len);
    if (len)
        to[len++] = is_known ? '+' : '@';
    if (mapping && len && is_known)
        address += mapping->file_offset - mapping->memory_start;
    len += (size_t)snprintf(to + len, MADE_ROOM - len, "0x%" PRIx64, address);
    return (cli_string){to, len};
}

cli_string cli_symbols_name(const cli_profile *profile, const Pd__View__Location *location,
                            const Pd__View__Line *line, char made[CLI_SYMBOL_MADE])
{
    const Pd__View__Function *function =
        line ? cli_profile_function(profile, line->function_id) : NULL;
    return function ? function_name(profile, function) : make_name(made, profile, location);
}

static size_t frames_at(const Pd__View__Location *location)
{
    return location->n_line ? location->n_line : 1;
}

/* A frame whose name has no number yet. */
typedef struct named {
    cli_string name;
    size_t frame;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = cli_string_compare(x->name, y->name);
    return order ? order : (x->frame > y->frame) - (x->frame < y->frame);
}

/* Sorts the frames by name, and gives equal names one number. */
static void number(cli_symbols *symbols, named *frames, size_t len)
{
    qsort(frames, len, sizeof *frames, by_name);
    for (size_t i = 0; i < len; i++) {
        if (!i || cli_string_compare(frames[i].name, frames[i - 1].name) != 0)
            symbols->names[symbols->len++] = frames[i].name;
        symbols->frames[frames[i].frame] = (uint32_t)(symbols->len - 1);
    }
}

/* The short names of the strings that are names, each made when it is needed first. */
typedef struct short_names {
    cli_string *of; /* for each string of the table; ptr is NULL before */
    char *chars;
    size_t len;
} short_names;

static bool reserve_short(short_names *names, cli_symbols *symbols, const cli_profile *profile)
{
    size_t room = CLI_SHORT_NAME_MAX, strings = profile->view->n_string_table;
    for (size_t i = 0; i < strings; i++)
        room += profile->view->string_table[i].len;
    names->of = calloc(strings + 1, sizeof *names->of);
    names->chars = symbols->shortened = malloc(room);
    return names->of && names->chars;
}

static cli_string shorten(short_names *names, const cli_profile *profile, int64_t index)
{
    if (!names->of[index].ptr) {
        char *to = names->chars + names->len;
        names->of[index] = cli_short_name(cli_profile_string(profile, index), to);
        names->len += names->of[index].ptr == to ? names->of[index].len : 0;
    }
    return names->of[index];
}

static cli_string shown_name(short_names *names, const cli_profile *profile,
                             const Pd__View__Function *function)
{
    cli_string full = function_name(profile, function);
    int64_t index =
        cli_profile_string(profile, function->name).len ? function->name : function->system_name;
    bool is_string = names->of && cli_profile_string(profile, index).len;
    return is_string ? shorten(names, profile, index) : full;
}

static void name_frames(cli_symbols *symbols, const cli_profile *profile, short_names *names,
                        named *frames)
{
    const Pd__View__Profile *view = profile->view;
    char *made = symbols->made;
    for (size_t i = 0; i < view->n_location; i++) {
        const Pd__View__Location *location = view->location[i];
        for (size_t j = 0; j < frames_at(location); j++) {
            size_t at = symbols->first[i] + j;
            const Pd__View__Function *function =
                location->n_line ? cli_profile_function(profile, location->line[j]->function_id)
                                 : NULL;
            frames[at].frame = at;
            if (function) {
                frames[at].name = shown_name(names, profile, function);
            } else {
                frames[at].name = make_name(made, profile, location);
                made += MADE_ROOM;
            }
        }
    }
}

/* Counts the frames, and those of them that have no function. */
static size_t count(cli_symbols *symbols, const cli_profile *profile, size_t *nameless)
{
    const Pd__View__Profile *view = profile->view;
    size_t len = 0;
    for (size_t i = 0; i < view->n_location; i++) {
        const Pd__View__Location *location = view->location[i];
        symbols->first[i] = len;
        len += frames_at(location);
        *nameless += !location->n_line;
        for (size_t j = 0; j < location->n_line; j++)
            *nameless += !location->line[j]->function_id;
    }
    symbols->first[view->n_location] = len;
    return len;
}

/* Allocates everything. The caller frees *frames. */
static bool reserve(cli_symbols *symbols, const cli_profile *profile, named **frames, size_t *len)
{
    size_t nameless = 0;
    symbols->first = calloc(profile->view->n_location + 1, sizeof *symbols->first);
    if (!symbols->first)
        return false;
    *len = count(symbols, profile, &nameless);
    symbols->names = calloc(*len + 1, sizeof *symbols->names);
    symbols->frames = calloc(*len + 1, sizeof *symbols->frames);
    symbols->made = calloc(nameless + 1, MADE_ROOM);
    *frames = calloc(*len + 1, sizeof **frames);
    return symbols->names && symbols->frames && symbols->made && *frames && *len <= UINT32_MAX;
}

int cli_symbols_make(cli_symbols *symbols, const cli_profile *profile, bool is_short)
{
    named *frames = NULL;
    size_t len = 0;
    int code = CLI_DONE;
    short_names names = {.len = 0};
    *symbols = (cli_symbols){0};
    if ((!is_short || reserve_short(&names, symbols, profile)) &&
        reserve(symbols, profile, &frames, &len)) {
        symbols->frames_len = len;
        name_frames(symbols, profile, &names, frames);
        number(symbols, frames, len);
    } else {
        code = cli_system_error(profile->input.name, "show", ENOMEM);
    }
    free(frames);
    free(names.of);
    return code;
}

void cli_symbols_free(cli_symbols *symbols)
{
    free(symbols->names);
    free(symbols->frames);
    free(symbols->first);
    free(symbols->made);
    free(symbols->shortened);
    *symbols = (cli_symbols){0};
}
