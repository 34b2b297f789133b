/* The second pass: every sample of a profile, decoded once, into a window.
 *
 * This is where the time goes, so it is one loop with nothing in it but decoding, hashing and the
 * window's add. It checks what only samples can get wrong: ids without a location, too many or too
 * few values, labels with strings that are not there. */
#ifndef PD_PROFILE_SAMPLES_H
#define PD_PROFILE_SAMPLES_H

#include "delta/window.h"
#include "profile/sample.h"

/* Who the samples are, in their order, for a window that is to come: what takes longest to find out,
 * and little room to keep. There is room for all before reading. */
typedef struct pd_sample_keys {
    pd_key *keys;
    size_t len, cap;
} pd_sample_keys; /* zero it to begin */

/* Whom the samples go to: one of them, or nobody. */
typedef struct pd_sample_taker {
    pd_window *window;
    pd_ledger *ledger;    /* that is being filled; it takes the counters only */
    pd_sample_keys *keys; /* that are noted, and nothing else */
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
    if (taker.keys)
        taker.keys->keys[taker.keys->len++] = key;
    return PPROFDELTA_OK;
}

pd_sample_run pd_sample_run_portable, pd_sample_run_avx512;

/* The values of one record, [p, end), with PD_QUICK_SLACK readable bytes behind it. False where it is
 * not for the quick way. */
typedef bool pd_sample_values(const pd_columns *columns, const uint8_t *p, const uint8_t *end,
                              int64_t *values);
pd_sample_values pd_sample_values_portable, pd_sample_values_avx512;

/* The quickest that this processor can do. */
pd_sample_run *pd_sample_run_best(void);
pd_sample_values *pd_sample_values_best(void);

/* Hands on the samples from `top` to where that can read no further, or to the last sample of the
 * sealed tables. reader->parse.element counts them. */
pprofdelta_status pd_samples_read(pd_sample_reader *reader, pd_reader *top, pd_sample_taker taker);

/* The same if the samples were read before, and keys holds the keys of all of them: only the values
 * are decoded. */
pprofdelta_status pd_samples_meet(pd_sample_reader *reader, pd_reader *top,
                                  const pd_sample_keys *keys, pd_window *window);

/* Adds up each column over the records from `top` on. */
void pd_samples_sum(pd_reader *top, pprofdelta_sum *sums);

#endif
