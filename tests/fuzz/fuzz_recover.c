/* The memory of a dead tracker, changed as the input tells: pprofdelta_heap_recover ends, and either refuses it or
 * makes a window that is a valid profile. If the checks were not made anew after the changes, the window is the true
 * one, or something is left out and that is said, and each value of the rest is true.
 *
 *     input   how | change ...         a change: where, and what becomes of the word or the page there
 *
 *     how     1       the checks of the root, the notes and all sites and cells are made anew: then the changes are
 *                     believed, as far as nothing else speaks against them
 *             4 ...   at most 1, 2, 4 ... 128 changes; below: all */
#include "fuzz.h"

#include "heap/heap.h"
#include "live.h"
#include "program.h"

enum { AREA = 1 << 20, STACKS = 9, PAGE = 4096 };
enum { STRIDE = 61 }; /* in words: so that small numbers name places in all of the memory */

static _Alignas(4096) uint8_t area[AREA];
static uint8_t whole[AREA]; /* the area as the tracker left it */
static size_t used;
static pprofdelta_heap *tracker;
static buf truth;
static live_profile true_profile;

/* Where the elements are: the directories of the pools may be changed, too. */
enum { MOST_ELEMENTS = 256 };
static pd_site *sites[MOST_ELEMENTS];
static pd_ended *cells[MOST_ELEMENTS];
static uint32_t sites_len, cells_len;

static const pprofdelta_heap_options plain = {.size = sizeof plain,
                                              .flags = PPROFDELTA_HEAP_AGES,
                                              .id = 7,
                                              .started_nanos = 1,
                                              .compression = PPROFDELTA_PLAIN,
                                              .max_live = 100,
                                              .max_sites = 20,
                                              .max_export = FUZZ_MAX_MEMORY};

static void *take_pages(void *cookie, size_t size)
{
    (void)cookie;
    uint8_t *pages = area + used;
    if (size > AREA - used)
        return NULL;
    used += size;
    return pages;
}

static void keep_pages(void *cookie, void *ptr, size_t size)
{
    (void)cookie, (void)ptr, (void)size;
}

/* Recovers the area and writes the window. */
static pprofdelta_status recover(arena *a, buf *out, uint64_t *left_out)
{
    const pprofdelta_heap_area all = {area, AREA, (uintptr_t)area};
    const pprofdelta_heap_remains remains = {&all, 1, (uintptr_t)tracker};
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_error err = fuzz_unfilled();
    live_mail mail = {.arena = a};
    const pprofdelta_sink sink = live_sink(&mail);
    pprofdelta_heap *heap = NULL;
    pprofdelta_status status = pprofdelta_heap_recover(&remains, &plain, &heap, &err);
    require(!status == (heap != NULL));
    if (status)
        return status;
    pprofdelta_heap_describe(heap, &stats);
    *left_out = stats.left_out;
    require(!pprofdelta_heap_begin(heap, 1000, NULL, NULL));
    status = pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, &err);
    require(!status || status == PPROFDELTA_E_LIMIT);
    require(status || !pprofdelta_heap_commit(heap));
    *out = (buf){.ptr = (uint8_t *)(uintptr_t)mail.bytes, .len = mail.len};
    pprofdelta_heap_free(heap);
    return status;
}

static void track(size_t number)
{
    static const pprofdelta_label label = {.key = "pool", .str = "small"};
    const uint64_t stack[] = {0x100 + number % STACKS, 0x200, 0x300};
    const pprofdelta_heap_event event = {.ptr = live_pointer(number),
                                         .weight = {1, 100},
                                         .stack = stack,
                                         .depth = 1 + number % 3,
                                         .labels = &label,
                                         .labels_len = number % STACKS == 4};
    require(pprofdelta_heap_track(tracker, &event));
}

/* A tracker with allocations, ends of each age, a window that arrived, and one that did not. */
static void make_tracker(void)
{
    static const pprofdelta_heap_pages pages = {take_pages, keep_pages, NULL};
    static arena kept;
    live_mail mail = {.arena = &kept};
    const pprofdelta_sink sink = live_sink(&mail);
    static pprofdelta_heap_filter filter;
    pprofdelta_heap_options options = plain;
    options.pages = &pages;
    options.filter = &filter;
    require(!pprofdelta_heap_new(&options, &tracker, NULL));
    for (size_t window = 0; window < 4; window++) {
        for (size_t i = 0; i < 12; i++)
            track(window * 12 + i);
        for (size_t i = 0; i < window * 8; i++)
            pprofdelta_heap_untrack(tracker, live_pointer(i * 3));
        require(!pprofdelta_heap_begin(tracker, 10 * (int64_t)window + 10, NULL, NULL));
        mail.refuses = window % 2;
        if (!pprofdelta_heap_write(tracker, PPROFDELTA_HEAP_CHANGES, &sink, NULL))
            pprofdelta_heap_commit(tracker);
        else if (window < 3)
            pprofdelta_heap_abandon(tracker);
    }
    sites_len = tracker->sites.pool.made;
    cells_len = tracker->sites.ended.made;
    require(sites_len < MOST_ELEMENTS && cells_len && cells_len < MOST_ELEMENTS);
    for (uint32_t number = 1; number <= sites_len; number++)
        sites[number] = pd_site_at(&tracker->sites, number);
    for (uint32_t number = 1; number <= cells_len; number++)
        cells[number] = pd_pool_at(&tracker->sites.ended, number);
    memcpy(whole, area, AREA);
}

