/* The objects of the process, which are the program and its shared libraries: whose code is an address, what memory an
 * object has, the symbols in its tables, and the slots that the loader has filled. */
#ifndef PD_AGENT_OBJECT_H
#define PD_AGENT_OBJECT_H

#include <elf.h>
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

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct pd_object_range {
    uintptr_t begin, end; /* begin > end: the object has no memory */
} pd_object_range;

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

/* ---- whose code is an address ----------------------------------------------------------------- */

/* Finds the agent, the C library and the allocator. All of the following return false before. */
void pd_code_begin(void);

bool pd_code_is_own(uintptr_t pc);
bool pd_code_is_of_libc(uintptr_t pc);

/* False for an allocator that is part of the C library. */
bool pd_code_is_of_allocator(uintptr_t pc);
bool pd_code_has_libc_allocator(void);

pd_object_range pd_code_own(void);

/* ---- tables ---------------------------------------------------------------------------------- */

/* Relocations have an addend in the row, or where the result goes: it depends on the machine. */
#if defined(__i386__) || defined(__arm__)
typedef ElfW(Rel) pd_relocation;
enum { PD_RELOCATIONS = DT_REL, PD_RELOCATIONS_SIZE = DT_RELSZ };
#else
typedef ElfW(Rela) pd_relocation;
enum { PD_RELOCATIONS = DT_RELA, PD_RELOCATIONS_SIZE = DT_RELASZ };
#endif

typedef struct pd_relocations {
    const pd_relocation *rows;
    size_t size; /* bytes */
} pd_relocations;

typedef struct pd_object {
    uintptr_t base;
    pd_object_range range;
    const ElfW(Phdr) * segments;
    size_t segments_len;
    ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash;     /* in the GNU format; NULL: none */
    const uint32_t *old_hash; /* in the older one; NULL: none */
    const uint16_t *versions; /* of the symbols; NULL: they have none */
    pd_relocations plain, calls;
} pd_object;

/* Returns false if the object has no symbols. */
bool pd_object_open(pd_object *object, const struct dl_phdr_info *info);

/* Returns the function of that name that the object exports, or NULL. */
ElfW(Sym) * pd_object_find(const pd_object *object, const char *name);

/* Returns the slot that a relocation fills. *name is the symbol with which it is filled, or NULL. */
uintptr_t *pd_object_slot(const pd_object *object, const pd_relocation *row, const char **name);

/* Was the agent loaded into a program that ran already? Then no search of the loader finds the agent's functions. */
bool pd_is_late(void);

typedef struct pd_named_function {
    const char *name;
    void *function; /* the pointer to set, NULL before */
} pd_named_function;

/* Sets the pointers to the functions that the program would use without the agent: the first ones behind the agent in
 * the loader's order, or after a late start in all of it. Leaves those of which there is none. Does not allocate, so
 * malloc itself can be looked for, as with dlsym it could not. That would also find the entry by which a program that
 * is not position independent calls a function. */
void pd_find_functions(const pd_named_function *functions, size_t len);

/* Returns the address of one of them, or 0. */
uintptr_t pd_next_definition(const char *name);

#endif
