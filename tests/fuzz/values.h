/* What the values of a profile add up to, read apart from the library's own sums. */
#ifndef PD_TESTS_FUZZ_VALUES_H
#define PD_TESTS_FUZZ_VALUES_H

#include "fuzz.h"

#include "base/sum.h"
#include "profile/fields.h"
#include "wire/reader.h"

typedef struct sums {
    pprofdelta_sum types[PPROFDELTA_MAX_TYPES];
    uint64_t samples;
    bool is_small; /* every value is from 0 to 2^40: no sum of them wraps in 64 bits */
} sums;

static inline void read_value(sums *r, size_t *column, uint64_t value)
{
    require(*column < PPROFDELTA_MAX_TYPES);
    r->is_small &= value <= UINT64_C(1) << 40;
    pd_sum_add(&r->types[(*column)++], (int64_t)value);
}

static inline void read_sample(sums *r, pd_reader body)
{
    pd_field f;
    size_t column = 0;
    uint64_t value;
    while (pd_reader_next(&body, &f)) {
        if (f.number != PD_SAMPLE_VALUE)
            continue;
        if (f.wire == PD_WIRE_VARINT)
            read_value(r, &column, f.value);
        else
            while (pd_reader_varint(&f.body, &value))
                read_value(r, &column, value);
    }
    r->samples++;
}

/* Of a profile that the library accepted. */
static inline sums read_profile(pd_bytes in)
{
    sums r = {.is_small = true};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.max_memory = FUZZ_MAX_MEMORY;
    pprofdelta_profile *profile;
    const uint8_t *bytes;
    size_t len;
    require(!pprofdelta_profile_open(&options, NULL, in.ptr, in.len, &profile, NULL));
    require(!pprofdelta_profile_bytes(profile, &bytes, &len, NULL));
    pd_reader top = pd_reader_of(bytes, len);
    pd_field f;
    while (pd_reader_next(&top, &f))
        if (f.number == PD_PROFILE_SAMPLE)
            read_sample(&r, f.body);
    pprofdelta_profile_free(profile);
    return r;
}

#endif
