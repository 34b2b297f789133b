/* What `show` prints about a profile, besides its samples: see heading.h.
 *
 *     file      prev.pb.gz (gzip, 812 samples)
 *     binary    /opt/app, build id 5d4c0f
 *     library   /usr/lib/libx.so.1, build id 81a2    (if it has frames without a function)
 *     comment   pprofdelta: delta from=2026-11-21T08:00:00Z to=2026-11-21T08:01:00Z
 *     total     alloc_space/bytes  8.42MiB
 *     kept      40 of 812 samples, 12.3% of alloc_space
 */
#include "show/heading.h"

#include "base/time.h"
#include "cli.h"
#include "instant.h"
#include "message.h"
#include "show/otlp_forms.h"
#include "show/screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LIBRARIES = 5 };

static bool is_nameless(const Pd__View__Mapping *mapping)
{
    return !mapping->filename && !mapping->build_id;
}

static void put_file(const cli_profile *profile, const Pd__View__Mapping *mapping)
{
    cli_string name = cli_profile_string(profile, mapping->filename);
    cli_string build_id = cli_profile_string(profile, mapping->build_id);
    cli_string_put(stdout, name.len ? name : cli_string_of("(no name)"), CLI_TEXT_SHOWN);
    if (build_id.len)
        fputs(", build id ", stdout);
    cli_string_put(stdout, build_id, CLI_TEXT_SHOWN);
    putchar('\n');
}

void cli_heading_put_file(const cli_profile *profile, const char *title)
{
    printf("%-10s", title);
    cli_text_put(stdout, profile->input.name, CLI_TEXT_SHOWN);
    bool is_named = !strcmp(profile->census.format, "otlp");
    printf(" (%s%s, %zu samples%s)\n", is_named ? "OTLP" : profile->census.format,
           profile->request && !is_named ? ", OTLP" : "", profile->view->n_sample,
           profile->census.is_stamped ? ", a delta" : "");
}

void cli_heading_put_binary(const cli_profile *profile, const char *title)
{
    const Pd__View__Profile *view = profile->view;
    if (!view->n_mapping || is_nameless(view->mapping[0]))
        return;
    printf("%-10s", title);
    put_file(profile, view->mapping[0]);
}

/* Marks the mappings that have a location without lines. Their files are needed to find the names
 * of the functions. */
static void mark_needed(const cli_profile *profile, bool *is_needed)
{
    for (size_t i = 0; i < profile->view->n_location; i++) {
        const Pd__View__Location *location = profile->view->location[i];
        if (!location->n_line && location->mapping_id)
            is_needed[cli_profile_mapping_index(profile, location->mapping_id)] = true;
    }
}

int cli_heading_put_libraries(const cli_profile *profile)
{
    size_t shown = 0, more = 0;
    bool *is_needed = calloc(profile->view->n_mapping + 1, sizeof *is_needed);
    if (!is_needed)
        return cli_system_error(profile->input.name, "show", ENOMEM);
    mark_needed(profile, is_needed);
    for (size_t i = 1; i < profile->view->n_mapping; i++) {
        const Pd__View__Mapping *mapping = profile->view->mapping[i];
        if (is_nameless(mapping) || !is_needed[i])
            continue;
        if (shown == MOST_LIBRARIES) {
            more++;
            continue;
        }
        printf("%-10s", shown++ ? "" : "library");
        put_file(profile, mapping);
    }
    if (more)
        printf("%-10sand %zu more: --raw\n", "", more);
    free(is_needed);
    return CLI_DONE;
}

static size_t type_width(const cli_profile *profile, size_t column)
{
    return cli_string_columns(cli_profile_type(profile, column)) + 1 +
           cli_string_columns(cli_profile_unit(profile, column));
}

