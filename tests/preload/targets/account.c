/* A program that knows what it is made of. Does what its argument says, prints "ready" and what the
 * parts are, and stands still until its standard input ends.
 *
 *     maps       anonymous mappings of several functions, some gone, moved, cut, or not resident
 *     slack      freed blocks between blocks that stay, in two arenas
 *     leak       live blocks, small ones and large ones
 *     threads    stacks of which a known part is used
 *     file       a file that is mapped and partly written
 *     all        all of these
 *     storm      threads that map, move, cut and unmap, and children that do the same; nothing stays
 *     briefly N DIR   N blocks, and the end at once
 *     grow       a heap that grows, and the most that was resident
 *     filtered   threads, under a filter that ends the process for a call that it does not expect
 *     again      maps, and then this program again, by exec, with "leak"
 *     fork       maps, then the same in a child, which alone stands still */
#include "program.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#define MIB ((size_t)1 << 20)

static void *pages(size_t len)
{
    return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *used(void *ptr, size_t len)
{
    if (ptr == MAP_FAILED || !ptr)
        abort();
    return memset(ptr, 1, len);
}

/* ---- maps ------------------------------------------------------------------------------------ */

APART void map_whole(void)
{
    for (int i = 0; i < 3; i++)
        used(pages(2 * MIB), 2 * MIB);
}

APART void map_cut(void)
{
    char *ptr = used(pages(8 * MIB), 8 * MIB);
    munmap(ptr + MIB, 2 * MIB);           /* in the middle */
    madvise(ptr, MIB / 2, MADV_DONTNEED); /* mapped, and not resident */
}

APART void map_gone(void)
{
    munmap(used(pages(4 * MIB), 4 * MIB), 4 * MIB);
}

APART void *map_small(void)
{
    return used(pages(MIB), MIB);
}

APART void map_grown(void *small)
{
    used(mremap(small, MIB, 5 * MIB, MREMAP_MAYMOVE), 5 * MIB);
}

APART void map_shared(void)
{
    used(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), MIB);
}

