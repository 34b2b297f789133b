/* Writes and reads a state: see state.h.
 *
 * One walk, pass_state, has all parts in their order, and serves both directions: each pass_ function
 * writes what it is given and returns it, or reads what it returns. An attacker may have written the
 * bytes that are read, with a correct checksum, so each number has a largest value. Errors are sticky.
 */
#include "ledger/state.h"

#include "wire/varint.h"

#include <inttypes.h>

/* Room for this many entries is made before their bytes arrive. */
enum { FIRST_ENTRIES = 1 << 16, CHUNK = 8192 };

/* The bit of an entry's age that says that it has an excess. */
#define EXCESS (UINT64_C(1) << 32)

typedef struct stream {
    XXH3_state_t sum;            /* of the bytes before chunk; first, because of its alignment */
    const pprofdelta_sink *sink; /* NULL if a state is read, */
    const pprofdelta_source *source; /* and this is NULL if it is written */
    pd_mem *mem;
    pprofdelta_error *err;
    pprofdelta_status status;
    bool has_excess; /* a text dump has an open attempt: see delta/estimate.c */
    uint64_t off;    /* of chunk */
    size_t at, len; /* the next byte of chunk; the bytes in it, or its size if a state is written */
    uint64_t format;
    uint8_t chunk[CHUNK];
} stream;

