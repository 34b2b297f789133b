/* A scene with a state of two windows behind it, and samples by the hundred. */
#ifndef PD_TESTS_STATE_STAND_H
#define PD_TESTS_STATE_STAND_H

#include "../support/test.h"

#include "ledger/state.h"
#include "keep.h"
#include "scene.h"

/* A scene with a state of two windows behind it: three samples, of which one is gone. */
typedef struct stand {
    scene s;
    build p;
    buf saved;
} stand;

/* Offsets of some parts of its state. */
enum {
    FORMAT = PD_STATE_MAGIC_LEN,
    TYPES = FORMAT + 2,
    COUNTERS = TYPES + 1,
    HAS_BASE = COUNTERS + 1 + 14 + 6 + 12 + 6 + 14 + 6 + 12 + 6, /* behind the names */
    COMMITTED = HAS_BASE + 1,                                    /* a window takes 9 bytes, */
    LAST = COMMITTED + 9,
    PROFILE = LAST + 9, /* the profile 37, */
    MAPPINGS = PROFILE + 37,
    OLD_KEYS = MAPPINGS + 1 + 9 + 32,
    ENTRIES = OLD_KEYS + 1,
    KEYS = ENTRIES + 1 /* and the first two entries 19 each */
};

static inline buf look_of(stand *k, int64_t time, const char *kept, const char *other)
{
    build_free(&k->p);
    k->p = (build){0};
    build_types(&k->p, HEAP_TYPES);
    model_mapping *app = build_mapping(&k->p, 0x400000, 0x500000, 0, "/bin/app", "id-12");
    build_place(&k->p, "leaf", app, 0x401000);
    build_sample(&k->p, "leaf main", kept);
    build_sample(&k->p, other, "4 40 0 0");
    build_sample(&k->p, "large main", "9 5000 0 0");
    k->p.m.time_nanos = time;
    return build_bytes(&k->p);
}

static inline void stand_begin(stand *k, const pprofdelta_options *options)
{
    pprofdelta_options named =
        PPROFDELTA_OPTIONS_INIT; /* so that the bytes of the state are known */
    *k = (stand){0};
    named.id = 1;
    scene_begin(&k->s, options ? options : &named);
    scene_window(&k->s, look_of(k, 1000, "1 10 1 10", "gone main"));
    CHECK(k->s.status == PPROFDELTA_OK);
    scene_window(&k->s, look_of(k, 2000, "3 30 1 10", "fresh main"));
    CHECK(k->s.status == PPROFDELTA_OK);
    k->saved = keep_save(&k->s.arena, k->s.pd);
}

static inline void stand_end(stand *k)
{
    scene_end(&k->s);
    build_free(&k->p);
}

/* The next window comes out as it should; it is not remembered. */
static inline void check_stands(stand *k)
{
    CHECK_STR(scene_pending(&k->s, look_of(k, 3000, "8 80 0 0", "fresh main")),
              "leaf;main 5 50 0 0");
    CHECK(k->s.report.sequence == 3 && k->s.report.from_nanos == 2000);
    pprofdelta_abandon(k->s.pd);
}

/* So many samples, "f<first> main" and on, all with these values. */
static inline void add_samples(build *b, int first, int len, const char *values)
{
    for (int i = first; i < first + len; i++) {
        char stack[32];
        snprintf(stack, sizeof stack, "f%d main", i);
        build_sample(b, stack, values);
    }
}

#endif
