/* Finds ELF files and debug files: see symbolize_files.h. Runs in the child process. */
#include "symbolize/symbolize_files.h"

#include "input.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
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

static bool has_section(Elf *elf, const char *name)
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

/* ---- the search ------------------------------------------------------------------------------ */

typedef struct search {
    const cli_module_request *request;
    cli_elf_files *files;
    GElf_Word crc; /* of the debug file that the binary names */
} search;

static bool is_complete(const search *s)
{
    return s->files->binary.elf && (s->files->is_debug_binary || s->files->debug.elf);
}

/* Keeps the file for what it has and is missing so far; closes it otherwise. */
static void keep(const search *s, cli_elf_file *file)
{
    cli_elf_files *files = s->files;
    /* A debug file only describes the code of another file. */
    bool is_code = has_section(file->elf, ".text");
    bool is_dwarf = has_section(file->elf, ".debug_info") || has_section(file->elf, ".zdebug_info");
    if (is_code && !files->binary.elf) {
        files->binary = *file;
        files->is_debug_binary = is_dwarf;
    } else if (!files->debug.elf && !files->is_debug_binary &&
               (is_dwarf || has_section(file->elf, ".symtab"))) {
        files->debug = *file;
    } else {
        file_close(file);
    }
}

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

/* What shows that a file is the wanted one, besides its build id. */
typedef enum proof {
    NO_PROOF,
    PLACE, /* for a mapping without a build id */
    LINK   /* a debug file that the binary names, if one of the two has no build id: the checksum */
} proof;

static bool is_wanted(const search *s, const cli_elf_file *file, const char *id, proof has)
{
    char own[CLI_BUILD_ID_ROOM] = "";
    const char *wanted = s->request->build_id;
    if (has == LINK) {
        write_id(s->files->binary.elf, own, sizeof own);
        return *id && *own ? !strcmp(id, own) : checksum(file->fd) == s->crc;
    }
    return *wanted ? !strcmp(id, wanted) : has == PLACE && !s->request->places->needs_build_id;
}

__attribute__((format(printf, 3, 4))) static void consider(const search *s, proof has,
                                                           const char *format, ...)
{
    char path[PATH_MAX], id[CLI_BUILD_ID_ROOM];
    cli_elf_file file;
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    if (len <= 0 || (size_t)len >= sizeof path || is_complete(s) ||
        !file_open(&file, path, s->files))
        return;
    write_id(file.elf, id, sizeof id);
    if (is_wanted(s, &file, id, has)) {
        keep(s, &file);
        return;
    }
    if (*s->request->build_id && !strcmp(path, s->request->path))
        s->files->was_other = true;
    file_close(&file);
}

static void consider_by_id(const search *s, const char *dir)
{
    const char *id = s->request->build_id;
    if (strlen(id) < 3)
        return;
    consider(s, NO_PROOF, "%s/.build-id/%.2s/%s.debug", dir, id, id + 2);
    consider(s, NO_PROOF, "%s/.build-id/%.2s/%s", dir, id, id + 2);
}

/* The name of a file in the directories of the user. The mapping's path may have "..", which must
 * not lead out of the directory. */
static void consider_by_name(const search *s, const char *dir)
{
    const char *path = s->request->path, *name = cli_string_base(cli_string_of(path)).ptr;
    if (!*name)
        return;
    if (*path == '/' && !strstr(path, "/../")) {
        consider(s, NO_PROOF, "%s%s.debug", dir, path);
        consider(s, PLACE, "%s%s", dir, path);
    }
    consider(s, NO_PROOF, "%s/%s.debug", dir, name);
    consider(s, PLACE, "%s/%s", dir, name);
}

/* .gnu_debuglink */
static void consider_links(search *s)
{
    const cli_debug_places *places = s->request->places;
    char own[PATH_MAX];
    const char *link =
        s->files->binary.elf ? dwelf_elf_gnu_debuglink(s->files->binary.elf, &s->crc) : NULL;
    if (!link || !*link || strchr(link, '/'))
        return;
    const char *path = s->files->binary.path, *slash = strrchr(path, '/');
    snprintf(own, sizeof own, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    consider(s, LINK, "%s/%s", own, link);
    consider(s, LINK, "%s/.debug/%s", own, link);
    for (size_t i = 0; i < places->dirs_len; i++) {
        consider(s, LINK, "%s%s/%s", places->dirs[i], own, link);
        consider(s, LINK, "%s/%s", places->dirs[i], link);
    }
    consider(s, LINK, "%s%s/%s", system_debug, own, link);
}

/* Runs debuginfod-find, elfutils' client, which prints the path of a file in its cache. The build id
 * has only hexadecimal digits. */
static void ask_servers(const search *s, const char *kind)
{
    char command[256], path[PATH_MAX] = "";
    int len = snprintf(command, sizeof command, "debuginfod-find %s %s 2>/dev/null </dev/null",
                       kind, s->request->build_id);
    if (is_complete(s) || (size_t)len >= sizeof command)
        return;
    FILE *answer = popen(command, "re"); // NOLINT(cert-env33-c): there is no word of a stranger
    if (!answer)
        return;
    bool has_path = fgets(path, sizeof path, answer) && *path == '/';
    pclose(answer);
    path[strcspn(path, "\n")] = '\0';
    if (has_path)
        consider(s, NO_PROOF, "%s", path);
}

static bool is_hexadecimal(const char *id)
{
    return *id && !id[strspn(id, "0123456789abcdef")];
}

void cli_elf_files_find(const cli_module_request *request, cli_elf_files *files)
{
    const cli_debug_places *places = request->places;
    search s = {.request = request, .files = files};
    *files = (cli_elf_files){.binary.fd = -1, .debug.fd = -1};
    bool has_id = is_hexadecimal(request->build_id);
    for (size_t i = 0; i < places->dirs_len; i++) {
        if (has_id)
            consider_by_id(&s, places->dirs[i]);
        consider_by_name(&s, places->dirs[i]);
    }
    if (*request->path == '/')
        consider(&s, PLACE, "%s", request->path);
    if (has_id)
        consider_by_id(&s, system_debug);
    consider_links(&s);
    if (has_id && places->asks_servers) {
        ask_servers(&s, "debuginfo");
        if (!files->binary.elf)
            ask_servers(&s, "executable");
    }
}
