/* Functions from the symbol table, and functions, inlined calls and lines from DWARF.
 *
 * DWARF: one pass over the entries of each unit that covers a wanted address. An entry whose addresses hold
 * no wanted address is left out, with all that is in it.
 *
 *     unit                      a.cc
 *       subprogram              main           0x1000-0x1200   <- chain[0] of 0x1042
 *         lexical block
 *           inlined subroutine  add            0x1040-0x1050   <- chain[1]; called at a.cc:12
 *             inlined           push_back      0x1044-0x1048   not in the chain
 *
 * Frames are the chain, the other way round. The line of the innermost frame is that of the address;
 * the line of every other frame is where the inlined call in it is. */
#ifndef CLI_SYMBOLIZE_DWARF_H
#define CLI_SYMBOLIZE_DWARF_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_link cli_link;

/* An address of the file, as its program headers have it. */
typedef struct cli_wanted {
    uint64_t pc;
    size_t index;     /* in the request */
    Dwarf_Off unit;   /* the offset of its unit plus one; 0: none */
    cli_link *chain;  /* the innermost entry that holds it */
    uint64_t root;    /* which subprogram the chain is in */
    const char *name; /* from the symbol table, or NULL */
} cli_wanted;

/* Sets the name of each address that is in a function of .symtab, or else of .dynsym, and has no
 * name yet. Returns whether the file has functions. The names belong to elf. */
bool cli_table_name(Elf *elf, cli_wanted *wanted, size_t len);

/* Writes the frames of all addresses that have any, in the form of cli_module_resolve. `wanted` rises
 * by pc. An address without an entry has the name of its symbol. dwarf may be NULL; dir is the folder
 * of its file. */
void cli_dwarf_write(Dwarf *dwarf, const char *dir, cli_wanted *wanted, size_t len, FILE *out);

/* Loads the file that .gnu_debugaltlink names, if it is a regular file. */
void cli_dwarf_load_alt(Dwarf *dwarf, const char *dir);

#endif
