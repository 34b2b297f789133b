/* How the memory of the module grows. malloc asks sbrk, and sbrk asks the host, which may refuse. The instruction
 * memory.grow, which wasi-libc uses, would leave this to the engine.
 *
 * build.py gives this file to the linker first, so that it takes no other sbrk. */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

enum { PAGE = 1 << 16 };

/* Adds pages to the memory. Returns how many it had, or -1. */
__attribute__((import_module("host"), import_name("grow"))) int32_t host_grow(uint32_t pages);

void *sbrk(intptr_t increment)
{
    if (increment == 0)
        return (void *)(__builtin_wasm_memory_size(0) * PAGE);
    int32_t old = increment < 0 || increment % PAGE ? -1 : host_grow((uint32_t)increment / PAGE);
    if (old < 0) {
        errno = ENOMEM;
        return (void *)-1;
    }
    return (void *)((uintptr_t)old * PAGE);
}
