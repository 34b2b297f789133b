/* What a file is that is no profile. An operator who handed in the page of a 404, the text form of a
 * profile or a program is told that, and not which byte of it is no protobuf. */
#ifndef PD_PROFILE_LOOKALIKE_H
#define PD_PROFILE_LOOKALIKE_H

#include "base/mem.h"

/* If these bytes, which could not be parsed, are something well known, makes *err say so. */
void pd_lookalike_tell(pd_bytes bytes, pprofdelta_status status, pprofdelta_error *err);

#endif
