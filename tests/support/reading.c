#include "reading.h"

#include "pack.h"
#include "view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Is it a valid profile? ------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* An id and its index in the table. The id comes first, for compare_ids. */
typedef struct id_place {
    uint64_t id;
    size_t place;
} id_place;

typedef struct id_table {
    id_place *items;
    size_t len;
} id_table;

/* Returns false if an id is zero or occurs twice. */
static bool sort_ids(id_table *t)
{
    if (t->len)
        qsort(t->items, t->len, sizeof *t->items, compare_ids);
    for (size_t i = 0; i < t->len; i++)
        if (!t->items[i].id || (i && t->items[i].id == t->items[i - 1].id))
            return false;
    return true;
}

#define MAKE_IDS(a, t, elements, count)                                                            \
    do {                                                                                           \
        (t)->items = ARENA_ARRAY((a), id_place, (count));                                          \
        (t)->len = (count);                                                                        \
        for (size_t i_ = 0; i_ < (count); i_++)                                                    \
            (t)->items[i_] = (id_place){(elements)[i_]->id, i_};                                   \
    } while (0)

static size_t find_id(const id_table *t, uint64_t id)
{
    if (!t->len)
        return NOWHERE;
    const id_place *found = bsearch(&id, t->items, t->len, sizeof *t->items, compare_ids);
    return found ? found->place : NOWHERE;
}

typedef struct ids {
    id_table mappings, functions, locations;
} ids;

static bool make_ids(arena *a, const Pd__View__Profile *p, ids *out)
{
    MAKE_IDS(a, &out->mappings, p->mapping, p->n_mapping);
    MAKE_IDS(a, &out->functions, p->function, p->n_function);
    MAKE_IDS(a, &out->locations, p->location, p->n_location);
    return sort_ids(&out->mappings) && sort_ids(&out->functions) && sort_ids(&out->locations);
}

typedef struct string_check {
    size_t len; /* of the table */
    size_t wrong;
} string_check;

/* Is this field an index of a string? */
static bool has_string(const ProtobufCFieldDescriptor *f)
{
    static const char *const names[] = {"type",        "unit",
                                        "key",         "str",
                                        "num_unit",    "filename",
                                        "build_id",    "name",
                                        "system_name", "drop_frames",
                                        "keep_frames", "doc_url",
                                        "comment",     "default_sample_type"};
    size_t i = 0;
    while (i < sizeof names / sizeof *names && strcmp(names[i], f->name) != 0)
        i++;
    return i < sizeof names / sizeof *names;
}

uint64_t reading_walk(const ProtobufCMessage *m, reading_visit *visit, void *cookie)
{
    uint64_t unknown_fields = m->n_unknown_fields;
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        const uint8_t *at = (const uint8_t *)m + f->offset;
        size_t len = 1;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            memcpy(&len, (const uint8_t *)m + f->quantifier_offset, sizeof len);
            at = *(const uint8_t *const *)(const void *)at;
        }
        for (size_t n = 0; n < len && f->type == PROTOBUF_C_TYPE_MESSAGE; n++) {
            const ProtobufCMessage *inside = ((ProtobufCMessage *const *)(const void *)at)[n];
            unknown_fields += inside ? reading_walk(inside, visit, cookie) : 0;
        }
        bool is_visited = visit && f->type == PROTOBUF_C_TYPE_INT64 && len && has_string(f);
        for (size_t n = 0; n < len && is_visited; n++)
            visit(cookie, ((const int64_t *)(const void *)at)[n]);
    }
    return unknown_fields;
}

static void count_wrong(void *cookie, int64_t index)
{
    string_check *c = cookie;
    c->wrong += index < 0 || (uint64_t)index >= c->len;
}

static bool strings_are_valid(const Pd__View__Profile *p)
{
    string_check c = {p->n_string_table, 0};
    reading_walk(&p->base, count_wrong, &c);
    return p->n_string_table && !p->string_table[0].len && !c.wrong;
}

