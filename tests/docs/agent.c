#include <pprofdelta.h>
#include <stdio.h>
#include <stdlib.h>

static int to_file(void *cookie, const void *data, size_t len)
{
    return fwrite(data, 1, len, cookie) == len ? 0 : -1;
}

int main(int argc, char **argv) /* agent SCRAPE DELTA [SCRAPE DELTA]... */
{
    char *bytes = NULL;
    pprofdelta *pd;
    pprofdelta_error err = {0};
    pprofdelta_status status = pprofdelta_new(NULL, NULL, &pd, &err);
    for (int i = 1; i + 1 < argc && !status; i += 2) {
        FILE *in = fopen(argv[i], "rb"), *out = fopen(argv[i + 1], "wb");
        if (!in || !out)
            return perror(argv[in ? i + 1 : i]), 1;
        pprofdelta_sink sink = {.write = to_file, .cookie = out};
        size_t len = 0, got = 1;
        for (; got && (bytes = realloc(bytes, len + (1 << 20))); len += got)
            got = fread(bytes + len, 1, 1 << 20, in);
        if (!bytes || ferror(in))
            return perror(argv[i]), 1;
        status = pprofdelta_window(pd, bytes, len, &sink, NULL, &err);
        if (fclose(out) == 0 && !status)
            pprofdelta_commit(pd); /* it is safe: the next window begins here */
        else
            pprofdelta_abandon(pd); /* it is lost: the next window covers its time too */
        fclose(in);
    }
    if (status)
        fprintf(stderr, "%s\n", err.text);
    return pprofdelta_free(pd), free(bytes), status != PPROFDELTA_OK;
}
