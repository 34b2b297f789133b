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

/* Adds a row for a stack, whose value is the number of the row. */
static void add_row(cli_leaks_rows *rows, Pd__View__Sample *stack)
{
    stack->n_value = 1;
    stack->value = (int64_t[]){(int64_t)rows->len};
    rows->rows = cli_keep_more(rows->rows, rows->len, 1, &rows->cap, sizeof *rows->rows);
    rows->rows[rows->len++] = (cli_leaks_row){.sample = rows->samples_len + 1};
    rows->samples =
        cli_samples_append(rows->samples, &rows->samples_len, &rows->samples_cap, stack);
}

/* The row of the stack of a sample. */
static cli_leaks_row *find_row(cli_leaks_rows *rows, merging *m, const cli_sample *sample)
{
    cli_leaks_all *all = rows->all;
    Pd__View__Sample stack = PD__VIEW__SAMPLE__INIT;
    CLI_KEEP_MORE(m->ids, (size_t)(sample->path_end - sample->path)); /* ids have a byte or more */
    stack.location_id = m->ids;
    for (const uint8_t *next = sample->path; next < sample->path_end;) {
        size_t at = cli_profile_location_index(m->profile, cli_path_next(&next, sample->is_tagged));
        if (!m->id_of[at])
            m->id_of[at] = cli_leaks_merge(all, m->profile, m->profile->view->location[at]);
        stack.location_id[stack.n_location_id++] = m->id_of[at];
    }
    cli_key key = cli_key_of(stack.location_id, stack.n_location_id * sizeof *stack.location_id);
    size_t number = cli_numbers_of(&rows->by_stack, key, rows->len);
    if (number == rows->len)
        add_row(rows, &stack);
    return &rows->rows[number];
}

/* ---- ages --------------------------------------------------------------------------------- */

/* Classes of ages: 0 to 15 are exact, then there are two for each power of 2 (see pprofdelta_heap.h). */
enum { EXACT_AGES = 16 };

static size_t class_of(int64_t age)
{
    uint32_t at_most = age < 0 ? 0 : age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
    if (at_most < EXACT_AGES)
        return at_most;
    size_t log = 31 - (size_t)__builtin_clz(at_most);
    return EXACT_AGES + 2 * (log - 4) + (at_most >> (log - 1) & 1);
}

/* The lowest age of a class. */
static uint64_t age_of(size_t class)
{
    size_t n = class - EXACT_AGES;
    return class <= EXACT_AGES ? class : (UINT64_C(2) + n % 2) << (n / 2 + 3);
}

static void add_freed(cli_leaks_lives *lives, size_t class, double objects, double bytes)
{
    if (class >= lives->freed_len)
        CLI_KEEP_MORE(lives->freed, class + 1 - lives->freed_len);
    while (lives->freed_len <= class)
        lives->freed[lives->freed_len++] = (cli_leaks_freed){.bytes = {.total = 0}};
    lives->freed[class].objects.total += objects;
    lives->freed[class].bytes.total += bytes;
}

/* The number of samples behind these values. */
static double count_samples(double objects, double bytes, double period)
{
    if (objects <= 0 || bytes <= 0)
        return 0;
    return period > 1 ? objects * -expm1(-bytes / objects / period) : objects;
}

/* The same of what came in the last window. */
static double count_new(const cli_leaks_value *objects, const cli_leaks_value *bytes, double period)
{
    return count_samples(objects->total - objects->before, bytes->total - bytes->before, period);
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
    double known = 0, live = count_samples(row->objects.total, row->bytes.total, m->period);
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
    cli_leaks_cohorts *cohorts = &lives->cohorts;
    cohorts->births[m->point] += (float)count_new(&row->objects_made, &row->bytes_made, m->period);
    for (size_t i = 0; i < lives->freed_len; i++) {
        const cli_leaks_freed *freed = &lives->freed[i];
        add_deaths(cohorts, m->point, point_of(m, age_of(i + 1) - 1), point_of(m, age_of(i)),
                   count_new(&freed->objects, &freed->bytes, m->period));
    }
    if (lives->freed_len) {
        lives->brief += lives->freed[0].bytes.total - lives->freed[0].bytes.before;
        lives->brief_objects += lives->freed[0].objects.total - lives->freed[0].objects.before;
    }
    match_alive(row, m);
    cohorts->in_use[m->point] = (float)row->bytes.total;
}

