/* pprofdelta show --flame OUT.html: a page with a flame graph, which needs only a browser.
 *
 * The page (show/flame/, which the build makes into flame_page.h) has a place for data: the tree of
 * all stacks, in which each node comes after its parent.
 *
 *     names  ["main", "parse", "serve"]       the distinct names
 *     name   [   0,      2,       1    ]      of each node but the root: main, serve, parse
 *     back   [   0,      0,       0    ]      steps up from the node before to the parent
 *     self   [   2,    2048    ]              for each type: node, value, node, value, ...; only
 *                                             nodes with a value; each node as its distance from
 *                                             the last one; the root is node 0
 *
 * The stacks are sorted, so comparing each with the one before gives the tree. The browser adds up
 * the subtrees. */
#include "show/forms.h"

#include "cli.h"
#include "flame_page.h"
#include "instant.h"
#include "message.h"
#include "output_file.h"
#include "show/heading.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 64 * 1024 };

typedef struct page {
    cli_output output;
    pprofdelta_sink sink;
    const cli_shown *shown;
    const cli_profile *profiles; /* those of shown */
    size_t sides;
    const cli_types *types;
    cli_stacks stacks;
    uint32_t *nodes;   /* the node at which stacks.stacks[i] ends; 0 is the root */
    const char *comma; /* in front of the next element of a list */
    size_t len;
    char bytes[ROOM];
} page;

/* ---- bytes -------------------------------------------------------------------------------- */

/* A failure stays in output.failure; nothing is written after it. */
static void flush(page *p)
{
    if (p->len && !p->output.failure && !p->output.is_unread)
        p->sink.write(p->sink.cookie, p->bytes, p->len);
    p->len = 0;
}

static void put(page *p, const char *bytes, size_t len)
{
    while (len) {
        size_t part = len < ROOM - p->len ? len : ROOM - p->len;
        memcpy(p->bytes + p->len, bytes, part);
        p->len += part;
        bytes += part;
        len -= part;
        if (p->len == ROOM)
            flush(p);
    }
}

static void put_text(page *p, const char *text)
{
    put(p, text, strlen(text));
}

static void put_number(page *p, uint64_t number)
{
    char text[24];
    put(p, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, number));
}

/* Writes a JSON string. '<' is always escaped, so that the string cannot end the script element. */
static void put_string(page *p, cli_string text)
{
    put_text(p, "\"");
    for (size_t at = 0; at < text.len;) {
        cli_glyph glyph = cli_text_next(text.ptr + at, text.len - at, CLI_TEXT_JSON);
        if (text.ptr[at] == '<')
            put_text(p, "\\u003c");
        else
            put(p, glyph.bytes, glyph.len);
        at += glyph.taken;
    }
    put_text(p, "\"");
}

/* ---- the tree ----------------------------------------------------------------------------- */

static size_t shared(const cli_stack *a, const cli_stack *b)
{
    size_t len = 0;
    while (len < a->len && len < b->len && a->frames[len] == b->frames[len])
        len++;
    return len;
}

/* Calls visit for each node in order, with its name and the steps up from the node before. */
static void walk(page *p, void (*visit)(page *p, uint32_t name, size_t back))
{
    static const cli_stack root = {.len = 0};
    const cli_stack *before = &root;
    uint32_t node = 0;
    for (size_t i = 0; i < p->stacks.len; i++) {
        const cli_stack *stack = &p->stacks.stacks[i];
        size_t depth = shared(before, stack), back = before->len - depth;
        for (; depth < stack->len; depth++) {
            visit(p, stack->frames[depth], back);
            back = 0;
            node++;
        }
        p->nodes[i] = node; /* equal stacks are adjacent and share the last node */
        before = stack;
    }
}

static void put_name_number(page *p, uint32_t name, size_t back)
{
    (void)back;
    put_number(p, name);
    put_text(p, ",");
}

static void put_back(page *p, uint32_t name, size_t back)
{
    (void)name;
    put_number(p, back);
    put_text(p, ",");
}

/* The 0 at the end of each list is no node: it follows the last comma. */
static void put_tree(page *p)
{
    put_text(p, ",\n\"names\":[");
    for (size_t i = 0; i < p->stacks.names_len; i++) {
        put_text(p, i ? "," : "");
        put_string(p, p->stacks.names[i]);
    }
    put_text(p, "],\n\"name\":[");
    walk(p, put_name_number);
    put_text(p, "0],\n\"back\":[");
    walk(p, put_back);
    put_text(p, "0]");
}

