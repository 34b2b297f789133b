/* Writes a state: see state.h.
 *
 * Keys are written from the ledger's array; everything else is built in a buffer on the stack. A
 * failure of the sink is sticky and returned at the end. */
#include "ledger/state.h"

#include "ledger/state_format.h"

typedef struct outlet {
    const pprofdelta_sink *sink;
    bool is_refused;
    size_t len; /* bytes in chunk */
    uint8_t chunk[PD_STATE_CHUNK + PD_STATE_SLACK];
    XXH3_state_t sum;
} outlet;

static void send(outlet *o, const void *bytes, size_t len)
{
    if (!len || o->is_refused)
        return;
    XXH3_128bits_update(&o->sum, bytes, len);
    o->is_refused = o->sink->write(o->sink->cookie, bytes, len) != 0;
}

static void flush(outlet *o)
{
    send(o, o->chunk, o->len);
    o->len = 0;
}

/* Makes room for len bytes, at most a chunk. PD_STATE_SLACK bytes after them may be overwritten. */
static uint8_t *room(outlet *o, size_t len)
{
    if (len > PD_STATE_CHUNK - o->len)
        flush(o);
    o->len += len;
    return o->chunk + o->len - len;
}

static void put_bytes(outlet *o, XXH3_state_t *head, const void *ptr, size_t len)
{
    if (len)
        XXH3_64bits_update(head, ptr, len);
    for (const uint8_t *at = ptr; len;) {
        size_t part = len < PD_STATE_CHUNK ? len : PD_STATE_CHUNK;
        memcpy(room(o, part), at, part);
        at += part;
        len -= part;
    }
}

static bool has_seen(const pd_state *state)
{
    return state->ledger->window != 0;
}

/* The length of the build id, of the binary's name and of all names. */
static uint64_t names_len(const pd_state *state)
{
    uint64_t len = state->last->build_id.len + state->last->binary.len;
    for (size_t i = 0; i < state->schema->len; i++)
        len += (uint64_t)state->schema->names[i].type_len + state->schema->names[i].unit_len;
    return len;
}

/* What the row of the open attempt has more than the base. */
static uint64_t more_of(const pd_ledger *ledger, size_t row, size_t counter)
{
    uint32_t entry = ledger->tried.entry[row];
    int64_t base = entry < ledger->committed ? pd_ledger_base(ledger, entry)[counter] : 0;
    return (uint64_t)pd_tried_values(ledger, row)[counter] - (uint64_t)base;
}

/* Returns whether the section `tried` has the row. */
static bool has_more(const pd_ledger *ledger, size_t row)
{
    uint64_t any = ledger->tried.entry[row] >= ledger->committed;
    for (size_t i = 0; i < ledger->counters; i++)
        any |= more_of(ledger, row, i);
    return any != 0;
}

/* The number of committed entries in the section `tried`. */
static size_t count_tried(const pd_ledger *ledger)
{
    size_t count = 0;
    for (size_t row = 0; row < ledger->tried.len; row++)
        count += ledger->tried.entry[row] < ledger->committed && has_more(ledger, row);
    return count;
}

/* Finds the bytes of a value for each counter, and for each of the section `tried`. */
static void find_widths(const pd_ledger *ledger, uint8_t *widths)
{
    for (size_t c = 0; c < ledger->counters; c++) {
        uint64_t all = 0, more = 0;
        for (size_t i = 0; i < ledger->committed; i++)
            all |= (uint64_t)pd_ledger_base(ledger, i)[c];
        for (size_t row = 0; row < ledger->tried.len; row++)
            more |= more_of(ledger, row, c);
        widths[c] = pd_state_width(all);
        widths[ledger->counters + c] = pd_state_width(more);
    }
}

static void put_key(uint8_t *at, pd_key key)
{
    pd_put64(at, key.lo);
    pd_put64(at + 8, key.hi);
}

