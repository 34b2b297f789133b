/* What the parts of `pprofdelta leaks` share.
 *
 *     leaks_files.c     lists the files, reads their times, stamps and sums
 *     leaks_order.c     sorts them into runs (pure)
 *     leaks_windows.c   finds the runs and their ends, and reads each window
 *     leaks_merge.c     one profile of the locations of all windows
 *     leaks_rows.c      one series for each stack
 *     leaks_verdict.c   is a series a leak? (pure)
 *     leaks_survival.c  the same for a survival table (pure)
 *     leaks_frames.c    the frames of all locations, their names, and which is the program's own
 *     leaks_rank.c      judges stacks and sums of stacks; ranks what was found
 *     leaks_areas.c     judges the areas of the resident memory
 *     leaks_join.c      what several runs have in common
 *     leaks_report.c    which runs and findings are printed, in which order: one walk, of which
 *     leaks_text.c, leaks_json.c, leaks_html.c, leaks_markdown.c   are the forms
 *
 * A stack is one of `show` (show/shown.h): the locations of all windows are merged into one profile, whose
 * frames have their names, kinds and filters as those of any profile that is shown.
 *
 * One cli_leaks_work goes through all of them. Its memory is kept (keep.h), and so are the
 * folders, which stay open. */
#ifndef CLI_LEAKS_H
#define CLI_LEAKS_H

#include "leaks/leaks_order.h"
#include "leaks/leaks_verdict.h"
#include "numbers.h"
#include "show/shown.h"
#include "symbolize/symbolize_view.h"
#include "view_edit.h"

/* ---- stacks with their series (leaks_rows.c) ---- */

/* The locations that the windows of all runs have, merged, and their frames (leaks_merge.c). */
typedef struct cli_leaks_all {
    cli_profile profile; /* locations, functions and mappings; no sample types and no samples */
    cli_edit edit;
    cli_numbers by_place, by_mapping;
    cli_shown shown; /* see cli_leaks_make_frames */
} cli_leaks_all;

/* Returns the id of a location of a window, which is added if it is new; and ends: no location is added any more. */
uint64_t cli_leaks_merge(cli_leaks_all *all, const cli_profile *profile,
                         const Pd__View__Location *location);
void cli_leaks_merge_end(cli_leaks_all *all);

/* Where the program causes what a row has. */
typedef struct cli_leaks_cause {
    const cli_frame *frame;  /* NULL: the row has no stack, or is an area */
    const cli_frame *caller; /* NULL: none */
} cli_leaks_cause;

/* A value over the windows: what is in use, or what was allocated until then. */
typedef struct cli_leaks_value {
    double total, before; /* at the end of the last window, and of the one before */
    double sum;           /* over all windows: the ratios of sums are mean sizes */
} cli_leaks_value;

typedef enum cli_leaks_column {
    CLI_LEAKS_LEVEL,   /* what is judged */
    CLI_LEAKS_OBJECTS, /* in use, as the next, for the mean size */
    CLI_LEAKS_BYTES,
    CLI_LEAKS_ALLOCATED,    /* the counter of what is judged */
    CLI_LEAKS_MADE_OBJECTS, /* those of the others */
    CLI_LEAKS_MADE_BYTES,
    CLI_LEAKS_FREED_OBJECTS, /* not if any column is missing: then the profile has no ages */
    CLI_LEAKS_FREED_BYTES,
    CLI_LEAKS_COLUMNS
} cli_leaks_column;
#define CLI_LEAKS_IS_IN_USE(column) ((column) < CLI_LEAKS_ALLOCATED)

typedef struct cli_leaks_freed {
    cli_leaks_value objects, bytes;
} cli_leaks_freed;

/* What is known of a stack where the profiles have ages. */
typedef struct cli_leaks_lives {
    cli_leaks_cohorts cohorts;
    cli_leaks_freed *freed; /* by class of age (see leaks_rows.c) */
    size_t freed_len, freed_cap;
    /* Of the run, bytes and objects that were freed in the window in which they were allocated. */
    double brief, brief_objects;
} cli_leaks_lives;

