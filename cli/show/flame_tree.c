/* The pages for a browser, and the tree of all stacks that they read: see flame_tree.h. */
#include "show/flame_tree.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- labels ------------------------------------------------------------------------------- */

/* A text of three parts. */
static cli_string join_texts(cli_string a, cli_string b, cli_string c)
{
    char *text = cli_keep(a.len + b.len + c.len, 1);
    memcpy(text, a.ptr, a.len);
    memcpy(text + a.len, b.ptr, b.len);
    memcpy(text + a.len + b.len, c.ptr, c.len);
    return (cli_string){text, a.len + b.len + c.len};
}

/* "user=x" or "bytes=64bytes". */
static cli_string text_of(const cli_profile *profile, const Pd__View__Label *label)
{
    char number[24] = "=";
    cli_string key = cli_profile_string(profile, label->key);
    if (label->str)
        return join_texts(key, cli_string_of("="), cli_profile_string(profile, label->str));
    snprintf(number, sizeof number, "=%" PRId64, label->num);
    return join_texts(key, cli_string_of(number), cli_profile_string(profile, label->num_unit));
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The number of the bytes in the order in which they were found. They are kept, or dropped if they are not
 * new. */
static uint32_t number_of(cli_flame_texts *f, cli_string bytes)
{
    size_t number = cli_numbers_of(&f->numbers, cli_key_of(bytes.ptr, bytes.len), f->list_len);
    if (number < f->list_len) {
        cli_drop((char *)bytes.ptr);
        return (uint32_t)number;
    }
    CLI_KEEP_MORE(f->list, 1);
    f->list[f->list_len++] = bytes;
    return (uint32_t)number;
}

/* The number of the set of the sample's labels. */
static uint32_t find_set(cli_flame_tree *tree, const cli_stack *stack)
{
    cli_sample sample;
    cli_sample_read(stack->sample, &sample);
    Pd__View__Sample *message = sample.has_labels ? cli_sample_unpack(&sample) : NULL;
    size_t len = message ? message->n_label : 0;
    uint32_t *set = cli_keep(len, sizeof *set);
    for (size_t i = 0; i < len; i++)
        set[i] = number_of(&tree->labels,
                           text_of(&tree->shown->profiles[stack->side], message->label[i]));
    qsort(set, len, sizeof *set, by_number);
    cli_sample_drop(message);
    return number_of(&tree->sets, (cli_string){(const char *)set, len * sizeof *set});
}

/* ---- nodes -------------------------------------------------------------------------------- */

/* The nodes of a stack, root first, by their numbers from 1. */
typedef struct path {
    uint32_t *list;
    size_t list_len, list_cap;
} path;

static const cli_frame *frame_of(const cli_flame_tree *tree, const cli_flame_node *node)
{
    return &tree->shown->frames[node->frame];
}

/* Takes the place of one more stack that has the node. */
static void add_place(const cli_flame_tree *tree, cli_flame_node *node, const cli_frame *frame)
{
    const cli_shown *shown = tree->shown;
    const cli_frame *first = frame_of(tree, node), *second = shown->sources[1].frames;
    cli_frame_text place = first->text;
    if (frame == first)
        return;
    if (shown->sides > 1 && first < second && frame >= second) {
        *node = (cli_flame_node){.frame = (uint32_t)(frame - shown->frames), .back = node->back};
    } else if (shown->sides < 2 || (first < second) == (frame < second)) {
        cli_frame_join_places(&place, &frame->text);
        node->has_lines |= place.line != first->text.line;
        node->has_files |=
            place.file.len != first->text.file.len || place.module.len != first->text.module.len;
    }
}

/* p is the path of the stack before. */
static void add_nodes(cli_flame_tree *tree, size_t at, path *p)
{
    const cli_shown *shown = tree->shown;
    const cli_frame *frame;
    size_t depth = 0, before = p->list_len;
    bool is_old = true;
    for (cli_walk w = cli_walk_from_root(shown, &shown->stacks[at]); (frame = cli_walk_next(&w));) {
        is_old = is_old && depth < before &&
                 frame_of(tree, &tree->nodes[p->list[depth] - 1])->name == frame->name;
        if (is_old) {
            add_place(tree, &tree->nodes[p->list[depth++] - 1], frame);
            continue;
        }
        CLI_KEEP_MORE(tree->nodes, 1);
        tree->nodes[tree->nodes_len++] =
            (cli_flame_node){.frame = (uint32_t)(frame - shown->frames),
                             .back = (uint32_t)(before - depth) & ~0u >> 2};
        p->list_len = depth;
        CLI_KEEP_MORE(p->list, 1);
        p->list[depth++] = (uint32_t)tree->nodes_len;
        before = depth;
    }
    p->list_len = depth;
    tree->ends[at].node = depth ? p->list[depth - 1] : 0;
}

static int by_node(const void *a, const void *b)
{
    const cli_flame_end *x = a, *y = b;
    int order = (x->node > y->node) - (x->node < y->node);
    return order ? order : (x->set > y->set) - (x->set < y->set);
}

cli_flame_tree cli_flame_tree_make(const cli_shown *shown)
{
    cli_flame_tree tree = {.shown = shown};
    path p = {.list = NULL};
    tree.ends = cli_keep(shown->len, sizeof *tree.ends);
    for (size_t i = 0; i < shown->len; i++) {
        tree.ends[i] =
            (cli_flame_end){.stack = (uint32_t)i, .set = find_set(&tree, &shown->stacks[i])};
        add_nodes(&tree, i, &p);
    }
    qsort(tree.ends, shown->len, sizeof *tree.ends, by_node);
    return tree;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Writes the names that a node has, and the names of the nodes. */
static void put_names(FILE *to, const cli_flame_tree *tree)
{
    const cli_shown *shown = tree->shown;
    size_t *number_1 = cli_keep(shown->names_len, sizeof *number_1), len = 0;
    for (size_t i = 0; i < tree->nodes_len; i++)
        number_1[frame_of(tree, &tree->nodes[i])->name] = 1;
    fputs(",\n\"names\":[", to);
    for (size_t i = 0; i < shown->names_len; i++) {
        if (!number_1[i])
            continue;
        fputs(len ? "," : "", to);
        cli_string_put(to, shown->names[i], CLI_TEXT_SCRIPT);
        number_1[i] = ++len;
    }
    fputs("],\n\"name\":[", to);
    for (size_t i = 0; i < tree->nodes_len; i++)
        fprintf(to, "%zu,", number_1[frame_of(tree, &tree->nodes[i])->name] - 1);
    fputs("0]", to);
}

static void put_texts(FILE *to, const char *title, const cli_flame_texts *texts)
{
    fputs(title, to);
    for (size_t i = 0; i < texts->list_len; i++) {
        fputs(i ? "," : "", to);
        cli_string_put(to, texts->list[i], CLI_TEXT_SCRIPT);
    }
    fputs("]", to);
}

static void put_sets(FILE *to, const cli_flame_texts *sets)
{
    fputs(",\n\"sets\":[", to);
    for (size_t i = 0; i < sets->list_len; i++) {
        const uint32_t *labels = (const void *)sets->list[i].ptr;
        fputs(i ? ",[" : "[", to);
        for (size_t k = 0; k < sets->list[i].len / sizeof *labels; k++)
            fprintf(to, "%s%" PRIu32, k ? "," : "", labels[k]);
        fputs("]", to);
    }
    fputs("]", to);
}

/* The number of "src/main.c" or "[libx.so]"; -1: it is not known. */
static int64_t file_of(cli_flame_texts *files, const cli_frame_text *frame)
{
    static const cli_string none = {"", 0}, begin = {"[", 1}, end = {"]", 1};
    return frame->file.len     ? (int64_t)number_of(files, join_texts(none, frame->file, none))
           : frame->module.len ? (int64_t)number_of(files, join_texts(begin, frame->module, end))
                               : -1;
}

/* The 0 at the end of each list is no node: it follows the last comma. */
void cli_flame_tree_put(FILE *to, const cli_flame_tree *tree)
{
    cli_flame_texts files = {.list = NULL};
    put_names(to, tree);
    fputs(",\n\"back\":[", to);
    for (size_t i = 0; i < tree->nodes_len; i++)
        fprintf(to, "%u,", (unsigned)tree->nodes[i].back);
    fputs("0],\n\"file\":[", to);
    for (size_t i = 0; i < tree->nodes_len; i++) {
        const cli_flame_node *node = &tree->nodes[i];
        fprintf(to, "%" PRId64 ",",
                node->has_files ? -1 : file_of(&files, &frame_of(tree, node)->text));
    }
    put_texts(to, "0],\n\"files\":[", &files);
    fputs(",\n\"line\":[", to);
    for (size_t i = 0; i < tree->nodes_len; i++) {
        const cli_flame_node *node = &tree->nodes[i];
        const cli_frame_text *frame = &frame_of(tree, node)->text;
        bool is_shown = frame->file.len && !node->has_files && !node->has_lines;
        fprintf(to, "%" PRId64 ",", is_shown ? frame->line : 0);
    }
    put_texts(to, "0],\n\"labels\":[", &tree->labels);
    put_sets(to, &tree->sets);
}

/* The values above 0 and below of a type, or the set of each. */
static void put_column(FILE *to, const char *title, const cli_flame_tree *tree, size_t side,
                       size_t type, bool is_sets)
{
    const cli_shown *shown = tree->shown;
    const char *comma = "";
    uint32_t last = 0;
    fputs(title, to);
    for (size_t at = 0, end; at < shown->len; at = end) {
        const cli_flame_end *first = &tree->ends[at];
        pprofdelta_sum sum = {0};
        char text[48];
        for (end = at; end < shown->len && !by_node(first, &tree->ends[end]); end++) {
            const cli_stack *stack = &shown->stacks[tree->ends[end].stack];
            if (stack->side == side)
                cli_sum_add(&sum, cli_stack_value(shown, stack, type));
        }
        if (cli_sum_is_zero(sum))
            continue;
        if (is_sets)
            fprintf(to, "%s%" PRIu32, comma, first->set);
        else
            fprintf(to, "%s%" PRIu32 ",%s", comma, first->node - last, cli_sum_format(sum, text));
        last = first->node;
        comma = ",";
    }
    fputs("]", to);
}

void cli_flame_tree_put_values(FILE *to, const cli_flame_tree *tree, size_t side, size_t type)
{
    bool is_now = side + 1 == tree->shown->sides;
    put_column(to, is_now ? ",\"self\":[" : ",\"before\":[", tree, side, type, false);
    if (tree->sets.list_len > 1)
        put_column(to, is_now ? ",\"set\":[" : ",\"setBefore\":[", tree, side, type, true);
}

/* ---- the page ------------------------------------------------------------------------------- */

static ssize_t write_bytes(void *output, const char *bytes, size_t len)
{
    cli_output_write(output, bytes, len);
    return (ssize_t)len;
}

void cli_page_write(const char *out, const char *option, const char *head, const char *tail,
                    void (*put)(FILE *to, void *cookie), void *cookie)
{
    static cli_output output = {.fd = -1, .is_page = true};
    if (!strcmp(out, "-") && isatty(STDOUT_FILENO))
        cli_usage("(stdout): is a terminal, and the page is for a browser: %s OUT.html", option);
    cli_must(cli_output_prepare(&output, out));
    FILE *to = fopencookie(&output, "w", (cookie_io_functions_t){.write = write_bytes});
    if (!to)
        cli_must(cli_system_error(output.name, "write", ENOMEM));
    fputs(head, to);
    put(to, cookie);
    fputs(tail, to);
    fclose(to);
    cli_must(cli_output_finish(&output));
    cli_output_close(&output);
}
