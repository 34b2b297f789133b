/* A listener of static probes (USDT) inside the process that has them. It does what a tracer does
 * from outside, without its rights: it reads the notes of an ELF file that is loaded, puts a
 * breakpoint in the place of each nop, and adds 1 to each semaphore.
 *
 * It calls nothing that allocates, so it may listen to an allocator. For x86-64 and arm64. */
#ifndef PD_TESTS_LISTENER_H
#define PD_TESTS_LISTENER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define CAN_LISTEN 1
#else
#define CAN_LISTEN 0
#endif

enum { LISTENER_PROBES_MAX = 16, LISTENER_ARGUMENTS_MAX = 3 };

typedef struct listener_probe {
    const char *provider, *name, *arguments; /* as the note has them */
    unsigned char *at;                       /* the instruction, in this process */
    volatile unsigned short *semaphore;      /* NULL: none */
} listener_probe;

/* Called by the thread in which a probe fires, in a signal handler. */
typedef void listener_heard(const listener_probe *probe,
                            const uint64_t arguments[LISTENER_ARGUMENTS_MAX]);

/* Finds the probes of a provider in the file at path, which is loaded at address bias (dlpi_addr).
 * Returns how many there are. */
size_t listener_find(const char *path, uintptr_t bias, const char *provider,
                     listener_probe out[LISTENER_PROBES_MAX]);

/* Sets breakpoints and calls heard from then on. Call it once. Returns 0, or an errno value if code
 * cannot be changed here. */
int listener_start(const listener_probe *probes, size_t len, listener_heard *heard);

/* Adds to the semaphores of the probes that listener_start was given. */
void listener_want(int change);

#endif
