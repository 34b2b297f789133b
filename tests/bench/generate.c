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
#include "support/rng.h"

#include "wire/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_TIME    INT64_C(1700000000000000000)
#define MINUTE        INT64_C(60000000000)
#define TEXT_START    UINT64_C(0x400000)
#define SAMPLING_RATE 524288

enum { LIVE = 15, REPEATED = 33 }; /* percent */
enum { SITES_OF_FUNCTION = 4, DEPTH_LEAST = 12, DEPTH_SPREAD = 20, TYPES = 4 };
enum { STRING_SPACE = 1, STRING_BYTES, STRING_COUNT }; /* the first strings, in both orders */

typedef struct sample {
    uint32_t stack, block_size;
    bool is_live;
    uint64_t values[TYPES]; /* objects and bytes: allocated, in use */
} sample;

typedef struct profile {
    bool is_by_fields;
    uint32_t functions;
    pd_mem mem;
    pd_writer writer;
    pd_buffer out, part, inner; /* the profile; the message and the message in it being written */
    pd_buffer late_locations, late_functions; /* what follows the samples, by field numbers */
    pd_buffer strings;                        /* the table, as on the wire */
    uint64_t strings_len;
    uint32_t *location_ids, *function_ids; /* by site, by function; 0: not used yet */
    uint32_t locations_len, functions_len;
} profile;

/* ---- the process ----------------------------------------------------------------------------- */

static void *array(size_t len, size_t size)
{
    void *ptr = calloc(len + 1, size);
    if (!ptr) {
        fputs("generate: out of memory\n", stderr);
        exit(1);
    }
    return ptr;
}

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
static void allocate(rng *r, sample *s)
{
    uint64_t scale = 1 + SAMPLING_RATE / s->block_size, seen = 1 + rng_below(r, 8);
    s->values[0] += seen * scale;
    s->values[2] = s->is_live ? scale * (1 + rng_below(r, (size_t)seen)) : 0;
    s->values[1] = s->values[0] * s->block_size;
    s->values[3] = s->values[2] * s->block_size;
}

static void draw(rng *r, sample *samples, uint32_t i, unsigned repeated)
{
    sample *s = &samples[i];
    *s =
        (sample){.stack = i, .block_size = 16U << rng_below(r, 13), .is_live = rng_chance(r, LIVE)};
    if (i && rng_chance(r, repeated)) {
        const sample *earlier = &samples[rng_below(r, i)];
        s->stack = earlier->stack;
        s->block_size = rng_chance(r, 50) ? earlier->block_size : s->block_size;
    }
    allocate(r, s);
}

/* ---- the profile ----------------------------------------------------------------------------- */

static void number(profile *p, pd_buffer *to, uint32_t field, uint64_t value)
{
    pd_write_varint(&p->writer, to, field, value);
}

static uint64_t add_string(profile *p, const char *text)
{
    pd_write_bytes(&p->writer, &p->strings, 6, (const uint8_t *)text, strlen(text));
    return p->strings_len++;
}

static void write_types(profile *p)
{
    static const char *const names[TYPES] = {"alloc_objects", "alloc_space", "inuse_objects",
                                             "inuse_space"};
    for (size_t i = 0; i < TYPES; i++) {
        number(p, &p->part, 1, add_string(p, names[i]));
        number(p, &p->part, 2, i % 2 ? STRING_BYTES : STRING_COUNT);
        pd_write_part(&p->writer, &p->out, 1, &p->part);
    }
}

static void write_period(profile *p, int64_t time_nanos)
{
    number(p, &p->out, 9, (uint64_t)time_nanos);
    number(p, &p->part, 1, STRING_SPACE);
    number(p, &p->part, 2, STRING_BYTES);
    pd_write_part(&p->writer, &p->out, 11, &p->part);
    number(p, &p->out, 12, SAMPLING_RATE);
}

static void write_mapping(profile *p)
{
    number(p, &p->part, 1, 1);
    number(p, &p->part, 2, TEXT_START);
    number(p, &p->part, 3, TEXT_START + UINT64_C(64) * p->functions * (SITES_OF_FUNCTION + 1));
    number(p, &p->part, 5, add_string(p, "/usr/local/bin/shop"));
    number(p, &p->part, 6, add_string(p, "6b8f1c9a3c6f4f0e9d0b7a5c2e1d8f7a6b5c4d3e"));
    number(p, &p->part, 7, 1);
    pd_write_part(&p->writer, &p->out, 3, &p->part);
}

static void write_function(profile *p, uint32_t f)
{
    char name[96], file[96];
    snprintf(name, sizeof name, "example.com/shop/internal/pkg%u.(*Type%u).Method%u", f / 25, f / 5,
             f);
    snprintf(file, sizeof file, "example.com/shop/internal/pkg%u/type%u_%u.go", f / 25, f / 5, f);
    uint64_t string = add_string(p, name);
    p->function_ids[f] = ++p->functions_len;
    number(p, &p->inner, 1, p->functions_len);
    number(p, &p->inner, 2, string);
    number(p, &p->inner, 3, string);
    number(p, &p->inner, 4, add_string(p, file));
    number(p, &p->inner, 5, 10 + f % 900);
    pd_write_part(&p->writer, p->is_by_fields ? &p->late_functions : &p->out, 5, &p->inner);
}

