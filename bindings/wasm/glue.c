/* The parsed door and the recorder as a WebAssembly module, for hosts that cannot link a C library.
 * bindings/go is such a host.
 *
 * The module imports two functions. Both may end the call by a trap; the instance is then of no use.
 *
 *     host.write         takes bytes of the output: a delta, a state, a sum
 *     host.poll          is called often: the host may end the call there
 *
 * An instance of the module has one context, one sum, and these buffers:
 *
 *     room               input; the host writes it there
 *     answer             a report, a memory, a census, a join, or an error
 *
 * Every function returns a pprofdelta_status. pd_buffers returns the address of two 32-bit numbers:
 * address and length of the answer. They change with each call.
 *
 * An answer is the members of the C struct in their order, without padding: numbers in little-endian
 * bytes (int, bool and enum: 4 bytes; others: 8), strings as a 4-byte length and the bytes, arrays as a
 * 4-byte length and the elements. Errors have their own members likewise. */
#include "delta/context.h"
#include "pprofdelta_profile.h"
#include "record/recorder.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name))) pprofdelta_status export_##name
#define IMPORT(name) __attribute__((import_module("host"), import_name(#name))) void host_##name

IMPORT(write)(const void *data, size_t len);
IMPORT(poll)(void);

/* The compiler calls this at the begin of each function of the library (build.py). */
void __sanitizer_cov_trace_pc(void);
__attribute__((no_sanitize("coverage"))) void __sanitizer_cov_trace_pc(void)
{
    enum { CALLS = 1 << 14 }; /* between two polls */
    static uint32_t calls;
    if (++calls % CALLS == 0)
        host_poll();
}

/* ---- buffers ------------------------------------------------------------------------------------- */

typedef struct bytes {
    uint8_t *ptr;
    size_t len, cap;
    int has_failed; /* memory was short */
} bytes;

static bytes room, answer;

static struct {
    uint32_t answer, answer_len;
} where;

static uint8_t *space(bytes *to, size_t more)
{
    if (more > to->cap - to->len) {
        size_t cap = to->len + more + to->len / 2 + 256;
        uint8_t *ptr = cap < more ? NULL : realloc(to->ptr, cap);
        if (!ptr) {
            to->has_failed = 1;
            return NULL;
        }
        to->ptr = ptr;
        to->cap = cap;
    }
    to->len += more;
    return to->ptr + to->len - more;
}

static void put(bytes *to, const void *data, size_t len)
{
    uint8_t *at = space(to, len);
    if (at && len)
        memcpy(at, data, len);
}

/* WebAssembly is little-endian. */
static void put32(uint32_t value)
{
    put(&answer, &value, sizeof value);
}

static void put64(uint64_t value)
{
    put(&answer, &value, sizeof value);
}

static void put_bytes(const char *text, size_t len)
{
    put32((uint32_t)len);
    put(&answer, text, len);
}

static void put_text(const char *text)
{
    put_bytes(text, text ? strlen(text) : 0);
}

static int to_output(void *cookie, const void *data, size_t len)
{
    (void)cookie;
    host_write(data, len);
    return 0;
}

static const pprofdelta_sink sink = {to_output, NULL};

static void begin(void)
{
    answer.len = 0;
    answer.has_failed = 0;
}

/* ---- answers ------------------------------------------------------------------------------------- */

static pprofdelta_error error;

static void put_error(void)
{
    put64(error.element);
    put64(error.offset);
    put32((uint32_t)error.reason);
    put32((uint32_t)error.is_prev);
    put_text(error.stage);
    put_text(error.field);
    put_text(error.text);
}

static void put_sum(pprofdelta_sum sum)
{
    put64(sum.lo);
    put64((uint64_t)sum.hi);
}

#include "answers.h"

/* What a function returns: status, or PPROFDELTA_E_MEMORY if there was no memory for the result. */
static pprofdelta_status finish(pprofdelta_status status)
{
    if (answer.has_failed) {
        begin();
        status = PPROFDELTA_E_MEMORY;
    } else if (status) {
        answer.len = 0;
        put_error();
    }
    where.answer = (uint32_t)(uintptr_t)answer.ptr;
    where.answer_len = (uint32_t)answer.len;
    return status;
}

/* ---- the host's view of the buffers -------------------------------------------------------------- */

