/* Bytes as profiles that are added up: a base, deltas, batches of a live heap, in order or not,
 * with stamps that fit, do not fit or are forged, among them any bytes at all. Whatever comes:
 *
 *   - the sum of those that joined is a valid and compact profile, which has of each sample what a
 *     naive reading of them adds up to: counters of all, gauges of the last; of a live heap both
 *   - as OTLP the sum means the same (otlp_model.h)
 *   - a merge refuses each of them or has it, and is a valid and compact profile
 *   - one that was refused leaves the sum as it was, and says why; a missing batch fails the sum in
 *     the end, unless a full one came
 *   - what is over is over: nothing is added any more, nothing is written twice
 *   - every failure fills in the error struct, no success touches it, and everything is given
 *     back */
#include "fuzz.h"

#include "compare.h"
#include "live.h"
#include "program.h"
#include "run.h"
#include "same_meaning.h"
#include "serial.h"

#include <inttypes.h>

enum { PLACES = 5, MOST_PROFILES = 10, MOST_SAMPLES = 6 };

typedef struct trial {
    program in;
    arena arena;
    tracker memory;
    pprofdelta_adder *adder;
    pprofdelta_options options;
    buf added[MOST_PROFILES];   /* what was not refused */
    bool counts[MOST_PROFILES]; /* by profile that was added */
    buf given[MOST_PROFILES];
    size_t added_len, given_len;
    model m; /* types and places; samples and the rest are the profile's under way */
    buf profile;
    bool is_any; /* it may be anything: nobody knows how long it is, once inflated */
    /* What the next stamp says if it fits. */
    int64_t now;
    uint64_t sequence, epoch;
    /* What the sum should be. */
    live_sums before, sums; /* without the last profile, and with it */
    bool has_any, is_live, has_gap, is_over;
    bool is_wild;          /* other types than these */
    pprofdelta_stamp last; /* of the last that counts */
} trial;

static const model_type types[LIVE_PLAIN] = {{"alloc_objects", "count"}, {"alloc_space", "bytes"},
                                             {"inuse_objects", "count"}, {"inuse_space", "bytes"},
                                             {"peak_objects", "count"},  {"peak_space", "bytes"}};

/* ---- profiles -------------------------------------------------------------------------------- */

static void make_model(trial *t)
{
    t->m = model_empty;
    t->m.period_type = (model_type){"space", "bytes"};
    t->m.types = ARENA_ARRAY(&t->arena, model_type, LIVE_PLAIN);
    memcpy(t->m.types, types, sizeof types);
    t->m.types_len = LIVE_PLAIN;
    for (size_t i = 0; i < PLACES; i++) {
        model_location *l = arena_alloc(&t->arena, sizeof *l);
        l->address = 0x1000 + i;
        ARENA_PUSH(&t->arena, t->m.locations, t->m.locations_len, t->m.locations_cap, l);
    }
}

static model_sample *read_sample(trial *t)
{
    model_sample *s = arena_alloc(&t->arena, sizeof *s);
    unsigned shape = program_byte(&t->in);
    s->depth = shape % 4;
    s->stack = ARENA_ARRAY(&t->arena, model_location *, s->depth);
    for (size_t i = 0; i < s->depth; i++)
        s->stack[i] = t->m.locations[(shape / 4 + i) % PLACES];
    s->labels_len = shape >> 7;
    s->labels = ARENA_ARRAY(&t->arena, model_label, 1);
    s->labels[0] = (model_label){"thread", "a", 0, ""};
    s->values = ARENA_ARRAY(&t->arena, int64_t, LIVE_PLAIN);
    for (size_t i = 0; i < LIVE_PLAIN; i++)
        s->values[i] = (int64_t)program_number(&t->in);
    return s;
}

/* How a stamp differs from the one that would fit: small steps, or anything. */
static uint64_t bent(trial *t, unsigned how, uint64_t fits)
{
    return how == 0 ? fits : how == 1 ? fits - 1 : how == 2 ? fits + 1 : program_number(&t->in);
}

