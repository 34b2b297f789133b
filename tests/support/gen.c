#include "gen.h"

#include <string.h>

#define PICK(g, array) ((array)[rng_below(&(g)->rng, sizeof(array) / sizeof *(array))])

/* ---- Types and values ------------------------------------------------------------------------ */

static void add_type(gen *g, const char *type, const char *unit)
{
    ARENA_PUSH(&g->arena, g->m.types, g->m.types_len, g->m.types_cap, (model_type){type, unit});
}

static void draw_heap_types(gen *g)
{
    add_type(g, "alloc_objects", "count");
    add_type(g, "alloc_space", "bytes");
    add_type(g, "inuse_objects", "count");
    add_type(g, "inuse_space", "bytes");
    g->m.default_sample_type = PICK(g, ((const char *[]){"inuse_space", "alloc_space", ""}));
}

static void draw_contention_types(gen *g)
{
    add_type(g, "contentions", "count");
    add_type(g, "delay", "nanoseconds");
    g->m.default_sample_type = PICK(g, ((const char *[]){"", "delay"}));
}

/* Few names for many columns, so that equal and partly equal pairs occur. */
static void draw_custom_types(gen *g)
{
    static const char *const types[] = {"alloc_space",    "alloc_objects", "inuse_space",
                                        "requests",       "contentions",   "inuse_requests",
                                        "alloc_requests", "wall",          "requests/bytes",
                                        "freed_space",    "freed_objects"};
    static const char *const units[] = {"bytes", "count", "nanoseconds", "", "bytes/s"};
    size_t len = rng_chance(&g->rng, 80) ? 1 + rng_below(&g->rng, 6) : 1 + rng_below(&g->rng, 64);
    for (size_t i = 0; i < len; i++)
        add_type(g, PICK(g, types), PICK(g, units));
    g->m.default_sample_type = g->m.types[rng_below(&g->rng, len)].type;
}

/* A type as an option names it: without or with its unit. */
static const char *draw_option(gen *g)
{
    const model_type *type = &g->m.types[rng_below(&g->rng, g->m.types_len)];
    if (rng_chance(&g->rng, 50) || !*type->unit)
        return type->type;
    return arena_format(&g->arena, "%s/%s", type->type, type->unit);
}

static bool names(const char *option, const model_type *type)
{
    size_t len = strlen(type->type);
    if (strncmp(option, type->type, len) != 0)
        return false;
    return !option[len] || (option[len] == '/' && strcmp(option + len + 1, type->unit) == 0);
}

static void mark_counters(gen *g)
{
    static const char *const usual[] = {"alloc_objects/count", "alloc_space/bytes",
                                        "freed_objects/count", "freed_space/bytes",
                                        "contentions/count",   "delay/nanoseconds"};
    g->is_counter = ARENA_ARRAY(&g->arena, bool, g->m.types_len);
    for (size_t i = 0; i < g->m.types_len; i++) {
        const model_type *type = &g->m.types[i];
        for (size_t n = 0; n < sizeof usual / sizeof *usual; n++)
            g->is_counter[i] = g->is_counter[i] || names(usual[n], type);
        for (size_t n = 0; n < g->counters_len; n++)
            g->is_counter[i] = g->is_counter[i] || names(g->counters[n], type);
        for (size_t n = 0; n < g->gauges_len; n++)
            g->is_counter[i] = g->is_counter[i] && !names(g->gauges[n], type);
    }
}

static void draw_types(gen *g)
{
    size_t kind = rng_below(&g->rng, 10);
    bool custom = kind >= 7;
    if (kind < 5)
        draw_heap_types(g);
    else if (!custom)
        draw_contention_types(g);
    else
        draw_custom_types(g);
    if (custom || rng_chance(&g->rng, 15))
        for (size_t n = rng_below(&g->rng, 3) + custom; n; n--)
            g->counters[g->counters_len++] = draw_option(g);
    if (rng_chance(&g->rng, 8))
        g->gauges[g->gauges_len++] = draw_option(g);
    mark_counters(g);
}

int64_t gen_draw_value(gen *g, size_t column)
{
    rng *r = &g->rng;
    if (rng_chance(r, g->is_counter[column] ? 10 : 40))
        return 0;
    int64_t value = rng_magnitude(r, rng_chance(r, 95) ? 40 : 60);
    return g->may_be_negative && rng_chance(r, 2) ? -value : value;
}

