/* What the process is made of: see account.h.
 *
 *     smaps area --> spans, each with one owner --> resident bytes of each span --> parts --> rows
 *
 * The tables are static: the thread that delivers is the only one that uses them, and nothing may be
 * allocated here. */
#include "agent/account/account.h"

#include "agent/base/agent.h"
#include "agent/base/object.h"
#include "agent/base/region.h"
#include "agent/stacks/stacks.h"

#include <unistd.h>

/* ---- the parts ------------------------------------------------------------------------------- */

typedef enum part {
    PART_LIVE,
    PART_SLACK,
    PART_ARENA_SLACK,
    PART_ANONYMOUS,
    PART_FILE_DIRTY,
    PART_FILE_CLEAN,
    PART_STACKS,
    PART_AGENT,
    PART_LEFT,
    PARTS
} part;

static const pprofdelta_frame part_frames[PARTS] = {
    [PART_LIVE] = {.name = "[live heap]"},
    [PART_SLACK] = {.name = "[allocator slack]"},
    [PART_ARENA_SLACK] = {.name = "[Python arena slack]"},
    [PART_ANONYMOUS] = {.name = "[anonymous mappings]"},
    [PART_FILE_DIRTY] = {.name = "[file mappings, private dirty]"},
    [PART_FILE_CLEAN] = {.name = "[file mappings, clean or shared]"},
    [PART_STACKS] = {.name = "[thread stacks]"},
    [PART_AGENT] = {.name = "[heap agent]"},
    [PART_LEFT] = {.name = "[left over]"},
};

/* Named rows: a part with the name of a file or of an area. */
enum { NAMES_MAX = 1024, TEXT_MAX = 64 << 10 };

static struct account {
    int64_t resident;       /* bytes of the process */
    int64_t by_part[PARTS]; /* ... and of the parts that have one row */
    int64_t heap;           /* the allocator's, with the arenas of Python */
    int64_t arenas_in_use;
    int64_t by_slot[PD_SLOTS_MAX], mapped[PD_SLOTS_MAX];
    pprofdelta_frame names[NAMES_MAX][2]; /* of the named rows: the part, and the name */
    size_t names_len, text_len;
    char text[TEXT_MAX];
    pd_range ranges[PD_RANGES_MAX];
    size_t ranges_len, ranges_at;
    uint64_t ranges_lost, areas_changed;
    bool has_stacks, has_areas, has_allocator;
    pprofdelta_heap_row rows[PD_SLOTS_MAX + NAMES_MAX + PARTS];
    size_t rows_len;
    pd_fixed_text comment;
} a;

static const pd_slot_stack no_stack;

static void add_row(const pprofdelta_frame *frames, size_t len, pd_slot_stack stack, int64_t bytes,
                    int64_t mapped)
{
    if (bytes)
        a.rows[a.rows_len++] =
            (pprofdelta_heap_row){frames, len, stack.stack, stack.depth, bytes, mapped};
}

static const char *keep_name(pd_bytes name)
{
    if (name.len >= TEXT_MAX - a.text_len)
        return NULL;
    char *kept = a.text + a.text_len;
    if (name.len)
        memcpy(kept, name.ptr, name.len);
    kept[name.len] = '\0';
    a.text_len += name.len + 1;
    return kept;
}

static pprofdelta_heap_row *find_named(part p, pd_bytes name)
{
    for (size_t i = a.rows_len; i-- > 0;) { /* the areas of a file follow each other */
        const pprofdelta_frame *frames = a.rows[i].frames;
        if (a.rows[i].frames_len == 2 && frames->name == part_frames[p].name &&
            pd_bytes_are(name, frames[1].name))
            return &a.rows[i];
    }
    return NULL;
}

/* The last rows are kept for the names that have no room. */
static void add_named(part p, pd_bytes name, uint64_t bytes, uint64_t mapped)
{
    static const char more[] = "(more)";
    if (!bytes)
        return;
    pprofdelta_heap_row *row = find_named(p, name);
    const char *kept = NULL;
    if (!row && a.names_len < NAMES_MAX - PARTS)
        kept = keep_name(name);
    if (!row && !kept && !(row = find_named(p, pd_bytes_of(more))))
        kept = more;
    if (kept) {
        pprofdelta_frame *frames = a.names[a.names_len++];
        frames[0] = part_frames[p];
        frames[1] = (pprofdelta_frame){.name = kept};
        add_row(frames, 2, no_stack, (int64_t)bytes, (int64_t)mapped);
    } else {
        row->value += (int64_t)bytes;
        row->second += (int64_t)mapped;
    }
}

