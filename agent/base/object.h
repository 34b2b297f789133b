/* The memory of an object (the program or a shared library) that dl_iterate_phdr reports. */
#ifndef PD_AGENT_OBJECT_H
#define PD_AGENT_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pd_object_range {
    uintptr_t begin, end; /* begin > end: the object has no memory */
} pd_object_range;

/* Returns the range from the first byte of the object to its last. Other objects may lie in gaps
 * between its segments. */
static inline pd_object_range pd_object_range_of(const struct dl_phdr_info *info)
{
    pd_object_range range = {UINTPTR_MAX, 0};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        range.begin = begin < range.begin ? begin : range.begin;
        range.end = end > range.end ? end : range.end;
    }
    return range;
}

/* Does a segment of the object hold the address? */
static inline bool pd_object_holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

#endif
