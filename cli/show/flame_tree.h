/* The pages for a browser, `show --flame OUT.html` and `leaks --html OUT.html`, and the tree of all stacks that they
 * read.
 *
 * The build makes a page of the files in show/flame/ and leaks/page/ (see embed.py), in two parts: one
 * before the place of the data, and one behind it. The data is JSON in the form CLI_TEXT_SCRIPT. In the tree, each
 * node comes after its parent:
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

#include "numbers.h"
#include "show/shown.h"

#include <stdio.h>

/* Distinct texts, or sets of numbers, in the order in which they were found. */
typedef struct cli_flame_texts {
    cli_numbers numbers;
    cli_string *list;
    size_t list_len, list_cap;
} cli_flame_texts;

typedef struct cli_flame_node {
    uint32_t frame; /* one in shown->frames: of the last profile that has the node */
    uint32_t back : 30;
    uint32_t has_files : 1, has_lines : 1; /* several, so none is shown */
} cli_flame_node;

typedef struct cli_flame_end {
    uint32_t stack, node, set;
} cli_flame_end;

typedef struct cli_flame_tree {
    const cli_shown *shown;
    cli_flame_node *nodes; /* without the root */
    size_t nodes_len, nodes_cap;
    cli_flame_end *ends; /* of each stack, sorted by node and set */
    cli_flame_texts labels, sets;
} cli_flame_tree;

/* Makes the tree of the stacks, which are sorted. */
cli_flame_tree cli_flame_tree_make(const cli_shown *shown);

/* Writes names to sets above, each with a comma in front. */
void cli_flame_tree_put(FILE *to, const cli_flame_tree *tree);

/* Writes the values of a type on one side. */
void cli_flame_tree_put_values(FILE *to, const cli_flame_tree *tree, size_t side, size_t type);

/* Writes the page with these two parts to OUT, "-" for stdout, which must be no terminal; option is named in the
 * message then. put writes the data. A failure stays in the output, which takes nothing after it. */
void cli_page_write(const char *out, const char *option, const char *head, const char *tail,
                    void (*put)(FILE *to, void *cookie), void *cookie);

#endif
