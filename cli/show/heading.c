/* What `show` prints about a profile, besides its samples: see shown.h.
 *
 *     file      prev.pb.gz (gzip, 812 samples)
 *     binary    /opt/app, build id 5d4c0f
 *     comment   pprofdelta: delta from=2026-11-21T08:00:00Z to=2026-11-21T08:01:00Z
 *     total     alloc_space/bytes  8.42MiB
 *     kept      40 of 812 samples, 12.3% of alloc_space
 */
#include "show/shown.h"

#include "instant.h"
#include "keep.h"
#include "message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_input(const cli_profile *profile, const char *title)
{
    const char *name = cli_keep_shown(cli_string_of(profile->input.name));
    bool is_named = !strcmp(profile->census.format, "otlp");
    printf("%-10s%s (%s%s, %zu samples%s)\n", title, name,
           is_named ? "OTLP" : profile->census.format,
           profile->request && !is_named ? ", OTLP" : "", profile->samples.len,
           profile->census.is_stamped ? ", a delta" : "");
}

static void put_binary(const cli_profile *profile, const char *title)
{
    const Pd__View__Mapping *binary = profile->view->n_mapping ? profile->view->mapping[0] : NULL;
    if (!binary || (!binary->filename && !binary->build_id))
        return;
    cli_string name = cli_profile_string(profile, binary->filename);
    cli_string build_id = cli_profile_string(profile, binary->build_id);
    printf("%-10s%s%s%s\n", title, name.len ? cli_keep_shown(name) : "(no name)",
           build_id.len ? ", build id " : "", cli_keep_shown(build_id));
}

/* A comment as it is shown: in a stamp of pprofdelta the times are readable. */
static cli_string readable_comment(cli_string comment)
{
    static const char *const times[] = {" from=", " to=", " at="};
    const char *made = "", *rest = cli_keep_string(comment).ptr;
    char *end, time[48];
    if (!cli_string_begins(comment, "pprofdelta: ") || strlen(rest) != comment.len)
        return comment;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const char *at = strstr(rest, times[i]);
        int64_t nanos = at ? strtoll(at + strlen(times[i]), &end, 10) : 0;
        if (!nanos || (*end && *end != ' '))
            continue;
        made = cli_keep_print("%s%.*s%s%s", made, (int)(at - rest), rest, times[i],
                              cli_instant_format(nanos, time));
        rest = end;
    }
    return cli_string_of(cli_keep_print("%s%s", made, rest));
}

/* ---- resident memory ---------------------------------------------------------------------- */

/* The parts of the resident memory of a process, which the heap agent writes as the type
 * rss_space/bytes. The leaf of each of its stacks is the part, a name in brackets.
 *
 *     resident  65.2MiB
 *               36.8MiB  56.4%  [live heap]
 *               21.0MiB  32.2%  [anonymous mappings]
 */
typedef struct resident {
    cli_shown *shown;
    size_t column;
    cli_rank *parts; /* at: the number of the name */
} resident;

static uint64_t add_part(void *cookie, const cli_stack *stack, const cli_sample *sample)
{
    resident *r = cookie;
    const cli_frame *leaf = cli_stack_leaf(r->shown, stack);
    if (leaf)
        cli_sum_add(&r->parts[leaf->name].first, sample->values[r->column]);
    return 0;
}

/* Prints the parts of the samples that are kept, the largest first, with the resident memory above. Prints
 * nothing if the profile has none. */
static void put_resident(cli_shown *shown)
{
    enum { MOST = 12 }; /* the agent writes fewer parts */
    const cli_profile *profile = shown->profiles;
    int type = cli_profile_find_type(profile, cli_string_of("rss_space/bytes"));
    pprofdelta_sum total = type < 0 ? (pprofdelta_sum){0} : profile->samples.totals[type];
    if (cli_sum_is_zero(total))
        return;
    cli_rank *parts = cli_keep(shown->names_len, sizeof *parts);
    for (size_t i = 0; i < shown->names_len; i++)
        parts[i].at = i;
    resident r = {shown, (size_t)type, parts};
    cli_shown_each(shown, 0, add_part, &r);
    qsort(parts, shown->names_len, sizeof *parts, cli_by_rank);
    cli_string unit = cli_profile_unit(profile, (size_t)type);
    char text[48], share[CLI_SHARE_ROOM];
    printf("resident  %s\n", cli_units_format(total, unit, text));
    for (size_t i = 0; i < shown->names_len && !cli_sum_is_zero(parts[i].first); i++) {
        if (i == MOST) {
            puts("          and more: --type rss_space");
            break;
        }
        printf("          %8s  %6s  %s\n", cli_units_format(parts[i].first, unit, text),
               cli_share_format(parts[i].first, total, share),
               cli_keep_shown(shown->names[parts[i].at]));
    }
}

/* ---- the whole heading -------------------------------------------------------------------- */

