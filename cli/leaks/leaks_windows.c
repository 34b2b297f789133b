/* Reads the windows of a run into the series of its stacks: see leaks.h. */
#include "leaks/leaks.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "units.h"

#include <math.h>
#include <string.h>

/* ---- runs --------------------------------------------------------------------------------- */

/* Only the report of the window is needed. */
static int discard_bytes(void *cookie, const void *data, size_t len)
{
    (void)cookie, (void)data, (void)len;
    return 0;
}

/* Did the process restart before this window? A cumulative profile without a stamp is compared with the one
 * before it, unless context is NULL. */
static bool has_restarted(pprofdelta *context, cli_leaks_file *file, const cli_leaks_how *how)
{
    cli_input input;
    const pprofdelta_sink sink = {.write = discard_bytes};
    pprofdelta_report report = {.size = sizeof report};
    pprofdelta_error err;
    if (file->stamp.live || file->stamp.is_delta || !context)
        return file->stamp.restart != PPROFDELTA_RESTART_NONE;
    cli_progress_say("comparing", file->place.path);
    cli_must(cli_input_read(&input, file->place, how->library.max_memory));
    bool is_compared = !pprofdelta_begin(context, input.bytes, input.len, &err) &&
                       !pprofdelta_write(context, &sink, &report, &err);
    cli_input_free(&input);
    if (is_compared) {
        pprofdelta_commit(context);
        return report.restart != PPROFDELTA_RESTART_NONE;
    }
    /* Without a counter, as in a profile of goroutines, a restart cannot be noticed. Nor can it between
     * windows, whose in-use values are all that is needed. */
    file->is_window = err.reason == PPROFDELTA_REASON_IS_WINDOW;
    if (err.status != PPROFDELTA_E_MISMATCH && !file->is_window)
        cli_must(cli_library_error(input.name, &err));
    pprofdelta_abandon(context);
    return false;
}

/* Splits the files into runs: at another process, and at a restart. */
static void find_runs(cli_leaks_work *w, pprofdelta *context)
{
    const cli_leaks_file *last = NULL;
    w->runs = cli_keep(w->files_len, sizeof *w->runs);
    for (size_t i = 0; i < w->files_len; i++) {
        cli_leaks_file *file = &w->files[i];
        if (file->role != CLI_LEAKS_WINDOW)
            continue;
        bool restarted = has_restarted(context, file, &w->how);
        bool is_other = !last || file->run != last->run;
        if (is_other || restarted)
            w->runs[w->runs_len++] = (cli_leaks_run){.first = i,
                                                     .from_nanos = file->time_nanos,
                                                     .has_restarted = !is_other,
                                                     .rows.all = &w->all,
                                                     .areas.all = &w->all,
                                                     .binary = cli_string_of("")};
        cli_leaks_run *run = &w->runs[w->runs_len - 1];
        run->windows++;
        run->end = i + 1;
        last = file;
    }
}

/* ---- columns ------------------------------------------------------------------------------ */

/* The types that are judged, the first that a profile has, and their columns. */
#define COUNTERS                                                                                   \
    "alloc_objects/count", "alloc_space/bytes", "freed_objects/count", "freed_space/bytes"
static const char *const known[][CLI_LEAKS_COLUMNS] = {
    {"inuse_space/bytes", "inuse_objects", "inuse_space", "alloc_space", COUNTERS},
    {"inuse_objects/count", "inuse_objects", "inuse_space", "alloc_objects", COUNTERS},
    {"space/bytes", "objects", "space"},
    {"objects/count", "objects", "space"},
};

static size_t column_of(const cli_profile *profile, const char *name)
{
    int found = name ? cli_profile_find_type(profile, cli_string_of(name)) : -1;
    return found < 0 ? SIZE_MAX : (size_t)found;
}

