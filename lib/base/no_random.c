/* For a build without the doors inside a process (-Ddoors=portable), which may have no system to ask: stands in the
 * place of random.c. */
#include "base/random.h"

uint64_t pd_random_id(const void *of)
{
    (void)of;
    return 0;
}
