#include "text/records.h"

#include <string.h>

/* "400: 40000000 [4000: 400000000]": in use, then allocated. */
static bool read_counts(pd_lines *lines, int64_t values[PD_TEXT_VALUES])
{
    return pd_lines_decimal(lines, &values[PD_TEXT_INUSE_OBJECTS]) && pd_lines_take(lines, ":") &&
           pd_lines_decimal(lines, &values[PD_TEXT_INUSE_SPACE]) && pd_lines_take(lines, "[") &&
           pd_lines_decimal(lines, &values[PD_TEXT_ALLOC_OBJECTS]) && pd_lines_take(lines, ":") &&
           pd_lines_decimal(lines, &values[PD_TEXT_ALLOC_SPACE]) && pd_lines_take(lines, "]");
}

static bool read_rate(pd_lines *lines, uint32_t *rate)
{
    int64_t value;
    if (!pd_lines_decimal(lines, &value) || value < 1 || value > UINT32_MAX)
        return false;
    *rate = (uint32_t)value;
    return pd_lines_is_done(lines);
}

/* The kind at the end of the header: "heapprofile" without sampling, "heap_v2/RATE" with it. Go's
 * text form ("heap/1048576") is not read: Go's binary form is available and has more in it. */
static bool read_kind(pd_records *records)
{
    pd_lines *lines = &records->lines;
    if (pd_lines_take(lines, "heapprofile"))
        return pd_lines_is_done(lines);
    records->repeats_inuse = true;
    return (pd_lines_take(lines, "heap_v2/") || pd_lines_take(lines, "heapz_v2/")) &&
           read_rate(lines, &records->rate);
}

bool pd_records_begin(pd_records *records, pd_bytes text)
{
    int64_t totals[PD_TEXT_VALUES];
    *records = (pd_records){.lines = pd_lines_of(text), .rate = 1};
    pd_lines *lines = &records->lines;
    if (!pd_lines_next(lines))
        return false;
    if (pd_lines_take(lines, "heap_v2/")) {
        records->is_jemalloc = true;
        return read_rate(lines, &records->rate);
    }
    return pd_lines_take(lines, "heap profile:") && read_counts(lines, totals) &&
           pd_lines_take(lines, "@") && read_kind(records);
}

/* Whether the current line has no values: empty, a comment, or the line before the maps. */
static bool is_aside(pd_records *records)
{
    pd_lines *lines = &records->lines;
    if (pd_lines_is_done(lines))
        return true;
    records->has_maps = pd_lines_take(lines, "MAPPED_LIBRARIES:");
    return records->has_maps || lines->rest.ptr[0] == '#';
}

/* Fails at the current line. The reason may be that the text ends in it. */
static pprofdelta_status fail_here(const pd_lines *lines, const char *what, pprofdelta_error *err)
{
    if (!pd_lines_is_ended(lines))
        what = "ends in the middle: the dump is cut off";
    return pd_lines_fail(lines, what, err);
}

/* The end of the text: an error before the maps. */
static pprofdelta_status end_of_records(const pd_records *records, pprofdelta_error *err)
{
    if (records->has_maps)
        return PPROFDELTA_OK;
    return pd_lines_fail(&records->lines,
                         "the dump is cut off after this line: MAPPED_LIBRARIES: is missing", err);
}

static pprofdelta_status next_gperftools(pd_records *records, pd_record *record, bool *has_one,
                                         pprofdelta_error *err)
{
    pd_lines *lines = &records->lines;
    while (!records->has_maps && pd_lines_next(lines)) {
        if (is_aside(records))
            continue;
        if (pd_lines_take(lines, "--- Memory map: ---"))
            return pd_lines_fail(lines,
                                 "begins a memory map in an old form, which is not read: pprof "
                                 "-proto converts such a dump",
                                 err);
        if (!read_counts(lines, record->values) || !pd_lines_take(lines, "@"))
            return fail_here(lines, "is not a record of a heap profile", err);
        record->stack = lines->rest;
        record->line = lines->number;
        record->off = lines->start;
        *has_one = true;
        return PPROFDELTA_OK;
    }
    return end_of_records(records, err);
}

/* "t*: counts", or "t7: counts" of one thread. */
static bool read_thread(pd_lines *lines, int64_t values[PD_TEXT_VALUES], bool *is_sum)
{
    int64_t thread;
    if (!pd_lines_take(lines, "t"))
        return false;
    *is_sum = pd_lines_take(lines, "*");
    return (*is_sum || pd_lines_decimal(lines, &thread)) && pd_lines_take(lines, ":") &&
           read_counts(lines, values);
}

/* Reads the lines of one block: the counts of t*, or without it the sums of the threads. *has_any:
 * there is at least one line. */
static pprofdelta_status read_threads(pd_records *records, int64_t values[PD_TEXT_VALUES],
                                      bool *has_any, pprofdelta_error *err)
{
    pd_lines *lines = &records->lines;
    bool has_sum = false;
    *has_any = false;
    memset(values, 0, PD_TEXT_VALUES * sizeof *values);
    while (!records->is_ahead && !records->has_maps && pd_lines_next(lines)) {
        int64_t counts[PD_TEXT_VALUES];
        bool is_sum;
        if (is_aside(records))
            continue;
        records->is_ahead = pd_lines_take(lines, "@");
        if (records->is_ahead)
            break;
        if (!read_thread(lines, counts, &is_sum))
            return fail_here(lines, "is neither a stack nor the counts of one", err);
        *has_any = true;
        if (is_sum)
            memcpy(values, counts, sizeof counts);
        bool fits = true;
        for (size_t i = 0; i < PD_TEXT_VALUES && !has_sum && !is_sum; i++)
            fits &= !__builtin_add_overflow(values[i], counts[i], &values[i]);
        if (!fits)
            return pd_lines_fail(lines, "the counts of the threads do not fit in 64 bits", err);
        has_sum |= is_sum;
    }
    return records->is_ahead ? PPROFDELTA_OK : end_of_records(records, err);
}

static pprofdelta_status next_jemalloc(pd_records *records, pd_record *record, bool *has_one,
                                       pprofdelta_error *err)
{
    int64_t totals[PD_TEXT_VALUES];
    bool has_any;
    if (!records->is_ahead && !records->has_maps) /* the totals after the header */
        PD_TRY(read_threads(records, totals, &has_any, err));
    if (!records->is_ahead)
        return PPROFDELTA_OK;
    const pd_lines stack = records->lines;
    record->stack = stack.rest;
    record->line = stack.number;
    record->off = stack.start;
    records->is_ahead = false;
    *has_one = true;
    PD_TRY(read_threads(records, record->values, &has_any, err));
    return has_any ? PPROFDELTA_OK : pd_lines_fail(&stack, "is a stack without counts", err);
}

pprofdelta_status pd_records_next(pd_records *records, pd_record *record, bool *has_one,
                                  pprofdelta_error *err)
{
    *has_one = false;
    return records->is_jemalloc ? next_jemalloc(records, record, has_one, err)
                                : next_gperftools(records, record, has_one, err);
}
