/* What kind of file it is, by its first bytes: a magic number, the first words of a text, or else the reader
 * (pprof's or OTLP's) whose rows read more of them. The kind selects what turns the bytes into a profile
 * (reading.c). A user who passes an archive, an error page or the text form of a profile
 * gets its name as the message, instead of a protobuf error. The message has no byte of the file: the file
 * may be one that its reader must not see. */
#ifndef PD_DELTA_KIND_H
#define PD_DELTA_KIND_H

#include "pprofdelta_profile.h"

#include "base/mem.h"

typedef struct pd_kind {
    pprofdelta_file_kind kind;
    const char *name; /* a noun with its article: "a zip archive" */
    const char *rest; /* the end of the sentence "this is NAME..."; NULL: it may be read */
} pd_kind;

/* Returns the kind of inflated bytes. At most 16 KiB of them are examined. What both readers read alike is
 * not an OTLP request. */
pd_kind pd_kind_of(pd_bytes bytes);

/* For bytes that were refused with this status. If they are of a known kind, sets *err to say so and
 * returns PPROFDELTA_E_PROFILE. Otherwise returns the status. */
pprofdelta_status pd_kind_tell(pd_bytes bytes, pprofdelta_status status, pprofdelta_error *err);

#endif
