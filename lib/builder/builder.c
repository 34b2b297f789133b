/* A builder: its options, its pool of samples, its queue, its samples, and its windows. */
#include "builder/builder.h"

#include "base/option_checks.h"
#include "base/random.h"
#include "base/time.h"

#include <unistd.h>

/* ---- options --------------------------------------------------------------------------------- */

static pprofdelta_status read_options(const pprofdelta_builder_options *given,
                                      pprofdelta_builder_options *o, pprofdelta_error *err)
{
    *o = (pprofdelta_builder_options)PPROFDELTA_BUILDER_OPTIONS_INIT;
    if (!given)
        return pd_refuse(err, "options is NULL: a builder has no types of its own");
    PD_TRY(pd_options_read(o, sizeof *o, given, err));
    if (o->flags & ~(unsigned)PPROFDELTA_NO_STAMP)
        return pd_refuse(err, "options.flags has a bit that a builder does not know");
    PD_TRY(pd_door_check(PD_DOOR_OPTIONS(o), err));
    return pd_options_check_types(o->types, o->types_len, err);
}

/* ---- new and free ---------------------------------------------------------------------------- */

static void begin_collected(const pprofdelta_builder *b, pd_collected *collected, size_t types)
{
    pd_mem_init(&collected->mem, &b->mem.allocator, b->mem.limit);
    collected->types = types;
}

pprofdelta_status pprofdelta_builder_new(const pprofdelta_builder_options *options,
                                         const pprofdelta_allocator *allocator,
                                         pprofdelta_builder **out, pprofdelta_error *err)
{
    pprofdelta_builder_options o;
    PD_TRY(pd_need(out, err));
    PD_TRY(read_options(options, &o, err));
    pd_mem mem;
    pprofdelta_builder *b = NULL;
    PD_TRY(pd_mem_begin(&mem, allocator, o.max_memory, &b, sizeof *b, err));
    b->mem = mem;
    b->steps.series.last.to_nanos = pd_time_now();
    pd_stack_numbers_init(&b->numbers);
    pd_mem_init(&b->export_mem, &mem.allocator, mem.limit);
    begin_collected(b, &b->outgoing, o.types_len);
    begin_collected(b, &b->gathering, o.types_len);
    b->door.pid = getpid();
    b->door.period = o.period;
    const char *const rest[] = {o.period_type, o.period_unit, o.default_type};
    pprofdelta_status status = pd_door_open(&b->door, &b->mem, PD_DOOR_OPTIONS(&o), err);
    if (!status)
        status = pd_door_describe(&b->door, &b->mem, o.types, o.types_len, rest, err);
    if (status) {
        pprofdelta_builder_free(b);
        return status;
    }
    *out = b;
    return PPROFDELTA_OK;
}

void pprofdelta_builder_free(pprofdelta_builder *b)
{
    if (!b)
        return;
    for (pd_sample *s = atomic_load(&b->all), *next; s; s = next) {
        next = s->next_all;
        pd_mem_end(&s->mem, s);
    }
    pd_door_close(&b->door);
    pd_mem_drop(&b->outgoing.mem);
    pd_mem_drop(&b->gathering.mem);
    pd_mem_drop(&b->export_mem);
    pd_mem_end(&b->mem, b);
}

/* ---- the pool and the queue ------------------------------------------------------------------ */

static void push_on(_Atomic(pd_sample *) *list, pd_sample *s, pd_sample **next)
{
    pd_sample *head = atomic_load_explicit(list, memory_order_relaxed);
    do
        *next = head;
    while (!atomic_compare_exchange_weak_explicit(list, &head, s, memory_order_release,
                                                  memory_order_relaxed));
}

static pd_sample *take_from_pool(pprofdelta_builder *b)
{
    pd_sample *s = atomic_load_explicit(&b->all, memory_order_acquire);
    while (s && atomic_exchange_explicit(&s->is_used, true, memory_order_acquire))
        s = s->next_all;
    return s;
}

static void recycle_sample(pd_sample *s)
{
    atomic_store_explicit(&s->is_used, false, memory_order_release);
}

static pd_sample *make_sample(pprofdelta_builder *b)
{
    pd_mem mem;
    pd_sample *s = NULL;
    size_t size = sizeof *s + b->door.types * sizeof *s->values;
    if (pd_mem_begin(&mem, &b->mem.allocator, b->mem.limit, &s, size, NULL) != PPROFDELTA_OK)
        return NULL;
    s->builder = b;
    s->mem = mem;
    atomic_init(&s->is_used, true);
    push_on(&b->all, s, &s->next_all);
    return s;
}

static bool is_of_parent(const pd_sample *s)
{
    return s->generation != atomic_load_explicit(&s->builder->generation, memory_order_relaxed);
}

/* Gathers the samples of a list, of which *list is what is left. */
static pprofdelta_status gather_list(pprofdelta_builder *b, pd_sample **list, pprofdelta_error *err)
{
    for (pd_sample *s; (s = *list);) {
        if (!is_of_parent(s))
            PD_TRY(pd_collected_add(&b->gathering, s, err));
        *list = s->next;
        recycle_sample(s);
    }
    return PPROFDELTA_OK;
}