/* ---- Where code lies ------------------------------------------------------------------------- */

static model_mapping *add_mapping(gen *g, model_mapping mapping)
{
    model *m = &g->m;
    model_mapping *kept = arena_alloc(&g->arena, sizeof *kept);
    *kept = mapping;
    ARENA_PUSH(&g->arena, m->mappings, m->mappings_len, m->mappings_cap, kept);
    return kept;
}

static void name_mapping(gen *g, model_mapping *map)
{
    static const char *const special[] = {"[heap]",
                                          "//anon",
                                          "[vdso]",
                                          "[vsyscall]",
                                          "[stack:7]",
                                          "/dev/zero",
                                          "/memfd:jit (deleted)",
                                          "/SYSV0000abcd (deleted)"};
    size_t kind = rng_below(&g->rng, 8), name = g->names++;
    map->filename = map->build_id = "";
    if (kind < 4 || kind == 6)
        map->build_id = arena_format(&g->arena, "%08zx%08zx", name * 2654435761u, name);
    if (kind < 3 || kind == 4)
        map->filename = arena_format(&g->arena, "/usr/lib/lib%zu.so", name);
    else if (kind >= 6)
        map->filename = PICK(g, special);
}

/* The next part of the same file, as a loader maps code and data, or the same part again. */
static model_mapping next_segment(gen *g, const model_mapping *before)
{
    model_mapping map = *before;
    uint64_t size = map.limit - map.start;
    if (rng_chance(&g->rng, 70)) {
        map.start += size;
        map.offset += size;
    } else {
        map.start += size * 16;
    }
    map.limit = map.start + size;
    return map;
}

static void draw_mapping(gen *g)
{
    model *m = &g->m;
    rng *r = &g->rng;
    if (m->mappings_len && rng_chance(r, 20)) {
        add_mapping(g, next_segment(g, m->mappings[m->mappings_len - 1]));
        return;
    }
    model_mapping map = {.has_functions = rng_chance(r, 50),
                         .has_filenames = rng_chance(r, 50),
                         .has_line_numbers = rng_chance(r, 50),
                         .has_inline_frames = rng_chance(r, 50)};
    name_mapping(g, &map);
    map.start = rng_next(r) >> (17 + rng_below(r, 20)) & ~UINT64_C(0xfff);
    if (rng_chance(r, 10))
        map.start = rng_chance(r, 50) ? 0 : UINT64_C(0xffffffffff600000);
    map.limit = map.start + ((1 + rng_below(r, 4000)) << 12);
    map.offset = rng_chance(r, 60) ? 0 : rng_below(r, 1000) << 12;
    add_mapping(g, map);
}

static void draw_function(gen *g)
{
    static const char *const shapes[] = {"main.work%zu", "pkg/sub.(*Type).Method%zu",
                                         "std::vector<int>::push_back%zu",
                                         "f\xc3\xbcr%zu[go.shape.int]", "a.b$%zu"};
    model *m = &g->m;
    rng *r = &g->rng;
    size_t name = rng_chance(r, 85) ? g->names++ : rng_below(r, g->names);
    const char *shape = PICK(g, shapes);
    model_function *f = arena_alloc(&g->arena, sizeof *f);
    buf text = buf_begin(&g->arena);
    for (const char *c = shape; *c; c++)
        if (c[0] == '%' && c[1] == 'z' && c[2] == 'u')
            buf_format(&text, "%zu", name), c += 2;
        else
            buf_add(&text, c, 1);
    f->name = rng_chance(r, 97) ? buf_string(&text) : "";
    f->system_name = rng_chance(r, 60) ? f->name : arena_format(&g->arena, "_Z%zu", name);
    f->filename = rng_chance(r, 80) ? arena_format(&g->arena, "/src/f%zu.go", name % 7) : "";
    f->start_line = rng_chance(r, 50) ? 0 : (int64_t)rng_below(r, 5000);
    if (rng_chance(r, 4)) /* nothing is known of it */
        *f = (model_function){.name = "", .system_name = "", .filename = ""};
    ARENA_PUSH(&g->arena, m->functions, m->functions_len, m->functions_cap, f);
}

model_function *gen_pick_function(gen *g)
{
    return g->m.functions[rng_below(&g->rng, g->m.functions_len)];
}

