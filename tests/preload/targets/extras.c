/* Uses what jemalloc and tcmalloc offer beyond malloc, where it is there.
 *
 *     extras probe               which functions there are, by weak references and by dlsym
 *     extras leak FAMILY HOW     leaks known amounts by known functions, among what it does not leak;
 *                                HOW is "linked" or "dlsym"
 *     extras open FAMILY LIBRARY the same by dlsym, of a library that it opens
 *
 * With OWN defined it has these of jemalloc's functions itself, with a pool of their own. */
#include <dlfcn.h>
#include "program.h"

int main(int argc, char **argv); /* perhaps by another name, of a library */

#ifdef OWN
#define WEAK
#else
#define WEAK __attribute__((weak))
#endif

void *mallocx(size_t size, int flags) WEAK;
void *rallocx(void *ptr, size_t size, int flags) WEAK;
size_t xallocx(void *ptr, size_t size, size_t extra, int flags) WEAK;
void dallocx(void *ptr, int flags) WEAK;
void sdallocx(void *ptr, size_t size, int flags) WEAK;
#undef WEAK
#define WEAK __attribute__((weak))
void *tc_malloc(size_t size) WEAK;
void *tc_calloc(size_t count, size_t size) WEAK;
void *tc_realloc(void *ptr, size_t size) WEAK;
void *tc_memalign(size_t alignment, size_t size) WEAK;
int tc_posix_memalign(void **out, size_t alignment, size_t size) WEAK;
void *tc_new(size_t size) WEAK;
void *tc_newarray(size_t size) WEAK;
void tc_free(void *ptr) WEAK;
void tc_cfree(void *ptr) WEAK;
void tc_delete(void *ptr) WEAK;
void tc_deletearray(void *ptr) WEAK;
void tc_delete_sized(void *ptr, size_t size) WEAK;

#ifdef OWN
/* They have a pool of their own, which malloc's blocks are not from. */
static _Alignas(16) char pool[64 << 20];
static size_t used;

void *mallocx(size_t size, int flags)
{
    (void)flags;
    void *ptr = pool + used;
    used += (size + 15) & ~(size_t)15;
    return ptr;
}

void *rallocx(void *ptr, size_t size, int flags)
{
    (void)ptr;
    return mallocx(size, flags);
}

size_t xallocx(void *ptr, size_t size, size_t extra, int flags)
{
    (void)ptr, (void)extra, (void)flags;
    return size;
}

void dallocx(void *ptr, int flags)
{
    (void)flags;
    if ((char *)ptr < pool || (char *)ptr >= pool + sizeof pool)
        abort();
}

void sdallocx(void *ptr, size_t size, int flags)
{
    (void)size;
    dallocx(ptr, flags);
}
#endif

/* ---- which there are ------------------------------------------------------------------------- */

typedef void function(void);

#define ROW(name)                                                                                  \
    {                                                                                              \
#name, (function *)(name)                                                                  \
    }
static const struct {
    const char *name;
    function *linked;
} rows[] = {ROW(mallocx),        ROW(rallocx),           ROW(xallocx),   ROW(dallocx),
            ROW(sdallocx),       ROW(tc_malloc),         ROW(tc_calloc), ROW(tc_realloc),
            ROW(tc_memalign),    ROW(tc_posix_memalign), ROW(tc_new),    ROW(tc_newarray),
            ROW(tc_free),        ROW(tc_cfree),          ROW(tc_delete), ROW(tc_deletearray),
            ROW(tc_delete_sized)};
enum { ROWS = sizeof rows / sizeof *rows };

static void *library; /* NULL: what is linked */

static function *get(const char *name, bool is_by_dlsym)
{
    function *found = NULL;
    for (size_t i = 0; i < ROWS && !is_by_dlsym; i++)
        if (!strcmp(rows[i].name, name))
            return rows[i].linked;
    void *address = dlsym(library ? library : RTLD_DEFAULT, name);
    memcpy(&found, &address, sizeof found);
    return found;
}

static int probe(void)
{
    const char *error = dlerror();
    printf("dlerror at first: %s\n", error ? error : "none");
    for (size_t i = 0; i < ROWS; i++) {
        bool is_equal = rows[i].linked == get(rows[i].name, true);
        printf("%s: %s, dlsym says %s\n", rows[i].name, rows[i].linked ? "there" : "not there",
               is_equal ? "the same" : "another");
        printf("dlsym of the next: %s\n", dlsym(RTLD_NEXT, rows[i].name) ? "there" : "not there");
    }
    return 0;
}

