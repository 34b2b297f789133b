/* Tells an OTLP request from a pprof profile by its shape.
 *
 * Both messages begin with a field 1 and have a field 2, both length-delimited. What is in them
 * differs, and a profile has fields that a request has not:
 *
 *     field       profile                        request
 *     1           sample type: two varints       resource_profiles: three submessages
 *     2           sample: varints and labels     dictionary: up to seven tables
 *     3 to 15     tables, strings, times         none
 *
 * Usually the first bytes of the first field decide. */
#ifndef PD_OTLP_SHAPE_H
#define PD_OTLP_SHAPE_H

#include "base/mem.h"

/* So many of the first bytes decide, however many there are. */
enum { PD_REQUEST_HEAD = 16 << 10 };

/* Returns whether the bytes are an OTLP request, or the beginning of one. They may be damaged
 * behind the beginning. What could be both is not one. */
bool pd_request_begins(pd_bytes bytes);

#endif
