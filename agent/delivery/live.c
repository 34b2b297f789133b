/* The file from which the last window of a killed process is made: see delivery.h. */
#include "agent/delivery/delivery.h"

#include "agent/base/agent.h"
#include "agent/base/region.h"
#include "agent/python/python.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { NONE, THERE, FAILED };

static PD_OF_PROCESS int state; /* NONE */
static pd_fixed_text name;      /* of the file, with a slash before it; valid while THERE */
static struct stat file_status; /* which file that is */
static PD_OF_PROCESS int64_t
    ended; /* when the last window arrived; what comes next is an end or an exec */

/* An overlay hides what its upper file system is, but asks it these questions. */
static bool is_over_ext4_or_xfs(int fd)
{
    int flags = 0;
    struct fsxattr more = {0};
    return (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && flags & FS_EXTENT_FL) || /* ext4 */
           (posix_fallocate(fd, 0, 1) == 0 && ioctl(fd, FS_IOC_FSGETXATTR, &more) == 0 &&
            more.fsx_nextents); /* only XFS counts them */
}

/* A write to a mapped file of one of these never needs more room than was allocated. */
static bool is_on_known_system(int fd)
{
    static const uint64_t known[] = {0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */,
                                     0xef53 /* ext4 */, 0x58465342 /* XFS */};
    const uint64_t overlay = 0x794c7630;
    struct statfs status = {0};
    if (fstatfs(fd, &status) == 0 && (uint64_t)status.f_type == overlay)
        return is_over_ext4_or_xfs(fd);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((uint64_t)status.f_type == known[i])
            return true;
    return false;
}

/* An earlier process of this name and pid may have left one. */
static int create_live(void)
{
    enum { TRIES = 100 };
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; fd < 0 && errno == EEXIST && i < TRIES; i++) {
        name.len = 0;
        pd_text_add(&name, "/heap.%s.%d%s", pd_program_name(), (int)getpid(), PD_REMAINS_ENDING);
        if (i)
            pd_text_add(&name, ".%d", i);
        fd = pd_spool_open(name.bytes, O_RDWR | O_CREAT | O_EXCL);
    }
    return fd;
}

static void beat_head(pd_remains_head *head)
{
    pd_remains_beat_now(head, pd_now(), atomic_load(&pd_the_agent.next_number));
}

static void describe_process(pd_remains_process *process)
{
    char stat[1024], status[4096];
    struct stat numbers;
    *process = (pd_remains_process){.numbers = 0};
    if (pd_read_text("/proc/self/stat", stat, sizeof stat) &&
        pd_read_text("/proc/self/status", status, sizeof status))
        pd_remains_read_process(stat, status, process);
    if (!pd_read_text("/proc/sys/kernel/random/boot_id", process->boot, sizeof process->boot) ||
        fstatat(AT_FDCWD, "/proc/self/ns/pid", &numbers, 0))
        process->since_boot = 0;
    process->numbers = process->since_boot ? numbers.st_ino : 0;
    process->number = (uint64_t)getpid();
}

/* The magic of a whole file comes last. */
static void name_process(pd_remains_head *head)
{
    head->magic = PD_REMAINS_EARLY;
    head->format = (uint32_t)pd_given.format;
    head->snapshot = (uint32_t)pd_given.snapshot;
    head->has_account = (uint32_t)pd_given.account;
    head->resource_len = (uint32_t)strlen(pd_given.resource_text);
    memcpy(head->resource, pd_given.resource_text, head->resource_len);
    head->root = (uintptr_t)pd_agent_heap();
    head->dev = file_status.st_dev;
    head->ino = file_status.st_ino;
    describe_process(&head->process);
    head->check = pd_remains_check(&head->check, PD_REMAINS_HEAD_SIZE);
    head->account.check = 0; /* that of the parent, before a fork */
    beat_head(head);
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++)
        head->areas[i].base = 0;
}

