/* Identities of mappings, functions and locations, from their content.
 *
 * The loader puts a binary at another address each time. Its file and the offset in the file stay
 * the same. So a location is identified by its mapping's file, by whether it is folded, and by
 *
 *     address - memory_start + file_offset   =   address + bias
 *
 * Lines of a location with an address are not used: the same program counter is the same place even
 * if the symbolizer gave it another file name. A location without an address is identified by its
 * lines. Ids are never used.
 *
 * A file is identified by its build id, else by its name without the mark of a deleted file. A
 * mapping without a build id and with no name, or a made-up one (see filename.h), has no file: its
 * addresses are used as they are, and bias is 0. Two such regions are the same only in profiles of
 * one process. */
#ifndef PD_PROFILE_IDENTITY_H
#define PD_PROFILE_IDENTITY_H

#include "base/key.h"
#include "base/mem.h"

/* The file of a mapping, and what is added to the addresses in it. */
typedef struct pd_place {
    pd_key file; /* {0, 0}: none */
    uint64_t bias;
} pd_place;

/* The place of a location without a mapping. */
#define PD_NOWHERE_MAPPED ((pd_place){{0, 0}, 0})

/* The key of a mapping's file; {0, 0}: none. */
pd_key pd_file_key(pd_bytes filename, pd_bytes build_id);
pd_place pd_place_in_file(pd_key file, uint64_t start, uint64_t file_offset);
pd_place pd_place_of_mapping(uint64_t start, uint64_t file_offset, pd_bytes filename,
                             pd_bytes build_id);

/* The identity of a location with an address, or with neither address nor lines. */
pd_key pd_location_key_address(pd_place place, uint64_t address, bool is_folded);

/* A function from its strings, or from their keys. */
pd_key pd_string_key(pd_bytes string);
pd_key pd_function_key_of(pd_key name, pd_key system_name, pd_key filename, int64_t start_line);
pd_key pd_function_key(pd_bytes name, pd_bytes system_name, pd_bytes filename, int64_t start_line);

/* The identity of a location without an address: begin, then each line in order. */
pd_key pd_location_key_lines_begin(bool is_folded);
pd_key pd_location_key_line(pd_key so_far, pd_key function, int64_t line, int64_t column);

#endif
