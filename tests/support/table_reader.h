/* Reads tables naively, from the text of the header: walks the arrays one value at a time, and compares them
 * with the profile of the same window as the message view has it, sample by sample. */
#ifndef PD_TESTS_TABLE_READER_H
#define PD_TESTS_TABLE_READER_H

#include "arena.h"
#include "base/keymap.h"
#include "pprofdelta_tables.h"
#include "run.h"

/* A sink that moves all tables, of the last call. Release them with tables_release. Zero it to begin. */
typedef struct table_mail {
    pprofdelta_tables got;
    size_t calls;
    int answer; /* what the sink returns */
} table_mail;

pprofdelta_sink table_sink(table_mail *mail);
void tables_release(table_mail *mail);

/* All ids that were seen, in any number of profiles: an id has one text, and a text has one id. Zero it to begin. */
typedef struct table_ids {
    pd_mem mem;
    pd_keymap texts, ids; /* the same numbers */
} table_ids;

void table_ids_free(table_ids *ids);

/* Returns NULL if the tables say what the profile says, else the first difference, in a. */
const char *tables_differ(arena *a, table_ids *ids, buf profile, const pprofdelta_tables *tables);

/* Returns NULL if the arrays are well-formed: lengths, offsets, indices, bitmaps and UTF-8. */
const char *tables_malformed(const pprofdelta_tables *tables);

/* A column of a table, by its name; NULL: there is none. */
const struct ArrowArray *table_column(const pprofdelta_table *table, const char *name);

#endif
