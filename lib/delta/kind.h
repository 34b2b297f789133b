/* What kind of file it is, by its first bytes. A user who passes an archive, an error page or the
 * text form of a profile gets that as the message, instead of a protobuf error. The message has no
 * byte of the file: the file may be one that its reader must not see. */
#ifndef PD_DELTA_KIND_H
#define PD_DELTA_KIND_H

#include "base/mem.h"

enum { PD_LOOKALIKE_HEAD = 512 }; /* number of bytes that are examined */

typedef struct pd_lookalike {
    pprofdelta_file_kind kind;
    const char *name; /* a noun with its article: "a zip archive" */
    const char *rest; /* the end of the sentence "this is NAME..."; NULL: nothing is known */
} pd_lookalike;

/* Returns the kind of inflated bytes. There may be more than PD_LOOKALIKE_HEAD; only those are
 * examined. */
pd_lookalike pd_lookalike_of(pd_bytes bytes);

/* For bytes that were refused with this status. If they are of a known kind, sets *err to say so
 * and returns PPROFDELTA_E_PROFILE. Otherwise returns the status, and sets *err only if no profile
 * begins as the bytes do: then its text begins with "not a pprof profile". */
pprofdelta_status pd_lookalike_tell(pd_bytes bytes, pprofdelta_status status,
                                    pprofdelta_error *err);

#endif
