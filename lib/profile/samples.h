/* The second pass: decodes every sample of a profile, once, into a window.
 *
 * This takes most of the time, so it is one loop that decodes, hashes and adds to the window. It
 * checks what only samples can have wrong: ids without a location, too many or too few values,
 * labels with unknown strings. */
#ifndef PD_PROFILE_SAMPLES_H
#define PD_PROFILE_SAMPLES_H

#include "ledger/window.h"
#include "profile/sample.h"

/* Where samples go: to a window, a ledger, or nowhere. */
typedef struct pd_sample_taker {
    pd_window *window;
    pd_ledger *ledger; /* a ledger that is being filled with the counters */
} pd_sample_taker;

/* Finds the next sample record, skipping other fields. Sets its start and its body. */
bool pd_sample_next_far(pd_reader *top, const uint8_t **start, pd_reader *body);
static inline bool pd_sample_next(pd_reader *top, const uint8_t **start, pd_reader *body)
{
    return pd_reader_expect(top, PD_TAG_SAMPLE, start, body) ||
           pd_sample_next_far(top, start, body);
}

/* The quick reader: reads records and passes them on, counting them in reader->parse.element, up to
 * a record that is not in the quick form, where it leaves `top`. Fails only if the taker fails. */
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
    return PPROFDELTA_OK;
}

pd_sample_run pd_sample_run_portable, pd_sample_run_avx512;

/* The fastest form for this processor. */
pd_sample_run *pd_sample_run_best(void);

/* Hands on the samples from `top` to where that can read no further, or to the last sample of the
 * sealed tables. reader->parse.element counts them. */
pprofdelta_status pd_samples_read(pd_sample_reader *reader, pd_reader *top, pd_sample_taker taker);

/* Reads the values of a record that was checked, in the order of the columns. */
void pd_sample_values_read(pd_reader body, int64_t *values);

/* Adds up each column over the records from `top` on, which were checked. */
void pd_samples_sum(pd_reader *top, size_t types_len, pprofdelta_sum *sums);

#endif
