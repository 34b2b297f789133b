/* The one model of stacks and frames, which `show` and `leaks` print from.
 *
 *     profile    locations 1 2 3, samples  | 3 2 1 | values | labels | ...  (view.h, view_samples.h)
 *     source     the frames of each location of one profile (shown.c):
 *                  1: main        2: serve, inlined into loop        3: malloc
 *     frame      its text (frame.c), the number of its name, what the filters match (filters.c),
 *                and its kind: of an allocator, of start-up, ... (wrappers.c)
 *     stack      a sample without what is cut off its ends: it names the bytes of the sample, and
 *                no frame is copied. cli_walk goes through its frames, from either end
 *     group      stacks with the same names, behind each other (stacks.c)
 *
 * In `show`, the sources are those of one profile, or of PREV and CUR, which share the numbers of
 * names:
 *
 *     profiles --> shown_types.c: which sample types
 *              --> shown.c: the frames, and which part of each stack is shown
 *              --> one of form_*.c: goes through the stacks, or has them sorted, and prints
 *                      --> heading.c, notes.c: what stands above a table
 *                      --> screen.c, units.c: widths, colours, numbers
 *
 * In `leaks`, the locations of all windows are merged into one profile, which is the
 * source, and each stack has a row with its series (leaks/leaks.h).
 *
 * Values do not change here: a total over all samples is that of the profile, and hiding a frame
 * takes no sample away.
 *
 * A form that needs no order goes through the stacks and keeps none. One that sorts them keeps 40
 * bytes for each. */
#ifndef CLI_SHOW_SHOWN_H
#define CLI_SHOW_SHOWN_H

#include "arguments.h"
#include "names.h"
#include "show/wrappers.h"
#include "units.h"
#include "view.h"

#include <regex.h>

/* ---- one frame (frame.c) ---- */

/* One frame of a stack as text: the name of its function, and where it lies.
 *
 * A location with lines has one frame for each line, so inlined calls are frames too. A location
 * without lines has one frame, which is named by its address in its mapping: "libc.so.6+0x27a10",
 * or "[anon]@0x7f0000000100" if the mapping is not a file. */

typedef struct cli_frame_text {
    cli_string name;
    cli_string file;   /* of the source; empty: not known */
    int64_t line;      /* 0: not known */
    cli_string module; /* the file of the mapping; empty: not known */
    bool is_nameless;  /* the frame has no function: its name was made from an address */
    bool is_foreign;   /* not of C, C++, Rust or Go: see names.h */
} cli_frame_text;

/* The frame of a line of the location, or of the location if line is NULL. The strings are those of
 * the profile, but a made name is kept. */
cli_frame_text cli_frame_of(const cli_profile *profile, const Pd__View__Location *location,
                            const Pd__View__Line *line);

/* The name as it is shown: short (names.h) unless the frame is foreign. It may be in `to`. */
cli_string cli_frame_short_name(const cli_frame_text *frame, char to[CLI_SHORT_NAME_MAX]);

/* Orders by file, then by line. Returns a negative number, 0, or a positive number. */
int cli_frame_compare_places(const cli_frame_text *a, const cli_frame_text *b);

/* Makes *place that of both: what differs is left out. */
void cli_frame_join_places(cli_frame_text *place, const cli_frame_text *other);

/* Prints a stack, one line for each frame:
 *
 *         parse  src/parse.c:120
 *         0x4f2  [libx.so]
 *
 * Names are short. Nothing is cut. indent stands in front of each line. */
void cli_frames_put(const cli_frame_text *frames, size_t len, const char *indent);

/* ---- filters (filters.c) ---- */

/* What the user asks `show` to keep, to drop and to hide:
 *
 *     --focus RE    keep the samples of which a frame matches
 *     --ignore RE   drop the samples of which a frame matches
 *     --tag T       keep the samples that have a label: KEY, KEY=VALUE, KEY=RE, KEY=MIN:MAX
 *     --hide RE     take the frames that match out of their stacks; the values stay
 *     --allocator RE   the frames that match are those of an allocator (wrappers.h); the values stay
 *
 * A frame matches if its name as it is shown matches, its source file or the file of its mapping.
 * Of several options, each must keep a sample. */

typedef enum cli_filter_kind {
    CLI_FILTER_FOCUS,
    CLI_FILTER_IGNORE,
    CLI_FILTER_TAG,
    CLI_FILTER_HIDE, /* this and the next keep every sample */
    CLI_FILTER_ALLOCATOR
} cli_filter_kind;

