/* Where code was unloaded: see unloaded.h.
 *
 * The table only grows, and its rows are complete before its length says that they are there: a
 * thread that samples reads it without a lock. Two objects that were unloaded from overlapping
 * places have a row each; a stack's number is made of all the rows that it goes through. */
#include "agent/unloaded.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { PLACES_MAX = 256, OBJECTS_MAX = 1024 };

typedef struct place {
    uintptr_t begin, end;
    _Atomic uint64_t times;
} place;

static place places[PLACES_MAX];
static atomic_size_t places_len;

typedef struct objects {
    size_t len;
    struct {
        uintptr_t begin, end;
    } at[OBJECTS_MAX];
} objects;

/* What was there when it was last looked at. Held under the lock, which nobody keeps while the
 * loader runs the destructors of what it unloads: they may unload more, or wait for those who
 * do. */
static objects known, now;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int note_object(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    objects *o = cookie;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        begin = at < begin ? at : begin;
        end = at + info->dlpi_phdr[i].p_memsz > end ? at + info->dlpi_phdr[i].p_memsz : end;
    }
    if (begin < end && o->len < OBJECTS_MAX) {
        o->at[o->len].begin = begin;
        o->at[o->len++].end = end;
    }
    return 0;
}

static bool holds(const objects *o, uintptr_t begin, uintptr_t end)
{
    for (size_t i = 0; i < o->len; i++)
        if (o->at[i].begin == begin && o->at[i].end == end)
            return true;
    return false;
}

static void count(uintptr_t begin, uintptr_t end)
{
    size_t len = atomic_load(&places_len);
    for (size_t i = 0; i < len; i++) {
        if (places[i].begin == begin && places[i].end == end) {
            atomic_fetch_add(&places[i].times, 1);
            return;
        }
    }
    if (len == PLACES_MAX) /* more places than any program has: not told apart any more */
        return;
    places[len].begin = begin;
    places[len].end = end;
    atomic_store(&places[len].times, 1);
    atomic_store_explicit(&places_len, len + 1, memory_order_release);
}

void pd_unloaded_look(void)
{
    pthread_mutex_lock(&lock);
    now.len = 0;
    dl_iterate_phdr(note_object, &now);
    for (size_t i = 0; i < known.len; i++)
        if (!holds(&now, known.at[i].begin, known.at[i].end))
            count(known.at[i].begin, known.at[i].end);
    known = now;
    pthread_mutex_unlock(&lock);
}

void pd_unloaded_forget_lock(void)
{
    pthread_mutex_init(&lock, NULL);
}

uint64_t pd_unloaded_number(const uint64_t *stack, size_t depth)
{
    uint64_t number = 0;
    size_t len = atomic_load_explicit(&places_len, memory_order_acquire);
    for (size_t i = 0; i < len; i++)
        for (size_t frame = 0; frame < depth; frame++)
            if (stack[frame] - places[i].begin < places[i].end - places[i].begin) {
                number = (number + i + 1) * UINT64_C(0x9e3779b97f4a7c15) +
                         atomic_load_explicit(&places[i].times, memory_order_relaxed);
                break;
            }
    return number;
}
