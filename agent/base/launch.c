/* How the agent gets into a program: see launch.h. */
#include "agent/base/launch.h"

#include "process/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SCRIPTS_MAX = 5,     /* scripts whose interpreter is a script; the kernel follows fewer */
    FIRST_LINE_LEN = 256 /* bytes of a script's first line that the kernel reads */
};

/* ---- %XX ------------------------------------------------------------------------------------- */

static int hex_digit(char digit)
{
    const char *digits = "0123456789abcdefABCDEF";
    const char *found = digit ? strchr(digits, digit) : NULL;
    int place = found ? (int)(found - digits) : -1;
    return place > 15 ? place - 6 : place;
}

bool pd_decode_percent(char *text)
{
    char *out = text;
    for (; *text; text++) {
        if (*text != '%') {
            *out++ = *text;
            continue;
        }
        int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
        if (low < 0 || !(high | low))
            return false;
        *out++ = (char)(high << 4 | low);
        text += 2;
    }
    *out = '\0';
    return true;
}

/* ---- the signal ------------------------------------------------------------------------------ */

const char *pd_launch_signal_refusal(int number)
{
    static const struct {
        const char *why;
        int numbers[8]; /* 0 at the end */
    } reasons[] = {
        {NULL, {SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO}},
        {NULL, {SIGPWR}},
        {"cannot be caught", {SIGKILL, SIGSTOP}},
        {"means that the program has failed",
         {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS}},
        {"is there to end the program", {SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ}},
        {"does not end a program by default, and is sent for other reasons",
         {SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH}},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        for (const int *other = reasons[i].numbers; *other; other++)
            if (*other == number)
                return reasons[i].why;
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

/* ---- what an ELF file says in its dynamic section -------------------------------------------- */

typedef struct image {
    pd_elf elf;
    pd_elf_dynamic dynamic;
} image;

/* Returns the one of the prefixes (NULL at the end) with which a string of a dynamic row with this
 * tag begins, or NULL. */
static const char *find_prefix(const image *i, int64_t tag, const char *const *prefixes)
{
    enum { NAME_LEN = 32 };
    ElfW(Dyn) row;
    for (size_t r = 0; pd_elf_row_at(&i->elf, &i->dynamic, r, &row); r++) {
        char name[NAME_LEN];
        if (row.d_tag != tag || row.d_un.d_val >= i->dynamic.strings_len)
            continue;
        size_t len =
            pd_elf_read(&i->elf, i->dynamic.strings_off + row.d_un.d_val, name, sizeof name);
        for (const char *const *prefix = prefixes; *prefix; prefix++) {
            size_t prefix_len = strlen(*prefix);
            if (prefix_len <= len && memcmp(name, *prefix, prefix_len) == 0)
                return *prefix;
        }
    }
    return NULL;
}

/* Returns the one of the names (NULL at the end, each shorter than 32 bytes) that is among the
 * dynamic strings, or at the end of one of them, or NULL. */
static const char *find_string(const image *i, const char *const *names)
{
    enum { PART_LEN = 2048, LONGEST = 32 };
    const pd_elf_dynamic *d = &i->dynamic;
    char part[PART_LEN];
    for (uint64_t off = 0; off < d->strings_len; off += PART_LEN - LONGEST) {
        uint64_t left = d->strings_len - off;
        size_t len = pd_elf_read(&i->elf, d->strings_off + off, part,
                                 left < PART_LEN ? (size_t)left : PART_LEN);
        for (const char *const *name = names; *name; name++)
            if (memmem(part, len, *name, strlen(*name) + 1))
                return *name;
        if (len < PART_LEN)
            break;
    }
    return NULL;
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
static bool is_loader(const image *i)
{
    static const char *const loaders[] = {"ld-linux", "ld64.so", "ld.so", NULL};
    return find_prefix(i, DT_SONAME, loaders) != NULL;
}

/* Is the loader that this segment names one of another C library than the agent's? */
static bool has_other_libc(const image *i, const ElfW(Phdr) * loader, const pd_launch_agent *agent)
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

static const char *find_sanitizer(const image *i)
{
    static const char *const runtimes[] = {
        "libasan.so",   "libtsan.so",       "libmsan.so",       "liblsan.so",
        "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", NULL};
    /* Names that a runtime exports which was linked in, as clang does. */
    static const char *const entries[] = {"__asan_init", "__hwasan_init", "__msan_init",
                                          "__tsan_init", NULL};
    const char *library = find_prefix(i, DT_NEEDED, runtimes);
    return library ? library : find_string(i, entries);
}

static pd_launch_obstacle check_elf(int fd, const pd_launch_agent *agent, const char **sanitizer)
{
    image i;
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
    image i;
    int fd, kept = errno, error = open_file(path, &fd);
    if (!error) {
        error = pd_elf_open(&i.elf, fd, 0) ? 0 : ENOEXEC;
        if (!error) {
            pd_elf_find_dynamic(&i.elf, &i.dynamic);
            *out = (pd_launch_agent){.elf_class = i.elf.header.e_ident[EI_CLASS],
                                     .byte_order = i.elf.header.e_ident[EI_DATA],
                                     .machine = i.elf.header.e_machine,
                                     .is_for_glibc = find_prefix(&i, DT_NEEDED, glibc) != NULL};
        }
        close(fd);
    }
    errno = kept;
    return error;
}

/* ---- language runtimes ----------------------------------------------------------------------- */

enum { GO_BUILD_ID = 4 }; /* the type of Go's note */

static uint64_t padded(uint64_t len)
{
    return (len + 3) & ~UINT64_C(3);
}

/* Does a segment of notes have the one that Go's linker writes? */
static bool has_go_note(const pd_elf *elf, const ElfW(Phdr) * segment)
{
    enum { NOTES_MAX = 1024 };
    uint64_t at = segment->p_offset, end = at + segment->p_filesz;
    ElfW(Nhdr) note;
    for (int i = 0; i < NOTES_MAX && at < end; i++) {
        char owner[4] = {0};
        if (pd_elf_read(elf, at, &note, sizeof note) != sizeof note ||
            pd_elf_read(elf, at + sizeof note, owner, sizeof owner) != sizeof owner)
            return false;
        if (note.n_type == GO_BUILD_ID && note.n_namesz == sizeof owner &&
            memcmp(owner, "Go\0", sizeof owner) == 0)
            return true;
        at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    }
    return false;
}

static bool is_go(const pd_elf *elf)
{
    ElfW(Phdr) segment;
    for (size_t i = 0; pd_elf_segment_at(elf, i, &segment); i++)
        if (segment.p_type == PT_NOTE && has_go_note(elf, &segment))
            return true;
    return false;
}

static const struct {
    pd_runtime runtime;
    const char *libraries[4], *names[3]; /* NULL at the end */
} runtimes[] = {
    {PD_RUNTIME_JAVA, {"libjvm.so", "libjli.so", NULL}, {"JLI_Launch", "JNI_CreateJavaVM", NULL}},
    {PD_RUNTIME_NODE, {"libnode.so", NULL}, {"_ZN4node5StartEiPPc", NULL}},
    /* Not libpython: programs that embed Python need it, too, and most of their heap is their own. */
    {PD_RUNTIME_PYTHON, {"libpypy", NULL}, {"Py_BytesMain", "Py_Main", NULL}},
};

static pd_runtime classify(int fd)
{
    image i;
    if (!pd_elf_open(&i.elf, fd, 0))
        return PD_RUNTIME_NONE;
    if (is_go(&i.elf))
        return PD_RUNTIME_GO;
    pd_elf_find_dynamic(&i.elf, &i.dynamic);
    for (size_t r = 0; r < sizeof runtimes / sizeof *runtimes; r++)
        if (find_prefix(&i, DT_NEEDED, runtimes[r].libraries) || find_string(&i, runtimes[r].names))
            return runtimes[r].runtime;
    return PD_RUNTIME_NONE;
}

pd_runtime pd_runtime_of(const char *path)
{
    int kept = errno, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    pd_runtime runtime = fd >= 0 ? classify(fd) : PD_RUNTIME_NONE;
    if (fd >= 0)
        close(fd);
    errno = kept;
    return runtime;
}

/* With PYTHONMALLOC=malloc or malloc_debug, Python has no allocator of its own. */
static const char *python_advice(void)
{
    static const char malloc_name[] = "malloc";
    const char *allocator = getenv("PYTHONMALLOC");
    if (allocator && strncmp(allocator, malloc_name, sizeof malloc_name - 1) == 0)
        return "Python: C stacks are seen, without Python functions, which are not in the "
               "profiles; tracemalloc or memray shows these";
    return "Python: C stacks are seen, without Python functions, and not objects up to 512 "
           "bytes, "
           "which have an allocator of their own; PYTHONMALLOC=malloc shows these, tracemalloc "
           "or "
           "memray the Python functions";
}

const char *pd_runtime_advice(pd_runtime runtime)
{
    switch (runtime) {
    case PD_RUNTIME_GO:
        return "Go: only what C code allocates is seen, and not Go's own heap; use the heap "
               "profile of "
               "net/http/pprof and pprofdelta PREV CUR for that";
    case PD_RUNTIME_JAVA:
        return "Java: what the virtual machine and native libraries allocate is seen, and not Java "
               "objects; use jcmd PID GC.class_histogram or async-profiler -e alloc for these";
    case PD_RUNTIME_NODE:
        return "Node.js: what C and C++ code and buffers allocate is seen, and not JavaScript "
               "objects; "
               "use node --heap-prof or @datadog/pprof for these";
    case PD_RUNTIME_PYTHON:
        return python_advice();
    default:
        return "";
    }
}

/* ---- the name of the program ----------------------------------------------------------------- */

static char name[PD_PROGRAM_MAX + 1] = "unknown";

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-+.", c));
}

/* A name that begins with a period or a hyphen would be a hidden file or look like an option. */
void pd_program_copy(char out[PD_PROGRAM_MAX + 1], const char *from)
{
    size_t len = strlen(from) < PD_PROGRAM_MAX ? strlen(from) : PD_PROGRAM_MAX;
    for (size_t i = 0; i < len; i++)
        out[i] = is_plain(from[i]) && (i || (from[i] != '.' && from[i] != '-')) ? from[i] : '_';
    out[len] = '\0';
    if (!len)
        memcpy(out, "_", 2);
}

/* A login shell is started with a hyphen in front of its name. */
void pd_program_begin(void)
{
    const char *from = program_invocation_short_name;
    if (from && *from == '-')
        from++;
    if (from && *from)
        pd_program_copy(name, from);
}

const char *pd_program_name(void)
{
    return name;
}