__attribute__((export_name("pd_buffers"))) const void *pd_buffers(void)
{
    return &where;
}

/* Returns the room, of `size` bytes, or NULL. */
__attribute__((export_name("pd_room"))) uint8_t *pd_room(uint32_t size)
{
    if (size > room.cap) {
        free(room.ptr);
        room.ptr = malloc(size);
        room.cap = room.ptr ? size : 0;
    }
    return room.ptr;
}

/* ---- memory -------------------------------------------------------------------------------------- */

static uint64_t max_memory; /* for everything: of the options that were given last */

/* What of max_memory the library may use for its arrays. The inputs are in the same memory, the host
 * has a copy of the output, and growing arrays leave holes: measured, all this takes up to 2.1 times
 * the arrays. */
static uint64_t for_arrays(uint64_t inputs_len)
{
    uint64_t left = max_memory > inputs_len ? max_memory - inputs_len : 0;
    return left / 5 * 2 + 1; /* 0 would be the default */
}

static void make_room(pd_mem *mem, uint64_t inputs_len)
{
    uint64_t limit = for_arrays(inputs_len);
    mem->limit = limit < PD_MEM_MOST ? limit : PD_MEM_MOST;
    if (mem->limit < mem->used) /* by what an earlier call needed */
        mem->limit = mem->used;
}

/* ---- options ------------------------------------------------------------------------------------- */

/* The options in the room:
 *
 *     flags, on_reset, first, counters_len, gauges_len,
 *     format, resource_len (keys and values)               4 bytes each
 *     max_memory, id                                       8 bytes each
 *     the names of the counters, then of the gauges, then
 *     each key of the resource with its value behind it    strings that end with a NUL
 */
typedef struct given_options {
    uint32_t flags, on_reset, first, counters_len, gauges_len, format, resource_len, max_memory[2],
        id[2];
} given_options;

static const char **names_at(const char *at, size_t len)
{
    const char **names = malloc((len + 1) * sizeof *names);
    for (size_t i = 0; names && i < len; i++) {
        names[i] = at;
        at += strlen(at) + 1;
    }
    return names;
}

/* What the options point to. */
typedef struct given_texts {
    const char **names; /* of counters, of gauges, then keys and values */
    pprofdelta_attribute *resource;
} given_texts;

static void free_texts(given_texts *texts)
{
    free(texts->names);
    free(texts->resource);
}

/* The caller frees *texts when the library has copied the options, whatever is returned. */
static pprofdelta_status read_options(pprofdelta_options *out, given_texts *texts)
{
    given_options given;
    memcpy(&given, room.ptr, sizeof given);
    max_memory = given.max_memory[0] | (uint64_t)given.max_memory[1] << 32;
    size_t counters = given.counters_len, gauges = given.gauges_len, len = given.resource_len / 2;
    texts->names = names_at((const char *)room.ptr + sizeof given, counters + gauges + 2 * len);
    texts->resource = malloc((len + 1) * sizeof *texts->resource);
    if (!texts->names || !texts->resource) {
        answer.has_failed = 1;
        return PPROFDELTA_E_MEMORY;
    }
    const char **pairs = texts->names + counters + gauges;
    for (size_t i = 0; i < len; i++)
        texts->resource[i] = (pprofdelta_attribute){pairs[2 * i], pairs[2 * i + 1]};
    *out = (pprofdelta_options){.size = sizeof *out,
                                .flags = given.flags,
                                .on_reset = (pprofdelta_on_reset)given.on_reset,
                                .first = (pprofdelta_first)given.first,
                                .compression = PPROFDELTA_PLAIN,
                                .max_memory = for_arrays(0),
                                .counters = texts->names,
                                .counters_len = counters,
                                .gauges = texts->names + counters,
                                .gauges_len = gauges,
                                .format = (pprofdelta_format)given.format,
                                .resource = texts->resource,
                                .resource_len = len,
                                .id = given.id[0] | (uint64_t)given.id[1] << 32};
    return PPROFDELTA_OK;
}

/* ---- the context --------------------------------------------------------------------------------- */

static pprofdelta *context;

/* Makes the context anew, with the options in the room. */
EXPORT(pd_new)(void)
{
    pprofdelta_options options;
    given_texts texts = {0};
    begin();
    pprofdelta_free(context);
    context = NULL;
    pprofdelta_status status = read_options(&options, &texts);
    if (!status)
        status = pprofdelta_new(&options, NULL, &context, &error);
    free_texts(&texts);
    return finish(status);
}

