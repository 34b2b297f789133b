/* Reads a state: see state.h.
 *
 * An attacker may have written the bytes, with correct checksums. So every number is checked before
 * it is used. */
#include "ledger/state.h"

#include "ledger/state_format.h"

#include <inttypes.h>

/* Room for this many entries is made before their bytes arrive. */
enum { FIRST_ENTRIES = 1 << 16 };

typedef struct inlet {
    XXH3_state_t sum; /* first: it is aligned to a cache line */
    const pprofdelta_source *source;
    pd_mem *mem;
    pprofdelta_error *err;
    pprofdelta_status status; /* sticky */
    uint64_t off;             /* of the next byte */
    pd_buffer head;
    uint8_t chunk[PD_STATE_CHUNK + PD_STATE_SLACK];
} inlet;

/* Returns false, as all functions here do on failure. */
static bool refuse_element(inlet *in, const char *field, uint64_t element, uint64_t off,
                           const char *why)
{
    in->status = pd_fail(in->err, PPROFDELTA_E_STATE, "state", field, element, off, "%s", why);
    return false;
}

static bool refuse(inlet *in, const char *field, uint64_t off, const char *why)
{
    return refuse_element(in, field, PPROFDELTA_NOWHERE, off, why);
}

/* Reads up to len bytes, fewer only at the end of the source. */
static size_t take_some(inlet *in, uint8_t *out, size_t len)
{
    size_t have = 0;
    while (have < len && !in->status) {
        size_t got = 0;
        int failed = in->source->read(in->source->cookie, out + have, len - have, &got);
        if (failed || got > len - have)
            in->status = pd_fail(in->err, PPROFDELTA_E_SOURCE, "state", NULL, PPROFDELTA_NOWHERE,
                                 in->off + have, "the source failed");
        else if (!got)
            break;
        else
            have += got;
    }
    in->off += have;
    return in->status ? 0 : have;
}

static bool take(inlet *in, uint8_t *out, size_t len)
{
    size_t have = take_some(in, out, len);
    if (in->status)
        return false;
    if (have < len)
        return refuse(in, NULL, in->off, "the state is cut off");
    XXH3_128bits_update(&in->sum, out, len);
    return true;
}

/* ---- the head ---------------------------------------------------------------------------- */

static bool foreign(inlet *in, const uint8_t *intro, size_t len)
{
    static const struct {
        const char *magic;
        size_t len;
    } profiles[] = {{"\x1f\x8b", 2}, {"\x28\xb5\x2f\xfd", 4}, {"\x0a", 1}};
    if (!len)
        return refuse(in, NULL, 0, "the state is empty");
    if (len < PD_STATE_INTRO &&
        !memcmp(intro, PD_STATE_MAGIC, len < PD_STATE_MAGIC_LEN ? len : PD_STATE_MAGIC_LEN))
        return refuse(in, NULL, in->off, "the state is cut off");
    const char *why = "this is not a state that pprofdelta wrote";
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (len >= profiles[i].len && !memcmp(intro, profiles[i].magic, profiles[i].len))
            why = "this is not a state that pprofdelta wrote; it looks like a profile";
    refuse(in, NULL, 0, why);
    pd_because(in->err, PPROFDELTA_REASON_NOT_A_STATE, in->status);
    return false;
}

