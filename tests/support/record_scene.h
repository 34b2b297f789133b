/* One recorder and its last window as a line of text, for tests with records made by hand.
 *
 *     record(&s, "leaf main", 16, "5 80 0 0");
 *     CHECK_STR(record_window(&s), "leaf;main {bytes=16} 5 80 0 0");
 *
 * A word of a stack is a program counter, the next free one the first time; the callback knows it
 * by that word, and hides words that begin with "_". "a+b" is a place where a is inlined into b. */
#ifndef PD_TESTS_RECORD_SCENE_H
#define PD_TESTS_RECORD_SCENE_H

#include "pprofdelta_record.h"
#include "reading.h"
#include "run.h"

enum { RECORD_WORDS = 4096, RECORD_ROWS = 4096 };

typedef struct record_scene {
    pprofdelta_recorder *recorder;
    pprofdelta_recorder_options options;
    pprofdelta_look look;
    arena arena;
    tracker memory;
    const char *words[RECORD_WORDS];
    size_t words_len, symbolized;
    pprofdelta_record rows[RECORD_ROWS]; /* what the process has counted */
    size_t rows_len;
    pprofdelta_status status;
    pprofdelta_error err;
    pprofdelta_report report;
    buf bytes;
    reading out;
} record_scene;

/* With heap records, plain output and no mappings; options may be changed before the first
 * window. */
void record_begin(record_scene *s);
void record_end(record_scene *s);

/* Adds a record to what the process has counted, or changes the one at `row`. */
size_t record(record_scene *s, const char *stack, int64_t block_size, const char *values);
void record_set(record_scene *s, size_t row, const char *values);

/* A window of all records, remembered if it is OK: its rows, or "[what was wrong]". */
const char *record_window(record_scene *s);

/* The same once the process has counted so many at `row`. */
const char *record_next(record_scene *s, size_t row, const char *values);

/* A window without its end. */
const char *record_pending(record_scene *s);

#endif
