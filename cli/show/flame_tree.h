/* The tree of all stacks as the page of --flame reads it. Each node comes after its parent.
 *
 *     names  ["main", "parse", "serve"]       the distinct names
 *     name   [   0,      2,       1    ]      of each node but the root: main, serve, parse
 *     back   [   0,      0,       0    ]      steps up from the node before to the parent
 *     files  ["src/main.c", "[libx.so]"]      source files, and files of mappings in brackets
 *     file   [   0,      0,       1    ]      of each node: an index into files, or -1
 *     line   [  12,    120,       0    ]      of each node, or 0
 *     labels ["user=x", "user=y"]             the distinct labels
 *     sets   [[], [0], [1]]                   the distinct sets of them
 *     self   [   2,    2048    ]              for each type: node, value, node, value, ...; only
 *                                             nodes with a value; each node as its distance from
 *                                             the last one; the root is node 0
 *     set    [   1             ]              for each type: the set of each value in self;
 *                                             missing if there is only one set
 *     before, setBefore                       the same of PREV, where there are two profiles
 *
 * A node of which the samples have several lines has the line 0, and with several files the file -1.
 * Of PREV and CUR, those of CUR count. The stacks are sorted, so comparing each with the one before
 * gives the tree. */
#ifndef CLI_SHOW_FLAME_TREE_H
#define CLI_SHOW_FLAME_TREE_H

#include "show/shown.h"

#include <stdio.h>

/* The distinct labels of the stacks, and the distinct sets of them. The numbers are in the order of
 * the labels' bytes, so they do not depend on the order of the samples. */
typedef struct cli_label_ref {
    const cli_profile *profile;
    const Pd__View__Label *label;
    size_t stack;
    uint32_t number; /* of the distinct label */
} cli_label_ref;

typedef struct cli_label_set {
    const cli_label_ref *refs; /* sorted by number */
    size_t len;
    size_t stack;
} cli_label_set;

typedef struct cli_label_sets {
    cli_label_ref *refs;
    size_t refs_len;
    const cli_label_ref **labels; /* one of each distinct label */
    size_t labels_len;
    cli_label_set *sets; /* the first sets_len are distinct; set 0 may be any */
    size_t sets_len;
    uint32_t *of; /* for each stack */
} cli_label_sets;

typedef struct cli_flame_node {
    uint32_t name;
    uint32_t back;
    cli_place place;
    size_t side;  /* the place is from this side */
    int64_t file; /* its number; -1: none */
} cli_flame_node;

typedef struct cli_flame_end {
    size_t stack;
    uint32_t node, set;
} cli_flame_end;

typedef struct cli_flame_tree {
    const cli_shown *shown;
    cli_stacks stacks;
    cli_label_sets sets;
    cli_flame_node *nodes; /* without the root */
    size_t len;
    cli_flame_end *ends;    /* of each stack, sorted by node and set */
    cli_flame_node **files; /* a node of each distinct file */
    size_t files_len;
} cli_flame_tree;

/* Prints what is wrong; returns an exit code. Free *tree whatever is returned. */
int cli_flame_tree_make(cli_flame_tree *tree, const cli_shown *shown);
void cli_flame_tree_free(cli_flame_tree *tree);

/* Writes names to sets above, each with a comma in front. */
void cli_flame_tree_put(FILE *to, const cli_flame_tree *tree);

/* Writes the values of one column of one side. */
void cli_flame_tree_put_values(FILE *to, const cli_flame_tree *tree, size_t side, size_t column);

#endif
