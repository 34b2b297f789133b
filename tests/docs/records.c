#include <pprofdelta_record.h>
#include <stdio.h>

/* The places that allocate: the way there, and what each has counted since the process began. */
static struct place {
    uint64_t stack[2]; /* the leaf first */
    int64_t size, values[4];
} places[] = {{{0x1001, 0x1000}, 64, {0}}, {{0x1002, 0x1000}, 4096, {0}}};

static pprofdelta_frame frames[] = {{"main", NULL, "main.c", 30, 40, 0},
                                    {"parse", NULL, "parse.c", 8, 12, 0},
                                    {"remember", NULL, "cache.c", 3, 7, 0}};

static void symbolize(void *cookie, uint64_t pc, pprofdelta_symbol *out)
{
    *out = (pprofdelta_symbol){(pprofdelta_frame *)cookie + (pc - 0x1000), 1, 0};
}

static int to_file(void *cookie, const void *data, size_t len)
{
    return fwrite(data, 1, len, cookie) == len ? 0 : -1;
}

static void work(struct place *p, int64_t objects, int64_t freed)
{
    for (int i = 0; i < 4; i++) /* objects and bytes allocated, objects and bytes in use */
        p->values[i] += (i < 2 ? objects : objects - freed) * (i % 2 ? p->size : 1);
}

int main(int argc, char **argv) /* records DELTA... */
{
    pprofdelta_recorder_options options = PPROFDELTA_RECORDER_OPTIONS_INIT; /* of a heap */
    options.flags = PPROFDELTA_NO_MAPPINGS; /* such addresses are in no file */
    options.symbolize = symbolize;
    options.symbolize_cookie = frames;
    pprofdelta_recorder *r = NULL;
    pprofdelta_error err = {0};
    pprofdelta_status status = pprofdelta_recorder_new(&options, NULL, &r, &err);
    for (int i = 1; i < argc && !status; i++) {
        work(&places[0], 1000, 990);
        work(&places[1], 2, 0);
        FILE *out = fopen(argv[i], "wb");
        if (!out)
            return perror(argv[i]), 1;
        pprofdelta_sink sink = {.write = to_file, .cookie = out};
        status = pprofdelta_recorder_begin(r, NULL, &err);
        for (struct place *p = places; p < places + 2 && !status; p++) {
            pprofdelta_record record = {p->stack, 2, p->values, p->size, NULL, 0};
            status = pprofdelta_recorder_add(r, &record, &err);
        }
        status = status ? status : pprofdelta_recorder_write(r, &sink, NULL, &err);
        if (fclose(out) == 0 && !status)
            pprofdelta_recorder_commit(r); /* the next window begins here */
        else
            pprofdelta_recorder_abandon(r); /* the next window covers this one, too */
    }
    fputs(status ? err.text : "", stderr);
    return pprofdelta_recorder_free(r), status != PPROFDELTA_OK;
}
