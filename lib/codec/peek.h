/* The first bytes of what a file inflates to, where only the first bytes of the file are at hand. */
#ifndef PD_CODEC_PEEK_H
#define PD_CODEC_PEEK_H

#include "base/mem.h"

#include <stdbool.h>

/* Inflates (or copies) the first `room` bytes of what in[0..len) is the beginning of, or as many as
 * there are, into out. *is_good is false where they cannot be inflated; *made is then 0. */
pprofdelta_status pd_peek(pd_mem *mem, pd_bytes in, uint8_t *out, size_t room, size_t *made,
                          bool *is_good, pprofdelta_error *err);

#endif
