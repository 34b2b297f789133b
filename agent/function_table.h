/* The functions of a mapped file, by address: its symbol table, or where that was stripped the
 * dynamic one. The file must be the one that is mapped, not its successor: their notes, with the
 * build id, are compared. Nothing in the file is trusted beyond that, and what is needed is read,
 * not mapped: a file that is cut short meanwhile does no harm. */
#ifndef PD_AGENT_FUNCTION_TABLE_H
#define PD_AGENT_FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pd_function_entry {
    uint64_t begin; /* as the file has it */
    uint32_t len;
    uint32_t name; /* in the string table */
} pd_function_entry;

typedef struct pd_function_table {
    uintptr_t begin, end; /* where it is mapped */
    uintptr_t bias;       /* address in memory - address in the file */
    char *strings;
    size_t strings_len;
    pd_function_entry *functions; /* sorted */
    size_t functions_len, functions_size;
} pd_function_table;

/* Reads the table of the file that is mapped at the address. False: nothing is, or it cannot be
 * read or lacks a table; then there is nothing to close. */
bool pd_function_table_open(pd_function_table *table, uintptr_t address);
void pd_function_table_close(pd_function_table *table);

/* The function that the address lies in, or NULL. Lasts until the table is closed. */
const char *pd_function_table_find(const pd_function_table *table, uintptr_t address);

#endif