/* Reads the head into in->head and checks its checksum. */
static bool take_head(inlet *in)
{
    uint8_t intro[PD_STATE_INTRO];
    size_t got = take_some(in, intro, sizeof intro);
    if (in->status)
        return false;
    if (got < sizeof intro || memcmp(intro, PD_STATE_MAGIC, PD_STATE_MAGIC_LEN) != 0)
        return foreign(in, intro, got);
    XXH3_128bits_update(&in->sum, intro, sizeof intro);
    size_t len = pd_get32(intro + PD_STATE_AT_HEAD);
    if (len < PD_STATE_INTRO + PD_STATE_HEAD_SUM || len > PD_STATE_HEAD_MAX || len % 8)
        return refuse(in, "head", PD_STATE_AT_HEAD, "the state is damaged");
    in->status = pd_buffer_room(in->mem, &in->head, len, in->err);
    if (in->status)
        return false;
    memcpy(in->head.ptr, intro, sizeof intro);
    if (!take(in, in->head.ptr + sizeof intro, len - sizeof intro))
        return false;
    in->head.len = len - PD_STATE_HEAD_SUM;
    if (pd_get64(in->head.ptr + in->head.len) != XXH3_64bits(in->head.ptr, in->head.len))
        return refuse(in, "head", in->head.len,
                      "the state is damaged: the checksum of its head is wrong");
    uint32_t format = pd_get32(intro + PD_STATE_AT_FORMAT);
    if (format == PD_STATE_FORMAT)
        return true;
    const char *why =
        format > PD_STATE_FORMAT ? "the state was written by a newer pprofdelta (format %" PRIu32
                                   "; this one knows %d)"
        : format >= PD_STATE_OLDEST
            ? "the state was written by an older pprofdelta (format %" PRIu32
              "; this one knows %d): begin a new state"
            : "the state has a format that no pprofdelta wrote (%" PRIu32 "; this one knows %d)";
    in->status = pd_because(
        in->err, format > PD_STATE_FORMAT ? PPROFDELTA_REASON_NEWER_STATE : PPROFDELTA_REASON_NONE,
        pd_fail(in->err, PPROFDELTA_E_STATE, "state", "format", PPROFDELTA_NOWHERE,
                PD_STATE_AT_FORMAT, why, format, PD_STATE_FORMAT));
    return false;
}

static pd_key get_key(const uint8_t *at)
{
    return (pd_key){pd_get64(at), pd_get64(at + 8)};
}

/* The numbers of a head. */
typedef struct promise {
    uint64_t entries, committed, unseen, tried, mapped, binary_len;
    uint32_t has_base, types, counters, build_id_len;
    size_t widths_off; /* of the first counter's width */
    size_t names_off;  /* of the first byte of the build id, which the binary's name follows */
} promise;

/* All that an empty state has is an id. */
static bool check_empty(inlet *in)
{
    for (size_t i = PD_STATE_INTRO; i < in->head.len; i++)
        if (in->head.ptr[i] && (i < PD_STATE_AT_ID || i >= PD_STATE_AT_ID + 8))
            return refuse(in, "head", i, "the state is marked as empty, but is not");
    return in->head.len == PD_STATE_FIXED ||
           refuse(in, "head", PD_STATE_AT_HEAD, "the head of an empty state has another length");
}

static bool check_promise(inlet *in, const promise *p)
{
    if (!p->types)
        return check_empty(in);
    if (p->has_base > 1)
        return refuse(in, "head", PD_STATE_AT_HAS_BASE, "a flag is neither 0 nor 1");
    if (p->types > PPROFDELTA_MAX_TYPES || !p->counters || p->counters > p->types)
        return refuse(in, "sample_type", PD_STATE_AT_TYPES, "the numbers of types are not valid");
    if (p->entries > PD_KEYMAP_MAX || p->committed > p->entries || p->unseen > p->committed ||
        p->tried > p->committed)
        return refuse(in, "entry", PD_STATE_AT_ENTRIES, "the numbers of entries are not valid");
    if (p->mapped > PD_MAPPED_MAX)
        return refuse(in, "mapping", PD_STATE_AT_MAPPED, "the state has too many mappings");
    return true;
}

static bool read_promise(inlet *in, promise *p)
{
    const uint8_t *head = in->head.ptr;
    if (in->head.len < PD_STATE_FIXED)
        return refuse(in, "head", PD_STATE_AT_HEAD, "the head is too short");
    *p = (promise){.entries = pd_get64(head + PD_STATE_AT_ENTRIES),
                   .committed = pd_get64(head + PD_STATE_AT_COMMITTED),
                   .unseen = pd_get64(head + PD_STATE_AT_UNSEEN),
                   .tried = pd_get64(head + PD_STATE_AT_TRIED),
                   .mapped = pd_get64(head + PD_STATE_AT_MAPPED),
                   .has_base = pd_get32(head + PD_STATE_AT_HAS_BASE),
                   .types = pd_get32(head + PD_STATE_AT_TYPES),
                   .counters = pd_get32(head + PD_STATE_AT_COUNTERS),
                   .build_id_len = pd_get32(head + PD_STATE_AT_BUILD_ID),
                   .binary_len = pd_get64(head + PD_STATE_AT_BINARY)};
    return check_promise(in, p);
}

