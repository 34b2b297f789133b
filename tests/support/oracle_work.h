/* Inside the oracle: everything about one window while it is worked out, and the steps of it that
 * have a file of their own. oracle.c decides, oracle_ledger.c remembers, oracle_rows.c writes
 * down. */
#ifndef PD_TESTS_ORACLE_WORK_H
#define PD_TESTS_ORACLE_WORK_H

#include "oracle.h"

typedef struct work {
    oracle *o;
    arena *arena; /* of the window */
    reading cur;
    int64_t duration_nanos; /* of cur as it came: writing down sets that of the delta */
    bool may_be_window;
    expected_type *types;
    size_t types_len;
    size_t *columns;        /* column of cur -> column of the ledger */
    ledger_entry **matches; /* per sample of cur: its entry, or NULL */
    bool *is_gone;          /* per entry of the ledger: cur does not have it */
    pprofdelta_restart restart;
    bool is_base;                /* it is not a window */
    bool is_renamed, main_moved; /* what was found out of the mappings */
    size_t files_replaced;
    expected_row *rows;
    size_t rows_len;
    struct place *places;
    const char **written; /* per kind of place: the text it is written with, or NULL */
    expectation *result;
} work;

/* How a ledger knows a type. */
const char *work_type_name(arena *a, const expected_type *type);

ledger_entry *ledger_find(const ledger *l, const char *key);

/* Sets matches and is_gone. */
void ledger_match(work *w);

/* Reads cur again where the ledger knows its mappings under other names. */
void mappings_recognise(work *w, const void *bytes, size_t len);

/* What a ledger of cur's samples knows of mappings; known: the one before, or NULL. */
void mappings_remember(const work *w, const ledger *known, ledger *out);

/* Exactly what cur says. Who was in the old ledger (NULL: there is none) entered with that. */
ledger ledger_of_cur(const work *w, const ledger *old);

/* Cur, never lower than before, and what vanished. Columns are cur's. */
ledger ledger_carried_on(const work *w);

/* From matches and restart to everything in result. */
void work_write_down(work *w);

#endif
