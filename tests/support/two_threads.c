#include "two_threads.h"

#include "emit.h"
#include "pack.h"
#include "profile/fields.h"

#include <stdlib.h>
#include <string.h>

static void *shared_resize(void *cookie, void *ptr, size_t size)
{
    shared_tracker *s = cookie;
    pprofdelta_allocator inner = tracker_allocator(&s->t);
    pthread_mutex_lock(&s->lock);
    void *moved = inner.resize(inner.cookie, ptr, size);
    pthread_mutex_unlock(&s->lock);
    return moved;
}

static void shared_release(void *cookie, void *ptr)
{
    shared_tracker *s = cookie;
    pprofdelta_allocator inner = tracker_allocator(&s->t);
    pthread_mutex_lock(&s->lock);
    inner.release(inner.cookie, ptr);
    pthread_mutex_unlock(&s->lock);
}

shared_tracker shared_tracker_begin(void)
{
    return (shared_tracker){.lock = PTHREAD_MUTEX_INITIALIZER};
}

pprofdelta_allocator shared_allocator(shared_tracker *s)
{
    return (pprofdelta_allocator){shared_resize, shared_release, s};
}

static pprofdelta_status go_on(const pair *p, pprofdelta *pd)
{
    collector next = {.bytes = buf_begin(p->arena)};
    pprofdelta_sink sink = collector_sink(&next);
    return pprofdelta_window(pd, p->cur.ptr, p->cur.len, &sink, NULL, NULL);
}

outcome by_one(const pair *p)
{
    outcome o = {.out.bytes = buf_begin(p->arena)};
    pprofdelta *pd = NULL;
    o.status = pprofdelta_new(p->options, NULL, &pd, &o.err);
    if (o.status)
        return o;
    pprofdelta_set_started(pd, p->started);
    o.status = pprofdelta_base(pd, p->prev.ptr, p->prev.len, &o.err);
    pprofdelta_sink sink = collector_sink(&o.out);
    if (!o.status)
        o.status = pprofdelta_window(pd, p->cur.ptr, p->cur.len, &sink, &o.report, &o.err);
    pprofdelta_commit(pd);
    o.next = o.status ? PPROFDELTA_OK : go_on(p, pd);
    pprofdelta_free(pd);
    return o;
}

static void *read_in_thread(void *cookie)
{
    reader *r = cookie;
    if (!pprofdelta_ahead_open(r->ahead, r->bytes, r->len)) {
        free(r->bytes);
        r->bytes = NULL;
    }
    pprofdelta_ahead_read(r->ahead);
    return NULL;
}

void reader_begin(reader *r, pprofdelta *pd, buf cur)
{
    *r = (reader){.len = cur.len};
    if (pprofdelta_ahead_new(pd, &r->ahead, NULL))
        return;
    r->bytes = malloc(cur.len + 1);
    if (cur.len)
        memcpy(r->bytes, cur.ptr, cur.len);
    if (pthread_create(&r->thread, NULL, read_in_thread, r))
        abort();
}

void reader_end(reader *r)
{
    if (!r->ahead)
        return;
    pprofdelta_ahead_stop(r->ahead);
    pthread_join(r->thread, NULL);
    pprofdelta_ahead_free(r->ahead);
    free(r->bytes);
    r->ahead = NULL;
}

static void *help_in_thread(void *cookie)
{
    pprofdelta_pack_help(cookie);
    return NULL;
}

pprofdelta_status send_pack(pprofdelta *pd, pprofdelta_pack *pack, outcome *o)
{
    pthread_t helper;
    pprofdelta_sink sink = collector_sink(&o->out);
    if (pthread_create(&helper, NULL, help_in_thread, pack))
        abort();
    pprofdelta_commit(pd);
    pprofdelta_status status = pprofdelta_pack_finish(pack, &sink, &o->report, &o->err);
    pthread_join(helper, NULL);
    pprofdelta_pack_free(pack);
    return status;
}

/* Both halves by two threads, and the ordinary way where the first cannot be. */
static pprofdelta_status window_by_two(const pair *p, pprofdelta *pd, outcome *o)
{
    reader other;
    pprofdelta_pack *pack = NULL;
    reader_begin(&other, pd, p->cur);
    pprofdelta_status status = pprofdelta_base(pd, p->prev.ptr, p->prev.len, &o->err);
    if (status == PPROFDELTA_E_LIMIT) { /* all the memory */
        reader_end(&other);
        status = pprofdelta_base(pd, p->prev.ptr, p->prev.len, &o->err);
    }
    if (!status)
        status = other.ahead ? pprofdelta_ahead_window(other.ahead, &pack, &o->report, &o->err)
                             : PPROFDELTA_E_AHEAD;
    if (status == PPROFDELTA_E_AHEAD) {
        reader_end(&other);
        status = pprofdelta_pack_window(pd, p->cur.ptr, p->cur.len, &pack, &o->report, &o->err);
    }
    if (!status)
        status = send_pack(pd, pack, o);
    reader_end(&other);
    return status;
}