typedef struct cli_filter {
    cli_filter_kind kind;
    const char *text; /* as it was given */
    regex_t pattern;  /* of all but TAG, and of a TAG's value if it is one */
    bool has_pattern;
    cli_string key;    /* of TAG */
    const char *value; /* of TAG; NULL: any */
    bool is_range;     /* of TAG: the value is MIN:MAX */
    int64_t least, most;
} cli_filter;

enum { CLI_FILTERS_MAX = 64 };

typedef struct cli_filters {
    cli_filter *list; /* kept (keep.h), as are the patterns */
    size_t len;
    bool shows_wrappers; /* --all-frames */
} cli_filters;

/* For cli_option.take: adds a filter, whose kind is option.what, to a cli_filters. text is borrowed. */
void cli_filters_take(const cli_option *option, const char *text, void *list);

/* "focus", "ignore", "tag", "hide" or "allocator". */
const char *cli_filter_name(cli_filter_kind kind);

/* The filters of one kind: bit i is that of list[i]. */
uint64_t cli_filters_of(const cli_filters *filters, cli_filter_kind kind);

/* Whether it matches the string as it is shown (CLI_TEXT_SHOWN). Of a string longer
 * than 32 KiB, only the beginning takes part. */
bool cli_pattern_matches(const regex_t *pattern, cli_string string);

/* The filters that match a text, as bits. TAG matches none. */
uint64_t cli_filters_match(const cli_filters *filters, cli_string text);

/* Whether a TAG keeps the sample. */
bool cli_filter_keeps_labels(const cli_filter *filter, const cli_profile *profile,
                             const cli_sample *sample);

/* ---- records (record_text.c) ---- */

/* Prints messages of pprof and of OTLP by a format that names their fields. --raw, --json and the heading all go
 * over the same fields: protobuf-c's descriptors say where a field is and what type it has, and the form says
 * how it is written.
 *
 *     "<id>"            a number
 *     "<x:address>"     a number as 0x1f
 *     "<q:filename>"    a string in the form: bytes, or the string that an index leads to
 *     "<j:string_value>" a string in JSON, whatever the form
 *     "<f:function_id>" the name of the function with that id
 *     "<h:trace_id>"    bytes in hexadecimal
 *     "<v:value>"       a value of OTLP as JSON; "<.>" is the message itself, which is one
 *     "<d:value>"       a double as JSON
 *     "<n:payload>"     the number of bytes, or of the elements of a repeated field
 *     "<*values>"       the numbers of a repeated field, with a space before each
 *     "<,values>"       the same with commas between them
 *     "<#>"             the index of the record in its list
 *     "<=q:doc_url>"    a whole line, with the name of the field: doc_url: "", or "doc_url": "", in JSON
 *     "<q:scope.name>"  a field of a message in this one; a message that is not there has zeros
 *
 * and of parts that end with "<]>":
 *
 *     "<[lines|, >...<]>"    each message of a repeated field, with ", " between them; of a field of
 *                            strings, "<[comment|, ><q:comment><]>", each string
 *     "<@indices|, >...<]>"  the same for the attributes of OTLP that the indices lead to
 *     "<?a,b|>...<]>"        if one of the fields is not 0 and not empty
 *     "<!a|>...<]>"          if none is */

/* Prints one message. profile has the strings. Lists end early if nobody reads stdout. */
void cli_record_put(const cli_profile *profile, const ProtobufCMessage *message,
                    cli_text_form of_strings, const char *format);

/* What --raw and --json begin with: before the type of the period, and behind it. */
#define CLI_RECORD_TIMES "<=time_nanos><=duration_nanos>"
#define CLI_RECORD_REST                                                                            \
    "<=period><=q:default_sample_type><=q:drop_frames><=q:keep_frames><=q:doc_url>"

/* ---- the model (shown.c) ---- */

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
    uint32_t place;                     /* that of the file and line; set by cli_stacks_sort */
    unsigned char kind;                 /* see wrappers.h */
    uint64_t matches;                   /* the bits of the filters that match it */
    const Pd__View__Location *location; /* NULL: stands for a stack of which all is hidden */
    const Pd__View__Line *line;         /* NULL: the location has none */
} cli_frame;

/* The frames of one profile: those of location i are frames[locations[i].first] to
 * frames[locations[i + 1].first - 1]. */