static size_t type_width(const cli_shown *shown, size_t at)
{
    return cli_string_columns(cli_types_name(shown, at)) + 1 +
           cli_string_columns(cli_types_unit(shown, at));
}

/* One line for each type: the total, or that before, that now and the change. Totals are those of
 * all samples, whatever the filters keep. */
static void put_totals(const cli_shown *shown)
{
    cli_ink ink = cli_screen_ink();
    size_t width = 0;
    for (size_t i = 0; i < shown->types.len; i++)
        width = type_width(shown, i) > width ? type_width(shown, i) : width;
    for (size_t i = 0; i < shown->types.len; i++) {
        char text[CLI_CHANGE_ROOM];
        cli_string unit = cli_types_unit(shown, i);
        pprofdelta_sum first = cli_types_total(shown, 0, i);
        printf("%-10s%s/%s%*s  %s", i ? "" : "total", cli_keep_shown(cli_types_name(shown, i)),
               cli_keep_shown(unit), (int)(width - type_width(shown, i)), "",
               cli_units_format(first, unit, text));
        if (shown->sides > 1) {
            pprofdelta_sum now = cli_types_total(shown, 1, i), change = cli_sum_minus(now, first);
            printf(" -> %s", cli_units_format(now, unit, text));
            printf("  %s%s%s", cli_screen_change_ink(&ink, change),
                   cli_units_format_change(change, unit, text), ink.end);
        }
        putchar('\n');
    }
}

/* What an OTLP request has in addition: the attributes of its first resource, and its scopes. */
static void put_request(const cli_profile *profile)
{
    static const char resource[] =
        "resource  <[resource.attributes|, ><q:key>=<v:value><]>"
        "<!resource.attributes|>(no attributes)<]>\n"
        "<[scope_profiles|><?scope.name|>scope     <q:scope.name> <q:scope.version>\n<]><]>";
    const pprofdelta_census *facts = &profile->census;
    if (!profile->request)
        return;
    size_t len = profile->request->n_resource_profiles;
    if (len)
        cli_record_put(profile, &profile->request->resource_profiles[0]->base, CLI_TEXT_SHOWN,
                       resource);
    printf("profiles  %" PRIu64 " of %zu resource%s, with %" PRIu64
           " attributes of their own and %" PRIu64 " original payloads: --raw\n",
           facts->profiles, len, len == 1 ? "" : "s", facts->other_attributes, facts->payloads);
}

static void put_one(const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    char text[48];
    put_input(profile, "file");
    put_request(profile);
    put_binary(profile, "binary");
    printf("time      %s\n",
           view->time_nanos ? cli_instant_format(view->time_nanos, text) : "unknown");
    printf("duration  %s\n",
           view->duration_nanos ? cli_span_format(view->duration_nanos, text) : "unknown");
    for (size_t i = 0; i < view->n_comment; i++) {
        cli_string whole = cli_profile_string(profile, view->comment[i]);
        if (cli_string_begins(whole, "pprofdelta: targets ")) /* of a merge: long; --raw has it */
            continue;
        printf("comment   %s\n", cli_keep_shown(readable_comment(whole)));
    }
}

static void put_two(const cli_profile *profiles)
{
    char text[48];
    for (size_t side = 0; side < CLI_SIDES; side++) {
        int64_t time = profiles[side].view->time_nanos;
        put_input(&profiles[side], side ? "cur" : "prev");
        put_binary(&profiles[side], "");
        printf("          %s\n", time ? cli_instant_format(time, text) : "at an unknown time");
    }
    int64_t prev = profiles[0].view->time_nanos, cur = profiles[1].view->time_nanos, span;
    bool is_known = prev && cur && !__builtin_sub_overflow(cur, prev, &span);
    printf("between   %s\n", is_known ? cli_span_format(span, text) : "unknown");
}

void cli_heading_put(cli_shown *shown)
{
    cli_progress_end_for_text();
    (shown->sides > 1 ? put_two : put_one)(shown->profiles);
    put_totals(shown);
    if (shown->sides == 1 && !shown->only_chosen)
        put_resident(shown);
    const cli_notes notes = cli_notes_of(shown);
    for (size_t i = 0; i < notes.len; i++)
        printf("%-10s%s\n", notes.list[i].title, notes.list[i].text);
}

void cli_heading_put_caption(cli_shown *shown, size_t most, size_t len, const char *noun,
                             const char *changed)
{
    bool is_change = shown->sides > 1;
    cli_heading_put(shown);
    if (most < len)
        printf("\nthe first %zu of %zu %ss%s, by ", most, len, noun,
               is_change ? " that changed" : "");
    else
        printf("\n%zu %s%s%s, by ", len, noun, len == 1 ? "" : "s", is_change ? changed : "");
    printf("%s%s", shown->is_by_cum ? "cumulative " : "",
           cli_keep_shown(cli_types_name(shown, shown->chosen)));
    if (cli_types_are_zero(shown, shown->chosen))
        printf(": all is 0%s", shown->only_chosen ? "; --type=TYPE shows another type" : "");
}
