/* A builder: its options, its pool of samples, its queue, and its samples. */
#include "builder/builder.h"

#include "base/option_checks.h"
#include "base/random.h"
#include "base/time.h"
#include "profile/otlp_resource.h"

#include <unistd.h>

/* ---- options --------------------------------------------------------------------------------- */

static pprofdelta_status read_options(const pprofdelta_builder_options *given,
                                      pprofdelta_builder_options *o, pprofdelta_error *err)
{
    *o = (pprofdelta_builder_options)PPROFDELTA_BUILDER_OPTIONS_INIT;
    if (!given)
        return pd_refuse(err, "options is NULL: a builder has no types of its own");
    pprofdelta_status status = pd_options_read(o, sizeof *o, given, err);
    if (status)
        return status;
    if (o->flags & ~(unsigned)PPROFDELTA_NO_STAMP)
        return pd_refuse(err, "options.flags has a bit that a builder does not know");
    status = pd_options_check_output(o->compression, o->level, err);
    if (!status)
        status = pd_options_check_format(o->format, o->resource, o->resource_len, err);
    return status ? status : pd_options_check_types(o->types, o->types_len, err);
}

static pprofdelta_status keep_texts(pprofdelta_builder *b, const pprofdelta_builder_options *o,
                                    pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t i = 0; i < 2 * o->types_len && !status; i++) {
        const pprofdelta_value_type *type = &o->types[i / 2];
        status = pd_buffer_add_text(&b->mem, &b->text, pd_bytes_of(i % 2 ? type->unit : type->type),
                                    err);
    }
    const char *rest[] = {o->period_type, o->period_unit, o->default_type};
    for (size_t i = 0; i < 3 && !status; i++)
        status = pd_buffer_add_text(&b->mem, &b->text, pd_bytes_of(rest[i]), err);
    return status;
}

/* ---- new and free ---------------------------------------------------------------------------- */

static void begin_collected(const pprofdelta_builder *b, pd_collected *collected)
{
    pd_mem_init(&collected->mem, &b->allocator, b->max_memory);
    collected->types = b->types;
}

pprofdelta_status pprofdelta_builder_new(const pprofdelta_builder_options *given,
                                         const pprofdelta_allocator *allocator,
                                         pprofdelta_builder **out, pprofdelta_error *err)
{
    pprofdelta_builder_options o, *options = &o;
    pprofdelta_status status = read_options(given, &o, err);
    if (status)
        return status;
    pd_mem mem;
    pprofdelta_builder *b = NULL;
    status = pd_mem_begin(&mem, allocator, options->max_memory, &b, sizeof *b, err);
    if (status)
        return status;
    b->mem = mem;
    b->allocator = mem.allocator;
    b->max_memory = mem.limit;
    b->flags = options->flags;
    b->types = options->types_len;
    b->has_period_type = options->period_type || options->period_unit;
    b->period = options->period;
    b->compressor.compression = options->compression;
    b->compressor.level = options->level;
    b->pid = getpid();
    b->life.series.last.to_nanos = pd_time_now();
    b->id = options->id ? options->id : pd_random_id(b);
    pd_stack_numbers_init(&b->numbers);
    pd_mem_init(&b->export_mem, &b->allocator, mem.limit);
    begin_collected(b, &b->spare);
    begin_collected(b, &b->outgoing);
    for (size_t i = 0; i < PD_SHARDS; i++)
        begin_collected(b, &b->shards[i].collected);
    status = keep_texts(b, options, err);
    if (!status && options->format == PPROFDELTA_OTLP)
        status =
            pd_otlp_resource(options->resource, options->resource_len, &b->mem, &b->resource, err);
    b->compact.format = options->format;
    b->compact.resource = (pd_bytes){b->resource.ptr, b->resource.len};
    if (status) {
        pprofdelta_builder_free(b);
        return status;
    }
    *out = b;
    return PPROFDELTA_OK;
}

static void free_sample(pprofdelta_sample *s)
{
    pd_mem mem = s->mem;
    size_t cap = 1, size = sizeof *s + s->builder->types * sizeof *s->values;
    pd_buffer_release(&mem, &s->frames);
    pd_buffer_release(&mem, &s->labels);
    pd_mem_release(&mem, &s, &cap, size);
}

void pprofdelta_builder_free(pprofdelta_builder *b)
{
    if (!b)
        return;
    for (pprofdelta_sample *s = atomic_load(&b->all), *next; s; s = next) {
        next = s->next_all;
        free_sample(s);
    }
    pd_collected_release(&b->spare);
    pd_collected_release(&b->outgoing);
    for (size_t i = 0; i < PD_SHARDS; i++)
        pd_collected_release(&b->shards[i].collected);
    pd_compact_release(&b->compact, &b->export_mem);
    pd_compressor_fini(&b->compressor, &b->export_mem);
    pd_buffer_release(&b->mem, &b->text);
    pd_buffer_release(&b->mem, &b->resource);
    pd_mem_end(&b->mem, b, sizeof *b);
}

/* ---- the pool -------------------------------------------------------------------------------- */

/* Where this thread begins to look. Threads have stacks far from each other, so their results
 * differ. */