static const char *read_stamp(trial *t, int64_t from, int64_t to)
{
    static const char *const kinds[] = {"delta", "full", "window", "delta"};
    static const char *const restarts[] = {"", "", "", " restart=mass"};
    unsigned how = program_byte(&t->in), bend = program_byte(&t->in);
    uint64_t sequence = bent(t, bend & 3, t->sequence + 1);
    uint64_t epoch = bent(t, bend >> 2 & 3, t->epoch + ((how >> 2 & 3) == 1));
    from = (int64_t)bent(t, bend >> 4 & 3, (uint64_t)from);
    to = (int64_t)bent(t, bend >> 6, (uint64_t)to);
    t->sequence = sequence;
    unsigned attempts = how >> 4 & 3;
    const char *attempt = attempts ? arena_format(&t->arena, " attempt=%u", attempts) : "";
    if (how & 1) {
        t->epoch = epoch;
        return arena_format(&t->arena,
                            "pprofdelta: live epoch=%" PRIu64 " seq=%" PRIu64
                            "%s kind=%s from=%" PRId64 " to=%" PRId64 " id=%016x",
                            epoch, sequence, attempt, kinds[how >> 2 & 3], from, to, how >> 7);
    }
    const char *seq = how & 2 ? arena_format(&t->arena, " seq=%" PRIu64, sequence) : "";
    return arena_format(&t->arena, "pprofdelta: delta from=%" PRId64 " to=%" PRId64 "%s%s%s", from,
                        to, seq, attempt, restarts[how >> 2 & 3]);
}

enum { HAS_STAMP = 1, IS_FORGED = 2, IS_UNTIMED = 4, IS_SHUFFLED = 8 };

static void make_profile(trial *t)
{
    unsigned how = program_byte(&t->in);
    const serial_style style = {.seed = how, .shuffle_columns = (how & IS_SHUFFLED) != 0};
    int64_t from = t->now;
    t->now += how & 16 ? 0 : 1 + (int64_t)(program_number(&t->in) & 0xffffffff);
    t->m.time_nanos = how & IS_UNTIMED ? 0 : t->now;
    t->m.duration_nanos = t->now - from;
    t->m.comments_len = t->m.samples_len = 0;
    if (how & HAS_STAMP) {
        char *stamp = arena_text(&t->arena, read_stamp(t, from, t->now));
        if (how & IS_FORGED)
            stamp[program_byte(&t->in) % strlen(stamp)] = (char)(1 + program_byte(&t->in) % 127);
        ARENA_PUSH(&t->arena, t->m.comments, t->m.comments_len, t->m.comments_cap, stamp);
    }
    for (size_t n = program_below(&t->in, MOST_SAMPLES); n; n--)
        ARENA_PUSH(&t->arena, t->m.samples, t->m.samples_len, t->m.samples_cap, read_sample(t));
    t->profile = serial_write(&t->arena, &t->m, &style);
    t->is_any = false;
}

static void take_bytes(trial *t)
{
    t->profile = buf_begin(&t->arena);
    size_t left = (size_t)(t->in.end - t->in.at), len = (size_t)program_byte(&t->in) * 4;
    left -= left > 0;
    buf_add(&t->profile, t->in.at, len < left ? len : left);
    t->in.at += len < left ? len : left;
    t->is_any = true;
}

/* ---- the naive sum --------------------------------------------------------------------------- */

static live_sums copy(trial *t, const live_sums *of, bool has_gauges)
{
    live_sums out = {.arena = &t->arena};
    for (size_t i = 0; i < of->len; i++) {
        const int64_t *v = of->rows[i].values;
        int64_t values[LIVE_TYPES] = {v[0], v[1]};
        for (int j = 2; j < LIVE_PLAIN && has_gauges; j++)
            values[j] = v[j];
        live_add(&out, of->rows[i].key, values);
    }
    return out;
}

