/* The tree of all stacks as the page of --flame reads it: see flame_tree.h. */
#include "show/flame_tree.h"

#include "keep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- labels ------------------------------------------------------------------------------- */

/* A text of three parts. */
static cli_string join(cli_string a, cli_string b, cli_string c)
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
        return join(key, cli_string_of("="), cli_profile_string(profile, label->str));
    snprintf(number, sizeof number, "=%" PRId64, label->num);
    return join(key, cli_string_of(number), cli_profile_string(profile, label->num_unit));
}

static void number_texts(cli_flame_texts *to, const cli_string *texts, size_t len)
{
    to->of = cli_keep(len, sizeof *to->of);
    to->texts = cli_keep_numbered(texts, len, to->of, &to->len);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* "3,7": the sorted numbers of a set of labels. */
static cli_string set_of(uint32_t *labels, size_t len)
{
    enum { DIGITS = 11 };
    char *text = cli_keep(len * DIGITS + 1, 1), *end = text;
    qsort(labels, len, sizeof *labels, by_number);
    for (size_t i = 0; i < len; i++)
        end += sprintf(end, "%s%" PRIu32, i ? "," : "", labels[i]);
    return (cli_string){text, (size_t)(end - text)};
}

static void number_labels(cli_flame_tree *tree)
{
    const cli_shown *shown = tree->shown;
    size_t len = 0;
    for (size_t i = 0; i < shown->len; i++)
        len += shown->stacks[i].sample->n_label;
    cli_string *texts = cli_keep(len, sizeof *texts), *to = texts;
    for (size_t i = 0; i < shown->len; i++) {
        const cli_stack *stack = &shown->stacks[i];
        for (size_t k = 0; k < stack->sample->n_label; k++)
            *to++ = text_of(&shown->profiles[stack->side], stack->sample->label[k]);
    }
    number_texts(&tree->labels, texts, len);
    cli_string *sets = cli_keep(shown->len, sizeof *sets);
    uint32_t *of = tree->labels.of;
    for (size_t i = 0; i < shown->len; i++) {
        sets[i] = set_of(of, shown->stacks[i].sample->n_label);
        of += shown->stacks[i].sample->n_label;
    }
    number_texts(&tree->sets, sets, shown->len);
}

/* ---- nodes -------------------------------------------------------------------------------- */

/* The number of names that both stacks begin with, at the root. */
static size_t count_shared(const cli_stack *a, const cli_stack *b)
{
    size_t len = 0;
    while (len < a->len && len < b->len &&
           a->frames[a->len - 1 - len]->name == b->frames[b->len - 1 - len]->name)
        len++;
    return len;
}

/* Takes the place of one more stack that has the node. */
static void add_place(cli_flame_node *node, const cli_frame_text *frame, size_t side, bool is_first)
{
    if (!is_first && side == node->side) {
        cli_frame_join_places(&node->frame, frame);
    } else if (is_first || side > node->side) {
        node->frame = *frame;
        node->side = side;
    }
}

/* path[d] is the number of the node at depth d of the stack before, from 1. */
static void add_nodes(cli_flame_tree *tree, size_t at, uint32_t *path)
{
    static const cli_stack root = {.len = 0};
    const cli_stack *stack = &tree->shown->stacks[at];
    const cli_stack *before = at ? stack - 1 : &root;
    size_t old = count_shared(before, stack);
    for (size_t depth = 0; depth < stack->len; depth++) {
        const cli_frame *frame = stack->frames[stack->len - 1 - depth];
        if (depth >= old) {
            size_t back = depth == old ? before->len - old : 0;
            tree->nodes[tree->len++] = (cli_flame_node){.name = frame->name, .back = back};
            path[depth] = (uint32_t)tree->len;
        }
        add_place(&tree->nodes[path[depth] - 1], &frame->text, stack->side, depth >= old);
    }
    tree->ends[at] = (cli_flame_end){at, stack->len ? path[stack->len - 1] : 0, tree->sets.of[at]};
}

static int by_node(const void *a, const void *b)
{
    const cli_flame_end *x = a, *y = b;
    int order = (x->node > y->node) - (x->node < y->node);
    return order ? order : (x->set > y->set) - (x->set < y->set);
}

/* "src/main.c", "[libx.so]" or "". */
static void number_files(cli_flame_tree *tree)
{
    cli_string *texts = cli_keep(tree->len, sizeof *texts);
    for (size_t i = 0; i < tree->len; i++) {
        const cli_frame_text *frame = &tree->nodes[i].frame;
        texts[i] = frame->file;
        if (!frame->file.len && frame->module.len)
            texts[i] = join(cli_string_of("["), frame->module, cli_string_of("]"));
    }
    number_texts(&tree->files, texts, tree->len);
}

cli_flame_tree cli_flame_tree_make(cli_shown *shown)
{
    cli_flame_tree tree = {.shown = shown};
    size_t frames = 0;
    cli_shown_sort(shown, cli_stacks_by_names);
    number_labels(&tree);
    for (size_t i = 0; i < shown->len; i++)
        frames += shown->stacks[i].len;
    tree.nodes = cli_keep(frames, sizeof *tree.nodes);
    tree.ends = cli_keep(shown->len, sizeof *tree.ends);
    uint32_t *path = cli_keep(frames, sizeof *path);
    for (size_t i = 0; i < shown->len; i++)
        add_nodes(&tree, i, path);
    qsort(tree.ends, shown->len, sizeof *tree.ends, by_node);
    number_files(&tree);
    return tree;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Writes the names that a node has, and the names of the nodes. */
static void put_names(FILE *to, const cli_flame_tree *tree)
{
    const cli_shown *shown = tree->shown;
    size_t *number_1 = cli_keep(shown->names_len, sizeof *number_1), len = 0;
    for (size_t i = 0; i < tree->len; i++)
        number_1[tree->nodes[i].name] = 1;
    fputs(",\n\"names\":[", to);
    for (size_t i = 0; i < shown->names_len; i++) {
        if (!number_1[i])
            continue;
        fputs(len ? "," : "", to);
        cli_string_put(to, shown->names[i], CLI_TEXT_SCRIPT);
        number_1[i] = ++len;
    }
    fputs("],\n\"name\":[", to);
    for (size_t i = 0; i < tree->len; i++)
        fprintf(to, "%zu,", number_1[tree->nodes[i].name] - 1);
    fputs("0]", to);
}

static void put_texts(FILE *to, const char *title, const cli_flame_texts *texts, size_t from)
{
    fputs(title, to);
    for (size_t i = from; i < texts->len; i++) {
        fputs(i > from ? "," : "", to);
        cli_string_put(to, texts->texts[i], CLI_TEXT_SCRIPT);
    }
    fputs("]", to);
}

/* The 0 at the end of each list is no node: it follows the last comma. */
void cli_flame_tree_put(FILE *to, const cli_flame_tree *tree)
{
    size_t without = tree->files.len && !tree->files.texts[0].len;
    put_names(to, tree);
    fputs(",\n\"back\":[", to);
    for (size_t i = 0; i < tree->len; i++)
        fprintf(to, "%zu,", tree->nodes[i].back);
    put_texts(to, "0],\n\"files\":[", &tree->files, without);
    fputs(",\n\"file\":[", to);
    for (size_t i = 0; i < tree->len; i++)
        fprintf(to, "%" PRId64 ",", (int64_t)tree->files.of[i] - (int64_t)without);
    fputs("0],\n\"line\":[", to);
    for (size_t i = 0; i < tree->len; i++) {
        const cli_frame_text *frame = &tree->nodes[i].frame;
        fprintf(to, "%" PRId64 ",", frame->file.len ? frame->line : 0);
    }
    put_texts(to, "0],\n\"labels\":[", &tree->labels, 0);
    fputs(",\n\"sets\":[", to);
    for (size_t i = 0; i < tree->sets.len; i++)
        fprintf(to, "%s[%.*s]", i ? "," : "", (int)tree->sets.texts[i].len,
                tree->sets.texts[i].ptr);
    fputs("]", to);
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
                cli_sum_add(&sum, stack->sample->value[shown->types.column[side][type]]);
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
    if (tree->sets.len > 1)
        put_column(to, is_now ? ",\"set\":[" : ",\"setBefore\":[", tree, side, type, true);
}
