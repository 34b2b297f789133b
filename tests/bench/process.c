/* Draws a program, its call tree and its samples at random. The same seed gives the same process.
 *
 * A new stack branches off the stack of an earlier sample: it leaves that path some frames above the
 * leaf, takes other calls, and ends at about the same depth. So stacks share their outer frames and
 * differ in the inner ones, and few sites are in many stacks, as in heap profiles of real servers.
 * The earlier sample is usually a recent one: the samples of one request are neighbours.
 *
 * A repeated stack is that of any earlier sample, so that the two are anywhere in the profile. Go has
 * a sample for each block size of a stack. It also has samples that are equal in stack and block size,
 * because it hides the frames of its runtime: half of the repeats are such samples. */
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES_OF_FUNCTION = 6, DEPTH_LEAST = 12, DEPTH_SPREAD = 20, BRANCH_ABOVE = 6, RECENT = 50 };
#define ADDRESS_FIRST UINT64_C(0x401000)
#define SAMPLING_RATE 524288

static const uint32_t block_sizes[] = {16,  24,  32,  48,  64,   80,   96,   112,  128,   192,
                                       256, 384, 512, 768, 1024, 2048, 4096, 8192, 16384, 65536};

static void *array(size_t len, size_t size)
{
    void *ptr = calloc(len ? len : 1, size);
    if (!ptr) {
        fputs("generate: out of memory\n", stderr);
        exit(1);
    }
    return ptr;
}

static uint32_t below(process *p, uint32_t limit)
{
    return (uint32_t)rng_below(&p->rng, limit);
}

