/* Can the heap agent get into this program? See target.h. */
#include "target.h"

#include "cli.h"
#include "message.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SCRIPTS_MAX = 5 }; /* scripts whose interpreter is a script: more than the kernel follows */

/* ---- finding it ------------------------------------------------------------------------------ */

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* "name" in the folders of PATH; "./name" is what it says. */
static bool find_program(const char *command, char path[PATH_MAX])
{
    if (strchr(command, '/')) {
        size_t len = strlen(command) + 1;
        return len <= PATH_MAX && memcpy(path, command, len) != NULL;
    }
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at;) {
        size_t len = strcspn(at, ":"), name_len = strlen(command) + 1;
        if (len + 2 + name_len <= PATH_MAX) {
            memcpy(path, len ? at : ".", len ? len : 1);
            size_t end = len ? len : 1;
            path[end++] = '/';
            memcpy(path + end, command, name_len);
            if (is_program(path))
                return true;
        }
        at = at[len] ? at + len + 1 : NULL;
    }
    return false;
}

/* ---- looking at it --------------------------------------------------------------------------- */

typedef struct image {
    const uint8_t *bytes;
    size_t len;
    struct stat status;
} image;

/* A pipe is not waited for: like a folder or a device it is no program, as exec says, too. */
static int map_image(const char *path, image *out)
{
    *out = (image){.bytes = NULL};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno;
    int error = fstat(fd, &out->status) ? errno : S_ISREG(out->status.st_mode) ? 0 : EACCES;
    if (!error && (uint64_t)out->status.st_size > PTRDIFF_MAX)
        error = EFBIG; /* addresses may be narrower than off_t */
    out->len = error ? 0 : (size_t)out->status.st_size;
    if (out->len) {
        void *bytes = mmap(NULL, out->len, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            error = errno;
        else
            out->bytes = bytes;
    }
    close(fd);
    return error;
}

static void unmap_image(image *i)
{
    if (i->bytes)
        munmap((void *)i->bytes, i->len);
}

/* len bytes at an offset of the file, or NULL where it ends before. */
static const void *at(const image *i, uint64_t off, uint64_t len)
{
    return i->bytes && off <= i->len && len <= i->len - off ? i->bytes + off : NULL;
}

/* The rest works on files of this machine's own class alone. */
#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr file_header;
typedef Elf64_Phdr segment;
typedef Elf64_Dyn dynamic;
enum { OUR_CLASS = ELFCLASS64 };
#else
typedef Elf32_Ehdr file_header;
typedef Elf32_Phdr segment;
typedef Elf32_Dyn dynamic;
enum { OUR_CLASS = ELFCLASS32 };
#endif

static bool has_magic(const image *i)
{
    return i->bytes && i->len >= SELFMAG && memcmp(i->bytes, ELFMAG, SELFMAG) == 0;
}

static bool find_segment(const image *i, uint32_t type, segment *out)
{
    file_header header;
    if (!at(i, 0, sizeof header))
        return false;
    memcpy(&header, i->bytes, sizeof header);
    for (size_t n = 0; n < header.e_phnum; n++) {
        const void *bytes = at(i, header.e_phoff + n * header.e_phentsize, sizeof *out);
        if (!bytes)
            return false;
        memcpy(out, bytes, sizeof *out);
        if (out->p_type == type)
            return true;
    }
    return false;
}

/* From an address in memory to the place in the file. */
static uint64_t file_offset(const image *i, uint64_t address)
{
    file_header header = {.e_phnum = 0};
    segment load;
    if (at(i, 0, sizeof header))
        memcpy(&header, i->bytes, sizeof header);
    for (size_t n = 0; n < header.e_phnum; n++) {
        const void *bytes = at(i, header.e_phoff + n * header.e_phentsize, sizeof load);
        if (!bytes)
            break;
        memcpy(&load, bytes, sizeof load);
        if (load.p_type == PT_LOAD && address - load.p_vaddr < load.p_filesz)
            return load.p_offset + (address - load.p_vaddr);
    }
    return UINT64_MAX;
}

/* A sanitizer's runtime that was linked in, as clang does: what it exports is among the names. */
static const char *runtime_within(const uint8_t *names, size_t len)
{
    static const char *const entries[] = {"__asan_init", "__hwasan_init", "__msan_init",
                                          "__tsan_init", NULL};
    for (const char *const *entry = entries; *entry; entry++)
        if (memmem(names, len, *entry, strlen(*entry) + 1))
            return *entry;
    return NULL;
}

/* What a file says of the libraries that it needs. */
typedef struct needs {
    const uint8_t *rows;  /* of type dynamic, in the file */
    size_t rows_len;      /* 0: it needs none */
    uint64_t strings;     /* where their names are in the file */
    const uint8_t *names; /* all of these, or NULL */
    size_t names_len;
} needs;

static needs needs_of(const image *i)
{
    needs n = {.rows = NULL};
    segment table;
    dynamic row;
    if (!find_segment(i, PT_DYNAMIC, &table) || !at(i, table.p_offset, table.p_filesz))
        return n;
    n.rows = i->bytes + table.p_offset;
    n.strings = UINT64_MAX;
    size_t len = table.p_filesz / sizeof(dynamic);
    for (size_t r = 0; r < len; r++) {
        memcpy(&row, n.rows + r * sizeof row, sizeof row);
        if (row.d_tag == DT_STRTAB)
            n.strings = file_offset(i, row.d_un.d_ptr);
        if (row.d_tag == DT_STRSZ)
            n.names_len = (size_t)row.d_un.d_val;
    }
    n.names = n.strings == UINT64_MAX ? NULL : at(i, n.strings, n.names_len);
    n.rows_len = n.strings == UINT64_MAX ? 0 : len;
    return n;
}

/* Does it need a library whose name begins so? */
static bool is_needed(const image *i, const needs *n, const char *name)
{
    dynamic row;
    size_t len = strlen(name);
    for (size_t r = 0; r < n->rows_len; r++) {
        memcpy(&row, n->rows + r * sizeof row, sizeof row);
        const void *text = row.d_tag == DT_NEEDED ? at(i, n->strings + row.d_un.d_val, len) : NULL;
        if (text && memcmp(text, name, len) == 0)
            return true;
    }
    return false;
}

/* The sanitizers stand before malloc themselves and insist on being first. */
static const char *sanitizer_in(const image *i)
{
    static const char *const runtimes[] = {
        "libasan.so",   "libtsan.so",       "libmsan.so",       "liblsan.so",
        "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", NULL};
    needs n = needs_of(i);
    for (const char *const *name = runtimes; *name; name++)
        if (is_needed(i, &n, *name))
            return *name;
    return n.names ? runtime_within(n.names, n.names_len) : NULL;
}

/* musl's loader finds no glibc, nor the other way round, and ends the program over it. */
static bool has_other_libc(const image *i, const segment *loader, const image *agent)
{
    static const char musl[] = "/ld-musl-";
    needs n = needs_of(agent);
    const uint8_t *path = at(i, loader->p_offset, loader->p_filesz);
    bool is_musl = path && memmem(path, loader->p_filesz, musl, sizeof musl - 1);
    return path && is_musl == is_needed(agent, &n, "libc.so.6");
}

static int refuse(const char *path, const char *why)
{
    cli_error("%s: %s", path, why);
    return CLI_FAILED;
}

static int check_rights(const char *path, const image *i)
{
    bool has_capabilities = getxattr(path, "security.capability", NULL, 0) > 0;
    if (!(i->status.st_mode & (S_ISUID | S_ISGID)) && !has_capabilities)
        return CLI_DONE;
    const char *what = has_capabilities              ? "has file capabilities"
                       : i->status.st_mode & S_ISUID ? "is setuid"
                                                     : "is setgid";
    cli_error("%s: %s: the loader preloads nothing into it, so it cannot be recorded", path, what);
    cli_hint("record a copy without that right, or what it runs, from inside");
    return CLI_FAILED;
}

static int check_elf(const char *path, const image *i, const image *agent)
{
    segment found;
    file_header ours, theirs;
    if (!at(i, 0, sizeof theirs) || !at(agent, 0, sizeof ours))
        return refuse(path, "this executable is cut off");
    memcpy(&ours, agent->bytes, sizeof ours);
    memcpy(&theirs, i->bytes, sizeof theirs);
    if (theirs.e_ident[EI_CLASS] != OUR_CLASS || theirs.e_machine != ours.e_machine)
        return refuse(path, "is for another machine than the agent, and cannot be recorded");
    if (!find_segment(i, PT_INTERP, &found))
        return refuse(path, "is linked statically: there is no loader that could preload the "
                            "agent, so it cannot be recorded");
    if (has_other_libc(i, &found, agent))
        return refuse(path, "is for another C library than the agent, and cannot be recorded");
    const char *sanitizer = sanitizer_in(i);
    if (sanitizer) {
        cli_error("%s: is built with a sanitizer (%s), which must come first and counts "
                  "allocations itself: it cannot be recorded",
                  path, sanitizer);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

/* "#!/bin/sh -e" -> "/bin/sh" */
static bool read_interpreter(const image *i, char path[PATH_MAX])
{
    size_t begin = 2, end;
    while (begin < i->len && (i->bytes[begin] == ' ' || i->bytes[begin] == '\t'))
        begin++;
    for (end = begin; end < i->len && !strchr(" \t\r\n", i->bytes[end]); end++)
        continue;
    if (end == begin || end - begin >= PATH_MAX)
        return false;
    memcpy(path, i->bytes + begin, end - begin);
    path[end - begin] = '\0';
    return true;
}

/* What cannot be read may still be run, and is then left to the agent's own judgement. */
static int check_file(const char *path, const image *agent, unsigned scripts)
{
    image i;
    int error = map_image(path, &i);
    if (error == EACCES && is_program(path))
        return CLI_DONE;
    if (error)
        return cli_system_error(path, "run", error);
    int code = check_rights(path, &i);
    char interpreter[PATH_MAX];
    if (code)
        unmap_image(&i);
    else if (has_magic(&i)) {
        code = check_elf(path, &i, agent);
        unmap_image(&i);
    } else {
        bool is_script = i.bytes && i.len > 2 && memcmp(i.bytes, "#!", 2) == 0;
        bool leads_on = is_script && read_interpreter(&i, interpreter);
        unmap_image(&i);
        if (leads_on && scripts < SCRIPTS_MAX)
            code = check_file(interpreter, agent, scripts + 1);
    }
    return code;
}

int cli_target_check(const char *command, const char *agent)
{
    char path[PATH_MAX];
    if (!*command || !find_program(command, path))
        return cli_system_error(command, "run", ENOENT);
    image own;
    int error = map_image(agent, &own);
    if (error)
        return cli_system_error(agent, "read", error);
    int code = has_magic(&own) ? check_file(path, &own, 0)
                               : refuse(agent, "is no shared object, and so not the heap agent");
    unmap_image(&own);
    return code;
}