/* Checks that the names fill the head, up to the padding, and sets their offsets. */
static bool check_names(inlet *in, promise *p)
{
    const uint8_t *head = in->head.ptr;
    p->widths_off = PD_STATE_FIXED + (size_t)p->types * 8;
    p->names_off = p->widths_off + 2 * (size_t)p->counters;
    uint64_t end = (uint64_t)p->names_off + p->build_id_len;
    if (p->binary_len > in->head.len)
        return refuse(in, "mapping", PD_STATE_AT_BINARY, "the length of a name is not valid");
    end += p->binary_len;
    if (p->names_off <= in->head.len)
        for (size_t i = 0; i < 2 * (size_t)p->types; i++)
            end += pd_get32(head + PD_STATE_FIXED + 4 * i);
    if (end > in->head.len || in->head.len - end >= 8)
        return refuse(in, "sample_type", PD_STATE_FIXED, "the lengths of names are not valid");
    for (size_t i = (size_t)end; i < in->head.len; i++)
        if (head[i])
            return refuse(in, "head", i, "the padding is not zero");
    return true;
}

/* Copies the bytes, with room for a NUL. */
static bool set_text(inlet *in, pd_buffer *text, const uint8_t **at, size_t len)
{
    text->len = 0;
    in->status = pd_buffer_room(in->mem, text, len + 1, in->err);
    if (in->status)
        return false;
    memcpy(text->ptr, *at, len);
    text->len = len;
    *at += len;
    return true;
}

static bool set_names(inlet *in, const promise *p, const pd_state *state)
{
    const uint8_t *at = in->head.ptr + p->names_off, *lengths = in->head.ptr + PD_STATE_FIXED;
    if (!set_text(in, &state->last->build_id, &at, p->build_id_len) ||
        !set_text(in, &state->last->binary, &at, (size_t)p->binary_len))
        return false;
    pd_type_name names[PPROFDELTA_MAX_TYPES];
    for (size_t i = 0; i < p->types; i++) {
        names[i].type = (pd_bytes){at, pd_get32(lengths + 8 * i)};
        names[i].unit = (pd_bytes){at + names[i].type.len, pd_get32(lengths + 8 * i + 4)};
        names[i].is_counter = i < p->counters;
        at += names[i].type.len + names[i].unit.len;
    }
    in->status = pd_schema_set(state->schema, in->mem, names, p->types, in->err);
    return !in->status;
}

/* Reads a window, whose numbers stand at these offsets. */
static bool set_stretch(inlet *in, size_t sequence_off, size_t from_off, size_t to_off,
                        size_t restart_off, pd_stretch *out)
{
    const uint8_t *head = in->head.ptr;
    uint32_t restart = pd_get32(head + restart_off);
    *out = (pd_stretch){.sequence = pd_get64(head + sequence_off),
                        .from_nanos = (int64_t)pd_get64(head + from_off),
                        .to_nanos = (int64_t)pd_get64(head + to_off),
                        .restart = (pprofdelta_restart)restart};
    if (restart > PPROFDELTA_RESTART_LIVE)
        return refuse(in, "restart", restart_off, "the kind of restart is unknown");
    if (out->from_nanos && out->to_nanos && out->from_nanos > out->to_nanos)
        return refuse(in, "window", from_off, "a window ends before it begins");
    return true;
}

