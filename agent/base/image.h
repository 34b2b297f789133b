/* What an ELF file says in its dynamic section: the libraries that it needs and the names that it uses
 * or exports. Nothing is allocated, and the file is not trusted; see process/elf.h. */
#ifndef PD_AGENT_IMAGE_H
#define PD_AGENT_IMAGE_H

#include "process/elf.h"

typedef struct pd_image {
    pd_elf elf;
    pd_elf_dynamic dynamic;
} pd_image;

/* Returns the one of the prefixes (NULL at the end) with which a string of a dynamic row with this
 * tag begins, or NULL. */
const char *pd_image_find_prefix(const pd_image *i, int64_t tag, const char *const *prefixes);

/* Returns the one of the names (NULL at the end, each shorter than 32 bytes) that is among the
 * dynamic strings, or at the end of one of them, or NULL. */
const char *pd_image_find_string(const pd_image *i, const char *const *names);

#endif
