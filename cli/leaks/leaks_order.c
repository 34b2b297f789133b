/* Which files are windows of which run: see leaks_order.h. */
#include "leaks/leaks_order.h"

#include "leaks/leaks_verdict.h"

#include <stdlib.h>

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Files of one process are adjacent, the oldest first. */
static int by_id_and_time(const void *a, const void *b)
{
    const cli_leaks_file *x = a, *y = b;
    int order = compare_numbers(x->stamp.id, y->stamp.id);
    if (!order && x->stamp.id)
        order = compare_numbers(x->stamp.sequence, y->stamp.sequence);
    if (!order && x->stamp.id)
        order = compare_numbers(x->stamp.attempt, y->stamp.attempt);
    if (!order)
        order = (x->time_nanos > y->time_nanos) - (x->time_nanos < y->time_nanos);
    return order ? order : compare_numbers(x->operand, y->operand);
}

/* The process that begins first comes first. */
static int by_run(const void *a, const void *b)
{
    const cli_leaks_file *x = a, *y = b;
    int order = (x->begin_nanos > y->begin_nanos) - (x->begin_nanos < y->begin_nanos);
    return order ? order : by_id_and_time(a, b);
}

static bool is_of_one_process(const cli_leaks_file *a, const cli_leaks_file *b)
{
    return a->stamp.id == b->stamp.id;
}

static void sort_by_run(cli_leaks_file *files, size_t len)
{
    qsort(files, len, sizeof *files, by_id_and_time);
    for (size_t i = 0; i < len; i++)
        files[i].begin_nanos = i && is_of_one_process(&files[i - 1], &files[i])
                                   ? files[i - 1].begin_nanos
                                   : files[i].time_nanos;
    qsort(files, len, sizeof *files, by_run);
    for (size_t i = 0; i < len; i++)
        files[i].run = i ? files[i - 1].run + !is_of_one_process(&files[i - 1], &files[i]) : 0;
}

/* Is `next`, the file behind `file`, the same window as `file`? Then `next` counts, which has the
 * higher attempt or the later place. */
static bool is_again(const cli_leaks_file *file, const cli_leaks_file *next)
{
    if (file->run != next->run)
        return false;
    if (file->stamp.sequence && file->stamp.sequence == next->stamp.sequence &&
        file->stamp.is_delta == next->stamp.is_delta)
        return true;
    return file->time_nanos && file->time_nanos == next->time_nanos;
}

/* Changes need the full profile and all changes before them. */
static bool is_without_base(const cli_leaks_file *last, const cli_leaks_file *file)
{
    bool continues = last && last->run == file->run && last->stamp.epoch == file->stamp.epoch &&
                     last->stamp.sequence + 1 == file->stamp.first &&
                     last->stamp.to_nanos == file->stamp.from_nanos;
    return file->stamp.live == PPROFDELTA_LIVE_DELTA && !continues;
}

cli_leaks_order_report cli_leaks_order(cli_leaks_file *files, size_t len)
{
    cli_leaks_order_report report = {0};
    size_t first = SIZE_MAX; /* of the operands of the later files of the run */
    sort_by_run(files, len);
    const cli_leaks_file *last = NULL;
    for (size_t i = 0; i < len; i++) {
        cli_leaks_file *file = &files[i];
        file->role = i + 1 < len && is_again(file, &files[i + 1]) ? CLI_LEAKS_AGAIN
                     : is_without_base(last, file)                ? CLI_LEAKS_GAP
                                                                  : CLI_LEAKS_WINDOW;
        report.again += file->role == CLI_LEAKS_AGAIN;
        report.gaps += file->role == CLI_LEAKS_GAP;
        if (file->role == CLI_LEAKS_WINDOW)
            last = file;
    }
    for (size_t i = len; i-- > 0;) {
        if (i + 1 == len || files[i].run != files[i + 1].run)
            first = SIZE_MAX;
        report.moved += files[i].role != CLI_LEAKS_AGAIN && files[i].operand > first;
        first = files[i].operand < first ? files[i].operand : first;
    }
    return report;
}

/* ---- the end of the program --------------------------------------------------------------- */

static const double end_rises = 1 / 32.0; /* of what falls, at most */
static const double end_falls = 0.9;      /* of what was in use may be left */
static const double end_small = 0.25;     /* of it, for a small part */
static const double end_pace = 0.5;       /* of the allocations before, in a second */
enum { END_WINDOWS = 5, END_SHARE = 3 };

/* Of the windows that may be from the end, the one with most in use. */
static size_t find_peak(const cli_leaks_pace *windows, size_t len)
{
    size_t most = len / END_SHARE > END_WINDOWS ? len / END_SHARE : END_WINDOWS;
    size_t peak = len > most + 1 ? len - most - 1 : 0;
    for (size_t i = peak + 1; i < len; i++)
        if (windows[i].in_use >= windows[peak].in_use)
            peak = i;
    return peak;
}

/* Is little allocated behind window `from`? A program that goes on allocates as up to the peak, whatever it
 * has freed. */
static bool is_quiet_from(const cli_leaks_pace *windows, size_t peak, size_t from, size_t last)
{
    const cli_leaks_pace *first = windows, *p = &windows[peak], *f = &windows[from],
                         *end = &windows[last];
    return end->made < 0 || (end->made - f->made) * (p->seconds - first->seconds) <=
                                end_pace * (p->made - first->made) * (end->seconds - f->seconds);
}

static bool falls_only(const cli_leaks_pace *windows, size_t peak, size_t last)
{
    double risen = 0, fallen = 0;
    for (size_t i = peak; i < last; i++) {
        double change = windows[i + 1].in_use - windows[i].in_use;
        *(change > 0 ? &risen : &fallen) += change;
    }
    return risen <= end_rises * -fallen;
}

size_t cli_leaks_end_of(const cli_leaks_pace *windows, size_t len)
{
    if (len <= CLI_LEAKS_LEAST_POINTS)
        return len;
    size_t last = len - 1, peak = find_peak(windows, len);
    double left = windows[last].in_use, most = windows[peak].in_use;
    bool falls = falls_only(windows, peak, last);
    if (falls && peak + 1 < last && left <= end_small * most &&
        is_quiet_from(windows, peak, peak + 1, last))
        return peak + 1;
    if (falls && left <= end_falls * most && is_quiet_from(windows, peak, peak, last))
        return peak < CLI_LEAKS_LEAST_POINTS ? CLI_LEAKS_LEAST_POINTS : peak + 1;
    return left < windows[last - 1].in_use ? last : len;
}

size_t cli_leaks_count_fresh(const cli_leaks_pace *windows, size_t len)
{
    size_t fresh = 0;
    for (size_t i = 0; i < len; i++)
        fresh += !i || windows[i].made < 0 || windows[i].made != windows[i - 1].made ||
                 windows[i].in_use != windows[i - 1].in_use;
    return fresh;
}