typedef struct cli_source {
    const cli_profile *profile;
    cli_frame *frames;
    struct cli_source_location {
        uint64_t matches; /* the bits of the filters that match any of its frames */
        uint32_t first;
        bool is_hidden; /* all its frames are */
    } * locations;
} cli_source;

/* A place between two frames of a stack: behind so many bytes of the sample, and so many frames of the
 * location there. */
typedef struct cli_place {
    uint32_t at, frames;
} cli_place;

/* A stack without what is cut off its ends: see cli_walk. */
typedef struct cli_stack {
    const uint8_t *sample; /* as in cli_sample.from */
    cli_place leaf, root;
    cli_place next; /* this and the key are for stacks.c */
    uint32_t key;
    unsigned char side; /* which profile it is from: 0, or 1 for the second */
    bool is_tagged;     /* see cli_sample */
    bool is_hidden;     /* all frames are: one stands for them */
    bool is_python;     /* frames of the interpreter are hidden */
    bool is_first;      /* of its group */
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
    cli_source sources[CLI_SIDES];
    cli_frame
        *frames; /* those of all sources; the last stands for a stack of which all is hidden */
    size_t frames_len;
    bool folds;                 /* wrappers are hidden */
    bool has_interpreter;       /* a frame is CPython's own */
    uint64_t hides, allocators; /* the bits of the filters of these kinds */
    const cli_string *names;    /* distinct, in the order of their bytes */
    size_t names_len;

    /* Set by cli_shown_each: */
    bool *is_folded; /* for each name: it is a wrapper that was hidden somewhere */
    cli_kept kept[CLI_SIDES];

    /* Set by cli_stacks_sort: */
    cli_stack *stacks;
    size_t len;
} cli_shown;

/* Makes the frames. is_whole: for the forms that show a profile whole; then only --hide takes frames
 * away. Else the functions of allocators and start-up are hidden too, unless --all-frames, and names
 * are short. */
void cli_shown_make(cli_shown *shown, bool is_whole);

/* Numbers the names of the frames again, short or full ones. Stacks have to be sorted again. */
void cli_shown_number_names(cli_shown *shown, bool is_short);

/* Goes through the samples that the filters keep, those of the first profile first. take returns the number of
 * frames that it has looked at, or will. A few bytes can stand for very many frames, as where a stack has a
 * location with many inlined calls again and again. If there are more than `more` and those that real
 * profiles have, prints that and ends the process (cli_must). */
typedef uint64_t cli_shown_take(void *cookie, const cli_stack *stack, const cli_sample *sample);
void cli_shown_each(cli_shown *shown, uint64_t more, cli_shown_take *take, void *cookie);

/* For `take`: only counts the frames. cookie is the cli_shown. */
cli_shown_take cli_shown_count;

/* The whole stack of a sample. */
cli_stack cli_stack_of(const cli_sample *sample, size_t side);

/* Cuts off the functions of allocators (only if is_heap) and of start-up, and hides those of an interpreter. A
 * frame is left of a stack that has one. Returns the number of frames that were looked at. */
size_t cli_stack_fold(cli_shown *shown, cli_stack *stack, bool is_heap);

/* Is the frame hidden in the stack? */
static inline bool cli_stack_hides(const cli_shown *shown, const cli_stack *stack,
                                   const cli_frame *frame)
{
    return (frame->matches & shown->hides) != 0 ||
           (stack->is_python && frame->kind & CLI_FRAME_INTERPRETS);
}

/* The first frame that is shown; NULL: there is none. */
const cli_frame *cli_stack_leaf(const cli_shown *shown, const cli_stack *stack);

/* Goes through the frames of a stack. cli_walk_next returns NULL at the end. */
typedef struct cli_walk {
    const cli_shown *shown;
    const cli_stack *stack;
    cli_place next;
    bool is_inwards; /* from the root to the leaf */
} cli_walk;

cli_walk cli_walk_from_leaf(const cli_shown *shown, const cli_stack *stack);
cli_walk cli_walk_from_root(const cli_shown *shown, const cli_stack *stack);
const cli_frame *cli_walk_next(cli_walk *walk);

/* The next location of a walk from the leaf: the part of its frames that is shown. is_part: it has
 * others. Returns its index; SIZE_MAX: there is none. */
