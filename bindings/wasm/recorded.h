/* The recorder: a function of the module. An instance has nothing of it between two calls. */
#include "record/recorder.h"

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
        pprofdelta_label size = {.key = "bytes", .num = at->block_size}; /* without a unit, as Go */
        pprofdelta_record record = {.stack = stack,
                                    .depth = (size_t)at->depth,
                                    .values = at->values,
                                    .labels = &size,
                                    .labels_len = at->block_size != 0};
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
        r->steps.series = from->series->series;
        r->last_nanos = from->series->last_nanos;
        r->has_base = from->series->has_base != 0;
        r->ledger.window = from->series->has_seen;
    }
    r->places.names = PD_NAMES_FUNCTIONS; /* as Go's own profiles have it */
    pprofdelta_status status = add_mappings(r, from);
    if (!status)
        status = pprofdelta_recorder_begin(r, &how, &error);
    r->door.period = from->head->period; /* a recorder would scale by it: the host has scaled */
    return status;
}

/* What the series is after the window: if it has arrived, and if not. */
static void put_series(const pprofdelta_recorder *r)
{
    pd_steps arrived = r->steps, lost = r->steps;
    (void)pd_steps_commit(&arrived, NULL); /* it was written */
    (void)pd_steps_abandon(&lost);
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

/* The recorder asks for the time if the host has not given it, which it has. */
int32_t __imported_wasi_snapshot_preview1_clock_time_get(int32_t id, int64_t precision,
                                                         int32_t out);
int32_t __imported_wasi_snapshot_preview1_clock_time_get(int32_t id, int64_t precision, int32_t out)
{
    (void)id, (void)precision;
    memset((void *)(uintptr_t)(uint32_t)out, 0, sizeof(uint64_t));
    return 0;
}
