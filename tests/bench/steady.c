/* Times the windows of a context that has settled, from plain bytes to plain bytes, in memory.
 *
 *     steady PREV CUR ROUNDS      plain profiles
 *
 * Prints "WALL CPU" for each window: nanoseconds, and nanoseconds of processor time of all threads.
 * Before each window the context is given prev again, outside the clock, so that every window is
 * the one from prev to cur. A first line, behind #, has the number of samples of the window and of
 * the bytes that come out. The clock covers the function `window` and nothing else; callgrind
 * collects there too. */
#include <pprofdelta.h>

#include "clock.h"
#include "collect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_file(const char *path, collected *out)
{
    FILE *file = fopen(path, "rb");
    long len = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        len = ftell(file);
    if (len >= 0) {
        rewind(file);
        out->len = out->cap = (size_t)len;
        out->ptr = malloc(out->cap + 1);
    }
    int ok = out->ptr && fread(out->ptr, 1, out->len, file) == out->len;
    if (!ok)
        perror(path);
    if (file)
        fclose(file);
    return ok ? 0 : -1;
}

__attribute__((noinline)) static pprofdelta_status window(pprofdelta *pd, const collected *cur,
                                                          collected *out, pprofdelta_report *report,
                                                          pprofdelta_error *err)
{
    pprofdelta_sink sink = {.write = append, .cookie = out};
    out->len = 0;
    pprofdelta_status status = pprofdelta_window(pd, cur->ptr, cur->len, &sink, report, err);
    if (status == PPROFDELTA_OK)
        pprofdelta_commit(pd);
    return status;
}

static pprofdelta_status rounds(pprofdelta *pd, const collected *prev, const collected *cur,
                                long count, collected *out, pprofdelta_error *err)
{
    pprofdelta_report report = {.size = sizeof report};
    for (long i = 0; i < count; i++) {
        pprofdelta_status status = pprofdelta_base(pd, prev->ptr, prev->len, err);
        if (status)
            return status;
        int64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
        status = window(pd, cur, out, &report, err);
        wall = now(CLOCK_MONOTONIC) - wall;
        cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        if (status)
            return status;
        if (i == 0)
            printf("# %" PRIu64 " samples, %zu bytes out\n", report.samples_in, out->len);
        printf("%" PRId64 " %" PRId64 "\n", wall, cpu);
    }
    return PPROFDELTA_OK;
}

int main(int argc, char **argv)
{
    collected prev = {NULL, 0, 0}, cur = {NULL, 0, 0}, out = {NULL, 0, 0};
    long count = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    if (count <= 0) {
        fputs("usage: steady PREV CUR ROUNDS\n", stderr);
        return 2;
    }
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    pprofdelta *pd = NULL;
    pprofdelta_error err;
    int failed = read_file(argv[1], &prev) || read_file(argv[2], &cur);
    if (!failed &&
        (pprofdelta_new(&options, NULL, &pd, &err) || rounds(pd, &prev, &cur, count, &out, &err))) {
        fprintf(stderr, "steady: %s\n", err.text);
        failed = 1;
    }
    pprofdelta_free(pd);
    free(prev.ptr);
    free(cur.ptr);
    free(out.ptr);
    return failed;
}
