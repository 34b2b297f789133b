/* What a file is that is no profile. An operator who handed in the page of a 404, the text form of
 * a profile or a program is told that, and not which byte of it is no protobuf. */
#ifndef PD_PROFILE_LOOKALIKE_H
#define PD_PROFILE_LOOKALIKE_H

#include "base/mem.h"

/* If these bytes, which were refused with this status, are something well known, makes *err say so
 * and returns PPROFDELTA_E_PROFILE; else leaves *err and returns the status. */
pprofdelta_status pd_lookalike_tell(pd_bytes bytes, pprofdelta_status status,
                                    pprofdelta_error *err);

#endif
