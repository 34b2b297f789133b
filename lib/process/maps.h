/* The executable mappings of this process, from /proc/self/maps, with build ids.
 *
 * The owner reads the file, and reads it again when an address is not found, since a library may have
 * been loaded meanwhile. A mapping that was known before keeps its number. A mapping that is gone
 * keeps its number too, but is not found any more. On a system without
 * /proc/self/maps there are no mappings. */
#ifndef PD_PROCESS_MAPS_H
#define PD_PROCESS_MAPS_H

#include "base/keymap.h"

/* The fields of one line of /proc/self/maps, or of a copy of it in a text heap profile. name points into the line. */
typedef struct pd_maps_line {
    uint64_t start, limit, file_offset, inode;
    bool is_executable;
    pd_bytes name; /* without the mark of a deleted file */
    bool is_deleted;
} pd_maps_line;

/* Returns false if the text is not such a line. */
bool pd_maps_parse_line(pd_bytes line, pd_maps_line *out);

#define PD_MAP_NONE UINT32_MAX

typedef struct pd_map {
    uint64_t start, limit, file_offset;
    size_t name_off, build_id_off; /* in text */
    uint32_t name_len, build_id_len;
    uint32_t is_there; /* it was in the last reading */
} pd_map;

typedef struct pd_maps {
    pd_map *maps;
    size_t len;
    pd_keymap keys;   /* of those that were read, by number: addresses, offset and name */
    uint32_t *sorted; /* the mappings with is_there, by address */
    size_t sorted_len;
    pd_buffer text; /* names and build ids */
    pd_buffer file; /* the text of /proc/self/maps */
    uint32_t main;  /* the mapping of the main binary, or PD_MAP_NONE */
    bool is_read;   /* false at the beginning and after pd_maps_clear */
} pd_maps;          /* zero it to begin */

/* Reads the mappings. If /proc is out of reach by now (chroot), those of the last reading count. */
pprofdelta_status pd_maps_read(pd_maps *maps, pd_mem *mem, pprofdelta_error *err);

/* The number of objects that the loader has loaded and unloaded; 0 if it does not report it. This
 * takes a lock of the loader. Do not call it in the child of a fork: another thread of the parent may
 * have held that lock, and it is never released in the child. */
uint64_t pd_maps_loads(void);

/* Adds a mapping that is there, and sorts the table after the last one. Then the table is never read. */
pprofdelta_status pd_maps_add(pd_maps *maps, pd_mem *mem, const pd_maps_line *line,
                              pd_bytes build_id, pprofdelta_error *err);
pprofdelta_status pd_maps_sort(pd_maps *maps, pd_mem *mem, pprofdelta_error *err);

/* Returns the number of the mapping that holds the address, or PD_MAP_NONE. */
uint32_t pd_maps_find(const pd_maps *maps, uint64_t address);

static inline pd_bytes pd_maps_name(const pd_maps *maps, uint32_t map)
{
    return (pd_bytes){maps->text.ptr + maps->maps[map].name_off, maps->maps[map].name_len};
}

static inline pd_bytes pd_maps_build_id(const pd_maps *maps, uint32_t map)
{
    return (pd_bytes){maps->text.ptr + maps->maps[map].build_id_off, maps->maps[map].build_id_len};
}

/* Removes all mappings and keeps the capacity. */
void pd_maps_clear(pd_maps *maps);

#endif
