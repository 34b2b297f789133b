/* A state on its way out: see state.h.
 *
 * The bytes are put together in a chunk on the stack, summed as they leave it. The stages may run out
 * of the sink's good will at any place; that is sticky and told at the end. */
#include "delta/state.h"

#include "delta/state_format.h"

typedef struct outlet {
    const pprofdelta_sink *sink;
    bool is_refused;
    size_t len; /* in chunk */
    uint8_t chunk[PD_STATE_CHUNK];
    XXH3_state_t sum;
} outlet;

static void flush(outlet *o)
{
    if (o->len && !o->is_refused) {
        XXH3_128bits_update(&o->sum, o->chunk, o->len);
        o->is_refused = o->sink->write(o->sink->cookie, o->chunk, o->len) != 0;
    }
    o->len = 0;
}

/* Room for so many bytes, at most a chunk. */
static uint8_t *room(outlet *o, size_t len)
{
    if (len > sizeof o->chunk - o->len)
        flush(o);
    o->len += len;
    return o->chunk + o->len - len;
}

static void put_bytes(outlet *o, XXH3_state_t *head, const void *ptr, size_t len)
{
    if (len)
        XXH3_64bits_update(head, ptr, len);
    for (const uint8_t *at = ptr; len;) {
        size_t part = len < sizeof o->chunk ? len : sizeof o->chunk;
        memcpy(room(o, part), at, part);
        at += part;
        len -= part;
    }
}

/* How many of the committed entries the last window did not have. */
static size_t count_unseen(const pd_ledger *ledger)
{
    size_t unseen = 0;
    for (size_t i = 0; i < ledger->committed; i++)
        unseen += !pd_ledger_is_living(ledger, i);
    return unseen;
}

/* The bytes of the build id and of all names. */
static uint64_t names_len(const pd_state *state)
{
    uint64_t len = state->last->build_id.len;
    for (size_t i = 0; i < state->schema->len; i++)
        len += (uint64_t)state->schema->names[i].type_len + state->schema->names[i].unit_len;
    return len;
}

static void put_head(outlet *o, const pd_state *state, size_t head_len, size_t names)
{
    static const uint8_t zeros[8];
    const pd_schema *schema = state->schema;
    const uint8_t *text = schema->text.ptr;
    uint8_t head[PD_STATE_FIXED + 8 * PPROFDELTA_MAX_TYPES] = {0}, sum[PD_STATE_HEAD_SUM];
    size_t lengths = PD_STATE_FIXED;
    memcpy(head, PD_STATE_MAGIC, PD_STATE_MAGIC_LEN);
    pd_put32(head + PD_STATE_AT_FORMAT, PD_STATE_FORMAT);
    pd_put32(head + PD_STATE_AT_HEAD, (uint32_t)head_len);
    pd_put32(head + PD_STATE_AT_HAS_BASE, state->has_base);
    if (state->has_base) {
        pd_put64(head + PD_STATE_AT_SEQUENCE, state->sequence);
        pd_put64(head + PD_STATE_AT_FROM, (uint64_t)state->last->from_nanos);
        pd_put64(head + PD_STATE_AT_TIME, (uint64_t)state->last->time_nanos);
        pd_put64(head + PD_STATE_AT_ENTRIES, state->ledger->committed);
        pd_put64(head + PD_STATE_AT_UNSEEN, count_unseen(state->ledger));
        pd_put32(head + PD_STATE_AT_RESTART, (uint32_t)state->last->restart);
        pd_put32(head + PD_STATE_AT_TYPES, (uint32_t)schema->len);
        pd_put32(head + PD_STATE_AT_COUNTERS, (uint32_t)schema->counters);
        pd_put32(head + PD_STATE_AT_BUILD_ID, (uint32_t)state->last->build_id.len);
        pd_put32(head + PD_STATE_AT_RATE, state->last->rate);
        for (size_t i = 0; i < schema->len; i++, lengths += 8) {
            pd_put32(head + lengths, (uint32_t)schema->names[i].type_len);
            pd_put32(head + lengths + 4, (uint32_t)schema->names[i].unit_len);
        }
    }
    XXH3_state_t summed;
    XXH3_64bits_reset(&summed);
    put_bytes(o, &summed, head, lengths);
    if (state->has_base) {
        put_bytes(o, &summed, state->last->build_id.ptr, state->last->build_id.len);
        for (size_t i = 0; i < schema->len; i++) {
            put_bytes(o, &summed, text + schema->names[i].type, schema->names[i].type_len);
            put_bytes(o, &summed, text + schema->names[i].unit, schema->names[i].unit_len);
        }
    }
    put_bytes(o, &summed, zeros, head_len - PD_STATE_HEAD_SUM - lengths - names);
    pd_put64(sum, XXH3_64bits_digest(&summed));
    put_bytes(o, &summed, sum, sizeof sum);
}

static void put_entries(outlet *o, const pd_ledger *ledger)
{
    for (size_t i = 0; i < ledger->committed; i++) {
        uint8_t *at = room(o, pd_state_entry_len(ledger->counters));
        const int64_t *base = pd_ledger_base(ledger, i);
        pd_put64(at, ledger->keys.keys[i].lo);
        pd_put64(at + 8, ledger->keys.keys[i].hi);
        for (size_t n = 0; n < ledger->counters; n++)
            pd_put64(at + 16 + 8 * n, (uint64_t)base[n]);
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

static void put_check(outlet *o)
{
    flush(o);
    XXH128_hash_t sum = XXH3_128bits_digest(&o->sum);
    uint8_t *at = room(o, PD_STATE_CHECK);
    pd_put64(at, sum.low64);
    pd_put64(at + 8, sum.high64);
    flush(o);
}

pprofdelta_status pd_state_write(const pd_state *state, const pprofdelta_sink *sink,
                                 pprofdelta_error *err)
{
    uint64_t names = state->has_base ? names_len(state) : 0;
    uint64_t types = state->has_base ? state->schema->len : 0;
    uint64_t head = (PD_STATE_FIXED + 8 * types + names + 7) / 8 * 8 + PD_STATE_HEAD_SUM;
    if (head > PD_STATE_HEAD_MAX)
        return pd_fail(err, PPROFDELTA_E_LIMIT, "state", "sample_type", PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE,
                       "the names of the value types and the build id are too long to remember");
    outlet o = {.sink = sink};
    XXH3_128bits_reset(&o.sum);
    put_head(&o, state, (size_t)head, (size_t)names);
    if (state->has_base) {
        put_entries(&o, state->ledger);
        put_unseen(&o, state->ledger);
    }
    put_check(&o);
    if (o.is_refused)
        return pd_fail(err, PPROFDELTA_E_SINK, "state", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "the sink refused the state");
    return PPROFDELTA_OK;
}