/* Small numbers more often than large ones. */
static uint32_t below_skewed(process *p, uint32_t limit)
{
    uint32_t a = below(p, limit), b = below(p, limit);
    return a < b ? a : b;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void write_program(process *p, uint32_t functions)
{
    p->functions = array(functions, sizeof *p->functions);
    p->sites = array((size_t)functions * SITES_OF_FUNCTION, sizeof *p->sites);
    p->functions_len = functions;
    uint64_t address = ADDRESS_FIRST;
    for (uint32_t f = 0; f < functions; f++) {
        function *fn = &p->functions[f];
        *fn = (function){.first_site = p->sites_len,
                         .sites_len = 1 + below(p, SITES_OF_FUNCTION),
                         .package = f / 25,
                         .type = f / 5,
                         .start_line = 10 + below(p, 900)};
        for (uint32_t i = 0; i < fn->sites_len; i++) {
            address += 16 + below(p, 400);
            p->sites[p->sites_len++] = (site){.function = f,
                                              .callee = below_skewed(p, functions),
                                              .inlined = PROCESS_NONE,
                                              .line = fn->start_line + 3 * i + below(p, 3),
                                              .address = address};
            if (below(p, 100) < 15)
                p->sites[p->sites_len - 1].inlined = below(p, functions);
        }
    }
}

/* ---- the call tree --------------------------------------------------------------------------- */

static uint32_t *child_slot(process *p, uint32_t parent, uint32_t call)
{
    rng hash = {(uint64_t)parent << 32 | call};
    for (uint32_t i = (uint32_t)rng_next(&hash);; i++) {
        uint32_t *slot = &p->children[i & p->children_mask];
        if (*slot == PROCESS_NONE ||
            (p->nodes[*slot].parent == parent && p->nodes[*slot].site == call))
            return slot;
    }
}

/* The node of a call below its parent. Adds the node if the tree does not have it. */
static uint32_t go_down(process *p, uint32_t parent, uint32_t call)
{
    uint32_t *slot = child_slot(p, parent, call);
    if (*slot == PROCESS_NONE) {
        uint32_t depth = parent == PROCESS_NONE ? 1 : p->nodes[parent].depth + 1;
        p->nodes[p->nodes_len] = (node){.parent = parent, .site = call, .depth = depth};
        *slot = p->nodes_len++;
    }
    return *slot;
}

static uint32_t next_site(process *p, uint32_t from)
{
    uint32_t callee = from == PROCESS_NONE ? below(p, 8) : p->sites[p->nodes[from].site].callee;
    const function *f = &p->functions[callee];
    return f->first_site + below_skewed(p, f->sites_len);
}

static uint32_t branch_from(process *p)
{
    uint32_t recent = p->samples_len < RECENT ? p->samples_len : RECENT;
    return below(p, 10) ? p->samples_len - 1 - below(p, recent) : below(p, p->samples_len);
}

/* A node that is not a leaf yet, on a path that branches off the path of another sample. */
static uint32_t grow_leaf(process *p)
{
    for (;;) {
        uint32_t at = PROCESS_NONE;
        uint32_t depth = DEPTH_LEAST + below(p, DEPTH_SPREAD);
        if (p->samples_len && below(p, 100) < 95) {
            at = p->samples[branch_from(p)].leaf;
            depth = p->nodes[at].depth - 1 + below(p, 3);
            depth = depth < DEPTH_LEAST ? DEPTH_LEAST : depth;
            for (uint32_t up = 1 + below_skewed(p, BRANCH_ABOVE); up && at != PROCESS_NONE; up--)
                at = p->nodes[at].parent;
        }
        do
            at = go_down(p, at, next_site(p, at));
        while (p->nodes[at].depth < depth);
        /* Each try adds nodes, and there is room for nodes_cap of them. */
        if (!p->nodes[at].is_leaf)
            return at;
        if (p->nodes_len + 2 * (DEPTH_LEAST + DEPTH_SPREAD) > p->nodes_cap) {
            fputs("generate: the call tree is full\n", stderr);
            exit(1);
        }
    }
}

/* ---- the samples ----------------------------------------------------------------------------- */

/* Go samples one allocation in SAMPLING_RATE bytes, and scales the sampled numbers up. */
static void allocate(process *p, sample *s)
{
    int64_t scale = 1 + SAMPLING_RATE / s->block_size; /* NOLINT: no block size is 0 */
    int64_t seen = 1 + rng_magnitude(&p->rng, 6) * (below(p, 4) == 0);
    s->values[OBJECTS] += seen * scale;
    s->values[SPACE] += seen * scale * s->block_size;
    s->values[INUSE_OBJECTS] = s->is_live ? scale * (1 + below(p, (uint32_t)seen)) : 0;
    s->values[INUSE_SPACE] = s->values[INUSE_OBJECTS] * s->block_size;
}

static uint32_t draw_block_size(process *p)
{
    return block_sizes[below(p, sizeof block_sizes / sizeof *block_sizes)];
}

static void add_sample(process *p)
{
    sample s = {.is_live = rng_chance(&p->rng, p->recipe.live)};
    if (p->samples_len && rng_chance(&p->rng, p->recipe.repeated)) {
        const sample *earlier = &p->samples[below(p, p->samples_len)];
        s.leaf = earlier->leaf;
        s.block_size = below(p, 2) ? earlier->block_size : draw_block_size(p);
    } else {
        s.leaf = grow_leaf(p);
        s.block_size = draw_block_size(p);
        p->nodes[s.leaf].is_leaf = true;
    }
    allocate(p, &s);
    p->samples[p->samples_len++] = s;
}

void process_start(process *p, const recipe *drawn_by)
{
    *p = (process){.rng = {drawn_by->seed}, .recipe = *drawn_by};
    uint32_t most = drawn_by->samples + drawn_by->fresh + drawn_by->again;
    p->nodes_cap = 8 * most + 1000;
    p->children_mask = 1;
    while (p->children_mask < 2 * p->nodes_cap)
        p->children_mask = p->children_mask << 1 | 1;
    p->samples = array(most, sizeof *p->samples);
    p->nodes = array(p->nodes_cap, sizeof *p->nodes);
    p->children = array((size_t)p->children_mask + 1, sizeof *p->children);
    for (uint32_t i = 0; i <= p->children_mask; i++)
        p->children[i] = PROCESS_NONE;
    write_program(p, 500 + drawn_by->samples / 100);
    while (p->samples_len < drawn_by->samples)
        add_sample(p);
}

/* Most samples stand still, so most of these come before or after one that does. */
static void add_again(process *p)
{
    uint32_t place = below(p, p->samples_len + 1);
    sample s = p->samples[below(p, p->samples_len)];
    memset(s.values, 0, sizeof s.values);
    allocate(p, &s);
    p->samples[p->samples_len] = s;
    p->samples[p->samples_len++] = p->samples[place];
    p->samples[place] = s;
}

void process_run(process *p)
{
    for (uint32_t i = 0; i < p->samples_len; i++)
        if (p->samples[i].is_live)
            allocate(p, &p->samples[i]);
    for (uint32_t i = 0; i < p->recipe.again; i++)
        add_again(p);
    for (uint32_t i = 0; i < p->recipe.fresh; i++)
        add_sample(p);
}

void process_end(process *p)
{
    free(p->functions);
    free(p->sites);
    free(p->nodes);
    free(p->samples);
    free(p->children);
}