static void draw_lines(gen *g, model_location *l, size_t len)
{
    rng *r = &g->rng;
    l->lines = ARENA_ARRAY(&g->arena, model_line, len);
    l->lines_len = len;
    for (size_t i = 0; i < len; i++)
        l->lines[i] = (model_line){gen_pick_function(g), rng_magnitude(r, 14),
                                   rng_chance(r, 70) ? 0 : rng_magnitude(r, 7)};
}

/* The same function with one difference. */
static model_function *draw_twin_function(gen *g, const model_function *f)
{
    model *m = &g->m;
    model_function *twin = arena_alloc(&g->arena, sizeof *twin);
    *twin = *f;
    const char **texts[] = {&twin->name, &twin->system_name, &twin->filename};
    size_t what = rng_below(&g->rng, 4);
    if (what < 3)
        *texts[what] = arena_format(&g->arena, "%s'", *texts[what]);
    else
        twin->start_line++;
    ARENA_PUSH(&g->arena, m->functions, m->functions_len, m->functions_cap, twin);
    return twin;
}

/* The same lines with one difference in the outermost. */
static void change_last_line(gen *g, model_location *l)
{
    if (!l->lines_len)
        return;
    model_line *lines = ARENA_ARRAY(&g->arena, model_line, l->lines_len);
    memcpy(lines, l->lines, l->lines_len * sizeof *lines);
    model_line *last = &lines[l->lines_len - 1];
    size_t what = rng_below(&g->rng, 3);
    if (what == 0)
        last->function = draw_twin_function(g, last->function);
    else if (what == 1)
        last->line++;
    else
        last->column++;
    l->lines = lines;
}

/* A location with one difference, which may or may not be part of the identity. */
static void draw_sibling(gen *g, model_location *l)
{
    const model *m = &g->m;
    *l = *m->locations[rng_below(&g->rng, m->locations_len)];
    size_t what = rng_below(&g->rng, 5); /* 4: the same, with another id */
    if (what == 0)
        l->is_folded = !l->is_folded;
    else if (what == 1)
        draw_lines(g, l, 1 + rng_below(&g->rng, 2));
    else if (what == 2)
        l->mapping = m->mappings_len ? m->mappings[rng_below(&g->rng, m->mappings_len)] : NULL;
    else if (what == 3)
        change_last_line(g, l);
}

