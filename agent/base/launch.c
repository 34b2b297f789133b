/* How the agent gets into a program: see launch.h. */
#include "agent/base/launch.h"

#include "agent/base/text.h"
#include "base/bytes.h"
#include "process/elf.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SCRIPTS_MAX = 5,     /* scripts whose interpreter is a script; the kernel follows fewer */
    FIRST_LINE_LEN = 256 /* bytes of a script's first line that the kernel reads */
};

/* ---- %XX ------------------------------------------------------------------------------------- */

bool pd_decode_percent(char *text)
{
    char *out = text;
    for (; *text; text++) {
        if (*text != '%') {
            *out++ = *text;
            continue;
        }
        unsigned high = pd_digit_of((uint8_t)text[1]);
        unsigned low = high > 15 ? high : pd_digit_of((uint8_t)text[2]);
        if (low > 15 || !(high | low))
            return false;
        *out++ = (char)(high << 4 | low);
        text += 2;
    }
    *out = '\0';
    return true;
}

/* ---- the command that gets profiles ------------------------------------------------------------ */

uint64_t pd_launch_timeout(uint64_t given_nanos, uint64_t interval_nanos)
{
    const uint64_t second = 1000000000, least = 5, most = 60;
    if (given_nanos)
        return (given_nanos + second - 1) / second;
    uint64_t seconds = interval_nanos / second;
    return seconds < least ? least : seconds > most ? most : seconds;
}

bool pd_launch_is_for_command(const char *variable)
{
    static const char record[] = PD_VARIABLE_PREFIX, preload[] = "LD_PRELOAD=";
    return strncmp(variable, record, sizeof record - 1) != 0 &&
           strncmp(variable, preload, sizeof preload - 1) != 0;
}

/* ---- the signal ------------------------------------------------------------------------------ */

bool pd_launch_may_ask(int number)
{
    static const int numbers[] = {SIGHUP,    SIGUSR1, SIGUSR2, SIGALRM,
                                  SIGVTALRM, SIGPROF, SIGIO,   SIGPWR};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return true;
    return number >= SIGRTMIN && number <= SIGRTMAX;
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
    PD_KEEP_ERRNO;
    int error = ENOENT;
    if (strchr(command, '/'))
        return copy_path(path, command) ? 0 : ENAMETOOLONG;
    for (const char *at = *command ? folders ? folders : "/bin:/usr/bin" : NULL; at;) {
        size_t len = strcspn(at, ":");
        int end = snprintf(path, PATH_MAX, "%.*s/%s", len ? (int)len : 1, len ? at : ".", command);
        int why = end < PATH_MAX ? why_no_program(path) : ENOENT;
        if (!why)
            return 0;
        error = why == EACCES ? EACCES : error;
        at = at[len] ? at + len + 1 : NULL;
    }
    return error;
}

/* ---- what an ELF file says in its dynamic section -------------------------------------------- */

typedef struct image {
    pd_elf elf;
    pd_elf_dynamic dynamic;
} image;

enum { NAME_LEN = 32 };

/* A | in the name is the NUL at an end of a string. */
static bool is_in(const char *part, size_t len, const char *name)
{
    char wanted[NAME_LEN];
    size_t size = 0;
    for (; name[size]; size++)
        wanted[size] = (char)(name[size] == '|' ? 0 : name[size]);
    return memmem(part, len, wanted, size);
}

/* Returns whether one of the names (NULL at the end, each shorter than NAME_LEN) is among the dynamic strings. Behind
 * the name of a library is a version; a symbol may be the end of a longer one. */
static bool has_string(image *i, const char *const *names)
{
    enum { PART_LEN = 2048 };
    const pd_elf_dynamic *d = &i->dynamic;
    char part[PART_LEN];
    for (uint64_t off = 0; off < d->names_len; off += PART_LEN - NAME_LEN) {
        uint64_t left = d->names_len - off;
        size_t len = pd_elf_read(&i->elf, d->tables.names + off, part,
                                 left < PART_LEN ? (size_t)left : PART_LEN);
        for (const char *const *name = names; *name; name++)
            if (is_in(part, len, *name))
                return true;
        if (len < PART_LEN)
            break;
    }
    return false;
}

/* ---- obstacles ------------------------------------------------------------------------------- */

/* The header of the file that holds this code: it is for the same machine as the agent. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static bool is_for_this_machine(const ElfW(Ehdr) * header)
{
    return header->e_ident[EI_CLASS] == __ehdr_start.e_ident[EI_CLASS] &&
           header->e_ident[EI_DATA] == __ehdr_start.e_ident[EI_DATA] &&
           header->e_machine == __ehdr_start.e_machine;
}

static const char *check_rights(int fd)
{
    struct stat status;
    if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return "has file capabilities";
    if (fstat(fd, &status))
        return NULL;
    return status.st_mode & S_ISUID ? "is setuid" : status.st_mode & S_ISGID ? "is setgid" : NULL;
}

/* What the path of the loader of a C library contains that does not take the agent. musl takes one that was
 * built with glibc: see object.h. */
