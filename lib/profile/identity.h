/* Who is who: the identities of mappings and locations, from content alone.
 *
 * An address means nothing by itself: the loader puts a binary somewhere else each time. What stays
 * is the file and the offset in it, so a location is known by its mapping's file and
 *
 *     address - memory_start + file_offset   =   address + bias
 *
 * and by whether it is folded. Its lines do not take part: the same program counter is the same
 * place even where the symboliser gave it another file name. A location without an address is known
 * by its lines. Ids never take part.
 *
 * A file is known by its build id, else by its name, where the mark of a deleted file does not
 * count. A mapping that has no build id and no name, or a made-up one (see filename.h), is no file:
 * its addresses count as they are, and bias is 0. So two such regions are told apart by where they
 * lie, and are the same in two profiles of one process only. */
#ifndef PD_PROFILE_IDENTITY_H
#define PD_PROFILE_IDENTITY_H

#include "base/key.h"
#include "base/mem.h"

/* What a mapping does to the addresses in it. */
typedef struct pd_place {
    pd_key file; /* {0, 0} where it has none */
    uint64_t bias;
} pd_place;

/* The place of a location that has no mapping. */
#define PD_NOWHERE_MAPPED ((pd_place){{0, 0}, 0})

pd_place pd_place_of_mapping(uint64_t start, uint64_t file_offset, pd_bytes filename,
                             pd_bytes build_id);

/* The identity of a location that has an address, or has neither address nor lines. */
pd_key pd_location_key_address(pd_place place, uint64_t address, bool is_folded);

pd_key pd_function_key(pd_bytes name, pd_bytes system_name, pd_bytes filename, int64_t start_line);

/* The identity of a location known by its lines: begun once, then every line in order. */
pd_key pd_location_key_lines_begin(bool is_folded);
pd_key pd_location_key_line(pd_key so_far, pd_key function, int64_t line, int64_t column);

#endif
