/* What an agent that was built with glibc calls, and musl does not have. The functions here replace those of
 * glibc within the agent, so that the same file is loaded by both C libraries. meson.build leaves out
 * _FORTIFY_SOURCE, which has more of them, and with 64 bits _FILE_OFFSET_BITS, which has fcntl64. */
#include "agent/base/object.h"
#include "agent/base/real.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#ifdef __GLIBC__

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): those of the headers are reserved */

/* ---- functions of glibc's static part -------------------------------------------------------- */

extern int glibc_atfork(void (*before)(void), void (*parent)(void), void (*child)(void),
                        void *object) __asm__("__register_atfork") __attribute__((weak));
extern int glibc_at_quick_exit(void (*function)(void *),
                               void *object) __asm__("__cxa_at_quick_exit") __attribute__((weak));

int pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    int (*musl_atfork)(void (*)(void), void (*)(void), void (*)(void)) = NULL;
    if (glibc_atfork)
        return glibc_atfork(before, parent, child, NULL);
    pd_find_functions(&(pd_named_function){"pthread_atfork", &musl_atfork}, 1);
    return musl_atfork ? musl_atfork(before, parent, child) : ENOSYS;
}

int at_quick_exit(void (*function)(void))
{
    int (*musl_at_quick_exit)(void (*)(void)) = NULL;
    if (glibc_at_quick_exit)
        return glibc_at_quick_exit((void (*)(void *))function, NULL);
    pd_find_functions(&(pd_named_function){"at_quick_exit", &musl_at_quick_exit}, 1);
    return musl_at_quick_exit ? musl_at_quick_exit(function) : ENOSYS;
}

/* ---- the object that holds an address ---------------------------------------------------------- */

/* The unwinder of a compiler that was built with glibc 2.35 or later calls _dl_find_object. */

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* dlfcn.h declares it */

typedef struct search {
    uintptr_t address;
    struct dl_find_object *found;
} search;

static int find_tables(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    const search *s = cookie;
    if (!pd_object_holds(info, s->address))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
            uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            s->found->dlfo_eh_frame = (void *)at; // NOLINT(performance-no-int-to-ptr)
            return 1;
        }
    return -1;
}

int _dl_find_object(void *address, struct dl_find_object *found)
{
    search s = {(uintptr_t)address, found};
    if (pd_next()->_dl_find_object)
        return pd_next()->_dl_find_object(address, found);
    return dl_iterate_phdr(find_tables, &s) == 1 ? 0 : -1;
}

#endif

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
