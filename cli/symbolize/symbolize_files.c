/* Finds ELF files and debug files: see symbolize_files.h. Runs in the child process. */
#include "symbolize/symbolize_files.h"

#include "regular.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

static const char system_debug[] = "/usr/lib/debug";

/* ---- one file -------------------------------------------------------------------------------- */

static void file_close(cli_elf_file *file)
{
    if (file->elf)
        elf_end(file->elf);
    if (file->fd >= 0)
        close(file->fd);
    *file = (cli_elf_file){.fd = -1};
}

/* Opens a regular file that is an ELF file of any class. */
static bool file_open(cli_elf_file *file, const char *path, cli_elf_files *files)
{
    *file = (cli_elf_file){.fd = cli_regular_open(AT_FDCWD, path, O_RDONLY, NULL)};
    if (file->fd < 0)
        return false;
    file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
    if (!file->elf || elf_kind(file->elf) != ELF_K_ELF) {
        file_close(file);
        files->was_unreadable = true;
        return false;
    }
    snprintf(file->path, sizeof file->path, "%s", path);
    return true;
}

/* Writes the build id as hexadecimal digits; nothing if there is none. */
static void write_id(Elf *elf, char *to, size_t room)
{
    const void *bits;
    ssize_t len = dwelf_elf_gnu_build_id(elf, &bits);
    *to = '\0';
    for (ssize_t i = 0; i < len && (size_t)i * 2 + 3 <= room; i++)
        snprintf(to + 2 * i, room - (size_t)i * 2, "%02x", ((const unsigned char *)bits)[i]);
}

bool cli_elf_has_section(Elf *elf, const char *name)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return false;
    while ((section = elf_nextscn(elf, section))) {
        const char *own =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (own && !strcmp(own, name))
            return header.sh_type != SHT_NOBITS && header.sh_size;
    }
    return false;
}

static bool has_dwarf(Elf *elf)
{
    return cli_elf_has_section(elf, ".debug_info") || cli_elf_has_section(elf, ".zdebug_info");
}

/* Has it code, or only what describes the code of another file? */
static bool has_code(Elf *elf)
{
    return cli_elf_has_section(elf, ".text");
}

/* ---- the search ------------------------------------------------------------------------------ */

typedef struct search {
    const cli_module_request *request;
    cli_elf_files *files;
} search;

static bool is_complete(const search *s)
{
    return s->files->binary.elf && (s->files->is_debug_binary || s->files->debug.elf);
}

/* Keeps the file for what it has and is missing so far; closes it otherwise. */
static void keep(const search *s, cli_elf_file *file)
{
    cli_elf_files *files = s->files;
    bool is_code = has_code(file->elf), is_dwarf = has_dwarf(file->elf);
    if (is_code && !files->binary.elf) {
        files->binary = *file;
        files->is_debug_binary = is_dwarf;
    } else if (!files->debug.elf && !files->is_debug_binary &&
               (is_dwarf || cli_elf_has_section(file->elf, ".symtab"))) {
        files->debug = *file;
    } else {
        file_close(file);
    }
}

/* Takes the file if its build id is the wanted one. has_proof: a mapping without a build id takes
 * it, too. */
static void consider(const search *s, const char *path, bool has_proof)
{
    cli_elf_file file;
    char id[sizeof s->files->other_id];
    if (is_complete(s) || !file_open(&file, path, s->files))
        return;
    const char *wanted = s->request->build_id;
    write_id(file.elf, id, sizeof id);
    if (*wanted ? !strcmp(id, wanted) : has_proof && !s->request->places->needs_build_id) {
        keep(s, &file);
        return;
    }
    if (*wanted && !strcmp(path, s->request->path)) {
        s->files->was_other = true;
        memcpy(s->files->other_id, id, sizeof id);
    }
    file_close(&file);
}

