/* What a file is, by its first bytes. An operator who hands in an archive, the page of a 404 or the
 * text form of a profile is told that, and not which byte of it is no protobuf. */
#ifndef PD_PROFILE_LOOKALIKE_H
#define PD_PROFILE_LOOKALIKE_H

#include "base/mem.h"

#include <stdbool.h>

enum { PD_LOOKALIKE_HEAD = 512 }; /* how many bytes are looked at */

typedef struct pd_lookalike {
    pprofdelta_file_kind kind;
    const char *name; /* a noun with its article: "a zip archive" */
    const char *rest; /* of a sentence that begins with "this is NAME"; NULL: nothing is known */
    bool is_quoted;   /* ... and ends with its first line */
} pd_lookalike;

/* What inflated bytes are. They may be more than PD_LOOKALIKE_HEAD, and cut off anywhere behind
 * that. */
pd_lookalike pd_lookalike_of(pd_bytes bytes);

/* If these bytes, which were refused with this status, are something well known, makes *err say so
 * and returns PPROFDELTA_E_PROFILE; else leaves *err and returns the status. */
pprofdelta_status pd_lookalike_tell(pd_bytes bytes, pprofdelta_status status,
                                    pprofdelta_error *err);

#endif
