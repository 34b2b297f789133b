/* What the tests of OTLP share: a resource, and how a request is compared with the pprof output that
 * stands for the same. */
#ifndef PD_TESTS_OTLP_KIT_H
#define PD_TESTS_OTLP_KIT_H

#include "../support/test.h"

#include "otlp_model.h"
#include "run.h"

static const pprofdelta_attribute resource[] = {
    {"service.name", "first"}, {"host.name", "h\xff"}, {"service.name", "second"}, {"empty", NULL}};
static const char resource_text[] = "12'service.name'=6'second';9'host.name'=4'h\\xef\\xbf\\xbd';"
                                    "5'empty'=0'';";

static inline pprofdelta_options as_otlp(pprofdelta_options o)
{
    o.format = PPROFDELTA_OTLP;
    o.resource = resource;
    o.resource_len = sizeof resource / sizeof *resource;
    return o;
}

/* NULL if the two outputs mean the same. *otlp is set. */
static inline const char *differ(arena *a, buf pprof, buf request, otlp_model *otlp)
{
    otlp_model meant;
    if (!otlp_model_read_pprof(a, pprof.ptr, pprof.len, &meant))
        return "the pprof output cannot be read";
    otlp_model_read(a, request.ptr, request.len, otlp);
    if (otlp->wrong)
        return otlp->wrong;
    if (otlp->types != meant.types)
        return "there is not one profile for each type";
    const char *wrong = otlp_model_differ(a, &meant, otlp);
    return wrong ? wrong : strcmp(otlp->resource, resource_text) ? otlp->resource : NULL;
}

/* How many ids both have. The order of the types may differ. */
static inline size_t common_ids(const otlp_model *a, const otlp_model *b)
{
    size_t common = 0;
    for (size_t i = 0; i < a->types; i++)
        for (size_t j = 0; j < b->types; j++)
            common += !memcmp(a->ids[i], b->ids[j], sizeof a->ids[i]);
    return common;
}

static inline bool same_ids(const otlp_model *a, const otlp_model *b)
{
    return a->types == b->types && common_ids(a, b) == a->types;
}

/* The delta of two profiles. */
static inline buf pair(arena *a, const pprofdelta_options *options, buf prev, buf cur,
                       pprofdelta_status *status)
{
    pprofdelta *pd;
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_options o = *options;
    o.flags |= PPROFDELTA_NO_SEQUENCE;
    CHECK(!pprofdelta_new(&o, NULL, &pd, NULL));
    *status = pprofdelta_base(pd, prev.ptr, prev.len, NULL);
    if (!*status)
        *status = pprofdelta_window(pd, cur.ptr, cur.len, &sink, NULL, NULL);
    pprofdelta_free(pd);
    return c.bytes;
}

#endif
