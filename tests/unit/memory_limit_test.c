/* The memory limit of a process, from made-up cgroups. */
#include "agent/base/memory_limit.h"

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
    static const char unlimited[] = "9223372036854771712\n";
    static const struct {
        const char *cgroups, *file, *text; /* the file stays for the next rows */
        uint64_t bytes;
        const char *where;
    } rows[] = {
        {"0::/a/b\n", "/none", "1", MACHINE, ""},
        {"0::/a/b\n", "/a/b/memory.max", "max\n", MACHINE, ""},
        {"0::/a/b\n", "/a/b/memory.max", "500\n", 500, "/a/b/memory.max"},
        {"0::/a/b\n", "/a/memory.max", "400\n", 400, "/a/memory.max"},
        {"0::/a/b\n", "/a/memory.max", "600\n", 500, "/a/b/memory.max"},
        {"0::/a/b/\n", "/a/b/memory.max", "2000\n", 600, "/a/memory.max"},
        {"0::/ab\n", "/a/memory.max", "300\n", MACHINE, ""},
        {"0::/a", "/memory.max", "0\n", 300, "/a/memory.max"},
        {"0::/of/the/host\n", "/memory.max", "200\n", 200, "/memory.max"},
        {"0::/\n", "/memory.max", "junk", MACHINE, ""},
        {"0::/a\n", "/a/memory.max", "", MACHINE, ""},
        {"4:memory:/x\n0::/a\n", "/memory/memory.limit_in_bytes", unlimited, MACHINE, ""},
        {"4:memory:/x/y\n", "/memory/x/memory.limit_in_bytes", "700", 700,
         "/memory/x/memory.limit_in_bytes"},
        {"3:cpu:/x\n4:memory:/x\n", "/memory/x/memory.max", "1", 700,
         "/memory/x/memory.limit_in_bytes"},
        {"4:name=memory:/x\n5:memory2:/x\n6:inmemory:/x\n", "/none", "1", MACHINE, ""},
        {"no lines", "/none", "1", MACHINE, ""},
        {"1:\n:\n\n::\n", "/none", "1", MACHINE, ""},
    };
    REQUIRE(mkdtemp(folder));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pd_memory_limit limit;
        char cgroups[PD_LIMIT_PATH_MAX];
        put("/cgroups", rows[i].cgroups);
        put(rows[i].file, rows[i].text);
        snprintf(cgroups, sizeof cgroups, "%s", in_folder("/cgroups"));
        pd_memory_limit_find(cgroups, folder, MACHINE, &limit);
        CHECK(limit.bytes == rows[i].bytes);
        CHECK_STR(limit.where, *rows[i].where ? in_folder(rows[i].where) : "");
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
