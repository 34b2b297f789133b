/* Replaces functions that a program may have or lack: see rebind.h. */
#include "agent/interposed/rebind.h"

#include "agent/base/code.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the tables of an object ----------------------------------------------------------------- */

/* Relocations have an addend in the row, or where the result goes: it depends on the machine. */
#if defined(__i386__) || defined(__arm__)
typedef ElfW(Rel) relocation;
enum { TABLE = DT_REL, TABLE_SIZE = DT_RELSZ };
#else
typedef ElfW(Rela) relocation;
enum { TABLE = DT_RELA, TABLE_SIZE = DT_RELASZ };
#endif

typedef struct relocations {
    const relocation *rows;
    size_t size; /* bytes */
} relocations;

typedef struct object {
    uintptr_t base;
    pd_object_range range;
    const ElfW(Phdr) * segments;
    size_t segments_len;
    ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash; /* in the GNU format; NULL: none */
    relocations plain, calls;
} object;

/* The rows of the dynamic section that are needed, and the members that they set. */
static const struct {
    int64_t tag;
    size_t off; /* of the member, a pointer or a length */
    bool is_address;
} members[] = {
    {DT_SYMTAB, offsetof(object, symbols), true},
    {DT_STRTAB, offsetof(object, names), true},
    {DT_GNU_HASH, offsetof(object, hash), true},
    {TABLE, offsetof(object, plain.rows), true},
    {TABLE_SIZE, offsetof(object, plain.size), false},
    {DT_JMPREL, offsetof(object, calls.rows), true},
    {DT_PLTRELSZ, offsetof(object, calls.size), false},
};

static void note_row(object *o, const ElfW(Dyn) * row)
{
    uintptr_t value = (uintptr_t)row->d_un.d_val;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        uintptr_t at = members[i].is_address && value < o->base ? o->base + value : value;
        if (row->d_tag == members[i].tag)
            memcpy((char *)o + members[i].off, &at, sizeof at);
    }
}

/* Returns false if the object has no symbols. Most C libraries convert the table's addresses to those in
 * memory. musl does not. */
static bool open_object(object *o, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *row = NULL;
    *o = (object){.base = info->dlpi_addr,
                  .range = pd_object_range_of(info),
                  .segments = info->dlpi_phdr,
                  .segments_len = info->dlpi_phnum};
    for (size_t i = 0; i < o->segments_len; i++)
        if (o->segments[i].p_type == PT_DYNAMIC)
            row = (const void *)(o->base + o->segments[i].p_vaddr); // NOLINT(*-int-to-ptr)
    for (; row && row->d_tag != DT_NULL; row++)
        note_row(o, row);
    return o->symbols && o->names;
}

/* ---- a symbol by its name -------------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool is_function(const object *o, const ElfW(Sym) * symbol, const char *name)
{
    unsigned char type = symbol->st_info & 15;
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value && type == STT_FUNC &&
           strcmp(o->names + symbol->st_name, name) == 0;
}

/* Returns the function of that name that the object exports, or NULL. */
static ElfW(Sym) * find_symbol(const object *o, const char *name)
{
    if (!o->hash)
        return NULL;
    const uint32_t hash = hash_of(name), buckets_len = o->hash[0], first = o->hash[1];
    const ElfW(Addr) *filter =
        (const void *)(o->hash + 4); /* of names that are not there: not used */
    const uint32_t *buckets = (const void *)(filter + o->hash[2]), *chain = buckets + buckets_len;
    if (!buckets_len)
        return NULL;
    uint32_t at = buckets[hash % buckets_len];
    for (bool is_end = at < first; !is_end; at++) {
        uint32_t other = chain[at - first];
        if ((other | 1) == (hash | 1) && is_function(o, &o->symbols[at], name))
            return &o->symbols[at];
        is_end = other & 1;
    }
    return NULL;
}

/* ---- changing a table ------------------------------------------------------------------------ */

/* Returns the protection of a page: that of its segment, or read-only if the loader has set that
 * after binding (RELRO). */
static int protection_of(const object *o, uintptr_t page, uintptr_t page_len)
{
    int protection = PROT_NONE;
    for (size_t i = 0; i < o->segments_len; i++) {
        const ElfW(Phdr) *segment = &o->segments[i];
        uintptr_t begin = (o->base + segment->p_vaddr) & ~(page_len - 1);
        uintptr_t end = o->base + segment->p_vaddr + segment->p_memsz;
        if (segment->p_type == PT_GNU_RELRO && page >= begin && page < (end & ~(page_len - 1)))
            return PROT_READ;
        if (segment->p_type == PT_LOAD && page >= begin && page < end)
            protection = (segment->p_flags & PF_R ? PROT_READ : 0) |
                         (segment->p_flags & PF_W ? PROT_WRITE : 0) |
                         (segment->p_flags & PF_X ? PROT_EXEC : 0);
    }
    return protection;
}

/* Writes a word into the object's memory, which may be read-only. An executable page stays
 * executable all the time, since other code may be on it. */
