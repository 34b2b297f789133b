#include <pprofdelta.h>
#include <stdio.h>

static int to_file(void *cookie, const void *data, size_t len)
{
    return fwrite(data, 1, len, cookie) == len ? 0 : -1;
}

int main(int argc, char **argv) /* agent SCRAPE... : one delta per scrape, SCRAPE.delta */
{
    static char bytes[64 << 20];
    pprofdelta *pd;
    pprofdelta_error err = {0};
    pprofdelta_status status = pprofdelta_new(NULL, NULL, &pd, &err);
    for (int i = 1; i < argc && !status; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s.delta", argv[i]);
        FILE *in = fopen(argv[i], "rb"), *out = fopen(name, "wb");
        pprofdelta_sink sink = {to_file, out};
        size_t len = in && out ? fread(bytes, 1, sizeof bytes, in) : 0;
        status = pprofdelta_window(pd, bytes, len, &sink, NULL, &err);
        if (!status && fclose(out) == 0)
            pprofdelta_commit(pd); /* it is safe: the next window begins here */
        else
            pprofdelta_abandon(pd); /* it is not: the next window covers this one too */
        if (in)
            fclose(in);
    }
    if (status)
        fprintf(stderr, "%s: %s\n", err.stage, err.text);
    pprofdelta_free(pd);
    return status;
}
