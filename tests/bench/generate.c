/* Writes two plain heap profiles of a simulated Go process, for the benchmark.
 *
 *     generate SAMPLES SEED go|fields distinct|repeated PREV CUR
 *
 * go: the parts of the profile are in the order of Go's runtime: a location and its functions before the
 * first sample that has it. fields: in the order of the field numbers, as most encoders write. distinct:
 * every sample has a stack of its own; repeated: a third of the samples have the stack of an earlier sample,
 * half of those the block size, too. 15% of the samples are live: they have memory in use, and allocate in
 * the minute between the two profiles. 0.1% appear in that minute. The same arguments give the same bytes.
 *
 * Stacks share their outer frames and differ in the inner ones, and neighbours share more, as in heap
 * profiles of real servers: the site of a frame is a random function of the stack's number, from which
 * more bits are cut off the further out the frame is. */
#include "support/build.h"
#include "support/rng.h"
#include "support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_TIME    INT64_C(1700000000000000000)
#define MINUTE        INT64_C(60000000000)
#define TEXT_START    UINT64_C(0x400000)
#define SAMPLING_RATE 524288

enum { LIVE = 15, REPEATED = 33 }; /* percent */
enum { SITES_OF_FUNCTION = 4, DEPTH_LEAST = 12, DEPTH_SPREAD = 20 };

typedef struct process {
    build b; /* the newest sample is the first */
    rng rng;
    uint32_t sites, len;
    unsigned repeated;
    struct sample {
        uint32_t stack, block_size;
        bool is_live;
        model_sample *m;
    } * samples; /* by age, the oldest first */
} process;

/* A number below the limit, always the same for these; small ones more often. */
static uint32_t drawn(uint64_t a, uint64_t b, uint32_t limit)
{
    rng hash = {a << 20 ^ b};
    size_t first = rng_below(&hash, limit), second = rng_below(&hash, limit);
    return (uint32_t)(first < second ? first : second);
}

/* The leaf is frame 0. */
static uint32_t site_of(uint32_t stack, uint32_t frame, uint32_t sites)
{
    static const uint32_t shifts[] = {0, 0, 0, 2, 4, 6, 8, 10, 12};
    uint32_t shift = frame < sizeof shifts / sizeof *shifts ? shifts[frame] : 14;
    return drawn(stack >> shift, frame, sites);
}

/* Go samples one allocation in SAMPLING_RATE bytes, and scales the sampled numbers up. */
static void allocate(rng *r, const struct sample *s)
{
    int64_t scale = 1 + SAMPLING_RATE / s->block_size, seen = 1 + (int64_t)rng_below(r, 8);
    int64_t *values = s->m->values;
    values[0] += seen * scale;
    values[2] = s->is_live ? scale * (1 + (int64_t)rng_below(r, (size_t)seen)) : 0;
    values[1] = values[0] * s->block_size;
    values[3] = values[2] * s->block_size;
}

static void add_sample(process *p)
{
    struct sample *s = &p->samples[p->len];
    model *m = &p->b.m;
    *s = (struct sample){p->len, 16U << rng_below(&p->rng, 13), rng_chance(&p->rng, LIVE),
                         arena_alloc(&p->b.arena, sizeof *s->m)};
    if (p->len && rng_chance(&p->rng, p->repeated)) {
        const struct sample *earlier = &p->samples[rng_below(&p->rng, p->len)];
        s->stack = earlier->stack;
        s->block_size = rng_chance(&p->rng, 50) ? earlier->block_size : s->block_size;
    }
    s->m->depth = DEPTH_LEAST + drawn(s->stack / 16, 1000, DEPTH_SPREAD);
    s->m->stack = ARENA_ARRAY(&p->b.arena, model_location *, s->m->depth);
    for (uint32_t i = 0; i < s->m->depth; i++)
        s->m->stack[i] = m->locations[site_of(s->stack, i, p->sites)];
    s->m->values = ARENA_ARRAY(&p->b.arena, int64_t, m->types_len);
    build_label(&p->b, s->m, "bytes", "", s->block_size, "");
    allocate(&p->rng, s);
    *--m->samples = s->m;
    m->samples_len = ++p->len;
}