static bool write_word(const object *o, void *at, uintptr_t word)
{
    const uintptr_t page_len = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t page = (uintptr_t)at & ~(page_len - 1);
    int protection = protection_of(o, page, page_len);
    void *start = (char *)at - ((uintptr_t)at - page);
    bool is_locked = !(protection & PROT_WRITE);
    if (is_locked && mprotect(start, page_len, protection | PROT_WRITE))
        return false;
    __atomic_store_n((uintptr_t *)at, word, __ATOMIC_RELEASE);
    return !is_locked || mprotect(start, page_len, protection) == 0;
}

/* ---- slots that are bound already ------------------------------------------------------------ */

/* One call of pd_rebind. */
typedef struct work {
    const pd_rebound *functions;
    size_t len;
    object library; /* the one that has the functions; without symbols: not found yet */
    bool has_seen_program, is_refused;
} work;

static uintptr_t word_at(const void *place)
{
    uintptr_t word;
    memcpy(&word, place, sizeof word);
    return word;
}

static const pd_rebound *find_function(const work *w, const char *name)
{
    for (size_t i = 0; i < w->len; i++)
        if (strcmp(w->functions[i].name, name) == 0)
            return &w->functions[i];
    return NULL;
}

/* Returns the slot that a relocation fills. *name is the symbol with which it is filled, or
 * NULL. */
static uintptr_t *slot_of(const object *o, const relocation *row, const char **name)
{
#if __SIZEOF_POINTER__ == 8
    size_t symbol = (size_t)ELF64_R_SYM(row->r_info);
#else
    size_t symbol = (size_t)ELF32_R_SYM(row->r_info);
#endif
    *name = symbol ? o->names + o->symbols[symbol].st_name : NULL;
    return (uintptr_t *)(o->base + row->r_offset); // NOLINT(performance-no-int-to-ptr)
}

/* Puts a function in the slots of an object where the loader has put another one under its name: the
 * agent's in those of other objects, its own in those of the library. A slot that the loader has not filled
 * yet points into the object itself, and the loader will fill it with the agent's function. */
static void rebind_slots(work *w, const object *o, const relocations *r)
{
    const bool is_library = o->range.begin == w->library.range.begin;
    const size_t len = r->rows ? r->size / sizeof *r->rows : 0;
    for (size_t i = 0; i < len; i++) {
        const char *name;
        uintptr_t *slot = slot_of(o, &r->rows[i], &name);
        if (!name || (uintptr_t)slot % sizeof *slot ||
            !(is_library || pd_object_range_has(w->library.range, word_at(slot))))
            continue;
        const pd_rebound *f = find_function(w, name);
        const uintptr_t real = f ? word_at(f->real) : 0;
        if (real && (word_at(slot) == real) != is_library)
            w->is_refused |= !write_word(o, slot, is_library ? real : (uintptr_t)f->ours);
    }
}

/* ---- the walk over the objects --------------------------------------------------------------- */

static bool is_agent(const object *o)
{
    return pd_object_range_has(o->range, (uintptr_t)pd_rebind);
}

/* Finds the first object in the loader's order that has the first function. The program comes
 * first. */
static int find_library(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    work *w = cookie;
    object o;
    bool is_program = !w->has_seen_program;
    w->has_seen_program = true;
    if (!open_object(&o, info) || is_agent(&o) || !find_symbol(&o, w->functions[0].name))
        return 0;
    if (!is_program)
        w->library = o;
    return 1;
}

static int rebind_object(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    work *w = cookie;
    object o;
    if (!open_object(&o, info) || is_agent(&o) || o.range.begin == w->library.range.begin)
        return 0;
    rebind_slots(w, &o, &o.plain);
    rebind_slots(w, &o, &o.calls);
    return 0;
}

/* Replaces the functions in the library's symbol table, to which the loader adds the library's
 * base. */
static void rebind_symbols(work *w)
{
    for (size_t i = 0; i < w->len && !w->is_refused; i++) {
        const pd_rebound *f = &w->functions[i];
        ElfW(Sym) *symbol = word_at(f->real) ? find_symbol(&w->library, f->name) : NULL;
        w->is_refused |= symbol && !write_word(&w->library, &symbol->st_value,
                                               (uintptr_t)f->ours - w->library.base);
    }
}

pd_rebind_outcome pd_rebind(const pd_rebound *functions, size_t len)
{
    work w = {.functions = functions, .len = len};
    dl_iterate_phdr(find_library, &w);
    if (!w.library.symbols)
        return PD_REBIND_NONE;
    for (size_t i = 0; i < len; i++) {
        const ElfW(Sym) *symbol = find_symbol(&w.library, functions[i].name);
        uintptr_t real = symbol ? w.library.base + symbol->st_value : 0;
        memcpy(functions[i].real, &real, sizeof real);
    }
    rebind_slots(&w, &w.library, &w.library.calls);
    if (!w.is_refused)
        rebind_symbols(&w);
    if (!w.is_refused)
        dl_iterate_phdr(rebind_object, &w);
    return w.is_refused ? PD_REBIND_REFUSED : PD_REBIND_DONE;
}
