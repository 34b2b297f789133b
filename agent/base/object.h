/* The dynamic tables of an object in memory: symbols by name, and the slots that the loader has filled. */
#ifndef PD_AGENT_OBJECT_H
#define PD_AGENT_OBJECT_H

#include "agent/base/code.h"

#include <elf.h>

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
