/* One profile by itself: what it has, its inflated bytes, and how it is written again.
 *
 *     check      profile -> tables -> every sample -> census
 *     rewrite    profile -> tables -> every sample in its order -> model -> encode -> compress -> sink
 *
 * Nothing is subtracted, added up or dropped, and the stamps stay. So a rewrite is for profiles that were
 * changed: what was added to their tables is numbered densely, and what became unused goes away. */
#include "pprofdelta_profile.h"
#include "base/option_checks.h"

#include "delta/context.h"
#include "delta/kind.h"
#include "profile/stamp.h"

#include <inttypes.h>

struct pprofdelta_profile {
    pprofdelta pd; /* reads the profile, and remembers nothing */
    pd_bytes bytes;
    pprofdelta_census census;
    pd_buffer names; /* of the binary and its build id */
};

/* ---- the census ------------------------------------------------------------------------------ */

/* The tables are gone when the bytes are wanted, so the names are copied. */
static pprofdelta_status describe_binary(pprofdelta_profile *profile, const pd_tables *t,
                                         pprofdelta_error *err)
{
    pprofdelta_census *census = &profile->census;
    pd_mem *mem = &profile->pd.mem;
    census->binary = census->build_id = "";
    if (!t->mappings_len)
        return PPROFDELTA_OK;
    pd_bytes file = t->strings[t->mappings[0].filename], id = t->strings[t->mappings[0].build_id];
    profile->names.len = 0;
    PD_TRY(pd_buffer_add_text(mem, &profile->names, file, err));
    PD_TRY(pd_buffer_add_text(mem, &profile->names, id, err));
    census->binary = (const char *)profile->names.ptr;
    census->build_id = census->binary + file.len + 1;
    census->binary_len = file.len;
    census->build_id_len = id.len;
    return PPROFDELTA_OK;
}

static const char *format_name(const pd_input *input, const void *bytes, size_t len)
{
    if (pd_container_of(bytes, len) != PD_CONTAINER_PLAIN)
        return pd_container_name(pd_container_of(bytes, len));
    return input->dump.rate      ? "text"
           : input->otlp.is_read ? "otlp"
                                 : pd_container_name(PD_CONTAINER_PLAIN);
}

/* No writer of stamps writes a negative duration. */
static pprofdelta_status check_duration(const pd_tables *t, const pprofdelta_stamp *stamp,
                                        pprofdelta_error *err)
{
    bool is_stamped = t->is_stamped || stamp->live;
    if (!is_stamped || t->header.duration_nanos >= 0)
        return PPROFDELTA_OK;
    return PD_FAIL(err, PPROFDELTA_E_PROFILE, PPROFDELTA_STAGE_PROFILE, "duration_nanos",
                   "%" PRId64 " is negative, in a profile with a stamp", t->header.duration_nanos);
}

static void count_request(const pd_request *otlp, pprofdelta_census *census)
{
    if (!otlp->is_read)
        return;
    census->unknown_fields = otlp->unknown_fields;
    census->request = otlp->bytes.ptr;
    census->request_len = otlp->bytes.len;
    census->resources = otlp->facts.resources;
    census->scopes = otlp->facts.scopes;
    census->profiles = otlp->profiles_count;
    census->timestamps = otlp->facts.timestamps;
    census->links = otlp->facts.links;
    census->payloads = otlp->facts.payloads;
    census->other_attributes = otlp->facts.unshown;
}

static pprofdelta_status check_profile(pprofdelta *pd, void *cookie, pprofdelta_error *err)
{
    pprofdelta_profile *profile = cookie;
    pd_input *input = &pd->cur;
    pd_tables *t = &input->tables;
    pd_reading reading = {.bytes = profile->bytes, .chunk = pd->chunk, .takes_several = true};
    PD_TRY(pd_input_parse(input, &reading, err));
    input->columns = (pd_columns){.len = t->types_len};
    PD_TRY(pd_input_samples(input, (pd_sample_taker){0}, err));
    pprofdelta_stamp stamp;
    if (!pd_stamp_of(t, &stamp))
        stamp = (pprofdelta_stamp){0};
    PD_TRY(check_duration(t, &stamp, err));
    profile->census = (pprofdelta_census){
        .format = format_name(input, profile->bytes.ptr, profile->bytes.len),
        .inflated_len = input->converted_len ? input->converted_len : t->len,
        .types = t->types_len,
        .samples = t->samples,
        .mappings = t->mappings_len,
        .locations = t->locations_len,
        .functions = t->functions_len,
        .strings = t->strings_len,
        .by_address = t->by_address,
        .by_lines = t->by_lines,
        .unknown_fields = t->unknown_fields + t->sample_unknown_fields,
        .time_nanos = t->header.time_nanos,
        .duration_nanos = t->header.duration_nanos,
        .is_stamped = t->is_stamped,
        .stamp = stamp,
    };
    count_request(&input->otlp, &profile->census);
    return describe_binary(profile, t, err);
}