static void draw_location(gen *g)
{
    model *m = &g->m;
    rng *r = &g->rng;
    model_location *l = arena_alloc(&g->arena, sizeof *l);
    if (m->locations_len && rng_chance(r, 15)) {
        draw_sibling(g, l);
    } else {
        size_t kind = rng_below(r, 100);
        bool symbolic = kind < 25, bare = kind == 25;
        if (m->mappings_len && !rng_chance(r, 5))
            l->mapping = m->mappings[rng_below(r, m->mappings_len)];
        if (!symbolic && !bare) {
            uint64_t size = l->mapping ? l->mapping->limit - l->mapping->start : 1 << 20;
            l->address = (l->mapping ? l->mapping->start : 0) + 1 + rng_below_wide(r, size - 1);
            bool is_low = l->mapping && l->mapping->start > 1 && l->mapping->start >> 60 == 0;
            if (is_low && rng_chance(r, 3)) /* an address of the file, wherever the mapping moves */
                l->address = 1 + rng_below_wide(r, l->mapping->start / 2);
        }
        draw_lines(g, l, bare ? 0 : symbolic || rng_chance(r, 70) ? 1 + rng_below(r, 3) : 0);
        l->is_folded = rng_chance(r, 3);
    }
    ARENA_PUSH(&g->arena, m->locations, m->locations_len, m->locations_cap, l);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void draw_label(gen *g, model_label *label)
{
    static const char *const keys[] = {"request", "thread", "bytes", "kind", ""};
    static const char *const strs[] = {"GET /", "POST /", "\xe2\x82\xac", "a", ""};
    static const char *const units[] = {"", "bytes", "nanoseconds", "count"};
    rng *r = &g->rng;
    *label = (model_label){PICK(g, keys), "", 0, ""};
    if (rng_chance(r, 50)) {
        label->str = PICK(g, strs);
    } else {
        label->num = rng_chance(r, 30) ? 0 : rng_magnitude(r, 12) - 1;
        label->unit = PICK(g, units);
    }
    if (rng_chance(r, 5))
        label->str = PICK(g, strs);
}

static void draw_labels(gen *g, model_sample *s)
{
    rng *r = &g->rng;
    size_t len = rng_chance(r, 60) ? 0 : rng_below(r, 5);
    s->labels = ARENA_ARRAY(&g->arena, model_label, len + 1);
    s->labels_len = len;
    for (size_t i = 0; i < len; i++) {
        if (i && rng_chance(r, 25))
            s->labels[i] = s->labels[i - 1];
        else
            draw_label(g, &s->labels[i]);
    }
}

static size_t draw_depth(gen *g)
{
    size_t dice = rng_below(&g->rng, 1000);
    if (dice == 0)
        return 2000;
    if (dice < 4)
        return 300;
    return dice < 500 ? rng_below(&g->rng, 6) : rng_below(&g->rng, 41);
}

static void draw_stack(gen *g, model_sample *s)
{
    rng *r = &g->rng;
    model *m = &g->m;
    const model_sample *other = m->samples_len ? m->samples[rng_below(r, m->samples_len)] : NULL;
    size_t shared = other && rng_chance(r, 60) ? rng_below(r, other->depth + 1) : 0;
    size_t own = shared ? rng_below(r, 3) : draw_depth(g);
    s->depth = own + shared;
    s->stack = ARENA_ARRAY(&g->arena, model_location *, s->depth);
    for (size_t i = 0; i < own; i++)
        s->stack[i] = m->locations[rng_below(r, m->locations_len)];
    for (size_t i = 0; i < shared; i++)
        s->stack[own + i] = other->stack[other->depth - shared + i];
}

void gen_add_sample(gen *g)
{
    model *m = &g->m;
    model_sample *s = arena_alloc(&g->arena, sizeof *s);
    draw_stack(g, s);
    draw_labels(g, s);
    s->values = ARENA_ARRAY(&g->arena, int64_t, m->types_len);
    bool silent = rng_chance(&g->rng, 5);
    for (size_t i = 0; i < m->types_len && !silent; i++)
        s->values[i] = gen_draw_value(g, i);
    ARENA_PUSH(&g->arena, m->samples, m->samples_len, m->samples_cap, s);
}

/* ---- The process ----------------------------------------------------------------------------- */

static void draw_header(gen *g)
{
    model *m = &g->m;
    rng *r = &g->rng;
    m->drop_frames = rng_chance(r, 20) ? "^runtime\\..*" : "";
    m->keep_frames = rng_chance(r, 10) ? "main" : "";
    m->doc_url = rng_chance(r, 20) ? "https://example.org/doc" : "";
    m->period_type = rng_chance(r, 70) ? (model_type){"space", "bytes"} : (model_type){"", ""};
    m->period = rng_chance(r, 80) ? 524288 : 0;
    m->duration_nanos = rng_chance(r, 50) ? 0 : 1 + rng_magnitude(r, 50);
    for (size_t n = rng_chance(r, 60) ? 0 : rng_below(r, 4); n; n--)
        ARENA_PUSH(&g->arena, m->comments, m->comments_len, m->comments_cap,
                   rng_chance(r, 80) ? arena_format(&g->arena, "comment %zu", n % 2) : "");
}

void gen_init(gen *g, uint64_t seed)
{
    *g = (gen){.rng = {seed}, .names = 1, .may_be_negative = true};
    rng *r = &g->rng;
    bool small = rng_chance(r, 40);
    draw_types(g);
    draw_header(g);
    for (size_t n = rng_below(r, 6); n; n--)
        draw_mapping(g);
    for (size_t n = 1 + rng_below(r, small ? 6 : 40); n; n--)
        draw_function(g);
    for (size_t n = 1 + rng_below(r, small ? 8 : 90); n; n--)
        draw_location(g);
    for (size_t n = rng_below(r, small ? 8 : 60); n; n--)
        gen_add_sample(g);
    g->clock_nanos = INT64_C(1700000000000000000) + rng_magnitude(r, 50);
    g->m.time_nanos = g->clock_nanos;
    g->began_nanos = g->clock_nanos - g->m.duration_nanos - 1;
}

bool gen_counts(const gen *g)
{
    bool counts = false;
    for (size_t i = 0; i < g->m.types_len; i++) {
        const model_type *type = &g->m.types[i];
        if (g->is_counter[i] && !strcmp(type->type, "wall") && !strcmp(type->unit, "nanoseconds"))
            return false;
        counts = counts || g->is_counter[i];
    }
    return counts;
}

void gen_free(gen *g)
{
    arena_free(&g->arena);
    *g = (gen){0};
}
