/* Where files are mapped in this process: /proc/self/maps, its executable parts, with build ids.
 *
 * Read when it is first asked for, and again when a program counter falls outside what is known: a
 * library was loaded meanwhile. What was known keeps its number; what is not there any more is not
 * found any more. On a system without /proc/self/maps nothing is mapped. */
#ifndef PD_RECORD_MAPS_H
#define PD_RECORD_MAPS_H

#include "base/mem.h"
#include "profile/identity.h"

#define PD_MAP_NONE UINT32_MAX

typedef struct pd_map {
    uint64_t start, limit, file_offset;
    size_t name_off, build_id_off; /* in text */
    uint32_t name_len, build_id_len;
    pd_place place;
    bool is_there;      /* in the last reading */
    bool lacks_symbols; /* the owner's: a place in it has no lines */
} pd_map;

typedef struct pd_maps {
    pd_map *maps;
    size_t len, cap;
    uint32_t *sorted; /* those that are there, by address */
    size_t sorted_len, sorted_cap;
    pd_buffer text; /* names and build ids */
    pd_buffer file; /* what was read */
    uint32_t main;  /* the main binary's, or PD_MAP_NONE */
    bool is_read;   /* since the beginning, or since it was cleared */
} pd_maps;          /* zero it to begin */

/* Reads it, if that has not been done yet or if `again`. */
pprofdelta_status pd_maps_read(pd_maps *maps, pd_mem *mem, bool again, pprofdelta_error *err);

/* The number of the mapping that holds the address, or PD_MAP_NONE. */
uint32_t pd_maps_find(const pd_maps *maps, uint64_t address);

static inline pd_bytes pd_maps_name(const pd_maps *maps, uint32_t map)
{
    return (pd_bytes){maps->text.ptr + maps->maps[map].name_off, maps->maps[map].name_len};
}

static inline pd_bytes pd_maps_build_id(const pd_maps *maps, uint32_t map)
{
    return (pd_bytes){maps->text.ptr + maps->maps[map].build_id_off, maps->maps[map].build_id_len};
}

/* Forgets everything, keeping capacity. */
void pd_maps_clear(pd_maps *maps);

void pd_maps_release(pd_maps *maps, pd_mem *mem);

/* A line of the file, taken apart; name points into it. False for what is no line of it. */
typedef struct pd_maps_line {
    uint64_t start, limit, file_offset, inode;
    bool is_executable;
    pd_bytes name; /* without the mark of a deleted file */
    bool is_deleted;
} pd_maps_line;

bool pd_maps_parse_line(pd_bytes line, pd_maps_line *out);

#endif
