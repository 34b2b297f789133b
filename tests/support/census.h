/* What a profile has, asked in one call: it is opened, counted and freed. */
#ifndef PD_TESTS_CENSUS_H
#define PD_TESTS_CENSUS_H

#include "pprofdelta_profile.h"

/* *out has no pointers into the profile. out may be NULL: the profile is only checked. */
static inline pprofdelta_status census_within(const pprofdelta_options *options,
                                              const pprofdelta_allocator *allocator,
                                              const void *bytes, size_t len, pprofdelta_census *out,
                                              pprofdelta_error *err)
{
    pprofdelta_profile *profile;
    pprofdelta_status status =
        pprofdelta_profile_open(options, allocator, bytes, len, &profile, err);
    if (status)
        return status;
    if (out) {
        out->size = sizeof *out;
        pprofdelta_profile_census(profile, out);
        out->binary = out->build_id = NULL;
        out->request = NULL;
    }
    pprofdelta_profile_free(profile);
    return status;
}

static inline pprofdelta_status census_of(const void *bytes, size_t len, pprofdelta_census *out,
                                          pprofdelta_error *err)
{
    return census_within(NULL, NULL, bytes, len, out, err);
}

#endif
