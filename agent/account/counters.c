/* What jemalloc and tcmalloc say of their own memory: see counters.h. */
#include "agent/account/counters.h"

#include "agent/base/code.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static int (*mallctl)(const char *, void *, size_t *, void *, size_t);
static int (*get_property)(const char *, size_t *); /* MallocExtension_GetNumericProperty */
static pid_t first_pid;

/* Sets *function to the allocator's function of that name. An allocator beside malloc, which the
 * program opened or links for itself, is not the one that the account is about. */
static void find(void *function, const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (address && pd_code_is_of_allocator((uintptr_t)address))
        memcpy(function, &address, sizeof address);
}

void pd_counters_begin(void)
{
    find(&mallctl, "mallctl");
    find(&get_property, "MallocExtension_GetNumericProperty");
    first_pid = getpid();
}

static void add_jemalloc(pd_fixed_text *text)
{
    static const char *const names[] = {"stats.allocated", "stats.active", "stats.metadata",
                                        "stats.resident", "stats.mapped"};
    uint64_t epoch = 1; /* any number: the statistics are then of now */
    if (mallctl("epoch", NULL, NULL, &epoch, sizeof epoch))
        return;
    pd_text_add(text, " allocator=jemalloc");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t value = 0, len = sizeof value;
        if (!mallctl(names[i], &value, &len, NULL, 0))
            pd_text_add(text, " %s=%zu", names[i] + sizeof "stats." - 1, value);
    }
}

static void add_tcmalloc(pd_fixed_text *text)
{
    static const char *const names[][2] = {
        {"generic.current_allocated_bytes", "allocated"},
        {"generic.heap_size", "heap_size"},
        {"tcmalloc.pageheap_free_bytes", "pageheap_free"},
        {"tcmalloc.pageheap_unmapped_bytes", "pageheap_unmapped"}};
    pd_text_add(text, " allocator=tcmalloc");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t value = 0;
        if (get_property(names[i][0], &value))
            pd_text_add(text, " %s=%zu", names[i][1], value);
    }
}

void pd_counters_add(pd_fixed_text *text)
{
    if (getpid() != first_pid)
        return;
    if (mallctl)
        add_jemalloc(text);
    else if (get_property)
        add_tcmalloc(text);
}
