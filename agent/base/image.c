/* The dynamic section of an ELF file: see image.h. */
#include "agent/base/image.h"

#include <string.h>

const char *pd_image_find_prefix(const pd_image *i, int64_t tag, const char *const *prefixes)
{
    enum { NAME_LEN = 32 };
    ElfW(Dyn) row;
    for (size_t r = 0; pd_elf_row_at(&i->elf, &i->dynamic, r, &row); r++) {
        char name[NAME_LEN];
        if (row.d_tag != tag || row.d_un.d_val >= i->dynamic.strings_len)
            continue;
        size_t len =
            pd_elf_read(&i->elf, i->dynamic.strings_off + row.d_un.d_val, name, sizeof name);
        for (const char *const *prefix = prefixes; *prefix; prefix++) {
            size_t prefix_len = strlen(*prefix);
            if (prefix_len <= len && memcmp(name, *prefix, prefix_len) == 0)
                return *prefix;
        }
    }
    return NULL;
}

const char *pd_image_find_string(const pd_image *i, const char *const *names)
{
    enum { PART_LEN = 2048, LONGEST = 32 };
    const pd_elf_dynamic *d = &i->dynamic;
    char part[PART_LEN];
    for (uint64_t off = 0; off < d->strings_len; off += PART_LEN - LONGEST) {
        uint64_t left = d->strings_len - off;
        size_t len = pd_elf_read(&i->elf, d->strings_off + off, part,
                                 left < PART_LEN ? (size_t)left : PART_LEN);
        for (const char *const *name = names; *name; name++)
            if (memmem(part, len, *name, strlen(*name) + 1))
                return *name;
        if (len < PART_LEN)
            break;
    }
    return NULL;
}
