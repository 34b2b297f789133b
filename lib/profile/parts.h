/* A profile that is never in memory whole, part by part.
 *
 *     part     [ whole top-level fields ........ | the beginning of one more ]
 *                base                              where the next part begins
 *
 * A part is read until the reader gets stuck, which is at its end unless something is wrong; there
 * the next part begins. So the same code reads both, and offsets are those in the whole profile. */
#ifndef PD_PROFILE_PARTS_H
#define PD_PROFILE_PARTS_H

#include "codec/stream.h"
#include "profile/tables.h"
#include "wire/reader.h"

/* There are so many bytes in the first part, if the profile has them. */
enum { PD_PARTS_HEAD = 1024 };

typedef struct pd_parts {
    pd_stream *stream;
    pd_bytes part;
    uint64_t at; /* where it begins */
    bool is_begun, is_end;
} pd_parts; /* set stream, and at, where to begin; zero the rest */

/* The next part, beginning with what `top` got stuck at. False where that was the last one, or
 * where more bytes would not help; *top is as it was. */
bool pd_parts_next(pd_parts *parts, pd_reader *top, pprofdelta_status *status,
                   pprofdelta_error *err);

/* Copies the strings from `from` on, which lie in the part that was just read, to the end of *text. */
pprofdelta_status pd_parts_keep_strings(const pd_tables *tables, size_t from, pd_buffer *text,
                                        pd_mem *mem, pprofdelta_error *err);

/* When the text has moved for the last time: the strings are where it is. */
void pd_parts_point_strings(pd_tables *tables, const pd_buffer *text);

#endif
