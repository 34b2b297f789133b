/* A process of two stacks, "leaf main" and "other", with the types of a mutex profile. The smallest
 * one of which windows can be made. */
#ifndef PD_TESTS_TWO_STACKS_H
#define PD_TESTS_TWO_STACKS_H

#include "scene.h"

typedef struct two_stacks {
    build b;
    model_sample *leaf, *other;
} two_stacks;

void two_stacks_begin(two_stacks *p);
void two_stacks_end(two_stacks *p);

/* A profile of it, a microsecond later, with the first counter of the leaf at `count`. Free it. */
buf two_stacks_look(two_stacks *p, int64_t count);

#endif
