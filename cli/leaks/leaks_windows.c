/* Reads the windows of a run into the series of its stacks: see leaks.h. */
#include "leaks/leaks.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"
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

/* Sets *restarted: whether the process restarted before this window. A cumulative profile without a
 * stamp is compared with the one before it, unless context is NULL. */
static int find_restart(pprofdelta *context, cli_leaks_file *file, const cli_leaks_how *how,
                        bool *restarted)
{
    cli_input input;
    const pprofdelta_sink sink = {.write = discard_bytes};
    pprofdelta_report report = {.size = sizeof report};
    pprofdelta_error err;
    *restarted = file->stamp.restart != PPROFDELTA_RESTART_NONE;
    if (file->stamp.live || file->stamp.is_delta || !context)
        return CLI_DONE;
    cli_progress_say("comparing", file->place.path);
    int code = cli_input_read(&input, file->place, how->library.max_memory);
    *restarted = false;
    if (!code && (pprofdelta_begin(context, input.bytes, input.len, &err) ||
                  pprofdelta_write(context, &sink, &report, &err))) {
        /* Without a counter, as in a profile of goroutines, a restart cannot be noticed. Nor can it between
         * windows, whose in-use values are all that is needed. */
        file->is_window = err.reason == PPROFDELTA_REASON_IS_WINDOW;
        if (err.status != PPROFDELTA_E_MISMATCH && !file->is_window)
            code = cli_library_error(input.name, &err);
        pprofdelta_abandon(context);
    } else if (!code) {
        *restarted = report.restart != PPROFDELTA_RESTART_NONE;
        pprofdelta_commit(context);
    }
    cli_input_free(&input);
    return code;
}