typedef struct reading {
    const uint8_t *at;
    size_t left;
} reading;

static int read_some(void *cookie, void *buf, size_t len, size_t *got)
{
    reading *from = cookie;
    *got = len < from->left ? len : from->left;
    if (*got)
        memcpy(buf, from->at, *got);
    from->at += *got;
    from->left -= *got;
    return 0;
}

/* Loads the state in the room. */
EXPORT(pd_load)(uint32_t len)
{
    reading from = {room.ptr, len};
    const pprofdelta_source source = {read_some, &from};
    begin();
    make_room(&context->mem, len);
    return finish(pprofdelta_load(context, &source, &error));
}

/* Writes the state. */
EXPORT(pd_save)(void)
{
    begin();
    return finish(pprofdelta_save(context, &sink, &error));
}

EXPORT(pd_base)(uint32_t len)
{
    begin();
    make_room(&context->mem, len);
    return finish(pprofdelta_base(context, room.ptr, len, &error));
}

/* The profile is in the room. Writes the delta. The answer is the report. The window is pending. */
EXPORT(pd_window)(uint32_t len, int64_t started_nanos)
{
    pprofdelta_report report = {.size = sizeof report};
    begin();
    make_room(&context->mem, len);
    pprofdelta_set_started(context, started_nanos);
    pprofdelta_status status = pprofdelta_window(context, room.ptr, len, &sink, &report, &error);
    if (!status)
        put_report(&report);
    return finish(status);
}

EXPORT(pd_commit)(void)
{
    begin();
    (void)pprofdelta_commit(context); /* without a window there is nothing to commit */
    return finish(PPROFDELTA_OK);
}

EXPORT(pd_abandon)(void)
{
    begin();
    pprofdelta_abandon(context);
    return finish(PPROFDELTA_OK);
}

/* The answer is the pprofdelta_memory. */
EXPORT(pd_describe)(void)
{
    pprofdelta_memory memory = {.size = sizeof memory};
    begin();
    pprofdelta_describe(context, &memory);
    put_memory(&memory);
    return finish(PPROFDELTA_OK);
}

EXPORT(pd_check)(uint32_t len)
{
    pprofdelta_census census = {.size = sizeof census};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_profile *profile;
    begin();
    options.max_memory = for_arrays(len);
    options.compression = PPROFDELTA_PLAIN;
    pprofdelta_status status =
        pprofdelta_profile_open(&options, NULL, room.ptr, len, &profile, &error);
    if (!status) {
        pprofdelta_profile_census(profile, &census);
        put_census(&census);
        pprofdelta_profile_free(profile);
    }
    return finish(status);
}

/* ---- the sum ------------------------------------------------------------------------------------- */

static pprofdelta_adder *adder;

/* Begins a sum, with the options in the room. */
EXPORT(pd_sum_new)(void)
{
    pprofdelta_options options;
    given_texts texts = {0};
    begin();
    pprofdelta_adder_free(adder);
    adder = NULL;
    pprofdelta_status status = read_options(&options, &texts);
    if (!status)
        status = pprofdelta_adder_new(&options, NULL, &adder, &error);
    free_texts(&texts);
    return finish(status);
}

/* The answer is the pprofdelta_join. */
EXPORT(pd_sum_add)(uint32_t len)
{
    pprofdelta_join join;
    begin();
    make_room(pd_adder_mem(adder), len);
    pprofdelta_status status = pprofdelta_adder_add(adder, room.ptr, len, &join, &error);
    if (!status)
        put32((uint32_t)join);
    return finish(status);
}

/* Writes the sum, which is gone afterwards. */
EXPORT(pd_sum_finish)(void)
{
    begin();
    pprofdelta_status status = pprofdelta_adder_finish(adder, &sink, &error);
    pprofdelta_adder_free(adder);
    adder = NULL;
    return finish(status);
}

/* ---- records ------------------------------------------------------------------------------------- */

/* A series of windows of records. The host has it between two windows, with the base of the counters, so
 * no instance belongs to a series: each window has a recorder of its own, which gets what the records have
 * counted since the base. */
typedef struct record_series {
    pd_series series;
    int64_t last_nanos;
    uint32_t has_seen, has_base;
} record_series;

