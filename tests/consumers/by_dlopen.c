/* A program that was linked without the library and loads it, records with it and unloads it.
 *
 *     by_dlopen LIBPPROFDELTA LIBLATE
 *
 * What it records are program counters of its own, and of a library that comes between two windows:
 * the profile has both files with their mappings. A fork after the library is gone finds nothing
 * of it left behind. */
#include <pprofdelta_record.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct output {
    char bytes[1 << 16];
    size_t len;
} output;

static unsigned passed, failed;

static void check(const char *what, int holds)
{
    printf("%s %s\n", holds ? "ok" : "FAILED", what);
    holds ? passed++ : failed++;
}

static void *must(void *found)
{
    if (!found) {
        printf("FAILED to load: %s\n0 passed, 1 failed\n", dlerror());
        exit(1);
    }
    return found;
}

/* ISO C has no cast from an object pointer to a function. */
#define LOAD(library, name)                                                                        \
    do {                                                                                           \
        void *found_ = must(dlsym(library, #name));                                                \
        memcpy(&call_##name, &found_, sizeof found_);                                              \
    } while (0)
#define DECLARE(name) static __typeof__(name) *call_##name

DECLARE(pprofdelta_recorder_new);
DECLARE(pprofdelta_recorder_free);
DECLARE(pprofdelta_recorder_begin);
DECLARE(pprofdelta_recorder_add);
DECLARE(pprofdelta_recorder_write);
DECLARE(pprofdelta_recorder_commit);

static void load(void *library)
{
    LOAD(library, pprofdelta_recorder_new);
    LOAD(library, pprofdelta_recorder_free);
    LOAD(library, pprofdelta_recorder_begin);
    LOAD(library, pprofdelta_recorder_add);
    LOAD(library, pprofdelta_recorder_write);
    LOAD(library, pprofdelta_recorder_commit);
}

static int keep(void *cookie, const void *data, size_t len)
{
    output *out = cookie;
    if (len > sizeof out->bytes)
        return -1;
    memcpy(out->bytes, data, len);
    out->len = len;
    return 0;
}

static int has(const output *out, const char *text)
{
    return memmem(out->bytes, out->len, text, strlen(text)) != NULL;
}

static int window(pprofdelta_recorder *r, uint64_t leaf, output *out)
{
    uint64_t stack[2] = {leaf, 0};
    int (*self)(pprofdelta_recorder *, uint64_t, output *) = window;
    memcpy(&stack[1], &self, sizeof self);
    int64_t values[4] = {1, 16, 0, 0};
    pprofdelta_record record = {.stack = stack, .depth = 2, .values = values};
    pprofdelta_sink sink = {.write = keep, .cookie = out};
    out->len = 0;
    pprofdelta_status status = call_pprofdelta_recorder_begin(r, NULL, NULL);
    if (!status)
        status = call_pprofdelta_recorder_add(r, &record, NULL);
    if (!status)
        status = call_pprofdelta_recorder_write(r, &sink, NULL, NULL);
    call_pprofdelta_recorder_commit(r);
    return status == PPROFDELTA_OK;
}

static void use_recorder(const char *late)
{
    static output out;
    pprofdelta_recorder *r = NULL;
    pprofdelta_recorder_options options = PPROFDELTA_RECORDER_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    uintptr_t own = (uintptr_t)dlsym(RTLD_DEFAULT, "getpid");
    check("a recorder is made", call_pprofdelta_recorder_new(&options, NULL, &r, NULL) == 0);
    check("a window", window(r, own, &out));
    check("it has the program, not what is to come", has(&out, "by_dlopen") && !has(&out, "late"));
    void *library = must(dlopen(late, RTLD_NOW));
    check("another window", window(r, (uintptr_t)must(dlsym(library, "late_work")), &out));
    check("it has what was loaded meanwhile", has(&out, "by_dlopen") && has(&out, "late"));
    call_pprofdelta_recorder_free(r);
    dlclose(library);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: by_dlopen LIBPPROFDELTA LIBLATE\n", stderr);
        return 2;
    }
    void *library = must(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL));
    load(library);
    use_recorder(argv[2]);
    check("it is unloaded", dlclose(library) == 0);
    fflush(stdout);
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    check("a fork after that", pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
