/* An output as pprof and as OTLP: both mean the same (otlp_model.h).
 *
 * A door inside a process writes a window as often as it is asked to, so it can write the same window
 * in both formats: its encoder is told another one meanwhile. */
#ifndef PD_TESTS_FUZZ_SAME_MEANING_H
#define PD_TESTS_FUZZ_SAME_MEANING_H

#include "fuzz.h"
#include "otlp_model.h"

/* The model is slow, so only short outputs are compared. */
static inline bool meaning_is_compared(size_t pprof_len)
{
    return pprof_len <= 16384;
}

static inline void require_same_meaning(buf pprof, buf request)
{
    arena a = {0};
    otlp_model meant, otlp;
    require(otlp_model_read_pprof(&a, pprof.ptr, pprof.len, &meant));
    otlp_model_read(&a, request.ptr, request.len, &otlp);
    fuzz_agree(otlp_model_differ(&a, &meant, &otlp));
    require(otlp.is_empty || meant.types == otlp.types);
    arena_free(&a);
}

#endif
