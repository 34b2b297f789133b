/* The build id of a loaded ELF file, as a linker leaves it in a note. */
#ifndef PD_RECORD_BUILDID_H
#define PD_RECORD_BUILDID_H

#include "base/mem.h"

#include <stdbool.h>

enum { PD_BUILD_ID_MAX = 64 }; /* bytes; longer ones are cut */

/* Reads len bytes at off, all or nothing. */
typedef struct pd_elf_source {
    bool (*read)(void *cookie, uint64_t off, void *out, size_t len);
    void *cookie;
} pd_elf_source;

/* Writes the build id of the ELF image that begins at offset 0, as the loader put it into memory, in
 * hexadecimal to out and returns its
 * length, or 0 where there is none. Nothing that the file says is trusted. */
size_t pd_elf_build_id(const pd_elf_source *source, char out[2 * PD_BUILD_ID_MAX]);

#endif
