/* The stacks of a run with their series: see leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"

/* ---- texts and places --------------------------------------------------------------------- */

static cli_key hash_string(cli_string text)
{
    return cli_key_of(text.ptr, text.len);
}

/* Returns the number of the text, and makes it the text of that number. */
static uint32_t number_text(cli_leaks_rows *rows, cli_string *text)
{
    size_t number = cli_numbers_of(&rows->by_text, hash_string(*text), rows->texts_len);
    if (number == rows->texts_len) {
        CLI_KEEP_MORE(rows->texts, 1);
        rows->texts[rows->texts_len++] = cli_keep_string(*text);
        rows->text_bytes += text->len;
    }
    *text = rows->texts[number];
    return (uint32_t)number;
}

/* The identity of an address: its file, and the place in the file. */
static cli_key key_of_address(const cli_profile *profile, const Pd__View__Location *location)
{
    const Pd__View__Mapping *mapping = cli_profile_mapping(profile, location->mapping_id);
    uint64_t words[4] = {1, 0, 0, location->address};
    cli_string id = cli_string_of("");
    if (mapping) {
        id = cli_profile_string(profile, mapping->build_id);
        cli_string name = cli_profile_string(profile, mapping->filename);
        if (!id.len)
            id = (cli_string){name.ptr, cli_profile_file_len(name)};
    }
    if (mapping && id.len) {
        cli_key file = hash_string(id);
        words[1] = file.lo;
        words[2] = file.hi;
        words[3] += mapping->file_offset - mapping->memory_start;
    }
    return cli_key_of(words, sizeof words);
}

static cli_key key_of_lines(const cli_profile *profile, const Pd__View__Location *location)
{
    cli_key key = {2, 0};
    for (size_t i = 0; i < location->n_line; i++) {
        const Pd__View__Line *line = location->line[i];
        const Pd__View__Function *function = cli_profile_function(profile, line->function_id);
        cli_string name = cli_profile_string(profile, function ? function->name : 0);
        cli_string file = cli_profile_string(profile, function ? function->filename : 0);
        cli_key n = hash_string(name), f = hash_string(file);
        uint64_t words[] = {key.lo, key.hi, n.lo, n.hi, f.lo, f.hi, (uint64_t)line->line};
        key = cli_key_of(words, sizeof words);
    }
    return key;
}

static void add_frame(cli_leaks_rows *rows, const cli_profile *profile,
                      const Pd__View__Location *location, const Pd__View__Line *line)
{
    char made[CLI_FRAME_MADE];
    cli_leaks_frame frame = {.text = cli_frame_of(profile, location, line, made)};
    frame.name = number_text(rows, &frame.text.name);
    number_text(rows, &frame.text.file);
    number_text(rows, &frame.text.module);
    CLI_KEEP_MORE(rows->frames, 1);
    rows->frames[rows->frames_len++] = frame;
}

/* Adds the frames of a location, which become those of the place. */
static void add_frames(cli_leaks_rows *rows, const cli_profile *profile,
                       const Pd__View__Location *location, uint32_t place)
{
    size_t first = rows->frames_len;
    for (size_t i = 0; i < location->n_line; i++)
        add_frame(rows, profile, location, location->line[i]);
    if (!location->n_line)
        add_frame(rows, profile, location, NULL);
    rows->places[place] = (cli_leaks_place){.first = first, .len = rows->frames_len - first};
}

static uint32_t number_place(cli_leaks_rows *rows, const cli_profile *profile,
                             const Pd__View__Location *location)
{
    cli_key key =
        location->address ? key_of_address(profile, location) : key_of_lines(profile, location);
    uint32_t number = (uint32_t)cli_numbers_of(&rows->by_place, key, rows->places_len);
    if (number == rows->places_len) {
        CLI_KEEP_MORE(rows->places, 1);
        rows->places_len++;
        add_frames(rows, profile, location, number);
    }
    return number;
}

/* ---- stacks ------------------------------------------------------------------------------- */

static const uint32_t NOT_NUMBERED = UINT32_MAX;

static cli_leaks_row *find_row(cli_leaks_rows *rows, const cli_profile *profile,
                               const Pd__View__Sample *sample, uint32_t *place_of)
{
    size_t len = sample->n_location_id;
    CLI_KEEP_MORE(rows->path, len);
    uint32_t *path = rows->path + rows->path_len;
    for (size_t i = 0; i < len; i++) {
        size_t at = cli_profile_location_index(profile, sample->location_id[i]);
        if (place_of[at] == NOT_NUMBERED)
            place_of[at] = number_place(rows, profile, profile->view->location[at]);
        path[i] = place_of[at];
    }
    size_t number =
        cli_numbers_of(&rows->by_stack, cli_key_of(path, len * sizeof *path), rows->len);
    if (number == rows->len) {
        rows->rows = cli_keep_more(rows->rows, rows->len, 1, &rows->cap, sizeof *rows->rows);
        rows->rows[rows->len++] = (cli_leaks_row){.path = rows->path_len, .path_len = len};
        rows->path_len += len;
    }
    return &rows->rows[number];
}

