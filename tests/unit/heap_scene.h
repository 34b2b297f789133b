/* A tracker, whoever receives its batches, and what one of them says. */
#ifndef PD_TESTS_HEAP_SCENE_H
#define PD_TESTS_HEAP_SCENE_H

#include "../support/test.h"

#include "live.h"
#include "reading.h"

#include <inttypes.h>

typedef struct scene {
    arena arena;
    pprofdelta_heap *heap;
    live_mail mail;
    pprofdelta_sink sink;
    live_receiver receiver;
    bool is_child; /* of a fork */
} scene;

static inline void begin(scene *s, pprofdelta_heap_options options)
{
    *s = (scene){0};
    options.size = sizeof options;
    options.id = options.id ? options.id : 0xabc;
    options.flags |= options.symbolize ? 0 : PPROFDELTA_NO_MAPPINGS;
    s->mail.arena = s->receiver.arena = &s->arena;
    s->sink = live_sink(&s->mail);
    CHECK(pprofdelta_heap_new(&options, &s->heap, NULL) == PPROFDELTA_OK);
}

static inline void end(scene *s)
{
    pprofdelta_heap_free(s->heap);
    arena_free(&s->arena);
}

/* Each pointer from a stack of its own. */
static inline void track(scene *s, size_t at)
{
    uint64_t stack[] = {0x100 + at, 0x200};
    pprofdelta_heap_event event = {
        .ptr = live_pointer(at), .weight = {2, 100}, .stack = stack, .depth = 2};
    CHECK(pprofdelta_heap_track(s->heap, &event));
}

static inline live_profile written(scene *s, pprofdelta_heap_inuse inuse)
{
    live_profile p = {0};
    CHECK(pprofdelta_heap_write(s->heap, inuse, &s->sink, NULL) == PPROFDELTA_OK);
    CHECK(live_read(&s->arena, s->mail.bytes, s->mail.len, &p));
    return p;
}

/* The batch under way as a profile. */
static inline reading read_batch(scene *s)
{
    reading r = {0};
    CHECK(pprofdelta_heap_write(s->heap, PPROFDELTA_HEAP_CHANGES, &s->sink, NULL) == PPROFDELTA_OK);
    CHECK(reading_make(&s->arena, s->mail.bytes, s->mail.len, &r) == PPROFDELTA_OK);
    return r;
}

static inline pprofdelta_heap_window begun(scene *s, int64_t now)
{
    pprofdelta_heap_window batch = {.size = sizeof batch};
    CHECK(pprofdelta_heap_begin(s->heap, now, &batch, NULL) == PPROFDELTA_OK);
    return batch;
}

/* One batch that arrives. */
static inline live_profile sent(scene *s, int64_t now)
{
    begun(s, now);
    live_profile p = written(s, PPROFDELTA_HEAP_CHANGES);
    live_receive(&s->receiver, &p);
    pprofdelta_heap_commit(s->heap);
    return p;
}

static inline bool is(const live_profile *p, const char *kind, uint64_t epoch, uint64_t sequence,
                      int64_t from, int64_t to)
{
    bool same = strcmp(p->kind, kind) == 0 && p->epoch == epoch && p->sequence == sequence &&
                p->from_nanos == from && p->to_nanos == to;
    if (!same)
        printf("  it is kind=%s epoch=%" PRIu64 " seq=%" PRIu64 " from=%" PRId64 " to=%" PRId64
               "\n",
               p->kind, p->epoch, p->sequence, p->from_nanos, p->to_nanos);
    return same;
}

#endif
