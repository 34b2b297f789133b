/* Messages of the agent on stderr: see agent.h. */
#include "agent/base/agent.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct stat known;     /* of stderr at the start; zeros: there was none */
static char stderr_path[128]; /* empty: not known, or longer */
static bool
    is_shared_safely; /* it may be opened again: the place of a write is not in the descriptor */
static atomic_uint written; /* the kinds of messages that were written, as bits */

void pd_notice_begin(void)
{
    if (fstat(STDERR_FILENO, &known) == 0)
        is_shared_safely =
            !S_ISREG(known.st_mode) || (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0;
}

void pd_notice_keep_path(void)
{
    ssize_t len = readlink("/proc/self/fd/2", stderr_path, sizeof stderr_path);
    stderr_path[len > 0 && (size_t)len < sizeof stderr_path ? len : 0] = '\0';
}

/* Returns a duplicate of the descriptor 2 of a process, or -1. */
static int copy_stderr_of(pid_t pid)
{
    int fd = -1, process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process >= 0) {
        fd = pd_open_high((int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0));
        close(process);
    }
    return fd;
}

/* Returns the program's descriptor 2 for a thread with its own descriptors. pidfd_getfd comes
 * first, since /proc cannot open a socket. */
static int borrow_stderr(void)
{
    int fd = copy_stderr_of(getpid());
    return fd >= 0 ? fd : pd_open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NOCTTY);
}

void pd_notice_close(int fd)
{
    if (pd_this_thread.has_own_descriptors || fd != STDERR_FILENO)
        pd_close(fd);
}

/* Returns the descriptor if it is still that of the same file. Otherwise closes it and returns -1. */
static int if_stderr(int fd)
{
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && pd_is_same_file(&status, &known))
        return fd;
    pd_notice_close(fd);
    return -1;
}

/* Opens the file that stderr was once more. Many programs, all those of coreutils among them, close
 * stderr in an exit handler. The parent process may still have it, or it has a name. */
static int reopen_stderr(void)
{
    enum { HOW = O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK };
    pd_fixed_text parent = {.len = 0};
    int fd = if_stderr(copy_stderr_of(getppid()));
    if (fd < 0 && is_shared_safely && *stderr_path == '/')
        fd = if_stderr(pd_open(stderr_path, HOW));
    pd_text_add(&parent, "/proc/%d/fd/2", (int)getppid());
    return fd < 0 && is_shared_safely ? if_stderr(pd_open(parent.bytes, HOW)) : fd;
}

static pd_attach *attached; /* NULL: messages go to stderr */

void pd_notice_begin_attached(pd_attach *to)
{
    atomic_store(&written, 0);
    attached = to;
}

/* Where there is room. */
static void tell_command(const pd_fixed_text *text)
{
    size_t at = atomic_fetch_add(&attached->text_len, (uint32_t)text->len + 1);
    if (at + text->len + 1 > sizeof attached->text)
        return;
    memcpy(attached->text + at, text->bytes, text->len);
    attached->text[at + text->len] = '\n';
}

/* Returns whether a process from which this one descends has written such a message, and notes for the
 * programs that this one starts that there was one. */
static bool was_said_before(pd_notice topic)
{
    static const pd_notice once[] = {PD_NOTICE_ASIDE, PD_NOTICE_EXTRA};
    enum { KINDS = sizeof once / sizeof *once };
    char *said = getenv(PD_VARIABLE_SAID);
    bool was_said = false;
    for (size_t i = 0; said && strlen(said) == KINDS && i < KINDS; i++)
        if (once[i] == topic) {
            was_said = said[i] == '1';
            said[i] = '1';
        }
    return was_said;
}

int pd_notice_open(pd_notice topic, const pd_fixed_text *text)
{
    if (atomic_fetch_or(&written, (unsigned)topic) & (unsigned)topic ||
        (!attached && was_said_before(topic)))
        return -1;
    if (attached) {
        tell_command(text);
        return -1;
    }
    int fd = if_stderr(pd_this_thread.has_own_descriptors ? borrow_stderr() : STDERR_FILENO);
    if (fd < 0 && (topic & (PD_NOTICE_END | PD_NOTICE_NEXT | PD_NOTICE_MISSING)))
        fd = reopen_stderr();
    if (fd < 0)
        return -1;
    pd_quiet quiet;
    pd_fixed_text line = {.len = 0};
    pd_text_add(&line, "pprofdelta: %.*s\n", (int)(sizeof line.bytes - sizeof "pprofdelta: \n"),
                text->bytes);
    pd_quiet_begin(&quiet);
    pd_write_all(fd, line.bytes, line.len);
    pd_quiet_end(&quiet);
    return fd;
}

void pd_notice_print(pd_notice topic, const char *format, ...)
{
    PD_KEEP_ERRNO;
    pd_fixed_text text = {.len = 0};
    va_list list;
    va_start(list, format);
    pd_text_add_list(&text, format, list);
    va_end(list);
    pd_notice_close(pd_notice_open(topic, &text));
}

void pd_notice_refuse(const char *why, const char *what)
{
    pd_notice_print(PD_NOTICE_ASIDE, "nothing is recorded in this process: %s%s", why, what);
}