/* In the order of the types above. False: it has others. */
static bool read_sums(trial *t, buf profile, reading *r, live_sums *out)
{
    size_t columns[LIVE_PLAIN];
    *out = (live_sums){.arena = &t->arena};
    require(reading_make(&t->arena, profile.ptr, profile.len, r) == PPROFDELTA_OK);
    if (r->view->n_sample_type != LIVE_PLAIN)
        return false;
    for (size_t i = 0; i < LIVE_PLAIN; i++) {
        size_t at = 0;
        while (at < LIVE_PLAIN &&
               (strcmp(reading_string(r, r->view->sample_type[at]->type), types[i].type) != 0 ||
                strcmp(reading_string(r, r->view->sample_type[at]->unit), types[i].unit) != 0))
            at++;
        if (at == LIVE_PLAIN)
            return false;
        columns[i] = at;
    }
    for (size_t n = 0; n < r->samples_len; n++) {
        int64_t values[LIVE_TYPES] = {0};
        for (size_t i = 0; i < LIVE_PLAIN; i++)
            values[i] = r->samples[n].values[columns[i]];
        live_add(out, r->samples[n].key, values);
    }
    return true;
}

/* What a way of joining says of the two stamps. */
static void require_join(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                         pprofdelta_join join)
{
    bool is_of_one_kind =
        !next->live == !last->live; /* else their numbers have nothing in common */
    bool is_same =
        is_of_one_kind && next->sequence == last->sequence && next->from_nanos == last->from_nanos;
    if (join == PPROFDELTA_JOIN_NEXT)
        require(next->from_nanos == last->to_nanos && (!is_same || !next->sequence));
    bool has_same_attempt = next->attempt == last->attempt;
    bool is_later =
        has_same_attempt ? next->to_nanos > last->to_nanos : next->attempt > last->attempt;
    bool is_equal =
        has_same_attempt && !is_later && (next->attempt || next->to_nanos == last->to_nanos);
    if (join == PPROFDELTA_JOIN_AGAIN)
        require(is_same && is_later);
    if (join == PPROFDELTA_JOIN_STALE)
        require(is_same && !is_later && !is_equal);
    if (join == PPROFDELTA_JOIN_EQUAL)
        require(is_same && is_equal);
    if (join == PPROFDELTA_JOIN_RESTART)
        require(next->restart);
    if (join == PPROFDELTA_JOIN_RESYNC)
        require(next->live == PPROFDELTA_LIVE_FULL);
    if (join == PPROFDELTA_JOIN_GAP)
        require(next->live && last->live);
}

/* Of profiles that no sequence tells apart, force adds equal ones once. */
static bool is_there_already(const trial *t, const pprofdelta_census *census)
{
    bool is_there = false;
    for (size_t i = 0; i + 1 < t->added_len; i++)
        is_there |= t->counts[i] && buf_equal(t->added[i], t->profile);
    return is_there && t->options.flags & PPROFDELTA_FORCE &&
           !(census->stamp.id && census->stamp.sequence);
}

