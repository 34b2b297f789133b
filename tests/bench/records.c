/* Times the windows of a recorder on records that are made up, from records to a compressed delta.
 *
 *     records SITES RATE RECORDS DEPTH CHANGED LIVE WINDOWS [OUT]
 *
 * The numbers are those of tests/peers/godeltaprof, which makes the very same records; SITES is what its
 * -sites wrote, or - for program counters of our own. Prints the nanoseconds of each window on a line and,
 * behind #, what the recorder holds and how often it allocated in the last half of the windows. OUT gets the
 * last window. */
#include <pprofdelta_record.h>

#include "clock.h"
#include "collect.h"
#include "support/recorder_size.h"
#include "support/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SITES = 4096 };

typedef struct site {
    uint64_t pc;
    pprofdelta_frame frame;
} site;

typedef struct shape {
    size_t records, depth, changed, live, windows;
    int64_t rate;
} shape;

typedef struct bench {
    shape shape;
    rng rng;
    site *sites;
    size_t sites_len;
    uint64_t *stacks; /* depth program counters to a record */
    int64_t (*values)[4];
    size_t allocations;
    collected out;
    pprofdelta_recorder *recorder;
} bench;

/* ---- memory and output ----------------------------------------------------------------------- */

static void *must(void *ptr)
{
    if (!ptr) {
        fputs("records: no memory\n", stderr);
        exit(1);
    }
    return ptr;
}

static void *count_resize(void *cookie, void *ptr, size_t size)
{
    ++*(size_t *)cookie;
    return realloc(ptr, size);
}

static void release(void *cookie, void *ptr)
{
    (void)cookie;
    free(ptr);
}

/* ---- records --------------------------------------------------------------------------------- */

/* "pc name file line start_line", by tabs. */
static int read_sites(bench *b, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[4096];
    while (file && fgets(line, sizeof line, file) && b->sites_len < MOST_SITES) {
        char *parts[5] = {0}, *rest = line;
        for (size_t i = 0; i < 5; i++)
            parts[i] = rest ? strsep(&rest, "\t\n") : NULL;
        if (!parts[4])
            continue;
        b->sites[b->sites_len++] = (site){strtoull(parts[0], NULL, 16),
                                          {.name = must(strdup(parts[1])),
                                           .filename = must(strdup(parts[2])),
                                           .line = strtoll(parts[3], NULL, 10),
                                           .start_line = strtoll(parts[4], NULL, 10)}};
    }
    if (file)
        fclose(file);
    else
        perror(path);
    return b->sites_len ? 0 : -1;
}

static void make_sites(bench *b)
{
    for (; b->sites_len < MOST_SITES; b->sites_len++) {
        char name[64], file[64];
        size_t i = b->sites_len, function = i / 6;
        snprintf(name, sizeof name, "service/package%zu.(*Type%zu).Method%zu", function % 40,
                 function % 300, function);
        snprintf(file, sizeof file, "service/package%zu/file%zu.go", function % 40, function % 300);
        b->sites[i] = (site){0x400000 + i * 48,
                             {.name = must(strdup(name)),
                              .filename = must(strdup(file)),
                              .line = (int64_t)(function % 900 + i % 6),
                              .start_line = (int64_t)(function % 900)}};
    }
}

