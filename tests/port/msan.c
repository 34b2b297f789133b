/* What MemorySanitizer of clang 14 does not know of the C library: that stat fills what it is
 * given, and that nftw's callback is handed what is set. These stand before the C library's own and
 * say so; the port links them into every program. Where off_t is of 64 bits anyway, as it is here,
 * both names of each are the same function. */
#include <dlfcn.h>
#include <ftw.h>
#include <sanitizer/msan_interface.h>
#include <sys/stat.h>

static int note(int result, struct stat *out)
{
    if (!result)
        __msan_unpoison(out, sizeof *out);
    return result;
}

#define KNOWN(symbol, type)                                                                        \
    int known_##symbol(type of, struct stat *out) __asm__(#symbol);                                \
    int known_##symbol(type of, struct stat *out)                                                  \
    {                                                                                              \
        int (*real)(type, struct stat *) =                                                         \
            (int (*)(type, struct stat *))dlsym(RTLD_NEXT, #symbol);                               \
        return note(real(of, out), out);                                                           \
    }

KNOWN(stat, const char *)
KNOWN(stat64, const char *)
KNOWN(lstat, const char *)
KNOWN(lstat64, const char *)
KNOWN(fstat, int)
KNOWN(fstat64, int)

static __thread __nftw_func_t callback;

/* The sanitizer has no idea of what the C library, which it did not compile, hands over. */
__attribute__((no_sanitize("memory"))) static int told(const char *path, const struct stat *status,
                                                       int type, struct FTW *at)
{
    __msan_unpoison_string(path);
    __msan_unpoison(status, sizeof *status);
    __msan_unpoison(at, sizeof *at);
    return callback(path, status, type, at);
}

typedef int walker(const char *path, __nftw_func_t each, int fds, int flags);

#define KNOWN_NFTW(symbol)                                                                         \
    walker known_##symbol __asm__(#symbol);                                                        \
    int known_##symbol(const char *path, __nftw_func_t each, int fds, int flags)                   \
    {                                                                                              \
        callback = each;                                                                           \
        return ((walker *)dlsym(RTLD_NEXT, #symbol))(path, told, fds, flags);                      \
    }

KNOWN_NFTW(nftw)
KNOWN_NFTW(nftw64)
