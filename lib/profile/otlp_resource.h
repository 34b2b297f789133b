/* What a format has of options.resource, made once. */
#ifndef PD_PROFILE_OTLP_RESOURCE_H
#define PD_PROFILE_OTLP_RESOURCE_H

#include "base/mem.h"

/* Appends to *out: in OTLP, the content of a Resource; in tables, the value of "target"; in pprof, nothing. A later attribute replaces an earlier one with the same
 * key, in the place of the earlier one. Bytes that are not UTF-8 become U+FFFD. */
pprofdelta_status pd_otlp_resource(pprofdelta_format format, const pprofdelta_attribute *attributes,
                                   size_t len, pd_mem *mem, pd_buffer *out, pprofdelta_error *err);

#endif
