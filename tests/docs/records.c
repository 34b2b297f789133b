#include <pprofdelta_record.h>
#include <stdio.h>

/* A place that allocates: how it is reached, and what it has counted since the process began. */
typedef struct place {
    uintptr_t stack[2]; /* the leaf first */
    int64_t size, values[4];
} place;

static const pprofdelta_frame frames[] = {{.name = "main", .filename = "main.c", .line = 40},
                                          {.name = "parse", .filename = "parse.c", .line = 12},
                                          {.name = "remember", .filename = "cache.c", .line = 7}};

static void symbolize(void *cookie, uintptr_t pc, pprofdelta_symbol *out)
{
    *out = (pprofdelta_symbol){.frames = &frames[pc - *(uintptr_t *)cookie], .frames_len = 1};
}

static int to_file(void *cookie, const void *data, size_t len)
{
    return fwrite(data, 1, len, cookie) == len ? 0 : -1;
}

static void work(place *p, int64_t objects, int64_t freed)
{
    for (int i = 0; i < 4; i++) /* objects and bytes allocated, objects and bytes in use */
        p->values[i] += (i < 2 ? objects : objects - freed) * (i % 2 ? p->size : 1);
}

int main(int argc, char **argv) /* records DELTA... */
{
    uintptr_t text = 0x1000;
    place places[] = {{{0x1001, 0x1000}, 64, {0}}, {{0x1002, 0x1000}, 4096, {0}}};
    pprofdelta_recorder_options options = PPROFDELTA_RECORDER_OPTIONS_INIT; /* of a heap */
    options.flags = PPROFDELTA_NO_MAPPINGS; /* such addresses are in no file */
    options.symbolize = symbolize;
    options.symbolize_cookie = &text;
    pprofdelta_recorder *r = NULL;
    pprofdelta_error err = {0};
    pprofdelta_status status = pprofdelta_recorder_new(&options, NULL, &r, &err);
    for (int i = 1; i < argc && !status; i++) {
        work(&places[0], 1000, 990);
        work(&places[1], 2, 0);
        FILE *out = fopen(argv[i], "wb");
        pprofdelta_sink sink = {to_file, out};
        status = pprofdelta_recorder_begin(r, NULL, &err);
        for (place *p = places; p < places + 2 && !status; p++) {
            pprofdelta_record record = {p->stack, 2, p->values, p->size, NULL, 0};
            status = pprofdelta_recorder_add(r, &record, &err);
        }
        if (out && !status && !(status = pprofdelta_recorder_write(r, &sink, NULL, &err)) &&
            !fclose(out))
            pprofdelta_recorder_commit(r); /* the next window begins here */
        else
            pprofdelta_recorder_abandon(r); /* the next window covers this one, too */
    }
    fputs(status ? err.text : "", stderr);
    return pprofdelta_recorder_free(r), status != PPROFDELTA_OK;
}
