/* The memory limit of a process, from made-up cgroups. */
#include "agent/base/memory_limit.h"

#include "rows.h"
#include "test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[] = "/tmp/pprofdelta-limit-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[PD_LIMIT_PATH_MAX];
    snprintf(path, sizeof path, "%s%s", folder, name);
    return path;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

/* Writes the file, and makes its folders. An empty text removes it. */
static void put(const char *name, const char *text)
{
    char path[PD_LIMIT_PATH_MAX];
    snprintf(path, sizeof path, "%s", in_folder(name));
    for (char *at = strchr(path + strlen(folder) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0);
    if (!*text)
        remove(path);
}

TEST(the_smallest_limit_and_the_innermost_pressure_count)
{
    enum { MACHINE = 1000 };
    REQUIRE(mkdtemp(folder));
    for (table_rows r = {0}; rows_next(&r, "limits", "memory");) {
        pd_memory_limit limit;
        char path[PD_LIMIT_PATH_MAX];
        for (int i = 0; i < 3; i += 2)
            r.cells[i][rows_bytes(r.cells[i])] = 0;
        put("/cgroups", r.cells[0]);
        put(r.cells[1], r.cells[2]);
        snprintf(path, sizeof path, "%s", in_folder("/cgroups"));
        pd_memory_limit_find(path, folder, MACHINE, &limit);
        CHECK_MSG(limit.bytes == strtoull(r.cells[3], NULL, 10), "%s, %s", r.cells[0], r.cells[1]);
        CHECK_STR(limit.where, *r.cells[4] ? in_folder(r.cells[4]) : "");
    }
    char found[PD_LIMIT_PATH_MAX], cgroups[PD_LIMIT_PATH_MAX];
    snprintf(cgroups, sizeof cgroups, "%s", in_folder("/cgroups"));
    pd_memory_pressure_find(cgroups, folder, "/not/there", found);
    CHECK_STR(found, "");
    put("/cgroups", "4:memory:/x\n0::/a/b/c\n");
    put("/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
    put("/a/b/memory.pressure",
        "some avg10=1.00 avg60=0.50 avg300=0.00 total=16825287\nfull avg10=0.00 total=9284609\n");
    put("/a/b/c/other", "total=1");
    pd_memory_pressure_find(cgroups, folder, "/not/there", found);
    CHECK_STR(found, in_folder("/a/b/memory.pressure"));
    CHECK(pd_memory_pressure_read(found) == 16825287);
    CHECK(!pd_memory_pressure_read("") && !pd_memory_pressure_read(in_folder("/not/there")));
    put("/memory.pressure", "some avg10=0.00\nfull total=9\n");
    CHECK(!pd_memory_pressure_read(in_folder("/memory.pressure")));
    pd_memory_limit none;
    pd_memory_limit_find(in_folder("/not/there"), folder, MACHINE, &none);
    CHECK(none.bytes == MACHINE && !*none.where);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TEST_MAIN()