static double value_of(const Pd__View__Sample *sample, size_t column)
{
    return column == SIZE_MAX ? 0 : (double)sample->value[column];
}

static void add_sample(cli_leaks_rows *rows, const cli_profile *profile,
                       const cli_leaks_columns *columns, const Pd__View__Sample *sample,
                       uint32_t *place_of)
{
    double level = value_of(sample, columns->level), made = value_of(sample, columns->allocated);
    if (level == 0 && made == 0)
        return;
    cli_leaks_row *row = find_row(rows, profile, sample, place_of);
    double objects = value_of(sample, columns->objects);
    row->now += level;
    row->made += made;
    row->objects_made += value_of(sample, columns->objects_made);
    row->objects_now += objects;
    row->sum_level += level;
    row->sum_bytes += value_of(sample, columns->bytes);
    row->sum_objects += objects;
}

/* Begins a window: its values are added up from zero. */
static void begin_window(cli_leaks_rows *rows, cli_leaks_since since)
{
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        row->now = row->objects_now = 0;
        if (since != CLI_LEAKS_SINCE_SUM) {
            bool goes_on = since == CLI_LEAKS_SINCE_LAST;
            row->made_before = goes_on ? row->made : 0;
            row->objects_made_before = goes_on ? row->objects_made : 0;
        }
        row->made = row->made_before;
        row->objects_made = row->objects_made_before;
    }
}

/* Ends a window: keeps the lowest level of the block, and what was allocated until its end. */
static void end_window(cli_leaks_rows *rows, const cli_leaks_moment *moment)
{
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        double *lowest = &row->levels[moment->point];
        if (moment->point == rows->points || row->now < *lowest)
            *lowest = row->now;
        row->allocated[moment->point] = row->made;
    }
}

void cli_leaks_rows_add(cli_leaks_rows *rows, const cli_profile *profile,
                        const cli_leaks_columns *columns, const cli_leaks_moment *moment)
{
    const Pd__View__Profile *view = profile->view;
    uint32_t *place_of = cli_keep(view->n_location, sizeof *place_of);
    for (size_t i = 0; i < view->n_location; i++)
        place_of[i] = NOT_NUMBERED;
    begin_window(rows, moment->since);
    for (size_t i = 0; i < view->n_sample; i++)
        add_sample(rows, profile, columns, view->sample[i], place_of);
    end_window(rows, moment);
    cli_drop(place_of);
    rows->seconds[moment->point] = moment->seconds;
    rows->points = moment->point + 1;
    rows->has_allocated = columns->allocated != SIZE_MAX;
}

void cli_leaks_rows_rename(cli_leaks_rows *rows, const cli_profile *profile)
{
    for (size_t i = 0; rows->len && i < profile->view->n_location; i++)
        add_frames(rows, profile, profile->view->location[i],
                   number_place(rows, profile, profile->view->location[i]));
}

uint64_t cli_leaks_rows_size(const cli_leaks_rows *rows)
{
    size_t slots = rows->by_stack.cap + rows->by_place.cap + rows->by_text.cap;
    return rows->cap * sizeof *rows->rows + rows->places_cap * sizeof *rows->places +
           rows->frames_cap * sizeof *rows->frames + rows->path_cap * sizeof *rows->path +
           rows->texts_cap * sizeof *rows->texts + slots * sizeof *rows->by_text.slots +
           rows->text_bytes;
}

/* From the last place to the first, in the same array: each has one frame at least. */
void cli_leaks_rows_end(cli_leaks_rows *rows)
{
    size_t at = 0, places = rows->path_len;
    for (size_t i = 0; i < places; i++)
        at += rows->places[rows->path[i]].len;
    CLI_KEEP_MORE(rows->path, at - places);
    rows->path_len = at;
    for (size_t i = rows->len; i-- > 0;) {
        cli_leaks_row *row = &rows->rows[i];
        size_t end = at;
        for (size_t k = row->path_len; k-- > 0;) {
            const cli_leaks_place *place = &rows->places[rows->path[row->path + k]];
            for (size_t n = place->len; n-- > 0;)
                rows->path[--at] = (uint32_t)(place->first + n);
        }
        row->path = at;
        row->path_len = end - at;
    }
}