/* Moves the samples that wait, and those of the queue, to the collection. The caller holds `adding`. E_MEMORY, or
 * E_LIMIT: the rest waits. */
static pprofdelta_status drain_queue(pprofdelta_builder *b, pprofdelta_error *err)
{
    pprofdelta_status status = gather_list(b, &b->waiting, err);
    if (!status) {
        b->waiting = atomic_exchange_explicit(&b->queue, NULL, memory_order_acquire);
        status = gather_list(b, &b->waiting, err);
    }
    atomic_store_explicit(&b->trouble, (int)status, memory_order_relaxed);
    return status;
}

/* The same if no other thread holds the lock. Returns whether there is no room for more. */
static pprofdelta_status try_to_drain(pprofdelta_builder *b, pprofdelta_error *err)
{
    if (!pd_lock_try(&b->adding))
        return PPROFDELTA_OK;
    pprofdelta_status status = drain_queue(b, err);
    pd_lock_give(&b->adding);
    return status;
}

/* ---- samples --------------------------------------------------------------------------------- */

static pd_sample *start_sample(pprofdelta_builder *b)
{
    pd_sample *s = take_from_pool(b);
    if (!s)
        s = make_sample(b);
    if (!s)
        return NULL;
    s->generation = atomic_load_explicit(&b->generation, memory_order_relaxed);
    s->hash = (pd_identity){0};
    s->frames_len = s->labels_len = s->parts.len = 0;
    return s;
}

static pprofdelta_status push_frame(pd_sample *s, const pprofdelta_frame *frame, uint64_t address)
{
    pd_function_parts parts = pd_function_parts_of(frame);
    pd_key lines = pd_location_key_lines_begin(address, false);
    pd_sample_frame f = {.address = address, .size = sizeof f + pd_packed_frame_size(&parts)};
    f.ident = pd_location_key_line(lines, parts.key, frame->line, frame->column);
    PD_TRY(pd_buffer_room(&s->mem, &s->parts, f.size, NULL));
    pd_buffer_put(&s->parts, &f, sizeof f);
    pd_pack_frame(&s->parts, &parts, frame->line, frame->column);
    s->frames_len++;
    pd_identity_place(&s->hash, &s->builder->numbers, f.ident);
    return PPROFDELTA_OK;
}

static pprofdelta_status push_label(pd_sample *s, const pprofdelta_label *label)
{
    pd_label_parts parts = pd_label_parts_of(label);
    PD_TRY(pd_pack_label(&s->mem, &s->parts, &parts, NULL));
    s->labels_len++;
    pd_identity_label(&s->hash, pd_label_parts_key(&parts));
    return PPROFDELTA_OK;
}