static bool references_are_valid(const Pd__View__Profile *p, const ids *known)
{
    bool good = true;
    for (size_t i = 0; i < p->n_location; i++) {
        const Pd__View__Location *l = p->location[i];
        good = good && (!l->mapping_id || find_id(&known->mappings, l->mapping_id) != NOWHERE);
        for (size_t n = 0; n < l->n_line; n++)
            good = good && find_id(&known->functions, l->line[n]->function_id) != NOWHERE;
    }
    for (size_t i = 0; i < p->n_sample; i++) {
        const Pd__View__Sample *s = p->sample[i];
        good = good && s->n_value == p->n_sample_type;
        for (size_t n = 0; n < s->n_location_id; n++)
            good = good && find_id(&known->locations, s->location_id[n]) != NOWHERE;
    }
    return good;
}

static bool is_valid(arena *a, const Pd__View__Profile *p, ids *known)
{
    return strings_are_valid(p) && make_ids(a, p, known) && references_are_valid(p, known);
}

/* ---- What is what ---------------------------------------------------------------------------- */

const char *reading_string(const reading *r, int64_t index)
{
    return view_text(r->view, index);
}

void reading_quote(buf *b, const char *text)
{
    buf_format(b, "%zu:", strlen(text));
    buf_text(b, text);
}

static void quote_index(const reading *r, buf *b, int64_t index)
{
    reading_quote(b, reading_string(r, index));
}

static bool matches(const char *pattern, const char *name)
{
    size_t len = strlen(pattern);
    return pattern[len - 1] == '*' ? strncmp(pattern, name, len - 1) == 0
                                   : strcmp(pattern, name) == 0;
}

const char *reading_file(arena *a, const char *name)
{
    static const char *const files[] = {"[vdso]",    "[vsyscall]", "[vectors]",
                                        "[sigpage]", "/dev/shm/*", "/dev/hugepages/*"};
    static const char *const made_up[] = {
        "//anon", "/anon_hugepage", "/memfd:*",  "/dmabuf:*", "/secretmem",
        "/[aio]", "anon_inode:*",   "socket:[*", "/dev/*",    "[*"};
    static const char mark[] = " (deleted)";
    char *file = arena_format(a, "%s", name);
    size_t len = strlen(file), mark_len = strlen(mark);
    for (; len >= mark_len && strcmp(file + len - mark_len, mark) == 0; len -= mark_len)
        file[len - mark_len] = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (matches(files[i], file))
            return file;
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        if (matches(made_up[i], file))
            return NULL;
    if (len == 13 && matches("/SYSV*", file) && strspn(file + 5, "0123456789abcdefABCDEF") == 8)
        return NULL;
    return *file ? file : NULL;
}

static const char *mapping_name(const reading *r, const Pd__View__Mapping *m)
{
    const char *build_id = reading_string(r, m->build_id);
    const char *file = reading_string(r, m->filename);
    buf b = buf_begin(r->arena);
    if (*build_id) {
        buf_text(&b, "build ");
        reading_quote(&b, build_id);
        return buf_string(&b);
    }
    file = reading_file(r->arena, file);
    if (!file)
        return NULL;
    buf_text(&b, "file ");
    reading_quote(&b, file);
    return buf_string(&b);
}

static const char *mapping_text(const reading *r, const Pd__View__Mapping *m)
{
    buf b = buf_begin(r->arena);
    buf_format(&b, "%" PRIx64 "-%" PRIx64 "@%" PRIx64 " %d%d%d%d ", m->memory_start,
               m->memory_limit, m->file_offset, m->has_functions, m->has_filenames,
               m->has_line_numbers, m->has_inline_frames);
    quote_index(r, &b, m->filename);
    quote_index(r, &b, m->build_id);
    return buf_string(&b);
}

static void name_mapping(reading *r, size_t place)
{
    reading_mapping *m = &r->mappings[place];
    const Pd__View__Mapping *v = m->view = r->view->mapping[place];
    m->file = m->name = mapping_name(r, v);
    m->part = m->text = mapping_text(r, v);
    if (m->name)
        m->part = arena_format(r->arena, "%s %" PRIx64 "@%" PRIx64, m->name,
                               v->memory_limit - v->memory_start, v->file_offset);
}

static const char *lines_text(const reading *r, const ids *known, const Pd__View__Location *l)
{
    buf b = buf_begin(r->arena);
    for (size_t i = 0; i < l->n_line; i++) {
        const Pd__View__Line *line = l->line[i];
        size_t place = find_id(&known->functions, line->function_id);
        const Pd__View__Function *f = r->view->function[place];
        buf_text(&b, "(");
        quote_index(r, &b, f->name);
        quote_index(r, &b, f->system_name);
        quote_index(r, &b, f->filename);
        buf_format(&b, "%" PRId64 ")", f->start_line);
        buf_format(&b, "%" PRId64 ":%" PRId64 " ", line->line, line->column);
    }
    return buf_string(&b);
}

