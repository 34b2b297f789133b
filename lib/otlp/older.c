/* Requests of an earlier opentelemetry-proto, whose fields have other numbers. Nothing in a request says of
 * which version it is. One that cannot be read is known by the wire types of some fields:
 *
 *     field        1.10 and later     before
 *     Profile 3    fixed64            a list or a table (1.7)
 *     Profile 4    varint             a table (1.5)
 *     Profile 5    a message          varint (1.7)
 *     Profile 6    varint             a message or a table (1.7)
 *     Profile 7    bytes              varint (1.7)
 *     Profile 8    varint             bytes (1.8), a list or a table (1.7)
 *     Sample 2     attributes         values (1.9), a number (1.7)
 *     Sample 3     varint             attributes (1.9), values (1.7)
 *     Sample 4     values             varint (1.9), attributes (1.7)
 *
 * A sign in the profile alone may be damage: the samples have to agree. */
#include "otlp/request.h"

/* Packed attributes or values where 1.10 has a link, or a list in 2 without values and timestamps. */
static bool is_older_sample(pd_reader sample)
{
    bool has[PD_OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO + 1] = {false};
    pd_field f;
    while (pd_reader_next(&sample, &f)) {
        if (f.number <= PD_OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO)
            has[f.number] = true;
        if (f.number == PD_OTLP_SAMPLE_LINK_INDEX && f.wire == PD_WIRE_BYTES)
            return true;
    }
    return has[PD_OTLP_SAMPLE_ATTRIBUTE_INDICES] && !has[PD_OTLP_SAMPLE_VALUES] &&
           !has[PD_OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO];
}

typedef struct signs {
    size_t profiles, samples, older_samples; /* profiles with a sign */
} signs;

static void look_at_profile(pd_reader profile, signs *s)
{
    static const uint8_t before[9] = {
        [3] = PD_WIRE_BYTES, [4] = PD_WIRE_BYTES,  [5] = PD_WIRE_VARINT,
        [6] = PD_WIRE_BYTES, [7] = PD_WIRE_VARINT, [8] = PD_WIRE_BYTES};
    pd_field f;
    while (pd_reader_next(&profile, &f)) {
        bool is_sample = f.number == PD_OTLP_PROFILE_SAMPLES && f.wire == PD_WIRE_BYTES;
        s->samples += is_sample;
        s->older_samples += is_sample && is_older_sample(f.body);
        s->profiles += f.number >= 3 && f.number < sizeof before && f.wire == before[f.number];
    }
}

/* Looks at each profile in a message, which are so many levels below it. */
static void find_signs(pd_reader message, unsigned levels, signs *s)
{
    static const uint32_t fields[] = {PD_OTLP_SCOPE_PROFILES_PROFILES,
                                      PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES,
                                      PD_OTLP_REQUEST_RESOURCE_PROFILES};
    pd_field f;
    if (!levels)
        look_at_profile(message, s);
    while (levels && pd_reader_find(&message, fields[levels - 1], &f))
        if (f.wire == PD_WIRE_BYTES)
            find_signs(f.body, levels - 1, s);
}

pprofdelta_status pd_request_tell_older(pd_bytes bytes, pprofdelta_status status,
                                        pprofdelta_error *err)
{
    signs s = {0};
    find_signs(pd_request_reader(bytes), 3, &s);
    if (s.samples ? !s.older_samples : !s.profiles)
        return status;
    return PD_FAIL(err, PPROFDELTA_E_PROFILE, PPROFDELTA_STAGE_PROFILE, NULL,
                   "this is an OTLP request of opentelemetry-proto %s or older, whose fields have "
                   "other numbers: its sender has to write 1.10 or later",
                   s.profiles ? "1.8" : "1.9");
}
