/* Checks of options that several doors have. Each returns E_USAGE, with a text that names the
 * option. */
#ifndef PD_BASE_OPTION_CHECKS_H
#define PD_BASE_OPTION_CHECKS_H

#include "base/error.h"


/* options.compression and options.level. */
pprofdelta_status pd_options_check_output(pprofdelta_compression compression, int level,
                                          pprofdelta_error *err);

/* options.format and options.resource. */
pprofdelta_status pd_options_check_format(pprofdelta_format format,
                                          const pprofdelta_attribute *resource, size_t len,
                                          pprofdelta_error *err);

/* options.types and options.types_len. */
pprofdelta_status pd_options_check_types(const void *types, size_t len, pprofdelta_error *err);

#endif
