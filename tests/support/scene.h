/* One context and its last window as a line of text, for tests with profiles made by hand.
 *
 *     CHECK_STR(scene_window(&s, looks), "leaf;main 5 500, other;main 0 20");
 *
 * A row is the stack, leaf first, frames joined by ";" and inlined ones by "+", its labels in
 * braces and its values. A refused window is the words for its status, in brackets. */
#ifndef PD_TESTS_SCENE_H
#define PD_TESTS_SCENE_H

#include "build.h"
#include "run.h"
#include "serial.h"

#define HEAP_TYPES       "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes"
#define CONTENTION_TYPES "contentions/count delay/nanoseconds"

typedef struct scene {
    pprofdelta *pd;
    arena arena; /* everything below, until scene_end */
    pprofdelta_status status;
    pprofdelta_report report;
    buf bytes;   /* as the sink got them */
    reading out; /* what they say; only after a window that was OK */
} scene;

/* options may be NULL. */
void scene_begin(scene *s, const pprofdelta_options *options);
void scene_end(scene *s);

/* "base", or the words for what was wrong. */
const char *scene_base(scene *s, buf profile);

/* The rows. A window that is OK is remembered at once, but by scene_pending, which leaves it. */
const char *scene_window(scene *s, buf profile);
const char *scene_pending(scene *s, buf profile);

/* Both looks to a fresh scene, as base and as window. */
const char *scene_delta(scene *s, const pprofdelta_options *options, buf prev, buf cur);

#endif
