/* What may happen to a generated process between two profiles. */
#include "gen.h"
#include "reading.h"

#include <string.h>

static size_t pick(gen *g, size_t below)
{
    return rng_below(&g->rng, below);
}

static bool chance(gen *g, unsigned percent)
{
    return rng_chance(&g->rng, percent);
}

static void grow(gen *g, model_sample *s)
{
    if (chance(g, 40))
        return;
    for (size_t i = 0; i < g->m.types_len; i++)
        if (!g->is_counter[i])
            s->values[i] = gen_draw_value(g, i);
        else if (chance(g, 70))
            s->values[i] += rng_magnitude(&g->rng, 24);
}

static void fall_back(gen *g, model_sample *s)
{
    for (size_t i = 0; i < g->m.types_len; i++)
        if (g->is_counter[i] && s->values[i] > 0 && chance(g, 60))
            s->values[i] -= rng_magnitude(&g->rng, 16) % (s->values[i] / 4 + 1);
}

static void vanish(gen *g)
{
    model *m = &g->m;
    bool most = chance(g, 15);
    size_t kept = 0;
    for (size_t i = 0; i < m->samples_len; i++) {
        if (chance(g, most ? 70 : 8))
            ARENA_PUSH(&g->arena, g->hidden, g->hidden_len, g->hidden_cap, m->samples[i]);
        else
            m->samples[kept++] = m->samples[i];
    }
    m->samples_len = kept;
}

static void come_back(gen *g, bool may_fall)
{
    model *m = &g->m;
    size_t kept = 0;
    for (size_t i = 0; i < g->hidden_len; i++) {
        model_sample *s = g->hidden[i];
        if (!chance(g, 25)) {
            g->hidden[kept++] = s;
            continue;
        }
        if (may_fall && chance(g, 40))
            fall_back(g, s);
        ARENA_PUSH(&g->arena, m->samples, m->samples_len, m->samples_cap, s);
    }
    g->hidden_len = kept;
}

/* Moves a mapping and the addresses in it; offsets in the file and addresses of the file stay. */
static void move_mapping(gen *g, model_mapping *map)
{
    uint64_t by = ((uint64_t)1 + pick(g, 1 << 20)) << 12, before = map->start;
    bool has_range = map->start < map->limit;
    map->start += by;
    map->limit += by;
    for (size_t i = 0; i < g->m.locations_len; i++) {
        model_location *l = g->m.locations[i];
        bool is_of_file = has_range && l->address - before > INT64_MAX;
        if (l->mapping == map && l->address && !is_of_file)
            l->address = l->address + by ? l->address + by : by;
    }
    if (chance(g, 30)) { /* another part of the same file */
        uint64_t cut = (uint64_t)pick(g, 16) << 12;
        map->start -= cut;
        map->offset -= cut;
    }
}

/* A mapping without a file is identified by its addresses. */
static bool is_named(gen *g, const model_mapping *map)
{
    return *map->build_id || reading_file(&g->arena, map->filename);
}

/* Removes the file of a mapping while the process lives, or restores it. */
static void delete_file(gen *g, model_mapping *map)
{
    static const char mark[] = " (deleted)";
    size_t len = strlen(map->filename), mark_len = sizeof mark - 1;
    if (!len)
        return;
    if (len > mark_len && strcmp(map->filename + len - mark_len, mark) == 0)
        map->filename = arena_format(&g->arena, "%.*s", (int)(len - mark_len), map->filename);
    else
        map->filename = arena_format(&g->arena, "%s%s", map->filename, mark);
}

static void move(gen *g, bool unnamed_too)
{
    for (size_t i = 0; i < g->m.mappings_len; i++)
        if (unnamed_too || is_named(g, g->m.mappings[i]))
            move_mapping(g, g->m.mappings[i]);
    for (size_t i = 0; i < g->m.mappings_len; i++)
        if (chance(g, 10))
            delete_file(g, g->m.mappings[i]);
}

static void restart(gen *g)
{
    model *m = &g->m;
    if (chance(g, 80)) /* else at the same addresses */
        move(g, true);
    if (m->mappings_len && *m->mappings[0]->build_id && chance(g, 40))
        m->mappings[0]->build_id = arena_format(&g->arena, "build%zu", g->names++);
    bool outgrown = chance(g, 20);
    for (size_t i = 0; i < m->samples_len; i++)
        for (size_t t = 0; t < m->types_len; t++)
            if (!g->is_counter[t])
                m->samples[i]->values[t] = gen_draw_value(g, t);
            else if (!outgrown)
                m->samples[i]->values[t] = rng_magnitude(&g->rng, 12);
            else
                m->samples[i]->values[t] += rng_magnitude(&g->rng, 12);
    g->started_nanos = g->clock_nanos + 1;
}

