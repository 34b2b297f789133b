/* A model as a pprof profile: what the model has encoded, and behind it the tables and the scalars. */
#include "encode/encode.h"
#include "profile/fields.h"

static void put_mapping(pd_writer *w, pd_model *m, uint32_t id)
{
    const pd_model_mapping *mapping = &m->mappings[id - 1];
    PD_WRITE_VARINTS(w, &m->scratch, PD_MAPPING_ID, id, mapping->start, mapping->limit,
                     mapping->file_offset, mapping->filename, mapping->build_id);
    for (uint32_t bit = 0; mapping->has >> bit; bit++)
        pd_write_varint(w, &m->scratch, PD_MAPPING_HAS_FUNCTIONS + bit, mapping->has >> bit & 1);
    pd_write_part(w, &m->encoded, PD_PROFILE_MAPPING, &m->scratch);
}

/* The lines of a location are messages in it: m->labels has one at a time. */
static void put_location(pd_writer *w, pd_model *m, uint32_t id)
{
    const pd_model_location *location = &m->locations[id - 1];
    PD_WRITE_VARINTS(w, &m->scratch, PD_LOCATION_ID, id, location->mapping, location->address);
    for (size_t i = pd_model_lines_begin(m, id); i < location->lines_end; i++) {
        const pd_line *line = &m->lines[i];
        if (!line->function)
            continue;
        PD_WRITE_VARINTS(w, &m->labels, PD_LINE_FUNCTION_ID, line->function, (uint64_t)line->line,
                         (uint64_t)line->column);
        pd_write_part(w, &m->scratch, PD_LOCATION_LINE, &m->labels);
    }
    pd_write_varint(w, &m->scratch, PD_LOCATION_IS_FOLDED, location->is_folded);
    pd_write_part(w, &m->encoded, PD_PROFILE_LOCATION, &m->scratch);
}

static void put_function(pd_writer *w, pd_model *m, uint32_t id)
{
    const pd_model_function *f = &m->functions[id - 1];
    PD_WRITE_VARINTS(w, &m->scratch, PD_FUNCTION_ID, id, f->name, f->system_name, f->filename,
                     (uint64_t)f->start_line);
    pd_write_part(w, &m->encoded, PD_PROFILE_FUNCTION, &m->scratch);
}

static void put_strings(pd_writer *w, pd_model *m)
{
    for (uint32_t i = 0; i < m->string_keys.len && !w->status; i++) {
        pd_bytes text = pd_model_text_of(m, i);
        pd_write_bytes(w, &m->encoded, PD_PROFILE_STRING_TABLE, text);
    }
}

static void put_scalars(pd_writer *w, pd_model *m, const pd_model_header *h)
{
    pd_buffer *out = &m->encoded;
    PD_WRITE_VARINTS(w, out, PD_PROFILE_DROP_FRAMES, h->drop_frames, h->keep_frames,
                     (uint64_t)h->time_nanos, (uint64_t)h->duration_nanos);
    if (h->has_period_type) {
        PD_WRITE_VARINTS(w, &m->scratch, PD_VALUE_TYPE_TYPE, h->period_type, h->period_unit);
        pd_write_part(w, out, PD_PROFILE_PERIOD_TYPE, &m->scratch);
    }
    pd_write_varint(w, out, PD_PROFILE_PERIOD, (uint64_t)h->period);
    for (size_t i = 0; i < m->comments_len; i++)
        pd_write_element(w, &m->scratch, m->comments[i]);
    if (m->comments_len)
        pd_write_part(w, out, PD_PROFILE_COMMENT, &m->scratch);
    pd_write_varint(w, out, PD_PROFILE_DEFAULT_SAMPLE_TYPE, h->default_sample_type);
    pd_write_varint(w, out, PD_PROFILE_DOC_URL, h->doc_url);
}

pprofdelta_status pd_encode_pprof(pd_encoder *e, pd_model *m, const pd_model_header *h)
{
    pd_writer *w = &m->writer;
    for (uint32_t id = 1; id <= m->mappings_len && !w->status; id++)
        put_mapping(w, m, id);
    for (uint32_t id = 1; id <= m->location_keys.len && !w->status; id++)
        put_location(w, m, id);
    for (uint32_t id = 1; id <= m->function_keys.len && !w->status; id++)
        put_function(w, m, id);
    put_strings(w, m);
    put_scalars(w, m, h);
    e->strings = m->string_keys.len;
    return w->status;
}
