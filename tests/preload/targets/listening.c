/* Listens to the agent's probes from inside of the program: a library to preload after the agent. Its
 * constructor runs before the agent's, so it hears everything. What it heard is in the file that
 * LISTENING names, as a line of numbers that is correct at any time: the program may end in any way.
 *
 * With LISTENING_WANT=0 it sets the breakpoints and leaves the semaphores at 0. */
#include "listener.h"

#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MARKED = 7777, SLOTS = 1 << 20, RESULTS = 9 };

/* In the file, each a number of 8 bytes. */
typedef enum result {
    PROBES,  /* found in the agent */
    FAILURE, /* errno of setting breakpoints */
    ALLOCS,
    FREES,
    WEIGHT,       /* of all allocs */
    WEIGHT_FREED, /* of those that were freed */
    MARKED_ALLOCS,
    MARKED_FREES,
    WRONG /* a free without an alloc, or a second alloc */
} result;

static _Atomic uint64_t nowhere[RESULTS], *results = nowhere;
static pid_t own;

/* Pointers that are alive. */
static struct slot {
    uint64_t ptr, size, weight;
} slots[SLOTS];
static atomic_flag lock = ATOMIC_FLAG_INIT;

static struct slot *find(uint64_t ptr, uint64_t want)
{
    for (uint64_t at = (ptr * UINT64_C(0x9e3779b97f4a7c15)) >> 44;; at++)
        if (slots[at % SLOTS].ptr == ptr || (want == 0 && slots[at % SLOTS].ptr == 1))
            return &slots[at % SLOTS];
        else if (slots[at % SLOTS].ptr == 0)
            return want ? NULL : &slots[at % SLOTS];
}

static void begins(uint64_t ptr, uint64_t size, uint64_t weight)
{
    results[WRONG] += find(ptr, ptr) != NULL;
    *find(ptr, 0) = (struct slot){ptr, size, weight};
    results[ALLOCS]++;
    results[WEIGHT] += weight;
    results[MARKED_ALLOCS] += size == MARKED;
}

static void ends(uint64_t ptr)
{
    struct slot *slot = find(ptr, ptr);
    results[FREES]++;
    if (!slot) {
        results[WRONG]++;
        return;
    }
    results[WEIGHT_FREED] += slot->weight;
    results[MARKED_FREES] += slot->size == MARKED;
    slot->ptr = 1; /* free for another pointer */
}

static void heard(const listener_probe *probe, const uint64_t arguments[LISTENER_ARGUMENTS_MAX])
{
    if (getpid() != own)
        return;
    while (atomic_flag_test_and_set(&lock))
        continue;
    if (probe->name[0] == 'a')
        begins(arguments[0], arguments[1], arguments[2]);
    else
        ends(arguments[0]);
    atomic_flag_clear(&lock);
}

static int find_agent(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libpprofdelta-agent"))
        return 0;
    listener_probe probes[LISTENER_PROBES_MAX];
    size_t len = listener_find(info->dlpi_name, info->dlpi_addr, "otel_memory", probes);
    results[PROBES] = len;
    results[FAILURE] = len ? (uint64_t)listener_start(probes, len, heard) : 0;
    *(int *)cookie = 1;
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("LISTENING"), *want = getenv("LISTENING_WANT");
    int is_there = 0, fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd < 0 || ftruncate(fd, sizeof nowhere))
        return;
    void *memory = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return;
    results = memory;
    own = getpid();
    dl_iterate_phdr(find_agent, &is_there);
    if (is_there && !(want && *want == '0'))
        listener_want(1);
}
