/* The calls that look at a profile and remember nothing. */
#include "delta/context.h"
#include "delta/kind.h"
#include "profile/stamp.h"

#include <inttypes.h>

static void describe_binary(const pd_tables *t, pprofdelta_census *census)
{
    census->binary = census->build_id = "";
    if (!t->mappings_len)
        return;
    pd_bytes file = t->strings[t->mappings[0].filename], id = t->strings[t->mappings[0].build_id];
    if (file.len) {
        census->binary = (const char *)file.ptr;
        census->binary_len = file.len;
    }
    if (id.len) {
        census->build_id = (const char *)id.ptr;
        census->build_id_len = id.len;
    }
}

static const char *format_name(const pd_look *look, const void *bytes, size_t len)
{
    if (pd_format_of(bytes, len) != PD_FORMAT_PLAIN)
        return pd_format_name(pd_format_of(bytes, len));
    return look->dump.rate ? "text" : look->otlp.is_read ? "otlp" : pd_format_name(PD_FORMAT_PLAIN);
}

/* No writer of stamps writes a negative duration. */
static pprofdelta_status check_duration(const pd_tables *t, const pprofdelta_stamp *stamp,
                                        pprofdelta_error *err)
{
    bool is_stamped = t->is_stamped || stamp->live;
    if (!is_stamped || t->header.duration_nanos >= 0)
        return PPROFDELTA_OK;
    return pd_fail(err, PPROFDELTA_E_PROFILE, "profile", "duration_nanos", PPROFDELTA_NOWHERE,
                   PPROFDELTA_NOWHERE, "%" PRId64 " is negative, in a profile with a stamp",
                   t->header.duration_nanos);
}

typedef struct check_call {
    const void *bytes;
    size_t len;
    pprofdelta_census *census;
} check_call;

static pprofdelta_status check(pprofdelta *pd, void *cookie, pprofdelta_error *err)
{
    const check_call *call = cookie;
    const void *bytes = call->bytes;
    size_t len = call->len;
    pprofdelta_census *census = call->census;
    pd_look *look = &pd->cur;
    pd_tables *t = &look->tables;
    pd_reading reading = pd_context_reading(pd, look, (pd_bytes){bytes, len}, (pd_plan_facts){0});
    reading.takes_otlp = true;
    pprofdelta_status status = pd_look_parse(look, &reading, err);
    look->columns = (pd_columns){.len = t->types_len};
    if (!status)
        status = pd_look_samples(look, (pd_sample_taker){0}, err);
    pprofdelta_stamp stamp = {0};
    if (!status && !pd_stamp_of(t, &stamp))
        stamp = (pprofdelta_stamp){0};
    if (!status)
        status = check_duration(t, &stamp, err);
    if (status || !census)
        return status;
    *census = (pprofdelta_census){
        .format = format_name(look, bytes, len),
        .inflated_len = look->otlp.is_read ? look->otlp.bytes.len : t->len,
        .types = t->types_len,
        .samples = t->samples,
        .mappings = t->mappings_len,
        .locations = t->locations_len,
        .functions = t->functions_len,
        .strings = t->strings_len,
        .by_address = t->by_address,
        .by_lines = t->by_lines,
        .unknown_fields = look->otlp.is_read ? look->otlp.unknown_fields
                                             : t->unknown_fields + t->sample_unknown_fields,
        .time_nanos = t->header.time_nanos,
        .duration_nanos = t->header.duration_nanos,
        .is_stamped = t->is_stamped,
        .stamp = stamp,
    };
    describe_binary(t, census);
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_check(pprofdelta *pd, const void *bytes, size_t len,
                                   pprofdelta_census *census, pprofdelta_error *err)
{
    check_call call = {bytes, len, census};
    pprofdelta_status status = pd_context_refuse_null(bytes, len, err);
    if (status)
        return status;
    /* A pending window needs what is in memory. */
    return pd_is_pending(pd) ? check(pd, &call, err) : pd_call_with_plans(pd, check, &call, err);
}

pprofdelta_status pprofdelta_identify(const void *head, size_t len, pprofdelta_file_kind *kind,
                                      const char **name, pprofdelta_error *err)
{
    pd_head first;
    pd_mem mem;
    if (!head && len)
        return pd_refuse(err, "head is NULL and len is not 0");
    pd_mem_init(&mem, NULL, PPROFDELTA_DEFAULT_MAX_MEMORY);
    pprofdelta_status status = pd_source_head(&mem, (pd_bytes){head, len}, &first, err);
    if (status)
        return status;
    pd_kind found = pd_kind_of((pd_bytes){first.bytes, first.len});
    *kind = first.is_good ? found.kind : PPROFDELTA_FILE_UNKNOWN;
    *name = first.is_good ? found.name : "compressed data that are damaged or cut off";
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_inflate(pprofdelta *pd, const void *bytes, size_t len,
                                     const uint8_t **out, size_t *out_len, pprofdelta_error *err)
{
    pd_reading reading = {.bytes = {bytes, len},
                          .plan = {.source = PD_SOURCE_WHOLE},
                          .takes_otlp = true,
                          .unsamples = true};
    pprofdelta_status status = pd_context_refuse_null(bytes, len, err);
    if (!status)
        status = pd_look_open(&pd->cur, &reading, err);
    if (status)
        return status;
    *out = pd->cur.source.whole.ptr;
    *out_len = pd->cur.source.whole.len;
    return PPROFDELTA_OK;
}

int pprofdelta_request_of(const pprofdelta *pd, pprofdelta_request *out)
{
    const pd_request *otlp = &pd->cur.otlp;
    if (!otlp->is_read)
        return 0;
    pprofdelta_request request = {
        .size = out->size,
        .bytes = otlp->bytes.ptr,
        .len = otlp->bytes.len,
        .resources = otlp->resources,
        .scopes = otlp->scopes,
        .profiles = otlp->profiles_count,
        .samples = otlp->samples,
        .timestamps = otlp->timestamps,
        .links = otlp->links,
        .payloads = otlp->payloads,
        .other_attributes = otlp->dictionary.unshown,
    };
    memcpy(out, &request, out->size < sizeof request ? out->size : sizeof request);
    return 1;
}
