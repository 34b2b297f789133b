/* The stacks of a run with their series: see leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"

#include <math.h>

/* ---- texts and places --------------------------------------------------------------------- */

/* Returns the number of the text, and makes it the text of that number. */
static uint32_t number_text(cli_leaks_rows *rows, cli_string *text)
{
    size_t number =
        cli_numbers_of(&rows->by_text, cli_key_of(text->ptr, text->len), rows->texts_len);
    if (number == rows->texts_len) {
        CLI_KEEP_MORE(rows->texts, 1);
        rows->texts[rows->texts_len++] = cli_keep_string(*text);
        rows->text_bytes += text->len;
    }
    *text = rows->texts[number];
    return (uint32_t)number;
}

/* The build id of the mapping, or else its file; empty: neither. */
static cli_string file_of(const cli_profile *profile, const Pd__View__Mapping *mapping)
{
    cli_string id = cli_profile_string(profile, mapping ? mapping->build_id : 0);
    cli_string name = cli_profile_string(profile, mapping ? mapping->filename : 0);
    return id.len ? id : (cli_string){name.ptr, cli_profile_file_len(name)};
}

/* The place in the file. */
static cli_key key_in_file(const Pd__View__Location *location, const Pd__View__Mapping *mapping,
                           cli_string id)
{
    cli_key file = cli_key_of(id.ptr, id.len);
    uint64_t words[] = {file.lo, file.hi,
                        location->address + mapping->file_offset - mapping->memory_start};
    return cli_key_of(words, sizeof words);
}

