/* The functions of an ELF file's symbol table. */
#ifndef CLI_SYMBOLIZE_TABLE_H
#define CLI_SYMBOLIZE_TABLE_H

#include "symbolize/symbolize_dwarf.h"

/* Sets the name of each address that is in a function of .symtab, or else of .dynsym, and has no
 * name yet. Returns whether the file has functions. The names belong to elf. */
bool cli_table_name(Elf *elf, cli_wanted *wanted, size_t len);

#endif