static void add_text(part p, const char *name, uint64_t bytes, uint64_t mapped)
{
    add_named(p, pd_bytes_of(name), bytes, mapped);
}

/* ---- owners ---------------------------------------------------------------------------------- */

/* PART_LEFT: the area decides; PART_FILE_DIRTY: it is zero-initialised data of a file; PART_ANONYMOUS: the
 * program mapped it, with the stack of the slot. */
typedef struct owner {
    part part;
    uint32_t slot;
} owner;

static owner owner_of_slot(uint32_t slot)
{
    pd_slot_stack s = pd_mappings_stack(slot);
    if (slot == PD_SLOT_AGENT)
        return (owner){PART_AGENT, 0};
    if (slot == PD_SLOT_ARENAS)
        return (owner){PART_ARENA_SLACK, 0};
    if (slot == PD_SLOT_ALLOCATOR || (s.depth && pd_code_is_of_allocator((uintptr_t)s.stack[0])))
        return (owner){PART_LIVE, 0};
    return (owner){PART_ANONYMOUS, slot};
}

/* The zero-initialised data of loaded files: anonymous memory behind their last page. */
enum { OBJECTS_MAX = 1024 };
static pd_object_range data_ends[OBJECTS_MAX];
static size_t data_ends_len;

static int note_data(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    const uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t begin = (start + info->dlpi_phdr[i].p_filesz + mask) & ~mask;
        uintptr_t end = (start + info->dlpi_phdr[i].p_memsz + mask) & ~mask;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && begin < end && data_ends_len < OBJECTS_MAX)
            data_ends[data_ends_len++] = (pd_object_range){begin, end};
    }
    return cookie != NULL;
}

/* Returns where the data of a file ends that holds the address, or 0. */
static uintptr_t data_end_at(uintptr_t at)
{
    for (size_t i = 0; i < data_ends_len; i++)
        if (pd_object_range_has(data_ends[i], at))
            return data_ends[i].end;
    return 0;
}

/* An area that is being divided. */
typedef struct dividing {
    const pd_smaps_area *area;
    pd_bytes file; /* the file whose data precedes it */
    bool is_anonymous, is_brk;
} dividing;

static bool is_heap_by_default(const dividing *d)
{
    return d->is_brk ||
           !(pd_code_has_libc_allocator() ? pd_malloc_areas_are_known() : a.has_allocator);
}

/* Sets the owner of the memory at `at`, which nobody mapped by a call that was seen, up to `end` at
 * most. Returns where that owner's memory ends. */
static uintptr_t find_unseen(const dividing *d, uintptr_t at, uintptr_t end, owner *out)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    bool has_areas = pd_code_has_libc_allocator() && a.has_areas;
    uintptr_t until;
    *out = (owner){PART_LEFT, 0};
    if (!d->is_anonymous)
        return end;
    if ((until = data_end_at(at))) {
        out->part = PART_FILE_DIRTY;
    } else if ((until = pd_thread_stacks_end_in(at, end))) {
        out->part = PART_STACKS;
    } else if (is_heap_by_default(d)) {
        until = end;
        out->part = PART_LIVE;
    } else if (has_areas && (until = pd_malloc_area_at(at, end))) {
        out->part = PART_LIVE;
    } else {
        until = has_areas ? at + page : end;
    }
    return until < end ? until : end;
}

/* Sets the owner of the memory at `at`. Returns where it ends. */
static uintptr_t find_owner(const dividing *d, uintptr_t at, owner *out)
{
    uintptr_t end = (uintptr_t)d->area->end;
    while (a.ranges_at < a.ranges_len && a.ranges[a.ranges_at].end <= at)
        a.ranges_at++;
    if (a.ranges_at == a.ranges_len || a.ranges[a.ranges_at].begin >= end)
        return find_unseen(d, at, end, out);
    const pd_range *r = &a.ranges[a.ranges_at];
    if (r->begin > at)
        return find_unseen(d, at, r->begin, out);
    *out = owner_of_slot(r->slot);
    return r->end < end ? r->end : end;
}