typedef struct cli_leaks_row {
    size_t sample;   /* in samples: the length of the one with the stack */
    cli_stack stack; /* by cli_leaks_rows_end */
    double levels[CLI_LEAKS_POINTS], allocated[CLI_LEAKS_POINTS];
    union {
        struct {
            cli_leaks_value now, objects, bytes, made, objects_made, bytes_made;
        };
        cli_leaks_value of[CLI_LEAKS_FREED_OBJECTS]; /* the same by column */
    };
    cli_leaks_lives *lives; /* NULL: the profiles have no ages */
    /* Set when it is judged: */
    double weight;         /* what one sample of it stands for */
    cli_leaks_cause cause; /* of an area: what mapped it, or its file */
    cli_leaks_verdict verdict;
    size_t group; /* number of the group that it belongs to, from 1; 0: none */
    /* For a page: what is in use at each of its points, at most, or as much as is freed at once */
    double *timeline, most;
} cli_leaks_row;

/* The stacks of a run, each with its series of in-use values.
 *
 *     all->profile   locations of all runs: 1: main.c:10   2: serve <- inlined   3: libc.so.6+0x27a10
 *     samples        | 3 2 1, 0 | 6 2 1, 1 | ...    each stack of the run once, leaf first, in the
 *                                                   form of a profile; its value is the row's number
 *     rows           one for each of them, with the values
 *
 * Labels do not matter. A series has one point for each block of windows: the lowest in-use value
 * in the block, since memory that is given back within a block does not leak. So a row has the same
 * size for 10 windows and for 10,000. */
typedef struct cli_leaks_rows {
    cli_leaks_all *all;
    cli_leaks_row *rows;
    size_t len, cap;
    uint8_t *samples;
    size_t samples_len, samples_cap;
    cli_numbers by_stack;
    unsigned char *grades; /* of each frame that a row has: see leaks_frames.c */
    double seconds[CLI_LEAKS_POINTS];
    size_t points;
    bool has_allocated; /* the last profile has the counter of what is judged */
    bool has_ages;      /* all profiles have ages: each row has lives */
    bool has_mapped;    /* of an account: what is allocated is the size of the mappings of a row */
} cli_leaks_rows;

/* The columns of one profile; SIZE_MAX: the profile has no such column. */
typedef struct cli_leaks_columns {
    size_t of[CLI_LEAKS_COLUMNS];
} cli_leaks_columns;

/* Where a window belongs in the series, and what its values are. */
typedef struct cli_leaks_moment {
    size_t point; /* of its block: the last that there is, or the next */
    double seconds;
    double period;          /* bytes between two samples; at most 1: every allocation is one */
    uint64_t sequence;      /* of the window */
    const uint64_t *begins; /* that of the first window of each point, with lost ones */
    bool is_behind_gap;     /* this is the first window, or windows before it are missing */
    bool has_changes;       /* of what is in use, since the window before; else all of it */
    bool counts_window;     /* what was allocated in it; else since the process began */
} cli_leaks_moment;

/* Adds the values of one window. */
void cli_leaks_rows_add(cli_leaks_rows *rows, const cli_profile *profile,
                        const cli_leaks_columns *columns, const cli_leaks_moment *moment);

/* Sets the stacks of all rows, and adds a row behind them, whose stack is the one frame that is hidden in no profile.
 * Call it after the last window. */
void cli_leaks_rows_end(cli_leaks_rows *rows);

/* Goes through the frames of a row, leaf first: see cli_walk_next. */
static inline cli_walk cli_leaks_walk(const cli_leaks_rows *rows, const cli_leaks_row *row)
{
    return cli_walk_from_leaf(&rows->all->shown, &row->stack);
}

/* ---- all stacks over the windows, for a page (leaks_html.c) ---- */

/* Points, at most. Up to this number each window is a point. Of more, each block of windows is a point,
 * with the values of the window in which most is in use, so the peak of the run is a point; and the last
 * two windows are points, so that what is in use at the end is one. */
enum { CLI_LEAKS_TIMELINE_MOST = 1000 };

typedef struct cli_leaks_point {
    size_t window; /* from 0 */
    double seconds, total;
} cli_leaks_point;

/* ---- what is found ---- */

typedef enum cli_leaks_what {
    CLI_LEAKS_STACK,
    CLI_LEAKS_PLACE, /* this and the next are groups: their stacks have the number of the group */
    CLI_LEAKS_SHARED,
    CLI_LEAKS_REST,
    CLI_LEAKS_AREAS
} cli_leaks_what;

enum { CLI_LEAKS_MOST_AREAS = 5 };