static inline size_t cli_walk_location(cli_walk *w, const cli_frame **from, const cli_frame **to,
                                       bool *is_part)
{
    const cli_stack *stack = w->stack;
    const cli_source *source = &w->shown->sources[stack->side];
    const uint8_t *at = stack->sample + w->next.at;
    if (w->next.at >= stack->root.at)
        return SIZE_MAX;
    size_t index =
        cli_profile_location_index(source->profile, cli_path_next(&at, stack->is_tagged));
    uint32_t first = w->next.frames;
    w->next = (cli_place){(uint32_t)(at - stack->sample), 0};
    uint32_t last = w->next.at == stack->root.at ? stack->root.frames : 0;
    *from = source->frames + source->locations[index].first + first;
    *to = source->frames + source->locations[index + 1].first - last;
    *is_part = first || last;
    return index;
}

/* The frames of a stack, leaf first, of which there are *len. They are valid until the next call. */
cli_frame_text *cli_stack_frames(const cli_shown *shown, const cli_stack *stack, size_t *len);

/* ---- sorted stacks (stacks.c) ---- */

/* Collects the stacks and sorts them. Those with the same names of frames are one
 * group; by_places: and with the same files and lines. The order is that of the names, root first; of equal ones
 * that of the files and lines, leaf first. */
void cli_stacks_collect(cli_shown *shown, bool by_places);

/* The same for stacks that are there. */
void cli_stacks_sort(cli_shown *shown, bool by_places);

/* A group: stacks[at] to stacks[end - 1]. */
typedef struct cli_group {
    size_t at, end;
} cli_group;

/* Makes *group, which is zero at first, the next one. Returns false if there is none. */
bool cli_group_next(const cli_shown *shown, cli_group *group);

/* The sum of a type over the stacks of a group that are from one side. */
pprofdelta_sum cli_group_sum(const cli_shown *shown, cli_group group, size_t side, size_t type);

/* The frames of a group, leaf first, of which there are *len: of the last profile that has the
 * group. What is not the same in all stacks of the group that are from that profile is left out. They are
 * valid until the next call, as above. */
cli_frame_text *cli_group_frames(const cli_shown *shown, cli_group group, size_t *len);

/* The value of a type. */
int64_t cli_stack_value(const cli_shown *shown, const cli_stack *stack, size_t type);

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

/* The lines that say what the filters kept and what is hidden:
 *
 *     type      alloc_space, because inuse_space is 0 in every sample
 *     focus     12.3% of alloc_space: parse
 *     kept      40 of 812 samples, 12.3% of alloc_space
 *     hidden    3 wrapper and start-up functions; --all-frames shows them
 *
 * Control characters in text are escaped. */
typedef struct cli_notes {
    struct {
        const char *title, *text;
    } list[CLI_FILTERS_MAX + 4];
    size_t len;
} cli_notes;
cli_notes cli_notes_of(const cli_shown *shown);

/* Prints those lines as notes on stderr. */
void cli_notes_print(const cli_shown *shown);

/* ---- the terminal that stdout is (screen.c) ---- */

/* Output has colours only on a terminal, if TERM is not "dumb" and NO_COLOR is not set. Otherwise
 * every member of cli_ink is "", so that callers print it without asking. */
typedef struct cli_ink {
    const char *bold, *dim, *growth, *shrinkage;
    const char *end; /* back to plain */
} cli_ink;

cli_ink cli_screen_ink(void);

/* The columns of the terminal, at least 40; 80 if stdout is not a terminal. */
size_t cli_screen_width(void);

/* Prints text in the SHOWN form, with spaces before it up to `width` columns. */
void cli_screen_put_right(cli_string text, size_t width);

/* The ink of a change: growth, shrinkage, or dim if it is 0. */
const char *cli_screen_change_ink(const cli_ink *ink, pprofdelta_sum change);

/* ---- what stands above a table (heading.c) ---- */

/* Prints what is known about one profile, or about two. */
void cli_heading_put(cli_shown *shown);

/* The same, and behind it "the first 10 of 812 functions that changed, by cumulative alloc_space", of which `changed` is
 * said if all of them are shown. Ends without a newline. */
void cli_heading_put_caption(cli_shown *shown, size_t most, size_t len, const char *noun,
                             const char *changed);

/* ---- the forms (form_*.c) ---- */

/* Prints to stdout, or writes the page of --flame. */
typedef void cli_show_form(cli_shown *shown);

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
 * or less than PREV into the place of the first. */
cli_show_form cli_show_raw;
void cli_raw_of_two(cli_profile profiles[CLI_SIDES], const pprofdelta_options *options);

#endif
