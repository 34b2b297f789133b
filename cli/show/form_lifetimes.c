/* pprofdelta show --lifetimes: what becomes of what each stack allocates, of a profile with ages.
 *
 *       alloc  temporary              freed     inuse  median
 *       space      space       %      later     space     age  stack
 *     8.42MiB    8.00MiB   95.0%     400KiB   20.0KiB       0  parse < main
 *
 * What ended is in samples with the label `age`, in windows; ages above 15 are rounded down (see
 * pprofdelta_heap.h). Without the label it is temporary, of age 0: it was freed in the window in which it
 * was allocated. The median is the age that half of the bytes do not exceed. Bytes that are in use are
 * older than all that ended. Where they are more than half, ">15" is the oldest age at which bytes ended. */
#include "show/shown.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "output_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct aged {
    int64_t age, bytes;
} aged;

/* A stack. Its bytes in use are those of the profile: in a delta what was added to them. */
typedef struct life {
    cli_rank rank; /* what was temporary, what was allocated, the first stack of the group */
    pprofdelta_sum later, inuse;
    int64_t median; /* the oldest age, if is_longer */
    bool is_longer, has_ended;
} life;

enum { ALLOC, INUSE, FREED, NEEDED };

typedef struct lives {
    cli_shown *shown;
    size_t types[NEEDED];
    life *list;
    size_t len;
} lives;

/* Of one profile, the types that are shown are all its columns. */
static void find_types(lives *l)
{
    static const char *const names[NEEDED] = {"alloc_space", "inuse_space", "freed_space"};
    const cli_profile *profile = l->shown->profiles;
    for (size_t i = 0; i < NEEDED; i++) {
        l->types[i] = (size_t)cli_profile_find_type(profile, cli_string_of(names[i]));
        if (l->types[i] >= l->shown->types.len)
            cli_must(cli_error("%s: has no type %s: lifetimes are in profiles of live heaps with "
                               "ages, such as those of record",
                               profile->input.name, names[i]));
    }
}

static int by_age(const void *a, const void *b)
{
    const aged *x = a, *y = b;
    return (x->age > y->age) - (x->age < y->age);
}

/* What ended of a stack, the youngest first. */
static aged *ages_of(const lives *l, cli_group group, size_t *len)
{
    aged *ages = cli_keep(group.end - group.at, sizeof *ages);
    *len = 0;
    for (size_t i = group.at; i < group.end; i++) {
        cli_sample sample;
        cli_sample_read(l->shown->stacks[i].sample, &sample);
        int64_t bytes = sample.values[l->shown->types.column[0][l->types[FREED]]];
        int64_t age = cli_profile_age(l->shown->profiles, &sample);
        if (age >= 0 && bytes)
            ages[(*len)++] = (aged){age, bytes};
    }
    qsort(ages, *len, sizeof *ages, by_age);
    return ages;
}

static life make_life(const lives *l, cli_group group)
{
    const cli_shown *shown = l->shown;
    size_t len;
    aged *ages = ages_of(l, group, &len);
    life s = {.rank = {.second = cli_group_sum(shown, group, 0, l->types[ALLOC]), .at = group.at},
              .inuse = cli_group_sum(shown, group, 0, l->types[INUSE]),
              .has_ended = len};
    for (size_t i = 0; i < len; i++)
        cli_sum_add(ages[i].age ? &s.later : &s.rank.first, ages[i].bytes);
    double alive = cli_sum_double(s.inuse), passed = 0;
    double all = cli_sum_double(s.rank.first) + cli_sum_double(s.later) + (alive > 0 ? alive : 0);
    for (size_t i = 0; i < len && 2 * passed < all; i++) {
        passed += (double)ages[i].bytes;
        s.median = ages[i].age;
    }
    s.is_longer = 2 * passed < all;
    cli_drop(ages);
    return s;
}

static void add_up(lives *l)
{
    cli_shown *shown = l->shown;
    l->list = cli_keep(shown->len, sizeof *l->list);
    for (cli_group g = {0}; cli_group_next(shown, &g);) {
        life s = make_life(l, g);
        if (s.has_ended || !cli_sum_is_zero(s.rank.second) || !cli_sum_is_zero(s.inuse))
            l->list[l->len++] = s;
    }
    qsort(l->list, l->len, sizeof *l->list, cli_by_rank);
}

/* ---- the table ---------------------------------------------------------------------------- */

enum { ROOM = 48, STACK = 256, WIDTH = 57, LEAST_STACK = 23 };

static const char head[] = "   alloc  temporary              freed     inuse  median\n"
                           "   space      space       %      later     space     age  stack";

static void put_values(const life *s)
{
    const cli_string bytes = cli_string_of("bytes");
    char text[4][ROOM], share[CLI_SHARE_ROOM], median[ROOM] = "-";
    if (s->has_ended)
        snprintf(median, ROOM, "%s%" PRId64, s->is_longer ? ">" : "", s->median);
    printf("%8s  %9s  %6s  %9s  %8s  %6s  ", cli_units_format(s->rank.second, bytes, text[0]),
           cli_units_format(s->rank.first, bytes, text[1]),
           cli_share_format(s->rank.first, s->rank.second, share),
           cli_units_format(s->later, bytes, text[2]), cli_units_format(s->inuse, bytes, text[3]),
           median);
}

/* The names of the frames, leaf first. */
static void put_stack(const cli_shown *shown, const cli_stack *stack)
{
    char text[STACK] = "(no stack)";
    size_t len = 0, screen = cli_screen_width();
    const cli_frame *frame;
    for (cli_walk w = cli_walk_from_leaf(shown, stack); (frame = cli_walk_next(&w));) {
        if (len)
            len += cli_string_write(text + len, STACK - len, cli_string_of(" < "));
        len += cli_string_write(text + len, STACK - len, shown->names[frame->name]);
    }
    len = len ? len : strlen(text);
    cli_string_put_cut(stdout, (cli_string){text, len},
                       screen > WIDTH + LEAST_STACK ? screen - WIDTH : LEAST_STACK);
    putchar('\n');
}

void cli_show_lifetimes(cli_shown *shown)
{
    lives l = {.shown = shown};
    find_types(&l);
    cli_stacks_collect(shown, true);
    add_up(&l);
    size_t most = l.len < shown->most ? l.len : shown->most;
    cli_ink ink = cli_screen_ink();
    cli_heading_put(shown);
    printf("\n%s%zu of %zu stack%s, by what was freed in the window of its allocation\n%s%s%s\n",
           most < l.len ? "the first " : "", most, l.len, l.len == 1 ? "" : "s", ink.bold, head,
           ink.end);
    for (size_t i = 0; i < most && !cli_output_is_over(); i++) {
        put_values(&l.list[i]);
        put_stack(shown, &shown->stacks[l.list[i].rank.at]);
    }
}
