/* What is in use at the windows of a page: see leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"

/* The point of a window. The windows but the last two share the points before those of the last two. */
static size_t point_of(size_t window, size_t windows)
{
    enum { SHARED = CLI_LEAKS_FILM_MOST - 2 };
    if (windows <= CLI_LEAKS_FILM_MOST)
        return window;
    size_t last = windows - 2;
    return window < last ? window * SHARED / last : SHARED + window - last;
}

static void take_levels(cli_leaks_film *film, cli_leaks_levels *to, const cli_leaks_rows *rows)
{
    cli_drop(to->list);
    film->size += (rows->len - to->len) * sizeof *to->list;
    *to = (cli_leaks_levels){cli_keep(rows->len, sizeof *to->list), rows->len};
    for (size_t i = 0; i < rows->len; i++)
        to->list[i] = rows->rows[i].now;
}

void cli_leaks_film_add(cli_leaks_run *run, size_t window, size_t windows, double seconds)
{
    cli_leaks_film *film = &run->film;
    size_t at = point_of(window, windows);
    double total = 0;
    for (size_t i = 0; i < run->rows.len; i++)
        total += run->rows.rows[i].now;
    if (at < film->len && total <= film->points[at].total)
        return;
    if (!film->points)
        film->points = cli_keep(CLI_LEAKS_FILM_MOST, sizeof *film->points);
    cli_leaks_point *point = &film->points[at];
    film->len = at + 1;
    point->window = window;
    point->seconds = seconds;
    point->total = total;
    take_levels(film, &point->stacks, &run->rows);
    take_levels(film, &point->areas, &run->areas);
}
