/* For a build without a system to ask (-Ddoors=portable): stands in the place of maps_read.c. The
 * mappings are those that the host has added. */
#include "process/maps.h"

pprofdelta_status pd_maps_read(pd_maps *maps, pd_mem *mem, pprofdelta_error *err)
{
    (void)maps, (void)mem, (void)err;
    return PPROFDELTA_OK;
}

uint64_t pd_maps_loads(void)
{
    return 0;
}