/* Moves the tracker to the file, or with -1 out of it. Nobody is in the tracker meanwhile. */
static int move_tracker(pprofdelta_heap *heap, int fd, bool is_all)
{
    int error = 0;
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PREPARE, 0);
    pd_python_hold();
    if (fd >= 0)
        error = pd_region_share(fd, is_all);
    else
        pd_region_leave();
    pd_python_give();
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PARENT, 0);
    return error;
}

/* Returns NULL, or why the file cannot be used. */
static const char *use_file(int fd)
{
    if (!is_on_known_system(fd))
        return "its file system may have no room for a page later";
    if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &file_status))
        return "it cannot be locked";
    name_process(pd_region_head());
    int error = pd_write_all(fd, &pd_region_head()->magic, sizeof(uint64_t));
    error = error ? error : move_tracker(pd_agent_heap(), fd, true);
    return error ? pd_words_of_error(error) : NULL;
}

/* Where no profile can be written either, another message says so. */
static bool is_of_directory(int error)
{
    return error == ENOENT || error == EACCES || error == EROFS || error == EFBIG;
}

/* What the file took is free then for profiles. It says that it is over, since it may not be this process that can
 * remove it. why NULL: another message says it. */
static void give_up(bool has_file, const char *what, const char *why)
{
    if (has_file) {
        pd_region_head()->magic = PD_REMAINS_OVER;
        move_tracker(pd_agent_heap(), -1, true);
        pd_spool_remove(name.bytes);
    }
    state = FAILED;
    if (why)
        pd_notice_print(PD_NOTICE_LIVE,
                        "if this process is killed, its last window is lost: the file for it "
                        "cannot %s in %s: %s",
                        what, pd_given.dir, why);
}

static void make_file(void)
{
    int fd = create_live();
    const char *why = fd < 0 ? pd_words_of_error(errno) : use_file(fd);
    if (why)
        give_up(fd >= 0, "be made", is_of_directory(errno) ? NULL : why);
    else
        state = THERE;
    atomic_signal_fence(memory_order_seq_cst);
    if (!why)
        pd_region_head()->magic = PD_REMAINS_MAGIC;
    pd_close(fd); /* the mapping holds the lock */
}

/* The tracker has grown. */
static void extend_file(void)
{
    struct stat status;
    int fd = pd_spool_open(name.bytes, O_RDWR);
    int error = fd < 0 && errno == EACCES ? errno : 0;
    if (fd >= 0 && fstat(fd, &status) == 0 && pd_is_same_file(&status, &file_status))
        error = move_tracker(pd_agent_heap(), fd, false);
    pd_close(fd);
    if (error)
        give_up(true, "grow", pd_words_of_error(error));
}

void pd_live_fit(void)
{
    if (!pd_agent_is_recording() || !pd_region_head() || !pd_given.live || !*pd_given.dir)
        return;
    if (state == NONE && (uint64_t)(pd_now() - ended) > PD_NANOS_PER_SECOND)
        make_file();
    else if (state == THERE && pd_region_has_private())
        extend_file();
}

void pd_live_beat(void)
{
    pd_remains_head *head = pd_region_head();
    pd_live_fit();
    if (state == THERE)
        beat_head(head);
}

bool pd_live_has_all(void)
{
    struct stat status;
    if (state != THERE || pd_region_has_private())
        return false;
    if (pd_spool_stat(name.bytes, &status))
        return errno == EACCES; /* this process has given up the rights to see it */
    return pd_is_same_file(&status, &file_status);
}

bool pd_live_is_there(void)
{
    pd_live_fit();
    return pd_live_has_all();
}

const char *pd_live_fate(void)
{
    return pd_live_is_there() ? "; pprofdelta recover can make it" : " and is lost";
}

void pd_live_end(bool goes_on)
{
    ended = goes_on ? 0 : pd_now();
    if (state == THERE) {
        pd_region_head()->magic = PD_REMAINS_OVER;
        pd_spool_remove(name.bytes);
    }
    if (state == THERE || goes_on)
        state = NONE;
}

void pd_live_leave(pprofdelta_heap *heap)
{
    pd_live_end(true);
    if (pd_region_head())
        move_tracker(heap, -1, true);
}
