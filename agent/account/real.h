/* The real allocator: the malloc family that the program would use without the agent.
 *
 * That is the next definition in the program's search order, usually the C library's, sometimes
 * that of another allocator that was linked or preloaded. It is looked up at the first call,
 * which may come long before any constructor has run. The lookup itself may allocate. So until it
 * is done each entry leads to a function that does the lookup first. For the thread that is doing
 * the lookup these functions allocate from a small arena that is never freed. Afterwards a call
 * costs one indirect jump. */
#ifndef PD_AGENT_REAL_H
#define PD_AGENT_REAL_H

#include <stddef.h>

typedef struct pd_allocator {
    void *(*malloc)(size_t size);
    void (*free)(void *ptr);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *ptr, size_t size);
    int (*posix_memalign)(void **out, size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
    size_t (*usable_size)(void *ptr);
} pd_allocator;

extern pd_allocator pd_real;

/* Looks up the functions if that was not done yet. */
void pd_real_find(void);

#endif
