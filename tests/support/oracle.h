/* The delta by the book: what the library should say, worked out the long way round.
 *
 * An oracle stands for one context. It is fed the same bytes and the same calls, keeps a ledger of
 * texts, and tells what each call should return and what the window should hold. It shares nothing
 * with the library but the public header: profiles are read through reading.h. */
#ifndef PD_TESTS_ORACLE_H
#define PD_TESTS_ORACLE_H

#include "reading.h"
#include "wide.h"

/* A set of statuses, for where more than one thing is wrong at once. */
typedef unsigned status_set;
#define STATUS(status) (1u << (status))

typedef struct expected_type {
    const char *type, *unit;
    bool is_counter;
    wide prev, cur, delta, clamped, vanished;
} expected_type;

typedef struct expected_row {
    const char *stack; /* the texts of its locations as they are to be written */
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
    const char *default_type; /* NULL where the contract leaves it open */
    const char *main_mapping; /* NULL: none */
    const char **mappings;    /* the only ones that may be written */
    size_t mappings_len;
    bool law_only;            /* no prev to account for: the sums need but add up */
    pprofdelta_report report; /* its plain members */
} expectation;

typedef struct ledger_entry {
    const char *key;
    int64_t *base; /* one per ledger type */
    uint64_t seen; /* the last window that had it */
    uint64_t entered;
} ledger_entry;

typedef struct known_mapping {
    uint64_t start, limit, offset;
    const char *name; /* in the last profile that had it; NULL: it has none */
    const char *file; /* in the keys */
} known_mapping;

typedef struct ledger {
    arena arena;
    const char **types; /* "type/unit", quoted */
    size_t types_len;
    ledger_entry *entries; /* by key */
    size_t len;
    uint64_t entered; /* how many ever were */
    uint64_t window;  /* the last one remembered */
    int64_t time_nanos, duration_nanos;
    const char *build_id; /* of the main mapping */
    known_mapping *mappings;
    size_t mappings_len;
} ledger;

typedef struct oracle {
    const pprofdelta_options *options; /* borrowed */
    int64_t started_nanos;
    ledger held, pending; /* what is remembered, and what a commit would make of it */
    bool has_base, is_pending;
    bool is_fresh_base; /* pprofdelta_base came last */
    arena base_arena, window_arena;
    reading base;
    uint64_t committed; /* windows since the beginning; a base that came first is one */
    uint64_t attempts;  /* at the next one */
} oracle;

void oracle_init(oracle *o, const pprofdelta_options *options);
void oracle_free(oracle *o);
void oracle_set_started(oracle *o, int64_t started_nanos);

/* Which statuses may come back: STATUS(PPROFDELTA_OK) alone, or those of all that is wrong. */
status_set oracle_base(oracle *o, const void *bytes, size_t len);

/* *out is set on OK and lasts until the next call. */
status_set oracle_window(oracle *o, const void *bytes, size_t len, const expectation **out);
void oracle_commit(oracle *o);
void oracle_abandon(oracle *o);

#endif
