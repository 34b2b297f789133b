/* How the agent gets into a program: see launch.h. */
#include "agent/base/launch.h"

#include "agent/base/image.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SCRIPTS_MAX = 5,     /* scripts whose interpreter is a script; the kernel follows fewer */
    FIRST_LINE_LEN = 256 /* bytes of a script's first line that the kernel reads */
};

/* ---- the signal ------------------------------------------------------------------------------ */

const char *pd_launch_signal_refusal(int number)
{
    switch (number) {
    case SIGHUP:
    case SIGUSR1:
    case SIGUSR2:
    case SIGALRM:
    case SIGVTALRM:
    case SIGPROF:
    case SIGIO:
    case SIGPWR:
        return NULL;
    case SIGKILL:
    case SIGSTOP:
        return "cannot be caught";
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGSYS:
        return "means that the program has failed";
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
    case SIGPIPE:
    case SIGXCPU:
    case SIGXFSZ:
        return "is there to end the program";
    case SIGCHLD:
    case SIGCONT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGURG:
    case SIGWINCH:
        return "does not end a program by default, and is sent for other reasons";
    default:
        break;
    }
    if (number >= SIGRTMIN && number <= SIGRTMAX)
        return NULL;
    if (number > SIGSYS && number < SIGRTMIN)
        return "belongs to the C library";
    return number < 1 || number > SIGRTMAX ? "does not exist" : "cannot ask for a profile";
}

/* ---- finding a program ----------------------------------------------------------------------- */

static bool copy_path(char path[PATH_MAX], const char *from)
{
    size_t len = strlen(from) + 1;
    return len <= PATH_MAX && memcpy(path, from, len) != NULL;
}

/* Returns 0 if the file can be run, or else the reason as an errno value. */
static int why_no_program(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return errno;
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : EACCES;
}

int pd_launch_find(const char *command, const char *folders, char path[PATH_MAX])
{
    int error = ENOENT, kept = errno;
    if (strchr(command, '/'))
        return copy_path(path, command) ? 0 : ENAMETOOLONG;
    for (const char *at = *command ? folders ? folders : "/bin:/usr/bin" : NULL; at;) {
        size_t len = strcspn(at, ":"), name_len = strlen(command) + 1;
        if (len + 2 + name_len <= PATH_MAX) {
            memcpy(path, len ? at : ".", len ? len : 1);
            size_t end = len ? len : 1;
            path[end++] = '/';
            memcpy(path + end, command, name_len);
            int why = why_no_program(path);
            if (!why) {
                errno = kept;
                return 0;
            }
            error = why == EACCES ? EACCES : error;
        }
        at = at[len] ? at + len + 1 : NULL;
    }
    errno = kept;
    return error;
}

/* ---- obstacles ------------------------------------------------------------------------------- */

static pd_launch_obstacle check_rights(int fd)
{
    struct stat status;
    if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return PD_LAUNCH_CAPABILITIES;
    if (fstat(fd, &status))
        return PD_LAUNCH_OK;
    return status.st_mode & S_ISUID   ? PD_LAUNCH_SETUID
           : status.st_mode & S_ISGID ? PD_LAUNCH_SETGID
                                      : PD_LAUNCH_OK;
}

/* The loader can be run as a program. It then runs the program that its arguments name, and
 * preloads. */
static bool is_loader(const pd_image *i)
{
    static const char *const loaders[] = {"ld-linux", "ld64.so", "ld.so", NULL};
    return pd_image_find_prefix(i, DT_SONAME, loaders) != NULL;
}

/* Is the loader that this segment names one of another C library than the agent's? */
static bool has_other_libc(const pd_image *i, const ElfW(Phdr) * loader,
                           const pd_launch_agent *agent)
{
    static const char *const others[] = {"/ld-musl-", "/ld-uClibc", "/system/bin/linker", NULL};
    char path[FIRST_LINE_LEN];
    size_t cap = loader->p_filesz < sizeof path ? (size_t)loader->p_filesz : sizeof path;
    size_t len = pd_elf_read(&i->elf, loader->p_offset, path, cap);
    if (!len)
        return false;
    if (!agent->is_for_glibc)
        return !memmem(path, len, others[0], strlen(others[0]));
    for (const char *const *other = others; *other; other++)
        if (memmem(path, len, *other, strlen(*other)))
            return true;
    return false;
}

static const char *find_sanitizer(const pd_image *i)
{
    static const char *const runtimes[] = {
        "libasan.so",   "libtsan.so",       "libmsan.so",       "liblsan.so",
        "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", NULL};
    /* Names that a runtime exports which was linked in, as clang does. */
    static const char *const entries[] = {"__asan_init", "__hwasan_init", "__msan_init",
                                          "__tsan_init", NULL};
    const char *library = pd_image_find_prefix(i, DT_NEEDED, runtimes);
    return library ? library : pd_image_find_string(i, entries);
}

