/* Where files are mapped: lines of /proc/self/maps, the mappings of this process compared with the
 * loader's list of them, and a library whose file is replaced while it is loaded. */
#include "arena.h"
#include "process/maps.h"
#include "test.h"

#include <dlfcn.h>
#include <link.h>
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
    pd_maps_line l;
    REQUIRE(parse("55d0c0a00000-55d0c0a2f000 r-xp 00002000 fe:01 1311 /usr/bin/a b", &l));
    CHECK(l.start == 0x55d0c0a00000 && l.limit == 0x55d0c0a2f000 && l.file_offset == 0x2000);
    CHECK(l.is_executable && !l.is_deleted && l.inode == 1311 && is(l.name, "/usr/bin/a b"));
    REQUIRE(parse("7f00-7f10 rw-p 00000000 00:00 0 ", &l));
    CHECK(!l.is_executable && !l.name.len && !l.inode);
    REQUIRE(parse("7f00-7f10 r-xp 00000000 00:00 0                  [vdso]", &l));
    CHECK(l.is_executable && is(l.name, "[vdso]"));
    REQUIRE(parse("7f00-7f10 r-xp 00000000 08:01 9 /lib/x.so (deleted)", &l));
    CHECK(l.is_deleted && is(l.name, "/lib/x.so"));
    const char *bad =
        "|x|7f00|7f00-|7f00-7f10|7f00-7f10 r-xp|7f00-7f10 r-xp 0 08:01|-7f10 r-xp 0 08:01 9 /x|"
        "7f10-7f00 r-xp 0 08:01 9 /x|7f00-7f10+r-xp 0 08:01 9 /x|7f00-7f10 r-xp+0 08:01 9 /x|"
        "7f00-7f10 r-xp + 08:01 9 /x|7f00-7f10 r-xp 0+08:01 9 /x|7f00-7f10 r-xp 0 +:01 9 /x|"
        "7f00-7f10 r-xp 0 08+01 9 /x|7f00-7f10 r-xp 0 08:+ 9 /x|7f00-7f10 r-xp 0 08:01+9 /x|"
        "7f00-7f10 r-xp 0 08:01 + /x";
    char text[TEXT_SIZE];
    while (next_text(&bad, text))
        CHECK_MSG(!parse(text, &l), "\"%s\"", text);
}

/* ---- This process ---------------------------------------------------------------------------- */

typedef struct loaded {
    uintptr_t address; /* of something in it */
    char build_id[128];
    bool is_found;
} loaded;

/* Reads the build id from the notes that the loader's list points to. */
static int look_at(struct dl_phdr_info *info, size_t size, void *cookie)
{
    loaded *out = cookie;
    bool is_it = false;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        is_it |= p->p_type == PT_LOAD && out->address - start < p->p_memsz;
    }
    for (size_t i = 0; is_it && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
        while (p->p_type == PT_NOTE && at < end) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const char *desc = at + sizeof note + ((size_t)note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID)
                for (size_t n = 0; n < note.n_descsz && n < 60; n++)
                    snprintf(out->build_id + 2 * n, 3, "%02x", (unsigned)(unsigned char)desc[n]);
            at = desc + ((size_t)note.n_descsz + 3) / 4 * 4;
        }
    }
    out->is_found |= is_it;
    return is_it;
}

TEST(this_process_is_as_the_loader_says)
{
    pd_mem mem;
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    pd_maps maps = {.main = PD_MAP_NONE};
    REQUIRE(pd_maps_read(&maps, &mem, NULL) == PPROFDELTA_OK);
    double (*of_libm)(double, double) = pow;
    bool (*own)(const char *, pd_maps_line *) = parse;
    loaded here = {0}, there = {0};
    memcpy(&here.address, &own, sizeof own);
    memcpy(&there.address, &of_libm, sizeof of_libm);
    loaded *both[] = {&here, &there};
    for (size_t i = 0; i < 2; i++) {
        dl_iterate_phdr(look_at, both[i]);
        uint32_t map = pd_maps_find(&maps, both[i]->address);
        REQUIRE(both[i]->is_found && map != PD_MAP_NONE);
        pd_bytes id = pd_maps_build_id(&maps, map);
        CHECK_MSG(is(id, both[i]->build_id), "%.*s is not %s", (int)id.len, (const char *)id.ptr,
                  both[i]->build_id);
        CHECK(maps.maps[map].start <= both[i]->address && both[i]->address < maps.maps[map].limit);
    }
    char exe[4096];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    REQUIRE(len > 0);
    exe[len] = 0;
    CHECK(is(pd_maps_name(&maps, maps.main), exe));
    CHECK(pd_maps_find(&maps, here.address) == maps.main);
    CHECK(pd_maps_find(&maps, 1) == PD_MAP_NONE && pd_maps_find(&maps, UINT64_MAX) == PD_MAP_NONE);
    size_t before = maps.len;
    CHECK(pd_maps_read(&maps, &mem, NULL) == PPROFDELTA_OK && maps.len == before);
    pd_maps_release(&maps, &mem);
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
    pd_maps_release(&maps, &mem);
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
        pd_maps_release(&maps, &mem);
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
    pd_maps_release(&maps, mem);
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
