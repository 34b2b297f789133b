/* Address ranges from which code was unloaded: see stacks.h.
 *
 * The table only grows, and a row is complete before the length counts it. So a thread that
 * samples reads it without a lock. Two objects that were unloaded from overlapping ranges have a
 * row each. The number of a stack is made of all rows through which it passes. */
#include "agent/stacks/stacks.h"

#include "agent/base/agent.h"
#include "agent/base/object.h"
#include "base/lock.h"

enum { RANGES_MAX = 256, OBJECTS_MAX = 1024 };

typedef struct unloaded_range {
    pd_object_range at;
    _Atomic uint64_t times;
} unloaded_range;

static unloaded_range ranges[RANGES_MAX];
static atomic_size_t ranges_len;

typedef struct objects {
    size_t len;
    pd_object_range at[OBJECTS_MAX];
} objects;

/* The objects at the last update and at this one, protected by the lock. The lock is not held while
 * the loader runs destructors of an object: they may unload other objects, or wait for threads
 * that do. */
static objects known, now;
static PD_OF_PROCESS pd_lock lock;

static int note_object(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    objects *o = cookie;
    pd_object_range range = pd_object_range_of(info);
    if (range.begin < range.end && o->len < OBJECTS_MAX)
        o->at[o->len++] = range;
    return 0;
}

static bool is_same(pd_object_range a, pd_object_range b)
{
    return a.begin == b.begin && a.end == b.end;
}

static bool has_object(const objects *o, pd_object_range range)
{
    for (size_t i = 0; i < o->len; i++)
        if (is_same(o->at[i], range))
            return true;
    return false;
}

/* If the table is full, further ranges are ignored. */
static void count_unloaded(pd_object_range range)
{
    size_t len = atomic_load(&ranges_len), i = 0;
    while (i < len && !is_same(ranges[i].at, range))
        i++;
    if (i == RANGES_MAX)
        return;
    ranges[i].at = range;
    atomic_fetch_add(&ranges[i].times, 1);
    if (i == len)
        atomic_store_explicit(&ranges_len, len + 1, memory_order_release);
}

void pd_unloaded_update(void)
{
    pd_lock_take(&lock);
    now.len = 0;
    dl_iterate_phdr(note_object, &now);
    for (size_t i = 0; i < known.len; i++)
        if (!has_object(&now, known.at[i]))
            count_unloaded(known.at[i]);
    known = now;
    pd_lock_give(&lock);
}

uint64_t pd_unloaded_number(const uint64_t *stack, size_t depth)
{
    uint64_t number = 0;
    size_t len = atomic_load_explicit(&ranges_len, memory_order_acquire);
    for (size_t i = 0; i < len; i++)
        for (size_t frame = 0; frame < depth; frame++)
            if (pd_object_range_has(ranges[i].at, (uintptr_t)stack[frame])) {
                number = (number + i + 1) * UINT64_C(0x9e3779b97f4a7c15) +
                         atomic_load_explicit(&ranges[i].times, memory_order_relaxed);
                break;
            }
    return number;
}
