/* The file from which the last window of a killed process is made: see live.h. */
#include "agent/delivery/live.h"

#include "agent/base/agent.h"
#include "agent/base/notice.h"
#include "agent/base/region.h"
#include "agent/delivery/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { NONE, THERE, FAILED };

static _Atomic int state;
static pd_fixed_text name; /* of the file, with a slash before it; valid while THERE */
static __thread bool has_table __attribute__((tls_model("initial-exec")));

/* A write to a mapped file of one of these never needs more room than was allocated. */
static bool is_on_known_system(int fd)
{
    static const uint64_t known[] = {0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */,
                                     0xef53 /* ext4 */, 0x58465342 /* XFS */,
                                     0x794c7630 /* overlayfs */};
    struct statfs status;
    for (size_t i = 0; fstatfs(fd, &status) == 0 && i < sizeof known / sizeof *known; i++)
        if ((uint64_t)status.f_type == known[i])
            return true;
    return false;
}

static void notify(const char *why)
{
    pd_notice_print(PD_NOTICE_LIVE,
                    "if this process is killed, its last window is lost: the file for it cannot be "
                    "made in %s: %s",
                    pd_the_agent.settings.dir, why);
}

/* An earlier process of this name and pid may have left one. */
static int create(void)
{
    enum { TRIES = 100, HOW = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
    int fd = -1;
    for (int i = 0; fd < 0 && i < TRIES; i++) {
        char path[PD_SPOOL_PATH_MAX], number[16] = "";
        pd_fixed_text suffix = {.len = 0};
        if (i)
            pd_text_add(&suffix, ".%d", i);
        memcpy(number, suffix.bytes, suffix.len + 1);
        name.len = 0;
        pd_text_add(&name, "/heap.%s.%d%s%s", pd_program_name(), (int)getpid(), PD_REMAINS_ENDING,
                    number);
        int base = pd_spool_path(&name, path);
        fd = pd_open_high(openat(base, path, HOW, 0600));
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

static void remove_file(void)
{
    char path[PD_SPOOL_PATH_MAX];
    int base = pd_spool_path(&name, path);
    unlinkat(base, path, 0);
}

void pd_live_prepare(void)
{
    const pd_settings *settings = &pd_the_agent.settings;
    const char *resource = getenv(PD_VARIABLE_RESOURCE);
    pd_remains_head *head = pd_region_head();
    if (!head || !settings->live)
        return;
    head->base = (uintptr_t)head;
    head->format = (uint32_t)settings->format;
    head->snapshot = (uint32_t)settings->snapshot;
    head->account = (uint32_t)settings->account;
    head->resource_len = resource ? (uint32_t)strnlen(resource, sizeof head->resource) : 0;
    if (head->resource_len)
        memcpy(head->resource, resource, head->resource_len);
}

/* The magic comes last. */
static void name_process(pd_remains_head *head)
{
    struct stat space;
    head->magic = 0;
    head->root = (uintptr_t)pd_agent_heap();
    head->pid = (uint64_t)getpid();
    head->pid_space = stat("/proc/self/ns/pid", &space) ? 0 : (uint64_t)space.st_ino;
    head->alive_nanos = pd_now();
}

/* Nobody is in the tracker while its memory is moved. */
static int move_tracker(int fd)
{
    pprofdelta_heap *heap = pd_agent_heap();
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PREPARE, 0);
    int error = pd_region_share(fd);
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PARENT, 0);
    return error;
}

static void make_file(void)
{
    pd_remains_head *head = pd_region_head();
    int fd = create();
    int error = fd < 0 ? errno : 0;
    const char *why = error ? pd_words_of_error(error)
                      : !is_on_known_system(fd)
                          ? "its file system may have no room for a page later"
                      : flock(fd, LOCK_EX | LOCK_NB) ? "it cannot be locked"
                                                     : NULL;
    if (!why) {
        name_process(head);
        error = move_tracker(fd);
        why = error ? pd_words_of_error(error) : NULL;
    }
    if (!why) {
        atomic_signal_fence(memory_order_seq_cst);
        head->magic = PD_REMAINS_MAGIC;
        atomic_store(&state, THERE);
        return;
    }
    if (fd >= 0) {
        remove_file();
        close(fd);
    }
    atomic_store(&state, FAILED);
    notify(why);
}

/* The descriptor went with the table of an earlier thread of the agent, and with it the lock. */
static void lock_again(void)
{
    char path[PD_SPOOL_PATH_MAX];
    int base = pd_spool_path(&name, path);
    int fd = openat(base, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
        atomic_store(&state, NONE); /* it was taken for the file of a dead process */
}

void pd_live_begin(void)
{
    has_table = true;
    if (atomic_load(&state) == THERE)
        lock_again();
    pd_live_beat();
}

void pd_live_beat(void)
{
    const pd_settings *settings = &pd_the_agent.settings;
    pd_remains_head *head = pd_region_head();
    if (!head || !has_table || !settings->live || !*settings->dir)
        return;
    if (atomic_load(&state) == NONE)
        make_file();
    if (atomic_load(&state) != THERE)
        return;
    head->alive_nanos = pd_now();
    head->next_number = atomic_load(&pd_the_agent.next_number);
}

void pd_live_end(void)
{
    int there = THERE;
    if (!atomic_compare_exchange_strong(&state, &there, NONE))
        return;
    pd_region_head()->magic = 0;
    remove_file();
}

PD_IN_CHILD void pd_live_forget(void)
{
    atomic_store(&state, NONE);
}