__attribute__((format(printf, 3, 4))) static void consider_at(const search *s, bool has_proof,
                                                              const char *format, ...)
{
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    if (len > 0 && (size_t)len < sizeof path)
        consider(s, path, has_proof);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void consider_by_id(const search *s, const char *dir)
{
    const char *id = s->request->build_id;
    if (strlen(id) < 3)
        return;
    consider_at(s, false, "%s/.build-id/%.2s/%s.debug", dir, id, id + 2);
    consider_at(s, false, "%s/.build-id/%.2s/%s", dir, id, id + 2);
}

/* The name of a file in the directories of the user. The mapping's path may have "..", which must
 * not lead out of the directory. */
static void consider_by_name(const search *s, const char *dir)
{
    const char *path = s->request->path, *name = last_part(path);
    if (!*name)
        return;
    if (*path == '/' && !strstr(path, "/../")) {
        consider_at(s, false, "%s%s.debug", dir, path);
        consider_at(s, true, "%s%s", dir, path);
    }
    consider_at(s, false, "%s/%s.debug", dir, name);
    consider_at(s, true, "%s/%s", dir, name);
}

/* ---- .gnu_debuglink -------------------------------------------------------------------------- */

/* The checksum of gzip, as .gnu_debuglink has it. */
static uint32_t checksum(int fd)
{
    unsigned char bytes[1 << 14];
    uLong crc = crc32(0, NULL, 0);
    off_t at = 0;
    for (ssize_t len; (len = pread(fd, bytes, sizeof bytes, at)) > 0; at += len)
        crc = crc32(crc, bytes, (uInt)len);
    return (uint32_t)crc;
}

/* A debug file that the binary names: checked by build ids if both have one, else by checksum. */
static void consider_link(const search *s, const char *dir, const char *between, const char *link,
                          uint32_t crc)
{
    char path[PATH_MAX], id[2 * 64 + 1], own[2 * 64 + 1];
    cli_elf_file file;
    int len = snprintf(path, sizeof path, "%s%s/%s", dir, between, link);
    if (is_complete(s) || len < 0 || (size_t)len >= sizeof path ||
        !file_open(&file, path, s->files))
        return;
    write_id(file.elf, id, sizeof id);
    write_id(s->files->binary.elf, own, sizeof own);
    if (*id && *own ? !strcmp(id, own) : checksum(file.fd) == crc)
        keep(s, &file);
    else
        file_close(&file);
}

static void consider_links(const search *s)
{
    const cli_debug_places *places = s->request->places;
    char own[PATH_MAX];
    GElf_Word crc;
    const char *link =
        s->files->binary.elf ? dwelf_elf_gnu_debuglink(s->files->binary.elf, &crc) : NULL;
    if (!link || !*link || strchr(link, '/'))
        return;
    snprintf(own, sizeof own, "%s", s->files->binary.path);
    char *slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    else
        snprintf(own, sizeof own, ".");
    consider_link(s, own, "", link, crc);
    consider_link(s, own, "/.debug", link, crc);
    for (size_t i = 0; i < places->dirs_len; i++) {
        consider_link(s, places->dirs[i], own, link, crc);
        consider_link(s, places->dirs[i], "", link, crc);
    }
    consider_link(s, system_debug, own, link, crc);
}

/* ---- debuginfod ------------------------------------------------------------------------------ */

/* Runs debuginfod-find, elfutils' client, which prints the path of a file in its cache. */
static void ask_servers(const search *s, const char *kind)
{
    char path[PATH_MAX];
    int ends[2];
    size_t len = 0;
    if (is_complete(s) || !*s->request->build_id || pipe2(ends, O_CLOEXEC))
        return;
    pid_t child = fork();
    if (!child) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(null, STDERR_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        execlp("debuginfod-find", "debuginfod-find", kind, s->request->build_id, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    for (ssize_t got;
         len < sizeof path - 1 && (got = read(ends[0], path + len, sizeof path - 1 - len)) > 0;)
        len += (size_t)got;
    close(ends[0]);
    path[len] = '\0';
    path[strcspn(path, "\n")] = '\0';
    if (child > 0)
        waitpid(child, NULL, 0);
    if (*path == '/')
        consider(s, path, false);
}

static bool is_hexadecimal(const char *id)
{
    return *id && !id[strspn(id, "0123456789abcdef")];
}

void cli_elf_files_find(const cli_module_request *request, cli_elf_files *files)
{
    const cli_debug_places *places = request->places;
    search s = {request, files};
    *files = (cli_elf_files){.binary.fd = -1, .debug.fd = -1};
    bool has_id = is_hexadecimal(request->build_id);
    for (size_t i = 0; i < places->dirs_len; i++) {
        if (has_id)
            consider_by_id(&s, places->dirs[i]);
        consider_by_name(&s, places->dirs[i]);
    }
    if (*request->path == '/')
        consider(&s, request->path, true);
    if (has_id)
        consider_by_id(&s, system_debug);
    consider_links(&s);
    if (has_id && places->asks_servers) {
        ask_servers(&s, "debuginfo");
        if (!files->binary.elf)
            ask_servers(&s, "executable");
    }
}
