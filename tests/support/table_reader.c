#include "table_reader.h"

#include "base/utf8.h"
#include "reading.h"

#include <inttypes.h>
#include <stdio.h>

enum { TABLES = 4 };

static pprofdelta_table *table_at(pprofdelta_tables *t, size_t i)
{
    pprofdelta_table *const all[TABLES] = {&t->samples, &t->stacks, &t->locations, &t->functions};
    return all[i];
}

static int take(void *cookie, pprofdelta_tables *tables)
{
    table_mail *mail = cookie;
    tables_release(mail);
    mail->calls++;
    mail->got = *tables;
    for (size_t i = 0; i < TABLES; i++) {
        table_at(tables, i)->schema.release = NULL;
        table_at(tables, i)->array.release = NULL;
    }
    return mail->answer;
}

pprofdelta_sink table_sink(table_mail *mail)
{
    return (pprofdelta_sink){.tables = take, .cookie = mail};
}

void tables_release(table_mail *mail)
{
    for (size_t i = 0; i < TABLES; i++) {
        pprofdelta_table *t = table_at(&mail->got, i);
        if (t->schema.release)
            t->schema.release(&t->schema);
        if (t->array.release)
            t->array.release(&t->array);
    }
}

/* ---- the arrays ------------------------------------------------------------------------------ */

const struct ArrowArray *table_column(const pprofdelta_table *table, const char *name)
{
    for (int64_t i = 0; i < table->schema.n_children; i++)
        if (!strcmp(table->schema.children[i]->name, name))
            return table->array.children[i];
    return NULL;
}

static const int32_t *offsets(const struct ArrowArray *array)
{
    return array->buffers[1];
}

static int64_t number(const struct ArrowArray *array, int64_t row)
{
    return ((const int64_t *)array->buffers[1])[row];
}

static bool bit(const struct ArrowArray *array, int buffer, int64_t row)
{
    return ((const uint8_t *)array->buffers[buffer])[row / 8] >> row % 8 & 1;
}

static bool is_null(const struct ArrowArray *array, int64_t row)
{
    return array->buffers[0] && !bit(array, 0, row);
}

static pd_bytes text(const struct ArrowArray *array, int64_t row)
{
    if (array->dictionary)
        return text(array->dictionary, ((const int32_t *)array->buffers[1])[row]);
    const int32_t *at = offsets(array) + row;
    return (pd_bytes){(const uint8_t *)array->buffers[2] + at[0], (size_t)(at[1] - at[0])};
}

static const char *malformed_offsets(const struct ArrowArray *array, int64_t end, bool is_text)
{
    if (offsets(array)[0])
        return "the first offset is not 0";
    for (int64_t i = 0; i < array->length; i++) {
        if (offsets(array)[i + 1] < offsets(array)[i])
            return "an offset goes back";
        if (is_text && !pd_utf8_is_valid(text(array, i)))
            return "not UTF-8";
    }
    return !is_text && offsets(array)[array->length] != end ? "the last offset is not the length"
                                                            : NULL;
}

static const char *malformed(const struct ArrowSchema *schema, const struct ArrowArray *array)
{
    const char *format = schema->format, *wrong = NULL;
    bool is_struct = !strcmp(format, "+s"), is_list = !strcmp(format, "+l"),
         is_text = *format == 'u';
    int64_t nulls = 0;
    if (!schema->release || !array->release || schema->n_children != array->n_children ||
        array->offset || !schema->dictionary != !array->dictionary ||
        array->n_buffers != (is_struct ? 1
                             : is_text ? 3
                                       : 2))
        return "two trees that are not alike";
    for (int64_t i = 0; i < array->length; i++)
        nulls += is_null(array, i);
    if (nulls != array->null_count || (nulls && !(schema->flags & ARROW_FLAG_NULLABLE)))
        return "a count of nulls";
    for (int64_t i = 0; i < array->n_children && !wrong; i++) {
        wrong = malformed(schema->children[i], array->children[i]);
        if (is_struct && array->children[i]->length != array->length)
            return "the length of a child";
    }
    if (is_list || is_text)
        return wrong ? wrong
                     : malformed_offsets(array, is_list ? array->children[0]->length : 0, is_text);
    if (array->dictionary) {
        for (int64_t i = 0; i < array->length; i++) {
            int32_t index = offsets(array)[i];
            if (!is_null(array, i) && (index < 0 || index >= array->dictionary->length))
                return "an index that is not in the dictionary";
        }
        return wrong ? wrong : malformed(schema->dictionary, array->dictionary);
    }
    return wrong;
}

