/* Which anonymous memory belongs to glibc's malloc: see malloc_areas.h. */
#include "agent/account/malloc_areas.h"

#include "agent/delivery/spool.h"
#include "process/proc.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { TRIES_MAX = 8192, IS_MAPPED_ALONE = 2, FLAGS = 7 };

static int memory = -1;
static unsigned tries;

bool pd_malloc_areas_are_known(void)
{
#if defined(__GLIBC__) && __SIZEOF_POINTER__ == 8
    return true;
#else
    return false;
#endif
}

bool pd_malloc_areas_begin(void)
{
    tries = 0;
    memory = pd_spool_high(pd_proc_open_mem());
    return memory >= 0;
}

void pd_malloc_areas_end(void)
{
    if (memory >= 0)
        close(memory);
    memory = -1;
}

/* The beginning of an arena's area. */
typedef struct arena_record {
    uint64_t arena, previous, size, mapped;
} arena_record;

static bool is_whole_pages(uint64_t size)
{
    return size && !(size & ((uint64_t)sysconf(_SC_PAGESIZE) - 1));
}

static uint64_t arena_len(uintptr_t at, const arena_record *record)
{
    const uint64_t arena_max = UINT64_C(64) << 20;
    bool is_arena = at % arena_max == 0 && record->arena && record->arena % 16 == 0 &&
                    is_whole_pages(record->size) && is_whole_pages(record->mapped) &&
                    record->size <= record->mapped && record->mapped <= arena_max;
    return is_arena ? record->mapped : 0;
}

/* A large block: nothing, and its size. */
static uint64_t block_len(const arena_record *record)
{
    uint64_t flags = record->previous & FLAGS, size = record->previous & ~(uint64_t)FLAGS;
    return !record->arena && flags == IS_MAPPED_ALONE && is_whole_pages(size) ? size : 0;
}

uintptr_t pd_malloc_area_at(uintptr_t at, uintptr_t end)
{
    arena_record record;
    if (tries >= TRIES_MAX ||
        pread(memory, &record, sizeof record, (off_t)at) != (ssize_t)sizeof record)
        return 0;
    uint64_t len = arena_len(at, &record);
    if (len)
        return len < end - at ? at + (uintptr_t)len : end;
    len = block_len(&record);
    if (len && len <= end - at)
        return at + (uintptr_t)len;
    tries++;
    return 0;
}