static void symbolize(void *cookie, uint64_t pc, pprofdelta_symbol *out)
{
    const bench *b = cookie;
    size_t low = 0, high = b->sites_len; /* they are in order */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->sites[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    *out = (pprofdelta_symbol){&b->sites[low].frame, 1, 0};
}

static int64_t size_of(size_t record)
{
    return 16 << (record % 8);
}

static void make_records(bench *b)
{
    const shape *s = &b->shape;
    b->stacks = must(calloc(s->records * s->depth + 1, sizeof *b->stacks));
    b->values = must(calloc(s->records + 1, sizeof *b->values));
    for (size_t i = 0; i < s->records; i++) {
        for (size_t n = 0; n < s->depth; n++)
            b->stacks[i * s->depth + n] = b->sites[rng_below(&b->rng, b->sites_len)].pc;
        int64_t *values = b->values[i], objects = 1 + (int64_t)rng_below(&b->rng, 40);
        values[0] = objects;
        values[1] = objects * size_of(i);
        values[2] = rng_below(&b->rng, 1000) < s->live;
        values[3] = values[2] * size_of(i);
    }
}

static void change_records(bench *b)
{
    for (size_t n = 0; n < b->shape.changed; n++) {
        size_t i = rng_below(&b->rng, b->shape.records);
        int64_t objects = 1 + (int64_t)rng_below(&b->rng, 40);
        b->values[i][0] += objects;
        b->values[i][1] += objects * size_of(i);
    }
}

/* ---- windows --------------------------------------------------------------------------------- */

static pprofdelta_status window(bench *b, pprofdelta_error *err)
{
    const shape *s = &b->shape;
    pprofdelta_recording look = {.period = s->rate};
    pprofdelta_sink sink = {.write = append, .cookie = &b->out};
    b->out.len = 0;
    pprofdelta_status status = pprofdelta_recorder_begin(b->recorder, &look, err);
    for (size_t i = 0; i < s->records && !status; i++) {
        pprofdelta_record record = {.stack = b->stacks + i * s->depth,
                                    .depth = s->depth,
                                    .values = b->values[i],
                                    .block_size = size_of(i)};
        status = pprofdelta_recorder_add(b->recorder, &record, err);
    }
    if (!status)
        status = pprofdelta_recorder_write(b->recorder, &sink, NULL, err);
    pprofdelta_recorder_commit(b->recorder);
    return status;
}

static pprofdelta_status run(bench *b, pprofdelta_error *err)
{
    size_t before = 0;
    for (size_t w = 0; w < b->shape.windows; w++) {
        if (w == b->shape.windows / 2)
            before = b->allocations;
        int64_t start = now(CLOCK_MONOTONIC);
        pprofdelta_status status = window(b, err);
        if (status)
            return status;
        printf("%" PRId64 "\n", now(CLOCK_MONOTONIC) - start);
        if (w + 1 < b->shape.windows)
            change_records(b);
    }
    printf("# entries %zu ledger %zu all %" PRIu64 " allocations %zu output %zu\n",
           (size_t)b->recorder->ledger.committed, recorder_ledger_bytes(b->recorder),
           b->recorder->mem.used, b->allocations - before, b->out.len);
    return PPROFDELTA_OK;
}

static pprofdelta_status make_recorder(bench *b, pprofdelta_error *err)
{
    pprofdelta_allocator allocator = {count_resize, release, &b->allocations};
    pprofdelta_recorder_options options = PPROFDELTA_RECORDER_OPTIONS_INIT;
    options.flags = PPROFDELTA_NO_MAPPINGS | PPROFDELTA_RETURN_ADDRESSES | PPROFDELTA_NO_STAMP;
    options.symbolize = symbolize;
    options.symbolize_cookie = b;
    return pprofdelta_recorder_new(&options, &allocator, &b->recorder, err);
}

static int write_file(const char *path, const collected *out)
{
    FILE *file = fopen(path, "wb");
    int ok = file && fwrite(out->ptr, 1, out->len, file) == out->len;
    if (file && fclose(file) != 0)
        ok = 0;
    if (!ok)
        perror(path);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    static site sites[MOST_SITES];
    static bench b;
    pprofdelta_error err = {0};
    if (argc < 8 || argc > 9) {
        fputs("usage: records SITES|- RATE RECORDS DEPTH CHANGED LIVE WINDOWS [OUT]\n", stderr);
        return 2;
    }
    size_t numbers[6];
    for (int i = 0; i < 6; i++)
        numbers[i] = (size_t)strtoull(argv[2 + i], NULL, 10);
    b.shape = (shape){.rate = (int64_t)numbers[0],
                      .records = numbers[1],
                      .depth = numbers[2],
                      .changed = numbers[3],
                      .live = numbers[4],
                      .windows = numbers[5]};
    b.rng.state = 1;
    b.sites = sites;
    if (strcmp(argv[1], "-") == 0)
        make_sites(&b);
    else if (read_sites(&b, argv[1]))
        return 1;
    make_records(&b);
    pprofdelta_status status = make_recorder(&b, &err);
    if (!status)
        status = run(&b, &err);
    if (status)
        fprintf(stderr, "records: %s\n", err.text);
    int failed = status || (argc == 9 && write_file(argv[8], &b.out));
    pprofdelta_recorder_free(b.recorder);
    return failed;
}