/* An eighth of the locations have a second line, of a function that is inlined there. */
static void add_places(process *p, uint32_t functions)
{
    build *b = &p->b;
    model_mapping *app = build_mapping(
        b, TEXT_START, TEXT_START + UINT64_C(64) * functions * (SITES_OF_FUNCTION + 1), 0,
        "/usr/local/bin/shop", "6b8f1c9a3c6f4f0e9d0b7a5c2e1d8f7a6b5c4d3e");
    for (uint32_t f = 0; f < functions; f++) {
        const char *package = arena_format(&b->arena, "example.com/shop/internal/pkg%u", f / 25);
        build_function(b, arena_format(&b->arena, "%s.(*Type%u).Method%u", package, f / 5, f),
                       arena_format(&b->arena, "%s/type%u_%u.go", package, f / 5, f))
            ->start_line = 10 + f % 900;
    }
    p->sites = functions * SITES_OF_FUNCTION;
    for (uint32_t site = 0; site < p->sites; site++) {
        const uint32_t function = site / SITES_OF_FUNCTION;
        const uint32_t lines[] = {(function * 7 + 1) % functions, function};
        model_location *l = build_bare(b, "", app, TEXT_START + 0x1000 + UINT64_C(64) * site);
        for (size_t i = site % 8 ? 1 : 0; i < 2; i++)
            build_line(b, l, b->m.functions[lines[i]],
                       10 + lines[i] % 900 + site % SITES_OF_FUNCTION);
    }
}

static int write_profile(process *p, bool is_by_fields, int64_t time_nanos, const char *path)
{
    const serial_style style = {.tables = is_by_fields ? TABLES_AFTER : TABLES_AS_USED,
                                .packing = EMIT_PACKED,
                                .ids = IDS_AS_USED};
    arena a = {0};
    p->b.m.time_nanos = time_nanos;
    buf out = serial_write(&a, &p->b.m, &style);
    FILE *file = fopen(path, "wb");
    bool is_good = file && fwrite(out.ptr, 1, out.len, file) == out.len;
    if ((file && fclose(file) != 0) || !is_good)
        perror(path);
    arena_free(&a);
    return is_good ? 0 : -1;
}

int main(int argc, char **argv)
{
    uint32_t len = argc == 7 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (len == 0 || len > 100000000) {
        fputs("usage: generate SAMPLES SEED go|fields distinct|repeated PREV CUR\n", stderr);
        return 2;
    }
    const bool is_by_fields = strcmp(argv[3], "fields") == 0;
    const uint32_t all = len + len / 1000;
    process p = {.b.m = model_empty, .rng = {strtoull(argv[2], NULL, 10)}};
    p.repeated = strcmp(argv[4], "repeated") == 0 ? REPEATED : 0;
    p.samples = ARENA_ARRAY(&p.b.arena, struct sample, all);
    p.b.m.samples = ARENA_ARRAY(&p.b.arena, model_sample *, all) + all;
    p.b.m.period_type = (model_type){"space", "bytes"};
    p.b.m.period = SAMPLING_RATE;
    build_types(&p.b, HEAP_TYPES);
    add_places(&p, 500 + len / 100);
    while (p.len < len)
        add_sample(&p);
    int failed = write_profile(&p, is_by_fields, FIRST_TIME, argv[5]);
    for (uint32_t i = 0; i < len; i++)
        if (p.samples[i].is_live)
            allocate(&p.rng, &p.samples[i]);
    while (p.len < all)
        add_sample(&p);
    failed |= write_profile(&p, is_by_fields, FIRST_TIME + MINUTE, argv[6]);
    build_free(&p.b);
    return failed != 0;
}