/* Gives a mapping another identity, as a dump reads it after a deploy: another build id, none,
 * another name, or an earlier one. */
static void replace_file(gen *g)
{
    static const char *const names[] = {"/bin/app", "/bin/app (deleted)", "", "/lib/moved.so"};
    model_mapping *map = g->m.mappings[pick(g, g->m.mappings_len)], before = *map;
    bool was_named = is_named(g, map);
    if (chance(g, 50))
        map->build_id = chance(g, 30) ? "" : arena_format(&g->arena, "build%zu", pick(g, 4));
    else
        map->filename = names[pick(g, 4)];
    if (is_named(g, map) != was_named) /* locations may become equal to others */
        *map = before;
}

static void rename_line(gen *g)
{
    model_location *l = g->m.locations[pick(g, g->m.locations_len)];
    if (!l->address || !l->mapping || !is_named(g, l->mapping)) /* it is known by its lines */
        return;
    model_line *lines = ARENA_ARRAY(&g->arena, model_line, 1);
    *lines = (model_line){gen_pick_function(g), rng_magnitude(&g->rng, 10), 0};
    l->lines = lines;
    l->lines_len = 1;
}

static void reorder(gen *g)
{
    model *m = &g->m;
    size_t first = chance(g, 10) ? 0 : 1;
    for (size_t i = m->mappings_len; i > first + 1; i--) {
        size_t j = first + pick(g, i - first);
        model_mapping *swap = m->mappings[i - 1];
        m->mappings[i - 1] = m->mappings[j];
        m->mappings[j] = swap;
    }
}

static void change_header(gen *g)
{
    model *m = &g->m;
    m->period = rng_magnitude(&g->rng, 20);
    m->duration_nanos = chance(g, 30) ? 0 : 1;
    m->doc_url = chance(g, 50) ? "" : "https://example.org/other";
    if (m->comments_len && chance(g, 50))
        m->comments_len--;
    else
        ARENA_PUSH(&g->arena, m->comments, m->comments_len, m->comments_cap, "later");
    m->default_sample_type = m->types[pick(g, m->types_len)].type;
}

static void pass_time(gen *g, unsigned events)
{
    g->clock_nanos += 1 + rng_magnitude(&g->rng, 36);
    g->m.time_nanos = g->clock_nanos;
    if (g->m.duration_nanos)
        g->m.duration_nanos = g->clock_nanos - g->began_nanos;
    if ((events & GEN_WINDOW) && chance(g, 6))
        g->m.duration_nanos = 1 + rng_magnitude(&g->rng, 36);
    if ((events & GEN_CLOCK) && chance(g, 6))
        g->m.time_nanos = chance(g, 70) ? 0 : g->clock_nanos - rng_magnitude(&g->rng, 40);
}

void gen_evolve(gen *g, unsigned events)
{
    model *m = &g->m;
    g->may_be_negative = events & GEN_DECREASE; /* the sample may be equal to another one */
    for (size_t i = 0; i < m->samples_len; i++)
        grow(g, m->samples[i]);
    if ((events & GEN_DECREASE) && m->samples_len && chance(g, 25))
        fall_back(g, m->samples[pick(g, m->samples_len)]);
    come_back(g, events & GEN_DECREASE);
    if ((events & GEN_VANISH) && chance(g, 40))
        vanish(g);
    for (size_t n = chance(g, 50) ? 0 : pick(g, 6); n; n--)
        gen_add_sample(g);
    if ((events & GEN_RENAME) && chance(g, 40))
        rename_line(g);
    if ((events & GEN_MOVE) && chance(g, 30))
        move(g, false);
    if ((events & GEN_REORDER) && chance(g, 30))
        reorder(g);
    if ((events & GEN_HEADER) && chance(g, 30))
        change_header(g);
    if ((events & GEN_REPLACE) && m->mappings_len && chance(g, 20))
        replace_file(g);
    if ((events & GEN_RESTART) && chance(g, 12))
        restart(g);
    pass_time(g, events);
}
