/* Where files are mapped: lines of /proc/self/maps, the mappings of this process compared with the
 * loader's list of them, and a library whose file is replaced while it is loaded. */
#include "process/elf.h"
#include "process/maps.h"
#include "rows.h"
#include "test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static bool parse(const char *text, pd_maps_line *line)
{
    return pd_maps_parse_line((pd_bytes){(const uint8_t *)text, strlen(text)}, line);
}

static bool is(pd_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && memcmp(bytes.ptr, text, bytes.len) == 0;
}

TEST(lines_are_taken_apart)
{
    for (table_rows r = {0}; rows_next(&r, "maps", "lines");) {
        pd_maps_line l;
        char said[200] = "";
        if (parse(r.cells[0], &l))
            snprintf(said, sizeof said, "%" PRIx64 "-%" PRIx64 " %" PRIx64 " %" PRIu64 "%s%s%s%.*s",
                     l.start, l.limit, l.file_offset, l.inode, l.is_executable ? " code" : "",
                     l.is_deleted ? " deleted" : "", l.name.len ? " " : "", (int)l.name.len,
                     l.name.len ? (const char *)l.name.ptr : "");
        CHECK_MSG(!strcmp(said, r.cells[1]), "\"%s\": %s", r.cells[0], said);
    }
}

/* ---- This process ---------------------------------------------------------------------------- */

/* Of the file that the loader has for the address; elf_test.c holds that reader against the loader. */
static void loaded_build_id(uintptr_t address, char out[2 * PD_BUILD_ID_MAX + 1])
{
    Dl_info info;
    pd_elf elf;
    char link[] = "/proc/self/exe";
    REQUIRE(dladdr((const void *)address, &info)); // NOLINT(performance-no-int-to-ptr)
    int fd = open(*info.dli_fname == '/' ? info.dli_fname : link, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && pd_elf_open(&elf, fd, 0));
    out[pd_elf_build_id(&elf, out)] = 0;
    close(fd);
}

TEST(this_process_is_as_the_loader_says)
{
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    pd_maps maps = {.main = PD_MAP_NONE};
    REQUIRE(pd_maps_read(&maps, &mem, NULL) == PPROFDELTA_OK);
    double (*of_libm)(double, double) = pow;
    bool (*own)(const char *, pd_maps_line *) = parse;
    uintptr_t addresses[2];
    memcpy(&addresses[0], &own, sizeof own);
    memcpy(&addresses[1], &of_libm, sizeof of_libm);
    for (size_t i = 0; i < 2; i++) {
        char want[2 * PD_BUILD_ID_MAX + 1] = "?";
        loaded_build_id(addresses[i], want);
        uint32_t map = pd_maps_find(&maps, addresses[i]);
        REQUIRE(map != PD_MAP_NONE);
        pd_bytes id = pd_maps_build_id(&maps, map);
        CHECK_MSG(is(id, want), "%.*s is not %s", (int)id.len, (const char *)id.ptr, want);
        CHECK(maps.maps[map].start <= addresses[i] && addresses[i] < maps.maps[map].limit);
    }
    char exe[4096];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    REQUIRE(len > 0);
    exe[len] = 0;
    CHECK(is(pd_maps_name(&maps, maps.main), exe));
    CHECK(pd_maps_find(&maps, addresses[0]) == maps.main);
    CHECK(pd_maps_find(&maps, 1) == PD_MAP_NONE && pd_maps_find(&maps, UINT64_MAX) == PD_MAP_NONE);
    size_t before = maps.len;
    CHECK(pd_maps_read(&maps, &mem, NULL) == PPROFDELTA_OK && maps.len == before);
    pd_mem_drop(&mem);
    CHECK(mem.used == 0);
}

/* The record and the heap door both take the identity of a location from this table. */
TEST(two_regions_of_one_made_up_name_stay_apart)
{
    enum { SIZE = 1 << 16 };
    const int prot = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_SHARED | MAP_ANONYMOUS;
    uint32_t found[2];
    uint8_t *at[2];
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    for (size_t i = 0; i < 2; i++)
        at[i] = mmap(NULL, SIZE, prot, flags, -1, 0);
    REQUIRE(at[0] != MAP_FAILED && at[1] != MAP_FAILED);
    pd_maps maps = {.main = PD_MAP_NONE};
    REQUIRE(pd_maps_read(&maps, &mem, NULL) == PPROFDELTA_OK);
    for (size_t i = 0; i < 2; i++) {
        uint64_t address = (uintptr_t)at[i] + 0x123;
        uint32_t map = pd_maps_find(&maps, address);
        REQUIRE(map != PD_MAP_NONE && maps.maps[map].start == (uintptr_t)at[i]);
        CHECK(is(pd_maps_name(&maps, map), "/dev/zero") && !pd_maps_build_id(&maps, map).len);
        found[i] = map;
    }
    CHECK(found[0] != found[1]);
    pd_mem_drop(&mem);
    for (size_t i = 0; i < 2; i++)
        munmap(at[i], SIZE);
}