static void put_numbers(uint8_t *head, const pd_state *state)
{
    const pd_ledger *ledger = state->ledger;
    const pd_stretch *acked = &state->series.acked, *last = &state->series.last;
    pd_put64(head + PD_STATE_AT_SEQUENCE, acked->sequence);
    pd_put64(head + PD_STATE_AT_FROM, (uint64_t)acked->from_nanos);
    pd_put64(head + PD_STATE_AT_TO, (uint64_t)acked->to_nanos);
    pd_put64(head + PD_STATE_AT_ENTRIES, ledger->kept);
    pd_put64(head + PD_STATE_AT_UNSEEN, ledger->kept - ledger->living);
    pd_put32(head + PD_STATE_AT_HAS_BASE, state->has_base);
    pd_put32(head + PD_STATE_AT_RESTART, (uint32_t)acked->restart);
    pd_put32(head + PD_STATE_AT_TYPES, (uint32_t)state->schema->len);
    pd_put32(head + PD_STATE_AT_COUNTERS, (uint32_t)state->schema->counters);
    pd_put32(head + PD_STATE_AT_BUILD_ID, (uint32_t)state->last->build_id.len);
    pd_put64(head + PD_STATE_AT_BINARY, state->last->binary.len);
    pd_put32(head + PD_STATE_AT_RATE, state->last->rate);
    pd_put64(head + PD_STATE_AT_MAPPED, state->last->mapped.len);
    pd_put64(head + PD_STATE_AT_DURATION, (uint64_t)state->last->duration_nanos);
    pd_put64(head + PD_STATE_AT_LIVE_ID, state->last->live_id);
    pd_put64(head + PD_STATE_AT_LIVE_TO, (uint64_t)state->last->live_to_nanos);
    pd_put64(head + PD_STATE_AT_ATTEMPTS, last->attempt);
    pd_put64(head + PD_STATE_AT_TIME, (uint64_t)state->last->time_nanos);
    pd_put64(head + PD_STATE_AT_COMMITTED, ledger->committed);
    pd_put64(head + PD_STATE_AT_TRIED, count_tried(ledger));
    pd_put64(head + PD_STATE_AT_LAST_SEQUENCE, last->sequence);
    pd_put64(head + PD_STATE_AT_LAST_FROM, (uint64_t)last->from_nanos);
    pd_put64(head + PD_STATE_AT_LAST_TO, (uint64_t)last->to_nanos);
    pd_put64(head + PD_STATE_AT_LAST_DURATION, (uint64_t)last->duration_nanos);
    pd_put32(head + PD_STATE_AT_LAST_RESTART, (uint32_t)last->restart);
}

static void put_head(outlet *o, const pd_state *state, const uint8_t *widths, size_t head_len,
                     size_t names)
{
    static const uint8_t zeros[8];
    const pd_schema *schema = state->schema;
    const uint8_t *text = schema->text.ptr;
    uint8_t head[PD_STATE_FIXED + 8 * PPROFDELTA_MAX_TYPES] = {0}, sum[PD_STATE_HEAD_SUM];
    size_t lengths = PD_STATE_FIXED;
    memcpy(head, PD_STATE_MAGIC, PD_STATE_MAGIC_LEN);
    pd_put32(head + PD_STATE_AT_FORMAT, PD_STATE_FORMAT);
    pd_put32(head + PD_STATE_AT_HEAD, (uint32_t)head_len);
    pd_put64(head + PD_STATE_AT_ID, state->id);
    if (has_seen(state)) {
        put_numbers(head, state);
        for (size_t i = 0; i < schema->len; i++, lengths += 8) {
            pd_put32(head + lengths, (uint32_t)schema->names[i].type_len);
            pd_put32(head + lengths + 4, (uint32_t)schema->names[i].unit_len);
        }
    }
    XXH3_state_t summed;
    XXH3_64bits_reset(&summed);
    put_bytes(o, &summed, head, lengths);
    if (has_seen(state)) {
        put_bytes(o, &summed, widths, 2 * schema->counters);
        put_bytes(o, &summed, state->last->build_id.ptr, state->last->build_id.len);
        put_bytes(o, &summed, state->last->binary.ptr, state->last->binary.len);
        for (size_t i = 0; i < schema->len; i++) {
            put_bytes(o, &summed, text + schema->names[i].type, schema->names[i].type_len);
            put_bytes(o, &summed, text + schema->names[i].unit, schema->names[i].unit_len);
        }
    }
    size_t used = lengths + (has_seen(state) ? 2 * schema->counters : 0) + names;
    put_bytes(o, &summed, zeros, head_len - PD_STATE_HEAD_SUM - used);
    pd_put64(sum, XXH3_64bits_digest(&summed));
    put_bytes(o, &summed, sum, sizeof sum);
}