/* The lines, and the address if there is one. */
static cli_key key_of_lines(const cli_profile *profile, const Pd__View__Location *location)
{
    cli_key key = {2, location->address};
    for (size_t i = 0; i < location->n_line; i++) {
        const Pd__View__Line *line = location->line[i];
        const Pd__View__Function *function = cli_profile_function(profile, line->function_id);
        cli_string name = cli_profile_string(profile, function ? function->name : 0);
        cli_string file = cli_profile_string(profile, function ? function->filename : 0);
        cli_key n = cli_key_of(name.ptr, name.len), f = cli_key_of(file.ptr, file.len);
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
    rows->places[place].first = first;
    rows->places[place].len = rows->frames_len - first;
}

/* Returns the number of the module of a mapping. */
static size_t number_module(cli_leaks_rows *rows, const cli_profile *profile,
                            const Pd__View__Mapping *mapping)
{
    cli_leaks_module module = {.name = cli_profile_string(profile, mapping->filename),
                               .build_id = cli_profile_string(profile, mapping->build_id),
                               .file_offset = mapping->file_offset,
                               .has_filenames = mapping->has_filenames,
                               .has_line_numbers = mapping->has_line_numbers};
    const uint64_t words[] = {number_text(rows, &module.name), number_text(rows, &module.build_id),
                              module.file_offset, module.has_filenames, module.has_line_numbers};
    size_t number =
        cli_numbers_of(&rows->by_module, cli_key_of(words, sizeof words), rows->modules_len);
    if (number == rows->modules_len) {
        CLI_KEEP_MORE(rows->modules, 1);
        rows->modules[rows->modules_len++] = module;
    }
    return number;
}

static uint32_t number_place(cli_leaks_rows *rows, const cli_profile *profile,
                             const Pd__View__Location *location)
{
    const Pd__View__Mapping *mapping = cli_profile_mapping(profile, location->mapping_id);
    cli_string file = file_of(profile, mapping);
    bool is_in_file = location->address && file.len;
    cli_leaks_place place = {.key = is_in_file ? key_in_file(location, mapping, file)
                                               : key_of_lines(profile, location),
                             .address = location->address};
    uint32_t number = (uint32_t)cli_numbers_of(&rows->by_place, place.key, rows->places_len);
    if (number < rows->places_len)
        return number;
    if (is_in_file)
        place.address += mapping->file_offset - mapping->memory_start;
    place.module_1 = mapping ? number_module(rows, profile, mapping) + 1 : 0;
    CLI_KEEP_MORE(rows->places, 1);
    rows->places[rows->places_len++] = place;
    add_frames(rows, profile, location, number);
    return number;
}

/* ---- stacks ------------------------------------------------------------------------------- */

static const uint32_t NOT_NUMBERED = UINT32_MAX;

static cli_leaks_row *find_row(cli_leaks_rows *rows, const cli_profile *profile,
                               const cli_sample *sample, uint32_t *place_of)
{
    size_t len = 0;
    CLI_KEEP_MORE(rows->stacks,
                  (size_t)(sample->path_end - sample->path)); /* ids have a byte or more */
    uint32_t *path = rows->stacks + rows->stacks_len;
    for (const uint8_t *next = sample->path; next < sample->path_end;) {
        size_t at = cli_profile_location_index(profile, cli_path_next(&next, sample->is_tagged));
        if (place_of[at] == NOT_NUMBERED)
            place_of[at] = number_place(rows, profile, profile->view->location[at]);
        path[len++] = place_of[at];
    }
    size_t number =
        cli_numbers_of(&rows->by_stack, cli_key_of(path, len * sizeof *path), rows->len);
    if (number == rows->len) {
        rows->rows = cli_keep_more(rows->rows, rows->len, 1, &rows->cap, sizeof *rows->rows);
        rows->rows[rows->len++] = (cli_leaks_row){.stack = rows->stacks_len, .stack_len = len};
        rows->stacks_len += len;
    }
    return &rows->rows[number];
}

/* ---- ages --------------------------------------------------------------------------------- */

/* Classes of ages: 0 to 15 are exact, then there are two for each power of 2 (see pprofdelta_heap.h).
 * The class of allocations comes before them. */
enum { EXACT_AGES = 16, MADE = 0 };

static size_t class_of(int64_t age)
{
    uint32_t at_most = age < 0 ? 0 : age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
    if (at_most < EXACT_AGES)
        return 1 + at_most;
    size_t log = 31 - (size_t)__builtin_clz(at_most);
    return 1 + EXACT_AGES + 2 * (log - 4) + (at_most >> (log - 1) & 1);
}

/* The lowest age of a class. */
static uint64_t age_of(size_t class)
{
    size_t n = class - 1 - EXACT_AGES;
    return class <= EXACT_AGES ? class - 1 : (UINT64_C(2) + n % 2) << (n / 2 + 3);
}

static void add_amount(cli_leaks_rows *rows, cli_leaks_row *row, size_t class, double objects,
                       double bytes)
{
    if (!row->lives) {
        row->lives = cli_keep(1, sizeof *row->lives);
        rows->lives_bytes += sizeof *row->lives;
    }
    cli_leaks_lives *lives = row->lives;
    if (class >= lives->amounts_len) {
        size_t before = lives->amounts_cap;
        CLI_KEEP_MORE(lives->amounts, class + 1 - lives->amounts_len);
        while (lives->amounts_len <= class)
            lives->amounts[lives->amounts_len++] = (cli_leaks_amount){0};
        rows->lives_bytes += (lives->amounts_cap - before) * sizeof *lives->amounts;
    }
    lives->amounts[class].objects += objects;
    lives->amounts[class].bytes += bytes;
}

/* The number of samples behind these values. */
static double count_samples(double objects, double bytes, double period)
{
    if (objects <= 0 || bytes <= 0)
        return 0;
    return period > 1 ? objects * -expm1(-bytes / objects / period) : objects;
}

/* The point in which what has that age was made; what is older than the first window is of point 0. */
static size_t point_of(const cli_leaks_moment *m, uint64_t age)
{
    uint64_t sequence = age < m->sequence ? m->sequence - age : 0; /* the window of the tracker */
    size_t point = m->point;
    while (point && m->begins[point] > sequence)
        point--;
    return point;
}

/* Adds deaths of samples that were born in the points from `low` to `high`. Cohorts that are alive have
 * their share of them. What these cohorts cannot have is of those beside them: ages are rounded, and counts
 * are estimates. */
static void add_deaths(cli_leaks_cohorts *cohorts, size_t point, size_t low, size_t high,
                       double count)
{
    static const double nothing = 1e-6;
    for (size_t wider = 0; count > nothing && wider <= point; wider++) {
        size_t from = low > wider ? low - wider : 0;
        size_t to = high + wider < point ? high + wider : point;
        double alive = 0;
        for (size_t p = from; p <= to; p++)
            alive += cli_leaks_alive(cohorts, p, point);
        double share = count < alive ? count / alive : 1;
        for (size_t p = from; p <= to; p++)
            cohorts->deaths[cli_leaks_cell(p, point)] +=
                (float)(share * cli_leaks_alive(cohorts, p, point));
        count -= share * alive;
    }
    if (count > nothing)
        cohorts->deaths[cli_leaks_cell(high, point)] += (float)count;
}

/* What is in use is certain. Cohorts that have more have lost deaths: with windows that are missing, since a
 * block that realloc shrinks frees bytes but no object, or since the mean of what was allocated hides that large
 * objects died and small ones did not. Behind a gap, what the cohorts do not have was allocated before the
 * first window or in one that is missing. */
static void settle(cli_leaks_row *row, const cli_leaks_moment *m)
{
    cli_leaks_cohorts *cohorts = &row->lives->cohorts;
    double known = 0, live = count_samples(row->objects_now, row->bytes_now, m->period);
    for (size_t p = 0; p <= m->point; p++)
        known += cohorts->births[p];
    for (size_t i = 0; i < cli_leaks_cell(0, m->point + 1); i++)
        known -= cohorts->deaths[i];
    if (live > known && m->is_behind_gap)
        cohorts->births[m->point] += (float)(live - known);
    else if (known > live)
        add_deaths(cohorts, m->point, 0, m->point, known - live);
}

static void end_lives(cli_leaks_row *row, const cli_leaks_moment *m)
{
    cli_leaks_lives *lives = row->lives;
    bool is_change = m->since == CLI_LEAKS_SINCE_LAST;
    for (size_t i = 0; i < lives->amounts_len; i++) {
        cli_leaks_amount *a = &lives->amounts[i];
        double objects = a->objects - (is_change ? 0 : a->last_objects);
        double bytes = a->bytes - (is_change ? 0 : a->last_bytes);
        double count = count_samples(objects, bytes, m->period);
        lives->brief += i == class_of(0) ? bytes : 0;
        lives->brief_objects += i == class_of(0) ? objects : 0;
        if (i == MADE)
            lives->cohorts.births[m->point] += (float)count;
        else
            add_deaths(&lives->cohorts, m->point, point_of(m, age_of(i + 1) - 1),
                       point_of(m, age_of(i)), count);
        *a = (cli_leaks_amount){.last_objects = a->objects, .last_bytes = a->bytes};
    }
    settle(row, m);
    lives->cohorts.in_use[m->point] = (float)row->bytes_now;
}

/* ---- windows ------------------------------------------------------------------------------ */

static void add_sample(cli_leaks_rows *rows, const cli_profile *profile,
                       const cli_leaks_columns *columns, const cli_sample *sample,
                       uint32_t *place_of)
{
    double values[CLI_LEAKS_COLUMNS];
    for (size_t i = 0; i < CLI_LEAKS_COLUMNS; i++)
        values[i] = columns->of[i] == SIZE_MAX ? 0 : (double)sample->values[columns->of[i]];
    bool has_ages = columns->of[CLI_LEAKS_FREED_OBJECTS] != SIZE_MAX;
    double level = values[CLI_LEAKS_LEVEL], freed = values[CLI_LEAKS_FREED_OBJECTS];
    if (level == 0 && values[CLI_LEAKS_ALLOCATED] == 0 && freed == 0)
        return;
    rows->has_negative |= level < 0;
    rows->has_older |= level > values[CLI_LEAKS_ALLOCATED];
    cli_leaks_row *row = find_row(rows, profile, sample, place_of);
    if (has_ages)
        add_amount(rows, row, MADE, values[CLI_LEAKS_MADE_OBJECTS], values[CLI_LEAKS_MADE_BYTES]);
    if (freed != 0)
        add_amount(rows, row, class_of(cli_profile_age(profile, sample)), freed,
                   values[CLI_LEAKS_FREED_BYTES]);
    row->now += level;
    row->made += values[CLI_LEAKS_ALLOCATED];
    row->objects_made += values[CLI_LEAKS_MADE_OBJECTS];
    row->objects_now += values[CLI_LEAKS_OBJECTS];
    row->bytes_now += values[CLI_LEAKS_BYTES];
    row->sum_level += level;
    row->sum_bytes += values[CLI_LEAKS_BYTES];
    row->sum_objects += values[CLI_LEAKS_OBJECTS];
}

/* Begins a window: its values are added up from zero, or changes from the last ones. */
static void begin_window(cli_leaks_rows *rows, cli_leaks_since since, bool is_change)
{
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        if (!is_change)
            row->now = row->objects_now = row->bytes_now = 0;
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
        if (row->lives)
            end_lives(row, moment);
    }
}