typedef struct cli_leaks_finding {
    cli_leaks_row *of; /* the row, or the sum of the rows, with the verdict */
    cli_leaks_what what;
    size_t row;    /* the stack; of several, the one that has most; areas: a row of run->areas */
    size_t stacks; /* 1, or those that are added up */
    size_t group;  /* number of the group that this is, or that the stack is in; 0: none */
    cli_string shared; /* SHARED: the name of the function */
    double rate;       /* allocated per second; below 0: not known */
    double
        age; /* seconds: what is in use / rate; INFINITY: nothing was allocated; below 0: not known */
    /* Of runs of the same program: it has the same stack in so many, and so much in all of them. It is printed
     * with the first of them. */
    size_t runs;
    double now_in_all, slope_in_all;
    bool is_repeated; /* it is not the first */
    /* AREAS: the rows of those that grew, the one that grew most first. Those that have less than a
     * twentieth of the growth are left out. */
    size_t areas[CLI_LEAKS_MOST_AREAS], areas_len;
} cli_leaks_finding;

typedef struct cli_leaks_findings {
    cli_leaks_finding *list; /* suspects, then unknown, then the others; the largest first */
    size_t len, cap;
    size_t suspects, unknown, others; /* without the stacks of groups */
    const cli_leaks_finding **shown;  /* those that are printed, and behind them `left` more */
    size_t shown_len, left;
    double now, slope; /* of the whole run */
    double smallest;   /* leak that would be a suspect: see cli_leaks_smallest */
} cli_leaks_findings;

/* ---- the work ---- */

/* How files are read, judged and printed: what the command line says. */
typedef struct cli_leaks_how {
    const char *type; /* what is judged; NULL: what is in use */
    int64_t
        every_nanos; /* the time between two windows. 0: the times of the files count; else files
                            without a time follow each other as they are listed */
    pprofdelta_options library; /* for all that is read, and for sums, which are not compressed */
    cli_symbolizing names;      /* that may be found for what is in use at the end */
    size_t top;                 /* findings of each run that are printed */
    bool all;                   /* also what is not a suspect */
    bool names_all;             /* stacks need names that are no finding */
    bool all_frames;
    cli_filters allocators; /* the functions of the program that only allocate */
    const char *html;       /* the file of the page; NULL: none */
    bool has_source;        /* the page has source lines */
} cli_leaks_how;

/* A part of the files that is one process. */
typedef struct cli_leaks_run {
    size_t first, end;          /* in the files */
    size_t windows;             /* that are judged */
    size_t left_out;            /* windows behind them, which are of the end of the program */
    const char *first_left_out; /* the file of the first of these; NULL: none */
    const char *doubt;          /* why there is no verdict but of suspects; NULL: there is one */
    bool is_partial; /* not all changes of what is in use are known: nothing is a suspect */
    int64_t from_nanos, to_nanos; /* of the first and the last window's values */
    double span;                  /* seconds between them */
    cli_leaks_rows rows;
    cli_leaks_rows areas;  /* points: only those of blocks with an account */
    size_t areas_block;    /* the block of the last point of areas */
    cli_string type, unit; /* what is judged */
    double period;         /* bytes between two samples; 0: not known */
    bool is_heap;          /* the profiles have bytes */
    bool is_attached;      /* the process ran already: what it allocated before is not known */
    bool has_restarted;    /* it begins with a restart of the process of the run before */
    cli_string binary;     /* empty: not known */
    cli_leaks_findings findings;
    cli_leaks_point *points; /* the timeline of a page */
    size_t points_len;
} cli_leaks_run;

/* The windows of a point, but for the first one, which may have more. */
static inline size_t cli_leaks_block(const cli_leaks_run *run)
{
    return run->rows.points ? run->windows / run->rows.points : 1;
}

/* Are the windows too few for a verdict? */
static inline bool cli_leaks_is_short(const cli_leaks_run *run)
{
    return run->windows < CLI_LEAKS_LEAST_POINTS;
}

/* Is there enough for a verdict? A suspect is one also without. */
static inline bool cli_leaks_is_enough(const cli_leaks_run *run)
{
    return !cli_leaks_is_short(run) && !run->doubt;
}

/* The rows that a finding is about, and the unit of its values. */
static inline const cli_leaks_rows *cli_leaks_rows_of(const cli_leaks_run *run,
                                                      const cli_leaks_finding *f)
{
    return f->what == CLI_LEAKS_AREAS ? &run->areas : &run->rows;
}

static inline cli_string cli_leaks_unit_of(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    return f->what == CLI_LEAKS_AREAS ? cli_string_of("bytes") : run->unit;
}

/* Adds the window of that number, which the rows and the areas have. */
void cli_leaks_timeline_add(cli_leaks_run *run, size_t window, double seconds);

