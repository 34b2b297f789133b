/* UTF-8: formats whose strings are protobuf `string` fields must have it. */
#ifndef PD_BASE_UTF8_H
#define PD_BASE_UTF8_H

#include "base/mem.h"

/* Is every byte part of a well-formed sequence? */
bool pd_utf8_is_valid(pd_bytes text);

/* Copies the text to *out, which is emptied first. Each byte that is no part of a well-formed
 * sequence becomes U+FFFD. */
pprofdelta_status pd_utf8_repair(pd_bytes text, pd_mem *mem, pd_buffer *out, pprofdelta_error *err);

#endif
