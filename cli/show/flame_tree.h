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

/* Texts with numbers: see keep.h. */
typedef struct cli_flame_texts {
    const cli_string *texts;
    size_t len;
    uint32_t *of; /* the number for each of what has a text */
} cli_flame_texts;

typedef struct cli_flame_node {
    size_t name; /* the number in shown->names */
    size_t back;
    cli_frame_text frame;
    size_t side; /* the frame is from this side */
} cli_flame_node;

typedef struct cli_flame_end {
    size_t stack;
    uint32_t node, set;
} cli_flame_end;

typedef struct cli_flame_tree {
    const cli_shown *shown;
    cli_flame_node *nodes; /* without the root */
    size_t len;
    cli_flame_end *ends;          /* of each stack, sorted by node and set */
    cli_flame_texts files;        /* of each node; the first is empty if a node has none */
    cli_flame_texts labels, sets; /* of each label of each stack, and of each stack */
} cli_flame_tree;

/* Sorts the stacks and makes the tree. */
cli_flame_tree cli_flame_tree_make(cli_shown *shown);

/* Writes names to sets above, each with a comma in front. */
void cli_flame_tree_put(FILE *to, const cli_flame_tree *tree);

/* Writes the values of a type on one side. */
void cli_flame_tree_put_values(FILE *to, const cli_flame_tree *tree, size_t side, size_t type);

#endif