/* The records in the room, behind the options, at a multiple of 8 bytes. A text is an offset from where the
 * texts begin, to bytes that end with a NUL. The places are those of all stacks.
 *
 *     given_records, series (none in the first window), mappings (that of the main binary first), frames,
 *     places, records (each with its program counters behind it), texts */
typedef struct given_records {
    int64_t time_nanos, period, started_nanos;
    uint32_t kind, has_series, mappings_len, frames_len, places_len, records_len;
    uint64_t texts_at; /* bytes behind the begin of this struct */
} given_records;

typedef struct given_mapping {
    uint64_t start, limit, file_offset;
    uint32_t filename, build_id;
} given_mapping;

typedef struct given_frame {
    int64_t start_line, line;
    uint32_t name, filename;
} given_frame;

typedef struct given_place {
    uint64_t address;
    uint32_t frames_first, frames_len;
} given_place;

typedef struct given_record {
    int64_t values[4], block_size; /* two values of a contention */
    uint64_t depth;
} given_record;

typedef struct given {
    const given_records *head;
    const record_series *series;
    const given_mapping *mappings;
    const given_frame *given_frames;
    const given_place *places;
    const given_record *records;
    const char *texts;
    pprofdelta_frame *frames; /* of all places */
    size_t next;              /* the place that is probably asked for next */
} given;

/* The caller frees out->frames. */
static pprofdelta_status read_given(const void *at, given *out)
{
    const given_records *head = at;
    out->head = head;
    out->series = head->has_series ? (const void *)(head + 1) : NULL;
    out->mappings = head->has_series ? (const void *)(out->series + 1) : (const void *)(head + 1);
    out->given_frames = (const void *)(out->mappings + head->mappings_len);
    out->places = (const void *)(out->given_frames + head->frames_len);
    out->records = (const void *)(out->places + head->places_len);
    out->texts = (const char *)head + head->texts_at;
    out->frames = calloc(head->frames_len + 1, sizeof *out->frames);
    if (!out->frames) {
        answer.has_failed = 1;
        return PPROFDELTA_E_MEMORY;
    }
    for (size_t i = 0; i < head->frames_len; i++) {
        const given_frame *f = &out->given_frames[i];
        out->frames[i] = (pprofdelta_frame){.name = out->texts + f->name,
                                            .filename = out->texts + f->filename,
                                            .start_line = f->start_line,
                                            .line = f->line};
    }
    return PPROFDELTA_OK;
}

static void symbolize(void *cookie, uint64_t address, pprofdelta_symbol *out)
{
    given *from = cookie;
    for (size_t i = 0, len = from->head->places_len; i < len; i++) {
        size_t at = (from->next + i) % len;
        if (from->places[at].address != address)
            continue;
        from->next = at + 1;
        out->frames = from->frames + from->places[at].frames_first;
        out->frames_len = from->places[at].frames_len;
        return;
    }
}

static pprofdelta_status add_mappings(pprofdelta_recorder *r, const given *from)
{
    pprofdelta_status status = PPROFDELTA_OK;
    pd_maps *maps = &r->places.maps;
    maps->main = from->head->mappings_len ? 0 : PD_MAP_NONE;
    for (size_t i = 0; i < from->head->mappings_len && !status; i++) {
        const given_mapping *m = &from->mappings[i];
        pd_maps_line line = {.start = m->start,
                             .limit = m->limit,
                             .file_offset = m->file_offset,
                             .name = pd_bytes_of(from->texts + m->filename)};
        status = pd_maps_add(maps, &r->mem, &line, pd_bytes_of(from->texts + m->build_id), &error);
    }
    return status ? status : pd_maps_sort(maps, &r->mem, &error);
}

static pprofdelta_status add_records(pprofdelta_recorder *r, const given *from)
{
    pprofdelta_status status = PPROFDELTA_OK;
    const given_record *at = from->records;
    for (size_t i = 0; i < from->head->records_len && !status; i++) {
        const uint64_t *stack = (const void *)(at + 1);
        pprofdelta_record record = {.stack = stack,
                                    .depth = (size_t)at->depth,
                                    .values = at->values,
                                    .block_size = at->block_size};
        status = pprofdelta_recorder_add(r, &record, &error);
        at = (const void *)(stack + at->depth);
    }
    return status;
}

