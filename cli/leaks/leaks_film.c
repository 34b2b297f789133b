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

static double *copy_levels(const cli_leaks_rows *rows, cli_leaks_film *film)
{
    double *levels = cli_keep(rows->len, sizeof *levels);
    for (size_t i = 0; i < rows->len; i++)
        levels[i] = rows->rows[i].now;
    film->size += rows->len * sizeof *levels;
    return levels;
}

static void drop(cli_leaks_film *film, const cli_leaks_point *point)
{
    film->size -= (point->levels_len + point->areas_len) * sizeof *point->levels;
    cli_drop(point->levels);
    cli_drop(point->areas);
}

void cli_leaks_film_add(cli_leaks_run *run, size_t window, size_t windows, double seconds)
{
    cli_leaks_film *film = &run->film;
    size_t at = point_of(window, windows);
    double total = 0;
    for (size_t i = 0; i < run->rows.len; i++)
        total += run->rows.rows[i].now;
    if (!film->points)
        film->points = cli_keep(CLI_LEAKS_FILM_MOST, sizeof *film->points);
    if (at < film->len) {
        if (total <= film->points[at].total)
            return;
        drop(film, &film->points[at]);
    }
    film->len = at + 1;
    film->points[at] = (cli_leaks_point){.window = window,
                                         .seconds = seconds,
                                         .total = total,
                                         .levels = copy_levels(&run->rows, film),
                                         .levels_len = run->rows.len,
                                         .areas = copy_levels(&run->areas, film),
                                         .areas_len = run->areas.len};
}

double cli_leaks_film_level(const cli_leaks_point *point, size_t row)
{
    return row < point->levels_len ? point->levels[row] : 0;
}

double cli_leaks_film_area(const cli_leaks_point *point, size_t area)
{
    return area < point->areas_len ? point->areas[area] : 0;
}
