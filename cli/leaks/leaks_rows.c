/* The stacks of a run with their series: see leaks_rows.h. */
#include "leaks/leaks_rows.h"

#include "show/frame.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- memory ------------------------------------------------------------------------------- */

static bool take(cli_leaks_rows *rows, size_t size)
{
    if (size > rows->max_memory - rows->memory)
        return false;
    rows->memory += size;
    return true;
}

/* Makes room for `more` items behind len. array is the address of the pointer to the items. */
static bool reserve(cli_leaks_rows *rows, void *array, size_t *cap, size_t len, size_t more,
                    size_t item)
{
    enum { LEAST = 64 };
    void *items;
    if (more <= *cap - len)
        return true;
    size_t grown = *cap + *cap / 2 + LEAST;
    if (grown < len + more)
        grown = len + more;
    if (grown > SIZE_MAX / item || !take(rows, (grown - *cap) * item))
        return false;
    memcpy(&items, array, sizeof items);
    items = realloc(items, grown * item);
    if (!items)
        return false;
    memcpy(array, &items, sizeof items);
    *cap = grown;
    return true;
}

/* ---- the map ------------------------------------------------------------------------------ */

static struct cli_leaks_slot *find_slot(const cli_leaks_map *map, XXH128_hash_t key)
{
    size_t at = (size_t)key.low64 & (map->cap - 1);
    while (map->slots[at].value &&
           (map->slots[at].lo != key.low64 || map->slots[at].hi != key.high64))
        at = (at + 1) & (map->cap - 1);
    return &map->slots[at];
}

static bool grow_map(cli_leaks_rows *rows, cli_leaks_map *map)
{
    enum { LEAST = 1024 };
    cli_leaks_map grown = {.cap = map->cap ? map->cap * 2 : LEAST, .len = map->len};
    if (!take(rows, (grown.cap - map->cap) * sizeof *grown.slots))
        return false;
    grown.slots = calloc(grown.cap, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < map->cap; i++) {
        struct cli_leaks_slot *slot = &map->slots[i];
        if (slot->value)
            *find_slot(&grown, (XXH128_hash_t){slot->lo, slot->hi}) = *slot;
    }
    free(map->slots);
    *map = grown;
    return true;
}

/* Sets *value to the number of the key, which is `next` if the key is new. */
static bool number_key(cli_leaks_rows *rows, cli_leaks_map *map, XXH128_hash_t key, size_t next,
                       size_t *value)
{
    if (map->len * 2 >= map->cap && !grow_map(rows, map))
        return false;
    struct cli_leaks_slot *slot = find_slot(map, key);
    if (!slot->value) {
        *slot = (struct cli_leaks_slot){key.low64, key.high64, next + 1};
        map->len++;
    }
    *value = slot->value - 1;
    return true;
}

/* ---- texts and places --------------------------------------------------------------------- */

cli_string cli_leaks_text(const cli_leaks_rows *rows, uint32_t text)
{
    return rows->texts[text];
}

static bool number_text(cli_leaks_rows *rows, cli_string text, uint32_t *number)
{
    size_t value;
    if (rows->texts_len >= UINT32_MAX ||
        !reserve(rows, &rows->texts, &rows->texts_cap, rows->texts_len, 1, sizeof *rows->texts) ||
        !number_key(rows, &rows->by_text, XXH3_128bits(text.ptr, text.len), rows->texts_len,
                    &value))
        return false;
    *number = (uint32_t)value;
    if (value < rows->texts_len)
        return true;
    char *copy = take(rows, text.len + 1) ? malloc(text.len + 1) : NULL;
    if (!copy)
        return false;
    memcpy(copy, text.ptr, text.len);
    rows->texts[rows->texts_len++] = (cli_string){copy, text.len};
    return true;
}

static XXH128_hash_t hash_string(cli_string text)
{
    return XXH3_128bits(text.ptr, text.len);
}

