/* A recorder whose last window is a line of text, for tests with records made by hand.
 *
 *     record(&s, "leaf main", 16, "5 80 0 0");
 *     CHECK_STR(record_window(&s), "leaf;main{bytes=16bytes} 5 80 0 0");
 *
 * A word of a stack is a program counter; a new word gets the next free one. The callback returns
 * that word as the function name. */
#ifndef PD_TESTS_RECORD_SCENE_H
#define PD_TESTS_RECORD_SCENE_H

#include "pprofdelta_record.h"
#include "reading.h"
#include "run.h"

enum { RECORD_WORDS = 4096, RECORD_ROWS = 4096 };

typedef struct record_scene {
    pprofdelta_recorder *recorder;
    pprofdelta_recorder_options options;
    pprofdelta_recording look;
    arena arena;
    tracker memory;
    const char *words[RECORD_WORDS];
    size_t words_len;
    pprofdelta_record rows[RECORD_ROWS]; /* the records of the process */
    size_t rows_len;
    pprofdelta_status status;
    pprofdelta_error err;
    pprofdelta_report report;
    buf bytes;
    reading out;
} record_scene;

/* With heap records, plain output and no mappings. Options may be changed before the first window.
 */
void record_begin(record_scene *s);
void record_end(record_scene *s);

/* Adds a record to the process, or changes the one at `row`. */
size_t record(record_scene *s, const char *stack, int64_t block_size, const char *values);
void record_set(record_scene *s, size_t row, const char *values);

/* Makes a window of all records and commits it if it is OK. Returns its rows, or "[the error]". */
const char *record_window(record_scene *s);

/* The same after the record at `row` got these values. */
const char *record_next(record_scene *s, size_t row, const char *values);

/* Begins a window and adds the records, without ending it. */
const char *record_pending(record_scene *s);

#endif
