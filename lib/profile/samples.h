/* The second pass: every sample of a profile, decoded once, into a window.
 *
 * This is where the time goes, so it is one loop with nothing in it but decoding, hashing and the
 * window's add. It checks what only samples can get wrong: ids without a location, too many or too
 * few values, labels with strings that are not there. */
#ifndef PD_PROFILE_SAMPLES_H
#define PD_PROFILE_SAMPLES_H

#include "delta/window.h"
#include "profile/sample.h"

/* Samples as they were read, for a window that is to come. There is room for all before reading. */
typedef struct pd_sample_rows {
    pd_key *keys;
    uint64_t *origins;
    int64_t *values; /* in the columns' slots, `stride` to a row */
    size_t len, stride;
    size_t keys_cap, origins_cap, values_cap;
} pd_sample_rows; /* zero it to begin */

static inline void pd_sample_rows_push(pd_sample_rows *rows, pd_key key, uint64_t origin,
                                       const int64_t *values)
{
    size_t row = rows->len++;
    rows->keys[row] = key;
    rows->origins[row] = origin;
    for (size_t i = 0; i < rows->stride; i++)
        rows->values[row * rows->stride + i] = values[i];
}

/* Whom the samples go to: one of them, or nobody. */
typedef struct pd_sample_taker {
    pd_window *window;
    pd_ledger *ledger; /* that is being filled; it takes the counters only */
    pd_sample_rows *rows;
} pd_sample_taker;

/* The next sample record, whatever stands before it: where it starts, and its body. */
bool pd_sample_next_far(pd_reader *top, const uint8_t **start, pd_reader *body);
static inline bool pd_sample_next(pd_reader *top, const uint8_t **start, pd_reader *body)
{
    return pd_reader_expect(top, PD_TAG_SAMPLE, start, body) ||
           pd_sample_next_far(top, start, body);
}

/* The quick way: reads records one after the other and hands them on, counting them in
 * reader->parse.element, up to one that is not for it; there it leaves `top`. Fails
 * only where the taker does. */
typedef pprofdelta_status pd_sample_run(pd_sample_reader *reader, pd_reader *top,
                                        pd_sample_taker taker);

static inline pprofdelta_status pd_sample_take(pd_sample_taker taker, const pd_parse *parse,
                                               pd_key key, const uint8_t *start,
                                               const int64_t *values)
{
    if (taker.window)
        return pd_window_add(taker.window, parse->mem, key, pd_parse_offset(parse, start), values,
                             parse->err);
    if (taker.ledger)
        return pd_ledger_put(taker.ledger, parse->mem, key, values, parse->err);
    if (taker.rows)
        pd_sample_rows_push(taker.rows, key, pd_parse_offset(parse, start), values);
    return PPROFDELTA_OK;
}

pd_sample_run pd_sample_run_portable, pd_sample_run_avx512;

/* The quickest that this processor can do. */
pd_sample_run *pd_sample_run_best(void);

/* Hands every sample of the sealed tables on; a row holds columns->slot's order, and its origin is
 * the offset of its first record's tag: what pd_transfer_sample takes. Unknown fields are counted in
 * the tables. */
pprofdelta_status pd_samples_read(pd_tables *tables, const pd_stack_numbers *numbers,
                                  const pd_columns *columns, pd_sample_taker taker, pd_mem *mem,
                                  pprofdelta_error *err);

/* The part of it that is the loop: reads from `top` until that is at its end or got stuck, or the
 * tables have no more samples. */
pprofdelta_status pd_samples_read_some(pd_sample_reader *reader, pd_reader *top,
                                       pd_sample_taker taker);

/* Adds up each column over all records, by itself: what a window's sums are verified against. */
void pd_samples_sum(const pd_tables *tables, pprofdelta_sum *sums);
void pd_samples_sum_some(pd_reader *top, pprofdelta_sum *sums);

#endif