static int refuse_types(const cli_profile *profile, const char *type)
{
    char types[CLI_TYPES_ROOM];
    if (type)
        return cli_profile_no_type(profile, type);
    cli_error("%s: has no in-use values; there are: %s", profile->input.name,
              cli_profile_list_types(profile, types));
    return cli_hint("leaks needs what is in use at the end of each window: profiles of "
                    "pprofdelta record, or Go's /debug/pprof/heap; --type names another type");
}

/* The columns of a profile of which nothing else is known. */
static cli_leaks_columns only_level(size_t level)
{
    cli_leaks_columns columns = {.of = {level}};
    for (size_t i = 1; i < CLI_LEAKS_COLUMNS; i++)
        columns.of[i] = SIZE_MAX;
    return columns;
}

bool cli_leaks_find_columns(const cli_profile *profile, const char *type,
                            cli_leaks_columns *columns)
{
    size_t wanted = column_of(profile, type);
    *columns = only_level(wanted);
    if (type && wanted == SIZE_MAX)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t level = column_of(profile, known[i][CLI_LEAKS_LEVEL]);
        bool has_ages = true;
        if (level == SIZE_MAX || (type && level != wanted))
            continue;
        for (size_t c = 0; c < CLI_LEAKS_COLUMNS; c++) {
            columns->of[c] = column_of(profile, known[i][c]);
            has_ages &= columns->of[c] != SIZE_MAX;
        }
        if (!has_ages)
            columns->of[CLI_LEAKS_FREED_OBJECTS] = SIZE_MAX;
        return true;
    }
    return type != NULL;
}

/* ---- one window ---------------------------------------------------------------------------- */

/* What one run needs while its windows are read. */
typedef struct reader {
    cli_leaks_run *run;
    const cli_leaks_how *how;
    size_t windows;    /* read so far */
    size_t places;     /* that the points have: also for the last window, if it alone is left out */
    bool is_live;      /* of the files: one is of a live heap */
    bool has_windows;  /* one is a window without a stamp */
    bool has_negative; /* one has less than nothing in use at a stack, or more ... */
    bool has_older;    /* ... than its counter says */
    uint64_t last_sequence;            /* without a stamp, the number of the window */
    uint64_t begins[CLI_LEAKS_POINTS]; /* see cli_leaks_moment */
    double until, paused; /* windows of changes: nanoseconds, the second between them */
} reader;

/* Go's ?seconds= makes windows of changes, and godeltaprof windows with all that is in use. */
static bool has_in_use_changes(const reader *r)
{
    return r->has_windows && r->has_negative;
}

/* Sampled heaps have the mean distance between two samples as their period. */
static double period_of(const cli_profile *profile)
{
    const Pd__View__ValueType *type = profile->view->period_type;
    bool is_space = type && cli_string_is(cli_profile_string(profile, type->unit), "bytes");
    return is_space && profile->view->period > 0 ? (double)profile->view->period : 0;
}

/* The heap agent says so in a comment: record --pid. */
static bool is_attached(const cli_profile *profile)
{
    for (size_t i = 0; i < profile->view->n_comment; i++)
        if (cli_string_begins(cli_profile_string(profile, profile->view->comment[i]),
                              "pprofdelta: attached at="))
            return true;
    return false;
}

static void describe_run(const reader *r, const cli_profile *profile,
                         const cli_leaks_columns *columns)
{
    cli_leaks_run *run = r->run;
    if (!r->windows) {
        run->type = cli_keep_string(cli_profile_type(profile, columns->of[CLI_LEAKS_LEVEL]));
        run->unit = cli_keep_string(cli_profile_unit(profile, columns->of[CLI_LEAKS_LEVEL]));
    }
    if (profile->census.binary_len && !run->binary.len)
        run->binary =
            cli_keep_string((cli_string){profile->census.binary, profile->census.binary_len});
    run->period = period_of(profile);
    run->is_heap = cli_profile_has_bytes(profile);
    run->is_attached = is_attached(profile);
}

/* Batches of a live heap have changes of what is in use, but all of the resident memory. */
static bool is_of_account(const char *type)
{
    cli_string name = cli_string_of(type ? type : "");
    return cli_string_begins(name, "rss_") || cli_string_begins(name, "mapped_");
}

