/* Deletes the oldest profiles of a run: see keep.h.
 *
 * Nothing in the list is trusted: a file is deleted only if it is regular and has the inode that was
 * listed. If a process is killed while it changes the list, an entry may be there twice. */
#include "agent/delivery/keep.h"

#include "agent/base/agent.h"
#include "agent/delivery/spool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static atomic_bool has_deleted;

bool pd_keep_has_deleted(void)
{
    return atomic_load(&has_deleted);
}

typedef struct entry {
    uint64_t inode, bytes;
    int64_t nanos;                /* when it was written, by a clock that nobody sets */
    char name[PD_SPOOL_NAME_MAX]; /* without the directory; ends with a NUL */
} entry;

typedef struct total {
    uint64_t files, bytes;
} total;

/* Is it a regular file with this path? A path that was cut off names no file of ours. */
static bool is_regular(const char *path, struct stat *status)
{
    return lstat(path, status) == 0 && S_ISREG(status->st_mode);
}

static bool describe(const pd_fixed_text *path, entry *out)
{
    struct stat status;
    const char *slash = strrchr(path->bytes, '/');
    if (!slash || strlen(slash + 1) >= sizeof out->name || !is_regular(path->bytes, &status))
        return false;
    *out = (entry){.inode = status.st_ino,
                   .bytes = (uint64_t)status.st_size,
                   .nanos = (int64_t)pd_nanos_of(CLOCK_BOOTTIME)};
    memcpy(out->name, slash + 1, strlen(slash + 1));
    return true;
}

static void delete_file(const entry *e)
{
    struct stat status;
    pd_fixed_text path = {.len = 0};
    if (strncmp(e->name, "heap.", 5) != 0 || strchr(e->name, '/'))
        return;
    pd_text_add(&path, "%s/%s", pd_the_agent.settings.dir, e->name);
    if (is_regular(path.bytes, &status) && status.st_ino == e->inode && unlink(path.bytes) == 0)
        atomic_store(&has_deleted, true);
}

/* ---- the list -------------------------------------------------------------------------------- */

static pd_fixed_text path_of_list(void)
{
    pd_fixed_text path = {.len = 0};
    pd_text_add(&path, "%s/.pprofdelta-%s-%u", pd_the_agent.settings.dir, pd_the_agent.settings.run,
                (unsigned)geteuid());
    return path;
}

/* Waits while another process has it, which takes well under a millisecond unless that process is
 * stopped. */
static bool lock(int fd)
{
    enum { TRIES = 200 };
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Returns a descriptor with the lock, or -1. */
static int open_list(void)
{
    struct stat status;
    const pd_fixed_text path = path_of_list();
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = pd_open_high(open(path.bytes, flags, 0600));
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == geteuid() && lock(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool get(int fd, uint64_t at, entry *out)
{
    bool is_there = pread(fd, out, sizeof *out, (off_t)(at * sizeof *out)) == sizeof *out;
    out->name[sizeof out->name - 1] = '\0';
    return is_there;
}

static bool put(int fd, uint64_t at, const entry *e)
{
    return pwrite(fd, e, sizeof *e, (off_t)(at * sizeof *e)) == sizeof *e;
}

static bool is_over(const total *t, const entry *oldest, int64_t now)
{
    const pd_settings *s = &pd_the_agent.settings;
    if (s->keep == PD_KEEP_FILES)
        return t->files > s->keep_most;
    if (s->keep == PD_KEEP_BYTES)
        return t->bytes > s->keep_most;
    return now > oldest->nanos && (uint64_t)now - (uint64_t)oldest->nanos > s->keep_most;
}

/* Deletes the oldest of the files in the list while they and the last one are over the limit.
 * Returns how many entries these were. */
static uint64_t delete_oldest(int fd, uint64_t len, const entry *last)
{
    total t = {1, last->bytes};
    entry e;
    uint64_t gone = 0;
    for (uint64_t i = 0; i < len && get(fd, i, &e); i++) {
        t.files++;
        t.bytes += e.bytes;
    }
    for (; gone < len && get(fd, gone, &e) && is_over(&t, &e, last->nanos); gone++) {
        delete_file(&e);
        t.files--;
        t.bytes -= e.bytes;
    }
    return gone;
}

static void update(int fd, const entry *last)
{
    struct stat status;
    entry e;
    if (fstat(fd, &status))
        return;
    uint64_t len = (uint64_t)status.st_size / sizeof e, gone = delete_oldest(fd, len, last);
    for (uint64_t i = gone; gone && i < len && get(fd, i, &e); i++)
        if (!put(fd, i - gone, &e))
            return;
    if (put(fd, len - gone, last) && ftruncate(fd, (off_t)((len - gone + 1) * sizeof e)))
        return;
}

void pd_keep_add(const pd_fixed_text *path)
{
    entry last;
    const pd_settings *s = &pd_the_agent.settings;
    if (!s->keep || s->command || !describe(path, &last))
        return;
    int fd = open_list();
    if (fd < 0)
        return;
    update(fd, &last);
    close(fd);
}

void pd_keep_end(void)
{
    const pd_settings *s = &pd_the_agent.settings;
    if (!s->keep || (pid_t)s->command_pid != getpid())
        return;
    const pd_fixed_text path = path_of_list();
    unlink(path.bytes);
}
