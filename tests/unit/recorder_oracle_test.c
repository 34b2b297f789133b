/* The records door held against the parsed one: the same records, once as they are, once as a
 * cumulative profile that is written naively and parsed. Whatever happens to a process, the two
 * deltas are the same profile and the two reports the same figures. */
#include "records.h"
#include "run.h"
#include "seeds.h"
#include "serial.h"

typedef struct pair {
    pprofdelta *parsed;
    pprofdelta_recorder *recorder;
    arena arena; /* of the last window */
} pair;

static void pair_begin(pair *p, records *r)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.id = 1;
    options.flags = r->options.flags & PPROFDELTA_NO_STAMP;
    options.on_reset = r->options.on_reset;
    options.first = r->options.first;
    options.counters = r->counters;
    options.counters_len = r->counters_len;
    options.gauges = r->gauges;
    options.gauges_len = r->gauges_len;
    *p = (pair){0};
    if (pprofdelta_new(&options, NULL, &p->parsed, NULL) ||
        pprofdelta_recorder_new(&r->options, NULL, &p->recorder, NULL))
        abort();
}

static void pair_end(pair *p)
{
    pprofdelta_free(p->parsed);
    pprofdelta_recorder_free(p->recorder);
    arena_free(&p->arena);
}

static bool sums_equal(const pprofdelta_type_report *a, const pprofdelta_type_report *b)
{
    const pprofdelta_sum x[] = {a->prev, a->cur, a->delta, a->clamped, a->vanished};
    const pprofdelta_sum y[] = {b->prev, b->cur, b->delta, b->clamped, b->vanished};
    for (size_t i = 0; i < 5; i++)
        if (x[i].lo != y[i].lo || x[i].hi != y[i].hi)
            return false;
    return strcmp(a->type, b->type) == 0 && strcmp(a->unit, b->unit) == 0 &&
           a->is_counter == b->is_counter;
}

static const char *compare_reports(const pprofdelta_report *a, const pprofdelta_report *b)
{
    if (a->samples_out != b->samples_out || a->matched != b->matched || a->fresh != b->fresh ||
        a->vanished != b->vanished || a->clamped != b->clamped || a->duplicates != b->duplicates)
        return "the reports count differently";
    if (a->had_base != b->had_base || a->restart != b->restart || a->from_nanos != b->from_nanos ||
        a->to_nanos != b->to_nanos || a->sequence != b->sequence || a->attempt != b->attempt ||
        a->types_len != b->types_len)
        return "the reports tell different stories";
    for (size_t i = 0; i < a->types_len; i++)
        if (!sums_equal(&a->types[i], &b->types[i]))
            return "the reports' sums differ";
    return NULL;
}

static const char *compare_outputs(pair *p, buf by_profile, buf by_record)
{
    reading a, b;
    if (reading_make(&p->arena, by_profile.ptr, by_profile.len, &a))
        return "the parsed door wrote something invalid";
    if (reading_make(&p->arena, by_record.ptr, by_record.len, &b))
        return "the recorder wrote something invalid";
    if (b.records != b.samples_len)
        return "the recorder wrote a sample twice";
    const char *x = reading_all(&a, false), *y = reading_all(&b, false);
    if (strcmp(x, y) == 0)
        return NULL;
    return arena_format(&p->arena, "by profile:\n%s\nby record:\n%s", x, y);
}

/* Both look at the process. NULL where they agree. */
static const char *pair_window(pair *p, records *r, pprofdelta_status *status)
{
    arena_free(&p->arena);
    model m;
    records_model(r, &p->arena, false, &m);
    serial_style style = {0};
    buf profile = serial_write(&p->arena, &m, &style);
    collector by_profile = {.bytes = buf_begin(&p->arena)};
    collector by_record = {.bytes = buf_begin(&p->arena)};
    pprofdelta_sink profile_sink = collector_sink(&by_profile);
    pprofdelta_sink record_sink = collector_sink(&by_record);
    pprofdelta_report report = {.size = sizeof report}, expected = {.size = sizeof expected};
    pprofdelta_error err = {0};
    *status =
        pprofdelta_window(p->parsed, profile.ptr, profile.len, &profile_sink, &expected, NULL);
    pprofdelta_status other = records_feed(r, p->recorder, NULL, &err);
    if (!other)
        other = pprofdelta_recorder_write(p->recorder, &record_sink, &report, &err);
    if (other != *status)
        return arena_format(&p->arena, "status %d, and %d: %s", *status, other, err.text);
    if (other)
        return by_record.calls ? "a refused window wrote something" : NULL;
    if (report.output_len != by_record.bytes.len)
        return "output_len is not what was written";
    const char *wrong = compare_reports(&expected, &report);
    return wrong ? wrong : compare_outputs(p, by_profile.bytes, by_record.bytes);
}

static void pair_finish(pair *p, bool commit)
{
    if (commit) {
        pprofdelta_commit(p->parsed);
        pprofdelta_recorder_commit(p->recorder);
    } else {
        pprofdelta_abandon(p->parsed);
        pprofdelta_recorder_abandon(p->recorder);
    }
}

TEST(a_recorded_delta_is_the_parsed_one)
{
    static const pprofdelta_on_reset modes[] = {PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_CLAMP,
                                                PPROFDELTA_ON_RESET_RESTART,
                                                PPROFDELTA_ON_RESET_FAIL};
    seed_range range = seeds(40);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        records r;
        records_init(&r, seed);
        r.options.on_reset = modes[rng_below(&r.rng, 4)];
        r.options.first = (pprofdelta_first)rng_below(&r.rng, 2);
        pair p;
        pair_begin(&p, &r);
        for (size_t window = 0; window < 6; window++) {
            pprofdelta_status status;
            const char *wrong = pair_window(&p, &r, &status);
            AGREE(seed, wrong);
            if (wrong)
                break;
            pair_finish(&p, !status && rng_chance(&r.rng, 75));
            records_evolve(&r, (unsigned)rng_below(&r.rng, RECORDS_ANYTHING + 1));
        }
        pair_end(&p);
        records_free(&r);
    }
}

TEST_MAIN()
