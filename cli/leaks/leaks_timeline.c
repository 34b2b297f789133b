/* What is in use at the windows of a page: see leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"

/* The point of a window. The windows but the last two share the points before those of the last two. */
static size_t point_of(size_t window, size_t windows)
{
    enum { SHARED = CLI_LEAKS_TIMELINE_MOST - 2 };
    if (windows <= CLI_LEAKS_TIMELINE_MOST)
        return window;
    size_t last = windows - 2;
    return window < last ? window * SHARED / last : SHARED + window - last;
}

/* Sets what the rows have at a point, of so many. */
static void take_levels(cli_leaks_levels *to, const cli_leaks_rows *rows, size_t at, size_t points)
{
    CLI_KEEP_MORE(to->of, rows->len - to->of_len);
    for (size_t i = 0; i < rows->len; i++) {
        if (i == to->of_len)
            to->of[to->of_len++] = cli_keep(points, sizeof **to->of);
        to->of[i][at] = rows->rows[i].now;
    }
}

void cli_leaks_timeline_add(cli_leaks_run *run, size_t window, size_t windows, double seconds)
{
    cli_leaks_timeline *timeline = &run->timeline;
    size_t at = point_of(window, windows);
    size_t points = windows < CLI_LEAKS_TIMELINE_MOST ? windows : CLI_LEAKS_TIMELINE_MOST;
    double total = 0;
    for (size_t i = 0; i < run->rows.len; i++)
        total += run->rows.rows[i].now;
    if (at < timeline->len && total <= timeline->points[at].total)
        return;
    if (!timeline->points)
        timeline->points = cli_keep(points, sizeof *timeline->points);
    timeline->points[at] = (cli_leaks_point){window, seconds, total};
    timeline->len = at + 1;
    take_levels(&timeline->stacks, &run->rows, at, points);
    take_levels(&timeline->areas, &run->areas, at, points);
}
