/* What the kernel shows of this process: see account.h. */
#include "agent/account/account.h"

#include "agent/base/object.h"
#include "process/maps.h"
#include "process/proc.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* ---- areas -----------------------------------------------------------------------------------
 *     7f0000000000-7f0000021000 rw-p 00000000 00:00 0        [heap]       a line of maps
 *     Rss:                 132 kB                                         then lines of fields
 *     Anonymous:           132 kB */

/* Reads the number of a line such as "Rss:   132 kB". Returns false if the line has another name. */
static bool read_field(pd_bytes line, const char *name, uint64_t *out)
{
    uint64_t kib = 0;
    if (!pd_bytes_begin(line, name))
        return false;
    for (line = pd_bytes_behind(line, strlen(name)); pd_bytes_begin(line, " ");)
        line = pd_bytes_behind(line, 1);
    pd_bytes_take_number(&line, 10, UINT64_MAX >> 10, &kib);
    *out = kib << 10;
    return true;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void pd_smaps_end(pd_smaps_text *text)
{
    pd_smaps_area *area = &text->area;
    if (!text->has_area)
        return;
    if (area->is_rest) {
        uint64_t pages = pd_residency_count((uintptr_t)area->begin, (uintptr_t)area->end);
        area->resident = least_of(area->resident, pages * (uint64_t)sysconf(_SC_PAGESIZE));
        area->copied = least_of(area->copied, area->resident);
    }
    text->has_area = false;
    text->end = area->end;
    text->take(text->cookie, area);
}

/* The kernel shows each piece at its own time. After a piece it goes on at an address: at the end of the
 * last area, which has grown meanwhile if it is shown again. Then what was read last counts. Another
 * area that begins within one that was taken is counted from the end of that on. */
static void begin_area(pd_smaps_text *text, const pd_maps_line *map)
{
    if (!text->has_area || map->start > text->area.begin)
        pd_smaps_end(text);
    bool is_rest = map->start < text->end;
    text->area = (pd_smaps_area){.begin = is_rest ? text->end : map->start,
                                 .end = map->limit,
                                 .inode = map->inode,
                                 .is_rest = is_rest};
    text->has_area = text->area.begin < text->area.end;
}

void pd_smaps_line(void *smaps, pd_bytes line)
{
    pd_smaps_text *text = smaps;
    pd_smaps_area *area = &text->area;
    pd_maps_line map;
    if (!pd_maps_parse_line(line, &map)) {
        if (text->has_area && !read_field(line, "Rss:", &area->resident))
            read_field(line, "Anonymous:", &area->copied);
        return;
    }
    begin_area(text, &map);
    size_t len = map.name.len < sizeof text->name ? map.name.len : sizeof text->name;
    if (len)
        memcpy(text->name, map.name.ptr, len);
    area->name = (pd_bytes){(const uint8_t *)text->name, len};
}

int pd_smaps_read(pd_smaps_taker *take, void *cookie)
{
    static char bytes[64 << 10]; /* longer than every line */
    static pd_smaps_text text;
    int fd = pd_open_high(pd_proc_open_text("/proc/self/smaps", "/proc/thread-self/smaps"));
    text = (pd_smaps_text){.take = take, .cookie = cookie};
    int error = pd_read_lines(fd, bytes, sizeof bytes, pd_smaps_line, &text);
    pd_smaps_end(&text);
    return error;
}

/* ---- resident pages, and memory --------------------------------------------------------------- */

static int pagemap = -1, memory = -1;
static unsigned tries; /* of pages that begin no area of malloc */

bool pd_memory_begin(void)
{
    tries = 0;
    pagemap = pd_open("/proc/thread-self/pagemap", O_RDONLY);
    memory = pd_open_high(pd_proc_open_mem());
    return memory >= 0;
}

void pd_memory_end(void)
{
    pd_close(pagemap);
    pd_close(memory);
    pagemap = memory = -1;
}

uint64_t pd_residency_count(uintptr_t begin, uintptr_t end)
{
    enum { AT_ONCE = 4096 };
    static uint64_t entries[AT_ONCE];
    const uint64_t present = UINT64_C(1) << 63;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint64_t count = 0;
    for (uintptr_t at = begin; at < end;) {
        size_t want = (end - at) / page < AT_ONCE ? (end - at) / page : AT_ONCE;
        ssize_t got = pagemap < 0 || !want ? -1
                                           : pread(pagemap, entries, want * sizeof *entries,
                                                   (off_t)(at / page * sizeof *entries));
        if (got < (ssize_t)sizeof *entries)
            return count + (end - at) / page;
        size_t len = (size_t)got / sizeof *entries;
        for (size_t i = 0; i < len; i++)
            count += (entries[i] & present) != 0;
        at += len * page;
    }
    return count;
}

/* ---- the stacks of threads ------------------------------------------------------------------- */

enum { THREADS_MAX = 4096 };

static uintptr_t heads[THREADS_MAX];
static size_t heads_len;

static bool has_filter(void)
{
    char text[8192];
    bool is_read = pd_read_text("/proc/thread-self/status", text, sizeof text);
    static const char field[] = "\nSeccomp:";
    const char *line = is_read ? strstr(text, field) : NULL;
    line += line ? sizeof field - 1 : 0;
    return !line || line[strspn(line, "\t ")] != '0';
}

static void note_allocator(const char *name)
{
    pid_t tid = (pid_t)pd_number_at(name);
    void *head = NULL;
    size_t len;
    if (!tid || tid == getpid() || heads_len == THREADS_MAX ||
        syscall(SYS_get_robust_list, tid, &head, &len) || !head)
        return;
    heads[heads_len++] = (uintptr_t)head;
}

bool pd_thread_stacks_find(void)
{
    static _Alignas(64) char bytes[16 << 10]; /* entries as the kernel writes them */
    heads_len = 0;
    if (has_filter())
        return false;
    int fd = pd_open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return false;
    for (long got; (got = syscall(SYS_getdents64, fd, bytes, sizeof bytes)) > 0;)
        for (long at = 0; at < got;) {
            const struct dirent *entry = (const void *)(bytes + at);
            note_allocator(entry->d_name);
            at += entry->d_reclen;
        }
    close(fd);
    return true;
}

uintptr_t pd_thread_stacks_end_in(uintptr_t begin, uintptr_t end)
{
    /* The head is in the first half of the record. The record ends with the stack, or a part of
     * the thread's static data follows, less than a page. */
    enum { RECORD_MOST = 0x6a0 };
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = end;
    for (size_t i = 0; i < heads_len; i++)
        if (heads[i] >= begin && heads[i] < first)
            first = heads[i];
    if (first == end)
        return 0;
    uintptr_t top = (first + RECORD_MOST + page - 1) & ~(page - 1);
    return top < end ? top : end;
}

/* ---- the memory of glibc's malloc ------------------------------------------------------------ */

enum { TRIES_MAX = 8192, IS_MAPPED_ALONE = 2, FLAGS = 7 };

bool pd_malloc_areas_are_known(void)
{
    return pd_is_glibc() && sizeof(void *) == sizeof(uint64_t);
}

/* The beginning of an arena's area. */
typedef struct arena_record {
    uint64_t arena, previous, size, mapped;
} arena_record;

static bool is_whole_pages(uint64_t size)
{
    return size && !(size & ((uint64_t)sysconf(_SC_PAGESIZE) - 1));
}

static uint64_t arena_len(uintptr_t at, const arena_record *record)
{
    const uint64_t arena_max = UINT64_C(64) << 20;
    bool is_arena = at % arena_max == 0 && record->arena && record->arena % 16 == 0 &&
                    is_whole_pages(record->size) && is_whole_pages(record->mapped) &&
                    record->size <= record->mapped && record->mapped <= arena_max;
    return is_arena ? record->mapped : 0;
}

/* A large block: nothing, and its size. */
static uint64_t block_len(const arena_record *record)
{
    uint64_t flags = record->previous & FLAGS, size = record->previous & ~(uint64_t)FLAGS;
    return !record->arena && flags == IS_MAPPED_ALONE && is_whole_pages(size) ? size : 0;
}

uintptr_t pd_malloc_area_at(uintptr_t at, uintptr_t end)
{
    arena_record record;
    if (tries >= TRIES_MAX ||
        pread(memory, &record, sizeof record, (off_t)at) != (ssize_t)sizeof record)
        return 0;
    uint64_t len = arena_len(at, &record);
    if (len)
        return len < end - at ? at + (uintptr_t)len : end;
    len = block_len(&record);
    if (len && len <= end - at)
        return at + (uintptr_t)len;
    tries++;
    return 0;
}

/* ---- the arenas of Python ---------------------------------------------------------------------
 * An arena has 64 pools, each at a multiple of its size, and each with blocks of one size. This has been so from 3.9 on,
 * for pools of 4 and of 16 KiB. A pool that was not used yet is zero. */

typedef struct pool_record {
    uint32_t in_use, unused;
    uint64_t links[3];
    uint32_t arena, size; /* of the blocks, in units of 16 bytes, less one */
    uint32_t next, last;
} pool_record;

_Atomic size_t pd_arena_size;

uint64_t pd_arenas_in_use(uintptr_t begin, uintptr_t end)
{
    enum { POOLS = 64, UNIT = 16, UNITS_MAX = 32 };
    const uintptr_t pool = atomic_load(&pd_arena_size) / POOLS;
    uint64_t sum = 0;
    pool_record record;
    for (uintptr_t at = begin + (pool - begin % pool) % pool; at + pool <= end; at += pool) {
        if (pread(memory, &record, sizeof record, (off_t)at) != (ssize_t)sizeof record)
            break;
        const uint64_t size = (record.size + UINT64_C(1)) * UNIT;
        if (record.size < UNITS_MAX && record.in_use <= pool / size)
            sum += record.in_use * size;
    }
    return sum;
}

/* ---- the counters of jemalloc and tcmalloc --------------------------------------------------- */

static int (*mallctl)(const char *, void *, size_t *, void *, size_t);
static int (*get_property)(const char *, size_t *); /* MallocExtension_GetNumericProperty */
static pid_t first_pid;

/* Sets *function to the allocator's function of that name. Another allocator than malloc's, which the
 * program opened or links for itself, is not the one that the account is about. */
static void find_function(void *function, const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (address && pd_code_is_of_allocator((uintptr_t)address))
        memcpy(function, &address, sizeof address);
}

void pd_counters_begin(void)
{
    find_function(&mallctl, "mallctl");
    find_function(&get_property, "MallocExtension_GetNumericProperty");
    dlerror(); /* the program sees no error of a function that was not found */
    first_pid = getpid();
}

/* Each with its name in the account. */
typedef struct counter {
    const char *name, *shown;
} counter;

static const counter of_jemalloc[] = {
    {"stats.allocated", "allocated"}, {"stats.active", "active"}, {"stats.metadata", "metadata"},
    {"stats.resident", "resident"},   {"stats.mapped", "mapped"}, {NULL, NULL}};
static const counter of_tcmalloc[] = {{"generic.current_allocated_bytes", "allocated"},
                                      {"generic.heap_size", "heap_size"},
                                      {"tcmalloc.pageheap_free_bytes", "pageheap_free"},
                                      {"tcmalloc.pageheap_unmapped_bytes", "pageheap_unmapped"},
                                      {NULL, NULL}};

void pd_counters_add(pd_fixed_text *text)
{
    uint64_t epoch = 1; /* any number: the statistics are then of now */
    if (getpid() != first_pid ||
        (mallctl ? mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) != 0 : !get_property))
        return;
    pd_text_add(text, " allocator=%s", mallctl ? "jemalloc" : "tcmalloc");
    for (const counter *c = mallctl ? of_jemalloc : of_tcmalloc; c->name; c++) {
        size_t value = 0, len = sizeof value;
        if (mallctl ? !mallctl(c->name, &value, &len, NULL, 0) : get_property(c->name, &value))
            pd_text_add(text, " %s=%zu", c->shown, value);
    }
}