/* A location; an eighth of them have a second line, of a function that is inlined there. */
static void write_location(profile *p, uint32_t site)
{
    const uint32_t function = site / SITES_OF_FUNCTION;
    const uint32_t lines[] = {(function * 7 + 1) % p->functions, function};
    const size_t first = site % 8 == 0 ? 0 : 1;
    for (size_t i = first; i < 2; i++)
        if (!p->function_ids[lines[i]])
            write_function(p, lines[i]);
    p->location_ids[site] = ++p->locations_len;
    number(p, &p->part, 1, p->locations_len);
    number(p, &p->part, 2, 1);
    number(p, &p->part, 3, TEXT_START + 0x1000 + UINT64_C(64) * site);
    for (size_t i = first; i < 2; i++) {
        number(p, &p->inner, 1, p->function_ids[lines[i]]);
        number(p, &p->inner, 2, 10 + lines[i] % 900 + site % SITES_OF_FUNCTION);
        pd_write_part(&p->writer, &p->part, 4, &p->inner);
    }
    pd_write_part(&p->writer, p->is_by_fields ? &p->late_locations : &p->out, 4, &p->part);
}

static void write_list(profile *p, uint32_t field, const uint64_t *values, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t *end = pd_write_room(&p->writer, &p->inner, PD_VARINT_MAX);
        if (end)
            pd_write_done(&p->inner, pd_varint_encode(end, values[i]));
    }
    pd_write_part(&p->writer, &p->part, field, &p->inner);
}

static void write_sample(profile *p, const sample *s)
{
    uint64_t stack[DEPTH_LEAST + DEPTH_SPREAD];
    const uint32_t depth = DEPTH_LEAST + drawn(s->stack / 16, 1000, DEPTH_SPREAD);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t site = site_of(s->stack, i, p->functions * SITES_OF_FUNCTION);
        if (!p->location_ids[site])
            write_location(p, site);
        stack[i] = p->location_ids[site];
    }
    write_list(p, 1, stack, depth);
    write_list(p, 2, s->values, TYPES);
    number(p, &p->inner, 1, STRING_BYTES);
    number(p, &p->inner, 3, s->block_size);
    pd_write_part(&p->writer, &p->part, 3, &p->inner);
    pd_write_part(&p->writer, &p->out, 2, &p->part);
}

static void append(profile *p, const pd_buffer *from)
{
    pd_write_raw(&p->writer, &p->out, from->ptr, from->len);
}

/* Samples are written the newest first. */
static int write_profile(const sample *samples, uint32_t len, uint32_t functions, bool is_by_fields,
                         int64_t time_nanos, const char *path)
{
    profile p = {.is_by_fields = is_by_fields, .functions = functions};
    static const char *const first[] = {"", "space", "bytes", "count"};
    pd_mem_init(&p.mem, NULL, UINT64_MAX);
    p.writer.mem = &p.mem;
    p.location_ids = array((size_t)functions * SITES_OF_FUNCTION, sizeof *p.location_ids);
    p.function_ids = array(functions, sizeof *p.function_ids);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        add_string(&p, first[i]);
    if (!is_by_fields)
        write_period(&p, time_nanos);
    write_types(&p);
    for (uint32_t i = len; i > 0; i--)
        write_sample(&p, &samples[i - 1]);
    write_mapping(&p);
    append(&p, &p.late_locations);
    append(&p, &p.late_functions);
    append(&p, &p.strings);
    if (is_by_fields)
        write_period(&p, time_nanos);
    FILE *file = fopen(path, "wb");
    bool is_good = !p.writer.status && file && fwrite(p.out.ptr, 1, p.out.len, file) == p.out.len;
    if ((file && fclose(file) != 0) || !is_good)
        perror(path);
    return is_good ? 0 : -1; /* the end of the process frees everything */
}

int main(int argc, char **argv)
{
    uint32_t len = argc == 7 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (len == 0 || len > 100000000) {
        fputs("usage: generate SAMPLES SEED go|fields distinct|repeated PREV CUR\n", stderr);
        return 2;
    }
    const bool is_by_fields = strcmp(argv[3], "fields") == 0;
    const unsigned repeated = strcmp(argv[4], "repeated") == 0 ? REPEATED : 0;
    const uint32_t all = len + len / 1000, functions = 500 + len / 100;
    rng r = {strtoull(argv[2], NULL, 10)};
    sample *samples = array(all, sizeof *samples);
    for (uint32_t i = 0; i < len; i++)
        draw(&r, samples, i, repeated);
    int failed = write_profile(samples, len, functions, is_by_fields, FIRST_TIME, argv[5]);
    for (uint32_t i = 0; i < len; i++)
        if (samples[i].is_live)
            allocate(&r, &samples[i]);
    for (uint32_t i = len; i < all; i++)
        draw(&r, samples, i, repeated);
    failed |= write_profile(samples, all, functions, is_by_fields, FIRST_TIME + MINUTE, argv[6]);
    free(samples);
    return failed != 0;
}