void cli_leaks_rows_add(cli_leaks_rows *rows, const cli_profile *profile,
                        const cli_leaks_columns *columns, const cli_leaks_moment *moment)
{
    const Pd__View__Profile *view = profile->view;
    uint32_t *place_of = cli_keep(view->n_location, sizeof *place_of);
    for (size_t i = 0; i < view->n_location; i++)
        place_of[i] = NOT_NUMBERED;
    begin_window(rows, moment->since, moment->is_change);
    cli_sample sample;
    for (cli_samples rest = profile->samples; cli_samples_next(&rest, &sample);)
        add_sample(rows, profile, columns, &sample, place_of);
    end_window(rows, moment);
    cli_drop(place_of);
    rows->has_ages =
        columns->of[CLI_LEAKS_FREED_OBJECTS] != SIZE_MAX && (!rows->points || rows->has_ages);
    rows->seconds[moment->point] = moment->seconds;
    rows->points = moment->point + 1;
    rows->has_allocated = columns->of[CLI_LEAKS_ALLOCATED] != SIZE_MAX;
}

void cli_leaks_rows_rename(cli_leaks_rows *rows, size_t place, const cli_profile *profile,
                           const Pd__View__Location *location)
{
    add_frames(rows, profile, location, (uint32_t)place);
}