typedef struct cli_leaks_work {
    cli_leaks_how how;
    cli_leaks_file *files;
    size_t files_len, files_cap;
    cli_leaks_order_report order;
    bool has_failed; /* a file that was named is left out since it is damaged or cannot be read */
    cli_leaks_run *runs;
    size_t runs_len;
    cli_leaks_all all;
} cli_leaks_work;

/* ---- files (leaks_files.c) and windows (leaks_windows.c) ---- */

/* Lists the files, checks each and reads its time and its stamp. In a directory every file named
 * *.pb.gz or *.otlp.gz is taken that is a profile with values to judge; a note names each other one. Prints
 * what is wrong, and goes on if other files are left. */
void cli_leaks_find_files(cli_leaks_work *work, const char *const *operands, size_t len);

/* Finds the columns of a profile. Returns false if it has no such type, or, if type is NULL, no in-use
 * values. */
bool cli_leaks_find_columns(const cli_profile *profile, const char *type,
                            cli_leaks_columns *columns);

/* Splits the files into runs, and reads the windows of each into the series of its stacks, up to the end of the
 * program. Values that are changes, or of one window, are added up.
 *
 * A cumulative profile without a stamp is also compared with the one before it by the library, which
 * decides if the process restarted. Then the run ends, and a new run begins.
 *
 * The account of the resident memory that the heap agent writes (rss_space/bytes) has one stack for
 * each area. The areas are the rows of a table of their own.
 *
 * Reads all files with the role of a window. */
void cli_leaks_read(cli_leaks_work *work);

/* ---- frames and stacks (leaks_frames.c) ---- */

/* Makes the frames of all locations, which have full names. */
void cli_leaks_make_frames(cli_leaks_work *work);

/* Finds the names of the locations that are shown, for all runs at once, so that each file is
 * opened once, however many processes have it. Then judges the runs again. */
void cli_leaks_find_names(cli_leaks_work *work);

/* Grades the frames of the rows. Call it before cli_leaks_find_cause. */
void cli_leaks_grade_frames(const cli_leaks_run *run, cli_leaks_rows *rows);

/* Finds the first frame, from the leaf, that is the program's own: not of an allocator, of start-up
 * or of a library. Without one, it is the first of a library, else of the language, else the leaf. The
 * frames before number `from` do not count, and none behind a turn of an event loop. */
cli_leaks_cause cli_leaks_find_cause(const cli_leaks_rows *rows, size_t row, size_t from);

/* The stack of a row of run->rows, as it is shown: without wrappers of malloc and start-up
 * functions unless all_frames is set. */
cli_stack cli_leaks_shown_stack(const cli_leaks_run *run, const cli_leaks_row *row,
                                bool all_frames);

/* ---- judging (leaks_rank.c, leaks_areas.c) ---- */

/* Rows that are added up. */
typedef struct cli_leaks_total {
    cli_leaks_row sum;     /* the cause is that of the row that has most in use */
    cli_leaks_lives lives; /* of the sum, where the profiles have ages */
    double weights;        /* the sum of weight * level, and of level */
    double levelled;
    double distance; /* from the leaf, added up over the stacks */
    double alive,
        alive_weights; /* samples that came since the first point; the sum of their weights */
    size_t stacks;
    double largest;  /* growth of one stack */
    size_t last_row; /* plus 1 */
    size_t most;     /* the row that has most in use */
    uint32_t name;   /* of a function */
} cli_leaks_total;

/* The rows that are judged. */
typedef struct cli_leaks_ranking {
    cli_leaks_findings *out;
    cli_leaks_rows *rows;
    cli_leaks_row all; /* the sum of all rows */
    double tests;      /* stacks that are judged together */
    double smallest;   /* a leak that would be a suspect; 0: not known */
    size_t groups;     /* so far */
    bool is_partial;   /* see cli_leaks_run */
} cli_leaks_ranking;

/* Judges a row by its weight, which is set, as one of so many. */
void cli_leaks_judge_row(const cli_leaks_ranking *ranking, cli_leaks_row *row, double tests);

/* Adds the row with that number; and judges the sum. */
void cli_leaks_add_up(cli_leaks_total *to, const cli_leaks_rows *rows, size_t number);
void cli_leaks_judge_total(const cli_leaks_ranking *ranking, cli_leaks_total *total, double tests);

/* Adds the finding of a row or of a sum of rows, which is known by the row with that number. */
cli_leaks_finding *cli_leaks_add_finding(const cli_leaks_ranking *ranking, cli_leaks_what what,
                                         cli_leaks_row *of, size_t row, size_t stacks);