/* The identity of an address: its file, and the place in the file. */
static XXH128_hash_t key_of_address(const cli_profile *profile, const Pd__View__Location *location)
{
    const Pd__View__Mapping *mapping = cli_profile_mapping(profile, location->mapping_id);
    uint64_t words[4] = {1, 0, 0, location->address};
    cli_string id = cli_string_of("");
    if (mapping) {
        id = cli_profile_string(profile, mapping->build_id);
        cli_string name = cli_profile_string(profile, mapping->filename);
        if (!id.len)
            id = (cli_string){name.ptr, pprofdelta_file_len(name.ptr, name.len)};
    }
    if (id.len) {
        XXH128_hash_t file = hash_string(id);
        words[1] = file.low64;
        words[2] = file.high64;
        words[3] += mapping->file_offset - mapping->memory_start;
    }
    return XXH3_128bits(words, sizeof words);
}

static XXH128_hash_t key_of_lines(const cli_profile *profile, const Pd__View__Location *location)
{
    XXH128_hash_t key = {2, 0};
    for (size_t i = 0; i < location->n_line; i++) {
        const Pd__View__Line *line = location->line[i];
        const Pd__View__Function *function = cli_profile_function(profile, line->function_id);
        cli_string name = cli_profile_string(profile, function ? function->name : 0);
        cli_string file = cli_profile_string(profile, function ? function->filename : 0);
        XXH128_hash_t n = hash_string(name), f = hash_string(file);
        uint64_t words[] = {key.low64, key.high64,          n.low64, n.high64, f.low64,
                            f.high64,  (uint64_t)line->line};
        key = XXH3_128bits(words, sizeof words);
    }
    return key;
}

static bool add_frame(cli_leaks_rows *rows, const cli_profile *profile,
                      const Pd__View__Location *location, const Pd__View__Line *line)
{
    char made[CLI_FRAME_MADE];
    cli_frame_text text = cli_frame_of(profile, location, line, made);
    cli_leaks_frame frame = {.line = text.line, .is_nameless = text.is_nameless};
    if (!reserve(rows, &rows->frames, &rows->frames_cap, rows->frames_len, 1,
                 sizeof *rows->frames) ||
        !number_text(rows, text.name, &frame.name) || !number_text(rows, text.file, &frame.file) ||
        !number_text(rows, text.module, &frame.module))
        return false;
    rows->frames[rows->frames_len++] = frame;
    return true;
}

/* Adds the frames of a location, which become those of the place. */
static bool add_frames(cli_leaks_rows *rows, const cli_profile *profile,
                       const Pd__View__Location *location, cli_leaks_place *place)
{
    size_t first = rows->frames_len;
    bool done = location->n_line || add_frame(rows, profile, location, NULL);
    for (size_t i = 0; done && i < location->n_line; i++)
        done = add_frame(rows, profile, location, location->line[i]);
    *place = (cli_leaks_place){.first = first, .len = rows->frames_len - first};
    return done;
}

static bool number_place(cli_leaks_rows *rows, const cli_profile *profile,
                         const Pd__View__Location *location, uint32_t *number)
{
    size_t value;
    XXH128_hash_t key =
        location->address ? key_of_address(profile, location) : key_of_lines(profile, location);
    if (rows->places_len >= UINT32_MAX ||
        !reserve(rows, &rows->places, &rows->places_cap, rows->places_len, 1,
                 sizeof *rows->places) ||
        !number_key(rows, &rows->by_place, key, rows->places_len, &value))
        return false;
    *number = (uint32_t)value;
    if (value < rows->places_len)
        return true;
    rows->places_len++;
    return add_frames(rows, profile, location, &rows->places[value]);
}

/* ---- stacks ------------------------------------------------------------------------------- */

static const uint32_t NOT_NUMBERED = UINT32_MAX;

/* Writes the places of a sample behind the paths. */
static bool stage_path(cli_leaks_rows *rows, const cli_profile *profile,
                       const Pd__View__Sample *sample)
{
    if (!reserve(rows, &rows->path, &rows->path_cap, rows->path_len, sample->n_location_id,
                 sizeof *rows->path))
        return false;
    for (size_t i = 0; i < sample->n_location_id; i++) {
        size_t at = cli_profile_location_index(profile, sample->location_id[i]);
        if (rows->place_of[at] == NOT_NUMBERED &&
            !number_place(rows, profile, profile->view->location[at], &rows->place_of[at]))
            return false;
        rows->path[rows->path_len + i] = rows->place_of[at];
    }
    return true;
}

