/* The parts of the resident memory of a process: see account.h.
 *
 *     resident  65.2MiB
 *               36.8MiB  56.4%  [live heap]
 *               21.0MiB  32.2%  [anonymous mappings]
 */
#include "show/account_parts.h"

#include "show/units.h"

#include <stdio.h>
#include <stdlib.h>

enum { CELL = 48, PARTS_MAX = 64 };

typedef struct part {
    int64_t name; /* a string of the profile */
    pprofdelta_sum bytes;
} part;

/* Returns the name of the innermost function of a sample, or 0. */
static int64_t leaf_name(const cli_profile *profile, const Pd__View__Sample *sample)
{
    const Pd__View__Location *leaf =
        sample->n_location_id ? cli_profile_location(profile, sample->location_id[0]) : NULL;
    const Pd__View__Function *function =
        leaf && leaf->n_line ? cli_profile_function(profile, leaf->line[0]->function_id) : NULL;
    return function ? function->name : 0;
}

/* Adds the samples to the parts. Those of a hostile file that have no room go to the last part. */
static size_t add_up(const cli_profile *profile, size_t column, part parts[PARTS_MAX])
{
    size_t len = 0;
    for (size_t i = 0; i < profile->view->n_sample; i++) {
        const Pd__View__Sample *sample = profile->view->sample[i];
        if (!sample->value[column])
            continue;
        int64_t name = leaf_name(profile, sample);
        size_t at = 0;
        while (at < len && parts[at].name != name)
            at++;
        if (at == PARTS_MAX)
            at--;
        else if (at == len)
            parts[len++] = (part){at < PARTS_MAX - 1 ? name : 0, {0, 0}};
        cli_sum_add(&parts[at].bytes, sample->value[column]);
    }
    return len;
}

static int by_size(const void *a, const void *b)
{
    const part *x = a, *y = b;
    int order = cli_sum_compare(y->bytes, x->bytes);
    return order ? order : (x->name > y->name) - (x->name < y->name);
}

static void put(const cli_profile *profile, size_t column, const part *parts, size_t len)
{
    enum { MOST = 12 }; /* the agent writes fewer parts */
    char text[CELL];
    cli_string unit = cli_profile_unit(profile, column);
    pprofdelta_sum total = cli_profile_total(profile, column);
    printf("resident  %s\n", cli_units_format(total, unit, text));
    for (size_t i = 0; i < len && i < MOST; i++) {
        double share = 100 * cli_sum_double(parts[i].bytes) / cli_sum_double(total);
        printf("          %8s  %5.1f%%  ", cli_units_format(parts[i].bytes, unit, text), share);
        cli_string_put(stdout, cli_profile_string(profile, parts[i].name), CLI_TEXT_SHOWN);
        putchar('\n');
    }
    if (len > MOST)
        puts("          and more: --type rss_space");
}

void cli_account_put(const cli_profile *profile)
{
    int column = cli_profile_find_type(profile, cli_string_of("rss_space/bytes"));
    if (column < 0 || cli_sum_is_zero(cli_profile_total(profile, (size_t)column)))
        return;
    part parts[PARTS_MAX];
    size_t len = add_up(profile, (size_t)column, parts);
    qsort(parts, len, sizeof *parts, by_size);
    put(profile, (size_t)column, parts, len);
}
