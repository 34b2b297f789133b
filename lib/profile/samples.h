/* The second pass: every sample of a profile, decoded once, into a window.
 *
 * This is where the time goes, so it is one loop with nothing in it but decoding, hashing and the
 * window's add. It checks what only samples can get wrong: ids without a location, too many or too
 * few values, labels with strings that are not there. */
#ifndef PD_PROFILE_SAMPLES_H
#define PD_PROFILE_SAMPLES_H

#include "delta/window.h"
#include "profile/kept.h"
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
    pd_kept *kept;        /* the records of its rows, where somebody wants them */
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

/* Keeps the record of the row that a sample has made; unless that was made late, when its own record
 * had gone by, which this one may differ from: by the order of labels, or by what the lines say. */
static inline void pd_sample_keep(pd_sample_taker taker, const pd_parse *parse, uint64_t origin,
                                  const uint8_t *start, const uint8_t *end)
{
    if (taker.window->origin[taker.window->len - 1] == origin)
        pd_kept_add(taker.kept, parse->mem, start, end);
    else
        pd_kept_lose(taker.kept, parse->mem);
}

static inline pprofdelta_status pd_sample_take(pd_sample_taker taker, const pd_parse *parse,
                                               pd_key key, const uint8_t *start, const uint8_t *end,
                                               const int64_t *values)
{
    if (taker.window) {
        uint64_t origin = pd_parse_offset(parse, start);
        pprofdelta_status status =
            pd_window_add(taker.window, parse->mem, key, origin, values, parse->err);
        if (__builtin_expect(taker.kept != NULL, 0) && taker.window->len > taker.kept->len)
            pd_sample_keep(taker, parse, origin, start, end);
        return status;
    }
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

/* The same for the next samples where they were read before, and their keys are known: nothing of them
 * but their values is read once more. */
pprofdelta_status pd_samples_meet(pd_sample_reader *reader, pd_reader *top,
                                  const pd_sample_keys *keys, pd_sample_taker taker);

/* Adds up each column over all records, by itself: what a window's sums are verified against. */
void pd_samples_sum(const pd_tables *tables, pprofdelta_sum *sums);
void pd_samples_sum_some(pd_reader *top, pprofdelta_sum *sums);

#endif
