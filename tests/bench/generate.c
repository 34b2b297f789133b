/* Writes two plain heap profiles of a simulated Go process, for the benchmark.
 *
 *     generate SAMPLES SEED go|fields distinct|repeated PREV CUR
 *
 * go: the parts of the profile are in the order of Go's runtime; fields: in the order of the field
 * numbers (golook.h). distinct: every sample has a stack of its own; repeated: a third of the samples
 * have the stack of an earlier sample, half of those the block size, too. 15% of the samples are live:
 * they have memory in use, and allocate in the minute between the two profiles. 0.1% appear in that
 * minute; with repeated stacks, another 1%, each equal to a sample in stack and block size, so that
 * many a sample that stood still comes again. The same arguments give the same bytes. process.c
 * simulates the process, golook.c writes its profiles. */
#include "golook.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_LOOK INT64_C(1700000000000000000)
#define MINUTE     INT64_C(60000000000)

enum { LIVE = 15, REPEATED = 33 }; /* percent */

/* 0 or 1: which of the two words it is; -1: neither. */
static int choice(const char *word, const char *first, const char *second)
{
    return !strcmp(word, first) ? 0 : !strcmp(word, second) ? 1 : -1;
}

static int write_look(const process *p, golook_order order, int64_t time_nanos, const char *path)
{
    FILE *file = fopen(path, "wb");
    int result = file ? golook_write(p, order, time_nanos, file) : -1;
    if (file && fclose(file) != 0)
        result = -1;
    if (result)
        perror(path);
    return result;
}

int main(int argc, char **argv)
{
    unsigned long samples = argc == 7 ? strtoul(argv[1], NULL, 10) : 0;
    int by_fields = argc == 7 ? choice(argv[3], "go", "fields") : -1;
    int is_repeated = argc == 7 ? choice(argv[4], "distinct", "repeated") : -1;
    if (samples == 0 || samples > 100000000 || by_fields < 0 || is_repeated < 0) {
        fputs("usage: generate SAMPLES SEED go|fields distinct|repeated PREV CUR\n", stderr);
        return 2;
    }
    golook_order order = by_fields ? GOLOOK_BY_FIELDS : GOLOOK_BY_GO;
    uint32_t count = (uint32_t)samples;
    process p;
    process_start(&p, &(recipe){.seed = strtoull(argv[2], NULL, 10),
                                .samples = count,
                                .fresh = count / 1000,
                                .again = is_repeated ? count / 100 : 0,
                                .repeated = is_repeated ? REPEATED : 0,
                                .live = LIVE});
    int result = write_look(&p, order, FIRST_LOOK, argv[5]);
    if (!result) {
        process_run(&p);
        result = write_look(&p, order, FIRST_LOOK + MINUTE, argv[6]);
    }
    process_end(&p);
    return result != 0;
}