/* The identity of a location whose mapping has the identity `file`; NULL: no mapping, or no name. An
 * address says which code it is only in a file. */
static const char *identity_text(const reading *r, const Pd__View__Location *v,
                                 const reading_mapping *m, const char *file, const char *lines)
{
    buf b = buf_begin(r->arena);
    buf_text(&b, v->is_folded ? "folded " : "");
    if (v->n_line && !(v->address && file)) {
        buf_text(&b, lines);
        if (v->address)
            buf_format(&b, "at %" PRIx64, v->address);
        return buf_string(&b);
    }
    uint64_t address = v->address;
    if (address && file && !reading_is_of_file(m->view, address))
        address = address - m->view->memory_start + m->view->file_offset;
    buf_text(&b, file ? file : "nowhere");
    buf_format(&b, v->address ? "+%" PRIx64 : " bare", address);
    return buf_string(&b);
}

static void name_location(reading *r, const ids *known, size_t place)
{
    reading_location *l = &r->locations[place];
    const Pd__View__Location *v = l->view = r->view->location[place];
    l->mapping = v->mapping_id ? find_id(&known->mappings, v->mapping_id) : NOWHERE;
    reading_mapping *m = l->mapping == NOWHERE ? NULL : &r->mappings[l->mapping];
    const char *name = m ? m->name : NULL;
    if (m && name && v->address && reading_is_of_file(m->view, v->address))
        m->stays = true;
    const char *lines = lines_text(r, known, v);
    l->identity = identity_text(r, v, m, m ? m->file : NULL, lines);
    buf t = buf_begin(r->arena);
    buf_text(&t, identity_text(r, v, m, name, lines));
    buf_text(&t, " in ");
    buf_text(&t, !m ? "none" : name ? name : reading_string(r, m->view->filename));
    buf_text(&t, " is ");
    buf_text(&t, lines);
    l->text = buf_string(&t);
}

static const char *labels_text(const reading *r, const Pd__View__Sample *s)
{
    const char **texts = ARENA_ARRAY(r->arena, const char *, s->n_label);
    for (size_t i = 0; i < s->n_label; i++) {
        const Pd__View__Label *label = s->label[i];
        buf b = buf_begin(r->arena);
        quote_index(r, &b, label->key);
        quote_index(r, &b, label->str);
        buf_format(&b, "%" PRId64 " ", label->num);
        quote_index(r, &b, label->num_unit);
        texts[i] = buf_string(&b);
    }
    sort_texts(texts, s->n_label);
    buf all = buf_begin(r->arena);
    for (size_t i = 0; i < s->n_label; i++)
        buf_format(&all, "%s;", texts[i]);
    return buf_string(&all);
}

/* ---- Equal samples are added up -------------------------------------------------------------- */

static void name_sample(reading *r, const ids *known, const Pd__View__Sample *v, reading_sample *s)
{
    s->depth = v->n_location_id;
    s->stack = ARENA_ARRAY(r->arena, size_t, s->depth);
    s->labels = labels_text(r, v);
    s->values = v->value;
    buf key = buf_begin(r->arena);
    for (size_t i = 0; i < s->depth; i++) {
        s->stack[i] = find_id(&known->locations, v->location_id[i]);
        buf_text(&key, r->locations[s->stack[i]].identity);
        buf_text(&key, "\n");
    }
    buf_text(&key, "with ");
    buf_text(&key, s->labels);
    s->key = buf_string(&key);
}

/* Orders records by key, and records of one key by appearance: they are in one array, so their
 * addresses give their order. */
static int compare_records(const void *a, const void *b)
{
    const reading_sample *x = *(reading_sample *const *)a, *y = *(reading_sample *const *)b;
    int order = strcmp(x->key, y->key);
    return order ? order : x < y ? -1 : x > y;
}