/* ---- areas ----------------------------------------------------------------------------------- */

static void give_to_area(const dividing *d, uint64_t bytes, uint64_t mapped)
{
    const pd_smaps_area *area = d->area;
    uint64_t dirty = area->copied < bytes ? area->copied : bytes;
    if (d->is_anonymous) {
        add_text(PART_LEFT, "anonymous memory that no followed call mapped", bytes, mapped);
    } else if (area->inode || area->name.ptr[0] == '/') {
        add_named(PART_FILE_DIRTY, area->name, dirty, mapped);
        add_named(PART_FILE_CLEAN, area->name, bytes - dirty, mapped);
    } else if (pd_bytes_are(area->name, "[stack]")) {
        add_text(PART_STACKS, "main thread", bytes, mapped);
    } else {
        add_named(PART_LEFT, area->name, bytes, mapped);
    }
}

/* mapped: the size of the memory of which so many bytes are resident. That of a slot comes from its ranges. */
static void give_owner(const dividing *d, owner o, uint64_t bytes, uint64_t mapped)
{
    if (o.part == PART_ANONYMOUS)
        a.by_slot[o.slot] += (int64_t)bytes;
    else if (o.part == PART_STACKS)
        add_text(PART_STACKS, "other threads", bytes, mapped);
    else if (o.part == PART_FILE_DIRTY)
        add_named(PART_FILE_DIRTY, d->file, bytes, mapped);
    else if (o.part == PART_LEFT)
        give_to_area(d, bytes, mapped);
    else
        a.by_part[o.part] += (int64_t)bytes;
}

/* Gives each owner in the area its resident pages. The last one gets the rest: the numbers of pages may be of
 * a slightly later time, and include zero pages, which do not count as resident. */
static void divide_area(const dividing *d)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uintptr_t end = (uintptr_t)d->area->end;
    uint64_t rest = d->area->resident;
    owner now, next = {PART_LEFT, 0};
    for (uintptr_t from = (uintptr_t)d->area->begin, at = find_owner(d, from, &now); rest;) {
        uintptr_t until = at < end ? find_owner(d, at, &next) : end;
        bool is_same = at < end && next.part == now.part && next.slot == now.slot;
        if (!is_same) {
            uint64_t bytes = at < end ? pd_residency_count(from, at) * page : rest;
            bytes = bytes < rest ? bytes : rest;
            give_owner(d, now, bytes, at - from);
            rest -= bytes;
            from = at;
            now = next;
        }
        at = until;
    }
}

