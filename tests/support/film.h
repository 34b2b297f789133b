/* Four looks at one process, as files in any container, and options: all chosen by a seed. */
#ifndef PD_TESTS_FILM_H
#define PD_TESTS_FILM_H

#include "run.h"
#include "serial.h"

enum { FILM_LOOKS = 4 };

typedef struct film {
    gen g;
    rng rng;
    arena arena;
    pprofdelta_options options;
    buf looks[FILM_LOOKS];
} film;

static inline void film_begin(film *f, uint64_t seed)
{
    *f = (film){.rng = {seed * 2 + 1}};
    gen_init(&f->g, seed);
    f->options = draw_options(&f->rng, &f->g);
    for (size_t i = 0; i < FILM_LOOKS; i++) {
        serial_style style = serial_draw(&f->rng);
        f->looks[i] = serial_write(&f->arena, &f->g.m, &style);
        gen_evolve(&f->g, GEN_ANYTHING);
    }
}

static inline void film_end(film *f)
{
    gen_free(&f->g);
    arena_free(&f->arena);
}

#endif
