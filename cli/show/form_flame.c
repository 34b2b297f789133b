/* pprofdelta show --flame OUT.html: a page with a flame graph, which needs only a browser.
 *
 * The page (show/flame/, which the build makes into flame_page.h) has a place for data: the facts
 * about the profiles, the tree of all stacks (see flame_tree.h) and the values of each type. The
 * browser adds up the subtrees, and turns the tree around for the other views. */
#include "show/shown.h"

#include "cli.h"
#include "instant.h"
#include "flame_page.h"
#include "json.h"
#include "show/flame_tree.h"

typedef struct page {
    FILE *to;
    cli_shown *shown;
    cli_flame_tree tree;
} page;

#define J        CLI_JSON
#define PUT(...) cli_json_put(p->to, CLI_TEXT_SCRIPT, __VA_ARGS__)

static void put_types(page *p, const cli_flame_tree *tree)
{
    size_t last = p->shown->sides - 1;
    fputs(",\n\"types\":[", p->to);
    for (size_t i = 0; i < p->shown->types.len; i++) {
        PUT(i ? ",\n{\"type\":$,\"unit\":$" : "\n{\"type\":$,\"unit\":$",
            J(cli_types_name(p->shown, i)), J(cli_types_unit(p->shown, i)));
        cli_flame_tree_put_values(p->to, tree, last, i);
        if (last)
            cli_flame_tree_put_values(p->to, tree, 0, i);
        fputs("}", p->to);
    }
    fputs("]", p->to);
}

/* The file and the build id of the main binary are empty if they are not known. */
static void put_profile(page *p, const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    const Pd__View__Mapping *binary = view->n_mapping ? view->mapping[0] : NULL;
    char at[48], span[48];
    const char *comma = "";
    int64_t time = view->time_nanos, duration = view->duration_nanos;
    PUT("{\"file\":$,\"time\":$,\"duration\":$,\"samples\":$,\"isDelta\":$,\"comments\":[",
        J(profile->input.name), J(time ? cli_instant_format(time, at) : ""),
        J(duration ? cli_span_format(duration, span) : ""), J(profile->samples.len),
        J((bool)profile->census.is_stamped));
    for (size_t i = 0; i < view->n_comment; i++) {
        cli_string comment = cli_profile_string(profile, view->comment[i]);
        if (cli_string_begins(comment,
                              "pprofdelta: ")) /* the time and the duration say what it means */
            continue;
        fputs(comma, p->to);
        cli_string_put(p->to, comment, CLI_TEXT_SCRIPT);
        comma = ",";
    }
    PUT("],\"binary\":$,\"buildId\":$}",
        J(cli_profile_string(profile, binary ? binary->filename : 0)),
        J(cli_profile_string(profile, binary ? binary->build_id : 0)));
}

static void put_data(FILE *to, void *cookie)
{
    page *p = cookie;
    const cli_notes notes = cli_notes_of(p->shown);
    p->to = to;
    PUT("{\"version\":$,\n\"profiles\":[", J(pprofdelta_version()));
    for (size_t side = 0; side < p->shown->sides; side++) {
        fputs(side ? ",\n" : "", to);
        put_profile(p, &p->shown->profiles[side]);
    }
    fputs("],\n\"notes\":[", to);
    for (size_t i = 0; i < notes.len; i++)
        PUT(i ? ",[$,$]" : "[$,$]", J(notes.list[i].title), J(notes.list[i].text));
    fprintf(to, "],\n\"chosen\":%zu", p->shown->chosen);
    cli_flame_tree_put(to, &p->tree);
    put_types(p, &p->tree);
    fputs("}", to);
}

void cli_show_flame(cli_shown *shown)
{
    page p = {.shown = shown};
    cli_stacks_collect(shown, false);
    p.tree = cli_flame_tree_make(shown);
    cli_page_write(shown->page, "--flame", flame_page_head, flame_page_tail, put_data, &p);
}