static bool set_windows(inlet *in, const promise *p, pd_state *state)
{
    const uint8_t *head = in->head.ptr;
    pd_stretch *acked = &state->series.acked, *last = &state->series.last;
    if (!set_stretch(in, PD_STATE_AT_SEQUENCE, PD_STATE_AT_FROM, PD_STATE_AT_TO,
                     PD_STATE_AT_RESTART, acked) ||
        !set_stretch(in, PD_STATE_AT_LAST_SEQUENCE, PD_STATE_AT_LAST_FROM, PD_STATE_AT_LAST_TO,
                     PD_STATE_AT_LAST_RESTART, last))
        return false;
    last->attempt = pd_get64(head + PD_STATE_AT_ATTEMPTS);
    last->duration_nanos = (int64_t)pd_get64(head + PD_STATE_AT_LAST_DURATION);
    state->last->time_nanos = (int64_t)pd_get64(head + PD_STATE_AT_TIME);
    state->last->rate = pd_get32(head + PD_STATE_AT_RATE);
    state->last->duration_nanos = (int64_t)pd_get64(head + PD_STATE_AT_DURATION);
    state->last->live_id = pd_get64(head + PD_STATE_AT_LIVE_ID);
    state->last->live_to_nanos = (int64_t)pd_get64(head + PD_STATE_AT_LIVE_TO);
    state->has_base = p->has_base;
    bool is_open = last->attempt != 0;
    if (last->sequence == UINT64_MAX)
        return refuse(in, "sequence", PD_STATE_AT_LAST_SEQUENCE,
                      "the sequence number is the largest there is");
    if (last->attempt > PD_STATE_ATTEMPTS_MAX)
        return refuse(in, "attempts", PD_STATE_AT_ATTEMPTS, "the number of attempts is too large");
    if (!last->sequence || last->sequence < acked->sequence + is_open)
        return refuse(in, "sequence", PD_STATE_AT_SEQUENCE,
                      "the sequences of the windows are not in order");
    if (!is_open && (p->committed != p->entries || p->tried))
        return refuse(in, "entry", PD_STATE_AT_COMMITTED,
                      "no window is open, but entries are not committed");
    if (state->last->duration_nanos < 0 || last->duration_nanos < 0)
        return refuse(in, "duration", PD_STATE_AT_DURATION, "a duration is negative");
    if (pd_get32(head + PD_STATE_AT_LAST_RESTART + 4))
        return refuse(in, "head", PD_STATE_AT_LAST_RESTART + 4, "the padding is not zero");
    return true;
}

/* ---- the mappings ------------------------------------------------------------------------ */

static bool take_mappings(inlet *in, const promise *p, pd_mapped_list *mapped)
{
    uint8_t at[PD_STATE_MAPPING];
    mapped->len = 0;
    in->status = pd_mem_reserve(in->mem, &mapped->list, &mapped->cap, (size_t)p->mapped,
                                sizeof *mapped->list, in->err);
    while (!in->status && mapped->len < p->mapped) {
        if (!take(in, at, sizeof at))
            return false;
        mapped->list[mapped->len++] = (pd_mapped){.start = pd_get64(at),
                                                  .limit = pd_get64(at + 8),
                                                  .file_offset = pd_get64(at + 16),
                                                  .identity = get_key(at + 24),
                                                  .file = get_key(at + 40)};
    }
    return !in->status;
}

/* ---- the entries ------------------------------------------------------------------------- */

/* Makes room for as many entries as there are already, at least FIRST_ENTRIES. */
static bool make_room(inlet *in, const promise *p, pd_ledger *ledger, size_t len, size_t *room)
{
    size_t more = len > FIRST_ENTRIES ? len : FIRST_ENTRIES, left = (size_t)p->entries - len;
    *room = len + (more < left ? more : left);
    in->status = pd_ledger_reserve(ledger, in->mem, *room, in->err);
    return !in->status;
}

/* Gives the keys from `from` on their slots. */
static bool index_keys(inlet *in, pd_keymap *keys, size_t from, uint64_t off)
{
    enum { AHEAD = 16 };
    for (size_t i = from; i < keys->len; i++) {
        if (i + AHEAD < keys->len)
            __builtin_prefetch(&keys->slots[pd_keymap_home(keys, keys->keys[i + AHEAD])], 1);
        uint32_t number = pd_keymap_index_untrusted(keys, (uint32_t)i);
        if (number == i)
            continue;
        keys->len = i; /* the later keys have no slot */
        return refuse_element(in, "entry", i, off + (i - from) * sizeof *keys->keys,
                              number == PD_KEYMAP_NONE
                                  ? "the keys are not hashes: too many of them collide"
                                  : "an earlier entry has the same key");
    }
    return true;
}

static bool take_keys(inlet *in, const promise *p, pd_ledger *ledger)
{
    pd_keymap *keys = &ledger->keys;
    size_t room = 0;
    while (keys->len < p->entries) {
        size_t len = keys->len;
        uint64_t off = in->off;
        if (!make_room(in, p, ledger, len, &room) ||
            !take(in, (uint8_t *)(keys->keys + len), (room - len) * sizeof *keys->keys))
            return false;
        for (size_t i = len; i < room; i++)
            keys->keys[i] = (pd_key){pd_le64(keys->keys[i].lo), pd_le64(keys->keys[i].hi)};
        keys->len = room;
        if (!index_keys(in, keys, len, off))
            return false;
    }
    return true;
}

