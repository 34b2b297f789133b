/* How a profile is read: the one place where that is decided.
 *
 *     facts: format, announced length, memory left, ...   ->   plan: source, growth of arrays
 *
 * A call is tried with the first plan. If that fails with E_LIMIT, it is tried with the next one,
 * which needs less memory (frugal.c). The bytes of the delta do not depend on the plan.
 *
 *     plan    source
 *     0       whole, if the limit is some times the announced length; else stream
 *     1       stream, tight; whole if that takes less, because the profile is short
 *
 * "Tight" means that arrays grow by little, and by amounts that do not depend on the limit. So plan 1
 * succeeds from a certain limit on, and plan 0 needs more. Therefore what succeeds with a limit
 * succeeds with every higher one. */
#ifndef PD_DELTA_PLAN_H
#define PD_DELTA_PLAN_H

#include "codec/inflate.h"

/* The profile in memory whole; or a piece at a time, once for each pass. */
typedef enum pd_plan_source { PD_SOURCE_WHOLE, PD_SOURCE_STREAM } pd_plan_source;

enum { PD_PLANS = 2 };

typedef struct pd_plan_facts {
    pd_format format;
    uint64_t packed;    /* length of the file */
    uint64_t announced; /* what it says it inflates to; 0 if it does not say */
    uint64_t left;      /* bytes that the limit leaves */
    bool keeps_bytes;   /* the profile must stay in memory after the call */
    /* The tests' choice. */
    size_t piece; /* 0; or the source is a stream with such pieces */
} pd_plan_facts;

typedef struct pd_plan {
    pd_plan_source source;
    size_t piece; /* how much a stream inflates at a time */
    bool is_tight;
} pd_plan;

static inline bool pd_plan_is_tight(unsigned nth)
{
    return nth > 0;
}

/* The plan for the try `nth`, which is less than PD_PLANS. */
pd_plan pd_plan_choose(const pd_plan_facts *facts, unsigned nth);

#endif
