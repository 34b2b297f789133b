#include "encode/table_rows.h"

#include "base/utf8.h"

static void reserve(pd_table_rows *t, void *list, size_t len, size_t size)
{
    if (!t->w.status)
        t->w.status = pd_mem_reserve(t->w.mem, list, len, size, t->w.err);
}

/* ---- texts and keys -------------------------------------------------------------------------- */

/* Sets the texts. Those that are repaired are lengths at first: `repaired` moves while it grows. */
static void make_texts(pd_table_rows *t)
{
    const pd_model *m = t->model;
    pd_buffer one = {0};
    reserve(t, &t->texts, m->string_keys.len + m->mappings_len, sizeof *t->texts);
    t->texts_len = m->string_keys.len;
    for (uint32_t i = 0; i < t->texts_len && !t->w.status; i++) {
        t->texts[i] = pd_model_text_of(m, i);
        if (pd_utf8_is_valid(t->texts[i]))
            continue;
        t->w.status = pd_utf8_repair(t->texts[i], t->w.mem, &one, t->w.err);
        pd_write_raw(&t->w, &t->repaired, pd_buffer_bytes(&one));
        t->texts[i] = (pd_bytes){NULL, one.len};
    }
    const uint8_t *at = t->repaired.ptr;
    for (uint32_t i = 1; i < t->texts_len && !t->w.status; i++)
        if (!t->texts[i].ptr) {
            t->texts[i].ptr = at;
            at += t->texts[i].len;
        }
}

/* The number of a text, which may be new. There is room. */
static uint32_t number_of(pd_table_rows *t, pd_bytes text)
{
    uint32_t known = pd_keymap_find(&t->model->string_keys, pd_key_of_bytes(text.ptr, text.len, 0));
    if (known != PD_KEYMAP_NONE)
        return known;
    t->texts[t->texts_len] = text;
    return (uint32_t)t->texts_len++;
}

/* Adds a row for this id, if there is none. Returns whether it is new. */
static bool add_row(pd_table_rows *t, pd_distinct_rows *r, pd_key id, size_t of)
{
    bool is_new;
    if (!t->w.status)
        t->w.status = PD_GROW(t->w.mem, r->of, r->keys.len + 1, t->w.err);
    uint32_t row = pd_write_key(&t->w, &r->keys, id, &is_new);
    if (is_new)
        r->of[row] = of;
    return is_new;
}

static void choose_functions(pd_table_rows *t)
{
    const pd_model *m = t->model;
    size_t len = m->function_keys.len;
    reserve(t, &t->function_keys, len, sizeof *t->function_keys);
    for (size_t i = 0; i < len && !t->w.status; i++) {
        const pd_model_function *f = &m->functions[i];
        t->function_keys[i] = pd_function_key_of(
            pd_string_key(t->texts[f->name]), pd_string_key(t->texts[f->system_name]),
            pd_string_key(t->texts[f->filename]), f->start_line);
        add_row(t, &t->functions, t->function_keys[i], i);
    }
}

pd_key pd_table_rows_function_key(const pd_table_rows *t, uint64_t function)
{
    return function ? t->function_keys[function - 1] : (pd_key){0, 0};
}

pd_place pd_table_rows_place(const pd_table_rows *t, uint32_t mapping)
{
    const pd_model_mapping *m = mapping ? &t->model->mappings[mapping - 1] : NULL;
    return m ? pd_place_in_file(pd_file_key(t->texts[t->files[mapping - 1]], t->texts[m->build_id]),
                                m->start, m->limit, m->file_offset)
             : PD_NOWHERE_MAPPED;
}

static pd_key location_key(const pd_table_rows *t, uint32_t id)
{
    const pd_model *m = t->model;
    const pd_model_location *l = &m->locations[id - 1];
    size_t first = pd_model_lines_begin(m, id);
    bool is_by_lines = !l->address && l->lines_end > first;
    bool has_build_id = l->mapping && m->mappings[l->mapping - 1].build_id;
    pd_key key = is_by_lines ? pd_location_key_lines_begin(0, l->is_folded)
                             : pd_location_key_address(pd_table_rows_place(t, l->mapping),
                                                       l->address, l->is_folded);
    for (size_t i = first; i < l->lines_end && (is_by_lines || !has_build_id); i++)
        key = pd_location_key_line(key, pd_table_rows_function_key(t, m->lines[i].function),
                                   m->lines[i].line, m->lines[i].column);
    return key;
}

static void choose_locations(pd_table_rows *t)
{
    const pd_model *m = t->model;
    size_t len = m->location_keys.len;
    reserve(t, &t->files, m->mappings_len, sizeof *t->files);
    for (size_t i = 0; i < m->mappings_len && !t->w.status; i++)
        t->files[i] = number_of(t, pd_filename_unmarked(t->texts[m->mappings[i].filename]));
    reserve(t, &t->location_keys, len, sizeof *t->location_keys);
    for (uint32_t i = 0; i < len && !t->w.status; i++) {
        t->location_keys[i] = location_key(t, i + 1);
        if (add_row(t, &t->locations, t->location_keys[i], i))
            t->lines += m->locations[i].lines_end - pd_model_lines_begin(m, i + 1);
    }
}

uint64_t pd_table_rows_stack(pd_table_rows *t, pd_bytes stack)
{
    uint32_t location;
    size_t depth = 0;
    pd_buffer *places = &t->places;
    uint64_t *ids = (void *)pd_write_room(&t->w, places, stack.len * sizeof *ids + 1);
    for (; ids && pd_model_next_location(&stack, &location); depth++)
        ids[depth] = t->location_keys[location - 1].lo;
    pd_key key = depth ? pd_key_of_words(ids, depth, 0) : (pd_key){0, 0};
    for (size_t i = 0; i < depth; i++)
        ids[i] = pd_le64(ids[i]); /* pd_key_of_words has changed them to little endian */
    size_t end = places->len + depth * sizeof *ids;
    if (add_row(t, &t->stacks, key, end / sizeof *ids))
        places->len = end;
    return key.lo;
}

/* ---- all ------------------------------------------------------------------------------------- */

void pd_table_rows_choose(pd_table_rows *t)
{
    make_texts(t);
    choose_functions(t);
    choose_locations(t);
}