/* Reads a counter of `len` rows of `counters` values, and adds it to what is there. Its width is at
 * widths_off. */
static bool take_column(inlet *in, size_t widths_off, size_t counter, int64_t *rows,
                        size_t counters, size_t len)
{
    size_t width_off = widths_off + counter, width = in->head.ptr[width_off];
    uint64_t all = 0;
    if (width > sizeof(int64_t))
        return refuse(in, "counter", width_off, "a value has at most 8 bytes");
    uint64_t mask = width ? UINT64_MAX >> (64 - 8 * width) : 0;
    for (size_t done = 0; done < len;) {
        size_t most = width ? PD_STATE_CHUNK / width : PD_STATE_CHUNK;
        size_t left = len - done, n = most < left ? most : left;
        if (!take(in, in->chunk, n * width))
            return false;
        const uint8_t *at = in->chunk;
        for (size_t end = done + n; done < end; done++, at += width) {
            uint64_t value = pd_get64(at) & mask;
            int64_t *to = &rows[done * counters + counter];
            *to = (int64_t)((uint64_t)*to + value);
            all |= value;
        }
    }
    if (pd_state_width(all) != width) /* a state has one encoding */
        return refuse(in, "counter", width_off, "its values need fewer bytes");
    return true;
}

static bool take_entries(inlet *in, const promise *p, pd_ledger *ledger)
{
    size_t entries = (size_t)p->entries, committed = (size_t)p->committed;
    if (!take_keys(in, p, ledger))
        return false;
    if (entries)
        memset(ledger->base, 0, entries * p->counters * sizeof *ledger->base);
    for (size_t c = 0; c < p->counters; c++)
        if (!take_column(in, p->widths_off, c, ledger->base, p->counters, committed))
            return false;
    for (size_t i = 0; i < entries; i++)
        ledger->seen[i] = 0; /* the age, until number_windows */
    return true;
}

/* Converts ages to window numbers. The last window gets the number after the largest age. */
static void number_windows(const promise *p, pd_ledger *ledger, uint32_t oldest)
{
    ledger->window = oldest + 1;
    for (size_t i = 0; i < p->entries; i++)
        ledger->seen[i] = ledger->window - ledger->seen[i];
    ledger->committed = (size_t)p->committed;
    ledger->kept = ledger->keys.len;
    ledger->living = (size_t)(p->entries - p->unseen);
}

static bool take_unseen(inlet *in, const promise *p, pd_ledger *ledger)
{
    uint32_t oldest = 0;
    uint64_t next = 0; /* smallest valid entry */
    for (size_t done = 0; done < p->unseen;) {
        size_t most = sizeof in->chunk / PD_STATE_UNSEEN, left = (size_t)p->unseen - done;
        size_t n = most < left ? most : left;
        uint64_t off = in->off;
        if (!take(in, in->chunk, n * PD_STATE_UNSEEN))
            return false;
        for (size_t i = 0; i < n; i++, done++) {
            const uint8_t *at = in->chunk + i * PD_STATE_UNSEEN;
            uint32_t entry = pd_get32(at), age = pd_get32(at + 4);
            if (entry < next || entry >= p->committed || !age || age == UINT32_MAX)
                return refuse_element(
                    in, "unseen", done, off + i * PD_STATE_UNSEEN,
                    "the entries are not in ascending order, or an age is not valid");
            next = (uint64_t)entry + 1;
            ledger->seen[entry] = age;
            oldest = age > oldest ? age : oldest;
        }
    }
    number_windows(p, ledger, oldest);
    return true;
}

static bool make_room_for_tried(inlet *in, const promise *p, pd_tried *tried)
{
    tried->stride = p->counters;
    tried->len = (size_t)(p->tried + (p->entries - p->committed));
    size_t values;
    if (__builtin_mul_overflow(tried->len, tried->stride, &values))
        values = SIZE_MAX;
    in->status = pd_mem_reserve(in->mem, &tried->entry, &tried->entry_cap, tried->len,
                                sizeof *tried->entry, in->err);
    if (!in->status)
        in->status = pd_mem_reserve(in->mem, &tried->values, &tried->values_cap, values,
                                    sizeof *tried->values, in->err);
    return !in->status;
}