size_t cli_heading_types_width(const cli_profile *profile, const size_t *columns, size_t len)
{
    size_t widest = 0;
    for (size_t i = 0; i < len; i++) {
        size_t width = type_width(profile, columns[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

void cli_heading_put_type(const cli_profile *profile, size_t column, size_t width)
{
    cli_string_put(stdout, cli_profile_type(profile, column), CLI_TEXT_SHOWN);
    putchar('/');
    cli_string_put(stdout, cli_profile_unit(profile, column), CLI_TEXT_SHOWN);
    printf("%*s", (int)(width - type_width(profile, column)), "");
}

/* Reads a word of a stamp that is a time, like "from=NANOS". Returns the length of "from=", or 0 if
 * it is not a time. */
static size_t time_word(cli_string word, int64_t *nanos)
{
    static const char *const names[] = {"from=", "to="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i]);
        char digits[24] = "", *end;
        if (word.len <= len || word.len - len >= sizeof digits ||
            memcmp(word.ptr, names[i], len) != 0)
            continue;
        memcpy(digits, word.ptr + len, word.len - len);
        *nanos = strtoll(digits, &end, 10);
        return *end || !*nanos ? 0 : len;
    }
    return 0;
}

cli_string cli_heading_comment(cli_string comment, char buf[CLI_COMMENT_MAX])
{
    enum { MOST = CLI_COMMENT_MAX / 4 }; /* every stamp is shorter */
    static const char stamp[] = "pprofdelta: ";
    size_t prefix = sizeof stamp - 1, len = 0;
    if (comment.len < prefix || memcmp(comment.ptr, stamp, prefix) != 0 || comment.len > MOST)
        return comment;
    for (size_t at = 0, end; at < comment.len; at = end) {
        const char *space = memchr(comment.ptr + at + 1, ' ', comment.len - at - 1);
        end = space ? (size_t)(space - comment.ptr) : comment.len;
        size_t gap = comment.ptr[at] == ' ';
        cli_string word = {comment.ptr + at + gap, end - at - gap};
        int64_t nanos;
        size_t name = time_word(word, &nanos);
        size_t copied = gap + (name ? name : word.len);
        memcpy(buf + len, comment.ptr + at, copied);
        len += copied;
        if (name)
            len += strlen(pd_time_format(nanos, buf + len));
        if (len > CLI_COMMENT_MAX / 2) /* room for another word with a time is left */
            return comment;
    }
    return (cli_string){buf, len};
}

/* ---- resident memory ---------------------------------------------------------------------- */

/* The parts of the resident memory of a process, which the heap agent writes as the type
 * rss_space/bytes. The leaf of each of its stacks is the part, a name in brackets.
 *
 *     resident  65.2MiB
 *               36.8MiB  56.4%  [live heap]
 *               21.0MiB  32.2%  [anonymous mappings]
 */
enum { PARTS_MAX = 64 };

typedef struct part {
    int64_t name; /* a string of the profile */
    pprofdelta_sum bytes;
} part;

/* Returns the name of the innermost function of a sample, or 0. */
static int64_t leaf_name(const cli_profile *profile, const Pd__View__Sample *sample)
{
    const Pd__View__Location *leaf =
        sample->n_location_id ? cli_profile_location(profile, sample->location_id[0]) : NULL;
    const Pd__View__Function *function =
        leaf && leaf->n_line ? cli_profile_function(profile, leaf->line[0]->function_id) : NULL;
    return function ? function->name : 0;
}

/* Adds the samples to the parts. Those of a hostile file that have no room go to the last part. */
static size_t add_parts(const cli_profile *profile, size_t column, part parts[PARTS_MAX])
{
    size_t len = 0;
    for (size_t i = 0; i < profile->view->n_sample; i++) {
        const Pd__View__Sample *sample = profile->view->sample[i];
        if (!sample->value[column])
            continue;
        int64_t name = leaf_name(profile, sample);
        size_t at = 0;
        while (at < len && parts[at].name != name)
            at++;
        if (at == PARTS_MAX)
            at--;
        else if (at == len)
            parts[len++] = (part){at < PARTS_MAX - 1 ? name : 0, {0, 0}};
        cli_sum_add(&parts[at].bytes, sample->value[column]);
    }
    return len;
}

static int by_bytes(const void *a, const void *b)
{
    const part *x = a, *y = b;
    int order = cli_sum_compare(y->bytes, x->bytes);
    return order ? order : (x->name > y->name) - (x->name < y->name);
}

static void put_parts(const cli_profile *profile, size_t column, const part *parts, size_t len)
{
    enum { MOST = 12 }; /* the agent writes fewer parts */
    char text[48];
    cli_string unit = cli_profile_unit(profile, column);
    pprofdelta_sum total = cli_profile_total(profile, column);
    printf("resident  %s\n", cli_units_format(total, unit, text));
    for (size_t i = 0; i < len && i < MOST; i++) {
        double share = 100 * cli_sum_double(parts[i].bytes) / cli_sum_double(total);
        printf("          %8s  %5.1f%%  ", cli_units_format(parts[i].bytes, unit, text), share);
        cli_string_put(stdout, cli_profile_string(profile, parts[i].name), CLI_TEXT_SHOWN);
        putchar('\n');
    }
    if (len > MOST)
        puts("          and more: --type rss_space");
}

/* Prints the parts, the largest first, with their sum, which is the resident memory. Prints nothing
 * if the profile has none. */
static void put_resident(const cli_profile *profile)
{
    int column = cli_profile_find_type(profile, cli_string_of("rss_space/bytes"));
    if (column < 0 || cli_sum_is_zero(cli_profile_total(profile, (size_t)column)))
        return;
    part parts[PARTS_MAX];
    size_t len = add_parts(profile, (size_t)column, parts);
    qsort(parts, len, sizeof *parts, by_bytes);
    put_parts(profile, (size_t)column, parts, len);
}

/* ---- the whole heading -------------------------------------------------------------------- */

static void put_line(void *cookie, const char *title, const char *text)
{
    (void)cookie;
    printf("%-10s%s\n", title, text);
}

/* One line for each type: the total, or that before, that now and the change. Totals are those of
 * all samples, whatever the filters keep. */
static void put_totals(const cli_shown *shown)
{
    const cli_types *types = shown->types;
    size_t last = shown->sides - 1;
    const cli_profile *cur = &shown->profiles[last];
    cli_ink ink = cli_screen_ink();
    size_t width = cli_heading_types_width(cur, types->column[last], types->len);
    for (size_t i = 0; i < types->len; i++) {
        char text[CLI_CHANGE_ROOM];
        size_t column = types->column[last][i];
        cli_string unit = cli_profile_unit(cur, column);
        pprofdelta_sum now = cli_profile_total(cur, column);
        fputs(i ? "          " : "total     ", stdout);
        cli_heading_put_type(cur, column, width);
        if (last) {
            pprofdelta_sum before = cli_profile_total(shown->profiles, types->column[0][i]);
            pprofdelta_sum change = cli_sum_minus(now, before);
            printf("  %s", cli_units_format(before, unit, text));
            printf(" -> %s", cli_units_format(now, unit, text));
            printf("  %s%s%s\n", cli_screen_change_ink(&ink, change),
                   cli_units_format_change(change, unit, text), ink.end);
        } else {
            printf("  %s\n", cli_units_format(now, unit, text));
        }
    }
}

static int put_one(const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    char text[48], comment[CLI_COMMENT_MAX];
    cli_heading_put_file(profile, "file");
    cli_otlp_put_heading(profile);
    cli_heading_put_binary(profile, "binary");
    int code = cli_heading_put_libraries(profile);
    if (code)
        return code;
    printf("time      %s\n", view->time_nanos ? pd_time_format(view->time_nanos, text) : "unknown");
    printf("duration  %s\n",
           view->duration_nanos ? cli_span_format(view->duration_nanos, text) : "unknown");
    for (size_t i = 0; i < view->n_comment; i++) {
        fputs("comment   ", stdout);
        cli_string_put(stdout,
                       cli_heading_comment(cli_profile_string(profile, view->comment[i]), comment),
                       CLI_TEXT_SHOWN);
        putchar('\n');
    }
    return CLI_DONE;
}

static void put_two(const cli_profile *profiles)
{
    static const char *const titles[CLI_SIDES] = {"prev", "cur"};
    char text[48];
    for (size_t side = 0; side < CLI_SIDES; side++) {
        int64_t time = profiles[side].view->time_nanos;
        cli_heading_put_file(&profiles[side], titles[side]);
        cli_heading_put_binary(&profiles[side], "");
        printf("          %s\n", time ? pd_time_format(time, text) : "at an unknown time");
    }
    int64_t prev = profiles[0].view->time_nanos, cur = profiles[1].view->time_nanos, span;
    bool is_known = prev && cur && !__builtin_sub_overflow(cur, prev, &span);
    printf("between   %s\n", is_known ? cli_span_format(span, text) : "unknown");
}

int cli_heading_put(const cli_shown *shown)
{
    int code = CLI_DONE;
    if (shown->sides > 1)
        put_two(shown->profiles);
    else
        code = put_one(shown->profiles);
    if (code)
        return code;
    put_totals(shown);
    if (shown->sides == 1 && !shown->only_chosen)
        put_resident(shown->profiles);
    cli_selection_describe(shown, put_line, NULL);
    return CLI_DONE;
}
