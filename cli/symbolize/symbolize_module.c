/* One request, answered in a child process: see symbolize_module.h.
 *
 *     address of the process -> address of the file    by the program headers
 *                            -> frames                 symbolize_dwarf.c
 *
 * An address of a program at a fixed place is an address of the file already. In all other files the
 * place of the mapping decides: the mapping begins `file_offset` bytes into the file, and a segment
 * says which address the linker gave to that byte. A mapping that begins at 0 has addresses of the
 * file. */
#include "symbolize/symbolize_module.h"

#include "input.h"
#include "symbolize/symbolize_dwarf.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- files -----------------------------------------------------------------------------------
 *
 * The ELF file of a mapping, and the file with its debug information.
 *
 * A file is used only if its build id is that of the mapping. A mapping without a build id is taken
 * to be of the file at its path, and a debug file without one is checked by the checksum in
 * .gnu_debuglink. The order of the places:
 *
 *     DIR/.build-id/xx/yyyy.debug  DIR/.build-id/xx/yyyy    for each --debug-dir
 *     DIR/path/of/file.debug  DIR/path/of/file              and with the last part of the path only
 *     the path itself
 *     /usr/lib/debug/.build-id/xx/yyyy.debug
 *     the name in .gnu_debuglink: in the folder of the file, in .debug there, in DIR and in /usr/lib/debug
 *     debuginfod-find, if the user asked for it */

typedef struct elf_file {
    int fd; /* -1: there is none */
    Elf *elf;
    char path[PATH_MAX];
} elf_file;

typedef struct search {
    const cli_module_request *request;
    elf_file binary, debug; /* debug: another file than the binary */
    bool is_debug_binary;   /* the binary has the debug information itself */
    bool was_unreadable;    /* a file was there, and is no ELF file */
    bool was_other;         /* a file was there, with another build id */
    GElf_Word crc;          /* of the debug file that the binary names */
} search;

static const char system_debug[] = "/usr/lib/debug";

/* ---- one file -------------------------------------------------------------------------------- */

static void file_close(elf_file *file)
{
    if (file->elf)
        elf_end(file->elf);
    cli_close(file->fd);
    *file = (elf_file){.fd = -1};
}