static pprofdelta_status new_recorder(given *from, pprofdelta_recorder **out)
{
    pprofdelta_options options;
    given_texts texts = {0};
    pprofdelta_status status = read_options(&options, &texts);
    pprofdelta_recorder_options o = PPROFDELTA_RECORDER_OPTIONS_INIT;
    if (!status) {
        o.flags = (options.flags & (PPROFDELTA_NO_STAMP | PPROFDELTA_VERIFY)) |
                  PPROFDELTA_RETURN_ADDRESSES | PPROFDELTA_BORROW_STACKS;
        o.kind = (pprofdelta_kind)from->head->kind;
        o.on_reset = PPROFDELTA_ON_RESET_CLAMP; /* the counters of one process */
        o.first = options.first;
        o.compression = PPROFDELTA_PLAIN;
        o.max_memory = options.max_memory;
        o.symbolize = symbolize;
        o.symbolize_cookie = from;
        o.started_nanos = from->head->started_nanos;
        o.format = options.format;
        o.resource = options.resource;
        o.resource_len = options.resource_len;
        o.id = options.id;
        status = pprofdelta_recorder_new(&o, NULL, out, &error);
    }
    free_texts(&texts);
    return status;
}

static pprofdelta_status begin_records(pprofdelta_recorder *r, const given *from)
{
    pprofdelta_recording how = {.time_nanos = from->head->time_nanos};
    if (from->series) {
        r->life.series = from->series->series;
        r->last_nanos = from->series->last_nanos;
        r->has_base = from->series->has_base != 0;
        r->ledger.window = from->series->has_seen;
    }
    r->places.names = PD_NAMES_FUNCTIONS; /* as Go's own profiles have it */
    pprofdelta_status status = add_mappings(r, from);
    if (!status)
        status = pprofdelta_recorder_begin(r, &how, &error);
    r->outline.period = from->head->period; /* a recorder would scale by it: the host has scaled */
    return status;
}

/* What the series is after the window: if it has arrived, and if not. */
static void put_series(const pprofdelta_recorder *r)
{
    pd_life arrived = r->life, lost = r->life;
    (void)pd_life_commit(&arrived, NULL); /* it was written */
    (void)pd_life_abandon(&lost);
    bool has_base = r->has_base || r->how == PD_SUBTRACT_ALL;
    record_series after[] = {{arrived.series, r->time_nanos, 1, 1},
                             {lost.series, r->time_nanos, 1, has_base}};
    put(&answer, after, sizeof after);
}

/* Options, records: in the room, the latter at this offset. Writes the delta. The answer is the report, then
 * the series if the window arrives, and if it does not. */
EXPORT(pd_record)(uint32_t at)
{
    pprofdelta_report report = {.size = sizeof report};
    pprofdelta_recorder *recorder = NULL;
    given from = {0};
    begin();
    pprofdelta_status status = read_given(room.ptr + at, &from);
    if (!status)
        status = new_recorder(&from, &recorder);
    if (!status)
        status = begin_records(recorder, &from);
    if (!status)
        status = add_records(recorder, &from);
    if (!status)
        status = pprofdelta_recorder_write(recorder, &sink, &report, &error);
    if (!status) {
        put_report(&report);
        put_series(recorder);
    }
    pprofdelta_recorder_free(recorder);
    free(from.frames);
    return finish(status);
}

/* ---- the C library of the module ------------------------------------------------------------------ */

/* wasi-libc asks the host for a random number at its start, for stack protection, which the module does
 * not use. With this function the module does not import that. */
int32_t __imported_wasi_snapshot_preview1_random_get(int32_t buf, int32_t len);
int32_t __imported_wasi_snapshot_preview1_random_get(int32_t buf, int32_t len)
{
    memset((void *)(uintptr_t)(uint32_t)buf, 0, (size_t)len);
    return 0;
}

/* The recorder asks for the time if the host has not given it, which it has. */
int32_t __imported_wasi_snapshot_preview1_clock_time_get(int32_t id, int64_t precision,
                                                         int32_t out);
int32_t __imported_wasi_snapshot_preview1_clock_time_get(int32_t id, int64_t precision, int32_t out)
{
    (void)id, (void)precision;
    memset((void *)(uintptr_t)(uint32_t)out, 0, sizeof(uint64_t));
    return 0;
}