static bool find_row(cli_leaks_rows *rows, const cli_profile *profile,
                     const Pd__View__Sample *sample, cli_leaks_row **row)
{
    size_t value, len = sample->n_location_id;
    if (!stage_path(rows, profile, sample) ||
        !reserve(rows, &rows->rows, &rows->cap, rows->len, 1, sizeof *rows->rows))
        return false;
    XXH128_hash_t key = XXH3_128bits(rows->path + rows->path_len, len * sizeof *rows->path);
    if (!number_key(rows, &rows->by_stack, key, rows->len, &value))
        return false;
    *row = &rows->rows[value];
    if (value < rows->len)
        return true;
    **row = (cli_leaks_row){.path = rows->path_len, .path_len = len};
    rows->path_len += len;
    rows->len++;
    return true;
}

static double value_of(const Pd__View__Sample *sample, size_t column)
{
    return column == SIZE_MAX ? 0 : (double)sample->value[column];
}

static bool add_sample(cli_leaks_rows *rows, const cli_profile *profile,
                       const cli_leaks_columns *columns, const Pd__View__Sample *sample)
{
    cli_leaks_row *row = NULL;
    double level = value_of(sample, columns->level), made = value_of(sample, columns->allocated);
    if (level == 0 && made == 0)
        return true;
    if (!find_row(rows, profile, sample, &row))
        return false;
    double objects = value_of(sample, columns->objects);
    row->level += level;
    row->made += made;
    row->objects_now += objects;
    row->sum_level += level;
    row->sum_bytes += value_of(sample, columns->bytes);
    row->sum_objects += objects;
    return true;
}

/* Begins a window: its values are added up from zero. */
static void begin_window(cli_leaks_rows *rows, bool adds_allocated)
{
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        row->level = row->objects_now = 0;
        if (!adds_allocated)
            row->made = 0;
    }
}

/* Ends a window: keeps the lowest level of the block, and what was allocated until its end. */
static void end_window(cli_leaks_rows *rows, const cli_leaks_moment *moment)
{
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        double *lowest = &row->levels[moment->point];
        if (moment->is_first || row->level < *lowest)
            *lowest = row->level;
        row->allocated[moment->point] = row->made;
        row->now = row->level;
    }
}

bool cli_leaks_rows_add(cli_leaks_rows *rows, const cli_profile *profile,
                        const cli_leaks_columns *columns, const cli_leaks_moment *moment)
{
    const Pd__View__Profile *view = profile->view;
    if (!reserve(rows, &rows->place_of, &rows->place_of_cap, 0, view->n_location,
                 sizeof *rows->place_of))
        return false;
    for (size_t i = 0; i < view->n_location; i++)
        rows->place_of[i] = NOT_NUMBERED;
    begin_window(rows, moment->adds_allocated);
    for (size_t i = 0; i < view->n_sample; i++)
        if (!add_sample(rows, profile, columns, view->sample[i]))
            return false;
    end_window(rows, moment);
    rows->seconds[moment->point] = moment->seconds;
    rows->points = moment->point + 1;
    return true;
}

bool cli_leaks_rows_rename(cli_leaks_rows *rows, const cli_profile *profile)
{
    for (size_t i = 0; rows->len && i < profile->view->n_location; i++) {
        const Pd__View__Location *location = profile->view->location[i];
        uint32_t number;
        size_t before = rows->places_len;
        if (!number_place(rows, profile, location, &number))
            return false;
        if (number < before && !add_frames(rows, profile, location, &rows->places[number]))
            return false;
    }
    return true;
}

void cli_leaks_rows_free(cli_leaks_rows *rows)
{
    for (size_t i = 0; i < rows->texts_len; i++)
        free((char *)rows->texts[i].ptr);
    free(rows->rows);
    free(rows->places);
    free(rows->frames);
    free(rows->path);
    free(rows->texts);
    free(rows->by_stack.slots);
    free(rows->by_place.slots);
    free(rows->by_text.slots);
    free(rows->place_of);
    *rows = (cli_leaks_rows){0};
}