/* The time and the kind of values of the window with that number. */
static cli_leaks_moment moment_of(const reader *r, const cli_leaks_file *file, size_t number)
{
    int64_t nanos = r->how->every_nanos ? (int64_t)number * r->how->every_nanos
                                        : file->time_nanos - r->run->from_nanos;
    return (cli_leaks_moment){
        .seconds = (double)nanos * 1e-9,
        .has_changes =
            (file->stamp.live == PPROFDELTA_LIVE_DELTA && !is_of_account(r->how->type)) ||
            (has_in_use_changes(r) && file->is_window),
        .counts_window = file->stamp.is_delta || file->is_window,
    };
}

/* Sets the place of the next window in the series. The last point has as many places as the others. */
static void set_place(reader *r, const cli_leaks_file *file, cli_leaks_moment *m)
{
    size_t windows = r->places;
    size_t size = (windows + CLI_LEAKS_POINTS - 1) / CLI_LEAKS_POINTS;
    size_t points = windows / size, extra = windows - points * size; /* in the first point */
    uint64_t last = r->last_sequence;
    bool is_numbered = file->stamp.live && file->stamp.sequence > last;
    m->point = r->windows < extra ? 0 : (r->windows - extra) / size;
    m->sequence = r->last_sequence = is_numbered ? file->stamp.sequence : last + 1;
    if (!r->windows || m->point >= r->run->rows.points)
        r->begins[m->point] = last + 1;
    m->begins = r->begins;
    m->period = r->run->period;
    m->is_behind_gap = !r->windows || (is_numbered && file->stamp.first > last + 1);
}

/* Adds the account of the resident memory, if the profile has one. */
static void add_areas(reader *r, const cli_profile *profile, cli_leaks_moment moment)
{
    cli_leaks_run *run = r->run;
    size_t column = column_of(profile, "rss_space/bytes");
    if (column == SIZE_MAX || cli_sum_is_zero(profile->samples.totals[column]))
        return;
    bool is_again = run->areas.points && run->areas_block == moment.point;
    run->areas_block = moment.point;
    moment.point = run->areas.points - is_again;
    cli_leaks_columns columns = only_level(column);
    columns.of[CLI_LEAKS_ALLOCATED] = column_of(profile, "mapped_space/bytes");
    moment.has_changes = moment.counts_window = false;
    cli_leaks_rows_add(&run->areas, profile, &columns, &moment);
    run->areas.has_mapped = run->areas.has_allocated;
    run->areas.has_allocated = false;
}

static void read_window(reader *r, const cli_leaks_file *file)
{
    cli_leaks_run *run = r->run;
    cli_profile profile;
    cli_leaks_columns columns;
    cli_must(cli_profile_load(&profile, file->place, &r->how->library));
    if (!cli_leaks_find_columns(&profile, r->how->type, &columns))
        cli_must(refuse_types(&profile, r->how->type));
    describe_run(r, &profile, &columns);
    cli_leaks_moment moment = moment_of(r, file, r->windows);
    set_place(r, file, &moment);
    double from = (double)file->time_nanos;
    r->paused += r->windows ? fmax(0, from - r->until) : 0;
    r->until = from + (double)profile.view->duration_nanos;
    run->to_nanos = file->time_nanos;
    run->span = moment.seconds;
    cli_leaks_rows_add(&run->rows, &profile, &columns, &moment);
    add_areas(r, &profile, moment);
    if (r->how->html)
        cli_leaks_timeline_add(run, r->windows, moment.seconds);
    r->windows++;
    cli_profile_free(&profile);
}

/* ---- a run ---------------------------------------------------------------------------------- */

