/* Mappings: names of files and of made-up names, the names that this kernel writes, and how many
 * are remembered. The oracle of delta_test.c knows files that are replaced while the process lives, but in its
 * processes no mapping gets its first name, and no two have the same addresses. */
#include "../support/test.h"

#include "arena.h"
#include "process/maps.h"
#include "profile/identity.h"
#include "profile/mapping.h"
#include "rows.h"
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

static bool is(pd_bytes bytes, const char *want)
{
    return pd_bytes_equal(bytes, pd_bytes_of(want));
}

/* The name as it is, and with the mark. */
static void check_file(const char *name, const char *want)
{
    char marked[128];
    snprintf(marked, sizeof marked, "%s (deleted)", name);
    CHECK_MSG(is(pd_filename_file((pd_bytes){(const uint8_t *)name, strlen(name)}), want), "\"%s\"",
              name);
    CHECK_MSG(is(pd_filename_file(pd_bytes_of(marked)), want), "\"%s\"", marked);
}

TEST(the_deleted_mark_is_removed)
{
    for (table_rows r = {0}; rows_next(&r, "mappings", "deleted");)
        CHECK_MSG(is(pd_filename_unmarked(pd_bytes_of(r.cells[0])), r.cells[1]), "\"%s\"",
                  r.cells[0]);
    CHECK(!pd_filename_unmarked((pd_bytes){NULL, 0}).len);
}

TEST(made_up_names_are_no_files_and_similar_ones_are)
{
    table_rows made_up = {0}, files = {0};
    check_file("", "");
    while (rows_next(&made_up, "mappings", "made up"))
        check_file(made_up.cells[0], "");
    while (rows_next(&files, "mappings", "files"))
        check_file(files.cells[0], files.cells[0]);
    CHECK(!pd_filename_file((pd_bytes){NULL, 0}).len);
}

/* ---- This kernel ----------------------------------------------------------------------------- */

enum { SIZE = 1 << 16 };

/* A region of this file, which is closed. */
static void *region_of(int fd)
{
    bool is_made =
        fd >= 0 && (!ftruncate(fd, SIZE) || errno == EINVAL); /* a device has no length */
    void *at = is_made ? mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    return at;
}

static void *sysv_region(void)
{
    int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
    void *at = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);
    if (id >= 0)
        shmctl(id, IPC_RMID, NULL);
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
        is_found = pd_maps_parse_line(pd_bytes_of(line), &l) && l.start == (uintptr_t)at;
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
        CHECK_MSG(is(pd_filename_file(pd_bytes_of(name)), want), "\"%s\" is not \"%s\"", name,
                  want);
}

TEST(names_of_this_kernel_are_known)
{
    char path[] = "/tmp/filename-test-XXXXXX";
    int fd = mkstemp(path);
    void *removed = region_of(fd);
    unlink(path);
    CHECK(removed != MAP_FAILED);
    check_region(removed, path);
    check_region(region_of(memfd_create("filename test", 0)), "");
    check_region(region_of(open("/dev/zero", O_RDONLY)), "");
    check_region(mmap(NULL, SIZE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "");
    check_region(sysv_region(), "");
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
    table_rows same = {0}, differ = {0};
    while (rows_next(&same, "mappings", "one service"))
        CHECK_MSG(one_service(same.cells[0], same.cells[1]), "%s and %s", same.cells[0],
                  same.cells[1]);
    while (rows_next(&differ, "mappings", "two services"))
        CHECK_MSG(!one_service(differ.cells[0], differ.cells[1]), "%s and %s", differ.cells[0],
                  differ.cells[1]);
}

/* More mappings than are remembered; the first ones are. */
TEST(the_number_of_mappings_is_limited)
{
    enum { MANY = PD_MAPPED_MAX + 200 };
    for (int replaced = 0; replaced < 2; replaced++) {
        static build b;
        b = (build){0};
        build_types(&b, CONTENTION_TYPES);
        ENDS(arena_free) arena names = {0};
        ENDS(scene_end) scene s;
        scene_begin(&s, NULL);
        for (uint64_t i = 0; i < MANY; i++) {
            const char *name = arena_format(&names, "f%" PRIu64, i);
            model_mapping *m =
                build_mapping(&b, (i + 1) << 20, ((i + 1) << 20) + 0x1000, 0, name, "");
            build_place(&b, name, m, ((i + 1) << 20) + 1);
            build_sample(&b, name, "1 1");
        }
        scene_window(&s, build_bytes(&b));
        REQUIRE(s.status == PPROFDELTA_OK);
        size_t which = replaced ? 0 : MANY - 1;
        b.m.mappings[which]->filename = "another";
        scene_window(&s, build_bytes(&b));
        CHECK(s.status == PPROFDELTA_OK && s.report.fresh == (replaced ? 0 : 1));
        CHECK(s.report.files_replaced == (replaced ? 1 : 0));
        build_free(&b);
    }
}

/* A mapping without a name and one with a name, at the same addresses, are one mapping: its locations are known by
 * their addresses, whichever comes first. */
TEST(a_mapping_may_get_a_name_or_lose_it)
{
    for (int loses = 0; loses < 2; loses++) {
        ENDS(build_free) build b = {0};
        ENDS(scene_end) scene s;
        build_types(&b, CONTENTION_TYPES);
        model_mapping *m = build_mapping(&b, 0x1000, 0x9000, 0, loses ? "/bin/app" : "", "");
        build_place(&b, "leaf", m, 0x1029);
        model_sample *sample = build_sample(&b, "leaf main", "10 100");
        buf prev = build_bytes(&b);
        m->filename = loses ? "" : "/bin/app";
        sample->values[0]++;
        CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "leaf;main 1 0");
        CHECK(!s.report.restart && s.report.files_replaced == 1 && !s.report.fresh);
    }
}

/* fastdelta takes them for one. */
TEST(two_files_at_the_same_addresses_are_two)
{
    ENDS(build_free) build b = {0};
    ENDS(scene_end) scene s;
    build_types(&b, CONTENTION_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, "/bin/app", "");
    model_mapping *lib = build_mapping(&b, 0x400000, 0x500000, 0, "/lib/other.so", "");
    build_place(&b, "in_app", app, 0x401000);
    build_place(&b, "in_lib", lib, 0x401000);
    build_sample(&b, "in_app", "1 10");
    model_sample *other = build_sample(&b, "in_lib", "2 20");
    buf prev = build_bytes(&b);
    other->values[0] = 5;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "in_lib 3 0");
}

TEST_MAIN()