const char *tables_malformed(const pprofdelta_tables *t)
{
    const pprofdelta_table *const all[] = {&t->samples, &t->stacks, &t->locations, &t->functions};
    const char *wrong = t->size == sizeof *t ? NULL : "size";
    for (size_t i = 0; i < 4 && !wrong; i++)
        wrong = malformed(&all[i]->schema, &all[i]->array);
    return wrong;
}

/* ---- ids ------------------------------------------------------------------------------------- */

void table_ids_free(table_ids *ids)
{
    pd_mem_drop(&ids->mem);
}

static bool is_id_of(table_ids *ids, const char *name, int64_t id)
{
    pd_key key = pd_key_of_bytes(name, strlen(name), 7), of_id = {(uint64_t)id, (uint64_t)id};
    if (!ids->mem.limit)
        pd_mem_init(&ids->mem, NULL, UINT64_C(1) << 30);
    return !pd_keymap_room(&ids->texts, &ids->mem, key, NULL) &&
           !pd_keymap_room(&ids->ids, &ids->mem, of_id, NULL) &&
           pd_keymap_add(&ids->texts, key) == pd_keymap_add(&ids->ids, of_id);
}

/* ---- a profile ------------------------------------------------------------------------------- */

typedef struct comparison {
    arena *a;
    table_ids *ids;
    reading profile;
    const pprofdelta_tables *tables;
    bool *has_location, *has_function, *has_stack; /* by row: it was seen */
} comparison;

static void quote(buf *b, arena *a, const char *given)
{
    pprofdelta_error err;
    pd_mem mem;
    pd_buffer repaired = {0};
    pd_mem_init(&mem, NULL, UINT32_MAX);
    if (!pd_utf8_repair(pd_bytes_of(given), &mem, &repaired, &err) &&
        !pd_buffer_room(&mem, &repaired, 1, &err)) {
        repaired.ptr[repaired.len] = 0;
        reading_quote(b, arena_text(a, (const char *)repaired.ptr));
    }
    pd_buffer_release(&mem, &repaired);
}

static void quote_text(buf *b, arena *a, const struct ArrowArray *array, int64_t row)
{
    pd_bytes got = text(array, row);
    char *copy = arena_alloc(a, got.len + 1);
    memcpy(copy, got.ptr, got.len);
    copy[got.len] = 0;
    reading_quote(b, copy);
}

static void add_number(buf *b, int64_t value)
{
    char text_of[32];
    snprintf(text_of, sizeof text_of, " %" PRId64, value);
    buf_text(b, text_of);
}

/* The row with an id; -1: there is none, or there are two. */
static int64_t row_of(const struct ArrowArray *ids, int64_t id)
{
    int64_t found = -1;
    for (int64_t i = 0; i < ids->length; i++)
        if (number(ids, i) == id) {
            if (found >= 0)
                return -1;
            found = i;
        }
    return found;
}

static const Pd__View__Function *function_of(const reading *r, uint64_t id)
{
    for (size_t i = 0; i < r->view->n_function; i++)
        if (r->view->function[i]->id == id)
            return r->view->function[i];
    return NULL;
}

static void name_function(const comparison *c, buf *out, const Pd__View__Function *f)
{
    const int64_t strings[] = {f->name, f->system_name, f->filename};
    for (size_t i = 0; i < 3; i++)
        quote(out, c->a, reading_string(&c->profile, strings[i]));
    add_number(out, f->start_line);
}

static void name_function_row(const comparison *c, buf *out, int64_t row)
{
    static const char *const columns[] = {"name", "system_name", "file"};
    for (size_t i = 0; i < 3; i++)
        quote_text(out, c->a, table_column(&c->tables->functions, columns[i]), row);
    add_number(out, number(table_column(&c->tables->functions, "start_line"), row));
}

