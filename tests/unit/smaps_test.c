/* The areas of /proc/self/smaps, from text and from the kernel. */
#include "agent/account/account.h"

#include "rows.h"
#include "test.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct seen {
    pd_smaps_area areas[8];
    char names[8][64];
    size_t len;
    uintptr_t wanted; /* an address */
    pd_smaps_area found;
    uint64_t end;
} seen;

static void note(void *cookie, const pd_smaps_area *area)
{
    struct seen *s = cookie;
    CHECK(area->begin >= s->end && area->end > area->begin);
    CHECK(area->copied <= area->resident && area->resident <= area->end - area->begin);
    s->end = area->end;
    if (s->len < 8) {
        size_t len = area->name.len < 63 ? area->name.len : 63;
        if (len)
            memcpy(s->names[s->len], area->name.ptr, len);
        s->areas[s->len] = *area;
    }
    s->len++;
    if (s->wanted >= area->begin && s->wanted < area->end)
        s->found = *area;
}

/* The areas are those that the table has. */
static void read_text(const char *name)
{
    static pd_smaps_text reader;
    char said[1024] = "", want[1024] = "";
    size_t len = 0;
    memset(&seen, 0, sizeof seen);
    reader = (pd_smaps_text){.take = note, .cookie = &seen};
    for (table_rows r = {0}; rows_next(&r, "smaps", name);)
        if (*r.cells[0] == '=')
            len += (size_t)snprintf(want + len, sizeof want - len, "%s\n", r.cells[0]);
        else
            pd_smaps_line(&reader, (pd_bytes){(uint8_t *)r.cells[0], strlen(r.cells[0])});
    pd_smaps_end(&reader);
    len = 0;
    for (size_t i = 0; i < seen.len && i < 8; i++) {
        const pd_smaps_area *area = &seen.areas[i];
        len += (size_t)snprintf(
            said + len, sizeof said - len,
            "= %" PRIx64 "-%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "%s%s%s\n", area->begin,
            area->end, area->inode, area->resident, area->copied, area->is_rest ? " rest" : "",
            *seen.names[i] ? " " : "", seen.names[i]);
    }
    CHECK_MSG(!strcmp(said, want), "%s: %s", name, said);
}

TEST(areas_of_text)
{
    static const char *const names[] = {
        "fields belong to the line before", "no lines", "lines that are none are skipped",
        "an area that grew between two pieces", "areas that overlap otherwise"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        read_text(names[i]);
}

TEST(this_process)
{
    enum { LEN = 64 * 4096 };
    char *map = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(map != MAP_FAILED);
    REQUIRE(mprotect(map + LEN - 4096, 4096, PROT_NONE) == 0); /* an area of its own at one end */
    memset(map, 1, LEN / 2);
    memset(&seen, 0, sizeof seen);
    seen.wanted = (uintptr_t)map;
    CHECK(pd_smaps_read(note, &seen) == 0);
    CHECK(seen.len > 8 && seen.found.resident >= LEN / 2 && !seen.found.inode);
    uint64_t before = seen.found.resident;
    madvise(map, LEN / 4, MADV_DONTNEED);
    memset(&seen, 0, sizeof seen);
    seen.wanted = (uintptr_t)map;
    CHECK(pd_smaps_read(note, &seen) == 0);
    CHECK(before - seen.found.resident == LEN / 4);
    munmap(map, LEN);
}

enum { PAIRS = 64, ROOM = 8 };

static struct growing {
    char *pairs; /* of areas: pages that are used, and pages that cannot be */
    size_t page, used, calls;
} growing;

static void grow(void)
{
    for (size_t i = 0; i < PAIRS; i++) {
        char *at = growing.pairs + i * ROOM * growing.page;
        REQUIRE(!mprotect(at, (growing.used + 1) * growing.page, PROT_READ | PROT_WRITE));
        at[growing.used * growing.page] = 1;
    }
    growing.used++;
}

static void note_and_grow(void *cookie, const pd_smaps_area *area)
{
    note(cookie, area);
    uintptr_t at = (uintptr_t)growing.pairs;
    bool is_of_pairs = area->begin >= at && area->end <= at + growing.page * PAIRS * ROOM;
    if (is_of_pairs && ++growing.calls % 7 == 0 && growing.used < ROOM - 1)
        grow();
}

TEST(areas_that_grow_while_they_are_read)
{
    growing.page = (size_t)sysconf(_SC_PAGESIZE);
    growing.used = growing.calls = 0;
    size_t len = growing.page * PAIRS * ROOM;
    growing.pairs = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(growing.pairs != MAP_FAILED);
    grow();
    memset(&seen, 0, sizeof seen);
    CHECK(pd_smaps_read(note_and_grow, &seen) == 0); /* note checks that none overlaps another */
    CHECK(growing.used == ROOM - 1 && growing.calls >= PAIRS);
    munmap(growing.pairs, len);
}

TEST_MAIN()