static void add_up(reading *r, reading_sample *records, size_t len)
{
    size_t types = r->view->n_sample_type;
    reading_sample **sorted = ARENA_ARRAY(r->arena, reading_sample *, len);
    bool *is_first = ARENA_ARRAY(r->arena, bool, len);
    for (size_t i = 0; i < len; i++)
        sorted[i] = &records[i];
    if (len)
        qsort(sorted, len, sizeof *sorted, compare_records);
    reading_sample *first = NULL;
    r->overflows = ARENA_ARRAY(r->arena, bool, types);
    for (size_t i = 0; i < len; i++) {
        if (!first || strcmp(first->key, sorted[i]->key) != 0) {
            first = sorted[i];
            is_first[first - records] = true;
            continue;
        }
        for (size_t t = 0; t < types; t++)
            r->overflows[t] |=
                __builtin_add_overflow(first->values[t], sorted[i]->values[t], &first->values[t]);
    }
    r->records = len;
    r->samples = records;
    for (size_t i = 0; i < len; i++)
        if (is_first[i])
            r->samples[r->samples_len++] = records[i];
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void *alloc_in_arena(void *cookie, size_t size)
{
    uint8_t *block = arena_alloc(cookie, size + 1); /* see view.h */
    block[size] = 0;
    return block;
}

static void leave_in_arena(void *cookie, void *ptr)
{
    (void)cookie, (void)ptr; /* freed by the arena */
}

static pprofdelta_status make(arena *a, const void *bytes, size_t len, const char *const *files,
                              reading *out)
{
    buf plain;
    if (!unpack(a, bytes, len, &plain))
        return PPROFDELTA_E_INFLATE;
    ProtobufCAllocator allocator = {alloc_in_arena, leave_in_arena, a};
    reading r = {.arena = a};
    r.view = pd__view__profile__unpack(&allocator, plain.len, plain.ptr);
    if (!r.view)
        return PPROFDELTA_E_WIRE;
    ids known;
    if (!is_valid(a, r.view, &known))
        return PPROFDELTA_E_PROFILE;
    r.mappings = ARENA_ARRAY(a, reading_mapping, r.view->n_mapping);
    for (size_t i = 0; i < r.view->n_mapping; i++) {
        name_mapping(&r, i);
        if (files)
            r.mappings[i].file = files[i];
    }
    r.locations = ARENA_ARRAY(a, reading_location, r.view->n_location);
    for (size_t i = 0; i < r.view->n_location; i++)
        name_location(&r, &known, i);
    reading_sample *records = ARENA_ARRAY(a, reading_sample, r.view->n_sample);
    for (size_t i = 0; i < r.view->n_sample; i++)
        name_sample(&r, &known, r.view->sample[i], &records[i]);
    add_up(&r, records, r.view->n_sample);
    r.unknown_fields = reading_walk(&r.view->base, NULL, NULL);
    *out = r;
    return PPROFDELTA_OK;
}

pprofdelta_status reading_make(arena *a, const void *bytes, size_t len, reading *out)
{
    return make(a, bytes, len, NULL, out);
}

void reading_make_as(arena *a, const void *bytes, size_t len, const char *const *files,
                     reading *out)
{
    make(a, bytes, len, files, out);
}

bool reading_is_stamp(const reading *r, size_t comment)
{
    return strncmp(reading_string(r, r->view->comment[comment]), STAMP, strlen(STAMP)) == 0;
}

const char *reading_main_build_id(const reading *r)
{
    return r->view->n_mapping ? reading_string(r, r->view->mapping[0]->build_id) : "";
}

const char *reading_kind(const reading *r)
{
    const Pd__View__Profile *p = r->view;
    buf b = buf_begin(r->arena);
    quote_index(r, &b, p->period_type ? p->period_type->type : 0);
    quote_index(r, &b, p->period_type ? p->period_type->unit : 0);
    quote_index(r, &b, p->default_sample_type);
    return buf_string(&b);
}

const char *reading_header(const reading *r)
{
    const Pd__View__Profile *p = r->view;
    buf b = buf_begin(r->arena);
    buf_text(&b, "drop ");
    quote_index(r, &b, p->drop_frames);
    buf_text(&b, " keep ");
    quote_index(r, &b, p->keep_frames);
    buf_text(&b, " doc ");
    quote_index(r, &b, p->doc_url);
    buf_text(&b, " period ");
    quote_index(r, &b, p->period_type ? p->period_type->type : 0);
    quote_index(r, &b, p->period_type ? p->period_type->unit : 0);
    buf_format(&b, " %" PRId64 " time %" PRId64 " duration %" PRId64, p->period, p->time_nanos,
               p->duration_nanos);
    return buf_string(&b);
}