/* Splits the files into runs: at another process, and at a restart. */
static int find_runs(cli_leaks_work *w, pprofdelta *context)
{
    const cli_leaks_file *last = NULL;
    w->runs = cli_keep(w->files_len, sizeof *w->runs);
    for (size_t i = 0; i < w->files_len; i++) {
        cli_leaks_file *file = &w->files[i];
        bool restarted, is_other = !last || file->run != last->run;
        if (file->role != CLI_LEAKS_WINDOW)
            continue;
        int code = find_restart(context, file, &w->how, &restarted);
        if (code)
            return code;
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
    return CLI_DONE;
}

/* ---- columns ------------------------------------------------------------------------------ */

/* The types that are judged, the first that a profile has, and their columns. */
#define COUNTERS                                                                                   \
    "inuse_objects", "inuse_space", "alloc_objects/count", "alloc_space/bytes",                    \
        "freed_objects/count", "freed_space/bytes"
static const char *const known[][CLI_LEAKS_COLUMNS] = {
    {"inuse_space/bytes", "alloc_space", COUNTERS},
    {"inuse_objects/count", "alloc_objects", COUNTERS},
    {"space/bytes", NULL, "objects", "space"},
    {"objects/count", NULL, "objects", "space"},
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
    size_t windows;        /* read so far */
    cli_leaks_pace *paces; /* of each window, also of one that is left out */
    size_t paces_len;
    bool is_again;           /* it is known which windows are left out, and the next */
    bool has_in_use_changes; /* windows without a stamp have changes of what is in use */
    bool has_changes; /* a window of the run has changes: then the others are added up, too */
    cli_string sum;   /* so far, with everything in use; empty: none, and without has_changes */
    const cli_leaks_file *last; /* in the sum */
    bool is_sum;                /* what is added to the series is a sum, and not the file alone */
    uint64_t last_sequence;     /* without a stamp, the number of the window */
    uint64_t begins[CLI_LEAKS_POINTS]; /* see cli_leaks_moment */
    double until, paused; /* windows of changes: nanoseconds, the second between them */
} reader;

/* Replaces the bytes of the file by the sum so far with them. */
static int add_changes(const reader *r, cli_input *file)
{
    pprofdelta_adder *adder = NULL;
    pprofdelta_error err;
    cli_buffer next = {0};
    const pprofdelta_sink sink = {.write = cli_buffer_append, .cookie = &next};
    int code = CLI_DONE;
    if (pprofdelta_adder_new(&r->how->library, NULL, &adder, &err))
        code = cli_options_error(file->name, &err);
    else if (pprofdelta_adder_add(adder, r->sum.ptr, r->sum.len, NULL, &err) ||
             pprofdelta_adder_add(adder, file->bytes, file->len, NULL, &err) ||
             pprofdelta_adder_finish(adder, &sink, &err))
        code = cli_library_error(file->name, &err);
    pprofdelta_adder_free(adder);
    cli_input_free(file);
    *file = (cli_input){.name = file->name, .bytes = next.bytes, .len = next.len};
    return code;
}

/* Makes *input the profile with all in-use values: the file itself, or, in a run with changes, the sum
 * that it continues. */
static int add_up(reader *r, const cli_leaks_file *file, cli_input *input)
{
    r->is_sum = r->sum.len && file->stamp.is_delta && cli_leaks_continues(r->last, file);
    int code = r->is_sum ? add_changes(r, input) : CLI_DONE;
    if (!code && r->has_changes) {
        r->last = file;
        cli_drop((char *)r->sum.ptr);
        r->sum = cli_keep_string((cli_string){(const char *)input->bytes, input->len});
    }
    return code;
}

/* Sampled heaps have the mean distance between two samples as their period. */
static double period_of(const cli_profile *profile)
{
    const Pd__View__ValueType *type = profile->view->period_type;
    bool is_space = type && cli_string_is(cli_profile_string(profile, type->unit), "bytes");
    return is_space && profile->view->period > 0 ? (double)profile->view->period : 0;
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
}

/* The place of the next window in the series. The last point has as many windows as the others. */
static cli_leaks_moment moment_of(reader *r, const cli_leaks_file *file)
{
    size_t windows = r->run->windows;
    size_t size = (windows + CLI_LEAKS_POINTS - 1) / CLI_LEAKS_POINTS;
    size_t points = windows / size, extra = windows - points * size; /* in the first point */
    size_t at = r->windows < extra ? 0 : (r->windows - extra) / size;
    int64_t nanos = r->how->every_nanos ? (int64_t)r->windows * r->how->every_nanos
                                        : file->time_nanos - r->run->from_nanos;
    uint64_t last = r->last_sequence;
    bool is_numbered = file->stamp.live && file->stamp.sequence > last;
    r->last_sequence = is_numbered ? file->stamp.sequence : last + 1;
    if (!r->windows || at >= r->run->rows.points)
        r->begins[at] = last + 1;
    cli_leaks_moment moment = {
        .point = at,
        .seconds = (double)nanos * 1e-9,
        .period = r->run->period,
        .sequence = r->last_sequence,
        .is_change = r->has_in_use_changes && file->is_window,
        .is_behind_gap = !r->windows || (is_numbered && file->stamp.first > last + 1),
        .since = r->is_sum                                 ? CLI_LEAKS_SINCE_SUM
                 : file->stamp.is_delta || file->is_window ? CLI_LEAKS_SINCE_LAST
                                                           : CLI_LEAKS_SINCE_BEGINNING,
    };
    memcpy(moment.begins, r->begins, sizeof moment.begins);
    return moment;
}

/* Sets the pace of the next window, which the rows do not have yet. */
static void note_pace(reader *r, const cli_profile *profile, const cli_leaks_columns *columns,
                      const cli_leaks_moment *m)
{
    cli_leaks_pace pace = {.seconds = m->seconds, .made = -1};
    const size_t level = columns->of[CLI_LEAKS_LEVEL], made = columns->of[CLI_LEAKS_ALLOCATED];
    pace.in_use = cli_sum_double(profile->samples.totals[level]);
    if (m->is_change && r->paces_len)
        pace.in_use += r->paces[r->paces_len - 1].in_use;
    if (made != SIZE_MAX)
        pace.made = cli_sum_double(profile->samples.totals[made]);
    for (size_t i = 0; i < r->run->rows.len && made != SIZE_MAX; i++) {
        const cli_leaks_row *row = &r->run->rows.rows[i];
        pace.made += m->since == CLI_LEAKS_SINCE_LAST  ? row->made
                     : m->since == CLI_LEAKS_SINCE_SUM ? row->made_before
                                                       : 0;
    }
    r->paces[r->paces_len++] = pace;
}

/* Most programs free memory when they end, so that the last window is left out of most runs: it need not be
 * read again without it. */
static bool is_of_the_end(const reader *r)
{
    return !r->is_again && r->windows + 1 == r->run->windows &&
           cli_leaks_end_of(r->paces, r->paces_len) < r->paces_len;
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
    moment.since = CLI_LEAKS_SINCE_BEGINNING;
    cli_leaks_rows_add(&run->areas, profile, &columns, &moment);
    run->areas.has_mapped = run->areas.has_allocated;
    run->areas.has_allocated = false;
}

/* Adds up the time that is in no window. */
static void note_pause(reader *r, const cli_leaks_file *file, const cli_profile *profile)
{
    double from = (double)file->time_nanos;
    r->paused += r->windows ? fmax(0, from - r->until) : 0;
    r->until = from + (double)profile->view->duration_nanos;
}

static int add_profile(reader *r, const cli_leaks_file *file, const cli_profile *profile)
{
    cli_leaks_columns columns;
    if (!cli_leaks_find_columns(profile, r->how->type, &columns))
        return refuse_types(profile, r->how->type);
    describe_run(r, profile, &columns);
    cli_leaks_moment moment = moment_of(r, file);
    note_pace(r, profile, &columns, &moment);
    if (is_of_the_end(r)) {
        r->run->windows--;
        return CLI_DONE;
    }
    note_pause(r, file, profile);
    r->run->to_nanos = file->time_nanos;
    cli_leaks_rows_add(&r->run->rows, profile, &columns, &moment);
    add_areas(r, profile, moment);
    if (r->how->html)
        cli_leaks_timeline_add(r->run, r->windows, r->run->windows, moment.seconds);
    r->run->span = moment.seconds;
    r->windows++;
    return CLI_DONE;
}

static int read_window(reader *r, const cli_leaks_file *file)
{
    cli_profile profile = {.view = NULL};
    int code = cli_input_read(&profile.input, file->place, r->how->library.max_memory);
    code = code ? code : add_up(r, file, &profile.input);
    code = code ? code : cli_profile_take(&profile, profile.input, &r->how->library);
    code = code ? code : add_profile(r, file, &profile);
    cli_profile_free(&profile);
    return code;
}

/* Reads the first windows of the run, as many as it has. */
static int read_windows(reader *r, const cli_leaks_file *files)
{
    const cli_leaks_run *run = r->run;
    int code = CLI_DONE;
    for (size_t i = run->first; i < run->end; i++)
        r->has_changes |= files[i].stamp.live == PPROFDELTA_LIVE_DELTA;
    for (size_t i = run->first; i < run->end && r->windows < run->windows && !code; i++)
        if (files[i].role == CLI_LEAKS_WINDOW)
            code = read_window(r, &files[i]);
    cli_drop((char *)r->sum.ptr);
    return code;
}

/* Leaves the windows out that are of the end of the program. */
static void leave_out(cli_leaks_run *run, size_t end, const cli_leaks_file *files)
{
    size_t windows = 0;
    for (size_t i = run->first; i < run->end; i++) {
        if (files[i].role != CLI_LEAKS_WINDOW || windows++ < end)
            continue;
        if (!run->left_out++)
            run->first_left_out = files[i].place.path;
    }
}

/* What changes between windows of changes is missing in their sum. So it may be what grows: code that allocates
 * in each window and frees behind it. */
static bool has_pauses(const reader *r)
{
    static const double most_paused = 0.05;
    return r->has_in_use_changes &&
           r->paused > most_paused * (double)(r->run->to_nanos - r->run->from_nanos);
}

/* Sets why there is no verdict, unless windows are too few. Windows of a live heap are always of their time. */
static void find_doubt(cli_leaks_run *run, const cli_leaks_pace *paces, bool has_windows,
                       bool is_live)
{
    size_t fresh = cli_leaks_count_fresh(paces, run->windows);
    if (cli_leaks_is_short(run))
        return;
    if (!is_live && fresh < CLI_LEAKS_LEAST_POINTS)
        run->doubt = "most profiles are the same as the one before, as Go's are until its next "
                     "garbage collection: take them with gc=1";
    else if (run->is_partial)
        run->doubt =
            "these windows have only what changed in them, and there is time between them: "
            "take each right after the other, or profiles without seconds=";
    else if (has_windows && !run->rows.has_negative && !run->rows.has_older)
        run->doubt = "what is in use may be changes in these windows: take profiles without "
                     "seconds=";
}

/* Has the run a file of a live heap; has it a window without a stamp? */
static void find_kinds(const cli_leaks_run *run, const cli_leaks_file *files, bool *is_live,
                       bool *has_windows)
{
    *is_live = *has_windows = false;
    for (size_t i = run->first; i < run->end; i++) {
        *is_live |= files[i].stamp.live != PPROFDELTA_LIVE_NONE;
        *has_windows |= files[i].is_window;
    }
}

static int read_run(cli_leaks_run *run, const cli_leaks_how *how, const cli_leaks_file *files)
{
    cli_leaks_pace *paces = cli_keep(2 * run->windows, sizeof *paces);
    reader r = {.run = run, .how = how, .paces = paces};
    const size_t windows = run->windows;
    bool is_live, has_windows;
    find_kinds(run, files, &is_live, &has_windows);
    int code = read_windows(&r, files);
    /* Go's ?seconds= makes windows of changes, and godeltaprof windows with all that is in use. */
    bool has_changes = has_windows && run->rows.has_negative;
    size_t end = code ? windows : has_changes ? windows : cli_leaks_end_of(paces, windows);
    if (!code && (end < run->windows || has_changes)) {
        cli_leaks_rows_clear(&run->rows);
        cli_leaks_rows_clear(&run->areas);
        run->timeline = (cli_leaks_timeline){.points = NULL};
        run->windows = end;
        r = (reader){.run = run,
                     .how = how,
                     .paces = paces + windows,
                     .is_again = true,
                     .has_in_use_changes = has_changes};
        code = read_windows(&r, files);
    }
    run->is_partial = has_pauses(&r);
    leave_out(run, end, files);
    find_doubt(run, paces, has_windows, is_live);
    cli_drop(paces);
    cli_leaks_rows_end(&run->rows);
    cli_leaks_rows_end(&run->areas);
    return code;
}

/* ---- all ---------------------------------------------------------------------------------- */

int cli_leaks_read(cli_leaks_work *w)
{
    pprofdelta *context = NULL;
    pprofdelta_error err;
    int code = CLI_DONE;
    /* No restart can be noticed if a type is judged that has no counter, as in a profile of
     * goroutines. */
    bool has_counter = !w->how.type || cli_string_begins(cli_string_of(w->how.type), "inuse_");
    if (has_counter && pprofdelta_new(&w->how.library, NULL, &context, &err))
        code = cli_options_error(w->files[0].place.path, &err);
    cli_merged_begin(&w->all.merged);
    code = code ? code : find_runs(w, context);
    pprofdelta_free(context);
    for (size_t i = 0; i < w->runs_len && !code; i++)
        code = read_run(&w->runs[i], &w->how, w->files);
    cli_merged_end(&w->all.merged);
    if (!code)
        cli_leaks_make_frames(w);
    return code;
}