/* What all windows of the run have, by what is known of their files. */
static cli_leaks_pace *list_paces(const reader *r, const cli_leaks_file *files)
{
    const cli_leaks_run *run = r->run;
    cli_leaks_pace *paces = cli_keep(run->windows, sizeof *paces);
    double in_use = 0, made = 0;
    for (size_t i = run->first, len = 0; i < run->end; i++) {
        if (files[i].role != CLI_LEAKS_WINDOW)
            continue;
        cli_leaks_moment moment = moment_of(r, &files[i], len);
        in_use = files[i].in_use + (moment.has_changes ? in_use : 0);
        made = fmax(0, files[i].made) + (moment.counts_window ? made : 0);
        paces[len++] = (cli_leaks_pace){moment.seconds, in_use, files[i].made < 0 ? -1 : made};
    }
    return paces;
}

/* What changes between windows of changes is missing in their sum. So it may be what grows: code that allocates
 * in each window and frees behind it. */
static bool has_pauses(const reader *r)
{
    static const double most_paused = 0.05;
    return has_in_use_changes(r) &&
           r->paused > most_paused * (double)(r->run->to_nanos - r->run->from_nanos);
}

/* Why there is no verdict, unless windows are too few. Windows of a live heap are always of their time. */
static const char *find_doubt(const reader *r, const cli_leaks_pace *paces)
{
    const cli_leaks_run *run = r->run;
    if (cli_leaks_is_short(run))
        return NULL;
    if (!r->is_live && cli_leaks_count_fresh(paces, run->windows) < CLI_LEAKS_LEAST_POINTS)
        return "most profiles are the same as the one before, as Go's are until its next "
               "garbage collection: take them with gc=1";
    if (run->is_partial)
        return "these windows have only what changed in them, and there is time between them: "
               "take each right after the other, or profiles without seconds=";
    if (r->has_windows && !r->has_negative && !r->has_older)
        return "what is in use may be changes in these windows: take profiles without seconds=";
    return NULL;
}

/* Reads the windows up to the end of the program. */
static void read_run(cli_leaks_run *run, const cli_leaks_how *how, const cli_leaks_file *files)
{
    reader r = {.run = run, .how = how};
    for (const cli_leaks_file *f = files + run->first; f < files + run->end; f++) {
        r.is_live |= f->stamp.live != PPROFDELTA_LIVE_NONE;
        r.has_windows |= f->is_window;
        r.has_negative |= f->has_negative;
        r.has_older |= f->has_older;
    }
    cli_leaks_pace *paces = list_paces(&r, files);
    r.places = run->windows;
    if (!has_in_use_changes(&r))
        run->windows = cli_leaks_end_of(paces, run->windows);
    if (run->windows + 1 < r.places)
        r.places = run->windows;
    for (const cli_leaks_file *f = files + run->first; f < files + run->end; f++)
        if (f->role == CLI_LEAKS_WINDOW && r.windows < run->windows)
            read_window(&r, f);
        else if (f->role == CLI_LEAKS_WINDOW && !run->left_out++)
            run->first_left_out = f->place.path;
    run->is_partial = has_pauses(&r);
    run->doubt = find_doubt(&r, paces);
    cli_leaks_rows_end(&run->rows);
    cli_leaks_rows_end(&run->areas);
}

/* ---- all ---------------------------------------------------------------------------------- */

void cli_leaks_read(cli_leaks_work *w)
{
    pprofdelta *context = NULL;
    pprofdelta_error err;
    /* No restart can be noticed if a type is judged that has no counter, as in a profile of
     * goroutines. */
    bool has_counter = !w->how.type || cli_string_begins(cli_string_of(w->how.type), "inuse_");
    if (has_counter && pprofdelta_new(&w->how.library, NULL, &context, &err))
        cli_must(cli_options_error(w->files[0].place.path, &err));
    find_runs(w, context);
    pprofdelta_free(context);
    cli_edit_new(&w->all.edit, &w->all.profile);
    for (size_t i = 0; i < w->runs_len; i++)
        read_run(&w->runs[i], &w->how, w->files);
    cli_leaks_merge_end(&w->all);
    cli_leaks_make_frames(w);
}
