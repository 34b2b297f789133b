/* A Go process that never ran, to be looked at: what it consists of and what it has counted.
 *
 *     functions   each with the sites in it: places that call another function (a location)
 *     call tree   a trie of (parent, site); a sample is a path of it, from its leaf to the root
 *     samples     in the order they were first counted
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
    bool is_leaf; /* some sample's */
} node;

typedef struct sample {
    uint32_t leaf, block_size;
    int64_t values[TYPES];
} sample;

typedef struct process {
    rng rng;
    function *functions;
    site *sites;
    node *nodes;
    sample *samples;
    uint32_t *children; /* (parent, site) -> node; open addressing, PROCESS_NONE is free */
    uint32_t functions_len, sites_len, nodes_len, samples_len;
    uint32_t nodes_cap, samples_cap, children_mask;
} process;

/* A process with so many samples that may grow to samples_most. */
void process_start(process *p, uint64_t seed, uint32_t samples, uint32_t samples_most);

/* Time passes: some of the samples that are there allocate, and some appear. */
void process_run(process *p, uint32_t changed, uint32_t fresh);

void process_end(process *p);

#endif