/* Processor time of a second reading that finds as many new mappings as there were. */
static void time_reading(size_t count, double *least)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), len = 4 * count * page;
    *least = INFINITY;
    int fd = memfd_create("code", 0);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)len) == 0);
    for (int attempt = 0; attempt < 3; attempt++) {
        uint8_t *at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
        pd_mem mem;
        pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
        pd_maps maps = {.main = PD_MAP_NONE};
        REQUIRE(at != MAP_FAILED);
        for (size_t i = 0; i < 2 * count;
             i++) { /* those of the second half come later, at lower addresses */
            if (i == count)
                REQUIRE(pd_maps_read(&maps, &mem, NULL) == PPROFDELTA_OK && maps.len >= count);
            REQUIRE(!mprotect(at + 2 * (2 * count - 1 - i) * page, page, PROT_READ | PROT_EXEC));
        }
        clock_t begin = clock();
        REQUIRE(pd_maps_read(&maps, &mem, NULL) == PPROFDELTA_OK && maps.len >= 2 * count);
        *least = fmin(*least, (double)(clock() - begin));
        for (size_t i = 0; i < 2 * count; i++) {
            uint32_t map = pd_maps_find(&maps, (uintptr_t)(at + 2 * i * page));
            CHECK(map < maps.len && maps.maps[map].start == (uintptr_t)(at + 2 * i * page));
        }
        pd_mem_drop(&mem);
        munmap(at, len);
    }
    close(fd);
}

TEST(a_reading_takes_time_by_the_line)
{
    double few, many;
    time_reading(500, &few);
    time_reading(8000, &many);
    CHECK_MSG(many < 28 * few, "%.0f times longer with 16 times as many lines", many / few);
}

/* ---- A file that is replaced ----------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    size_t len;
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    REQUIRE(in && out);
    while ((len = fread(bytes, 1, sizeof bytes, in)) > 0)
        REQUIRE(fwrite(bytes, 1, len, out) == len);
    fclose(in);
    REQUIRE(fclose(out) == 0);
}

/* The build id of the mapping with this name, by a new reading; empty where there is none. */
static const char *build_id_of(const char *name, pd_mem *mem, char *out, size_t size)
{
    pd_maps maps = {.main = PD_MAP_NONE};
    out[0] = 0;
    CHECK(pd_maps_read(&maps, mem, NULL) == PPROFDELTA_OK);
    for (uint32_t i = 0; i < maps.len; i++)
        if (is(pd_maps_name(&maps, i), name))
            snprintf(out, size, "%.*s", (int)pd_maps_build_id(&maps, i).len,
                     (const char *)pd_maps_build_id(&maps, i).ptr);
    pd_mem_drop(mem);
    return out;
}

/* A deploy replaces the file of a library that is loaded, and then removes it. */
TEST(a_replaced_file_keeps_the_build_id_that_is_loaded)
{
    char dir[] = "/tmp/maps_test.XXXXXX", path[64], other[64], before[160], after[160], libm[4096];
    pd_mem mem;
    Dl_info of_libm;
    double (*function)(double, double) = pow;
    void *address;
    memcpy(&address, &function, sizeof address);
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    REQUIRE(dladdr(address, &of_libm) && realpath(of_libm.dli_fname, libm));
    REQUIRE(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/library.so", dir);
    snprintf(other, sizeof other, "%s/other.so", dir);
    copy_file(libm, path);
    void *loaded_one = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(loaded_one);
    build_id_of(path, &mem, before, sizeof before);
    copy_file("/proc/self/exe", other);
    REQUIRE(rename(other, path) == 0);
    CHECK_STR(build_id_of(path, &mem, after, sizeof after), before);
    REQUIRE(unlink(path) == 0);
    CHECK_STR(build_id_of(path, &mem, after, sizeof after), before);
    dlclose(loaded_one);
    rmdir(dir);
}

TEST_MAIN()
