/* Makes inputs for the benchmark, of any size: two looks at the heap of a process that never ran.
 *
 *     generate SAMPLES SEED PREV CUR        writes two plain profiles
 *
 * Between the looks a minute passes, 1% of the samples allocate and 0.1% appear. The same seed
 * gives the same bytes. process.c makes up the process, golook.c looks at it. */
#include "golook.h"

#include <stdlib.h>

#define FIRST_LOOK INT64_C(1700000000000000000)
#define MINUTE     INT64_C(60000000000)

static int write_look(const process *p, int64_t time_nanos, const char *path)
{
    FILE *file = fopen(path, "wb");
    int result = file ? golook_write(p, time_nanos, file) : -1;
    if (file && fclose(file) != 0)
        result = -1;
    if (result)
        perror(path);
    return result;
}

int main(int argc, char **argv)
{
    unsigned long samples = argc == 5 ? strtoul(argv[1], NULL, 10) : 0;
    if (samples == 0 || samples > 100000000) {
        fputs("usage: generate SAMPLES SEED PREV CUR\n", stderr);
        return 2;
    }
    uint32_t count = (uint32_t)samples, fresh = count / 1000;
    process p;
    process_start(&p, strtoull(argv[2], NULL, 10), count, count + fresh);
    int result = write_look(&p, FIRST_LOOK, argv[3]);
    if (!result) {
        process_run(&p, count / 100, fresh);
        result = write_look(&p, FIRST_LOOK + MINUTE, argv[4]);
    }
    process_end(&p);
    return result != 0;
}