/* ---- leaks ----------------------------------------------------------------------------------- */

static bool is_by_dlsym;
static void *volatile kept[4096];
static size_t kept_len;

/* A function by its name, with the type of its declaration. */
#define F(name) ((__typeof__(&(name)))get(#name, is_by_dlsym))

static void keep(void *ptr)
{
    memset(ptr, 1, 100);
    kept[kept_len++] = ptr;
}

/* jemalloc grows a large block in place where there is room; else it stays as it is. Here it is only
 * asked for what it has. */
APART void leak_by_jemalloc(int count)
{
    for (int i = 0; i < count; i++) {
        keep(F(mallocx)(1000, 0));
        keep(F(rallocx)(F(mallocx)(100, 0), 50000, 0));
        void *ptr = F(mallocx)(100, 0);
        if (F(xallocx)(ptr, 110, 0, 0) < 110)
            abort();
        keep(ptr);
    }
}

APART void keep_nothing_of_jemalloc(int count)
{
    for (int i = 0; i < count; i++) {
        void *ptr[8] = {malloc(1000),        malloc(2000),        F(mallocx)(3000, 0),
                        F(mallocx)(4000, 0), F(mallocx)(5000, 0), calloc(10, 600),
                        malloc(100),         F(mallocx)(100, 0)};
        F(dallocx)(ptr[0], 0);
        F(sdallocx)(ptr[1], 2000, 0);
        free(ptr[2]);
        F(dallocx)(ptr[3], 0);
        F(sdallocx)(ptr[4], 5000, 0);
        F(dallocx)(F(rallocx)(ptr[5], 60000, 0), 0);
        free(F(rallocx)(ptr[6], 7000, 0));
        F(dallocx)(realloc(ptr[7], 8000), 0);
    }
}

/* The program's own do not take malloc's blocks. */
APART void leak_by_ours(int count)
{
    for (int i = 0; i < count; i++) {
        keep(F(mallocx)(1000, 0));
        free(malloc(1000));
        F(dallocx)(F(mallocx)(2000, 0), 0);
    }
}

APART void leak_by_tcmalloc(int count)
{
    void *ptr = NULL;
    for (int i = 0; i < count; i++) {
        keep(F(tc_malloc)(1000));
        keep(F(tc_calloc)(10, 200));
        keep(F(tc_realloc)(F(tc_malloc)(100), 50000));
        keep(F(tc_memalign)(64, 1024));
        if (F(tc_posix_memalign)(&ptr, 64, 4096))
            abort();
        keep(ptr);
        keep(F(tc_new)(300));
        keep(F(tc_newarray)(700));
    }
}

APART void keep_nothing_of_tcmalloc(int count)
{
    for (int i = 0; i < count; i++) {
        F(tc_free)(malloc(1000));
        F(tc_cfree)(malloc(1500));
        free(F(tc_malloc)(2000));
        F(tc_free)(F(tc_malloc)(3000));
        F(tc_delete)(F(tc_new)(4000));
        F(tc_deletearray)(F(tc_newarray)(5000));
        F(tc_delete_sized)(F(tc_new)(6000), 6000);
        F(tc_free)(F(tc_realloc)(malloc(100), 7000));
        F(tc_realloc)(malloc(100), 0);
        free(F(tc_memalign)(64, 9000));
    }
}

static int leak(const char *family)
{
    enum { COUNT = 50 };
    if (!strcmp(family, "jemalloc")) {
        leak_by_jemalloc(COUNT);
        keep_nothing_of_jemalloc(COUNT);
        printf("leak_by_jemalloc %d\n", COUNT * (1000 + 50000 + 110));
    } else if (!strcmp(family, "own")) {
        leak_by_ours(COUNT);
        printf("leak_by_ours %d\n", COUNT * 1000);
    } else {
        leak_by_tcmalloc(COUNT);
        keep_nothing_of_tcmalloc(COUNT);
        printf("leak_by_tcmalloc %d\n", COUNT * (1000 + 2000 + 50000 + 1024 + 4096 + 1000));
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "probe"))
        return probe();
    if (argc != 4)
        return 2;
    is_by_dlsym = strcmp(argv[3], "linked") != 0;
    if (!strcmp(argv[1], "open") && !(library = dlopen(argv[3], RTLD_NOW)))
        return 3;
    return leak(argv[2]);
}