#ifndef __GLIBC__
#define OTHER_LIBC "/ld-linux", "/ld64.so", "/ld.so"
#elif __SIZEOF_POINTER__ == 8
#define OTHER_LIBC "/ld-uClibc"
#else
#define OTHER_LIBC "/ld-uClibc", "/ld-musl-"
#endif
static const char *const other_loaders[] = {OTHER_LIBC, "/system/bin/linker", NULL};

static bool has_other_libc(image *i, const ElfW(Phdr) * loader)
{
    char path[FIRST_LINE_LEN];
    size_t cap = loader->p_filesz < sizeof path ? (size_t)loader->p_filesz : sizeof path;
    size_t len = pd_elf_read(&i->elf, loader->p_offset, path, cap);
    for (const char *const *other = other_loaders; *other; other++)
        if (memmem(path, len, *other, strlen(*other)))
            return true;
    return false;
}

static bool needs(image *i, const char *const *libraries)
{
    ElfW(Dyn) row;
    char library[NAME_LEN];
    for (size_t n = 0; pd_elf_row_at(&i->elf, &i->dynamic, n, &row); n++) {
        uint64_t name = row.d_un.d_val;
        size_t len = row.d_tag == DT_NEEDED && name < i->dynamic.names_len
                         ? pd_elf_read(&i->elf, i->dynamic.tables.names + name, library, NAME_LEN)
                         : 0;
        for (const char *const *l = libraries; *l; l++)
            if (len >= strlen(*l) && memcmp(library, *l, strlen(*l)) == 0)
                return true;
    }
    return false;
}

/* Compilers have a megabyte of names and start for each file: only without a table are all of them looked at. */
static bool defines(image *i, const char *const *names)
{
    ElfW(Sym) symbol;
    char name[NAME_LEN];
    if (!i->dynamic.tables.hash)
        return has_string(i, names);
    for (; *names; names++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*names, "|"), *names);
        if (pd_elf_find_symbol(&i->elf, &i->dynamic.tables, name, &symbol))
            return true;
    }
    return false;
}

/* A runtime is a library, or is linked in and exports its names, as clang does. */
static bool has_sanitizer(image *i)
{
    static const char *const libraries[] = {
        "libasan.so",   "libtsan.so",       "libmsan.so",       "liblsan.so",
        "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", NULL};
    static const char *const names[] = {"__asan_init|", "__hwasan_init|", "__msan_init|",
                                        "__tsan_init|", NULL};
    return needs(i, libraries) || defines(i, names);
}

/* The loader can be run as a program. It then runs the program that its arguments name, and
 * preloads. */
static const char *const own_names_of_loaders[] = {"|ld-linux", "|ld64.so", "|ld.so", NULL};

