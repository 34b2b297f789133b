/* pprofdelta show --flame OUT.html: a page with a flame graph, which needs only a browser.
 *
 * The page (show/flame/, which the build makes into flame_page.h) has a place for data: the facts
 * about the profiles, the tree of all stacks (see flame_tree.h) and the values of each type. The
 * browser adds up the subtrees, and turns the tree around for the other views. */
#include "show/forms.h"

#include "cli.h"
#include "flame_page.h"
#include "instant.h"
#include "message.h"
#include "show/flame_tree.h"
#include "show/heading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct page {
    cli_page_writer to;
    const cli_shown *shown;
    cli_flame_tree tree;
    const char *comma; /* in front of the next element of a list */
} page;

static void put_types(page *p)
{
    const cli_shown *shown = p->shown;
    const cli_types *types = shown->types;
    size_t last = shown->sides - 1;
    const cli_profile *cur = &shown->profiles[last];
    cli_page_text(&p->to, ",\n\"types\":[");
    for (size_t i = 0; i < types->len; i++) {
        size_t column = types->column[last][i];
        cli_page_text(&p->to, i ? ",\n{\"type\":" : "\n{\"type\":");
        cli_page_string(&p->to, cli_profile_type(cur, column));
        cli_page_text(&p->to, ",\"unit\":");
        cli_page_string(&p->to, cli_profile_unit(cur, column));
        cli_flame_tree_put_values(&p->to, &p->tree, last, column);
        if (last)
            cli_flame_tree_put_values(&p->to, &p->tree, 0, types->column[0][i]);
        cli_page_text(&p->to, "}");
    }
    cli_page_text(&p->to, "]");
}

/* The file and the build id of the main binary; empty if they are not known. */
static void put_binary(page *p, const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    const Pd__View__Mapping *mapping = view->n_mapping ? view->mapping[0] : NULL;
    cli_page_text(&p->to, ",\"binary\":");
    cli_page_string(&p->to, cli_profile_string(profile, mapping ? mapping->filename : 0));
    cli_page_text(&p->to, ",\"buildId\":");
    cli_page_string(&p->to, cli_profile_string(profile, mapping ? mapping->build_id : 0));
}

static void put_profile(page *p, const cli_profile *profile)
{
    cli_page_writer *to = &p->to;
    char text[48], comment[CLI_COMMENT_MAX];
    int64_t time = profile->view->time_nanos, duration = profile->view->duration_nanos;
    cli_page_text(to, "{\"file\":");
    cli_page_string(to, cli_string_of(profile->input.name));
    cli_page_text(to, ",\"time\":");
    cli_page_string(to, cli_string_of(time ? pprofdelta_time_format(time, text) : ""));
    cli_page_text(to, ",\"duration\":");
    cli_page_string(to, cli_string_of(duration ? cli_span_format(duration, text) : ""));
    cli_page_text(to, ",\"samples\":");
    cli_page_number(to, (int64_t)profile->view->n_sample);
    cli_page_text(to, profile->census.is_stamped ? ",\"isDelta\":true" : ",\"isDelta\":false");
    cli_page_text(to, ",\"comments\":[");
    for (size_t i = 0; i < profile->view->n_comment; i++) {
        cli_page_text(to, i ? "," : "");
        cli_string whole = cli_profile_string(profile, profile->view->comment[i]);
        cli_page_string(to, cli_heading_comment(whole, comment));
    }
    cli_page_text(to, "]");
    put_binary(p, profile);
    cli_page_text(to, "}");
}

/* What the filters kept, and what is hidden. */
static void put_note(void *cookie, const char *title, const char *text)
{
    page *p = cookie;
    cli_page_text(&p->to, p->comma);
    cli_page_text(&p->to, "[");
    cli_page_string(&p->to, cli_string_of(title));
    cli_page_text(&p->to, ",");
    cli_page_string(&p->to, cli_string_of(text));
    cli_page_text(&p->to, "]");
    p->comma = ",";
}

static void put_page(page *p)
{
    cli_page_writer *to = &p->to;
    cli_page_put(to, flame_page_head, sizeof flame_page_head);
    cli_page_text(to, "{\"version\":");
    cli_page_string(to, cli_string_of(pprofdelta_version()));
    cli_page_text(to, ",\n\"profiles\":[");
    for (size_t side = 0; side < p->shown->sides; side++) {
        cli_page_text(to, side ? ",\n" : "");
        put_profile(p, &p->shown->profiles[side]);
    }
    cli_page_text(to, "],\n\"notes\":[");
    p->comma = "";
    cli_selection_describe(p->shown, put_note, p);
    cli_page_text(to, "],\n\"chosen\":");
    cli_page_number(to, (int64_t)p->shown->chosen);
    cli_flame_tree_put(to, &p->tree);
    put_types(p);
    cli_page_text(to, "}");
    cli_page_put(to, flame_page_tail, sizeof flame_page_tail);
    cli_page_flush(to);
}

static int make_page(page *p)
{
    int code = cli_flame_tree_make(&p->tree, p->shown);
    if (code)
        return code;
    put_page(p);
    return cli_output_finish(&p->to.output);
}

int cli_show_flame(const cli_shown *shown, const char *path)
{
    if (!strcmp(path, "-") && isatty(STDOUT_FILENO))
        return cli_usage(
            "(stdout): is a terminal, and the page is for a browser: --flame OUT.html");
    page *p = calloc(1, sizeof *p);
    if (!p)
        return cli_system_error(path, "write", ENOMEM);
    p->shown = shown;
    int code = cli_output_prepare_page(&p->to.output, path);
    if (!code) {
        p->to.sink = cli_output_sink(&p->to.output);
        code = make_page(p);
    }
    cli_output_close(&p->to.output);
    cli_flame_tree_free(&p->tree);
    free(p);
    return code;
}