/* What a location shows, and what its id is made of. */
typedef struct place {
    buf shown, key;
} place;

static void unmark(char *name)
{
    size_t len;
    while ((len = strlen(name)) >= 10 && !strcmp(name + len - 10, " (deleted)"))
        name[len - 10] = 0;
}

static place place_of(const comparison *c, uint64_t id)
{
    const reading *r = &c->profile;
    const reading_location *at = r->locations;
    while (at->view->id != id)
        at++;
    const Pd__View__Location *l = at->view;
    const reading_mapping *m = at->mapping == NOWHERE ? NULL : &r->mappings[at->mapping];
    char *file = arena_text(c->a, m ? reading_string(r, m->view->filename) : "");
    const char *build_id = m ? reading_string(r, m->view->build_id) : "";
    bool is_moved = m && m->name && !reading_is_of_file(m->view, l->address);
    uint64_t moved = is_moved ? m->view->file_offset - m->view->memory_start : 0;
    place p = {buf_begin(c->a), buf_begin(c->a)};
    quote(&p.shown, c->a, build_id);
    unmark(file);
    quote(&p.shown, c->a, file);
    add_number(&p.shown, (int64_t)(l->address ? l->address + moved : 0));
    buf_text(&p.key, at->identity);
    for (size_t i = 0; i < l->n_line; i++) {
        const Pd__View__Function *f = function_of(r, l->line[i]->function_id);
        buf line = buf_begin(c->a);
        if (f)
            name_function(c, &line, f);
        add_number(&line, l->line[i]->line);
        buf_text(&p.shown, buf_string(&line));
        buf_text(&p.shown, i + 1 < l->n_line ? " inlined" : " ");
        add_number(&line, l->line[i]->column);
        if (!l->address || !*build_id)
            buf_text(&p.key, buf_string(&line));
    }
    return p;
}

static const char *shown_row(comparison *c, int64_t row)
{
    const pprofdelta_table *t = &c->tables->locations;
    const struct ArrowArray *lists = table_column(t, "lines"), *lines = lists->children[0];
    const struct ArrowArray *function_ids = table_column(&c->tables->functions, "function_id");
    buf out = buf_begin(c->a);
    quote_text(&out, c->a, table_column(t, "build_id"), row);
    quote_text(&out, c->a, table_column(t, "file"), row);
    add_number(&out, number(table_column(t, "address"), row));
    for (int64_t i = offsets(lists)[row]; i < offsets(lists)[row + 1]; i++) {
        int64_t id = number(lines->children[0], i), function = row_of(function_ids, id);
        buf name = buf_begin(c->a);
        if (id && function < 0)
            return "a function that is not in its table once";
        if (id) {
            name_function_row(c, &name, function);
            c->has_function[function] = true;
            if (!is_id_of(c->ids, arena_text(c->a, buf_string(&name)), id))
                return "the id of a function";
        }
        add_number(&name, number(lines->children[1], i));
        buf_text(&out, buf_string(&name));
        buf_text(&out, bit(lines->children[2], 1, i) ? " inlined" : " ");
    }
    return buf_string(&out);
}

static const char *differ_in_stack(comparison *c, const Pd__View__Sample *s, int64_t id)
{
    const pprofdelta_table *stacks = &c->tables->stacks;
    const struct ArrowArray *lists = table_column(stacks, "location_ids");
    const struct ArrowArray *locations = table_column(&c->tables->locations, "location_id");
    int64_t row = row_of(table_column(stacks, "stack_id"), id);
    buf whole = buf_begin(c->a);
    buf_text(&whole, "stack ");
    if (row < 0)
        return "a stack that is not in its table once";
    int32_t first = offsets(lists)[row];
    if ((size_t)(offsets(lists)[row + 1] - first) != s->n_location_id)
        return "the depth of a stack";
    c->has_stack[row] = true;
    for (size_t i = 0; i < s->n_location_id; i++) {
        int64_t location = number(lists->children[0], first + (int64_t)i);
        int64_t at = row_of(locations, location);
        if (at < 0)
            return "a location that is not in its table once";
        place p = place_of(c, s->location_id[i]);
        if (!is_id_of(c->ids, buf_string(&p.key), location))
            return arena_text(c->a, buf_string(&p.key));
        const char *shown = c->has_location[at] ? "" : shown_row(c, at);
        if (!c->has_location[at] && strcmp(shown, buf_string(&p.shown)) != 0) {
            buf_text(&p.shown, " is not ");
            buf_text(&p.shown, shown);
            return buf_string(&p.shown);
        }
        c->has_location[at] = true;
        quote(&whole, c->a, buf_string(&p.key));
    }
    return is_id_of(c->ids, buf_string(&whole), id) ? NULL : "the id of a stack";
}