outcome by_two(const pair *p, shared_tracker *s)
{
    outcome o = {.out.bytes = buf_begin(p->arena)};
    pprofdelta_allocator allocator = shared_allocator(s);
    pprofdelta *pd = NULL;
    o.status = pprofdelta_new(p->options, &allocator, &pd, &o.err);
    if (o.status)
        return o;
    pprofdelta_set_started(pd, p->started);
    o.status = window_by_two(p, pd, &o);
    o.next = o.status ? PPROFDELTA_OK : go_on(p, pd);
    pprofdelta_free(pd);
    return o;
}

const char *differs(arena *a, const outcome *x, const outcome *y)
{
    const pprofdelta_report *r = &x->report, *s = &y->report;
    buf one, two;
    if (x->status != y->status)
        return "the status";
    if (x->status && (strcmp(x->err.stage, y->err.stage) || strcmp(x->err.field, y->err.field) ||
                      strcmp(x->err.text, y->err.text) || x->err.element != y->err.element ||
                      x->err.offset != y->err.offset))
        return "the error";
    if (x->status)
        return x->out.calls || y->out.calls ? "something was written" : NULL;
    if (!unpack(a, x->out.bytes.ptr, x->out.bytes.len, &one) ||
        !unpack(a, y->out.bytes.ptr, y->out.bytes.len, &two))
        return "the output is damaged";
    if (one.len != two.len || memcmp(one.ptr, two.ptr, one.len) != 0)
        return "the delta";
    if (x->out.bytes.len != y->out.bytes.len ||
        memcmp(x->out.bytes.ptr, y->out.bytes.ptr, x->out.bytes.len) != 0)
        return "the bytes";
    if (r->samples_in != s->samples_in || r->matched != s->matched || r->fresh != s->fresh ||
        r->vanished != s->vanished || r->clamped != s->clamped || r->duplicates != s->duplicates ||
        r->unknown_fields != s->unknown_fields || r->restart != s->restart ||
        s->output_len != y->out.bytes.len)
        return "the report";
    if (x->next != y->next)
        return "the next window";
    return NULL;
}

enum { PLACES = 400 };

static void add_sample(emitter *e, message *profile, uint64_t counted, bool is_bad)
{
    uint64_t ids[32], values[2];
    size_t depth = 20 + rng_below(&e->rng, 12);
    for (size_t i = 0; i < depth; i++)
        ids[i] = 1 + rng_below(&e->rng, PLACES);
    if (is_bad)
        ids[depth - 1] = PLACES + 1;
    values[0] = 1 + rng_below(&e->rng, 1000) + (ids[0] % 8 ? counted : 0);
    values[1] = values[0] * (8 + ids[1] % 100);
    message sample = message_begin(e, PD_SAMPLE_LABEL);
    emit_repeated(&sample, PD_SAMPLE_LOCATION_ID, ids, depth);
    emit_repeated(&sample, PD_SAMPLE_VALUE, values, 2);
    emit_message(profile, PD_PROFILE_SAMPLE, &sample);
}

static void add_place(emitter *e, message *profile, uint64_t id)
{
    message location = message_begin(e, PD_LOCATION_IS_FOLDED);
    emit_scalar(&location, PD_LOCATION_ID, id);
    emit_scalar(&location, PD_LOCATION_ADDRESS, id * 16);
    emit_message(profile, PD_PROFILE_LOCATION, &location);
}

buf large_profile(arena *a, uint64_t counted, size_t bad)
{
    static const char *const strings[] = {"", "alloc_objects", "count", "alloc_space", "bytes"};
    emitter e = {.arena = a, .packing = EMIT_PACKED, .rng = {7}};
    message profile = message_begin(&e, PD_PROFILE_DOC_URL);
    for (uint64_t i = 1; i < 5; i += 2) {
        message type = message_begin(&e, PD_VALUE_TYPE_UNIT);
        emit_scalar(&type, PD_VALUE_TYPE_TYPE, i);
        emit_scalar(&type, PD_VALUE_TYPE_UNIT, i + 1);
        emit_message(&profile, PD_PROFILE_SAMPLE_TYPE, &type);
    }
    for (size_t i = 0; i < LARGE_SAMPLES; i++) {
        if (i < PLACES) /* between the samples, as Go has them */
            add_place(&e, &profile, i + 1);
        add_sample(&e, &profile, counted, i == bad);
    }
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        emit_bytes(&profile, PD_PROFILE_STRING_TABLE, strings[i], strlen(strings[i]));
    emit_scalar(&profile, PD_PROFILE_TIME_NANOS, 1000 + counted);
    return message_end(&profile);
}