/* The elements stay where they are; what they say is believed. */
static void make_checks_anew(void)
{
    tracker->seal = pd_heap_seal(tracker);
    tracker->sites.peak_seal = pd_peak_seal(tracker);
    for (int i = 0; i < 2; i++) {
        pd_heap_journal *journal = &tracker->export.journal[i];
        journal->check = pd_heap_check_of(journal, sizeof *journal);
    }
    for (uint32_t number = 1; number <= sites_len; number++)
        sites[number]->check = pd_site_check(sites[number], number);
    for (uint32_t number = 1; number <= cells_len; number++)
        cells[number]->check = pd_ages_check(cells[number], number);
}

static uint64_t *page_of(uint64_t *words, const uint64_t *word)
{
    return &words[(size_t)(word - words) / (PAGE / sizeof *words) * (PAGE / sizeof *words)];
}

static void change(program *in)
{
    uint64_t *words = (uint64_t *)(void *)area, *word;
    const size_t len = used / sizeof *words;
    const unsigned how = program_byte(in);
    const uint64_t value = program_number(in);
    word = &words[program_number(in) * STRIDE % len];
    for (size_t more = len; more && !*word; more--) /* most of the pages are zeros */
        word = &words[(size_t)(word - words + 1) % len];
    switch (how % 6) {
    case 0:
        *word = value;
        break;
    case 1:
        *word ^= UINT64_C(1) << value % 64;
        break;
    case 2:
        *word += value - 128;
        break;
    case 3:
        *word = words[value % len];
        break;
    case 4:
        *word = (uintptr_t)area + value * sizeof *words;
        break;
    default: /* a page: filled, or with what is in another one */
        if (how / 6 % 2)
            memmove(page_of(words, word), page_of(words, &words[value % len]), PAGE);
        else
            memset(page_of(words, word), (int)(value & 0xff), PAGE);
    }
}

/* The window is the true one without some of its values. */
static void require_part_of_truth(arena *a, buf out)
{
    live_profile p;
    require(live_read(a, out.ptr, out.len, &p));
    require(p.sequence == true_profile.sequence && p.attempt == true_profile.attempt);
    require(!strcmp(p.kind, true_profile.kind));
    for (size_t i = 0; i < p.sums.len; i++) {
        const live_row *row = live_find(&true_profile.sums, p.sums.rows[i].key);
        for (size_t type = 0; type < LIVE_TYPES; type++)
            require(!p.sums.rows[i].values[type] ||
                    (row && p.sums.rows[i].values[type] == row->values[type]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    program in = program_of(data, size);
    arena a = {0};
    pprofdelta_census census;
    pprofdelta_error err = fuzz_unfilled();
    uint64_t left_out = 0;
    buf out = {0};
    if (size > PROGRAM_MOST_BYTES)
        return 0;
    if (!tracker) {
        static arena kept;
        make_tracker();
        require(!recover(&kept, &truth, &left_out) && !left_out);
        require(live_read(&kept, truth.ptr, truth.len, &true_profile));
    }
    memcpy(area, whole, AREA);
    const pprofdelta_heap then = *tracker;
    const unsigned how = program_byte(&in);
    const bool is_believed = how & 1;
    for (unsigned most = 1U << how / 4 % 8; program_has_more(&in) && (how < 4 || most); most--)
        change(&in);
    if (is_believed) {
        make_checks_anew();
    } else { /* one word each, with a value that an attacker may choose */
        tracker->sites.writing = then.sites.writing;
        tracker->export.is_resync_wanted = then.export.is_resync_wanted;
    }
    pprofdelta_status status = recover(&a, &out, &left_out);
    require(!status || status == PPROFDELTA_E_STATE || status == PPROFDELTA_E_LIMIT ||
            status == PPROFDELTA_E_MEMORY);
    if (!status)
        require(!fuzz_census(out.ptr, out.len, &census, &err));
    if (!status && !is_believed && !left_out)
        require(out.len == truth.len && !memcmp(out.ptr, truth.ptr, out.len));
    else if (!status && !is_believed)
        require_part_of_truth(&a, out);
    arena_free(&a);
    return 0;
}