static void put_mappings(outlet *o, const pd_mapped_list *mapped)
{
    for (size_t i = 0; i < mapped->len; i++) {
        const pd_mapped *m = &mapped->list[i];
        uint8_t *at = room(o, PD_STATE_MAPPING);
        pd_put64(at, m->start);
        pd_put64(at + 8, m->limit);
        pd_put64(at + 16, m->file_offset);
        put_key(at + 24, m->identity);
        put_key(at + 40, m->file);
    }
}

static void put_keys(outlet *o, const pd_ledger *ledger)
{
    const pd_key *keys = ledger->keys.keys;
    if (pd_le64(1) == 1) { /* memory and file have the same layout */
        flush(o);
        send(o, keys, ledger->kept * sizeof *keys);
        return;
    }
    for (size_t i = 0; i < ledger->kept; i++)
        put_key(room(o, sizeof *keys), keys[i]);
}

static void put_counter(outlet *o, const pd_ledger *ledger, size_t counter, size_t width)
{
    for (size_t i = 0; i < ledger->committed && width;) {
        size_t most = PD_STATE_CHUNK / width, left = ledger->committed - i;
        size_t n = most < left ? most : left;
        uint8_t *at = room(o, n * width);
        for (size_t end = i + n; i < end; i++, at += width)
            pd_put64(at, (uint64_t)pd_ledger_base(ledger, i)[counter]);
    }
}

static void put_unseen(outlet *o, const pd_ledger *ledger)
{
    for (size_t i = 0; i < ledger->committed; i++) {
        if (pd_ledger_is_living(ledger, i))
            continue;
        uint8_t *at = room(o, PD_STATE_UNSEEN);
        pd_put32(at, (uint32_t)i);
        pd_put32(at + 4, ledger->window - ledger->seen[i]);
    }
}

static void put_tried(outlet *o, const pd_ledger *ledger, const uint8_t *widths)
{
    const pd_tried *tried = &ledger->tried;
    for (size_t row = 0; row < tried->len; row++)
        if (tried->entry[row] < ledger->committed && has_more(ledger, row))
            pd_put32(room(o, PD_STATE_TRIED), tried->entry[row]);
    for (size_t c = 0; c < ledger->counters; c++)
        for (size_t row = 0; row < tried->len; row++)
            if (has_more(ledger, row))
                pd_put64(room(o, widths[c]), more_of(ledger, row, c));
}

static void put_check(outlet *o)
{
    flush(o);
    XXH128_hash_t sum = XXH3_128bits_digest(&o->sum);
    uint8_t *at = room(o, PD_STATE_CHECK + PD_STATE_ARRIVED);
    pd_put64(at, sum.low64);
    pd_put64(at + 8, sum.high64);
    at[PD_STATE_CHECK] = 0;
    flush(o);
}

pprofdelta_status pd_state_write(const pd_state *state, const pprofdelta_sink *sink,
                                 pprofdelta_error *err)
{
    bool is_full = has_seen(state);
    uint64_t names = is_full ? names_len(state) : 0;
    uint64_t types = is_full ? state->schema->len : 0;
    uint64_t counters = is_full ? state->schema->counters : 0;
    uint64_t head =
        (PD_STATE_FIXED + 8 * types + 2 * counters + names + 7) / 8 * 8 + PD_STATE_HEAD_SUM;
    if (head > PD_STATE_HEAD_MAX)
        return pd_fail(err, PPROFDELTA_E_LIMIT, "state", "sample_type", PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE,
                       "the names of the value types and the build id are too long for a state");
    outlet o = {.sink = sink};
    XXH3_128bits_reset(&o.sum);
    uint8_t widths[2 * PPROFDELTA_MAX_TYPES];
    if (is_full)
        find_widths(state->ledger, widths);
    put_head(&o, state, widths, (size_t)head, (size_t)names);
    if (is_full) {
        put_mappings(&o, &state->last->mapped);
        put_keys(&o, state->ledger);
        for (size_t c = 0; c < counters; c++)
            put_counter(&o, state->ledger, c, widths[c]);
        put_unseen(&o, state->ledger);
        put_tried(&o, state->ledger, widths + counters);
    }
    put_check(&o);
    if (o.is_refused)
        return pd_fail(err, PPROFDELTA_E_SINK, "state", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "the sink refused the state");
    return PPROFDELTA_OK;
}
