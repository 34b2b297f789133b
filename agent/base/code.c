/* Whose code is an address: see code.h. */
#include "agent/base/code.h"

pd_object_range pd_object_range_of(const struct dl_phdr_info *info)
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

bool pd_object_holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

typedef struct search {
    uintptr_t address;
    pd_object_range found;
    const char *path;
} search;

static int find_range(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    search *s = cookie;
    const bool is_it = pd_object_holds(info, s->address);
    if (is_it)
        *s = (search){s->address, pd_object_range_of(info), info->dlpi_name};
    return is_it;
}

pd_object_range pd_object_range_at(uintptr_t address, const char **path)
{
    search s = {.address = address};
    dl_iterate_phdr(find_range, &s);
    if (path && s.path)
        *path = s.path;
    return s.found;
}

enum { AGENT, LIBC, THREADS, ALLOCATOR, OWNERS };
static pd_object_range ranges[OWNERS];

void pd_code_begin(uintptr_t allocator, uintptr_t libc, uintptr_t threads)
{
    ranges[AGENT] = pd_object_range_at((uintptr_t)pd_code_begin, NULL);
    ranges[ALLOCATOR] = pd_object_range_at(allocator, NULL);
    ranges[LIBC] = pd_object_range_at(libc, NULL);
    ranges[THREADS] = pd_object_range_at(threads, NULL);
}

pd_object_range pd_code_own(void)
{
    return ranges[AGENT];
}

bool pd_code_is_own(uintptr_t pc)
{
    return pd_object_range_has(ranges[AGENT], pc);
}

bool pd_code_is_of_libc(uintptr_t pc)
{
    return pd_object_range_has(ranges[LIBC], pc) || pd_object_range_has(ranges[THREADS], pc);
}

bool pd_code_has_libc_allocator(void)
{
    return ranges[ALLOCATOR].begin == ranges[LIBC].begin;
}

bool pd_code_is_of_allocator(uintptr_t pc)
{
    return pd_object_range_has(ranges[ALLOCATOR], pc) && !pd_code_has_libc_allocator();
}
