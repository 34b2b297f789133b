#include "otlp_model.h"

#include "otlp_meaning.h"
#include "pprofdelta_profile.h"
#include "view.h"

#include <inttypes.h>
#include <string.h>

/* ---- pprof ----------------------------------------------------------------------------------- */

typedef struct pprof {
    arena *a;
    const Pd__View__Profile *p;
    const char **locations; /* their texts, made when first needed */
} pprof;

static const char *string_of(const pprof *s, int64_t index)
{
    return meaning_quoted(s->a, s->p->string_table[index]);
}

static const char *pprof_mapping(const pprof *s, uint64_t id)
{
    for (size_t i = 0; id && i < s->p->n_mapping; i++) {
        const Pd__View__Mapping *m = s->p->mapping[i];
        if (m->id != id)
            continue;
        const char *has = arena_format(s->a, "%d%d%d%d", m->has_functions, m->has_filenames,
                                       m->has_line_numbers, m->has_inline_frames);
        return meaning_mapping(s->a, m->memory_start, m->memory_limit, m->file_offset,
                               string_of(s, m->filename), string_of(s, m->build_id), has);
    }
    return "none";
}

/* The first mapping of which anything is known. */
static const char *pprof_main(const pprof *s)
{
    const char *text = "none";
    for (size_t i = 0; i < s->p->n_mapping && !strcmp(text, "none"); i++)
        text = pprof_mapping(s, s->p->mapping[i]->id);
    return text;
}

static const char *pprof_function(const pprof *s, uint64_t id)
{
    for (size_t i = 0; id && i < s->p->n_function; i++) {
        const Pd__View__Function *f = s->p->function[i];
        if (f->id == id)
            return meaning_function(s->a, string_of(s, f->name), string_of(s, f->system_name),
                                    string_of(s, f->filename), f->start_line);
    }
    return "none";
}

static const char *pprof_location(const pprof *s, uint64_t id)
{
    size_t at = 0;
    while (at < s->p->n_location && s->p->location[at]->id != id)
        at++;
    if (at == s->p->n_location)
        return "lost";
    if (s->locations[at])
        return s->locations[at];
    const Pd__View__Location *l = s->p->location[at];
    buf out = buf_begin(s->a);
    MEANING_FORMAT(&out, "(%s @%" PRIx64 "%s", pprof_mapping(s, l->mapping_id), l->address,
                   l->is_folded ? " folded" : "");
    for (size_t i = 0; i < l->n_line; i++)
        MEANING_FORMAT(&out, " [%s %" PRId64 ":%" PRId64 "]",
                       pprof_function(s, l->line[i]->function_id), l->line[i]->line,
                       l->line[i]->column);
    buf_text(&out, ")");
    return s->locations[at] = buf_string(&out);
}

static const char *pprof_labels(const pprof *s, const Pd__View__Sample *sample)
{
    meaning_labels l = meaning_labels_begin(s->a);
    for (size_t i = 0; i < sample->n_label; i++) {
        const Pd__View__Label *label = sample->label[i];
        meaning_labels_add(&l, string_of(s, label->key),
                           label->str
                               ? string_of(s, label->str)
                               : meaning_number(s->a, label->num, string_of(s, label->num_unit)));
    }
    return meaning_labels_end(&l);
}

static void pprof_samples(const pprof *s, meaning *out)
{
    for (size_t i = 0; i < s->p->n_sample; i++) {
        const Pd__View__Sample *sample = s->p->sample[i];
        buf stack = buf_begin(s->a);
        for (size_t j = 0; j < sample->n_location_id; j++)
            buf_text(&stack, pprof_location(s, sample->location_id[j]));
        const char *set = pprof_labels(s, sample);
        for (size_t t = 0; t < sample->n_value; t++)
            if (sample->value[t])
                meaning_add(out, arena_format(s->a, "sample %zu %s {%s} %" PRId64, t,
                                              buf_string(&stack), set, sample->value[t]));
    }
}

static void pprof_header(const pprof *s, meaning *out)
{
    const Pd__View__Profile *p = s->p;
    int64_t time = p->time_nanos, duration = p->duration_nanos < 0 ? 0 : p->duration_nanos;
    if (time <= 0)
        meaning_add_times(out, 0, (uint64_t)duration);
    else if (duration <= time)
        meaning_add_times(out, (uint64_t)(time - duration), (uint64_t)duration);
    else
        meaning_add_times(out, 0, (uint64_t)time);
    const char *period_type = "0'' 0''";
    if (p->period_type)
        period_type = arena_format(s->a, "%s %s", string_of(s, p->period_type->type),
                                   string_of(s, p->period_type->unit));
    meaning_add(out, arena_format(s->a, "period %s %" PRId64, period_type, p->period));
    for (size_t i = 0; i < p->n_comment; i++)
        meaning_add_text(out, arena_format(s->a, "comment %zu", i), string_of(s, p->comment[i]));
    meaning_add_text(out, "drop_frames", string_of(s, p->drop_frames));
    meaning_add_text(out, "keep_frames", string_of(s, p->keep_frames));
    meaning_add_text(out, "doc_url", string_of(s, p->doc_url));
    meaning_add_text(out, "default_sample_type", string_of(s, p->default_sample_type));
}

bool otlp_model_of_pprof(arena *a, const void *bytes, size_t len, otlp_model *out)
{
    Pd__View__Profile *p = view_unpack(bytes, len);
    if (!p)
        return false;
    pprof s = {a, p, ARENA_ARRAY(a, const char *, p->n_location)};
    meaning l = {.arena = a};
    *out = (otlp_model){.types = p->n_sample_type, .resource = ""};
    for (size_t i = 0; i < p->n_sample_type; i++)
        meaning_add(&l, arena_format(a, "type %zu %s %s", i, string_of(&s, p->sample_type[i]->type),
                                     string_of(&s, p->sample_type[i]->unit)));
    meaning_add_text(&l, "main", pprof_main(&s));
    pprof_samples(&s, &l);
    pprof_header(&s, &l);
    out->text = meaning_join(&l);
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
        !otlp_model_of_pprof(a, bytes, len, &back))
        return "it cannot be unpacked";
    return otlp_model_differ(a, &back, out);
}

void otlp_model_read(arena *a, const void *bytes, size_t len, otlp_model *out)
{
    pprofdelta_profile *profile;
    pprofdelta_error err = {.text = ""};
    *out = (otlp_model){.text = "", .resource = ""};
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
                   otlp_model_of_pprof(a, inflated, inflated_len, out);
    pprofdelta_profile_free(profile);
    return is_read;
}

const char *otlp_model_differ(arena *a, const otlp_model *one, const otlp_model *other)
{
    if (other->wrong)
        return other->wrong;
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
