#include "model/copy.h"

pprofdelta_status pd_model_copy_begin(pd_model_copy *c, pd_mem *mem, const pd_model *from,
                                      pd_model *to, pprofdelta_error *err)
{
    const size_t lens[] = {from->string_keys.len, from->function_keys.len + 1,
                           from->mappings_len + 1, from->location_keys.len + 1};
    c->from = from;
    c->to = to;
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        PD_TRY(pd_mem_reserve(mem, &c->ids[i], &c->caps[i], lens[i], sizeof *c->ids[i], err));
        memset(c->ids[i], 0, lens[i] * sizeof *c->ids[i]);
    }
    return PPROFDELTA_OK;
}

static uint32_t copy_string(pd_model_copy *c, uint32_t string)
{
    if (!c->strings[string])
        c->strings[string] = pd_model_string_of_key(c->to, pd_model_text_of(c->from, string),
                                                    c->from->string_keys.keys[string]) +
                             1;
    return c->strings[string] - 1;
}

static uint32_t copy_function(pd_model_copy *c, uint32_t function)
{
    if (!function || c->functions[function])
        return c->functions[function];
    const pd_model_function *f = &c->from->functions[function - 1];
    pd_model_function out = {.start_line = f->start_line};
    out.name = copy_string(c, f->name);
    out.system_name = copy_string(c, f->system_name);
    out.filename = copy_string(c, f->filename);
    return c->functions[function] = pd_model_add_function(c->to, &out);
}

static uint32_t copy_mapping(pd_model_copy *c, uint32_t mapping)
{
    if (!mapping || c->mappings[mapping])
        return c->mappings[mapping];
    pd_model_mapping out = c->from->mappings[mapping - 1];
    uint32_t id = pd_model_find_mapping(c->to, out.key);
    if (!id) {
        out.filename = copy_string(c, out.filename);
        out.build_id = copy_string(c, out.build_id);
        id = pd_model_add_mapping(c->to, out.key, &out);
    }
    return c->mappings[mapping] = id;
}

static uint32_t copy_location(pd_model_copy *c, uint32_t location)
{
    const pd_model *from = c->from;
    const pd_model_location *l = &from->locations[location - 1];
    pd_key ident = from->location_keys.keys[location - 1];
    uint32_t id = pd_model_find_location(c->to, ident);
    uint64_t address = l->address;
    if (id)
        return id;
    for (size_t i = pd_model_lines_begin(from, location); i < l->lines_end; i++) {
        const pd_model_line *line = &from->lines[i];
        pd_model_add_line(c->to, copy_function(c, line->function), line->line, line->column);
    }
    uint32_t mapping = copy_mapping(c, l->mapping);
    if (address)
        address +=
            pd_model_mapping_start(c->to, mapping) - pd_model_mapping_start(from, l->mapping);
    return pd_model_add_location(c->to, ident, mapping, address, l->is_folded);
}

void pd_model_copy_sample(pd_model_copy *c, size_t at)
{
    pd_model_sample sample;
    pd_model_label label;
    uint32_t location;
    pd_model_next_sample(c->from, &at, &sample);
    uint8_t *out = sample.stack.len ? pd_model_stack(c->to, sample.stack.len) : NULL;
    while (out && pd_model_next_location(&sample.stack, &location)) {
        if (!c->locations[location])
            c->locations[location] = pd_encode_id(copy_location(c, location));
        out = pd_model_stack_put(out, c->locations[location]);
    }
    if (out)
        pd_model_stack_end(c->to, out);
    while (pd_model_next_label(&sample.labels, &label)) {
        uint32_t key = copy_string(c, label.key), str = copy_string(c, label.str);
        pd_model_add_label(c->to, key, str, label.num, copy_string(c, label.num_unit));
    }
}

void pd_model_copy_release(pd_model_copy *c, pd_mem *mem)
{
    for (size_t i = 0; i < sizeof c->ids / sizeof *c->ids; i++)
        pd_mem_release(mem, &c->ids[i], &c->caps[i], sizeof *c->ids[i]);
}