/* The profile joined, in this way. */
static void joined(trial *t, pprofdelta_join join)
{
    reading r;
    live_sums own;
    pprofdelta_census census;
    require(!fuzz_census(t->profile.ptr, t->profile.len, &census, NULL));
    bool is_first = join == PPROFDELTA_JOIN_FIRST, is_live = census.stamp.live;
    require(is_first == !t->has_any);
    if (is_there_already(t, &census))
        require(join == PPROFDELTA_JOIN_EQUAL);
    else
        require_join(&t->last, &census.stamp, join);
    t->has_any = true;
    t->has_gap |= join == PPROFDELTA_JOIN_GAP;
    if (join == PPROFDELTA_JOIN_GAP || join == PPROFDELTA_JOIN_STALE ||
        join == PPROFDELTA_JOIN_EQUAL)
        return;
    t->counts[t->added_len - 1] = true;
    t->last = census.stamp;
    t->is_wild |= !read_sums(t, t->profile, &r, &own);
    if (is_first)
        t->is_live = is_live;
    if (is_first || join == PPROFDELTA_JOIN_RESYNC)
        t->before = (live_sums){.arena = &t->arena};
    else if (join != PPROFDELTA_JOIN_AGAIN)
        t->before = t->sums;
    t->has_gap &= join != PPROFDELTA_JOIN_RESYNC;
    bool replaces = !t->is_live || !is_live || census.stamp.live == PPROFDELTA_LIVE_WINDOW;
    t->sums = copy(t, &t->before, !replaces);
    for (size_t i = 0; i < own.len; i++)
        live_add(&t->sums, own.rows[i].key, own.rows[i].values);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void require_told(const trial *t, pprofdelta_status status, const pprofdelta_error *err)
{
    require(status != PPROFDELTA_E_MEMORY || t->memory.refused);
    if (status)
        fuzz_require_filled(err, status, t->profile.len,
                            t->is_any ? FUZZ_MAX_MEMORY : t->profile.len);
    else
        fuzz_require_untouched(err);
}

static void add(trial *t)
{
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_join join = PPROFDELTA_JOIN_FIRST;
    size_t refused = t->memory.refused;
    pprofdelta_status status =
        pprofdelta_adder_add(t->adder, t->profile.ptr, t->profile.len, &join, &err);
    require_told(t, status, &err);
    require(t->memory.refused == refused || status == PPROFDELTA_E_MEMORY);
    t->given[t->given_len++] = t->profile;
    require((status == PPROFDELTA_E_USAGE) == t->is_over);
    t->is_over |= status == PPROFDELTA_E_MEMORY || status == PPROFDELTA_E_LIMIT;
    require(join != PPROFDELTA_JOIN_FORCED || t->options.flags & PPROFDELTA_FORCE);
    if (status)
        return;
    t->added[t->added_len++] = t->profile;
    joined(t, join);
}

/* The sum is the naive one, and a profile that goes in again. */
static void require_sum(trial *t, buf out)
{
    reading r;
    live_sums got;
    pprofdelta_census census;
    bool has_types = read_sums(t, out, &r, &got);
    require(!fuzz_census(out.ptr, out.len, &census, NULL));
    require(r.records == r.samples_len && !compare_compact(&t->arena, &r));
    require(!census.is_stamped || !(t->options.flags & PPROFDELTA_NO_STAMP));
    require(t->is_wild || has_types);
    if (!t->is_wild)
        fuzz_agree(live_differ(&got, &t->sums));
}

/* Adds up the same profiles in another adder. */
static void require_otlp(trial *t, buf pprof)
{
    pprofdelta_options options = t->options;
    pprofdelta_adder *adder;
    collector c = {.bytes = buf_begin(&t->arena)};
    if (!meaning_is_compared(pprof.len))
        return;
    options.format = PPROFDELTA_OTLP;
    require(!pprofdelta_adder_new(&options, NULL, &adder, NULL));
    for (size_t i = 0; i < t->added_len; i++)
        require(!pprofdelta_adder_add(adder, t->added[i].ptr, t->added[i].len, NULL, NULL));
    pprofdelta_status status = pprofdelta_adder_finish(adder, collecting(&c), NULL);
    require(status == PPROFDELTA_OK || status == PPROFDELTA_E_LIMIT);
    if (!status)
        require_same_meaning(pprof, c.bytes);
    pprofdelta_adder_free(adder);
}

/* Merges all profiles; label is NULL or the key of the target's label. */
static void require_merge(trial *t, const char *label)
{
    pprofdelta_options options = t->options;
    pprofdelta_adder *adder;
    pprofdelta_census census;
    reading r;
    collector c = {.bytes = buf_begin(&t->arena)};
    t->is_any = true;
    options.flags |= PPROFDELTA_MERGE;
    options.target_label = label;
    require(!pprofdelta_adder_new(&options, NULL, &adder, NULL));
    uint64_t counted = 0;
    for (size_t i = 0; i < t->given_len; i++) {
        pprofdelta_error err = fuzz_unfilled();
        pprofdelta_join join = PPROFDELTA_JOIN_EQUAL;
        t->profile = t->given[i];
        pprofdelta_status status =
            pprofdelta_adder_add(adder, t->profile.ptr, t->profile.len, &join, &err);
        require_told(t, status, &err);
        require(join != PPROFDELTA_JOIN_FORCED);
        counted += !status && join <= PPROFDELTA_JOIN_RESTART;
    }
    pprofdelta_status status = pprofdelta_adder_finish(adder, collecting(&c), NULL);
    pprofdelta_adder_free(adder);
    require(!status || !c.calls);
    if (status)
        return;
    require(!fuzz_census(c.bytes.ptr, c.bytes.len, &census, NULL));
    require(options.flags & PPROFDELTA_NO_STAMP ? !census.is_stamped : census.stamp.targets > 0);
    require(census.stamp.targets <= counted);
    require(reading_make(&t->arena, c.bytes.ptr, c.bytes.len, &r) == PPROFDELTA_OK);
    require(r.records == r.samples_len && !compare_compact(&t->arena, &r));
}

static void finish(trial *t, bool refuses)
{
    collector c = {.bytes = buf_begin(&t->arena), .fail_at = refuses};
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_status status = pprofdelta_adder_finish(t->adder, collecting(&c), &err);
    require_told(t, status, &err);
    if (t->is_over || !t->has_any)
        require(status == PPROFDELTA_E_USAGE);
    else if (t->has_gap)
        require(status == PPROFDELTA_E_MISMATCH);
    else if (status != PPROFDELTA_E_MEMORY && status != PPROFDELTA_E_LIMIT)
        require(status == (refuses ? PPROFDELTA_E_SINK : PPROFDELTA_OK));
    t->is_over |= t->has_any;
    if (status)
        return;
    require_sum(t, c.bytes);
    require_otlp(t, c.bytes);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void run(trial *t)
{
    for (size_t n = 0; n < MOST_PROFILES && program_has_more(&t->in); n++) {
        unsigned what = program_byte(&t->in) % 16;
        if (what == 15)
            finish(t, program_byte(&t->in) & 1);
        else if (what == 14)
            take_bytes(t);
        else if (what > 1 || !t->profile.len) /* else the last one once more */
            make_profile(t);
        add(t);
    }
    finish(t, false);
    finish(t, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > PROGRAM_MOST_BYTES)
        return 0;
    trial t = {.in = program_of(data, size), .now = 1000, .memory.is_alone = true};
    unsigned how = program_byte(&t.in);
    t.options = (pprofdelta_options)PPROFDELTA_OPTIONS_INIT;
    t.options.max_memory = FUZZ_MAX_MEMORY;
    t.options.compression = how >= 252 ? (pprofdelta_compression)(how & 1) : PPROFDELTA_PLAIN;
    t.options.flags = how & (PPROFDELTA_NO_STAMP | PPROFDELTA_FORCE);
    t.memory.fail_at = how & 4 ? 1 + program_byte(&t.in) : 0;
    t.profile = buf_begin(&t.arena);
    make_model(&t);
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_status status =
        pprofdelta_adder_new(&t.options, tracking(&t.memory), &t.adder, &err);
    require_told(&t, status, &err);
    if (!status)
        run(&t);
    if (!status)
        require_merge(&t, how & 8 ? "target" : NULL);
    pprofdelta_adder_free(t.adder);
    require(!t.memory.live);
    arena_free(&t.arena);
    return 0;
}
