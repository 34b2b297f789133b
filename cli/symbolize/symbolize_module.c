/* One request, answered in a child process: see symbolize_module.h.
 *
 *     address of the process -> address of the file    by the program headers
 *                            -> frames                 symbolize_dwarf.c, symbolize_table.c
 *
 * An address of a program at a fixed place is an address of the file already. In all other files the
 * place of the mapping decides: the mapping begins `file_offset` bytes into the file, and a segment
 * says which address the linker gave to that byte. A mapping that begins at 0 has addresses of the
 * file. */
#include "symbolize/symbolize_module.h"

#include "symbolize/symbolize_dwarf.h"
#include "symbolize/symbolize_files.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static bool to_file(const cli_elf_files *files, const cli_module_request *request, uint64_t address,
                    uint64_t *pc)
{
    GElf_Ehdr header;
    bool is_debug = !files->binary.elf;
    Elf *elf = is_debug ? files->debug.elf : files->binary.elf;
    if (!gelf_getehdr(elf, &header))
        return false;
    bool is_fixed = header.e_type == ET_EXEC || !request->start;
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
static cli_wanted *take_wanted(const cli_elf_files *files, const cli_module_request *request,
                               size_t *len)
{
    cli_wanted *wanted = cli_apart_take(request->addresses_len, sizeof *wanted);
    *len = 0;
    for (size_t i = 0; i < request->addresses_len; i++)
        if (to_file(files, request, request->addresses[i], &wanted[*len].pc))
            wanted[(*len)++].index = i;
    qsort(wanted, *len, sizeof *wanted, by_pc);
    return wanted;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void put_nothing(FILE *out, const cli_elf_files *files)
{
    cli_module_state state = files->was_other        ? CLI_MODULE_OTHER_BUILD
                             : files->was_unreadable ? CLI_MODULE_UNREADABLE
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
static void put_symbols(FILE *out, const cli_elf_files *files, const cli_module_request *request)
{
    size_t len;
    cli_wanted *wanted = take_wanted(files, request, &len);
    const cli_elf_file *with_dwarf = files->debug.elf ? &files->debug : &files->binary;
    char dir[PATH_MAX];
    read_folder(with_dwarf->fd, dir);
    bool has_table = false;
    if (files->debug.elf)
        has_table |= cli_table_name(files->debug.elf, wanted, len);
    if (files->binary.elf)
        has_table |= cli_table_name(files->binary.elf, wanted, len);
    cli_apart_open_files(false);
    Dwarf *dwarf = dwarf_begin_elf(with_dwarf->elf, DWARF_C_READ, NULL);
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

static void work(const void *cookie, FILE *out)
{
    const cli_module_request *request = cookie;
    cli_elf_files files;
    elf_version(EV_CURRENT);
    cli_elf_files_find(request, &files);
    if (!files.binary.elf && !files.debug.elf) {
        put_nothing(out, &files);
        return;
    }
    cli_apart_allow(files.binary.fd);
    cli_apart_allow(files.debug.fd);
    put_symbols(out, &files, request);
}

cli_apart_end cli_module_resolve(const cli_module_request *request, cli_answer *answer)
{
    return cli_apart_run(work, request, answer);
}
