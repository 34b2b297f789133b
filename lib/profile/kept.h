/* The records of a window's rows, for who cannot go back to where they stood.
 *
 *     bytes    [ record of row 0 | record of row 1 | ... ]
 *     at       [ 0               | ...             | ... ]
 */
#ifndef PD_PROFILE_KEPT_H
#define PD_PROFILE_KEPT_H

#include "base/mem.h"

#include <stdbool.h>

typedef struct pd_kept {
    pd_buffer bytes;
    size_t *at;
    size_t len, cap; /* rows */
    size_t most;     /* bytes that it may take */
    bool is_lost;    /* it took more, or one could not be had: it has nothing */
} pd_kept;           /* zero it before the first beginning */

void pd_kept_begin(pd_kept *kept, size_t most);

/* Adds the record [start, end) of the next row. */
void pd_kept_add(pd_kept *kept, pd_mem *mem, const uint8_t *start, const uint8_t *end);

/* The next row's record has gone by: whoever wants records reads them again. */
void pd_kept_lose(pd_kept *kept, pd_mem *mem);

/* The record of a row, and whatever is behind it. */
static inline pd_bytes pd_kept_record(const pd_kept *kept, size_t row)
{
    return (pd_bytes){kept->bytes.ptr + kept->at[row], kept->bytes.len - kept->at[row]};
}

void pd_kept_release(pd_kept *kept, pd_mem *mem);

#endif
