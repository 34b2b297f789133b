/* Internal to the oracle: the data of one window while it is computed, and its steps. oracle.c
 * decides, oracle_ledger.c keeps the ledger, oracle_rows.c makes the expected output. */
#ifndef PD_TESTS_ORACLE_WORK_H
#define PD_TESTS_ORACLE_WORK_H

#include "oracle.h"

typedef struct work {
    oracle *o;
    arena *arena; /* of the window */
    reading cur;
    int64_t time_nanos, duration_nanos; /* of cur; the output's header differs */
    bool may_be_window, may_be_two_kinds;
    expected_type *types;
    size_t types_len;
    const ledger
        *ledger; /* the one that cur is held against: first `seen`, then what is subtracted */
    const ledger *seen;         /* with the profile that was seen last */
    size_t *columns;            /* column of cur -> column of the ledger */
    ledger_entry **matches;     /* per sample of cur: its entry, or NULL */
    bool *is_gone;              /* per entry of the ledger: not in cur */
    int64_t **lifts;            /* per sample and type: what an earlier attempt had more; or NULL */
    pprofdelta_restart restart; /* since the profile that was seen last */
    bool is_set_back, is_same_time;
    bool is_late;                 /* cur is older than the attempt before it */
    bool is_base;                 /* cur is no window */
    bool is_renamed, other_build; /* the result for the mappings */
    bool has_main, has_common;    /* the main mapping is known; a file has a known name */
    size_t files_replaced;
    expected_row *rows;
    size_t rows_len;
    struct place *places;
    const char **written; /* per kind of place: the text that is written, or NULL */
    expectation *result;
} work;

/* The name of a type in a ledger. */
const char *work_type_name(arena *a, const expected_type *type);

ledger_entry *ledger_find(const ledger *l, const char *key);

/* Sets ledger, matches and is_gone, and columns if the types are the same. Returns whether they are. */
bool ledger_match(work *w, const ledger *ledger);

/* Gives each counter at least what the open attempt had, which cur is held against. */
void ledger_lift(work *w);

/* Reads cur again if the ledger knows its mappings by other names. */
void mappings_recognise(work *w, const void *bytes, size_t len);

/* The file name of the main mapping; "": none. */
const char *mappings_binary(arena *a, const reading *r);

/* Have main binaries with these names different services? */
bool mappings_differ(arena *a, const char *before, const char *now);

/* The mappings of a ledger with cur's samples. known: those of the ledger before, or NULL. */
void mappings_remember(const work *w, const ledger *known, ledger *out);

/* A ledger with exactly cur's values. Entries of the old ledger (NULL: none) keep their order. */
ledger ledger_of_cur(const work *w, const ledger *old);

/* A ledger with cur's values, not lower than before, and the vanished entries. Columns are cur's. cur
 * is held against what is subtracted. */
ledger ledger_carried_on(const work *w);

/* At a commit: forgets what was not seen for longest, while that outnumbers what the last profile has.
 */
void ledger_forget(ledger *ledger);

/* Sets result from matches and restart. */
void work_write_down(work *w);

#endif