static size_t place_of_thread(void)
{
    char here;
    uint64_t region = (uint64_t)(uintptr_t)&here >> 16;
    return (size_t)(region * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static pprofdelta_sample *take_from_pool(pprofdelta_builder *b)
{
    size_t shelf = place_of_thread();
    for (size_t i = 0; i < PD_SHELVES; i++) {
        pd_shelf *at = &b->pool[(shelf + i) % PD_SHELVES];
        if (!pd_gate_try(&at->gate))
            continue;
        pprofdelta_sample *s = at->samples;
        if (s)
            at->samples = s->next;
        pd_gate_leave(&at->gate);
        if (s)
            return s;
    }
    return NULL;
}

void pd_builder_recycle(pprofdelta_builder *b, pprofdelta_sample *s)
{
    for (size_t i = place_of_thread();; i++) {
        pd_shelf *at = &b->pool[i % PD_SHELVES];
        if (!pd_gate_try(&at->gate)) { /* another thread holds it; take the next */
            if (i % PD_SHELVES == 0)
                sched_yield();
            continue;
        }
        s->next = at->samples;
        at->samples = s;
        pd_gate_leave(&at->gate);
        return;
    }
}

static void push(_Atomic(pprofdelta_sample *) *list, pprofdelta_sample *s, pprofdelta_sample **next)
{
    pprofdelta_sample *head = atomic_load_explicit(list, memory_order_relaxed);
    do
        *next = head;
    while (!atomic_compare_exchange_weak_explicit(list, &head, s, memory_order_release,
                                                  memory_order_relaxed));
}

static pprofdelta_sample *make_sample(pprofdelta_builder *b)
{
    pd_mem mem;
    pd_mem_init(&mem, &b->allocator, b->max_memory);
    pprofdelta_sample *s = NULL;
    size_t cap = 0, size = sizeof *s + b->types * sizeof *s->values;
    if (pd_mem_reserve(&mem, &s, &cap, 1, size, NULL) != PPROFDELTA_OK)
        return NULL;
    memset(s, 0, size);
    s->builder = b;
    s->mem = mem;
    push(&b->all, s, &s->next_all);
    return s;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static pprofdelta_sample *reversed(pprofdelta_sample *list)
{
    pprofdelta_sample *out = NULL;
    while (list) {
        pprofdelta_sample *next = list->next;
        list->next = out;
        out = list;
        list = next;
    }
    return out;
}

void pd_builder_drain(pprofdelta_builder *b, pd_collected *collected)
{
    if (!atomic_load_explicit(&b->queue, memory_order_relaxed))
        return;
    pprofdelta_sample *s =
                          reversed(atomic_exchange_explicit(&b->queue, NULL, memory_order_acquire)),
                      *next;
    for (; s; s = next) {
        next = s->next;
        if (s->generation == atomic_load_explicit(&b->generation, memory_order_relaxed))
            pd_collected_add(collected, s);
        pd_builder_recycle(b, s);
    }
}

static void hand_over(pprofdelta_builder *b, pprofdelta_sample *s)
{
    size_t first = place_of_thread();
    for (size_t i = 0; i < PD_SHARDS; i++) {
        pd_shard *shard = &b->shards[(first + i) % PD_SHARDS];
        if (!pd_gate_try(&shard->gate))
            continue;
        pd_collected_add(&shard->collected, s);
        pd_builder_drain(b, &shard->collected);
        pd_gate_leave(&shard->gate);
        pd_builder_recycle(b, s);
        return;
    }
    push(&b->queue, s, &s->next);
}

/* ---- samples --------------------------------------------------------------------------------- */

pprofdelta_sample *pprofdelta_sample_start(pprofdelta_builder *b)
{
    pprofdelta_sample *s = take_from_pool(b);
    if (!s)
        s = make_sample(b);
    if (!s)
        return NULL;
    s->generation = atomic_load_explicit(&b->generation, memory_order_relaxed);
    s->status = PPROFDELTA_OK;
    s->hash = (pd_identity){0};
    s->frames_len = s->labels_len = s->frames.len = s->labels.len = 0;
    memset(s->values, 0, b->types * sizeof *s->values);
    return s;
}

void pprofdelta_sample_discard(pprofdelta_sample *s)
{
    if (s)
        pd_builder_recycle(s->builder, s);
}

static pprofdelta_status add_failed(pprofdelta_status status, pprofdelta_error *err)
{
    const char *text = status == PPROFDELTA_E_MEMORY  ? "no memory for a sample"
                       : status == PPROFDELTA_E_LIMIT ? "a sample takes more than max_memory"
                                                      : "something that cannot be was pushed to a "
                                                        "sample: a NULL, or a type that there is "
                                                        "not";
    return pd_fail(err, status, status == PPROFDELTA_E_USAGE ? "options" : "memory", NULL,
                   PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE, "%s", text);
}

pprofdelta_status pprofdelta_sample_add(pprofdelta_sample *s, pprofdelta_error *err)
{
    if (!s)
        return add_failed(PPROFDELTA_E_MEMORY, err);
    pprofdelta_builder *b = s->builder;
    pprofdelta_status status = s->status;
    bool is_ours = s->generation == atomic_load_explicit(&b->generation, memory_order_relaxed);
    if (status || !is_ours || !pd_compact_has_value(s->values, b->types)) {
        pd_builder_recycle(b, s);
        return status ? add_failed(status, err) : PPROFDELTA_OK;
    }
    hand_over(b, s);
    return PPROFDELTA_OK;
}