static pd_launch_obstacle check_elf(int fd, const pd_launch_agent *agent, const char **sanitizer)
{
    pd_image i;
    ElfW(Phdr) loader;
    if (!pd_elf_open(&i.elf, fd, 0))
        return PD_LAUNCH_CUT_OFF;
    pd_launch_obstacle rights = check_rights(fd);
    if (rights)
        return rights;
    if (i.elf.header.e_ident[EI_CLASS] != agent->elf_class ||
        i.elf.header.e_ident[EI_DATA] != agent->byte_order ||
        i.elf.header.e_machine != agent->machine)
        return PD_LAUNCH_OTHER_MACHINE;
    pd_elf_find_dynamic(&i.elf, &i.dynamic);
    if (!pd_elf_find_segment(&i.elf, PT_INTERP, &loader))
        return is_loader(&i) ? PD_LAUNCH_OK : PD_LAUNCH_STATIC;
    if (has_other_libc(&i, &loader, agent))
        return PD_LAUNCH_OTHER_LIBC;
    *sanitizer = find_sanitizer(&i);
    return *sanitizer ? PD_LAUNCH_SANITIZED : PD_LAUNCH_OK;
}

/* ---- scripts --------------------------------------------------------------------------------- */

/* "#!/bin/sh -e" -> "/bin/sh". A file that is neither a script nor ELF is run by the shell. */
static bool read_interpreter(const char *head, size_t len, char path[PATH_MAX])
{
    size_t begin = 2, end;
    if (len < 2 || memcmp(head, "#!", 2) != 0)
        return copy_path(path, "/bin/sh");
    while (begin < len && (head[begin] == ' ' || head[begin] == '\t'))
        begin++;
    for (end = begin; end < len && !strchr(" \t\r\n", head[end]); end++)
        continue;
    if (end == begin || end == len)
        return false;
    memcpy(path, head + begin, end - begin);
    path[end - begin] = '\0';
    return true;
}

/* Opens a regular file without waiting for a pipe. Anything else is refused as exec refuses it.
 * Returns 0 or an errno value. */
static int open_file(const char *path, int *fd)
{
    struct stat status;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0)
        return errno;
    int error = fstat(*fd, &status) ? errno : S_ISREG(status.st_mode) ? 0 : EACCES;
    if (error)
        close(*fd);
    return error;
}

/* Checks one file. Returns true if it is a script; then out->path is its interpreter. */
static bool check_file(const pd_launch_agent *agent, pd_launch_result *out)
{
    char head[FIRST_LINE_LEN];
    int fd;
    out->error = open_file(out->path, &fd);
    if (out->error) {
        /* A file that can be run and not be read is left to the agent that is loaded into it. */
        bool may_run = out->error == EACCES && !why_no_program(out->path);
        out->obstacle = may_run ? PD_LAUNCH_OK : PD_LAUNCH_NOT_OPENED;
        return false;
    }
    bool is_script = false;
    const pd_elf whole = {.fd = fd};
    size_t len = pd_elf_read(&whole, 0, head, sizeof head);
    if (len >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        out->obstacle = check_elf(fd, agent, &out->sanitizer);
    else
        is_script = read_interpreter(head, len, out->path);
    close(fd);
    return is_script;
}

void pd_launch_check(const char *program, const pd_launch_agent *agent, pd_launch_result *out)
{
    int kept = errno;
    out->obstacle = PD_LAUNCH_OK;
    out->sanitizer = NULL;
    out->error = 0;
    if (copy_path(out->path, program))
        for (int scripts = 0; scripts <= SCRIPTS_MAX && check_file(agent, out); scripts++)
            continue;
    errno = kept;
}

int pd_launch_agent_read(const char *path, pd_launch_agent *out)
{
    static const char *const glibc[] = {"libc.so.6", NULL};
    pd_image i;
    int fd, kept = errno, error = open_file(path, &fd);
    if (!error) {
        error = pd_elf_open(&i.elf, fd, 0) ? 0 : ENOEXEC;
        if (!error) {
            pd_elf_find_dynamic(&i.elf, &i.dynamic);
            *out = (pd_launch_agent){.elf_class = i.elf.header.e_ident[EI_CLASS],
                                     .byte_order = i.elf.header.e_ident[EI_DATA],
                                     .machine = i.elf.header.e_machine,
                                     .is_for_glibc =
                                         pd_image_find_prefix(&i, DT_NEEDED, glibc) != NULL};
        }
        close(fd);
    }
    errno = kept;
    return error;
}