static pprofdelta_status fill_sample(pd_sample *s, const pprofdelta_sample *from)
{
    for (size_t i = 0; i < from->frames_len; i++)
        PD_TRY(push_frame(s, &from->frames[i], from->addresses ? from->addresses[i] : 0));
    for (size_t i = 0; i < from->labels_len; i++)
        PD_TRY(push_label(s, &from->labels[i]));
    memcpy(s->values, from->values, s->builder->door.types * sizeof *s->values);
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_builder_add(pprofdelta_builder *b, const pprofdelta_sample *sample,
                                         pprofdelta_error *err)
{
    PD_TRY(pd_need(sample, err));
    PD_TRY(pd_need(sample->values, err));
    PD_TRY(pd_need_array(sample->frames, sample->frames_len, err));
    PD_TRY(pd_need_array(sample->labels, sample->labels_len, err));
    if (!pd_model_has_value(sample->values, b->door.types))
        return PPROFDELTA_OK;
    pd_sample *s = start_sample(b);
    if (!s)
        return pd_no_memory(err, "a sample");
    pprofdelta_status status = fill_sample(s, sample);
    if (status)
        PD_FAIL(err, status, PPROFDELTA_STAGE_MEMORY, NULL, "%s",
                status == PPROFDELTA_E_MEMORY ? "no memory for a sample"
                                              : "a sample takes more than max_memory");
    else if (atomic_load_explicit(&b->trouble, memory_order_relaxed))
        status = try_to_drain(b, err);
    if (status) {
        recycle_sample(s);
        return status;
    }
    push_on(&b->queue, s, &s->next);
    try_to_drain(b, NULL); /* what finds no room waits */
    return PPROFDELTA_OK;
}

/* ---- windows ---------------------------------------------------------------------------------- */

/* Samples may be added while a window is under way.
 *
 *     begin     gathering -> outgoing              `adding` is held: samples that are added meanwhile wait in
 *                                                  the queue
 *     write     outgoing -> profile -> sink        no lock is held while the sink is called
 *     commit    clears outgoing
 *     abandon   leaves outgoing; the next begin adds to it */

/* Moves all samples that were added so far to the outgoing collection. If that is full, the window has what is in it,
 * and the rest waits for the next one. If it fails otherwise, the rest stays where it is. Samples that wait for memory
 * are gathered once there is room again. */
static pprofdelta_status gather_samples(pprofdelta_builder *b, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK, waiting;
    pd_lock_take(&b->adding);
    do {
        waiting = drain_queue(b, err);
        bool has_some = b->gathering.sum.ledger.keys.len != 0;
        status =
            waiting && !has_some ? waiting : pd_collected_move(&b->outgoing, &b->gathering, err);
    } while (waiting && !status);
    pd_lock_give(&b->adding);
    return status == PPROFDELTA_E_LIMIT && b->outgoing.sum.ledger.keys.len ? PPROFDELTA_OK : status;
}

static pprofdelta_status begin_window(pprofdelta_builder *b, pprofdelta_error *err)
{
    PD_TRY(pd_steps_begin(&b->steps, err));
    pprofdelta_error why;
    pprofdelta_status status = gather_samples(b, &why);
    if (status) {
        pd_steps_abandon(&b->steps);
        return pd_fail_as(err, &why);
    }
    int64_t now = pd_time_now();
    pd_steps_number(&b->steps, PPROFDELTA_RESTART_NONE, now,
                    pd_series_elapsed(b->steps.series.last.to_nanos, now));
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_builder_begin(pprofdelta_builder *b, pprofdelta_error *err)
{
    pd_lock_take(&b->work);
    pprofdelta_status status = begin_window(b, err);
    pd_lock_give(&b->work);
    return status;
}

typedef struct writing {
    pprofdelta_builder *builder;
    pprofdelta_builder_report report;
} writing;

static pprofdelta_status make_window(void *cookie, pd_bytes *out, pprofdelta_error *err)
{
    writing *w = cookie;
    pprofdelta_builder *b = w->builder;
    pd_door *d = &b->door;
    const pd_interval *window = &b->steps.window;
    pd_model_begin(&d->model, &b->export_mem, err);
    pd_door_add_types(d, &d->model);
    PD_TRY(pd_transfer_begin_model(&b->transfer, &b->export_mem, &b->outgoing.sum.model, &d->model,
                                   err));
    pd_totals_write(&b->outgoing.sum, NULL, &b->transfer);
    PD_TRY(pd_door_finish(d, &b->steps, &d->model, out));
    w->report = (pprofdelta_builder_report){.pid = d->pid,
                                            .sequence = window->sequence,
                                            .attempt = window->attempt,
                                            .from_nanos = window->from_nanos,
                                            .to_nanos = window->to_nanos,
                                            .samples_in = b->outgoing.in,
                                            .samples_out = d->model.samples,
                                            .samples_lost = b->outgoing.lost,
                                            .strings = d->encoder.strings};
    return pd_compress_bytes(&d->compressor, &b->export_mem, *out, out, err);
}

static int send_unlocked(void *cookie, const pprofdelta_sink *sink, const void *data, size_t len)
{
    pprofdelta_builder *b = ((writing *)cookie)->builder;
    pd_lock_give(&b->work);
    int refused = sink->write(sink->cookie, data, len);
    pd_lock_take(&b->work);
    return refused;
}

pprofdelta_status pprofdelta_builder_write(pprofdelta_builder *b, const pprofdelta_sink *sink,
                                           pprofdelta_builder_report *report, pprofdelta_error *err)
{
    static const pd_door_job job = {make_window, send_unlocked};
    writing w = {.builder = b};
    if (report)
        PD_TRY(pd_result_check(report, err));
    pd_lock_take(&b->work);
    pprofdelta_status status =
        pd_door_write(&b->door, &b->steps, &job, &w, sink, &w.report.output_len, err);
    pd_lock_give(&b->work);
    if (!status && report)
        pd_result_write(report, &w.report, sizeof w.report);
    return status;
}

pprofdelta_status pprofdelta_builder_commit(pprofdelta_builder *b)
{
    pd_lock_take(&b->work);
    pprofdelta_status status = pd_steps_commit(&b->steps, NULL);
    if (!status)
        pd_collected_clear(&b->outgoing);
    pd_lock_give(&b->work);
    return status;
}

void pprofdelta_builder_abandon(pprofdelta_builder *b)
{
    if (!b)
        return;
    pd_lock_take(&b->work);
    pd_steps_abandon(&b->steps);
    pd_lock_give(&b->work);
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* Everything is complete, and the child has one thread. Samples in the queue, and samples that are
 * being put together, have an older generation and are not added. */
static void begin_child(pprofdelta_builder *b)
{
    atomic_fetch_add(&b->generation, 1);
    pd_collected_clear(&b->outgoing);
    pd_collected_clear(&b->gathering);
    b->door.pid = getpid();
    b->door.id = pd_random_id(b);
    pd_steps_forked(&b->steps, pd_time_now());
    pd_lock_reset(&b->adding);
    pd_lock_reset(&b->work);
}

void pprofdelta_builder_fork(pprofdelta_builder *b, pprofdelta_fork step)
{
    if (step == PPROFDELTA_FORK_PREPARE) {
        pd_lock_take(&b->work);
        pd_lock_take(&b->adding);
    } else if (step == PPROFDELTA_FORK_PARENT) {
        pd_lock_give(&b->adding);
        pd_lock_give(&b->work);
    } else {
        begin_child(b);
    }
}