/* ---- windows ------------------------------------------------------------------------------ */

/* goes_on: what the window has is added to the total; else it is the total. */
static void begin_value(cli_leaks_value *value, bool goes_on)
{
    value->before = value->total;
    value->total = goes_on ? value->total : 0;
}

static void begin_window(cli_leaks_rows *rows, const cli_leaks_moment *m)
{
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        cli_leaks_lives *lives = row->lives;
        for (size_t c = 0; c < CLI_LEAKS_FREED_OBJECTS; c++)
            begin_value(&row->of[c], CLI_LEAKS_IS_IN_USE(c) ? m->has_changes : m->counts_window);
        for (size_t k = 0; lives && k < lives->freed_len; k++) {
            begin_value(&lives->freed[k].objects, m->counts_window);
            begin_value(&lives->freed[k].bytes, m->counts_window);
        }
    }
}

static void add_sample(cli_leaks_rows *rows, merging *m, const cli_leaks_columns *columns,
                       const cli_sample *sample)
{
    double values[CLI_LEAKS_COLUMNS];
    for (size_t i = 0; i < CLI_LEAKS_COLUMNS; i++)
        values[i] = columns->of[i] == SIZE_MAX ? 0 : (double)sample->values[columns->of[i]];
    double freed = values[CLI_LEAKS_FREED_OBJECTS];
    if (values[CLI_LEAKS_LEVEL] == 0 && values[CLI_LEAKS_ALLOCATED] == 0 && freed == 0)
        return;
    cli_leaks_row *row = find_row(rows, m, sample);
    if (columns->of[CLI_LEAKS_FREED_OBJECTS] != SIZE_MAX && !row->lives)
        row->lives = cli_keep(1, sizeof *row->lives);
    if (freed != 0)
        add_freed(row->lives, class_of(cli_profile_age(m->profile, sample)), freed,
                  values[CLI_LEAKS_FREED_BYTES]);
    for (size_t c = 0; c < CLI_LEAKS_FREED_OBJECTS; c++)
        row->of[c].total += values[c];
}

/* Ends a window: keeps the lowest level of the block, and what was allocated until its end. */
static void end_window(cli_leaks_rows *rows, const cli_leaks_moment *m)
{
    for (size_t i = 0; i < rows->len; i++) {
        cli_leaks_row *row = &rows->rows[i];
        double *lowest = &row->levels[m->point];
        if (m->point == rows->points || row->now.total < *lowest)
            *lowest = row->now.total;
        row->allocated[m->point] = row->made.total;
        for (size_t c = 0; c < CLI_LEAKS_FREED_OBJECTS; c++)
            row->of[c].sum += row->of[c].total;
        if (row->lives)
            end_lives(row, m);
    }
}

void cli_leaks_rows_add(cli_leaks_rows *rows, const cli_profile *profile,
                        const cli_leaks_columns *columns, const cli_leaks_moment *moment)
{
    merging m = {.profile = profile, .id_of = cli_keep(profile->view->n_location, sizeof *m.id_of)};
    begin_window(rows, moment);
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

void cli_leaks_rows_end(cli_leaks_rows *rows)
{
    Pd__View__Sample others = PD__VIEW__SAMPLE__INIT;
    cli_sample sample;
    add_row(rows, &others);
    for (size_t i = 0; i < rows->len; i++) {
        cli_sample_read(rows->samples + rows->rows[i].sample, &sample);
        rows->rows[i].stack = cli_stack_of(&sample, 0);
    }
    rows->rows[--rows->len].stack.is_hidden = true;
}
