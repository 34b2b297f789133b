/* Bytes as the life of a process and a program of calls on the recorder that watches it. Whatever
 * is called, in which order, and whatever fails on the way:
 *
 *   - a window that is written is the delta that the oracle makes of the same records as cumulative
 *     profiles, row by row, and so is its report; written again it is the same, without allocation
 *   - written again as OTLP it means the same (otlp_model.h)
 *   - unsampled windows of a record add up to its scaled total, rounded; each gauge is rounded
 *   - what was refused by the sink, had no memory or was abandoned leaves nothing behind: the next
 *     window has it, too
 *   - where values are beyond sense (or the clock was set back) a window is a valid profile still
 *     and keeps the law of conservation, or is refused because a value does not fit in 64 bits
 *   - every failure fills in the error struct, no success touches it, and everything is given
 *     back */
#include "record/recorder.h"

#include "fuzz.h"

#include "accounts.h"
#include "process.h"
#include "run.h"
#include "same_meaning.h"
#include "serial.h"

enum { MOST_WINDOWS = 10 };

typedef struct trial {
    process p;
    tracker memory;
    pprofdelta_recorder *recorder;
    pprofdelta_options read; /* by the oracle */
    oracle oracle;
    accounts accounts;
    uint64_t sequence, handed_out; /* of the last window that was remembered, and of this one */
    unsigned windows;
    /* The window under way. */
    arena arena;
    uint64_t sums[PPROFDELTA_MAX_TYPES]; /* of the records that were fed */
    uint64_t fed;
    pprofdelta_record stacks[PROCESS_MOST_ROWS]; /* whose stacks are borrowed */
    size_t stacks_len;
    buf output; /* of its last write */
    reading out;
    bool is_written, is_handed_out;
    bool is_restarted;           /* was told, and nothing has been handed out since */
    bool has_unloaded;           /* sites were named anew since the last window began */
    const expectation *expected; /* NULL: it was refused, or the oracle cannot tell any more */
} trial;

/* ---- calls ----------------------------------------------------------------------------------- */

/* The promise of every call: whether it went well or not, and who was told. */
static void require_told(const trial *t, pprofdelta_status status, const pprofdelta_error *err)
{
    require(status != PPROFDELTA_E_VERIFY);
    require(status != PPROFDELTA_E_MEMORY || t->memory.refused);
    bool may_be_large = t->p.is_wild || process_is_scaled(&t->p);
    require(status != PPROFDELTA_E_LIMIT || t->p.is_limited || may_be_large);
    fuzz_require_told(err, status);
}

/* Lets the allocation that the program names fail, if it wants that. */
static void arm(trial *t, bool wants)
{
    t->memory.refused = t->memory.fail_at = 0;
    if (!wants)
        return;
    unsigned which = program_byte(&t->p.in);
    t->memory.fail_at = t->memory.calls + 1 + which / 2;
    t->memory.is_alone = which & 1;
}

static bool make_recorder(trial *t)
{
    pprofdelta_allocator allocator = tracker_allocator(&t->memory);
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_status status =
        pprofdelta_recorder_new(&t->p.r.options, &allocator, &t->recorder, &err);
    require_told(t, status, &err);
    require(status == PPROFDELTA_OK || status == PPROFDELTA_E_MEMORY ||
            status == PPROFDELTA_E_LIMIT);
    require(!t->recorder == (status != PPROFDELTA_OK));
    return t->recorder;
}

static void make_oracle(trial *t)
{
    t->read = (pprofdelta_options)PPROFDELTA_OPTIONS_INIT;
    t->read.flags = t->p.r.options.flags & PPROFDELTA_NO_STAMP;
    t->read.on_reset = t->p.r.options.on_reset;
    t->read.first = t->p.r.options.first;
    t->read.counters = t->p.r.counters;
    t->read.counters_len = t->p.r.counters_len;
    t->read.gauges = t->p.r.gauges;
    t->read.gauges_len = t->p.r.gauges_len;
    oracle_init(&t->oracle, &t->read);
}

