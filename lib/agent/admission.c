/* Can the agent get into a program: see admission.h. */
#include "agent/admission.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SCRIPTS_MAX = 5,     /* scripts whose interpreter is a script: more than the kernel follows */
    FIRST_LINE_LEN = 256 /* so much of a script's first line the kernel reads */
};

static bool copy_path(char path[PATH_MAX], const char *from)
{
    size_t len = strlen(from) + 1;
    return len <= PATH_MAX && memcpy(path, from, len) != NULL;
}

/* ---- finding it ------------------------------------------------------------------------------ */

/* 0, or why not, as an errno value. */
static int why_no_program(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return errno;
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : EACCES;
}

int pd_admission_find(const char *command, const char *folders, char path[PATH_MAX])
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

/* ---- reading it ------------------------------------------------------------------------------ */

/* The rest works on files of this machine's own class alone. */
#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr file_header;
typedef Elf64_Phdr segment;
typedef Elf64_Dyn dynamic;
#else
typedef Elf32_Ehdr file_header;
typedef Elf32_Phdr segment;
typedef Elf32_Dyn dynamic;
#endif

typedef struct image {
    int fd;
    file_header header;
    uint64_t names, names_len; /* its string table in the file */
    segment rows;              /* the rows of type dynamic; p_filesz 0: there are none */
} image;

