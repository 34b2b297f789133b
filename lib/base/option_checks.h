/* Structs that cross the API with their size; and checks of options that several doors have. Each
 * returns E_USAGE, with a text that names the option. */
#ifndef PD_BASE_OPTION_CHECKS_H
#define PD_BASE_OPTION_CHECKS_H

#include "base/error.h"

/* Copies options that begin with their size to `own`, which has `len` bytes and the defaults. Those of
 * another version may be shorter, or longer with a tail of zeros. NULL: the defaults. */
pprofdelta_status pd_options_read(void *own, size_t len, const void *given, pprofdelta_error *err);

/* Refuses a result of the caller whose size was not set. Before anything else is done. */
pprofdelta_status pd_result_check(const void *out, pprofdelta_error *err);

/* Copies `own`, which has `len` bytes, to a result of the caller that begins with its size: the members
 * that both have. */
void pd_result_write(void *out, const void *own, size_t len);

/* options.compression, options.level, options.format, and options.resource with its length. */
pprofdelta_status pd_options_check_output(pprofdelta_compression compression, int level,
                                          pprofdelta_format format,
                                          const pprofdelta_attribute *resource, size_t len,
                                          pprofdelta_error *err);

/* options.types and options.types_len. */
pprofdelta_status pd_options_check_types(const void *types, size_t len, pprofdelta_error *err);

#endif
