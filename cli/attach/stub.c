/* What the new threads in the target do: see stub.h. This is copied there: it reaches nothing but its arguments, and what they
 * give. */
#include "attach/stub.h"

#include <assert.h>
#include <dlfcn.h>
#include <stddef.h>
#include <sys/syscall.h>

static_assert(offsetof(cli_store, all) == STORE_ALL &&
                  offsetof(cli_store, before) == STORE_BEFORE &&
                  offsetof(cli_store, cloned) == STORE_CLONED &&
                  offsetof(cli_store, tid) == STORE_TID && sizeof(cli_store) < STORE_STACK_END / 2,
              "as the assembly has it");

#define IN_TARGET __attribute__((section("cli_stub")))
#define INLINE    static inline __attribute__((always_inline))

INLINE long call(long number, long first, long second)
{
#ifdef __x86_64__
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
    return x0;
#endif
}

INLINE uint32_t await(cli_store *s, const uint32_t *word)
{
    uint32_t value = 0;
    s->pause.tv_nsec = 1000000;
    for (int i = 0; i < STORE_PATIENCE && !(value = __atomic_load_n(word, __ATOMIC_ACQUIRE)); i++)
        call(SYS_nanosleep, (long)&s->pause, 0);
    return value;
}

IN_TARGET void cli_stub_raw(cli_store *s)
{
    const cli_given *g = &s->given;
    if (await(s, &s->go)) {
        if (g->create(&s->thread, NULL, g->load, s))
            __atomic_store_n(&s->done, STORE_NO_THREAD, __ATOMIC_RELEASE);
        else
            g->detach(s->thread);
    }
    for (;;)
        call(SYS_exit, 0, 0);
}

IN_TARGET void *cli_stub_load(void *store)
{
    enum { CLOSE_ON_EXEC = 1 };
    cli_store *s = store;
    const cli_given *g = &s->given;
    if (g->wants_file) {
        s->file = (int32_t)call(SYS_memfd_create, (long)g->name, CLOSE_ON_EXEC);
        await(s, &s->is_filled);
    }
    void *library = g->open(g->path, RTLD_NOW);
    int (*start)(const char *) = library ? g->find(library, g->symbol) : NULL;
    s->result = start ? (uint64_t)start(NULL) : (uint64_t)(uintptr_t)g->error();
    __atomic_store_n(&s->done, start ? STORE_LOADED : STORE_NOT_LOADED, __ATOMIC_RELEASE);
    if (s->file > 0)
        call(SYS_close, s->file, 0);
    return NULL;
}
