/* Names of mappings: tables of files and of made-up names, and the names that this kernel writes.
 */
#include "profile/mapping.h"
#include "process/maps.h"
#include "test.h"

#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static pd_bytes text(const char *s)
{
    return (pd_bytes){(const uint8_t *)s, strlen(s)};
}

static bool is(pd_bytes bytes, const char *want)
{
    return bytes.len == strlen(want) && (!bytes.len || memcmp(bytes.ptr, want, bytes.len) == 0);
}

/* The name as it is, and with the mark. */
static void check_file(const char *name, const char *want)
{
    char marked[128];
    CHECK_MSG(is(pd_filename_file(text(name)), want), "\"%s\"", name);
    snprintf(marked, sizeof marked, "%s (deleted)", name);
    CHECK_MSG(is(pd_filename_file(text(marked)), want), "\"%s\"", marked);
}

TEST(the_deleted_mark_is_removed)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"/bin/app", "/bin/app"},
        {"/bin/app (deleted)", "/bin/app"},
        {"/bin/app (deleted) (deleted)", "/bin/app"},
        {" (deleted)", ""},
        {"", ""},
        {"(deleted)", "(deleted)"},
        {"/bin/app (deleted) ", "/bin/app (deleted) "},
        {"/bin/app (Deleted)", "/bin/app (Deleted)"},
        {"/bin (deleted)/app", "/bin (deleted)/app"},
        {"/memfd:jit (deleted)", "/memfd:jit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_MSG(is(pd_filename_unmarked(text(cases[i].name)), cases[i].want), "\"%s\"",
                  cases[i].name);
    CHECK(!pd_filename_unmarked((pd_bytes){NULL, 0}).len);
}

