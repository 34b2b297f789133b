/* The names of functions of a dead process, as the heap agent gives them to a living one: mangled, from the symbol table
 * of the file that was mapped, if that is still there and has the same build id.
 *
 *     window without names -> its addresses by mapping -> symbol tables -> the same window, with names */
#ifndef CLI_DEAD_NAMES_H
#define CLI_DEAD_NAMES_H

#include "output_file.h"

#include "pprofdelta_heap.h"

typedef struct cli_dead_name {
    uint64_t address;
    const char *name;
} cli_dead_name;

typedef struct cli_dead_names {
    cli_dead_name *at; /* by address; kept (keep.h) */
    size_t len;
    pprofdelta_frame frame; /* the last result */
} cli_dead_names;           /* zero it to begin: there are none */

/* Finds the names of the addresses in a profile of this name, whose bytes are freed. Prints what is wrong with it;
 * returns an exit code. Of a file that is not there, or is another one, there are no names, without a word. */
int cli_dead_names_find(cli_dead_names *names, const char *name, cli_buffer *profile);

/* A pprofdelta_symbolizer, whose cookie is a cli_dead_names. */
void cli_dead_names_symbolize(void *cookie, uint64_t address, pprofdelta_symbol *out);

#endif
