/* The resource of OTLP output, encoded once from the caller's options. */
#ifndef PD_PROFILE_OTLP_RESOURCE_H
#define PD_PROFILE_OTLP_RESOURCE_H

#include "base/mem.h"

/* Appends the content of a Resource to *out. A later attribute replaces an earlier one with the same
 * key, in the place of the earlier one. Bytes that are not UTF-8 become U+FFFD. */
pprofdelta_status pd_otlp_resource(const pprofdelta_attribute *attributes, size_t len, pd_mem *mem,
                                   pd_buffer *out, pprofdelta_error *err);

#endif