static const char *check_elf(int fd)
{
    image i;
    ElfW(Phdr) loader;
    if (!pd_elf_open(&i.elf, fd, 0))
        return "is cut off";
    const char *rights = check_rights(fd);
    if (rights)
        return rights;
    if (!is_for_this_machine(&i.elf.header))
        return "is for another machine than the agent";
    pd_elf_find_dynamic(&i.elf, &i.dynamic);
    if (!pd_elf_find_segment(&i.elf, PT_INTERP, &loader))
        return has_string(&i, own_names_of_loaders) ? NULL : "is linked statically";
    if (has_other_libc(&i, &loader))
        return "is for another C library than the agent";
    return has_sanitizer(&i) ? "is built with a sanitizer" : NULL;
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
static bool check_file(pd_launch_result *out)
{
    char head[FIRST_LINE_LEN];
    int fd;
    out->error = open_file(out->path, &fd);
    if (out->error) {
        /* A file that can be run and not be read is left to the agent that is loaded into it. */
        if (out->error == EACCES && !why_no_program(out->path))
            out->error = 0;
        out->obstacle = out->error ? "cannot be opened" : NULL;
        return false;
    }
    bool is_script = false;
    pd_elf whole = {.fd = fd};
    size_t len = pd_elf_read(&whole, 0, head, sizeof head);
    if (len >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        out->obstacle = check_elf(fd);
    else
        is_script = read_interpreter(head, len, out->path);
    close(fd);
    return is_script;
}

void pd_launch_check(const char *program, pd_launch_result *out)
{
    PD_KEEP_ERRNO;
    out->obstacle = NULL;
    out->error = 0;
    if (copy_path(out->path, program))
        for (int scripts = 0; scripts <= SCRIPTS_MAX && check_file(out); scripts++)
            continue;
}

/* ---- language runtimes ----------------------------------------------------------------------- */

/* Does a segment of notes begin with the one that Go's linker writes? */
static bool is_go(pd_elf *elf)
{
    enum { NOTES_LEN = 512, GO_BUILD_ID = 4 };
    static const struct {
        uint32_t type;
        char owner[4];
    } mark = {GO_BUILD_ID, "Go"};
    ElfW(Phdr) segment;
    char notes[NOTES_LEN];
    for (size_t i = 0; pd_elf_segment_at(elf, i, &segment); i++) {
        size_t len = segment.p_filesz < NOTES_LEN ? (size_t)segment.p_filesz : NOTES_LEN;
        if (segment.p_type == PT_NOTE &&
            memmem(notes, pd_elf_read(elf, segment.p_offset, notes, len), &mark, sizeof mark))
            return true;
    }
    return false;
}

/* What a program with one of these strings is. */
typedef struct hint {
    const char *names[5]; /* NULL at the end */
    const char *advice;
} hint;

static const hint runtimes[] = {
    {{"|libjvm.so", "|libjli.so", "JLI_Launch|", "JNI_CreateJavaVM|"},
     "Java: what the virtual machine and native libraries allocate is seen, and not Java "
     "objects; use jcmd PID GC.class_histogram or async-profiler -e alloc for these"},
    {{"|libnode.so", "_ZN4node5StartEiPPc|"},
     "Node.js: what C and C++ code and buffers allocate is seen, and not JavaScript objects; use "
     "node --heap-prof or @datadog/pprof for these"},
    {{"|libpypy"},
     "PyPy: what C code allocates is seen, and not Python objects and functions; use vmprof for "
     "these"},
    {.advice = ""},
};

#define OF_JEMALLOC                                                                                \
    "jemalloc's own profiler (prof:true), whose dumps pprofdelta leaks and pprofdelta PREV CUR "   \
    "read"

/* Allocators that a program calls by other names than malloc, by a name in its symbol table. */
static const hint allocators[] = {
    {{"_rjem_malloc|"},
     "the program has jemalloc for Rust (_rjem_malloc): what that allocates is not seen; use the "
     "Rust crate pprofdelta around it, or " OF_JEMALLOC},
    {{"je_malloc|"},
     "the program has jemalloc (je_malloc): what that allocates is not seen; use "
     "pprofdelta_alloc.hpp around it, or " OF_JEMALLOC},
    {{"mi_malloc|"},
     "the program has mimalloc (mi_malloc): what that allocates is not seen; use the Rust crate "
     "pprofdelta or pprofdelta_alloc.hpp around it"},
    {{"tc_malloc|"},
     "the program has tcmalloc (tc_malloc): what that allocates is not seen; use its own heap "
     "profiler, whose dumps pprofdelta leaks and pprofdelta PREV CUR read"},
    {.advice = ""},
};

/* The last one is for a program that has none of the strings. */
static const char *advice_of(image *i, const hint *hints)
{
    while (*hints->names && !has_string(i, hints->names))
        hints++;
    return hints->advice;
}

static const char *advice_by_symbols(image *i)
{
    ElfW(Shdr) symbols, strings;
    size_t s = 0;
    while (pd_elf_section_at(&i->elf, s++, &symbols))
        if (symbols.sh_type == SHT_SYMTAB &&
            pd_elf_section_at(&i->elf, symbols.sh_link, &strings)) {
            i->dynamic.tables.names = strings.sh_offset;
            i->dynamic.names_len = strings.sh_size;
            return advice_of(i, allocators);
        }
    return "";
}

static const char *advice_on(int fd)
{
    image i;
    if (!pd_elf_open(&i.elf, fd, 0))
        return "";
    if (is_go(&i.elf))
        return "Go: only what C code allocates is seen, and not Go's own heap; use the heap "
               "profile of net/http/pprof and pprofdelta PREV CUR for that";
    pd_elf_find_dynamic(&i.elf, &i.dynamic);
    const char *advice = advice_of(&i, runtimes);
    return *advice ? advice : advice_by_symbols(&i);
}

const char *pd_launch_advice(const char *path)
{
    PD_KEEP_ERRNO;
    int fd;
    if (open_file(path, &fd))
        return "";
    const char *advice = advice_on(fd);
    close(fd);
    return advice;
}

/* ---- the name of the program ----------------------------------------------------------------- */

static char name[PD_PROGRAM_MAX + 1] = "unknown";

/* A name that begins with a period or a hyphen would be a hidden file or look like an option. */
void pd_program_copy(char out[PD_PROGRAM_MAX + 1], const char *from)
{
    static const char plain[] = ".-" /* not in front */
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+";
    size_t len = strnlen(from, PD_PROGRAM_MAX);
    for (size_t i = 0; i < len; i++)
        out[i] = strchr(plain + (i ? 0 : 2), from[i]) ? from[i] : '_';
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
