/* A generated process of which any number of profiles can be taken.
 *
 * gen_init draws a process from a seed: mappings of every kind, functions, locations with an
 * address or with lines only, stacks, labels, counters and gauges. gen_evolve changes it as time
 * does: counters grow, stacks appear, and the events that are enabled happen. Between two calls the
 * model can be written any number of times, in any style (serial.h). */
#ifndef PD_TESTS_GEN_H
#define PD_TESTS_GEN_H

#include "arena.h"
#include "model.h"
#include "rng.h"

enum {
    GEN_DECREASE = 1 << 0, /* a counter decreases a little; a sample comes back with lower values */
    GEN_VANISH = 1 << 1,   /* samples vanish, sometimes most of them; some come back */
    GEN_RESTART = 1 << 2,  /* the process restarts at other addresses, perhaps with another build */
    GEN_RENAME = 1 << 3,   /* an address gets another source line (golang/go#49171) */
    GEN_MOVE = 1 << 4,     /* named mappings move, with everything in them */
    GEN_REORDER = 1 << 5,  /* mappings change their order; rarely the main one too */
    GEN_HEADER = 1 << 6,   /* comments, period and the like change */
    GEN_CLOCK = 1 << 7,    /* a profile without a time, or with an earlier one */
    GEN_REPLACE = 1 << 8,  /* files are replaced, renamed or removed while the process lives */
    GEN_WINDOW = 1 << 9,   /* a profile with a duration, as if it were a window */
    GEN_ANYTHING = (1 << 10) - 1
};

enum { GEN_MAX_NAMED = 6 };

typedef struct gen {
    arena arena;
    rng rng;
    model m;
    model_sample **hidden; /* vanished samples, which may come back */
    size_t hidden_len, hidden_cap;
    bool *is_counter;                                            /* one per type */
    const char *counters[GEN_MAX_NAMED], *gauges[GEN_MAX_NAMED]; /* for the options */
    size_t counters_len, gauges_len;
    int64_t clock_nanos;   /* the time, also if the model has none */
    int64_t began_nanos;   /* begin of the counting, for durations */
    int64_t started_nanos; /* time of the last restart; 0: none since gen_init */
    size_t names;          /* number of names so far */
    bool may_be_negative;  /* values of new samples */
} gen;

void gen_init(gen *g, uint64_t seed);

void gen_evolve(gen *g, unsigned events);
void gen_free(gen *g);

/* Returns whether a type is cumulative. Without one there is no delta. */
bool gen_counts(const gen *g);

/* For gen_evolve: adds a sample with values of its own, close to the others or not. */
void gen_add_sample(gen *g);
int64_t gen_draw_value(gen *g, size_t column);
model_function *gen_pick_function(gen *g);

#endif
