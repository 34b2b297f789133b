/* The tree of all stacks as the page of --flame reads it: see flame_tree.h. */
#include "show/flame_tree.h"

#include "base/sum.h"
#include "cli.h"
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- labels ------------------------------------------------------------------------------- */

static int compare_strings(const cli_label_ref *a, int64_t x, const cli_label_ref *b, int64_t y)
{
    return cli_string_compare(cli_profile_string(a->profile, x), cli_profile_string(b->profile, y));
}

static int compare_labels(const cli_label_ref *a, const cli_label_ref *b)
{
    const Pd__View__Label *x = a->label, *y = b->label;
    int order = compare_strings(a, x->key, b, y->key);
    if (order)
        return order;
    if (!x->str != !y->str)
        return x->str ? -1 : 1;
    if (x->str)
        return compare_strings(a, x->str, b, y->str);
    if (x->num != y->num)
        return x->num < y->num ? -1 : 1;
    return compare_strings(a, x->num_unit, b, y->num_unit);
}

static int by_label(const void *a, const void *b)
{
    return compare_labels(a, b);
}

static int by_stack(const void *a, const void *b)
{
    const cli_label_ref *x = a, *y = b;
    int order = (x->stack > y->stack) - (x->stack < y->stack);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int compare_sets(const cli_label_set *x, const cli_label_set *y)
{
    size_t len = x->len < y->len ? x->len : y->len;
    for (size_t i = 0; i < len; i++)
        if (x->refs[i].number != y->refs[i].number)
            return x->refs[i].number < y->refs[i].number ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

static int by_set(const void *a, const void *b)
{
    return compare_sets(a, b);
}

static void collect(cli_label_sets *sets, const cli_stacks *stacks)
{
    for (size_t i = 0; i < stacks->len; i++) {
        const cli_stack *stack = &stacks->stacks[i];
        const cli_profile *profile = stacks->selections[stack->side].profile;
        for (size_t k = 0; k < stack->sample->n_label; k++)
            sets->refs[sets->refs_len++] = (cli_label_ref){profile, stack->sample->label[k], i, 0};
    }
}

static void number_labels(cli_label_sets *sets)
{
    qsort(sets->refs, sets->refs_len, sizeof *sets->refs, by_label);
    uint32_t number = 0;
    for (size_t i = 0; i < sets->refs_len; i++) {
        number += i && compare_labels(&sets->refs[i - 1], &sets->refs[i]) != 0;
        sets->refs[i].number = number;
    }
    qsort(sets->refs, sets->refs_len, sizeof *sets->refs, by_stack);
    for (size_t i = 0; i < sets->refs_len; i++)
        sets->labels[sets->refs[i].number] = &sets->refs[i];
    sets->labels_len = sets->refs_len ? number + 1 : 0;
}

static void number_sets(cli_label_sets *sets, size_t stacks)
{
    for (size_t i = 0, at = 0; i < stacks; i++) {
        size_t from = at;
        while (at < sets->refs_len && sets->refs[at].stack == i)
            at++;
        sets->sets[i] = (cli_label_set){sets->refs + from, at - from, i};
    }
    qsort(sets->sets, stacks, sizeof *sets->sets, by_set);
    for (size_t i = 0; i < stacks; i++) {
        cli_label_set set = sets->sets[i];
        if (!i || compare_sets(&sets->sets[sets->sets_len - 1], &set) != 0)
            sets->sets[sets->sets_len++] = set;
        sets->of[set.stack] = (uint32_t)(sets->sets_len - 1);
    }
}

/* Returns false if memory is short. */
static bool make_sets(cli_label_sets *sets, const cli_stacks *stacks)
{
    size_t labels = 0;
    for (size_t i = 0; i < stacks->len; i++)
        labels += stacks->stacks[i].sample->n_label;
    sets->refs = calloc(labels + 1, sizeof *sets->refs);
    sets->labels = calloc(labels + 1, sizeof *sets->labels);
    sets->sets = calloc(stacks->len + 1, sizeof *sets->sets);
    sets->of = calloc(stacks->len + 1, sizeof *sets->of);
    if (!sets->refs || !sets->labels || !sets->sets || !sets->of)
        return false;
    collect(sets, stacks);
    number_labels(sets);
    number_sets(sets, stacks->len);
    return true;
}

static void free_sets(cli_label_sets *sets)
{
    free(sets->refs);
    free((void *)sets->labels);
    free(sets->sets);
    free(sets->of);
}

/* ---- nodes -------------------------------------------------------------------------------- */

static size_t shared(const cli_stack *a, const cli_stack *b)
{
    size_t len = 0;
    while (len < a->len && len < b->len && a->frames[len] == b->frames[len])
        len++;
    return len;
}

/* Takes the place of one more stack that has the node. */
static void add_place(cli_flame_node *node, cli_place place, size_t side, bool is_first)
{
    cli_place none = {cli_string_of(""), 0, cli_string_of(""), false};
    if (is_first || side > node->side) {
        node->place = place;
        node->side = side;
    } else if (side == node->side) {
        if (cli_string_compare(place.file, node->place.file) != 0 ||
            cli_string_compare(place.module, node->place.module) != 0)
            node->place = none;
        else if (place.line != node->place.line)
            node->place.line = 0;
    }
}

/* path[d] is the number of the node at depth d of the stack before, from 1. */
static void add_nodes(cli_flame_tree *tree, size_t at, uint32_t *path)
{
    static const cli_stack root = {.len = 0};
    const cli_stack *stack = &tree->stacks.stacks[at];
    const cli_stack *before = at ? stack - 1 : &root;
    const cli_selection *s = &tree->shown->selections[stack->side];
    size_t depth = shared(before, stack), old = depth, back = before->len - depth;
    for (; depth < stack->len; depth++) {
        tree->nodes[tree->len++] =
            (cli_flame_node){.name = stack->frames[depth], .back = (uint32_t)back, .file = -1};
        path[depth] = (uint32_t)tree->len;
        back = 0;
    }
    for (depth = 0; depth < stack->len; depth++) {
        size_t frame = stack->places[stack->len - 1 - depth];
        add_place(&tree->nodes[path[depth] - 1], cli_place_of(s->profile, &s->symbols, frame),
                  stack->side, depth >= old);
    }
    tree->ends[at] = (cli_flame_end){at, stack->len ? path[stack->len - 1] : 0, tree->sets.of[at]};
}

static int by_node(const void *a, const void *b)
{
    const cli_flame_end *x = a, *y = b;
    int order = (x->node > y->node) - (x->node < y->node);
    return order ? order : (x->set > y->set) - (x->set < y->set);
}

/* ---- files -------------------------------------------------------------------------------- */

static bool has_file(const cli_flame_node *node)
{
    return node->place.file.len || node->place.module.len;
}

static int compare_files(const cli_flame_node *x, const cli_flame_node *y)
{
    bool is_source = x->place.file.len, is_other_source = y->place.file.len;
    if (is_source != is_other_source)
        return is_source ? -1 : 1;
    return is_source ? cli_string_compare(x->place.file, y->place.file)
                     : cli_string_compare(x->place.module, y->place.module);
}

static int by_file(const void *a, const void *b)
{
    cli_flame_node *const *x = a, *const *y = b;
    return compare_files(*x, *y);
}

static void number_files(cli_flame_tree *tree)
{
    size_t len = 0, kept = 0;
    for (size_t i = 0; i < tree->len; i++)
        if (has_file(&tree->nodes[i]))
            tree->files[len++] = &tree->nodes[i];
    qsort(tree->files, len, sizeof *tree->files, by_file);
    for (size_t i = 0; i < len; i++) {
        cli_flame_node *node = tree->files[i];
        if (!kept || compare_files(tree->files[kept - 1], node) != 0)
            tree->files[kept++] = node;
        node->file = (int64_t)kept - 1;
    }
    tree->files_len = kept;
}

/* ---- making ------------------------------------------------------------------------------- */

static bool build(cli_flame_tree *tree)
{
    size_t frames = 0, deepest = 0;
    if (!make_sets(&tree->sets, &tree->stacks))
        return false;
    for (size_t i = 0; i < tree->stacks.len; i++) {
        size_t len = tree->stacks.stacks[i].len;
        frames += len;
        deepest = len > deepest ? len : deepest;
    }
    uint32_t *path = calloc(deepest + 1, sizeof *path);
    tree->nodes = calloc(frames + 1, sizeof *tree->nodes);
    tree->ends = calloc(tree->stacks.len + 1, sizeof *tree->ends);
    bool is_ready = path && tree->nodes && tree->ends;
    for (size_t i = 0; is_ready && i < tree->stacks.len; i++)
        add_nodes(tree, i, path);
    free(path);
    tree->files = calloc(tree->len + 1, sizeof *tree->files);
    if (!is_ready || !tree->files)
        return false;
    qsort(tree->ends, tree->stacks.len, sizeof *tree->ends, by_node);
    number_files(tree);
    return true;
}

int cli_flame_tree_make(cli_flame_tree *tree, const cli_shown *shown)
{
    *tree = (cli_flame_tree){.shown = shown};
    int code = cli_stacks_make(&tree->stacks, shown->selections, shown->sides);
    if (!code && !build(tree))
        code = cli_system_error(shown->profiles[shown->sides - 1].input.name, "show", ENOMEM);
    return code;
}

void cli_flame_tree_free(cli_flame_tree *tree)
{
    free_sets(&tree->sets);
    cli_stacks_free(&tree->stacks);
    free(tree->nodes);
    free(tree->ends);
    free(tree->files);
    *tree = (cli_flame_tree){0};
}

/* ---- writing ------------------------------------------------------------------------------ */

static void put_label(FILE *to, const cli_label_ref *ref)
{
    const Pd__View__Label *label = ref->label;
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, label->num);
    cli_string parts[] = {
        cli_profile_string(ref->profile, label->key), cli_string_of("="),
        label->str ? cli_profile_string(ref->profile, label->str) : cli_string_of(number),
        label->str ? cli_string_of("") : cli_profile_string(ref->profile, label->num_unit)};
    cli_strings_put(to, parts, sizeof parts / sizeof *parts, CLI_TEXT_SCRIPT);
}

static void put_labels(FILE *to, const cli_label_sets *sets)
{
    fputs(",\n\"labels\":[", to);
    for (size_t i = 0; i < sets->labels_len; i++) {
        fputs(i ? "," : "", to);
        put_label(to, sets->labels[i]);
    }
    fputs("],\n\"sets\":[", to);
    for (size_t i = 0; i < sets->sets_len; i++) {
        fputs(i ? ",[" : "[", to);
        for (size_t k = 0; k < sets->sets[i].len; k++)
            fprintf(to, "%s%" PRIu32, k ? "," : "", sets->sets[i].refs[k].number);
        fputs("]", to);
    }
    fputs("]", to);
}

static void put_files(FILE *to, const cli_flame_tree *tree)
{
    fputs(",\n\"files\":[", to);
    for (size_t i = 0; i < tree->files_len; i++) {
        const cli_place *place = &tree->files[i]->place;
        cli_string parts[] = {cli_string_of("["), place->module, cli_string_of("]")};
        fputs(i ? "," : "", to);
        if (place->file.len)
            cli_string_put(to, place->file, CLI_TEXT_SCRIPT);
        else
            cli_strings_put(to, parts, sizeof parts / sizeof *parts, CLI_TEXT_SCRIPT);
    }
    fputs("]", to);
}

typedef enum member { NAME, BACK, FILE_NUMBER, LINE } member;

static int64_t value_of(const cli_flame_node *node, member which)
{
    switch (which) {
    case NAME:
        return node->name;
    case BACK:
        return node->back;
    case FILE_NUMBER:
        return node->file;
    default:
        return node->place.file.len ? node->place.line : 0;
    }
}

/* The 0 at the end of each list is no node: it follows the last comma. */
static void put_members(FILE *to, const cli_flame_tree *tree, const char *title, member which)
{
    fputs(title, to);
    for (size_t i = 0; i < tree->len; i++)
        fprintf(to, "%" PRId64 ",", value_of(&tree->nodes[i], which));
    fputs("0]", to);
}

void cli_flame_tree_put(FILE *to, const cli_flame_tree *tree)
{
    fputs(",\n\"names\":[", to);
    for (size_t i = 0; i < tree->stacks.names_len; i++) {
        fputs(i ? "," : "", to);
        cli_string_put(to, tree->stacks.names[i], CLI_TEXT_SCRIPT);
    }
    fputs("]", to);
    put_members(to, tree, ",\n\"name\":[", NAME);
    put_members(to, tree, ",\n\"back\":[", BACK);
    put_files(to, tree);
    put_members(to, tree, ",\n\"file\":[", FILE_NUMBER);
    put_members(to, tree, ",\n\"line\":[", LINE);
    put_labels(to, &tree->sets);
}

/* The values above 0 and below of one column, or the set of each. */
static void put_column(FILE *to, const cli_flame_tree *tree, size_t side, size_t column,
                       bool is_sets)
{
    const char *comma = "";
    uint32_t last = 0;
    for (size_t at = 0, end; at < tree->stacks.len; at = end) {
        const cli_flame_end *first = &tree->ends[at];
        pprofdelta_sum sum = {0};
        char text[48];
        for (end = at; end < tree->stacks.len && !by_node(first, &tree->ends[end]); end++) {
            const cli_stack *stack = &tree->stacks.stacks[tree->ends[end].stack];
            if (stack->side == side)
                cli_sum_add(&sum, stack->values[column]);
        }
        if (cli_sum_is_zero(sum))
            continue;
        if (is_sets)
            fprintf(to, "%s%" PRIu32, comma, first->set);
        else
            fprintf(to, "%s%" PRIu32 ",%s", comma, first->node - last, pd_sum_format(sum, text));
        last = first->node;
        comma = ",";
    }
    fputs("]", to);
}

void cli_flame_tree_put_values(FILE *to, const cli_flame_tree *tree, size_t side, size_t column)
{
    bool is_now = side + 1 == tree->shown->sides;
    fputs(is_now ? ",\"self\":[" : ",\"before\":[", to);
    put_column(to, tree, side, column, false);
    if (tree->sets.sets_len < 2)
        return;
    fputs(is_now ? ",\"set\":[" : ",\"setBefore\":[", to);
    put_column(to, tree, side, column, true);
}
