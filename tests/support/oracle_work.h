/* Internal to the oracle: the data of one window while it is computed, and its steps. oracle.c
 * decides, oracle_ledger.c keeps the ledger, oracle_rows.c makes the expected output. */
#ifndef PD_TESTS_ORACLE_WORK_H
#define PD_TESTS_ORACLE_WORK_H

#include "oracle.h"

typedef struct work {
    oracle *o;
    arena *arena; /* of the window */
    reading cur;
    int64_t duration_nanos; /* of cur; the output's header differs */
    bool may_be_window;
    expected_type *types;
    size_t types_len;
    size_t *columns;        /* column of cur -> column of the ledger */
    ledger_entry **matches; /* per sample of cur: its entry, or NULL */
    bool *is_gone;          /* per entry of the ledger: not in cur */
    pprofdelta_restart restart;
    bool is_base;                /* cur is no window */
    bool is_renamed, main_moved; /* the result for the mappings */
    bool has_main, has_common;   /* the main mapping is known; a file has a known name */
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

/* Sets matches and is_gone. */
void ledger_match(work *w);

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

/* A ledger with cur's values, not lower than before, and the vanished entries. Columns are cur's.
 */
ledger ledger_carried_on(const work *w);

/* Sets result from matches and restart. */
void work_write_down(work *w);

#endif
