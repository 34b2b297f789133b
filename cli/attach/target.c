/* A process that runs already: see target.h. */
#include "attach/target.h"

#include "agent/base/remains.h"
#include "input.h"
#include "keep.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- memory and files ------------------------------------------------------------------------ */

bool cli_target_read(const cli_target *t, uint64_t at, void *out, size_t len)
{
    return pread(t->memory, out, len, (off_t)at) == (ssize_t)len;
}

bool cli_target_write(const cli_target *t, uint64_t at, const void *from, size_t len)
{
    return pwrite(t->memory, from, len, (off_t)at) == (ssize_t)len;
}

static bool read_word(const cli_target *t, uint64_t at, uint64_t *out)
{
    return cli_target_read(t, at, out, sizeof *out);
}

long cli_number_behind(const char *text, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (at == text || at[-1] == '\n')
            return strtol(at + len, NULL, 10);
    return -1;
}

uint32_t cli_target_number(const cli_target *t, pid_t tid)
{
    char status[4096];
    pd_remains_process process;
    cli_text_read(t->folder, cli_keep_print("task/%d/status", (int)tid), status, sizeof status);
    pd_remains_read_process("", status, &process);
    return (uint32_t)(process.number ? process.number : (uint64_t)tid);
}

/* ---- objects --------------------------------------------------------------------------------- */

static uint64_t auxiliary(const cli_target *t, uint64_t type)
{
    uint64_t pairs[64][2];
    size_t len = cli_text_read(t->folder, "auxv", (char *)pairs, sizeof pairs);
    for (size_t i = 0; i < len / sizeof *pairs; i++)
        if (pairs[i][0] == type)
            return pairs[i][1];
    return 0;
}

/* The loader converts the addresses of most tables. */
static void note_tables(const cli_target *t, cli_object *o, uint64_t dynamic)
{
    Elf64_Dyn row;
    for (; cli_target_read(t, dynamic, &row, sizeof row) && row.d_tag != DT_NULL;
         dynamic += sizeof row) {
        uint64_t *to = pd_elf_table(&o->tables, &row);
        if (to)
            *to = row.d_un.d_ptr < o->base ? o->base + row.d_un.d_ptr : row.d_un.d_ptr;
    }
}

static void note_segments(const cli_target *t, cli_object *o, uint64_t at, uint64_t count)
{
    Elf64_Phdr segment;
    for (; count-- && cli_target_read(t, at, &segment, sizeof segment); at += sizeof segment) {
        if (segment.p_type == PT_DYNAMIC)
            note_tables(t, o, o->base + segment.p_vaddr);
        if (segment.p_type == PT_LOAD && segment.p_flags & PF_X) {
            o->code = o->base + segment.p_vaddr;
            o->code_end = o->code + segment.p_memsz;
        }
        if (segment.p_type != PT_TLS)
            continue;
        o->tls = o->base + segment.p_vaddr;
        o->tls_file_len = segment.p_filesz;
        o->tls_len = segment.p_memsz;
    }
}

/* The header of an object is where that begins. */
static void note_object(const cli_target *t, cli_object *o)
{
    Elf64_Ehdr header;
    if (cli_target_read(t, o->base, &header, sizeof header) &&
        !memcmp(header.e_ident, ELFMAG, SELFMAG))
        note_segments(t, o, o->base + header.e_phoff, header.e_phnum);
}

/* Of the program, the kernel says where its segments are. */
bool cli_target_objects(cli_target *t)
{
    enum { FIRST_LINK = 8, LINK_WORDS = 4 }; /* in r_debug; address, name, dynamic section, next */
    cli_object loader = {.base = auxiliary(t, AT_BASE)};
    uint64_t link[LINK_WORDS], at = 0;
    t->objects_len = 0;
    t->objects = t->objects ? t->objects : cli_keep(CLI_OBJECTS_MAX, sizeof *t->objects);
    note_object(t, &loader);
    uint64_t debug = cli_object_symbol(t, &loader, "_r_debug");
    if (!debug || !read_word(t, debug + FIRST_LINK, &at))
        return false;
    for (; at && t->objects_len < CLI_OBJECTS_MAX && cli_target_read(t, at, link, sizeof link);
         at = link[3]) {
        cli_object *o = &t->objects[t->objects_len++];
        *o = (cli_object){.base = link[0], .link = at};
        if (t->objects_len == 1)
            note_segments(t, o, auxiliary(t, AT_PHDR), auxiliary(t, AT_PHNUM));
        else
            note_object(t, o);
    }
    return t->objects_len;
}

/* ---- symbols --------------------------------------------------------------------------------- */

uint64_t cli_object_symbol(const cli_target *t, const cli_object *o, const char *name)
{
    pd_elf memory = {.fd = t->memory}; /* whose offsets are addresses */
    Elf64_Sym symbol;
    return pd_elf_find_symbol(&memory, &o->tables, name, &symbol) ? o->base + symbol.st_value : 0;
}

const cli_object *cli_target_definer(const cli_target *t, size_t from, const char *name,
                                     uint64_t *symbol)
{
    for (size_t i = from; i < t->objects_len; i++)
        if ((*symbol = cli_object_symbol(t, &t->objects[i], name)))
            return &t->objects[i];
    return NULL;
}

/* ---- thread-local storage --------------------------------------------------------------------
 *
 *     x86-64    [ ... | module 2 | module 1 ] pointer -> record of the thread
 *     arm64     record of the thread, pointer -> [ 16 bytes | module 1 | module 2 | ... ]
 *
 * Nothing of this is in a header, or among what the C library exports everywhere. So what is looked for is found by what
 * surrounds it: the loader's record of an object says the place behind a copy of what the object's header says, and the
 * number of a thread stands behind its links in the list of all threads. */