/* Up to len bytes at an offset of the file: how many there are. */
static size_t read_some(int fd, void *out, size_t len, uint64_t off)
{
    size_t done = 0;
    while (done < len && off <= INT64_MAX - len) {
        ssize_t got = pread(fd, (char *)out + done, len - done, (off_t)(off + done));
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    return done;
}

static bool read_all(int fd, void *out, size_t len, uint64_t off)
{
    return read_some(fd, out, len, off) == len;
}

static bool find_segment(const image *i, uint32_t type, segment *out)
{
    for (size_t n = 0; n < i->header.e_phnum; n++) {
        uint64_t off = (uint64_t)i->header.e_phoff + n * (uint64_t)i->header.e_phentsize;
        if (!read_all(i->fd, out, sizeof *out, off))
            return false;
        if (out->p_type == type)
            return true;
    }
    return false;
}

/* From an address in memory to the place in the file. */
static uint64_t file_offset(const image *i, uint64_t address)
{
    segment load;
    for (size_t n = 0; n < i->header.e_phnum; n++) {
        uint64_t off = (uint64_t)i->header.e_phoff + n * (uint64_t)i->header.e_phentsize;
        if (!read_all(i->fd, &load, sizeof load, off))
            break;
        if (load.p_type == PT_LOAD && address - load.p_vaddr < load.p_filesz)
            return load.p_offset + (address - load.p_vaddr);
    }
    return UINT64_MAX;
}

/* The r-th row. False: there are no more. */
static bool read_row(const image *i, size_t r, dynamic *row)
{
    uint64_t off = (uint64_t)r * sizeof *row;
    return off + sizeof *row <= i->rows.p_filesz &&
           read_all(i->fd, row, sizeof *row, i->rows.p_offset + off) && row->d_tag != DT_NULL;
}

/* Notes where the rows and the names are. */
static void find_rows(image *i)
{
    dynamic row;
    i->names = UINT64_MAX;
    i->names_len = 0;
    if (!find_segment(i, PT_DYNAMIC, &i->rows))
        i->rows.p_filesz = 0;
    for (size_t r = 0; read_row(i, r, &row); r++) {
        if (row.d_tag == DT_STRTAB)
            i->names = file_offset(i, row.d_un.d_ptr);
        if (row.d_tag == DT_STRSZ)
            i->names_len = row.d_un.d_val;
    }
    if (i->names == UINT64_MAX)
        i->names_len = 0;
}

/* Which of the beginnings (which NULL ends) has a library that a row of this kind names? */
static const char *named(const image *i, int64_t tag, const char *const *beginnings)
{
    enum { NAME_LEN = 32 };
    dynamic row;
    for (size_t r = 0; read_row(i, r, &row); r++) {
        char name[NAME_LEN];
        if ((int64_t)row.d_tag != tag || row.d_un.d_val >= i->names_len)
            continue;
        size_t len = read_some(i->fd, name, sizeof name, i->names + row.d_un.d_val);
        for (const char *const *beginning = beginnings; *beginning; beginning++) {
            size_t begin_len = strlen(*beginning);
            if (begin_len <= len && memcmp(name, *beginning, begin_len) == 0)
                return *beginning;
        }
    }
    return NULL;
}

static bool needs_glibc(const image *i)
{
    static const char *const libraries[] = {"libc.so.6", NULL};
    return named(i, DT_NEEDED, libraries) != NULL;
}

/* ---- what stands in the way ------------------------------------------------------------------ */

static pd_obstacle check_rights(int fd)
{
    struct stat status;
    if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return PD_CAPABILITIES;
    if (fstat(fd, &status))
        return PD_ADMITTED;
    return status.st_mode & S_ISUID   ? PD_SETUID
           : status.st_mode & S_ISGID ? PD_SETGID
                                      : PD_ADMITTED;
}

/* The loader as a program: it runs the one that its arguments name, and preloads. */
static bool is_loader(const image *i)
{
    static const char *const loaders[] = {"ld-linux", "ld64.so", "ld.so", NULL};
    return named(i, DT_SONAME, loaders) != NULL;
}

/* Is the loader that this segment names one of another C library than the agent's? */
static bool has_other_libc(const image *i, const segment *loader, const pd_admission_agent *agent)
{
    static const char *const others[] = {"/ld-musl-", "/ld-uClibc", "/system/bin/linker", NULL};
    char path[FIRST_LINE_LEN];
    size_t room = loader->p_filesz < sizeof path ? (size_t)loader->p_filesz : sizeof path;
    size_t len = read_some(i->fd, path, room, loader->p_offset);
    if (!len)
        return false;
    if (!agent->is_for_glibc)
        return !memmem(path, len, others[0], strlen(others[0]));
    for (const char *const *other = others; *other; other++)
        if (memmem(path, len, *other, strlen(*other)))
            return true;
    return false;
}

/* A sanitizer's runtime that was linked in, as clang does: what it exports is among the names. */
static const char *runtime_within(const image *i)
{
    static const char *const entries[] = {"__asan_init", "__hwasan_init", "__msan_init",
                                          "__tsan_init", NULL};
    enum { PART_LEN = 2048, LONGEST = 16 };
    char part[PART_LEN];
    for (uint64_t off = 0; off < i->names_len; off += PART_LEN - LONGEST) {
        uint64_t left = i->names_len - off;
        size_t len =
            read_some(i->fd, part, left < PART_LEN ? (size_t)left : PART_LEN, i->names + off);
        for (const char *const *entry = entries; *entry; entry++)
            if (memmem(part, len, *entry, strlen(*entry) + 1))
                return *entry;
        if (len < PART_LEN)
            break;
    }
    return NULL;
}

/* The sanitizers stand before malloc themselves and insist on being first. */
static const char *sanitizer_in(const image *i)
{
    static const char *const runtimes[] = {
        "libasan.so",   "libtsan.so",       "libmsan.so",       "liblsan.so",
        "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", NULL};
    const char *library = named(i, DT_NEEDED, runtimes);
    return library ? library : runtime_within(i);
}

static pd_obstacle check_elf(image *i, const pd_admission_agent *agent, const char **sanitizer)
{
    segment loader;
    if (!read_all(i->fd, &i->header, sizeof i->header, 0))
        return PD_CUT_OFF;
    pd_obstacle rights = check_rights(i->fd);
    if (rights)
        return rights;
    if (i->header.e_ident[EI_CLASS] != agent->elf_class ||
        i->header.e_ident[EI_DATA] != agent->byte_order || i->header.e_machine != agent->machine)
        return PD_OTHER_MACHINE;
    find_rows(i);
    if (!find_segment(i, PT_INTERP, &loader))
        return is_loader(i) ? PD_ADMITTED : PD_STATIC;
    if (has_other_libc(i, &loader, agent))
        return PD_OTHER_LIBC;
    *sanitizer = sanitizer_in(i);
    return *sanitizer ? PD_SANITIZED : PD_ADMITTED;
}

/* ---- scripts --------------------------------------------------------------------------------- */

/* "#!/bin/sh -e" -> "/bin/sh". What is neither a script nor ELF is run by the shell, if at all. */
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

/* A pipe is not waited for: like a folder or a device it is no program, as exec says, too. */
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

/* Looks at one file. True: it is a script, and out->path is its interpreter now. */
static bool look_at_file(const pd_admission_agent *agent, pd_admission *out)
{
    char head[FIRST_LINE_LEN];
    image i = {.names_len = 0};
    out->error = open_file(out->path, &i.fd);
    if (out->error) {
        /* What cannot be read may still be run, and is then left to the agent's own judgement. */
        bool may_run = out->error == EACCES && !why_no_program(out->path);
        out->obstacle = may_run ? PD_ADMITTED : PD_NOT_OPENED;
        return false;
    }
    bool leads_on = false;
    size_t len = read_some(i.fd, head, sizeof head, 0);
    if (len >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        out->obstacle = check_elf(&i, agent, &out->sanitizer);
    else
        leads_on = read_interpreter(head, len, out->path);
    close(i.fd);
    return leads_on;
}

void pd_admission_look(const char *program, const pd_admission_agent *agent, pd_admission *out)
{
    int kept = errno;
    out->obstacle = PD_ADMITTED;
    out->sanitizer = NULL;
    out->error = 0;
    if (copy_path(out->path, program))
        for (int scripts = 0; scripts <= SCRIPTS_MAX && look_at_file(agent, out); scripts++)
            continue;
    errno = kept;
}

int pd_admission_agent_read(const char *path, pd_admission_agent *out)
{
    image i = {.names_len = 0};
    int kept = errno, error = open_file(path, &i.fd);
    if (error) {
        errno = kept;
        return error;
    }
    bool is_elf = read_all(i.fd, &i.header, sizeof i.header, 0) &&
                  memcmp(i.header.e_ident, ELFMAG, SELFMAG) == 0;
    if (is_elf) {
        find_rows(&i);
        *out = (pd_admission_agent){.elf_class = i.header.e_ident[EI_CLASS],
                                    .byte_order = i.header.e_ident[EI_DATA],
                                    .machine = i.header.e_machine,
                                    .is_for_glibc = needs_glibc(&i)};
    }
    close(i.fd);
    errno = kept;
    return is_elf ? 0 : ENOEXEC;
}