TEST(made_up_names_are_no_files)
{
    static const char *const names[] = {"",
                                        "//anon",
                                        "[anon]",
                                        "[heap]",
                                        "[stack]",
                                        "[stack:12]",
                                        "[anon:libc_malloc]",
                                        "[anon_shmem:buffers]",
                                        "[uprobes]",
                                        "[vvar]",
                                        "[JIT] tid 12",
                                        "[",
                                        "[vdso",
                                        "[vdso]x",
                                        "/memfd:",
                                        "/memfd:jit",
                                        "/memfd:a/b c",
                                        "/dev/zero",
                                        "/dev/ashmem/dalvik-jit-code-cache",
                                        "/dev/dri/renderD128",
                                        "/dev/",
                                        "/SYSV00000000",
                                        "/SYSVdeadBEEF",
                                        "/anon_hugepage",
                                        "/secretmem",
                                        "/[aio]",
                                        "/dmabuf:x",
                                        "anon_inode:[io_uring]",
                                        "anon_inode:i915.gem",
                                        "socket:[84204]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_file(names[i], "");
    CHECK(!pd_filename_file((pd_bytes){NULL, 0}).len);
}

TEST(the_public_function_returns_the_length)
{
    CHECK(pprofdelta_file_len("/bin/app", 8) == 8 &&
          pprofdelta_file_len("/bin/app (deleted)", 18) == 8);
    CHECK(!pprofdelta_file_len("", 0) && !pprofdelta_file_len("[anon]", 6) &&
          !pprofdelta_file_len("/memfd:jit (deleted)", 20));
}

TEST(similar_names_of_files_are_files)
{
    static const char *const names[] = {"/app",
                                        "a",
                                        "anon",
                                        "[vdso]",
                                        "[vsyscall]",
                                        "[vectors]",
                                        "[sigpage]",
                                        "/[",
                                        "/[aio]/app",
                                        "//anonymous",
                                        "/anon_hugepages",
                                        "/anon",
                                        "/memfd",
                                        "/memfd/jit",
                                        "/bin/memfd:jit",
                                        "memfd:jit",
                                        "/SYSV",
                                        "/SYSV0000000",
                                        "/SYSV000000000",
                                        "/SYSV0000000g",
                                        "/bin/SYSV00000000",
                                        "/dev",
                                        "/dev/shm/lib.so",
                                        "/dev/hugepages/text",
                                        "/device/zero",
                                        "/bin/dev/zero",
                                        "/secretmem/a",
                                        "anon_inode",
                                        "C:\\app.exe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_file(names[i], names[i]);
}

/* ---------------------------------------------------------------------------------------------
 * This kernel
 * ------------------------------------------------------------------------------------------ */

enum { SIZE = 1 << 16 };

static void *memfd_region(void)
{
#ifdef SYS_memfd_create
    int fd = (int)syscall(SYS_memfd_create, "filename test", 0u);
    if (fd < 0)
        return MAP_FAILED;
    void *at = ftruncate(fd, SIZE) ? MAP_FAILED : mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return at;
#else
    return MAP_FAILED;
#endif
}

static void *shared_region(void)
{
    return mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void *sysv_region(void)
{
    int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
    if (id < 0)
        return MAP_FAILED;
    void *at = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    return at;
}

static void *zero_region(void)
{
    FILE *zero = fopen("/dev/zero", "r+");
    void *at =
        zero ? mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(zero), 0) : MAP_FAILED;
    if (zero)
        fclose(zero);
    return at;
}

/* A file that was removed while it is mapped. */
static void *deleted_region(char path[64])
{
    snprintf(path, 64, "/tmp/filename-test-XXXXXX");
    int fd = mkstemp(path);
    void *at = MAP_FAILED;
    if (fd < 0)
        return at;
    if (!ftruncate(fd, SIZE))
        at = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    unlink(path);
    return at;
}

/* The name that /proc/self/maps has for the region at this address, mark and all. */
static bool name_of(const void *at, char *out, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    bool is_found = false;
    while (maps && !is_found && fgets(line, sizeof line, maps)) {
        line[strcspn(line, "\n")] = 0;
        pd_maps_line l;
        is_found = pd_maps_parse_line(text(line), &l) && l.start == (uintptr_t)at;
        if (is_found)
            snprintf(out, size, "%s", l.name.len ? (const char *)l.name.ptr : "");
    }
    if (maps)
        fclose(maps);
    return is_found;
}

static void check_region(void *at, const char *want)
{
    char name[4096];
    if (at == MAP_FAILED) /* not to be had here */
        return;
    if (name_of(at, name, sizeof name))
        CHECK_MSG(is(pd_filename_file(text(name)), want), "\"%s\" is not \"%s\"", name, want);
}

TEST(names_of_this_kernel_are_known)
{
    char path[64];
    void *deleted = deleted_region(path);
    CHECK(deleted != MAP_FAILED);
    check_region(deleted, path);
    check_region(memfd_region(), "");
    check_region(shared_region(), "");
    check_region(sysv_region(), "");
    check_region(zero_region(), "");
}

static bool one_service(const char *a, const char *b)
{
    pd_bytes x = pd_bytes_of(a), y = pd_bytes_of(b);
    bool answer = pd_filename_may_be_one_service(x, y);
    CHECK_MSG(pd_filename_may_be_one_service(y, x) == answer, "%s and %s depend on order", a, b);
    return answer;
}

TEST(a_deploy_stays_one_service)
{
    static const char *const same[][2] = {
        {"/usr/bin/app", "/usr/bin/app"},
        {"/releases/41/app", "/releases/42/app"},
        {"app-1.2", "app-1.3"},
        {"/srv/app-v1.2.3-rc1", "/srv/app-v1.3.0"},
        {"app", "app-2"},
        {"app2", "app3"},
        {"/opt/app_1.2_amd64", "/opt/app_1.3_amd64"},
        {"app-9f8e7d6", "app-deadbeef"},
        {"/bin/app (deleted)", "/bin/app-1 (deleted)"},
        {"app-1.2+5~bpo11", "app"},
        {"/usr/bin/python3.11", "/usr/local/bin/python3"},
        {"", "/bin/app"},
        {"[vdso]", "/bin/app"},
        {"/memfd:app", "/bin/orders"},
        {"/srv/42", "/srv/app"},
        {"/srv/", "/srv/app"},
    };
    static const char *const differ[][2] = {
        {"/bin/orders", "/bin/payments"},
        {"orders-1.2", "payments-1.2"},
        {"orders-worker", "orders-api"},
        {"app", "app-worker"},
        {"app", "App"},
        {"/orders/main", "/orders/server"},
        {"app-worker-2", "app-2-web"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        CHECK_MSG(one_service(same[i][0], same[i][1]), "%s and %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof differ / sizeof *differ; i++)
        CHECK_MSG(!one_service(differ[i][0], differ[i][1]), "%s and %s", differ[i][0],
                  differ[i][1]);
}

TEST_MAIN(CASE(a_deploy_stays_one_service), CASE(the_deleted_mark_is_removed),
          CASE(made_up_names_are_no_files), CASE(similar_names_of_files_are_files),
          CASE(the_public_function_returns_the_length), CASE(names_of_this_kernel_are_known))
