/* Samples, and a window that takes them one by one. */
#ifndef PD_TESTS_WINDOW_KIT_H
#define PD_TESTS_WINDOW_KIT_H

#include "../support/test.h"

#include "ledger/window.h"
#include "run.h"

#define PLENTY (UINT64_C(1) << 40)

enum { PEOPLE = 120, STRIDE_MAX = 4, SAMPLES_MAX = 300 };

static inline pd_key key_of(size_t who)
{
    return (pd_key){who * UINT64_C(0x9e3779b97f4a7c15), ~(uint64_t)who};
}

typedef struct sample {
    size_t who;
    uint64_t origin;
    int64_t values[STRIDE_MAX];
} sample;

typedef struct look {
    sample samples[SAMPLES_MAX];
    size_t len, stride;
} look;

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pd_ledger ledger;
    pd_window window;
} kit;

static inline void begin(kit *k, size_t counters)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
    pd_ledger_clear(&k->ledger, counters);
}

static inline void end(kit *k)
{
    pd_window_release(&k->window, &k->mem);
    pd_ledger_release(&k->ledger, &k->mem);
    CHECK(k->mem.used == 0 && k->tracker.live == 0);
}

/* How the window's guess is spoilt before each sample. */
typedef enum spoil { AS_IT_IS, NONE, ALWAYS_FIRST, OUT_OF_BOUNDS, SPOILS } spoil;

static inline pprofdelta_status fill(kit *k, const look *l, spoil how, pprofdelta_error *err)
{
    pprofdelta_status status =
        pd_window_begin(&k->window, &k->mem, &k->ledger, l->stride, l->len, err);
    for (size_t i = 0; i < l->len && !status; i++) {
        const sample *s = &l->samples[i];
        if (how != AS_IT_IS)
            k->window.guess = how == NONE ? UINT32_MAX : how == ALWAYS_FIRST ? 0 : 5000;
        status = pd_window_add(&k->window, &k->mem, key_of(s->who), s->origin, s->values, err);
    }
    return status;
}

#endif