/* ---- a window -------------------------------------------------------------------------------- */

/* Nobody may look at these any more. */
static void forget_stacks(trial *t)
{
    for (size_t i = 0; i < t->stacks_len; i++)
        memset((void *)(uintptr_t)t->stacks[i].stack, 0xee,
               t->stacks[i].depth * sizeof *t->stacks[i].stack);
    t->stacks_len = 0;
}

static pprofdelta_status feed(trial *t, pprofdelta_error *err)
{
    t->p.look.has_unloaded = t->has_unloaded;
    pprofdelta_status status = pprofdelta_recorder_begin(t->recorder, &t->p.look, err);
    t->has_unloaded &= status != PPROFDELTA_OK;
    t->is_restarted |= status != PPROFDELTA_E_USAGE && t->p.look.restarted;
    memset(t->sums, 0, sizeof t->sums);
    t->fed = 0;
    for (size_t i = 0; i < t->p.r.rows_len && !status; i++) {
        if (t->p.r.rows[i].is_gone)
            continue;
        pprofdelta_record record = records_record(&t->p.r, i);
        status = pprofdelta_recorder_add(t->recorder, &record, err);
        t->stacks[t->stacks_len++] = record;
        if (!(t->p.r.options.flags & PPROFDELTA_BORROW_STACKS))
            forget_stacks(t);
        for (size_t n = 0; n < t->p.r.types_len; n++)
            t->sums[n] += (uint64_t)record.values[n];
        t->fed++;
    }
    require_told(t, status, err);
    return status;
}

static pprofdelta_status write_once(trial *t, bool refuses, pprofdelta_report *report)
{
    collector c = {.bytes = buf_begin(&t->arena), .fail_at = refuses};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_status status = pprofdelta_recorder_write(t->recorder, &sink, report, &err);
    require_told(t, status, &err);
    require((status == PPROFDELTA_E_SINK) == (refuses && c.calls));
    require(status || c.calls || t->recorder->door.encoder.format == PPROFDELTA_OTLP);
    t->is_written = !status;
    t->is_handed_out |= c.calls != 0;
    t->output = c.bytes;
    return status;
}

/* What the oracle says of these records. It takes a restart that is certain for one in every mode
 * but CLAMP, which for it means that nobody may say so. */
static status_set ask(trial *t)
{
    model m;
    const serial_style style = {0};
    bool is_certain = t->is_restarted && t->p.r.options.on_reset == PPROFDELTA_ON_RESET_CLAMP;
    records_model(&t->p.r, &t->arena, &m);
    buf profile = serial_write(&t->arena, &m, &style);
    t->read.on_reset = is_certain ? PPROFDELTA_ON_RESET_AUTO : t->p.r.options.on_reset;
    oracle_set_started(&t->oracle, t->is_restarted ? INT64_MAX : 0);
    return oracle_window(&t->oracle, profile.ptr, profile.len, &t->expected);
}

/* What holds of every window. */
static void require_lawful(trial *t, const pprofdelta_report *report)
{
    require(reading_make(&t->arena, t->output.ptr, t->output.len, &t->out) == PPROFDELTA_OK);
    require(t->out.records == t->out.samples_len && report->samples_out == t->out.records);
    require(report->output_len == t->output.len && report->samples_in == t->fed);
    require(report->sequence > t->sequence && report->types_len == t->p.r.types_len);
    for (size_t i = 0; i < t->p.r.types_len; i++) {
        const pprofdelta_type_report *type = &report->types[i];
        uint64_t delta = 0;
        for (size_t n = 0; n < t->out.samples_len; n++)
            delta += (uint64_t)t->out.samples[n].values[i];
        require(type->cur.lo == t->sums[i] && !type->is_counter == !t->p.r.types[i].is_counter);
        require(process_is_scaled(&t->p) || type->delta.lo == delta);
        require(!type->is_counter || type->prev.lo + type->delta.lo ==
                                         type->cur.lo + type->clamped.lo + type->vanished.lo);
    }
}

