/* UTF-8: formats whose strings are protobuf `string` fields must have it. */
#ifndef PD_BASE_UTF8_H
#define PD_BASE_UTF8_H

#include "base/mem.h"

/* Is every byte part of a well-formed sequence? */
bool pd_utf8_is_valid(pd_bytes text);

/* Copies the text to *out, which is emptied first. Each byte that is no part of a well-formed
 * sequence becomes U+FFFD. */
pprofdelta_status pd_utf8_repair(pd_bytes text, pd_mem *mem, pd_buffer *out, pprofdelta_error *err);

/* Copies the text to `out`, which has room for `room` bytes, and ends it with a NUL. Each byte of a
 * control character, and each that is no part of a well-formed sequence, becomes \xNN. A text that
 * is too long loses whole characters at its end. The command shows names in the same way
 * (cli/text.c). */
void pd_utf8_show(char *out, size_t room, pd_bytes text);

#endif