static void put_values(page *p, const char *title, size_t side, size_t column)
{
    const char *comma = "";
    uint32_t last = 0;
    put_text(p, ",\"");
    put_text(p, title);
    put_text(p, "\":[");
    for (size_t at = 0, end; at < p->stacks.len; at = end) {
        char text[48];
        end = cli_stacks_group_end(&p->stacks, at);
        pprofdelta_sum sum = cli_stacks_group_sum(&p->stacks, at, end, side, column);
        if (!sum.lo && !sum.hi)
            continue;
        put_text(p, comma);
        put_number(p, p->nodes[at] - last);
        put_text(p, ",");
        put_text(p, pprofdelta_sum_format(sum, text));
        last = p->nodes[at];
        comma = ",";
    }
    put_text(p, "]");
}

/* ---- types and profiles ---------------------------------------------------------------- */

static void put_types(page *p)
{
    const cli_profile *cur = &p->profiles[p->sides - 1];
    put_text(p, ",\n\"types\":[");
    for (size_t i = 0; i < p->types->len; i++) {
        size_t column = p->types->column[p->sides - 1][i];
        put_text(p, i ? ",\n{\"type\":" : "\n{\"type\":");
        put_string(p, cli_profile_type(cur, column));
        put_text(p, ",\"unit\":");
        put_string(p, cli_profile_unit(cur, column));
        put_values(p, "self", p->sides - 1, column);
        if (p->sides > 1)
            put_values(p, "before", 0, p->types->column[0][i]);
        put_text(p, "}");
    }
    put_text(p, "]");
}

/* The file and the build id of the main binary; empty if they are not known. */
static void put_binary(page *p, const cli_profile *profile)
{
    const Pd__View__Profile *view = profile->view;
    const Pd__View__Mapping *mapping = view->n_mapping ? view->mapping[0] : NULL;
    put_text(p, ",\"binary\":");
    put_string(p, cli_profile_string(profile, mapping ? mapping->filename : 0));
    put_text(p, ",\"buildId\":");
    put_string(p, cli_profile_string(profile, mapping ? mapping->build_id : 0));
}

static void put_profile(page *p, const cli_profile *profile)
{
    char text[48], comment[CLI_COMMENT_MAX];
    int64_t time = profile->view->time_nanos, duration = profile->view->duration_nanos;
    put_text(p, "{\"file\":");
    put_string(p, cli_string_of(profile->input.name));
    put_text(p, ",\"time\":");
    put_string(p, cli_string_of(time ? pprofdelta_time_format(time, text) : ""));
    put_text(p, ",\"duration\":");
    put_string(p, cli_string_of(duration ? cli_span_format(duration, text) : ""));
    put_text(p, ",\"samples\":");
    put_number(p, profile->view->n_sample);
    put_text(p, profile->census.is_stamped ? ",\"isDelta\":true" : ",\"isDelta\":false");
    put_text(p, ",\"comments\":[");
    for (size_t i = 0; i < profile->view->n_comment; i++) {
        put_text(p, i ? "," : "");
        put_string(p, cli_heading_comment(cli_profile_string(profile, profile->view->comment[i]),
                                          comment));
    }
    put_text(p, "]");
    put_binary(p, profile);
    put_text(p, "}");
}

/* What the filters kept, and what is hidden. */
static void put_note(void *cookie, const char *title, const char *text)
{
    page *p = cookie;
    put_text(p, p->comma);
    put_text(p, "[");
    put_string(p, cli_string_of(title));
    put_text(p, ",");
    put_string(p, cli_string_of(text));
    put_text(p, "]");
    p->comma = ",";
}

static void put_page(page *p)
{
    put(p, flame_page_head, sizeof flame_page_head);
    put_text(p, "{\"version\":");
    put_string(p, cli_string_of(pprofdelta_version()));
    put_text(p, ",\n\"profiles\":[");
    for (size_t side = 0; side < p->sides; side++) {
        put_text(p, side ? ",\n" : "");
        put_profile(p, &p->profiles[side]);
    }
    put_text(p, "],\n\"notes\":[");
    p->comma = "";
    cli_selection_describe(p->shown, put_note, p);
    put_text(p, "],\n\"chosen\":");
    put_number(p, p->shown->chosen);
    put_tree(p);
    put_types(p);
    put_text(p, "}");
    put(p, flame_page_tail, sizeof flame_page_tail);
    flush(p);
}

static int make_page(page *p)
{
    int code = cli_stacks_make(&p->stacks, p->shown->selections, p->sides);
    if (code)
        return code;
    p->nodes = calloc(p->stacks.len + 1, sizeof *p->nodes);
    if (!p->nodes)
        return cli_system_error(p->profiles[p->sides - 1].input.name, "show", ENOMEM);
    put_page(p);
    return cli_output_finish(&p->output);
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
    p->profiles = shown->profiles;
    p->sides = shown->sides;
    p->types = shown->types;
    int code = cli_output_prepare_page(&p->output, path);
    if (!code) {
        p->sink = cli_output_sink(&p->output);
        code = make_page(p);
    }
    cli_output_close(&p->output);
    cli_stacks_free(&p->stacks);
    free(p->nodes);
    free(p);
    return code;
}
