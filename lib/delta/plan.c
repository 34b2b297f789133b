#include "delta/plan.h"

enum {
    PIECE = 128 << 10,
    /* A profile that is read whole is held about so many times: inflated, as tables, as ledger and
     * rows, written, and compressed. If this guess is wrong, the next plan is tried. */
    TIMES = 6,
    /* Files from which on another thread pays: beside another profile, which takes as long, and
     * beside a state, which does not. Measured. */
    PAYS_BESIDE_PROFILE = 32 << 10,
    PAYS_BESIDE_STATE = 96 << 10,
    PAYS_AHEAD = 256 << 10
};

#define PLENTY (PPROFDELTA_DEFAULT_MAX_MEMORY / 2)

/* Is the limit too low for the profile as a whole, and `times` as much? Plain bytes are not held. */
static bool is_large(const pd_plan_facts *f, uint64_t times)
{
    return f->format != PD_FORMAT_PLAIN && f->announced > f->left / times;
}

static pd_plan_source source_of(const pd_plan_facts *f, unsigned nth)
{
    if (f->keeps_bytes)
        return PD_SOURCE_WHOLE;
    if (f->piece && !nth && f->is_eager && f->has_runner && f->format == PD_FORMAT_GZIP)
        return PD_SOURCE_AHEAD;
    if (f->piece)
        return PD_SOURCE_STREAM;
    if (nth && f->is_output)
        return f->announced > PIECE ? PD_SOURCE_STREAM : PD_SOURCE_WHOLE;
    if (nth)
        return nth == PD_PLAN_STREAM ? PD_SOURCE_STREAM : PD_SOURCE_WHOLE;
    if (!is_large(f, TIMES))
        return PD_SOURCE_WHOLE;
    bool pays = f->is_eager || f->packed >= PAYS_AHEAD;
    return pays && f->has_runner && f->format == PD_FORMAT_GZIP ? PD_SOURCE_AHEAD
                                                                : PD_SOURCE_STREAM;
}

/* What a task reads is held beside what this thread reads, and half of the memory is lent to it. So
 * this is only for those who have not asked for less: a state for which the other half is too little
 * would be refused. */
static pd_plan_order order_of(const pd_plan_facts *f, unsigned nth, pd_plan_source source)
{
    bool is_long = f->packed >= (f->is_pair ? PAYS_BESIDE_PROFILE : PAYS_BESIDE_STATE);
    bool pays = f->is_eager || (is_long && f->left >= PLENTY && !is_large(f, UINT64_C(2) * TIMES));
    bool is_beside = pays && !nth && f->is_window && f->has_runner && source == PD_SOURCE_WHOLE &&
                     !f->keeps_bytes;
    return is_beside ? PD_ORDER_BESIDE : PD_ORDER_ALONE;
}

pd_plan pd_plan_choose(const pd_plan_facts *f, unsigned nth)
{
    pd_plan_source source = source_of(f, nth);
    return (pd_plan){.source = source,
                     .order = order_of(f, nth, source),
                     .compressor = !nth && f->has_runner ? PD_COMPRESS_TASKS : PD_COMPRESS_INLINE,
                     .piece = f->piece ? f->piece : PIECE,
                     .is_tight = pd_plan_is_tight(nth)};
}