/* The text of a stack (see reading.c) where places that have lines have no address. */
static const char *without_addresses(arena *a, const char *stack)
{
    static const char between[] = " in none is ";
    buf b = buf_begin(a);
    while (*stack) {
        const char *lines = strstr(stack, between), *end = strchr(stack, '\n');
        require(lines && end && lines < end);
        lines += strlen(between);
        if (lines < end)
            buf_format(&b, "%.*s%s%.*s\n", (int)(end - lines), lines, between, (int)(end - lines),
                       lines);
        else
            buf_add(&b, stack, (size_t)(end + 1 - stack));
        stack = end + 1;
    }
    return buf_string(&b);
}

/* The oracle knew all places by their addresses. */
static expectation expected_output(trial *t)
{
    expectation x = *t->expected;
    expected_row *rows = ARENA_ARRAY(&t->arena, expected_row, x.rows_len);
    for (size_t i = 0; i < x.rows_len; i++) {
        rows[i] = x.rows[i];
        rows[i].stack = without_addresses(&t->arena, x.rows[i].stack);
    }
    x.rows = rows;
    return x;
}

/* ... and what only the oracle knows. */
static void require_expected(trial *t, pprofdelta_report report)
{
    const pprofdelta_report *want = &t->expected->report;
    expectation output = expected_output(t);
    report.samples_in = want->samples_in; /* where records of zeros are none */
    report.by_address = want->by_address;
    report.by_lines = want->by_lines;
    report.may_be_two_kinds = want->may_be_two_kinds; /* a recorder has one kind */
    if (process_is_scaled(&t->p))
        report.samples_out = want->samples_out;
    else
        fuzz_agree(compare_output(&t->arena, &output, t->output.ptr, t->output.len));
    fuzz_agree(compare_report(&t->arena, t->expected, &report));
}

static void write_again(trial *t, bool refuses)
{
    buf first = t->output;
    size_t calls = t->memory.calls;
    if (write_once(t, refuses, NULL) == PPROFDELTA_OK)
        require(buf_equal(first, t->output));
    require(t->memory.calls == calls);
}

/* The same window as OTLP. An allocation may fail in it, too. */
static void write_as_otlp(trial *t)
{
    buf pprof = t->output;
    pprofdelta_recorder *r = t->recorder;
    if (!meaning_is_compared(pprof.len))
        return;
    r->door.encoder.format = PPROFDELTA_OTLP;
    pprofdelta_status status = write_once(t, false, NULL);
    if (status == PPROFDELTA_E_MEMORY) {
        t->memory.fail_at = 0;
        status = write_once(t, false, NULL);
    }
    require(status == PPROFDELTA_OK || status == PPROFDELTA_E_LIMIT);
    if (!status)
        require_same_meaning(pprof, t->output);
    r->door.encoder.format = PPROFDELTA_PPROF;
    r->steps.is_empty = false; /* the receiver has the profile */
    if (status)
        require(write_once(t, false, NULL) == PPROFDELTA_OK);
}

enum { WRITE_REFUSED_FIRST = 1, WRITE_AGAIN = 2, WRITE_REFUSED_AGAIN = 4, COMMIT = 8 };

/* All records are in the window. True if it was written, the last time that it was. */
static void write_window(trial *t, unsigned how, pprofdelta_report *report)
{
    pprofdelta_status status = PPROFDELTA_E_SINK;
    if (how & WRITE_REFUSED_FIRST)
        status = write_once(t, true, NULL);
    if (status == PPROFDELTA_E_SINK)
        status = write_once(t, false, report);
    if (status == PPROFDELTA_E_MEMORY) { /* and now there is some */
        t->memory.fail_at = 0;
        status = write_once(t, false, report);
    }
    require(status == PPROFDELTA_OK || status == PPROFDELTA_E_RESET ||
            status == PPROFDELTA_E_LIMIT);
    if (status != PPROFDELTA_E_LIMIT && !t->p.is_wild)
        require(ask(t) == STATUS(status));
    if (status)
        return;
    require_lawful(t, report);
    t->handed_out = report->sequence;
    if (t->expected)
        require_expected(t, *report);
    if (how & WRITE_AGAIN)
        write_again(t, how & WRITE_REFUSED_AGAIN);
    if (t->is_written)
        write_as_otlp(t);
}

