/* A process that runs already: see target.h. */
#include "attach/target.h"

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

bool cli_target_text(const cli_target *t, const char *name, char *text, size_t room)
{
    size_t len = 0;
    int fd = openat(t->folder, name, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0 && len<room - 1; len += got> 0 ? (size_t)got : 0)
        got = read(fd, text + len, room - 1 - len);
    if (fd >= 0)
        close(fd);
    text[len] = '\0';
    return len;
}

long cli_number_behind(const char *text, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (at == text || at[-1] == '\n')
            return strtol(at + len, NULL, 10);
    return -1;
}

bool cli_target_areas(const cli_target *t, bool (*take)(void *cookie, const cli_area *area),
                      void *cookie)
{
    char *line = NULL;
    size_t room = 0;
    int fd = openat(t->folder, "maps", O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    bool is_done = false;
    while (file && !is_done && getline(&line, &room, file) > 0) {
        cli_area area = {.name = ""};
        unsigned long begin, end, off;
        // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers
        if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %255[^\n]", &begin, &end, area.access, &off,
                   area.name) < 4)
            continue;
        area.begin = begin, area.end = end, area.off = off;
        is_done = take(cookie, &area);
    }
    free(line);
    if (file)
        fclose(file);
    return is_done;
}

/* ---- objects --------------------------------------------------------------------------------- */

static uint64_t auxiliary(const cli_target *t, uint64_t type)
{
    uint64_t pairs[64][2] = {{0}};
    int fd = openat(t->folder, "auxv", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, pairs, sizeof pairs - sizeof *pairs);
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; len > 0 && i < (size_t)len / sizeof *pairs; i++)
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
    t->objects = t->objects ? t->objects : calloc(CLI_OBJECTS_MAX, sizeof *t->objects);
    note_object(t, &loader);
    uint64_t debug = cli_object_symbol(t, &loader, "_r_debug");
    if (!t->objects || !debug || !read_word(t, debug + FIRST_LINK, &at))
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
 * The places are in the loader's records of objects. Where in these, and the size of the C library's record, is said by
 * what the C library exports for debuggers (nptl_db). */

enum { MODULES_MAX = 512, SURPLUS = 16 << 10, TABLE_LEN = 2 * (MODULES_MAX + 1) * 8 };

/* A field: bits, count, offset. */
static bool read_field(const cli_target *t, const cli_object *libc, const char *name, uint64_t *off)
{
    uint32_t field[3];
    uint64_t at = cli_object_symbol(t, libc, name);
    bool is_there = at && cli_target_read(t, at, field, sizeof field);
    *off = is_there ? field[2] : 0;
    return is_there;
}

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

const char *cli_tls_measure(const cli_target *t, cli_tls *tls)
{
    uint64_t size_at;
    uint32_t size = 0;
    const cli_object *libc = cli_target_definer(t, 1, "_thread_db_sizeof_pthread", &size_at);
    if (!libc || !cli_target_read(t, size_at, &size, sizeof size) ||
        !read_field(t, libc, "_thread_db_pthread_tid", &tls->tid_off) ||
        !read_field(t, libc, "_thread_db_link_map_l_tls_modid", &tls->module_off) ||
        !read_field(t, libc, "_thread_db_link_map_l_tls_offset", &tls->place_off))
        return "its C library does not say where the storage of its threads is";
    tls->record_len = size;
    uint64_t statics = 0;
    for (size_t i = 0; i < t->objects_len; i++) {
        uint64_t end = place_of(t, tls, &t->objects[i]);
#ifdef __aarch64__
        end += end ? t->objects[i].tls_len : 0;
#endif
        statics = end > statics ? end : statics;
    }
#ifdef __aarch64__
    tls->below = size;
    tls->above = statics + SURPLUS + TABLE_LEN;
#else
    tls->below = statics + SURPLUS;
    tls->above = size + TABLE_LEN;
#endif
    return NULL;
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
        if (!place || !read_word(t, o->link + tls->module_off, &module) || module >= MODULES_MAX)
            continue;
#ifdef __aarch64__
        place = tls->pointer + place;
#else
        place = tls->pointer - place;
#endif
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
    const uint64_t table = tls->pointer + tls->above - TABLE_LEN, first = table + 16;
#ifdef __aarch64__
    const uint64_t record = tls->pointer - tls->record_len;
    uint64_t head[2];
    if (!cli_target_read(t, other, head, sizeof head) || !write_modules(t, tls, table, head[0]))
        return false;
    head[0] = first;
#else
    enum {
        SELF,
        MODULES,
        AGAIN,
        IS_MANY,
        WORDS = 10
    }; /* then: calls, guards of the stack and of pointers, features */
    const uint64_t record = tls->pointer;
    uint64_t head[WORDS];
    if (!cli_target_read(t, other, head, sizeof head) ||
        !write_modules(t, tls, table, head[MODULES]))
        return false;
    head[SELF] = head[AGAIN] = record;
    head[MODULES] = first;
    head[IS_MANY] = 1;
    head[7] = head[8] = 0; /* of the other thread alone */
#endif
    return cli_target_write(t, tls->pointer, head, sizeof head) &&
           cli_target_write(t, record + tls->tid_off, &tid, sizeof tid);
}
