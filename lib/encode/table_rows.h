/* The rows of the tables that a model becomes, with their ids: see pprofdelta_tables.h.
 *
 * An id is a hash of what its row says, by the rules of identity.h, so that it does not depend on
 * the door, on the order of the rows, or on what a context remembers:
 *
 *     function   its strings and its line
 *     location   its address in its file. Its lines take part unless the file has a build id:
 *                without one, equal addresses in equal names may be two places, such as in two
 *                releases
 *     stack      the keys of its locations, in order
 *
 * Texts are in UTF-8 before anything is made, and what then has equal ids is one row. */
#ifndef PD_ENCODE_TABLE_ROWS_H
#define PD_ENCODE_TABLE_ROWS_H

#include "model/model.h"
#include "profile/identity.h"

/* Rows of a table: distinct ids, and what each is made of: an index in the model, or where the places
 * of a stack end. */
typedef struct pd_distinct_rows {
    pd_keymap keys;
    size_t *of;
} pd_distinct_rows;

typedef struct pd_table_rows {
    const pd_model *model;
    pd_writer w;     /* of what is held while the tables are made */
    pd_bytes *texts; /* of the model's strings, in UTF-8, and others behind them */
    size_t texts_len;
    pd_buffer repaired;
    pd_distinct_rows functions, locations, stacks;
    pd_key *function_keys, *location_keys; /* by id - 1 */
    uint32_t *files;                       /* of the mappings: without the mark of a deleted file */
    size_t lines;                          /* of the locations that are rows */
    pd_buffer places;                      /* int64_t: the locations of all stacks */
} pd_table_rows;                           /* set model and w, zero the rest, to begin */

/* Sets the texts, and chooses the functions and the locations that are rows. */
void pd_table_rows_choose(pd_table_rows *t);

/* Adds the stack, if it is new. Its id is a hash of those of its locations. Returns it. */
uint64_t pd_table_rows_stack(pd_table_rows *t, pd_bytes stack);

/* The key of a function, or {0, 0}; where a mapping is. */
pd_key pd_table_rows_function_key(const pd_table_rows *t, uint64_t function);
pd_place pd_table_rows_place(const pd_table_rows *t, uint32_t mapping);

#endif
