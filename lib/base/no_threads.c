/* For a build without threads (-Dthreads=disabled): stands in the place of threads.c
 * and random.c. */
#include "base/error.h"
#include "base/random.h"

pprofdelta_status pprofdelta_threads_new(unsigned threads, pprofdelta_runner *out,
                                         pprofdelta_error *err)
{
    (void)threads, (void)out;
    return pd_refuse(err, "this build of the library has no threads: leave options.runner NULL");
}

void pprofdelta_threads_free(pprofdelta_runner *runner)
{
    if (runner)
        *runner = (pprofdelta_runner){0};
}

uint64_t pd_random_id(const void *of)
{
    (void)of;
    return 0;
}