APART void map_over(void)
{
    void *old = pages(3 * MIB);
    used(mmap(old, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
         MIB);
}

APART void move_break(void)
{
    used(sbrk(3 * (intptr_t)MIB), 3 * MIB);
}

static void maps(void)
{
    map_whole();
    map_cut();
    map_gone();
    map_grown(map_small());
    map_shared();
    map_over();
    move_break();
    printf(
        "map_whole %zu\nmap_cut %zu\nmap_small %zu\nmap_grown %zu\nmap_shared %zu\nmap_over %zu\n"
        "move_break %zu\n",
        6 * MIB, 8 * MIB - 2 * MIB - MIB / 2, MIB, 4 * MIB, MIB, MIB, 3 * MIB);
}

/* ---- the heap -------------------------------------------------------------------------------- */

enum { BLOCKS = 4000, BLOCK = 4000, LARGE = 24 << 20 };

static void *fragment(void *unused)
{
    static void *blocks[2][BLOCKS];
    void **mine = blocks[unused != NULL];
    for (int i = 0; i < BLOCKS; i++)
        mine[i] = used(malloc(BLOCK), BLOCK);
    for (int i = 0; i < BLOCKS; i += 2)
        free(mine[i]);
    return unused;
}

static void slack(void)
{
    char other = 0;
    fragment(NULL);
    pthread_join(start_thread(fragment, &other), NULL);
    printf("slack %d\n", 2 * BLOCKS / 2 * BLOCK);
}

static void leak(void)
{
    void **kept =
        used(malloc(1000 * sizeof *kept), 1000 * sizeof *kept); /* or clang leaves it out */
    for (int i = 0; i < 1000; i++)
        kept[i] = used(malloc(1000), 1000);
    kept[0] = used(malloc(LARGE), LARGE);
    printf("leak %d\n", 999 * 1000 + LARGE + 1000 * (int)sizeof *kept);
}

/* ---- threads and files ----------------------------------------------------------------------- */

static int ready[2];

static void *stand(void *unused)
{
    char used_part[MIB];
    for (size_t i = 0; i < sizeof used_part; i += 1024)
        ((volatile char *)used_part)[i] = 1;
    if (write(ready[1], used_part, 1) != 1)
        abort();
    for (;;)
        pause();
    return unused;
}

static void threads(void)
{
    enum { THREADS = 4 };
    char byte;
    if (pipe(ready))
        abort();
    for (int i = 0; i < THREADS; i++)
        start_thread(stand, NULL);
    for (int i = 0; i < THREADS; i++)
        if (read(ready[0], &byte, 1) != 1)
            abort();
    printf("threads %zu\n", THREADS * MIB);
}

static void file(void)
{
    char zeros[4096] = {0};
    int fd = open("mapped.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 1024; i++)
        if (write(fd, zeros, sizeof zeros) != sizeof zeros)
            abort();
    char *ptr = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    volatile char sum = 0;
    for (size_t i = 0; i < 4 * MIB; i += 4096)
        sum = (char)(sum + ptr[i]);
    memset(ptr, 1, MIB); /* private dirty */
    close(fd);
    printf("file_dirty %zu\nfile_clean %zu\n", MIB, 3 * MIB);
}

/* ---- hostile things -------------------------------------------------------------------------- */

static void *blow(void *cookie)
{
    unsigned seed = (unsigned)(size_t)cookie;
    char *kept[16] = {NULL};
    size_t len[16] = {0};
    for (int i = 0; i < 4000; i++) {
        size_t at = (size_t)rand_r(&seed) % 16, want = 4096 * (1 + (size_t)rand_r(&seed) % 16);
        if (!kept[at]) {
            kept[at] = pages(len[at] = want);
            kept[at][0] = 1;
        } else if (i % 3 == 0) {
            kept[at] = mremap(kept[at], len[at], want, MREMAP_MAYMOVE);
            len[at] = want;
        } else {
            size_t head = (len[at] + 4095) / 8192 * 4096; /* the rest goes first */
            munmap(kept[at] + head, len[at] - head);
            if (head)
                munmap(kept[at], head);
            kept[at] = NULL;
        }
    }
    for (size_t at = 0; at < 16; at++)
        if (kept[at])
            munmap(kept[at], len[at]);
    return NULL;
}

static void storm(void)
{
    enum { THREADS = 4, CHILDREN = 20 };
    pthread_t blowing[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        blowing[i] = start_thread(blow, (void *)(i + 1)); // NOLINT
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (!child) {
            blow((void *)99); // NOLINT
            _exit(0);
        }
        if (status_of(child))
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(blowing[i], NULL);
    puts("blow 0");
}

/* The heap is the largest area, and grows while windows are made. */
static void grow(void)
{
    enum { FIRST = 12000, STEPS = 500, SIZE = 8000 };
    struct rusage usage;
    for (int i = 0; i < FIRST; i++)
        used(malloc(SIZE), SIZE);
    for (int step = 0; step < STEPS; step++) {
        for (size_t len = 0; len < MIB / 7; len += SIZE)
            used(malloc(SIZE), SIZE);
        usleep(1000);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("most %zu\n", (size_t)usage.ru_maxrss << 10);
}

static void filter(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_get_robust_list, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("filtered %d\n",
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

/* A process that ends earlier has no account. */
static void live_on(void)
{
    usleep(200000);
}

static void stand_still(void)
{
    char byte;
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        continue;
}

/* Ends after so many milliseconds, and tells whether there was a file for the last window. */
APART int live_briefly(int blocks, const char *folder, int milliseconds)
{
    char path[4096];
    for (int i = 0; i < blocks; i++) // NOLINT(clang-analyzer-unix.Malloc): leaked, as it should be
        used(malloc(MIB), MIB);
    usleep((useconds_t)milliseconds * 1000);
    snprintf(path, sizeof path, "%s/heap.account.%d.live", folder, (int)getpid());
    printf("live %d\n", access(path, F_OK) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int all = strcmp(what, "all") == 0;
    setvbuf(stdout, NULL, _IOFBF, 4096);
    if (argc > 4 && !strcmp(what, "briefly"))
        return live_briefly((int)strtol(argv[2], NULL, 10), argv[3],
                            (int)strtol(argv[4], NULL, 10));
    if (all || !strcmp(what, "maps") || !strcmp(what, "fork"))
        maps();
    if (all || !strcmp(what, "slack"))
        slack();
    if (all || !strcmp(what, "leak"))
        leak();
    if (all || !strcmp(what, "file"))
        file();
    if (all || !strcmp(what, "threads"))
        threads();
    if (!strcmp(what, "storm"))
        storm();
    if (!strcmp(what, "grow"))
        grow();
    if (!strcmp(what, "filtered")) {
        threads();
        filter();
    }
    if (!strcmp(what, "again")) {
        free(used(malloc(MIB), MIB)); /* the agent's thread runs */
        maps();
        live_on();
        execl("/proc/self/exe", argv[0], "leak", (char *)NULL);
    }
    if (!strcmp(what, "fork")) {
        fflush(stdout);
        pid_t child = fork();
        if (child > 0)
            return waitpid(child, NULL, 0) != child;
        map_whole();
        free(used(malloc(MIB), MIB));
        printf("map_whole %zu\npid %d\n", 12 * MIB, (int)getpid());
    }
    live_on();
    stand_still();
    return 0;
}
