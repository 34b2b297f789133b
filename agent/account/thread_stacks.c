/* Where the stacks of the threads are: see thread_stacks.h. */
#include "agent/account/thread_stacks.h"

#include "agent/delivery/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS_MAX = 4096 };

static uintptr_t heads[THREADS_MAX];
static size_t heads_len;

/* As the kernel writes it. */
typedef struct directory_entry {
    uint64_t inode;
    int64_t off;
    uint16_t len;
    uint8_t type;
    char name[];
} directory_entry;

static bool has_filter(void)
{
    char text[8192];
    int fd = pd_spool_high(open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC));
    ssize_t len = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
    const char *line = strstr(text, "\nSeccomp:");
    return !line ||
           line[sizeof "\nSeccomp:" - 1 + strspn(line + sizeof "\nSeccomp:" - 1, "\t ")] != '0';
}

static void note(const char *name)
{
    long tid = 0;
    void *head = NULL;
    size_t len;
    for (; *name >= '0' && *name <= '9'; name++)
        tid = tid * 10 + (*name - '0');
    if (!tid || tid == getpid() || heads_len == THREADS_MAX ||
        syscall(SYS_get_robust_list, tid, &head, &len) || !head)
        return;
    heads[heads_len++] = (uintptr_t)head;
}

static int compare(const void *a, const void *b)
{
    const uintptr_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorts without qsort, which may allocate. */
static void sort_heads(void)
{
    for (size_t gap = heads_len / 2; gap; gap /= 2)
        for (size_t i = gap; i < heads_len; i++)
            for (size_t j = i; j >= gap && compare(&heads[j - gap], &heads[j]) > 0; j -= gap) {
                uintptr_t head = heads[j];
                heads[j] = heads[j - gap];
                heads[j - gap] = head;
            }
}

bool pd_thread_stacks_find(void)
{
    static _Alignas(64) char bytes[16 << 10];
    heads_len = 0;
    if (has_filter())
        return false;
    int fd = pd_spool_high(open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd < 0)
        return false;
    for (long got; (got = syscall(SYS_getdents64, fd, bytes, sizeof bytes)) > 0;)
        for (long at = 0; at < got;) {
            const directory_entry *entry = (const void *)(bytes + at);
            note(entry->name);
            at += entry->len;
        }
    close(fd);
    sort_heads();
    return true;
}

uintptr_t pd_thread_stacks_end_in(uintptr_t begin, uintptr_t end)
{
    /* The head is in the first half of the record. The record ends with the stack, or a part of
     * the thread's static data follows, less than a page. */
    enum { RECORD_MOST = 0x6a0 };
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    size_t low = 0, high = heads_len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (heads[middle] < begin)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == heads_len || heads[low] >= end)
        return 0;
    uintptr_t top = (heads[low] + RECORD_MOST + page - 1) & ~(page - 1);
    return top < end ? top : end;
}
