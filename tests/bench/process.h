/* A simulated Go process: its functions, its call tree and the samples of its heap profile.
 *
 *     functions   each with the sites in it: places that call another function (a location)
 *     call tree   a trie of (parent, site); a sample's stack is a path from a leaf to the root
 *     samples     in the order in which they were first counted
 */
#ifndef PD_BENCH_PROCESS_H
#define PD_BENCH_PROCESS_H

#include "support/rng.h"

#define PROCESS_NONE UINT32_MAX
enum { OBJECTS, SPACE, INUSE_OBJECTS, INUSE_SPACE, TYPES };

typedef struct function {
    uint32_t first_site, sites_len;
    uint32_t package, type, start_line;
} function;

typedef struct site {
    uint32_t function, callee;
    uint32_t inlined; /* a function inlined here, from which the call is made; or PROCESS_NONE */
    uint32_t line;
    uint64_t address;
} site;

typedef struct node {
    uint32_t parent; /* the node of the caller, PROCESS_NONE at the root */
    uint32_t site, depth;
    bool is_leaf; /* of a sample */
} node;

typedef struct sample {
    uint32_t leaf, block_size;
    bool is_live; /* has memory in use, and allocates as time passes */
    int64_t values[TYPES];
} sample;

/* How the samples of a process are drawn. */
typedef struct recipe {
    uint64_t seed;
    uint32_t samples;      /* at the start */
    uint32_t fresh, again; /* what process_run adds */
    unsigned repeated;     /* percent: samples with the stack of an earlier sample */
    unsigned live;         /* percent: samples with memory in use */
} recipe;

typedef struct process {
    rng rng;
    recipe recipe;
    function *functions;
    site *sites;
    node *nodes;
    sample *samples;
    uint32_t *children; /* (parent, site) -> node; open addressing, PROCESS_NONE is free */
    uint32_t functions_len, sites_len, nodes_len, samples_len;
    uint32_t nodes_cap, children_mask;
} process;

void process_start(process *p, const recipe *drawn_by);

/* Time passes: every live sample allocates. `fresh` new samples appear, the newest; and `again` samples
 * that are equal in stack and block size to one that is there, at random places in the profile. */
void process_run(process *p);

void process_end(process *p);

#endif