/* Reads the rows of committed entries; those of new entries follow. All begin as their bases. */
static bool take_tried_entries(inlet *in, const promise *p, pd_ledger *ledger)
{
    pd_tried *tried = &ledger->tried;
    uint64_t next = 0; /* smallest valid entry */
    for (size_t row = 0; row < tried->len; row++) {
        uint64_t off = in->off, entry = p->committed + (row - p->tried);
        if (row < p->tried) {
            if (!take(in, in->chunk, PD_STATE_TRIED))
                return false;
            entry = pd_get32(in->chunk);
            if (entry < next || entry >= p->committed)
                return refuse_element(in, "tried", row, off,
                                      "the entries are not in ascending order");
            next = entry + 1;
        }
        tried->entry[row] = (uint32_t)entry;
        pd_ledger_copy(pd_tried_values(ledger, row), pd_ledger_base(ledger, entry),
                       ledger->counters);
    }
    return true;
}

static bool take_tried(inlet *in, const promise *p, pd_ledger *ledger)
{
    pd_tried *tried = &ledger->tried;
    uint64_t off = in->off;
    if (!make_room_for_tried(in, p, tried) || !take_tried_entries(in, p, ledger))
        return false;
    for (size_t c = 0; c < p->counters; c++)
        if (!take_column(in, p->widths_off + p->counters, c, tried->values, p->counters,
                         tried->len))
            return false;
    for (size_t row = 0; row < p->tried; row++)
        if (!memcmp(pd_tried_values(ledger, row), pd_ledger_base(ledger, tried->entry[row]),
                    ledger->counters * sizeof *tried->values))
            return refuse_element(in, "tried", row, off + row * PD_STATE_TRIED,
                                  "it is the same as what was committed");
    return true;
}

static bool take_check(inlet *in)
{
    uint8_t found[PD_STATE_CHECK];
    XXH128_hash_t sum = XXH3_128bits_digest(&in->sum);
    uint64_t off = in->off;
    if (!take(in, found, sizeof found))
        return false;
    if (pd_get64(found) != sum.low64 || pd_get64(found + 8) != sum.high64)
        return refuse(in, NULL, off, "the state is damaged: its checksum is wrong");
    return true;
}

/* The last byte: has the open attempt arrived? */
static bool take_arrived(inlet *in, pd_state *state)
{
    uint64_t off = in->off;
    size_t got = take_some(in, in->chunk, PD_STATE_ARRIVED + 1);
    if (in->status)
        return false;
    if (!got)
        return refuse(in, NULL, off, "the state is cut off");
    if (got > PD_STATE_ARRIVED)
        return refuse(in, NULL, off + PD_STATE_ARRIVED, "the state is followed by other data");
    if (in->chunk[0] > 1)
        return refuse(in, "arrived", off, "the last byte is neither 0 nor 1");
    if (!in->chunk[0])
        return true;
    if (!pd_series_is_open(&state->series))
        return refuse(in, "arrived", off, "no window is open that could have arrived");
    pd_ledger_commit(state->ledger);
    pd_series_commit(&state->series);
    return state->has_base = true;
}

static bool read_parts(inlet *in, pd_state *state)
{
    promise p = {0};
    if (!take_head(in) || !read_promise(in, &p))
        return false;
    state->has_base = false;
    state->series = (pd_series){{0}, {0}};
    state->id = pd_get64(in->head.ptr + PD_STATE_AT_ID);
    pd_ledger_clear(state->ledger, p.counters);
    if (!p.types)
        return take_check(in) && take_arrived(in, state);
    return check_names(in, &p) && set_names(in, &p, state) && set_windows(in, &p, state) &&
           take_mappings(in, &p, &state->last->mapped) && take_entries(in, &p, state->ledger) &&
           take_unseen(in, &p, state->ledger) && take_tried(in, &p, state->ledger) &&
           take_check(in) && take_arrived(in, state);
}

pprofdelta_status pd_state_read(pd_state *state, pd_mem *mem, const pprofdelta_source *source,
                                pprofdelta_error *err)
{
    inlet in = {.source = source, .mem = mem, .err = err};
    XXH3_128bits_reset(&in.sum);
    if (!read_parts(&in, state))
        pd_ledger_clear(state->ledger, 0);
    pd_buffer_release(mem, &in.head);
    return in.status;
}