pprofdelta_status pprofdelta_profile_open(const pprofdelta_options *options,
                                          const pprofdelta_allocator *allocator, const void *bytes,
                                          size_t len, pprofdelta_profile **out,
                                          pprofdelta_error *err)
{
    pprofdelta *pd;
    PD_TRY(pd_need(out, err));
    PD_TRY(pd_need_array(bytes, len, err));
    PD_TRY(pd_context_new(options, allocator, sizeof **out, &pd, err));
    pprofdelta_profile *profile = (pprofdelta_profile *)pd;
    profile->bytes = (pd_bytes){bytes, len};
    pprofdelta_status status = pd_context_call(pd, check_profile, profile, err);
    if (status)
        pprofdelta_profile_free(profile);
    else
        *out = profile;
    return status;
}

void pprofdelta_profile_free(pprofdelta_profile *profile)
{
    if (profile)
        pprofdelta_free(&profile->pd);
}

pprofdelta_status pprofdelta_profile_census(const pprofdelta_profile *profile,
                                            pprofdelta_census *out)
{
    PD_TRY(pd_result_check(out, NULL));
    pd_result_write(out, &profile->census, sizeof profile->census);
    return PPROFDELTA_OK;
}

/* ---- the bytes ------------------------------------------------------------------------------- */

pprofdelta_status pprofdelta_profile_bytes(pprofdelta_profile *profile, const uint8_t **out,
                                           size_t *out_len, pprofdelta_error *err)
{
    pd_input *input = &profile->pd.cur;
    pd_reading reading = {
        .bytes = profile->bytes, .is_whole = true, .takes_several = true, .unsamples = true};
    PD_TRY(pd_need(out && out_len ? out : NULL, err));
    PD_TRY(pd_input_open(input, &reading, err));
    count_request(&input->otlp, &profile->census); /* which is in another place now */
    *out = input->source.whole.ptr;
    *out_len = input->source.whole.len;
    return PPROFDELTA_OK;
}

/* ---- written again --------------------------------------------------------------------------- */

static void write_samples(pprofdelta *pd)
{
    const pd_tables *t = &pd->cur.tables;
    pd_reader top = pd_reader_of(t->bytes.ptr, t->bytes.len);
    int64_t values[PPROFDELTA_MAX_TYPES];
    pd_field f;
    while (!pd->door.model.writer.status && pd_reader_next(&top, &f)) {
        if (f.number != PD_PROFILE_SAMPLE)
            continue;
        pd_sample_values_read(f.body, values);
        pd_transfer_sample(&pd->cur.transfer, (uint64_t)(f.start - t->bytes.ptr));
        pd_model_add_sample(&pd->door.model, values);
    }
}

static pprofdelta_status write_profile(pprofdelta *pd, pd_bytes *out, pprofdelta_error *err)
{
    pd_input *cur = &pd->cur;
    const pd_tables *t = &cur->tables;
    PD_TRY(pd_output_begin(pd, err));
    write_samples(pd);
    for (size_t i = 0; i < t->comments_len; i++)
        pd_model_add_comment(&pd->door.model,
                             pd_transfer_string(&cur->transfer, t->comments[i].index));
    pd->header = pd_output_header(pd, t->header.time_nanos, t->header.duration_nanos);
    return pd_output_encode(pd, out, err);
}

pprofdelta_status pprofdelta_profile_rewrite(pprofdelta_profile *profile,
                                             const pprofdelta_sink *sink, pprofdelta_error *err)
{
    pprofdelta *pd = &profile->pd;
    pprofdelta_sink own;
    sink = pd_encoder_sink(&pd->door.encoder, sink, &own);
    PD_TRY(pd_sink_check(sink, err));
    pd_input *cur = &pd->cur;
    pd_bytes out;
    uint64_t written;
    pd_reading reading = {.bytes = profile->bytes,
                          .is_whole = true, /* the samples are read at random after the passes */
                          .takes_several = true,
                          .unsamples = true};
    PD_TRY(pd_input_parse(cur, &reading, err));
    cur->columns = (pd_columns){.len = cur->tables.types_len};
    PD_TRY(pd_input_samples(cur, (pd_sample_taker){0}, err));
    PD_TRY(write_profile(pd, &out, err));
    return pd_compress(&pd->door.compressor, &pd->door.mem, out, PD_STEPS_SINK(&pd->steps, sink),
                       &written, err);
}

/* ---- the kind of a file ---------------------------------------------------------------------- */

pprofdelta_status pprofdelta_identify(const void *head, size_t len, pprofdelta_file_kind *kind,
                                      const char **name, pprofdelta_error *err)
{
    pd_head first;
    pd_mem mem;
    PD_TRY(pd_need(kind && name ? kind : NULL, err));
    PD_TRY(pd_need_array(head, len, err));
    pd_mem_init(&mem, NULL, PPROFDELTA_DEFAULT_MAX_MEMORY);
    PD_TRY(pd_source_head(&mem, (pd_bytes){head, len}, &first, err));
    pd_kind found = pd_kind_of((pd_bytes){first.bytes, first.len});
    *kind = first.is_good ? found.kind : PPROFDELTA_FILE_UNKNOWN;
    *name = first.is_good ? found.name : "compressed data that are damaged or cut off";
    return PPROFDELTA_OK;
}
