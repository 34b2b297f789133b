/* A line of /proc/self/maps, or of a copy of it in a text heap profile. */
#ifndef PD_PROCESS_MAPS_LINE_H
#define PD_PROCESS_MAPS_LINE_H

#include "base/mem.h"

/* The fields of one line of /proc/self/maps. name points into the line. */
typedef struct pd_maps_line {
    uint64_t start, limit, file_offset, inode;
    bool is_executable;
    pd_bytes name; /* without the mark of a deleted file */
    bool is_deleted;
} pd_maps_line;

/* Returns false if the text is not such a line. */
bool pd_maps_parse_line(pd_bytes line, pd_maps_line *out);

#endif
