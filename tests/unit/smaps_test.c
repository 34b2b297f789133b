/* The areas of /proc/self/smaps, from text and from the kernel. */
#include "agent/account/account.h"

#include "test.h"

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

static void take(const char *text)
{
    static pd_smaps_text reader;
    memset(&seen, 0, sizeof seen);
    reader = (pd_smaps_text){.take = note, .cookie = &seen};
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        pd_smaps_line(&reader, (pd_bytes){(const uint8_t *)text, (size_t)(end - text)});
    pd_smaps_end(&reader);
}

TEST(fields_belong_to_the_line_before)
{
    take(
        "1000-3000 r-xp 00000000 fe:01 7   /usr/lib/a b.so (deleted)\n"
        "Size:                 8 kB\nRss:                  8 kB\nPss:   1 kB\nAnonymous:     4 kB\n"
        "VmFlags: rd ex mr mw me\n"
        "3000-9000 rw-p 00000000 00:00 0 \n"
        "Rss:                 12 kB\nAnonymous:           12 kB\nAnonHugePages:        0 kB\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
        "Rss:                  0 kB\n");
    CHECK(seen.len == 3);
    CHECK_STR(seen.names[0], "/usr/lib/a b.so");
    CHECK(seen.areas[0].inode == 7 && seen.areas[0].resident == 8192 &&
          seen.areas[0].copied == 4096);
    CHECK(!seen.areas[1].inode && seen.areas[1].resident == 12288 && !seen.areas[1].name.len);
    CHECK_STR(seen.names[2], "[vsyscall]");
    CHECK(seen.areas[2].begin == UINT64_C(0xffffffffff600000) && !seen.areas[2].resident);
}

TEST(lines_that_are_none_are_skipped)
{
    take("");
    CHECK(seen.len == 0);
    take("Rss:  12 kB\nnothing\n12345\n5000-4000 rw-p 00000000 00:00 0 \nRss: 8 kB\n"
         "1000-2000 rw-p 00000000 00:00 0 \nRss:\nRss: x kB\nAnonymous\n\n");
    CHECK(seen.len == 1 && seen.areas[0].begin == 0x1000 && !seen.areas[0].resident);
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

/* The kernel shows an area again if it is the last one of a piece and grows before the next one. */
TEST(an_area_that_grew_between_two_pieces)
{
    take("1000-3000 rw-p 00000000 00:00 0 [heap]\nRss: 8 kB\nAnonymous: 8 kB\n"
         "1000-6000 rw-p 00000000 00:00 0 [heap]\nRss: 20 kB\nAnonymous: 20 kB\n"
         "6000-7000 rw-p 00000000 00:00 0 \nRss: 4 kB\n");
    CHECK(seen.len == 2 && seen.areas[0].begin == 0x1000 && seen.areas[0].end == 0x6000);
    CHECK(seen.areas[0].resident == 20480 && seen.areas[1].resident == 4096);
    CHECK_STR(seen.names[0], "[heap]");
}

/* What remains of it is counted by its pages, 2 here, since no file can be asked. */
TEST(areas_that_overlap_otherwise)
{
    take("1000-5000 rw-p 00000000 00:00 0 \nRss: 16 kB\n"
         "3000-7000 ---p 00000000 00:00 0 \nRss: 12 kB\nAnonymous: 12 kB\n"
         "7000-9000 rw-p 00000000 00:00 0 \nRss: 8 kB\n"
         "2000-a000 rw-p 00000000 00:00 0 \nRss: 32 kB\n"
         "b000-c000 rw-p 00000000 00:00 0 \nRss: 4 kB\n");
    CHECK(seen.len == 4);
    CHECK(seen.areas[1].begin == 0x5000 && seen.areas[1].resident == 8192 &&
          seen.areas[1].copied == 8192);
    CHECK(seen.areas[2].begin == 0x7000 && seen.areas[2].end == 0xa000 &&
          seen.areas[2].resident == 12288);
    CHECK(seen.areas[3].begin == 0xb000 && seen.areas[3].resident == 4096);
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
