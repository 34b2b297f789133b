/* The oracle: the expected behaviour of a context, computed naively.
 *
 * An oracle is the model of one context. It gets the same bytes and the same calls, keeps a ledger
 * of texts, and returns the status that each call should have and the window that it should make.
 * It shares only the public header with the library: profiles are read through reading.h. */
#ifndef PD_TESTS_ORACLE_H
#define PD_TESTS_ORACLE_H

#include "reading.h"
#include "wide.h"

/* A set of statuses, for input with several errors. */
typedef unsigned status_set;
#define STATUS(status) (1u << (status))

typedef struct expected_type {
    const char *type, *unit;
    bool is_counter;
    wide prev, cur, delta, clamped, vanished;
} expected_type;

typedef struct expected_row {
    const char *stack; /* the texts of the locations that are to be written */
    const char *labels;
    int64_t *values;
} expected_row;

typedef struct expectation {
    const expected_type *types;
    size_t types_len;
    const expected_row *rows; /* in order */
    size_t rows_len;
    const char *header;
    const char **comments; /* without the stamp */
    size_t comments_len;
    bool is_stamped;
    const char *default_type; /* NULL: not defined by the contract */
    const char *main_mapping; /* NULL: none */
    const char **mappings;    /* the only mappings that may be written */
    size_t mappings_len;
    bool law_only;            /* no prev: only the sum of sums is checked */
    pprofdelta_report report; /* the scalar members */
} expectation;

typedef struct ledger_entry {
    const char *key;
    int64_t *base; /* one per ledger type */
    uint64_t seen; /* the last window that had it */
    uint64_t entered;
} ledger_entry;

typedef struct known_mapping {
    uint64_t start, limit, offset;
    const char *name; /* in the last profile that had it; NULL: none */
    const char *file; /* in the keys */
} known_mapping;

typedef struct ledger {
    arena arena;
    const char **types; /* "type/unit", quoted */
    size_t types_len;
    ledger_entry *entries; /* by key */
    size_t len;
    uint64_t entered; /* number of windows so far */
    uint64_t window;  /* number of the last profile */
    int64_t time_nanos, duration_nanos;
    const char *kind;     /* the types of the period, and the default type */
    const char *build_id; /* of the main mapping */
    const char *binary;   /* the file name of the main mapping */
    known_mapping *mappings;
    size_t mappings_len;
} ledger;

typedef struct oracle {
    const pprofdelta_options *options; /* borrowed */
    int64_t started_nanos;
    ledger held; /* what is subtracted */
    ledger
        next; /* what will be, after a commit: of the open window, or of the pending negative one */
    bool has_base, has_seen, is_pending;
    bool is_fresh_base; /* pprofdelta_base was the last call */
    arena base_arena, window_arena;
    reading base;
    uint64_t
        committed; /* sequence of the last committed window; a base before the first one counts */
    uint64_t sequence;            /* of the last one that was handed out */
    uint64_t attempts;            /* at it, while it is open; else 0 */
    int64_t from_nanos, to_nanos; /* of it */
    wide duration_nanos;
    pprofdelta_restart restart;
} oracle;

void oracle_init(oracle *o, const pprofdelta_options *options);
void oracle_free(oracle *o);
void oracle_set_started(oracle *o, int64_t started_nanos);

/* Returns the statuses that the call may return: STATUS(PPROFDELTA_OK), or those of all errors in
 * the input. */
status_set oracle_base(oracle *o, const void *bytes, size_t len);

/* out is set on OK and valid until the next call. */
status_set oracle_window(oracle *o, const void *bytes, size_t len, const expectation **out);
void oracle_commit(oracle *o);
void oracle_abandon(oracle *o);

#endif
