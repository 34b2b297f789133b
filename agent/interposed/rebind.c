/* Replaces functions that a program may have or lack: see rebind.h. */
#include "agent/interposed/rebind.h"

#include "agent/base/object.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- changing a table ------------------------------------------------------------------------ */

/* Returns the protection of a page: that of its segment, or read-only if the loader has set that
 * after binding (RELRO). */
static int protection_of(const pd_object *o, uintptr_t page, uintptr_t page_len)
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
static bool write_word(const pd_object *o, void *at, uintptr_t word)
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

static uintptr_t word_at(const void *place)
{
    uintptr_t word;
    memcpy(&word, place, sizeof word);
    return word;
}

typedef struct slot {
    const pd_object *object;
    const char *name;
    uintptr_t now;
    bool is_call; /* it is of the procedure linkage table, and perhaps not filled yet */
} slot;

/* One call of pd_rebind, or of pd_slots_replace. */
typedef struct work {
    uintptr_t (*choose)(const struct work *w, const slot *s); /* returns its value; 0: as it is */
    pd_object owner; /* of the functions: the library, or the agent; without symbols: not found */
    const pd_rebound *functions;
    size_t len;
    bool has_seen_program, is_undone, is_refused;
} work;

static void set_slots(work *w, const pd_object *o, const pd_relocations *r)
{
    const size_t len = r->rows ? r->size / sizeof *r->rows : 0;
    for (size_t i = 0; i < len; i++) {
        slot s = {.object = o, .is_call = r == &o->calls};
        uintptr_t *at = pd_object_slot(o, &r->rows[i], &s.name);
        if (!s.name || (uintptr_t)at % sizeof *at)
            continue;
        s.now = word_at(at);
        const uintptr_t value = w->choose(w, &s);
        if (value && value != s.now)
            w->is_refused |= !write_word(o, at, value);
    }
}

static int set_slots_of_object(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    pd_object o;
    if (!pd_object_open(&o, info))
        return 0;
    set_slots(cookie, &o, &o.plain);
    set_slots(cookie, &o, &o.calls);
    return 0;
}

static bool is_agent(const pd_object *o)
{
    return pd_object_range_has(o->range, (uintptr_t)pd_rebind);
}

/* ---- the functions of a library -------------------------------------------------------------- */

static const pd_rebound *find_function(const work *w, const char *name)
{
    for (size_t i = 0; i < w->len; i++)
        if (strcmp(w->functions[i].name, name) == 0)
            return &w->functions[i];
    return NULL;
}

/* Where the loader has put another function under the name: the agent's in slots of other objects, its own in the
 * calls of the library. A slot that the loader has not filled yet points into the object itself, and the loader will
 * fill it with the agent's function. */
static uintptr_t choose_for_library(const work *w, const slot *s)
{
    const bool is_library = s->object->range.begin == w->owner.range.begin;
    const bool is_meant = is_library ? s->is_call : pd_object_range_has(w->owner.range, s->now);
    const pd_rebound *f = is_meant ? find_function(w, s->name) : NULL;
    const uintptr_t real = f ? word_at(f->real) : 0;
    return !real ? 0 : is_library ? real : s->now == real ? (uintptr_t)f->ours : 0;
}

/* Finds the first object in the loader's order that has the first function. The program comes
 * first. */
static int find_library(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    work *w = cookie;
    pd_object o;
    bool is_program = !w->has_seen_program;
    w->has_seen_program = true;
    if (!pd_object_open(&o, info) || is_agent(&o) || !pd_object_find(&o, w->functions[0].name))
        return 0;
    if (!is_program)
        w->owner = o;
    return 1;
}

/* Replaces the functions in the library's symbol table, to which the loader adds the library's
 * base. */
static void rebind_symbols(work *w)
{
    for (size_t i = 0; i < w->len && !w->is_refused; i++) {
        const pd_rebound *f = &w->functions[i];
        ElfW(Sym) *symbol = word_at(f->real) ? pd_object_find(&w->owner, f->name) : NULL;
        w->is_refused |=
            symbol && !write_word(&w->owner, &symbol->st_value, (uintptr_t)f->ours - w->owner.base);
    }
}

pd_rebind_outcome pd_rebind(const pd_rebound *functions, size_t len)
{
    work w = {.choose = choose_for_library, .functions = functions, .len = len};
    dl_iterate_phdr(find_library, &w);
    if (!w.owner.symbols)
        return PD_REBIND_NONE;
    for (size_t i = 0; i < len; i++) {
        const ElfW(Sym) *symbol = pd_object_find(&w.owner, functions[i].name);
        uintptr_t real = symbol ? w.owner.base + symbol->st_value : 0;
        memcpy(functions[i].real, &real, sizeof real);
    }
    set_slots(&w, &w.owner, &w.owner.calls);
    if (!w.is_refused)
        rebind_symbols(&w);
    if (!w.is_refused)
        dl_iterate_phdr(set_slots_of_object, &w);
    return w.is_refused ? PD_REBIND_REFUSED : PD_REBIND_DONE;
}

/* ---- a late start ---------------------------------------------------------------------------- */

/* Returns the function that the program calls without the agent, or 0. */
static uintptr_t real_of(const work *w, const ElfW(Sym) * ours, const char *name)
{
    enum { MOST = 1024, NOWHERE = 1 };
    static uintptr_t known[MOST]; /* 0: not looked up yet */
    const size_t at = (size_t)(ours - w->owner.symbols);
    if (at >= MOST)
        return 0;
    if (!known[at])
        known[at] = pd_next_definition(name);
    known[at] = known[at] ? known[at] : NOWHERE;
    return known[at] == NOWHERE ? 0 : known[at];
}

/* A slot of the procedure linkage table that the loader has not filled yet points into the object. */
static bool is_unbound(const slot *s)
{
    return s->is_call && pd_object_range_has(s->object->range, s->now) &&
           !pd_object_find(s->object, s->name);
}

/* What has another value was set by somebody else. */
static uintptr_t choose_for_agent(const work *w, const slot *s)
{
    const ElfW(Sym) *symbol = pd_object_find(&w->owner, s->name);
    const uintptr_t real = symbol ? real_of(w, symbol, s->name) : 0;
    const uintptr_t ours = real ? w->owner.base + symbol->st_value : 0;
    if (w->is_undone)
        return real && s->now == ours ? real : 0;
    return real && (s->now == real || is_unbound(s)) ? ours : 0;
}

static int find_agent(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    work *w = cookie;
    return pd_object_open(&w->owner, info) && is_agent(&w->owner);
}

bool pd_slots_replace(bool is_undone)
{
    work w = {.choose = choose_for_agent, .is_undone = is_undone};
    if (!dl_iterate_phdr(find_agent, &w))
        return false;
    dl_iterate_phdr(set_slots_of_object, &w);
    return !w.is_refused;
}

static int define_malloc(struct dl_phdr_info *info, size_t size, void *defines)
{
    (void)size;
    pd_object o;
    *(bool *)defines = pd_object_open(&o, info) && pd_object_find(&o, "malloc");
    return 1; /* the program is the first one */
}

bool pd_program_has_malloc(void)
{
    bool defines = false;
    dl_iterate_phdr(define_malloc, &defines);
    return defines;
}
