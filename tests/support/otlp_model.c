#include "otlp_model.h"

#include "pprofdelta_profile.h"
#include "run.h"
#include "view.h"

#include <inttypes.h>
#include <string.h>

/* ---- pprof ----------------------------------------------------------------------------------- */

void otlp_model_add(otlp_lines *l, const char *name, const char *text)
{
    otlp_lines_add(l, arena_format(l->arena, "%s %s", name, text));
}

void otlp_model_add_times(otlp_lines *l, uint64_t start, uint64_t duration)
{
    otlp_lines_add(l, arena_format(l->arena, "time %" PRIu64 " %" PRIu64, start, duration));
}

const char *otlp_model_join(otlp_lines *l, const otlp_lines *points)
{
    buf all = buf_begin(l->arena);
    for (size_t i = 0; i < points->len; i++)
        otlp_lines_add(l, points->texts[i]);
    sort_texts(l->texts, l->len);
    for (size_t i = 0; i < l->len; i++) {
        buf_text(&all, l->texts[i]);
        buf_text(&all, "\n");
    }
    return buf_string(&all);
}

static const char *string_of(arena *a, const Pd__View__Profile *p, int64_t index)
{
    return otlp_quoted(a, p->string_table[index]);
}

static void add_header(otlp_lines *out, const Pd__View__Profile *p)
{
    arena *a = out->arena;
    int64_t time = p->time_nanos, duration = p->duration_nanos < 0 ? 0 : p->duration_nanos;
    if (time <= 0)
        otlp_model_add_times(out, 0, (uint64_t)duration);
    else if (duration <= time)
        otlp_model_add_times(out, (uint64_t)(time - duration), (uint64_t)duration);
    else
        otlp_model_add_times(out, 0, (uint64_t)time);
    const char *period_type = "0'' 0''";
    if (p->period_type)
        period_type = arena_format(a, "%s %s", string_of(a, p, p->period_type->type),
                                   string_of(a, p, p->period_type->unit));
    otlp_lines_add(out, arena_format(a, "period %s %" PRId64, period_type, p->period));
    for (size_t i = 0; i < p->n_comment; i++)
        otlp_model_add(out, arena_format(a, "comment %zu", i), string_of(a, p, p->comment[i]));
    otlp_model_add(out, "drop_frames", string_of(a, p, p->drop_frames));
    otlp_model_add(out, "keep_frames", string_of(a, p, p->keep_frames));
    otlp_model_add(out, "doc_url", string_of(a, p, p->doc_url));
    otlp_model_add(out, "default_sample_type", string_of(a, p, p->default_sample_type));
}

static bool model_of_pprof(arena *a, const void *bytes, size_t len, otlp_model *out)
{
    Pd__View__Profile *p = view_unpack(bytes, len);
    if (!p)
        return false;
    otlp_lines l = {.arena = a}, points = otlp_points_of_profile(a, p);
    *out = (otlp_model){.types = p->n_sample_type, .resource = ""};
    for (size_t i = 0; i < p->n_sample_type; i++)
        otlp_lines_add(&l, arena_format(a, "type %zu %s %s", i,
                                        string_of(a, p, p->sample_type[i]->type),
                                        string_of(a, p, p->sample_type[i]->unit)));
    add_header(&l, p);
    out->points = points.len;
    out->text = otlp_model_join(&l, &points);
    view_free(p);
    return true;
}

/* ---- what was written ------------------------------------------------------------------------ */

/* The library has read the request, and what it makes of it means what the model means. */
static const char *read_back(arena *a, pprofdelta_profile *profile, otlp_model *out)
{
    pprofdelta_census census = {.size = sizeof census};
    const uint8_t *bytes;
    size_t len;
    otlp_model back;
    if (pprofdelta_profile_bytes(profile, &bytes, &len, NULL))
        return "it cannot be unpacked";
    pprofdelta_profile_census(profile, &census);
    if (!census.request || !otlp_model_of_request(a, census.request, census.request_len, out) ||
        !model_of_pprof(a, bytes, len, &back))
        return "it cannot be unpacked";
    return otlp_model_differ(a, &back, out);
}

void otlp_model_read(arena *a, const void *bytes, size_t len, otlp_model *out)
{
    pprofdelta_profile *profile;
    pprofdelta_error err = {.text = ""};
    *out = (otlp_model){.text = "", .resource = "", .is_empty = !len};
    if (!len)
        return;
    if (pprofdelta_profile_open(NULL, NULL, bytes, len, &profile, &err)) {
        out->wrong = arena_format(a, "the library refuses it: %s: %s", err.field, err.text);
        return;
    }
    const char *wrong = read_back(a, profile, out);
    out->wrong = wrong;
    pprofdelta_profile_free(profile);
}

bool otlp_model_read_pprof(arena *a, const void *bytes, size_t len, otlp_model *out)
{
    pprofdelta_profile *profile;
    const uint8_t *inflated;
    size_t inflated_len;
    if (pprofdelta_profile_open(NULL, NULL, bytes, len, &profile, NULL))
        return false;
    bool is_read = !pprofdelta_profile_bytes(profile, &inflated, &inflated_len, NULL) &&
                   model_of_pprof(a, inflated, inflated_len, out);
    pprofdelta_profile_free(profile);
    return is_read;
}

buf otlp_request_of(arena *a, const pprofdelta_options *options, buf profile)
{
    pprofdelta_options as_otlp = *options;
    pprofdelta_profile *opened;
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    as_otlp.format = PPROFDELTA_OTLP;
    if (pprofdelta_profile_open(&as_otlp, NULL, profile.ptr, profile.len, &opened, NULL))
        return c.bytes;
    pprofdelta_profile_rewrite(opened, &sink, NULL);
    pprofdelta_profile_free(opened);
    return c.bytes;
}

const char *otlp_model_differ(arena *a, const otlp_model *one, const otlp_model *other)
{
    if (other->wrong)
        return other->wrong;
    if (other->is_empty)
        return one->points ? "the request is empty, and the profile has samples" : NULL;
    const char *p = one->text, *q = other->text;
    if (!strcmp(p, q))
        return NULL;
    while (*p && *q) {
        size_t n = strcspn(p, "\n"), m = strcspn(q, "\n");
        if (n != m || memcmp(p, q, n) != 0)
            break;
        p += n + 1;
        q += m + 1;
    }
    return arena_format(a, "pprof has %.*s, OTLP has %.*s", (int)strcspn(p, "\n"), p,
                        (int)strcspn(q, "\n"), q);
}