/* The labels of a sample are in the profile's order. */
static const char *differ_in_labels(const comparison *c, const Pd__View__Sample *s, int64_t row)
{
    const struct ArrowArray *lists = table_column(&c->tables->samples, "labels"),
                            *labels = lists->children[0];
    buf want = buf_begin(c->a), got = buf_begin(c->a);
    for (size_t i = 0; i < s->n_label; i++) {
        const Pd__View__Label *l = s->label[i];
        const char *str = reading_string(&c->profile, l->str),
                   *unit = reading_string(&c->profile, l->num_unit);
        quote(&want, c->a, reading_string(&c->profile, l->key));
        *str ? quote(&want, c->a, str) : buf_text(&want, "null");
        *str && !l->num ? buf_text(&want, "null") : add_number(&want, l->num);
        *unit ? quote(&want, c->a, unit) : buf_text(&want, "null");
    }
    for (int64_t i = offsets(lists)[row]; i < offsets(lists)[row + 1]; i++)
        for (int64_t member = 0; member < 4; member++) {
            const struct ArrowArray *m = labels->children[member];
            if (is_null(m, i))
                buf_text(&got, "null");
            else if (member == 2)
                add_number(&got, number(m, i));
            else
                quote_text(&got, c->a, m, i);
        }
    return strcmp(buf_string(&want), buf_string(&got)) != 0 ? "labels" : NULL;
}

static bool is_all(const bool *flags, int64_t len)
{
    while (len && flags[len - 1])
        len--;
    return !len;
}

static bool *flags_of(arena *a, const pprofdelta_table *table)
{
    size_t len = (size_t)table->array.length + 1;
    return memset(arena_alloc(a, len), 0, len);
}

const char *tables_differ(arena *a, table_ids *ids, buf profile, const pprofdelta_tables *t)
{
    enum { FIRST_VALUE = 7 };
    comparison c = {a, ids, .tables = t};
    const char *wrong = tables_malformed(t);
    if (wrong || reading_make(a, profile.ptr, profile.len, &c.profile))
        return wrong ? wrong : "the profile cannot be read";
    const Pd__View__Profile *p = c.profile.view;
    const struct ArrowArray *samples = &t->samples.array;
    if (samples->n_children != (int64_t)p->n_sample_type + FIRST_VALUE + 1)
        return "the number of columns";
    if (samples->length != (int64_t)p->n_sample)
        return "the number of samples";
    c.has_location = flags_of(a, &t->locations);
    c.has_function = flags_of(a, &t->functions);
    c.has_stack = flags_of(a, &t->stacks);
    for (size_t i = 0; i < p->n_sample && !wrong; i++) {
        int64_t row = (int64_t)i;
        for (size_t type = 0; type < p->n_sample_type && !wrong; type++)
            if (number(samples->children[FIRST_VALUE + type], row) != p->sample[i]->value[type])
                wrong = "a value";
        if (!wrong)
            wrong = differ_in_stack(&c, p->sample[i],
                                    number(table_column(&t->samples, "stack_id"), row));
        if (!wrong)
            wrong = differ_in_labels(&c, p->sample[i], row);
    }
    if (!wrong && !(is_all(c.has_location, t->locations.array.length) &&
                    is_all(c.has_stack, t->stacks.array.length)))
        wrong = "a row that nothing uses";
    return wrong;
}
