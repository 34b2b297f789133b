/* Deletes the oldest profiles of a run: see delivery.h.
 *
 * Nothing in the list is trusted: a file is deleted only if it is regular and has the inode that was
 * listed. If a process is killed while it changes the list, an entry may be there twice. */
#include "agent/delivery/delivery.h"

#include "agent/base/agent.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

typedef struct entry {
    uint64_t inode, bytes;
    int64_t nanos;  /* when it was written, by a clock that nobody sets */
    char name[128]; /* without the directory, with a slash before it; ends with a NUL */
} entry;

typedef struct total {
    uint64_t files, bytes;
} total;

static bool is_regular(const char *name, struct stat *status)
{
    return pd_spool_stat(name, status) == 0 && S_ISREG(status->st_mode);
}

static bool describe_file(const char *path, entry *out)
{
    struct stat status;
    const char *name = strrchr(path, '/');
    if (!name || strlen(name) >= sizeof out->name || !is_regular(name, &status))
        return false;
    *out = (entry){.inode = status.st_ino,
                   .bytes = (uint64_t)status.st_size,
                   .nanos = (int64_t)pd_nanos_of(CLOCK_BOOTTIME)};
    memcpy(out->name, name, strlen(name));
    return true;
}

static void delete_file(const entry *e)
{
    struct stat status;
    if (strncmp(e->name, "/heap.", 6) == 0 && !strchr(e->name + 1, '/') &&
        is_regular(e->name, &status) && status.st_ino == e->inode && !pd_spool_remove(e->name))
        atomic_store(&pd_the_agent.has_deleted, true);
}

/* ---- the list -------------------------------------------------------------------------------- */

static pd_fixed_text name_of_list(void)
{
    pd_fixed_text name = {.len = 0};
    pd_text_add(&name, "/.pprofdelta-%s-%u", pd_given.run, (unsigned)geteuid());
    return name;
}

/* Waits while another process has it, which takes well under a millisecond unless that process is
 * stopped. */
static bool lock_list(int fd)
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
    int fd = pd_spool_open(name_of_list().bytes, O_RDWR | O_CREAT | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == geteuid() && lock_list(fd))
        return fd;
    pd_close(fd);
    return -1;
}

static bool get_entry(int fd, uint64_t at, entry *out)
{
    bool is_there = pread(fd, out, sizeof *out, (off_t)(at * sizeof *out)) == sizeof *out;
    out->name[sizeof out->name - 1] = '\0';
    return is_there;
}

static bool put_entry(int fd, uint64_t at, const entry *e)
{
    return pwrite(fd, e, sizeof *e, (off_t)(at * sizeof *e)) == sizeof *e;
}

static bool is_over(const total *t, const entry *oldest, int64_t now)
{
    if (pd_given.keep == PD_KEEP_FILES)
        return t->files > pd_given.keep_most;
    if (pd_given.keep == PD_KEEP_BYTES)
        return t->bytes > pd_given.keep_most;
    return now > oldest->nanos && (uint64_t)now - (uint64_t)oldest->nanos > pd_given.keep_most;
}

/* Deletes the oldest of the files in the list while they and the last one are over the limit.
 * Returns how many entries these were. */
static uint64_t delete_oldest(int fd, uint64_t len, const entry *last)
{
    total t = {1, last->bytes};
    entry e;
    uint64_t gone = 0;
    for (uint64_t i = 0; i < len && get_entry(fd, i, &e); i++) {
        t.files++;
        t.bytes += e.bytes;
    }
    for (; gone < len && get_entry(fd, gone, &e) && is_over(&t, &e, last->nanos); gone++) {
        delete_file(&e);
        t.files--;
        t.bytes -= e.bytes;
    }
    return gone;
}

static void update_list(int fd, const entry *last)
{
    struct stat status;
    entry e;
    if (fstat(fd, &status))
        return;
    uint64_t len = (uint64_t)status.st_size / sizeof e, gone = delete_oldest(fd, len, last);
    for (uint64_t i = gone; gone && i < len && get_entry(fd, i, &e); i++)
        if (!put_entry(fd, i - gone, &e))
            return;
    if (put_entry(fd, len - gone, last) && ftruncate(fd, (off_t)((len - gone + 1) * sizeof e)))
        return;
}

void pd_keep_add(const pd_fixed_text *path)
{
    entry last;
    if (!pd_given.keep || pd_given.command || !describe_file(path->bytes, &last))
        return;
    int fd = open_list();
    if (fd < 0)
        return;
    update_list(fd, &last);
    close(fd);
}

void pd_keep_end(void)
{
    if (pd_given.keep && pd_agent_is_command())
        pd_spool_remove(name_of_list().bytes);
}