/* Opens a regular file that is an ELF file of any class. */
static bool file_open(elf_file *file, const char *path, search *s)
{
    *file = (elf_file){.fd = cli_regular_open(AT_FDCWD, path, O_RDONLY, NULL)};
    if (file->fd < 0)
        return false;
    file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
    if (!file->elf || elf_kind(file->elf) != ELF_K_ELF) {
        file_close(file);
        s->was_unreadable = true;
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

static bool is_complete(const search *s)
{
    return s->binary.elf && (s->is_debug_binary || s->debug.elf);
}

/* Keeps the file for what it has and is missing so far; closes it otherwise. */
static void keep_file(search *s, elf_file *file)
{
    /* A debug file only describes the code of another file. */
    bool is_code = has_section(file->elf, ".text");
    bool is_dwarf = has_section(file->elf, ".debug_info") || has_section(file->elf, ".zdebug_info");
    if (is_code && !s->binary.elf) {
        s->binary = *file;
        s->is_debug_binary = is_dwarf;
    } else if (!s->debug.elf && !s->is_debug_binary &&
               (is_dwarf || has_section(file->elf, ".symtab"))) {
        s->debug = *file;
    } else {
        file_close(file);
    }
}

/* The checksum of gzip, as .gnu_debuglink has it. */
static uint32_t file_checksum(int fd)
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

static bool is_wanted(const search *s, const elf_file *file, const char *id, proof has)
{
    char own[CLI_BUILD_ID_ROOM] = "";
    const char *wanted = s->request->build_id;
    if (has == LINK) {
        write_id(s->binary.elf, own, sizeof own);
        return *id && *own ? !strcmp(id, own) : file_checksum(file->fd) == s->crc;
    }
    return *wanted ? !strcmp(id, wanted) : has == PLACE && !s->request->places->needs_build_id;
}

__attribute__((format(printf, 3, 4))) static void consider(search *s, proof has, const char *format,
                                                           ...)
{
    char path[PATH_MAX], id[CLI_BUILD_ID_ROOM];
    elf_file file;
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    if (len <= 0 || (size_t)len >= sizeof path || is_complete(s) || !file_open(&file, path, s))
        return;
    write_id(file.elf, id, sizeof id);
    if (is_wanted(s, &file, id, has)) {
        keep_file(s, &file);
        return;
    }
    if (*s->request->build_id && !strcmp(path, s->request->path))
        s->was_other = true;
    file_close(&file);
}

static void consider_by_id(search *s, const char *dir)
{
    const char *id = s->request->build_id;
    if (strlen(id) < 3)
        return;
    consider(s, NO_PROOF, "%s/.build-id/%.2s/%s.debug", dir, id, id + 2);
    consider(s, NO_PROOF, "%s/.build-id/%.2s/%s", dir, id, id + 2);
}

/* The name of a file in the directories of the user. The mapping's path may have "..", which must
 * not lead out of the directory. */
static void consider_by_name(search *s, const char *dir)
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
    const char *link = s->binary.elf ? dwelf_elf_gnu_debuglink(s->binary.elf, &s->crc) : NULL;
    if (!link || !*link || strchr(link, '/'))
        return;
    const char *path = s->binary.path, *slash = strrchr(path, '/');
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
static void ask_servers(search *s, const char *kind)
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

/* Finds the files. What is not found stays empty. */
static void find_files(search *s)
{
    const cli_debug_places *places = s->request->places;
    bool has_id = is_hexadecimal(s->request->build_id);
    for (size_t i = 0; i < places->dirs_len; i++) {
        if (has_id)
            consider_by_id(s, places->dirs[i]);
        consider_by_name(s, places->dirs[i]);
    }
    if (*s->request->path == '/')
        consider(s, PLACE, "%s", s->request->path);
    if (places->has_tables_only)
        return;
    if (has_id)
        consider_by_id(s, system_debug);
    consider_links(s);
    if (has_id && places->asks_servers) {
        ask_servers(s, "debuginfo");
        if (!s->binary.elf)
            ask_servers(s, "executable");
    }
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Finds the segment that is loaded and has this address of the file. */
static bool is_loaded(Elf *elf, uint64_t pc)
{
    GElf_Phdr segment;
    for (int i = 0; gelf_getphdr(elf, i, &segment); i++)
        if (segment.p_type == PT_LOAD && pc - segment.p_vaddr < segment.p_memsz)
            return true;
    return false;
}

/* From an offset in the file. The headers of a debug file may have lost the offsets; the mapping is
 * then taken to be that of the first code. */
static bool from_offset(Elf *elf, bool is_debug, const cli_module_request *request,
                        uint64_t address, uint64_t *pc)
{
    GElf_Phdr segment;
    uint64_t offset = address - request->start + request->file_offset;
    for (int i = 0; gelf_getphdr(elf, i, &segment); i++) {
        if (segment.p_type != PT_LOAD)
            continue;
        uint64_t len = is_debug ? segment.p_memsz : segment.p_filesz;
        if (!is_debug && offset - segment.p_offset < len) {
            *pc = offset - segment.p_offset + segment.p_vaddr;
            return true;
        }
        if (is_debug && segment.p_flags & PF_X) {
            uint64_t page = segment.p_align > 1 ? segment.p_align - 1 : 0;
            *pc = address - request->start + (segment.p_vaddr & ~page);
            return *pc - segment.p_vaddr < len;
        }
    }
    return false;
}

/* Returns false if the address is not one of the file. */
static bool to_file(const search *s, uint64_t address, uint64_t *pc)
{
    GElf_Ehdr header;
    const cli_module_request *request = s->request;
    bool is_debug = !s->binary.elf;
    Elf *elf = is_debug ? s->debug.elf : s->binary.elf;
    if (!gelf_getehdr(elf, &header))
        return false;
    bool is_fixed =
        header.e_type == ET_EXEC || !request->start || address < request->start; /* eBPF */
    if (is_fixed && is_loaded(elf, address)) {
        *pc = address;
        return true;
    }
    return from_offset(elf, is_debug, request, address, pc);
}

static int by_pc(const void *a, const void *b)
{
    const cli_wanted *x = a, *y = b;
    if (x->pc != y->pc)
        return x->pc < y->pc ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Returns the addresses of the file, rising. */
static cli_wanted *take_wanted(const search *s, size_t *len)
{
    const cli_module_request *request = s->request;
    cli_wanted *wanted = cli_apart_take(request->addresses_len, sizeof *wanted);
    *len = 0;
    for (size_t i = 0; i < request->addresses_len; i++)
        if (to_file(s, request->addresses[i], &wanted[*len].pc))
            wanted[(*len)++].index = i;
    qsort(wanted, *len, sizeof *wanted, by_pc);
    return wanted;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void put_nothing(FILE *out, const search *s)
{
    cli_module_state state = s->was_other        ? CLI_MODULE_OTHER_BUILD
                             : s->was_unreadable ? CLI_MODULE_UNREADABLE
                                                 : CLI_MODULE_MISSING;
    cli_answer_put_number(out, state);
    cli_answer_put_number(out, 0);
}

/* The folder that a file was opened in, as libdw finds it. Links are followed. */
static void read_folder(int fd, char dir[PATH_MAX])
{
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(self, dir, PATH_MAX - 1);
    dir[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = '\0';
}

/* The head comes last to be known but first in the answer, so what decides it is read first. */
static void put_symbols(FILE *out, const search *s)
{
    size_t len;
    cli_wanted *wanted = take_wanted(s, &len);
    const elf_file *with_dwarf = s->debug.elf ? &s->debug : &s->binary;
    char dir[PATH_MAX];
    read_folder(with_dwarf->fd, dir);
    bool has_table = false;
    if (s->debug.elf)
        has_table |= cli_table_name(s->debug.elf, wanted, len);
    if (s->binary.elf)
        has_table |= cli_table_name(s->binary.elf, wanted, len);
    cli_apart_open_files(false);
    Dwarf *dwarf = s->request->places->has_tables_only
                       ? NULL
                       : dwarf_begin_elf(with_dwarf->elf, DWARF_C_READ, NULL);
    Dwarf_CU *unit = NULL;
    if (dwarf)
        cli_dwarf_load_alt(dwarf, dir);
    bool has_units = dwarf && !dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL);
    cli_answer_put_number(out, has_units   ? CLI_MODULE_READ
                               : has_table ? CLI_MODULE_TABLE_ONLY
                                           : CLI_MODULE_NO_SYMBOLS);
    fflush(out); /* the reader may crash below */
    cli_dwarf_write(has_units ? dwarf : NULL, dir, wanted, len, out);
    cli_answer_put_number(out, 0);
}

static void resolve_in_child(const void *request, FILE *out)
{
    search s = {.request = request, .binary.fd = -1, .debug.fd = -1};
    elf_version(EV_CURRENT);
    find_files(&s);
    if (!s.binary.elf && !s.debug.elf) {
        put_nothing(out, &s);
        return;
    }
    cli_apart_allow(s.binary.fd);
    cli_apart_allow(s.debug.fd);
    put_symbols(out, &s);
}

cli_apart_end cli_module_resolve(const cli_module_request *request, cli_answer *answer)
{
    return cli_apart_run(resolve_in_child, request, answer);
}
