#include "delta/plan.h"

enum {
    PIECE = 128 << 10,
    SHORT = 2 * PIECE, /* a shorter profile takes less memory whole than as a stream */
    USUAL_RATIO = 8,   /* for files that do not say what they inflate to */
    /* A profile that is read whole is held about so many times: inflated, as tables, as ledger and
     * rows, written, and compressed. If this guess is wrong, the next plan is tried. */
    TIMES = 6
};

/* Is the limit too low for the profile as a whole? Plain bytes are not held. */
static bool is_large(const pd_plan_facts *f)
{
    return f->format != PD_FORMAT_PLAIN && f->announced > f->left / TIMES;
}

/* By the file alone. */
static uint64_t size_of(const pd_plan_facts *f)
{
    return f->announced ? f->announced : f->packed * USUAL_RATIO;
}

static pd_plan_source source_of(const pd_plan_facts *f, unsigned nth)
{
    if (f->keeps_bytes)
        return PD_SOURCE_WHOLE;
    if (f->piece)
        return PD_SOURCE_STREAM;
    if (nth)
        return size_of(f) > SHORT ? PD_SOURCE_STREAM : PD_SOURCE_WHOLE;
    return is_large(f) ? PD_SOURCE_STREAM : PD_SOURCE_WHOLE;
}

pd_plan pd_plan_choose(const pd_plan_facts *f, unsigned nth)
{
    return (pd_plan){.source = source_of(f, nth),
                     .piece = f->piece ? f->piece : PIECE,
                     .is_tight = pd_plan_is_tight(nth)};
}