static void refuse_state(stream *s, const char *field, uint64_t element, const char *why)
{
    if (!s->status)
        s->status = pd_fail(s->err, PPROFDELTA_E_STATE, PPROFDELTA_STAGE_STATE, field, element,
                            s->off + s->at, "the state is damaged: %s", why);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Fills the chunk behind the bytes in it, until there are `need`, or to the end of the source. */
static void read_chunk(stream *s, size_t need)
{
    size_t got = 1;
    while (s->len < need && got && !s->status) {
        size_t room = CHUNK - s->len;
        got = 0;
        if (s->source->read(s->source->cookie, s->chunk + s->len, room, &got) || got > room)
            s->status = pd_fail(s->err, PPROFDELTA_E_SOURCE, PPROFDELTA_STAGE_STATE, NULL,
                                PPROFDELTA_NOWHERE, s->off + s->len, "the source failed");
        else
            s->len += got;
    }
}

/* Writes the chunk, or moves its rest to the front and reads more. */
static void turn_chunk(stream *s, size_t need)
{
    XXH3_128bits_update(&s->sum, s->chunk, s->at);
    if (s->sink) {
        if (s->sink->write(s->sink->cookie, s->chunk, s->at))
            s->status = PD_FAIL(s->err, PPROFDELTA_E_SINK, PPROFDELTA_STAGE_STATE, NULL,
                                "the sink refused the state");
    } else {
        s->len -= s->at;
        memmove(s->chunk, s->chunk + s->at, s->len);
    }
    s->off += s->at;
    s->at = 0;
    if (s->source)
        read_chunk(s, need);
}

/* Makes `need` bytes of the chunk available, fewer only at the end of the source. Returns how many
 * there are; 0 after an error. */
static inline size_t reach_bytes(stream *s, size_t need)
{
    if (__builtin_expect(s->len - s->at < need, 0) && !s->status)
        turn_chunk(s, need);
    return s->status ? 0 : s->len - s->at;
}

static void pass_bytes(stream *s, void *bytes, size_t len)
{
    for (uint8_t *at = bytes; len;) {
        size_t there = reach_bytes(s, 1), part = there < len ? there : len;
        if (!part) {
            refuse_state(s, NULL, PPROFDELTA_NOWHERE, "it is cut off");
            return;
        }
        if (s->sink)
            memcpy(s->chunk + s->at, at, part);
        else
            memcpy(at, s->chunk + s->at, part);
        s->at += part;
        at += part;
        len -= part;
    }
}

/* ---- numbers, keys, texts -------------------------------------------------------------------- */

/* end: where the number ends; NULL if it has no end. */
static void refuse_number(stream *s, const uint8_t *end, const char *field, uint64_t element)
{
    if (!end && s->len - s->at < PD_VARINT_MAX)
        refuse_state(s, NULL, PPROFDELTA_NOWHERE, "it is cut off");
    else
        refuse_state(s, field, element, "a number is not valid");
}

/* Takes a number that is read; 0 if it cannot be. A varint must not be longer than it has to be. */
static inline uint64_t read_number(stream *s, uint64_t most, const char *field, uint64_t element)
{
    size_t there = reach_bytes(s, PD_VARINT_MAX);
    const uint8_t *at = s->chunk + s->at, *end = NULL;
    uint64_t value;
    if (there >= PD_VARINT_MAX)
        end = pd_varint_decode_short(at, &value);
    if (__builtin_expect(!end, 0))
        end = pd_varint_decode(at, at + there, &value);
    if (__builtin_expect(!end || value > most || (end - at > 1 && !end[-1]), 0)) {
        refuse_number(s, end, field, element);
        return 0;
    }
    s->at += (size_t)(end - at);
    return value;
}

/* Returns the number. One that is written stays as it is, also after a failure. */
static uint64_t pass_number(stream *s, uint64_t value, uint64_t most, const char *field)
{
    if (s->source)
        return read_number(s, most, field, PPROFDELTA_NOWHERE);
    if (reach_bytes(s, PD_VARINT_MAX))
        s->at = (size_t)(pd_varint_encode(s->chunk + s->at, value) - s->chunk);
    return value;
}

static int64_t pass_time(stream *s, int64_t nanos)
{
    return (int64_t)pass_number(s, (uint64_t)nanos, UINT64_MAX, "time");
}

static int64_t pass_duration(stream *s, int64_t nanos)
{
    return (int64_t)pass_number(s, (uint64_t)nanos, INT64_MAX, "duration");
}

static pd_key pass_key(stream *s, pd_key key)
{
    uint64_t words[] = {pd_le64(key.lo), pd_le64(key.hi)};
    if (reach_bytes(s, sizeof words) < sizeof words) {
        refuse_state(s, NULL, PPROFDELTA_NOWHERE, "it is cut off");
        return key;
    }
    uint8_t *at = s->chunk + s->at;
    memcpy(s->sink ? (void *)at : words, s->sink ? (void *)words : at, sizeof words);
    s->at += sizeof words;
    return (pd_key){pd_le64(words[0]), pd_le64(words[1])};
}

/* A text of *len bytes at offset *at of the buffer. One that is read is added to the buffer, with a
 * NUL. */
static void pass_text(stream *s, pd_buffer *text, size_t *at, size_t *len)
{
    if (s->sink && *len > PD_STATE_TEXT_MAX && !s->status)
        s->status = PD_FAIL(s->err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_STATE, NULL,
                            "a name is too long for a state");
    *len = (size_t)pass_number(s, *len, PD_STATE_TEXT_MAX, "text");
    if (s->source && !s->status) {
        s->status = pd_buffer_room(s->mem, text, *len + 1, s->err);
        *at = text->len;
    }
    if (s->status || !text->ptr)
        return;
    pass_bytes(s, text->ptr + *at, *len);
    if (s->source) {
        text->len += *len;
        text->ptr[text->len++] = 0;
    }
}

/* ---- what is known of the windows and the profiles ------------------------------------------- */

static void pass_window(stream *s, pd_interval *w)
{
    w->sequence = pass_number(s, w->sequence, UINT64_MAX - 1, "sequence");
    w->attempt = pass_number(s, w->attempt, UINT32_MAX, "attempts");
    w->from_nanos = pass_time(s, w->from_nanos);
    w->to_nanos = pass_time(s, w->to_nanos);
    w->duration_nanos = pass_duration(s, w->duration_nanos);
    w->restart = (pprofdelta_restart)pass_number(s, w->restart, PPROFDELTA_RESTART_LIVE, "restart");
    if (w->from_nanos && w->to_nanos && w->from_nanos > w->to_nanos)
        refuse_state(s, "window", PPROFDELTA_NOWHERE, "a window ends before it begins");
}

static void pass_windows(stream *s, pd_series *series)
{
    pass_window(s, &series->acked);
    pass_window(s, &series->last);
    if (!series->last.sequence ||
        series->last.sequence < series->acked.sequence + pd_series_is_open(series))
        refuse_state(s, "sequence", PPROFDELTA_NOWHERE, "the windows are not in order");
}

static void pass_types(stream *s, pd_schema *schema)
{
    schema->counters = (size_t)pass_number(s, schema->counters, schema->len, "sample_type");
    if (!schema->counters)
        refuse_state(s, "sample_type", PPROFDELTA_NOWHERE, "it has no counter");
    for (size_t i = 0; i < schema->len; i++) {
        pass_text(s, &schema->text, &schema->names[i].type, &schema->names[i].type_len);
        pass_text(s, &schema->text, &schema->names[i].unit, &schema->names[i].unit_len);
    }
}

static void pass_mappings(stream *s, pd_mapped_list *mapped)
{
    size_t len = (size_t)pass_number(s, mapped->len, PD_MAPPED_MAX, "mapping");
    if (s->source && !s->status)
        s->status = PD_RESERVE(s->mem, mapped->list, len, s->err);
    for (size_t i = 0; i < len && !s->status; i++) {
        pd_mapped *m = &mapped->list[i];
        m->start = pass_number(s, m->start, UINT64_MAX, "mapping");
        m->limit = pass_number(s, m->limit, UINT64_MAX, "mapping");
        m->file_offset = pass_number(s, m->file_offset, UINT64_MAX, "mapping");
        m->identity = pass_key(s, m->identity);
        m->file = pass_key(s, m->file);
    }
    mapped->len = len;
}

/* A text alone in its buffer. Its NUL does not count. */
static void pass_name(stream *s, pd_buffer *name)
{
    size_t at = 0, len = name->len;
    name->len = s->source ? 0 : len;
    pass_text(s, name, &at, &len);
    name->len = len;
}

static void pass_remembered(stream *s, pd_remembered *last)
{
    last->time_nanos = pass_time(s, last->time_nanos);
    last->duration_nanos = pass_duration(s, last->duration_nanos);
    last->rate = (uint32_t)pass_number(s, last->rate, UINT32_MAX, "rate");
    last->live_id = pass_number(s, last->live_id, UINT64_MAX, "live");
    last->live_to_nanos = pass_time(s, last->live_to_nanos);
    pass_name(s, &last->build_id);
    pass_name(s, &last->binary);
    last->kind = s->format > PD_STATE_FORMAT_OLDEST ? pass_key(s, last->kind) : (pd_key){0, 0};
    pass_mappings(s, &last->mapped);
}

/* ---- the entries ----------------------------------------------------------------------------- */

/* Returns whether the open attempt had more than the base. */
static bool has_more(const pd_ledger *ledger, size_t entry)
{
    return ledger->is_open && (entry >= ledger->committed ||
                               memcmp(pd_ledger_tried(ledger, entry), pd_ledger_base(ledger, entry),
                                      ledger->counters * sizeof *ledger->base) != 0);
}

/* The side of an entry: an excess of each counter. */
static uint64_t excess_of(const pd_ledger *ledger, size_t entry, size_t i)
{
    uint64_t excess;
    memcpy(&excess, pd_ledger_side(ledger, entry) + i * sizeof excess, sizeof excess);
    return excess;
}

/* An entry: its key; its age, with bits that say whether it has more and whether it has an excess; its
 * counters; how much more the open attempt had; and the excess. */
static void write_entry(stream *s, const pd_ledger *ledger, size_t entry)
{
    enum { MOST = sizeof(pd_key) + (size_t)PD_VARINT_MAX * (1 + 3 * PPROFDELTA_MAX_TYPES) };
    const int64_t *base = pd_ledger_base(ledger, entry), *tried = pd_ledger_tried(ledger, entry);
    uint64_t age = ledger->window - pd_ledger_seen(ledger, entry), excess = 0;
    bool more = has_more(ledger, entry);
    for (size_t i = 0; i < ledger->counters && s->has_excess; i++)
        excess |= excess_of(ledger, entry, i);
    if (!reach_bytes(s, MOST))
        return;
    pass_key(s, ledger->keys.keys[entry]);
    uint8_t *at = pd_varint_encode(s->chunk + s->at, age * 2 + more + (excess ? EXCESS : 0));
    for (size_t i = 0; i < ledger->counters; i++)
        at = pd_varint_encode(at, (uint64_t)base[i]);
    for (size_t i = 0; i < ledger->counters && more; i++)
        at = pd_varint_encode(at, (uint64_t)tried[i] - (uint64_t)base[i]);
    for (size_t i = 0; i < ledger->counters && excess; i++)
        at = pd_varint_encode(at, excess_of(ledger, entry, i));
    s->at = (size_t)(at - s->chunk);
}

static void read_excess(stream *s, pd_ledger *ledger, size_t entry, bool is_there)
{
    uint64_t any = 0;
    if (is_there && !s->has_excess)
        refuse_state(s, "age", entry,
                     "the entry has an excess, without an open attempt of a text dump");
    for (size_t i = 0; i < ledger->counters && s->has_excess && !s->status; i++) {
        uint64_t excess = is_there ? read_number(s, INT64_MAX, "excess", entry) : 0;
        memcpy(pd_ledger_side(ledger, entry) + i * sizeof excess, &excess, sizeof excess);
        any |= excess;
    }
    if (is_there && !any)
        refuse_state(s, "entry", entry, "its excess is nothing");
}

/* An entry that is read has its age in ledger->seen, until number_windows. */
static void read_entry(stream *s, pd_ledger *ledger, size_t entry)
{
    int64_t *base = pd_ledger_base(ledger, entry), *tried = pd_ledger_tried(ledger, entry);
    uint64_t any = entry >= ledger->committed;
    ledger->keys.keys[entry] = pass_key(s, (pd_key){0, 0});
    uint64_t age = read_number(s, 2 * EXCESS - 1, "age", entry), mark = age & (EXCESS - 1);
    if (any ? mark != 1 : mark & 1 && !ledger->is_open)
        refuse_state(s, "age", entry, "the entry is new, or has more, without an open attempt");
    ledger->seen[entry] = (uint32_t)(mark / 2);
    for (size_t i = 0; i < ledger->counters; i++)
        base[i] = (int64_t)read_number(s, UINT64_MAX, "counter", entry);
    for (size_t i = 0; i < ledger->counters && ledger->is_open; i++) {
        uint64_t more = mark & 1 ? read_number(s, UINT64_MAX, "counter", entry) : 0;
        tried[i] = (int64_t)((uint64_t)base[i] + more);
        any |= more;
    }
    if (mark & 1 && !any)
        refuse_state(s, "entry", entry, "the open attempt has nothing more");
    read_excess(s, ledger, entry, age & EXCESS);
}

/* Converts ages to window numbers. The last window gets the number after the largest age. */
static void number_windows(pd_ledger *ledger)
{
    uint32_t oldest = 0;
    ledger->living = 0;
    for (size_t i = 0; i < ledger->keys.len; i++) {
        oldest = ledger->seen[i] > oldest ? ledger->seen[i] : oldest;
        ledger->living += !ledger->seen[i];
    }
    ledger->window = oldest + 1;
    for (size_t i = 0; i < ledger->keys.len; i++)
        ledger->seen[i] = ledger->window - ledger->seen[i];
}

static void read_ledger(stream *s, pd_ledger *ledger, size_t entries)
{
    for (size_t i = 0; i < entries && !s->status; i++) {
        size_t need = 2 * i + FIRST_ENTRIES;
        if (!i || i == ledger->keys.cap)
            s->status = pd_ledger_reserve(ledger, s->mem, need < entries ? need : entries, s->err);
        if (!s->status)
            read_entry(s, ledger, i);
    }
    if (s->status)
        return;
    size_t entry = pd_keymap_reindex(&ledger->keys, entries, PD_KEYMAP_PASSED_MAX);
    if (entry < entries)
        refuse_state(s, "entry", entry,
                     "an earlier entry has the same key, or too many keys collide");
    else
        number_windows(ledger);
}

static void pass_ledger(stream *s, pd_ledger *ledger, bool is_open)
{
    bool is_oldest = s->format == PD_STATE_FORMAT_OLDEST;
    ledger->has_old_keys = is_oldest || pass_number(s, ledger->has_old_keys, 1, "entry");
    size_t entries = (size_t)pass_number(s, ledger->kept, PD_KEYMAP_MAX, "entry");
    size_t committed =
        is_open ? (size_t)pass_number(s, ledger->committed, entries, "entry") : entries;
    if (s->sink) {
        for (size_t i = 0; i < ledger->kept && !s->status; i++)
            write_entry(s, ledger, i);
        return;
    }
    ledger->committed = committed;
    ledger->kept = entries;
    ledger->is_open = is_open;
    if (s->has_excess && !s->status)
        s->status = pd_ledger_widen(ledger, s->mem, ledger->counters * sizeof(uint64_t), s->err);
    read_ledger(s, ledger, entries);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void check_format(stream *s, uint64_t format)
{
    s->format = format;
    if (s->status || (format >= PD_STATE_FORMAT_OLDEST && format <= PD_STATE_FORMAT))
        return;
    bool is_newer = format > PD_STATE_FORMAT;
    s->status = pd_because(
        s->err, is_newer ? PPROFDELTA_REASON_NEWER_STATE : PPROFDELTA_REASON_NONE,
        pd_fail(s->err, PPROFDELTA_E_STATE, PPROFDELTA_STAGE_STATE, "format", PPROFDELTA_NOWHERE,
                PD_STATE_MAGIC_LEN,
                "the state was written by %s pprofdelta (format %" PRIu64 "; this one knows %d)%s",
                is_newer ? "a newer" : "an older", format, PD_STATE_FORMAT,
                is_newer ? "" : ": begin a new state"));
}

static void pass_intro(stream *s)
{
    uint8_t magic[PD_STATE_MAGIC_LEN];
    memcpy(magic, PD_STATE_MAGIC, sizeof magic);
    size_t there = reach_bytes(s, sizeof magic), len = there < sizeof magic ? there : sizeof magic;
    if (s->source && !s->status && memcmp(s->chunk, magic, len) != 0)
        s->status =
            pd_because(s->err, PPROFDELTA_REASON_NOT_A_STATE,
                       pd_fail(s->err, PPROFDELTA_E_STATE, PPROFDELTA_STAGE_STATE, NULL,
                               PPROFDELTA_NOWHERE, 0, "this is not a state that pprofdelta wrote"));
    pass_bytes(s, magic, sizeof magic);
    check_format(s, pass_number(s, PD_STATE_FORMAT, UINT64_MAX, "format"));
}

/* The end: the checksum, and whether the open attempt has arrived. Returns that. */
static bool pass_end(stream *s)
{
    XXH3_128bits_update(&s->sum, s->chunk, s->at);
    XXH128_hash_t sum = XXH3_128bits_digest(&s->sum);
    pd_key found = pass_key(s, (pd_key){sum.low64, sum.high64});
    if (!s->status && !pd_key_equal(found, (pd_key){sum.low64, sum.high64}))
        refuse_state(s, NULL, PPROFDELTA_NOWHERE, "its checksum is wrong");
    bool has_arrived = pass_number(s, 0, 1, "arrived");
    if (reach_bytes(s, s->sink ? CHUNK : 1) && s->source)
        refuse_state(s, NULL, PPROFDELTA_NOWHERE, "it is followed by other data");
    return has_arrived;
}

static void clear_state(pd_state *state)
{
    pd_ledger_clear(state->ledger, 0);
    state->schema->len = state->schema->counters = state->schema->text.len = 0;
    state->last->mapped.len = 0;
    state->series = (pd_series){{0}, {0}};
    state->has_base = false;
}

/* All parts, in their order. Returns whether the open attempt has arrived. */
static bool pass_state(stream *s, pd_state *state)
{
    pd_schema *schema = state->schema;
    size_t types = s->sink && !state->ledger->window ? 0 : schema->len;
    pass_intro(s);
    state->id = pass_number(s, state->id, UINT64_MAX, "id");
    types = (size_t)pass_number(s, types, PPROFDELTA_MAX_TYPES, "sample_type");
    if (types && !s->status) {
        schema->len = types;
        pass_types(s, schema);
        if (s->source)
            pd_ledger_clear(state->ledger, schema->counters);
        state->has_base = pass_number(s, state->has_base, 1, "has_base");
        pass_windows(s, &state->series);
        pass_remembered(s, state->last);
        s->has_excess = state->last->rate && pd_series_is_open(&state->series);
        pass_ledger(s, state->ledger, pd_series_is_open(&state->series));
    }
    return pass_end(s);
}

pprofdelta_status pd_state_write(pd_state *state, const pprofdelta_sink *sink,
                                 pprofdelta_error *err)
{
    stream s = {.sink = sink, .err = err, .len = CHUNK};
    XXH3_128bits_reset(&s.sum);
    pass_state(&s, state);
    return s.status;
}

pprofdelta_status pd_state_read(pd_state *state, pd_mem *mem, const pprofdelta_source *source,
                                pprofdelta_error *err)
{
    stream s = {.source = source, .mem = mem, .err = err};
    XXH3_128bits_reset(&s.sum);
    clear_state(state);
    bool has_arrived = pass_state(&s, state);
    if (has_arrived && !pd_series_is_open(&state->series))
        refuse_state(&s, "arrived", PPROFDELTA_NOWHERE,
                     "no window is open that could have arrived");
    if (s.status) {
        pd_ledger_clear(state->ledger, 0);
    } else if (has_arrived) {
        pd_ledger_commit(state->ledger);
        pd_series_commit(&state->series);
        state->has_base = true;
    }
    return s.status;
}