cli_leaks_finding *cli_leaks_add_sum(const cli_leaks_ranking *ranking, cli_leaks_what what,
                                     const cli_leaks_total *total);

/* Judges the areas. Adds findings to run->findings: one for each area that is a suspect, and up to two for
 * the others. */
void cli_leaks_judge_areas(cli_leaks_run *run);

/* The name of an area, "[anonymous mappings]"; whether Python's own allocator mapped it. */
cli_string cli_leaks_area_name(const cli_leaks_rows *areas, size_t area);
bool cli_leaks_is_of_python(const cli_leaks_rows *areas, size_t area);

/* Judges all stacks of a run, and sums of them; ranks what was found.
 *
 *     place     suspects whose first frame of the program's own, and its caller, are the same: one
 *               cause, whatever library functions allocate for it
 *     shared    a leak that is spread over many stacks, each with too few samples for a verdict:
 *               stacks that do not grow for certain are added up by each function that occurs in
 *               them. Of the functions whose sums grow about equally, the one with the fewest
 *               stacks is reported
 *     rest      all stacks without a verdict. If they grow together, that is unknown
 *     areas     the resident memory. If it grows and the stacks do not explain it, that is unknown.
 *               It is read from the kernel and has no sampling error */
void cli_leaks_rank(cli_leaks_run *run, const cli_leaks_how *how);

/* Finds what several runs have in common (leaks_join.c). */
void cli_leaks_join(cli_leaks_work *work);

/* A key of the functions of a row, and of their files and lines if by_places. */
cli_key cli_leaks_key_of(const cli_leaks_rows *rows, const cli_leaks_row *row, bool by_places);

/* Is the finding a stack of a group? */
bool cli_leaks_is_member(const cli_leaks_finding *finding);

/* ---- printing (leaks_report.c) ---- */

/* A part of what is printed: a run, with some of its findings or all. */
typedef struct cli_leaks_section {
    const cli_leaks_run *run;
    const cli_leaks_finding **list;
    size_t len, first; /* first: the findings of the sections before */
    size_t left;       /* findings of the run that are left out, if no section of it follows */
    bool is_again;     /* there is one before */
} cli_leaks_section;

/* All that is printed, in its order. */
typedef struct cli_leaks_report {
    const cli_leaks_work *work;
    FILE *to;
    cli_text_form form; /* of JSON */
    bool by_kind;       /* the suspects of all runs come first, else each run is one section */
    bool is_whole;      /* each run has a section, with all its findings */
    bool repeats;       /* also findings that a run before has */
    bool has_others;    /* runs without a finding have sections, but for those that are counted: */
    size_t few, same;   /* have too few windows, or only what other runs have */
    cli_leaks_section *sections;
    size_t sections_len, sections_cap, findings;
    size_t *last; /* of each run: the number of its last section, from 1 */
} cli_leaks_report;

/* How a form writes a section. */
typedef struct cli_leaks_form {
    void (*begin_section)(const cli_leaks_report *report, const cli_leaks_section *section);
    void (*put_finding)(const cli_leaks_report *report, const cli_leaks_section *section,
                        size_t at);
    void (*end_section)(const cli_leaks_report *report, const cli_leaks_section *section);
} cli_leaks_form;

/* Makes the sections, as the members before them say, and writes them all; or writes one. */
void cli_leaks_write(cli_leaks_report *report, const cli_leaks_form *form);
void cli_leaks_write_section(const cli_leaks_report *report, const cli_leaks_section *section,
                             const cli_leaks_form *form);

/* Of one run, its object. */
extern const cli_leaks_form cli_leaks_json;

void cli_leaks_put_text(const cli_leaks_work *work);
void cli_leaks_put_json(const cli_leaks_work *work);

/* Writes the page, with short names. */
void cli_leaks_put_html(cli_leaks_work *work);

/* Prints a comment for a pull request as Markdown. base is NULL if there is none. budget: the bytes that
 * each stack may have in use, or with a base may have grown; INFINITY: none. Returns whether a stack is
 * above it. */
bool cli_leaks_put_markdown(const cli_leaks_work *work, const cli_leaks_work *base, double budget);

/* What to do about verdicts that are unknown; NULL: nothing. */
const char *cli_leaks_advice(const cli_leaks_work *work);

/* "12.0MiB"; "+12.0MiB/h", or "/min" in a run of minutes; "59.0min". Kept (keep.h). */
const char *cli_leaks_amount(double value, cli_string unit);
const char *cli_leaks_slope(const cli_leaks_run *run, cli_string unit, double slope);
const char *cli_leaks_span(double seconds);

#endif
