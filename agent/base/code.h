/* Whose code is an address: the agent's, the C library's or the allocator's. And the memory of an object
 * (the program or a shared library) that dl_iterate_phdr reports. */
#ifndef PD_AGENT_CODE_H
#define PD_AGENT_CODE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The agent that was built with glibc is also loaded by musl, where the process has 64 bits. So it refers
 * weakly to what one of the two lacks. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

static inline bool pd_is_glibc(void)
{
    return gnu_get_libc_version != NULL;
}

/* Finds the objects. allocator: the address of malloc; libc and threads: of a function of the C library, and of its library of
 * threads. All of the following return false before. */
void pd_code_begin(uintptr_t allocator, uintptr_t libc, uintptr_t threads);

bool pd_code_is_own(uintptr_t pc);
bool pd_code_is_of_libc(uintptr_t pc);

/* False for an allocator that is part of the C library. */
bool pd_code_is_of_allocator(uintptr_t pc);
bool pd_code_has_libc_allocator(void);

typedef struct pd_object_range {
    uintptr_t begin, end; /* begin > end: the object has no memory */
} pd_object_range;

pd_object_range pd_code_own(void);

/* Returns the range from the first byte of the object to its last. Other objects may lie in gaps
 * between its segments. */
pd_object_range pd_object_range_of(const struct dl_phdr_info *info);

/* The range of the object that holds the address, or one of zeros. *path (NULL: it is not wanted) is left then; it is
 * empty for the program, and valid until the object is unloaded. */
pd_object_range pd_object_range_at(uintptr_t address, const char **path);

/* Does a segment of the object hold the address? */
bool pd_object_holds(const struct dl_phdr_info *info, uintptr_t address);

static inline bool pd_object_range_has(pd_object_range range, uintptr_t address)
{
    return address - range.begin < range.end - range.begin;
}

#endif