static void take_area(void *cookie, const pd_smaps_area *area)
{
    static char file[4096];
    dividing *d = cookie;
    d->area = area;
    d->is_brk = pd_bytes_begin(area->name, "[heap]");
    d->is_anonymous = !area->name.len || d->is_brk || pd_bytes_begin(area->name, "[anon");
    if (area->inode) {
        size_t len = area->name.len < sizeof file ? area->name.len : sizeof file;
        memcpy(file, area->name.ptr, len);
        d->file = (pd_bytes){(const uint8_t *)file, len};
    }
    if (!area->resident)
        return;
    a.resident += (int64_t)area->resident;
    a.areas_changed += area->is_rest;
    divide_area(d);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A stack through code that has been unloaded since has no names any more. */
static void add_mapping_row(uint32_t slot)
{
    pd_slot_stack s = pd_mappings_stack(slot);
    if (!s.depth)
        add_text(PART_ANONYMOUS, "(no room for the stack)", (uint64_t)a.by_slot[slot],
                 (uint64_t)a.mapped[slot]);
    else if (pd_unloaded_number(s.stack, s.depth) != s.code)
        add_text(PART_ANONYMOUS, "(code that was unloaded)", (uint64_t)a.by_slot[slot],
                 (uint64_t)a.mapped[slot]);
    else
        add_row(&part_frames[PART_ANONYMOUS], 1, s, a.by_slot[slot], a.mapped[slot]);
}

/* What is in use in the arenas of Python is in the live heap, too, so what they have beyond that is slack. */
static void make_rows(int64_t live)
{
    const int64_t slack = live < a.heap ? a.heap - live : 0;
    int64_t *of_arenas = &a.by_part[PART_ARENA_SLACK];
    *of_arenas = *of_arenas > a.arenas_in_use ? *of_arenas - a.arenas_in_use : 0;
    *of_arenas = *of_arenas < slack ? *of_arenas : slack;
    a.by_part[PART_LIVE] = a.heap - slack;
    a.by_part[PART_SLACK] = slack - *of_arenas;
    for (part p = 0; p < PARTS; p++)
        add_row(&part_frames[p], 1, no_stack, a.by_part[p], 0);
    for (uint32_t slot = 0; slot < PD_SLOTS_MAX; slot++)
        if (a.by_slot[slot])
            add_mapping_row(slot);
}

static void make_comment(int64_t live, int64_t arenas, bool is_last)
{
    pd_text_add(&a.comment, "pprofdelta: account rss=%jd live_estimate=%jd heap_resident=%jd",
                (intmax_t)a.resident, (intmax_t)live, (intmax_t)a.heap);
    if (arenas)
        pd_text_add(&a.comment, " python_arenas=%jd python_arenas_in_use=%jd", (intmax_t)arenas,
                    (intmax_t)a.arenas_in_use);
    if (!is_last) /* the thread that ends the process may hold a lock of the allocator */
        pd_counters_add(&a.comment);
    if (!a.has_stacks)
        pd_text_add(&a.comment, "; the stacks of threads are not known");
    if (!a.has_areas)
        pd_text_add(&a.comment, "; the memory of malloc is not known");
    if (a.ranges_lost)
        pd_text_add(&a.comment, "; mappings without room: %ju", (uintmax_t)a.ranges_lost);
    if (a.areas_changed)
        pd_text_add(&a.comment, "; RSS is not exact, since areas changed while they were read: %ju",
                    (uintmax_t)a.areas_changed);
}

/* ---- for a recovery: base/remains.h ------------------------------------------------------------ */

/* Returns how long the row is in the file, or 0 if it has no room there. */
static size_t save_row(char *to, size_t room, const pprofdelta_heap_row *row)
{
    const size_t stack_size = row->depth * sizeof *row->stack;
    size_t size = sizeof(pd_remains_row) + stack_size;
    for (size_t i = 0; i < row->frames_len; i++)
        size += strlen(row->frames[i].name) + 1;
    size = (size + 7) & ~(size_t)7;
    if (size > room)
        return 0;
    pd_remains_row *out = (void *)to;
    *out = (pd_remains_row){row->value, row->second, (uint32_t)size, (uint16_t)row->depth,
                            (uint16_t)row->frames_len};
    if (stack_size)
        memcpy(out + 1, row->stack, stack_size);
    char *text = (char *)(out + 1) + stack_size;
    for (size_t i = 0; i < row->frames_len; i++)
        text = stpcpy(text, row->frames[i].name) + 1;
    return size;
}

/* What has no room becomes one row, so that the sum is RSS. The check comes last. */
static void save_account(void)
{
    enum { LAST_ROW = 64 };
    const pprofdelta_frame frames[] = {part_frames[PART_LEFT], {.name = "(more)"}};
    pprofdelta_heap_row more = {.frames = frames, .frames_len = 2};
    pd_remains_account *to = &pd_region_head()->account;
    size_t len = 0;
    to->check = 0;
    atomic_signal_fence(memory_order_seq_cst);
    for (size_t i = 0; i < a.rows_len; i++) {
        size_t size = save_row(to->rows + len, sizeof to->rows - LAST_ROW - len, &a.rows[i]);
        more.value += size ? 0 : a.rows[i].value;
        len += size;
    }
    if (more.value)
        len += save_row(to->rows + len, LAST_ROW - sizeof(uint64_t), &more);
    memcpy(to->comment, a.comment.bytes, sizeof to->comment);
    to->nanos = pd_now();
    to->len = len;
    const uint64_t check = pd_remains_check(&to->check, pd_remains_size_of_account(to));
    atomic_signal_fence(memory_order_seq_cst);
    to->check = check;
}

/* ---- when ------------------------------------------------------------------------------------ */

static const int64_t most_credit = 100000000;
static int64_t credit;     /* nanoseconds of processor time that accounts may take at once */
static uint64_t last_time; /* when the credit was computed; 0: never */
static int64_t last_cost =
    1000000; /* nanoseconds that the last account took, also that of a parent */

/* Accounts may take a hundredth of the time. What was not taken is kept for later, up to a tenth of
 * a second. The last account is always made, except in a process that has lived too short for one: a program
 * may start thousands of those. */
static bool is_due(bool is_last)
{
    uint64_t now = pd_nanos_of(CLOCK_MONOTONIC), gained = (now - last_time) / 100;
    bool is_full = !last_time || gained > 1000 * (uint64_t)most_credit;
    credit = is_full ? most_credit : credit + (int64_t)gained;
    credit = credit < most_credit ? credit : most_credit;
    last_time = now;
    if (!is_last)
        return credit > 0;
    return !pd_agent_is_young() && (pd_now() - pd_the_agent.begun_nanos) / 100 >= last_cost;
}

/* ---- the account ----------------------------------------------------------------------------- */

static void clear_account(void)
{
    memset(a.by_part, 0, sizeof a.by_part);
    a.resident = a.arenas_in_use = 0;
    a.areas_changed = 0;
    a.names_len = a.text_len = a.rows_len = a.ranges_at = a.comment.len = 0;
    a.comment.bytes[0] = '\0';
}

static void find_all(void)
{
    memset(a.by_slot, 0, sizeof a.by_slot);
    memset(a.mapped, 0, sizeof a.mapped);
    a.ranges_len = pd_mappings_pin(a.ranges, &a.ranges_lost);
    a.has_allocator = false;
    for (size_t i = 0; i < a.ranges_len; i++) {
        a.has_allocator = a.has_allocator || owner_of_slot(a.ranges[i].slot).part == PART_LIVE;
        a.mapped[a.ranges[i].slot] += (int64_t)(a.ranges[i].end - a.ranges[i].begin);
    }
    data_ends_len = 0;
    if (pd_loader_answers(0))
        dl_iterate_phdr(note_data, NULL);
    a.has_stacks = pd_thread_stacks_find();
    bool is_needed = pd_code_has_libc_allocator() && pd_malloc_areas_are_known();
    a.has_areas = pd_memory_begin() || !is_needed;
}

static void make_account(const pprofdelta_heap_stats *stats, bool is_last)
{
    dividing d = {.area = NULL};
    uint64_t begun = pd_nanos_of(CLOCK_THREAD_CPUTIME_ID);
    find_all();
    int error = pd_smaps_read(take_area, &d);
    const int64_t arenas = a.by_part[PART_ARENA_SLACK];
    a.heap = a.by_part[PART_LIVE] + arenas;
    for (size_t i = 0; i < a.ranges_len && arenas; i++)
        if (a.ranges[i].slot == PD_SLOT_ARENAS)
            a.arenas_in_use += (int64_t)pd_arenas_in_use(a.ranges[i].begin, a.ranges[i].end);
    pd_memory_end();
    last_cost = (int64_t)(pd_nanos_of(CLOCK_THREAD_CPUTIME_ID) - begun);
    credit -= last_cost;
    if (error) {
        pd_text_add(&a.comment, "pprofdelta: no account: /proc/self/smaps cannot be read: %s",
                    pd_words_of_error(error));
        return;
    }
    const int64_t live = stats->inuse_bytes > 0 ? stats->inuse_bytes : 0;
    make_rows(live);
    make_comment(live, arenas, is_last);
    if (pd_region_head())
        save_account();
}

void pd_account_add(pprofdelta_heap *heap, bool is_last)
{
    pprofdelta_error err;
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    if (!pd_given.account)
        return;
    clear_account();
    pprofdelta_heap_describe(heap, &stats);
    if (is_due(is_last))
        make_account(&stats, is_last);
    else
        pd_text_add(&a.comment,
                    "pprofdelta: no account: accounts would take more than 1%% of the time");
    pprofdelta_heap_set_gauge(heap, a.rows, a.rows_len, a.comment.bytes, &err);
}

void pd_account_done(void)
{
    if (pd_given.account)
        pd_mappings_unpin();
}
