/* One made-up process, what is known about its types, and chance for everything else. */
#ifndef PD_TESTS_DELTA_STAGE_H
#define PD_TESTS_DELTA_STAGE_H

#include "../support/test.h"

#include "scene.h"

typedef struct stage {
    gen g;
    rng rng;
    arena arena;
    pprofdelta_options options;
} stage;

static inline void stage_begin(stage *s, uint64_t seed)
{
    *s = (stage){.rng = {seed * 2 + 1}};
    gen_init(&s->g, seed);
    s->options = draw_options(&s->rng, &s->g);
}

static inline void stage_end(stage *s)
{
    gen_free(&s->g);
    arena_free(&s->arena);
}

/* The process as it is now, in a style that is drawn each time. */
static inline buf look(stage *s)
{
    serial_style style = serial_draw(&s->rng);
    return serial_write(&s->arena, &s->g.m, &style);
}

/* As look, but samples and columns stand as in the model. */
static inline buf look_in_order(stage *s)
{
    serial_style style = serial_draw(&s->rng);
    style.shuffle_samples = style.shuffle_columns = false;
    return serial_write(&s->arena, &s->g.m, &style);
}

#endif
