/* The stacks of a run with their series: see leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"

#include <math.h>

/* ---- stacks ------------------------------------------------------------------------------- */

/* A profile that is merged. */
typedef struct merging {
    const cli_profile *profile;
    uint64_t *id_of; /* the merged location of each of its locations; 0: not known yet */
    uint64_t *ids;   /* of a stack: room */
    size_t ids_len, ids_cap;
} merging;

/* The row of the stack of a sample. */
static cli_leaks_row *find_row(cli_leaks_rows *rows, merging *m, const cli_sample *sample)
{
    cli_merged *merged = &rows->all->merged;
    Pd__View__Sample stack = PD__VIEW__SAMPLE__INIT;
    CLI_KEEP_MORE(m->ids, (size_t)(sample->path_end - sample->path)); /* ids have a byte or more */
    stack.location_id = m->ids;
    for (const uint8_t *next = sample->path; next < sample->path_end;) {
        size_t at = cli_profile_location_index(m->profile, cli_path_next(&next, sample->is_tagged));
        if (!m->id_of[at])
            m->id_of[at] = cli_merged_location(merged, m->profile, m->profile->view->location[at]);
        stack.location_id[stack.n_location_id++] = m->id_of[at];
    }
    cli_key key = cli_key_of(stack.location_id, stack.n_location_id * sizeof *stack.location_id);
    size_t number = cli_numbers_of(&rows->by_stack, key, rows->len);
    if (number == rows->len) {
        stack.n_value = 1;
        stack.value = (int64_t[]){(int64_t)number};
        rows->rows = cli_keep_more(rows->rows, rows->len, 1, &rows->cap, sizeof *rows->rows);
        rows->rows[rows->len++] = (cli_leaks_row){.sample = rows->samples_len + 1};
        rows->samples =
            cli_samples_append(rows->samples, &rows->samples_len, &rows->samples_cap, &stack);
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

static void add_amount(cli_leaks_row *row, size_t class, double objects, double bytes)
{
    if (!row->lives)
        row->lives = cli_keep(1, sizeof *row->lives);
    cli_leaks_lives *lives = row->lives;
    if (class >= lives->amounts_len)
        CLI_KEEP_MORE(lives->amounts, class + 1 - lives->amounts_len);
    while (lives->amounts_len <= class)
        lives->amounts[lives->amounts_len++] = (cli_leaks_amount){0};
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
static void match_alive(cli_leaks_row *row, const cli_leaks_moment *m)
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
    match_alive(row, m);
    lives->cohorts.in_use[m->point] = (float)row->bytes_now;
}

/* ---- windows ------------------------------------------------------------------------------ */

static void add_sample(cli_leaks_rows *rows, merging *m, const cli_leaks_columns *columns,
                       const cli_sample *sample)
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
    cli_leaks_row *row = find_row(rows, m, sample);
    if (has_ages)
        add_amount(row, MADE, values[CLI_LEAKS_MADE_OBJECTS], values[CLI_LEAKS_MADE_BYTES]);
    if (freed != 0)
        add_amount(row, class_of(cli_profile_age(m->profile, sample)), freed,
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
    merging m = {.profile = profile, .id_of = cli_keep(profile->view->n_location, sizeof *m.id_of)};
    begin_window(rows, moment->since, moment->is_change);
    cli_sample sample;
    for (cli_samples rest = profile->samples; cli_samples_next(&rest, &sample);)
        add_sample(rows, &m, columns, &sample);
    end_window(rows, moment);
    cli_drop(m.id_of);
    cli_drop(m.ids);
    rows->has_ages =
        columns->of[CLI_LEAKS_FREED_OBJECTS] != SIZE_MAX && (!rows->points || rows->has_ages);
    rows->seconds[moment->point] = moment->seconds;
    rows->points = moment->point + 1;
    rows->has_allocated = columns->of[CLI_LEAKS_ALLOCATED] != SIZE_MAX;
}

void cli_leaks_rows_clear(cli_leaks_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (rows->rows[i].lives)
            cli_drop(rows->rows[i].lives->amounts);
        cli_drop(rows->rows[i].lives);
    }
    cli_drop(rows->rows);
    cli_drop(rows->samples);
    cli_drop(rows->by_stack.slots);
    *rows = (cli_leaks_rows){.all = rows->all};
}

void cli_leaks_rows_end(cli_leaks_rows *rows)
{
    cli_sample sample;
    for (size_t i = 0; i < rows->len; i++) {
        cli_sample_read(rows->samples + rows->rows[i].sample, &sample);
        rows->rows[i].stack = cli_stack_of(&sample, 0);
    }
}
