/* A made-up process that can be looked at again and again.
 *
 * gen_init draws a process from a seed: mappings of every kind, functions, locations known by their
 * address or by their lines, stacks, labels, counters and gauges. gen_evolve lets time pass:
 * counters grow and stacks appear, and whatever the events allow goes wrong. Between two looks the
 * model may be written any number of times, in any style (serial.h). */
#ifndef PD_TESTS_GEN_H
#define PD_TESTS_GEN_H

#include "arena.h"
#include "model.h"
#include "rng.h"

enum {
    GEN_DECREASE = 1 << 0, /* a counter falls back a little; a sample comes back with less */
    GEN_VANISH = 1 << 1,   /* samples go away, now and then most of them; some come back */
    GEN_RESTART = 1 << 2,  /* the process starts anew, at other addresses, maybe another build */
    GEN_RENAME = 1 << 3,   /* an address gets another source line (golang/go#49171) */
    GEN_MOVE = 1 << 4,     /* named mappings lie elsewhere, with everything in them */
    GEN_REORDER = 1 << 5,  /* mappings change places; rarely the main one too */
    GEN_HEADER = 1 << 6,   /* comments, period and the like change */
    GEN_CLOCK = 1 << 7,    /* a look without a time, or one that goes backwards */
    GEN_REPLACE = 1 << 8,  /* files are replaced, renamed or removed under the living process */
    GEN_WINDOW = 1 << 9,   /* a look that says that it covers a short time of its own */
    GEN_ANYTHING = (1 << 10) - 1
};

enum { GEN_MAX_NAMED = 6 };

typedef struct gen {
    arena arena;
    rng rng;
    model m;
    model_sample **hidden; /* vanished, but not forgotten */
    size_t hidden_len, hidden_cap;
    bool *is_counter;                                            /* one per type */
    const char *counters[GEN_MAX_NAMED], *gauges[GEN_MAX_NAMED]; /* for the options */
    size_t counters_len, gauges_len;
    int64_t clock_nanos;   /* goes on where the model's time is hidden */
    int64_t began_nanos;   /* when it began to count: what durations go back to */
    int64_t started_nanos; /* when the process last started anew; 0: not since gen_init */
    size_t names;          /* how many things got a name so far */
    bool may_be_negative;  /* values drawn from now on */
    bool is_as_go, has_one_label, has_one_mapping, has_unmapped; /* what it is like */
} gen;

void gen_init(gen *g, uint64_t seed);

/* One as Go's profiles show it: everything is known by its address, in few mappings, with labels of
 * one kind; the types are a heap's or of contentions. Now and then not quite so. */
void gen_init_as_go(gen *g, uint64_t seed);
void gen_evolve(gen *g, unsigned events);
void gen_free(gen *g);

/* Does it count anything that is cumulative? Where it does not there is no delta. */
bool gen_counts(const gen *g);

/* For gen_evolve: adds a sample with values of its own, near the others or apart. */
void gen_add_sample(gen *g);
int64_t gen_draw_value(gen *g, size_t column);
model_function *gen_pick_function(gen *g);

#endif
