/* The functions of a mapped file by address, from its symbol table or, in a stripped file, from
 * the dynamic one.
 *
 * The file must be the one that is mapped and not one that replaced it. So the notes of both,
 * which hold the build id, are compared. Nothing else in the file is trusted. The tables are
 * read, not mapped, so a file that is cut short meanwhile does no harm. */
#ifndef PD_AGENT_FUNCTION_TABLE_H
#define PD_AGENT_FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pd_function_entry {
    uint64_t begin; /* the address in the file */
    uint32_t len;
    uint32_t name; /* offset in strings */
} pd_function_entry;

typedef struct pd_function_table {
    uintptr_t begin, end; /* the range in memory */
    uintptr_t bias;       /* address in memory - address in the file */
    char *strings;
    size_t strings_len;
    pd_function_entry *functions; /* sorted */
    size_t functions_len, functions_size;
} pd_function_table;

/* Reads the table of the file that is mapped at the address. Returns false if no file is, or if
 * it has no table that can be read; then there is nothing to close. */
bool pd_function_table_open(pd_function_table *table, uintptr_t address);
void pd_function_table_close(pd_function_table *table);

/* Returns the name of the function that holds the address, or NULL. The name is valid until the
 * table is closed. */
const char *pd_function_table_find(const pd_function_table *table, uintptr_t address);

#endif
