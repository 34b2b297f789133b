/* The objects of the process: see object.h. */
#include "agent/base/object.h"

#include <stdatomic.h>
#include <string.h>

pd_object_range pd_object_range_of(const struct dl_phdr_info *info)
{
    pd_object_range range = {UINTPTR_MAX, 0};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        range.begin = begin < range.begin ? begin : range.begin;
        range.end = end > range.end ? end : range.end;
    }
    return range;
}

bool pd_object_holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

typedef struct range_search {
    uintptr_t address;
    pd_object_range found;
    const char *path;
} range_search;

static int find_range(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    range_search *s = cookie;
    const bool is_it = pd_object_holds(info, s->address);
    if (is_it)
        *s = (range_search){s->address, pd_object_range_of(info), info->dlpi_name};
    return is_it;
}

pd_object_range pd_object_range_at(uintptr_t address, const char **path)
{
    range_search s = {.address = address};
    dl_iterate_phdr(find_range, &s);
    if (path && s.path)
        *path = s.path;
    return s.found;
}

/* ---- whose code is an address ----------------------------------------------------------------- */

enum { AGENT, LIBC, THREADS, ALLOCATOR, OWNERS };
static pd_object_range ranges[OWNERS];

/* Older C libraries have the functions of threads in a library of their own. */
void pd_code_begin(void)
{
    ranges[AGENT] = pd_object_range_at((uintptr_t)pd_code_begin, NULL);
    ranges[ALLOCATOR] = pd_object_range_at(pd_next_definition("malloc"), NULL);
    ranges[LIBC] = pd_object_range_at(pd_next_definition("getpid"), NULL);
    ranges[THREADS] = pd_object_range_at(pd_next_definition("pthread_getattr_np"), NULL);
}

pd_object_range pd_code_own(void)
{
    return ranges[AGENT];
}

bool pd_code_is_own(uintptr_t pc)
{
    return pd_object_range_has(ranges[AGENT], pc);
}

bool pd_code_is_of_libc(uintptr_t pc)
{
    return pd_object_range_has(ranges[LIBC], pc) || pd_object_range_has(ranges[THREADS], pc);
}

bool pd_code_has_libc_allocator(void)
{
    return ranges[ALLOCATOR].begin == ranges[LIBC].begin;
}

bool pd_code_is_of_allocator(uintptr_t pc)
{
    return pd_object_range_has(ranges[ALLOCATOR], pc) && !pd_code_has_libc_allocator();
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The rows of the dynamic section that are needed, and the members that they set. */
static const struct {
    int64_t tag;
    size_t off; /* of the member, a pointer or a length */
    bool is_address;
} members[] = {
    {DT_SYMTAB, offsetof(pd_object, symbols), true},
    {DT_STRTAB, offsetof(pd_object, names), true},
    {DT_GNU_HASH, offsetof(pd_object, hash), true},
    {DT_HASH, offsetof(pd_object, old_hash), true},
    {DT_VERSYM, offsetof(pd_object, versions), true},
    {PD_RELOCATIONS, offsetof(pd_object, plain.rows), true},
    {PD_RELOCATIONS_SIZE, offsetof(pd_object, plain.size), false},
    {DT_JMPREL, offsetof(pd_object, calls.rows), true},
    {DT_PLTRELSZ, offsetof(pd_object, calls.size), false},
};

static void note_row(pd_object *o, const ElfW(Dyn) * row)
{
    uintptr_t value = (uintptr_t)row->d_un.d_val;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        uintptr_t at = members[i].is_address && value < o->base ? o->base + value : value;
        if (row->d_tag == members[i].tag)
            memcpy((char *)o + members[i].off, &at, sizeof at);
    }
}

/* Most C libraries convert the table's addresses to those in
 * memory. musl does not. */
bool pd_object_open(pd_object *o, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *row = NULL;
    *o = (pd_object){.base = info->dlpi_addr,
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

/* An older version of a function, which only programs that were linked with it call, is hidden. */
static bool is_function(const pd_object *o, const ElfW(Sym) * symbol, const char *name)
{
    const uint16_t hidden = 0x8000;
    unsigned char type = symbol->st_info & 15;
    return !(o->versions && o->versions[symbol - o->symbols] & hidden) &&
           symbol->st_shndx != SHN_UNDEF && symbol->st_value && type == STT_FUNC &&
           strcmp(o->names + symbol->st_name, name) == 0;
}

/* Few objects have no other table than the older one, whose second number is that of the symbols. */
static ElfW(Sym) * find_in_all(const pd_object *o, const char *name)
{
    const uint32_t len = o->old_hash ? o->old_hash[1] : 0;
    for (uint32_t i = 0; i < len; i++)
        if (is_function(o, &o->symbols[i], name))
            return &o->symbols[i];
    return NULL;
}

ElfW(Sym) * pd_object_find(const pd_object *o, const char *name)
{
    if (!o->hash)
        return find_in_all(o, name);
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

uintptr_t *pd_object_slot(const pd_object *o, const pd_relocation *row, const char **name)
{
#if __SIZEOF_POINTER__ == 8
    size_t symbol = (size_t)ELF64_R_SYM(row->r_info);
#else
    size_t symbol = (size_t)ELF32_R_SYM(row->r_info);
#endif
    *name = symbol ? o->names + o->symbols[symbol].st_name : NULL;
    return (uintptr_t *)(o->base + row->r_offset); // NOLINT(performance-no-int-to-ptr)
}

/* ---- a late start ---------------------------------------------------------------------------- */

/* What is preloaded comes before the C library. */
static int find_first(struct dl_phdr_info *info, size_t size, void *is_late)
{
    (void)size;
    bool is_libc = pd_object_holds(info, (uintptr_t)gnu_get_libc_version);
    *(bool *)is_late = is_libc;
    return is_libc || pd_object_holds(info, (uintptr_t)pd_is_late);
}

bool pd_is_late(void)
{
    enum { NOT_KNOWN, NO, YES };
    static atomic_int answer; /* NOT_KNOWN */
    bool is_late = false;
    if (atomic_load(&answer) == NOT_KNOWN) {
        if (pd_is_glibc())
            dl_iterate_phdr(find_first, &is_late);
        atomic_store(&answer, is_late ? YES : NO);
    }
    return atomic_load(&answer) == YES;
}

typedef struct function_search {
    const pd_named_function *functions;
    size_t len;
    bool is_behind; /* the agent's place in the order has been passed, or does not count */
} function_search;

static int find_in_object(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    function_search *s = cookie;
    const bool is_own = pd_object_holds(info, (uintptr_t)pd_is_late);
    pd_object o;
    s->is_behind |= is_own;
    if (is_own || !s->is_behind || !pd_object_open(&o, info))
        return 0;
    for (const pd_named_function *f = s->functions; f < s->functions + s->len; f++) {
        uintptr_t address;
        memcpy(&address, f->function, sizeof address);
        const ElfW(Sym) *symbol = address ? NULL : pd_object_find(&o, f->name);
        address = symbol ? o.base + symbol->st_value : address;
        memcpy(f->function, &address, sizeof address);
    }
    return 0;
}

void pd_find_functions(const pd_named_function *functions, size_t len)
{
    function_search s = {functions, len, pd_is_late()};
    dl_iterate_phdr(find_in_object, &s);
}

uintptr_t pd_next_definition(const char *name)
{
    uintptr_t found = 0;
    pd_find_functions(&(pd_named_function){name, &found}, 1);
    return found;
}
