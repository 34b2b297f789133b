/* Between the two passes: everything that could not be checked while reading is checked, ids become
 * indices, and every location gets its identity. */
#ifndef PD_PROFILE_SEAL_H
#define PD_PROFILE_SEAL_H

#include "profile/tables.h"

pprofdelta_status pd_tables_seal(pd_tables *tables, pd_mem *mem, pprofdelta_error *err);

/* Of sealed tables: makes the identities of the locations anew, after places were changed; and the
 * places, from the mappings themselves. */
pprofdelta_status pd_tables_identify(pd_tables *tables, pd_mem *mem, pprofdelta_error *err);
pprofdelta_status pd_tables_place(pd_tables *tables, pd_mem *mem, pprofdelta_error *err);

#endif
