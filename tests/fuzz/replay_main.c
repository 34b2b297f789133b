/* Runs a fuzz target over files: the corpus in the ordinary tests, a finding under a debugger.
 *
 *     fuzz_pair_replay FILE|DIRECTORY...     directories are walked whole
 *
 * Every input is a copy of its very size on the heap, so that a sanitizer or valgrind sees a read
 * past the end. The empty input is always tried. Each name is printed before its input is run: a
 * target that fails ends this program, and the last name is that of the input. */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long passed, failed;

static void run_input(const char *name, const uint8_t *data, size_t len)
{
    puts(name);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, len);
    passed++;
}

static void refuse(const char *name, const char *why)
{
    printf("FAILED %s: %s\n", name, why);
    failed++;
}

static size_t length_of(FILE *file)
{
    long len = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    if (file)
        rewind(file);
    return len > 0 ? (size_t)len : 0;
}

static void run_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    size_t len = length_of(file);
    uint8_t *data = malloc(len ? len : 1);
    if (!file || !data || fread(data, 1, len, file) != len)
        refuse(name, "cannot be read");
    else
        run_input(name, data, len);
    free(data);
    if (file)
        fclose(file);
}

static int visit(const char *name, const struct stat *info, int kind, struct FTW *place)
{
    (void)place;
    if (kind == FTW_F && S_ISREG(info->st_mode))
        run_file(name);
    return 0;
}

int main(int argc, char **argv)
{
    uint8_t *nothing = malloc(1);
    if (nothing)
        run_input("the empty input", nothing, 0);
    free(nothing);
    for (int i = 1; i < argc; i++) {
        unsigned long before_this = passed + failed;
        if (nftw(argv[i], visit, 16, FTW_PHYS) != 0)
            refuse(argv[i], "cannot be walked");
        else if (passed + failed == before_this)
            refuse(argv[i], "no file there");
    }
    printf("%lu passed, %lu failed\n", passed, failed);
    return failed != 0;
}
