/* What is shown of one profile, or of PREV and CUR, and all that a form of `show` prints from.
 *
 *     profiles --> shown_types.c: which sample types
 *              --> shown.c: the frames of each location, with names (frame.c, short_names.c) that
 *                  both profiles share; what the filters match (filters.c); for each sample that they
 *                  keep, a stack without what is hidden (wrappers.c)
 *              --> one of form_*.c: print
 *                      --> heading.c, notes.c: what stands above a table
 *                      --> screen.c, units.c: widths, colours, numbers
 *
 * Values do not change here: a total over all samples is that of the profile, and hiding a frame
 * takes no sample away. */
#ifndef CLI_SHOW_SHOWN_H
#define CLI_SHOW_SHOWN_H

#include "show/filters.h"
#include "show/frame.h"
#include "units.h"

enum { CLI_SIDES = 2 };

/* The name of the one frame of a stack of which all frames are hidden. */
#define CLI_HIDDEN "(hidden)"

/* The sample types: those of one profile, or those that two have in common, in the order of the
 * second. */
typedef struct cli_types {
    size_t column[CLI_SIDES][PPROFDELTA_MAX_TYPES]; /* column[side][i]: of the i-th shown type */
    size_t len;
} cli_types;

typedef struct cli_frame {
    cli_frame_text text;
    uint32_t name;                      /* the number of the name */
    unsigned char kind;                 /* see wrappers.h */
    uint64_t matches;                   /* the bits of the filters that match it */
    const Pd__View__Location *location; /* NULL: stands for a stack of which all is hidden */
    const Pd__View__Line *line;         /* NULL: the location has none */
} cli_frame;

typedef struct cli_stack {
    const cli_frame *const *frames; /* leaf first */
    size_t len;
    const Pd__View__Sample *sample;
    size_t side; /* which profile it is from: 0, or 1 for the second */
} cli_stack;

/* What the filters kept of one profile. */
typedef struct cli_kept {
    pprofdelta_sum *sums; /* sums[filter * n_sample_type + column]: by this filter alone; behind the
                             last filter: by all of them */
    size_t *matched;      /* for each filter: the number of samples that match */
    size_t samples;       /* kept by all */
} cli_kept;

typedef struct cli_shown {
    const cli_profile *profiles; /* one for each side */
    size_t sides;
    const cli_filters *filters;
    cli_types types;
    size_t chosen;             /* the type in types that is sorted by */
    size_t preferred;          /* the default type: chosen, unless it is 0 in every sample */
    bool only_chosen;          /* the user has named it */
    bool is_by_cum;            /* tables are sorted by cumulative values */
    size_t most;               /* rows, or stacks */
    const char *page;          /* the file of --flame; "-" is stdout */
    const cli_filters *peeked; /* the functions of --peek: their names match any of them */

    /* Set by cli_shown_make: */
    const cli_string *names; /* distinct, in the order of their bytes */
    size_t names_len;
    bool *is_folded;   /* for each name: it is a wrapper that was hidden somewhere */
    cli_stack *stacks; /* in the order of the samples; those of the first profile first */
    size_t len;
    cli_kept kept[CLI_SIDES];
} cli_shown;

/* Makes the stacks. is_whole: for the forms that show a profile whole; then only --hide takes frames
 * away. Else the functions of allocators and start-up are hidden too, unless --all-frames, and names
 * are short. */
void cli_shown_make(cli_shown *shown, bool is_whole);

/* Two orders of stacks: by the names of their frames, root first; and of equal ones by the files and
 * lines. Stacks that compare equal are one group. */
typedef int cli_stack_order(const void *a, const void *b);
cli_stack_order cli_stacks_by_names, cli_stacks_by_places;
void cli_shown_sort(cli_shown *shown, cli_stack_order *order);

/* The index behind the last stack of the group that begins at stacks[at]. */
size_t cli_shown_group_end(const cli_shown *shown, size_t at, cli_stack_order *order);

/* The sum of a type over the stacks of a group that are from one side. */
pprofdelta_sum cli_shown_group_sum(const cli_shown *shown, size_t at, size_t end, size_t side,
                                   size_t type);

/* Frame `i` of a group, counted from the leaf: of the last profile that has the group. What is not
 * the same in all stacks of the group that are from that profile is left out. */
cli_frame_text cli_shown_group_frame(const cli_shown *shown, size_t at, size_t end, size_t i);

/* ---- sample types (shown_types.c) ---- */

/* Matches the types by name and unit. If there are none to show, prints that; returns an exit
 * code. */
int cli_types_match(cli_shown *shown);

/* Sets *chosen to the index of the type that --type names, or of the default type of the last profile
 * if name is NULL. If there is no such type, prints which there are. Returns an exit code. */
int cli_types_choose(const cli_shown *shown, const char *name, size_t *chosen);

/* Whether a type is 0 in every sample of every side. */
bool cli_types_are_zero(const cli_shown *shown, size_t at);

/* The type to show in place of the default type `at`: `at` itself unless it is 0 in every sample, or
 * nearly nothing is in use, compared with the peak of a live heap, which is shown then. Otherwise the
 * first type of its unit that is not, else the first of any unit; `at` if all are 0. */
size_t cli_types_instead(const cli_shown *shown, size_t at);

/* The name and the unit of a type, and its sum over all samples of a side. */
cli_string cli_types_name(const cli_shown *shown, size_t at);
cli_string cli_types_unit(const cli_shown *shown, size_t at);
pprofdelta_sum cli_types_total(const cli_shown *shown, size_t side, size_t at);

/* ---- notes (notes.c) ---- */

/* Calls put for each line that says what the filters kept and what is hidden:
 *
 *     type      alloc_space, because inuse_space is 0 in every sample
 *     focus     12.3% of alloc_space: parse
 *     kept      40 of 812 samples, 12.3% of alloc_space
 *     hidden    3 wrapper and start-up functions; --all-frames shows them
 *
 * Control characters in text are escaped. */
typedef void (*cli_notes_put)(void *cookie, const char *title, const char *text);
void cli_notes_describe(const cli_shown *shown, cli_notes_put put, void *cookie);

/* Prints those lines as notes on stderr. */
void cli_notes_print(const cli_shown *shown);

/* ---- what stands above a table (heading.c) ---- */

/* Prints what is known about one profile, or about two. */
void cli_heading_put(const cli_shown *shown);

/* Prints "the first 10 of 812 functions that changed, by cumulative alloc_space", of which `changed` is
 * said if all of them are shown. Ends without a newline. */
void cli_heading_put_caption(const cli_shown *shown, size_t most, size_t len, const char *noun,
                             const char *changed);

/* ---- the forms (form_*.c) ---- */

/* Prints to stdout, which it ends, or writes the page of --flame. May sort the stacks. Returns an exit
 * code. */
typedef int cli_show_form(cli_shown *shown);

/* The functions of one profile that count most, with all types or only the chosen one; or those that
 * changed most between two. */
cli_show_form cli_show_table;

/* The stacks that count most, or that changed most. */
cli_show_form cli_show_stacks;
/* Functions with their callers and callees. */
cli_show_form cli_show_peek;

cli_show_form cli_show_folded, cli_show_json, cli_show_flame;

/* What becomes of what each stack allocates, of one profile with ages. */
cli_show_form cli_show_lifetimes;

/* One profile only; of an OTLP request, its own records. cli_raw_of_two puts a profile of what CUR has more
 * or less than PREV into the place of the first. Prints what is wrong; returns an exit code. */
cli_show_form cli_show_raw;
int cli_raw_of_two(cli_profile profiles[CLI_SIDES], const pprofdelta_options *options);

#endif