void cli_leaks_rows_clear(cli_leaks_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (rows->rows[i].lives)
            cli_drop(rows->rows[i].lives->amounts);
        cli_drop(rows->rows[i].lives);
    }
    for (size_t i = 0; i < rows->texts_len; i++)
        cli_drop((char *)rows->texts[i].ptr);
    void *const all[] = {rows->rows,          rows->places,         rows->frames,
                         rows->modules,       rows->stacks,         rows->path,
                         rows->texts,         rows->by_stack.slots, rows->by_place.slots,
                         rows->by_text.slots, rows->by_module.slots};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cli_drop(all[i]);
    *rows = (cli_leaks_rows){.rows = NULL};
}

uint64_t cli_leaks_rows_size(const cli_leaks_rows *rows)
{
    size_t slots = rows->by_stack.cap + rows->by_place.cap + rows->by_text.cap;
    return rows->cap * sizeof *rows->rows + rows->places_cap * sizeof *rows->places +
           rows->frames_cap * sizeof *rows->frames +
           (rows->stacks_cap + rows->path_len) * sizeof *rows->path +
           rows->texts_cap * sizeof *rows->texts + slots * sizeof *rows->by_text.slots +
           rows->text_bytes + rows->lives_bytes;
}

void cli_leaks_rows_end(cli_leaks_rows *rows)
{
    size_t at = 0;
    for (size_t i = 0; i < rows->stacks_len; i++)
        at += rows->places[rows->stacks[i]].len;
    cli_drop(rows->path);
    rows->path = cli_keep(at, sizeof *rows->path);
    rows->path_len = at;
    at = 0;
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        row->path = at;
        for (size_t k = 0; k < row->stack_len; k++) {
            const cli_leaks_place *place = &rows->places[rows->stacks[row->stack + k]];
            for (size_t n = 0; n < place->len; n++)
                rows->path[at++] = (uint32_t)(place->first + n);
        }
        row->path_len = at - row->path;
    }
}