static void end_window(trial *t, unsigned how)
{
    bool is_remembered = t->is_written && how & COMMIT;
    if (t->expected && t->p.is_sampled) {
        expectation output = expected_output(t);
        accounts_settle(&t->accounts, &t->p, &t->arena, &output, &t->out, is_remembered);
    }
    if (how & COMMIT)
        require(pprofdelta_recorder_commit(t->recorder) ==
                (is_remembered ? PPROFDELTA_OK : PPROFDELTA_E_USAGE));
    pprofdelta_recorder_abandon(t->recorder); /* does nothing after a commit */
    if (t->expected && is_remembered)
        oracle_commit(&t->oracle);
    else
        oracle_abandon(&t->oracle);
    if (is_remembered)
        t->sequence = t->handed_out;
    t->is_restarted &= !t->is_handed_out;
    t->p.is_wild |= t->is_handed_out && !t->expected; /* of what is open the oracle knows nothing */
    forget_stacks(t);
}

static void window(trial *t)
{
    unsigned how = program_byte(&t->p.in), look = program_byte(&t->p.in);
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_report report = {.size = sizeof report};
    arena_free(&t->arena);
    t->expected = NULL;
    t->is_written = t->is_handed_out = false;
    t->p.r.time_nanos += 1 + (int64_t)(program_number(&t->p.in) & 0xffffffff);
    bool is_good = process_read_look(&t->p, look);
    arm(t, how & 32);
    pprofdelta_status status = feed(t, &err);
    require((status == PPROFDELTA_E_USAGE) == !is_good);
    if (!status)
        write_window(t, how, &report);
    else /* a record is missing, or there is no window at all */
        require(write_once(t, false, NULL) == (t->fed ? status : PPROFDELTA_E_USAGE));
    t->memory.fail_at = 0;
    end_window(t, how);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void step(trial *t)
{
    enum { CHANGE = 3, FORGET = 7, EARLIER, WINDOW };
    size_t what = program_below(&t->p.in, 16);
    if (what < CHANGE) {
        process_add_row(&t->p);
    } else if (what < FORGET) {
        process_change(&t->p, what - CHANGE);
    } else if (what == FORGET) {
        /* To a recorder an address is a place. To the oracle a place in no file is its lines, too. */
        uint64_t hidden = program_number(&t->p.in);
        size_t renamed = program_byte(&t->p.in);
        process_name_sites(&t->p, hidden, t->windows ? t->p.renamed : renamed);
        t->has_unloaded = true;
        t->accounts.forgotten++;
    } else if (what == EARLIER) {
        t->p.is_wild = true;
        t->p.r.time_nanos /= 2;
    } else if (t->windows++ < MOST_WINDOWS) {
        window(t);
    }
}

static void run(trial *t)
{
    while (program_has_more(&t->p.in))
        step(t);
    require(t->recorder->mem.used == t->memory.live);
    pprofdelta_recorder_free(t->recorder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > PROGRAM_MOST_BYTES)
        return 0;
    trial t = {.p.in = program_of(data, size)};
    process_begin(&t.p);
    make_oracle(&t);
    arm(&t, program_byte(&t.p.in) & 1);
    if (make_recorder(&t))
        run(&t);
    require(!t.memory.live);
    oracle_free(&t.oracle);
    records_free(&t.p.r);
    arena_free(&t.arena);
    return 0;
}
