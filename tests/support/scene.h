/* A context whose last window is a line of text, for tests with profiles made by hand.
 *
 *     CHECK_STR(scene_window(&s, looks), "leaf;main 5 500, other;main 0 20");
 *
 * A row is the stack, leaf first, with frames joined by ";" and inlined ones by "+", the labels in
 * braces, and the values. For a refused window, the line is the words for its status, in brackets.
 */
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
    reading out; /* their content; valid after a window that was OK */
} scene;

/* options may be NULL. */
void scene_begin(scene *s, const pprofdelta_options *options);
void scene_end(scene *s);

/* Returns "base", or the words for the error. */
const char *scene_base(scene *s, buf profile);

/* The rows of a profile that the library wrote. */
const char *scene_rows(const reading *r);

/* Returns the rows. Commits a window that is OK; scene_pending leaves it pending. */
const char *scene_window(scene *s, buf profile);
const char *scene_pending(scene *s, buf profile);

/* Passes both profiles to a new scene, as base and as window. */
const char *scene_delta(scene *s, const pprofdelta_options *options, buf prev, buf cur);

#endif