#ifdef __aarch64__
#define UPWARD true
#else
#define UPWARD false
#endif

enum {
    MODULES_MAX = 512,
    SURPLUS = 16 << 10,
    TABLE_LEN = 2 * (MODULES_MAX + 1) * 8,
    RECORD_MAX = 4 << 10 /* 1,856 and 2,368 bytes in glibc 2.36 */
};

/* Returns where the object has its storage, from the thread pointer on (x86-64: before it), or 0: not in each thread
 * from its beginning. */
static uint64_t place_of(const cli_target *t, const cli_tls *tls, const cli_object *o)
{
    const uint64_t most = 64 << 20; /* what is not there is marked by -1 or -2 */
    uint64_t place = 0;
    if (!o->tls_len || !read_word(t, o->link + tls->place_off, &place) || place > most)
        return 0;
    return place;
}

/* In the loader's record of an object: the image, its length, that of the storage, alignment, first byte, place, module. */
static uint64_t find_place(const cli_target *t, const cli_object *o)
{
    enum { MOST = 2048, BEFORE = 5 * 8 };
    const uint64_t wanted[] = {o->tls, o->tls_file_len, o->tls_len};
    uint64_t found[3];
    for (uint64_t off = 0; o->tls_len && off < MOST; off += 8)
        if (cli_target_read(t, o->link + off, found, sizeof found) &&
            !memcmp(found, wanted, sizeof found))
            return off + BEFORE;
    return 0;
}

bool cli_tls_measure(const cli_target *t, cli_tls *tls)
{
    uint64_t version, statics = 0;
    const cli_object *libc = cli_target_definer(t, 1, "gnu_get_libc_version", &version);
    tls->place_off = libc ? find_place(t, libc) : 0;
    for (size_t i = 0; tls->place_off && i < t->objects_len; i++) {
        uint64_t end = place_of(t, tls, &t->objects[i]);
        end += UPWARD && end ? t->objects[i].tls_len : 0;
        statics = end > statics ? end : statics;
    }
    tls->below = UPWARD ? RECORD_MAX : statics + SURPLUS;
    tls->above = (UPWARD ? statics + SURPLUS : RECORD_MAX) + TABLE_LEN;
    return tls->place_off;
}

bool cli_tls_find_number(const cli_target *t, uint64_t pointer, uint32_t tid, int64_t *off)
{
    enum { WORDS = 8 };                /* few, since only the record itself is there for sure */
    uint64_t words[WORDS + 2], before; /* links, number: next, previous, number */
    const int64_t step = sizeof *words, chunk = WORDS * step;
    for (int64_t at = 0; at < RECORD_MAX; at += chunk) {
        const int64_t begin = UPWARD ? -at - chunk : at;
        if (!cli_target_read(t, pointer + (uint64_t)begin, words, sizeof words))
            return false;
        for (int i = 0; i < WORDS; i++) {
            const int64_t links = begin + i * step;
            *off = links + 2 * step;
            if ((uint32_t)words[i + 2] == tid && read_word(t, words[i] + 8, &before) &&
                before == pointer + (uint64_t)links)
                return true;
        }
    }
    return false;
}

/* Writes the table of modules, and the image of each that is in every thread. The first word of the table is its size,
 * and the second the generation that the other thread has seen. */
static bool write_modules(const cli_target *t, const cli_tls *tls, uint64_t table,
                          uint64_t other_table)
{
    static uint64_t rows[MODULES_MAX + 1][2];
    uint8_t *image;
    bool is_done = true;
    for (size_t i = 1; i <= MODULES_MAX; i++)
        rows[i][0] = UINT64_MAX; /* to be made when it is used */
    rows[0][0] = MODULES_MAX - 1;
    if (!cli_target_read(t, other_table, &rows[1], sizeof rows[1]))
        return false;
    for (size_t i = 0; i < t->objects_len && is_done; i++) {
        const cli_object *o = &t->objects[i];
        uint64_t module = 0, place = place_of(t, tls, o);
        if (!place || !read_word(t, o->link + tls->place_off + 8, &module) || module >= MODULES_MAX)
            continue;
        place = UPWARD ? tls->pointer + place : tls->pointer - place;
        rows[module + 1][0] = place;
        rows[module + 1][1] = 0;
        image = malloc(o->tls_file_len + 1);
        is_done = image && cli_target_read(t, o->tls, image, o->tls_file_len) &&
                  cli_target_write(t, place, image, o->tls_file_len);
        free(image);
    }
    return is_done && cli_target_write(t, table, rows, sizeof rows);
}

bool cli_tls_write(const cli_target *t, const cli_tls *tls, uint64_t other, int tid)
{
    /* x86-64: itself, modules, itself, are there many threads; then calls, guards of the stack and of pointers, features.
     * arm64: modules, and a word that is not used */
    enum { WORDS = UPWARD ? 2 : 10, MODULES = UPWARD ? 0 : 1 };
    const uint64_t table = tls->pointer + tls->above - TABLE_LEN, first = table + 16;
    uint64_t head[10];
    if (!cli_target_read(t, other, head, WORDS * sizeof *head) ||
        !write_modules(t, tls, table, head[MODULES]))
        return false;
    if (!UPWARD) {
        head[0] = head[2] = tls->pointer;
        head[3] = 1;
        head[7] = head[8] = 0; /* of the other thread alone */
    }
    head[MODULES] = first;
    return cli_target_write(t, tls->pointer, head, WORDS * sizeof *head) &&
           cli_target_write(t, tls->pointer + (uint64_t)tls->number_off, &tid, sizeof tid);
}
