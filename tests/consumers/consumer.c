#include <pprofdelta.h>
#include <stdio.h>
#include <stdlib.h>

static int put(void *out, const void *data, size_t len)
{
    return fwrite(data, 1, len, out) != len;
}

int main(int argc, char **argv) /* consumer PREV CUR >DELTA */
{
    static char *bytes[2];
    size_t len[2] = {0, 0}, got;
    for (int i = 0; i < 2; i++) {
        const char *name = argc == 3 ? argv[1 + i] : "PREV CUR";
        FILE *in = fopen(name, "rb");
        for (got = 1; in && got && (bytes[i] = realloc(bytes[i], len[i] + 65536)); len[i] += got)
            got = fread(bytes[i] + len[i], 1, 65536, in);
        if (!in || !bytes[i] || ferror(in))
            return perror(name), 1;
    }
    pprofdelta *pd = NULL;
    pprofdelta_error err = {PPROFDELTA_OK};
    pprofdelta_sink sink = {.write = put, .cookie = stdout};
    if (pprofdelta_new(NULL, NULL, &pd, &err) || pprofdelta_base(pd, bytes[0], len[0], &err) ||
        pprofdelta_window(pd, bytes[1], len[1], &sink, NULL, &err))
        return fputs(err.text, stderr), 1;
    return pprofdelta_free(pd), fflush(stdout) != 0;
}
