#include <pprofdelta.h>
#include <stdio.h>

static int put(void *out, const void *data, size_t len)
{
    return fwrite(data, 1, len, out) != len;
}

int main(int argc, char **argv) /* consumer PREV CUR >DELTA */
{
    static char prev[16 << 20], cur[16 << 20];
    size_t prev_len = argc == 3 ? fread(prev, 1, sizeof prev, fopen(argv[1], "rb")) : 0;
    size_t cur_len = argc == 3 ? fread(cur, 1, sizeof cur, fopen(argv[2], "rb")) : 0;
    pprofdelta *pd = NULL;
    pprofdelta_error err = {PPROFDELTA_OK};
    pprofdelta_sink sink = {.write = put, .cookie = stdout};
    if (pprofdelta_new(NULL, NULL, &pd, &err) || pprofdelta_base(pd, prev, prev_len, &err) ||
        pprofdelta_window(pd, cur, cur_len, &sink, NULL, &err))
        return fputs(err.text, stderr), 1;
    return pprofdelta_free(pd), fflush(stdout) != 0;
}
