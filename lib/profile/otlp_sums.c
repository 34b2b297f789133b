#include "profile/otlp_sums.h"

#include "base/sum.h"
#include "profile/fields.h"
#include "wire/reader.h"

typedef struct proof {
    pprofdelta_sum *sums;
    size_t profiles, read; /* Profiles that there must be, and that were read */
    uint64_t lengths[PD_OTLP_DICTIONARY_STACK_TABLE + 1]; /* of the tables, by field number */
    uint64_t stack, attribute;                            /* the largest index of each */
    bool is_broken;
} proof;

static bool next(proof *p, pd_reader *r, pd_field *f)
{
    bool has_field = pd_reader_next(r, f);
    p->is_broken |= r->trouble != NULL;
    return has_field && !p->is_broken;
}

/* Reads a packed field of indices, and keeps the largest. */
static void read_indices(proof *p, pd_reader packed, uint64_t *largest)
{
    uint64_t index;
    while (pd_reader_varint(&packed, &index))
        *largest = index > *largest ? index : *largest;
    p->is_broken |= packed.trouble != NULL;
}

static void read_sample(proof *p, pd_reader sample, pprofdelta_sum *sum)
{
    pd_field f;
    uint64_t value = 0;
    size_t values = 0;
    while (next(p, &sample, &f)) {
        if (f.number == PD_OTLP_SAMPLE_STACK_INDEX)
            p->stack = f.value > p->stack ? f.value : p->stack;
        else if (f.number == PD_OTLP_SAMPLE_ATTRIBUTE_INDICES)
            read_indices(p, f.body, &p->attribute);
        else if (f.number == PD_OTLP_SAMPLE_VALUES)
            while (pd_reader_varint(&f.body, &value))
                values++;
    }
    p->is_broken |= values != 1;
    pd_sum_add(sum, (int64_t)value);
}

static void read_profile(proof *p, pd_reader profile)
{
    pd_field f;
    if (p->read == p->profiles) {
        p->is_broken = true;
        return;
    }
    pprofdelta_sum *sum = &p->sums[p->read++];
    *sum = (pprofdelta_sum){0, 0};
    while (next(p, &profile, &f)) {
        if (f.number == PD_OTLP_PROFILE_SAMPLES)
            read_sample(p, f.body, sum);
        else if (f.number == PD_OTLP_PROFILE_ATTRIBUTE_INDICES)
            read_indices(p, f.body, &p->attribute);
    }
}

static void read_resource_profiles(proof *p, pd_reader resource)
{
    pd_field scope, f;
    while (next(p, &resource, &scope)) {
        if (scope.number != PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES)
            continue;
        while (next(p, &scope.body, &f))
            if (f.number == PD_OTLP_SCOPE_PROFILES_PROFILES)
                read_profile(p, f.body);
    }
}

static void read_dictionary(proof *p, pd_reader dictionary)
{
    pd_field f;
    while (next(p, &dictionary, &f))
        if (f.number < sizeof p->lengths / sizeof *p->lengths)
            p->lengths[f.number]++;
}

bool pd_otlp_sums(pd_bytes request, pprofdelta_sum *sums, size_t profiles)
{
    proof p = {.sums = sums, .profiles = profiles};
    pd_reader r = pd_reader_of(request.ptr, request.len);
    pd_field f;
    while (next(&p, &r, &f)) {
        if (f.number == PD_OTLP_REQUEST_RESOURCE_PROFILES)
            read_resource_profiles(&p, f.body);
        else if (f.number == PD_OTLP_REQUEST_DICTIONARY)
            read_dictionary(&p, f.body);
    }
    return !p.is_broken && p.read == profiles &&
           p.stack < p.lengths[PD_OTLP_DICTIONARY_STACK_TABLE] &&
           p.attribute < p.lengths[PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE];
}
