/* The largest sites, without allocation.
 *
 * The lock is taken if it is free. It may be held by the very thread that was interrupted; then the
 * sites are read without it. Elements never move, their pages are never unmapped, and the depth of
 * a trace never leads out of its block. So the worst that happens are numbers of slightly different
 * times. */
#include "process/proc.h"
#include "heap/heap.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct site_use {
    int64_t objects, bytes;
    const pd_trace *trace; /* NULL: nothing in use */
} site_use;

static site_use read_site(const pd_sites *sites, uint32_t number)
{
    const pd_site *site = pd_site_at(sites, number);
    return (site_use){.objects = __atomic_load_n(&site->live[0], __ATOMIC_RELAXED),
                      .bytes = __atomic_load_n(&site->live[1], __ATOMIC_RELAXED),
                      .trace = __atomic_load_n(&site->trace, __ATOMIC_ACQUIRE)};
}

/* ---- text, without stdio --------------------------------------------------------------------- */

typedef struct text_out {
    int fd;
    int trouble; /* errno, sticky */
    pprofdelta_heap_namer *name;
    void *cookie;
    size_t len;
    char text[1024];
} text_out;

static void flush_text(text_out *p)
{
    for (size_t done = 0; done < p->len && !p->trouble;) {
        ssize_t wrote = write(p->fd, p->text + done, p->len - done);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (wrote < 0 && errno != EINTR)
            p->trouble = errno;
    }
    p->len = 0;
}

static void put_bytes(text_out *p, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (p->len == sizeof p->text)
            flush_text(p);
        p->text[p->len++] = text[i];
    }
}

static void put_text(text_out *p, const char *text)
{
    put_bytes(p, text, strlen(text));
}

static void put_number(text_out *p, uint64_t value, unsigned base)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = "0123456789abcdef"[value % base];
    while (value /= base);
    put_bytes(p, digits + at, sizeof digits - at);
}

/* `objects: bytes [objects: bytes] @`. The second pair is what was allocated, which is not known
 * here: what is in use is repeated. */
static void put_counts(text_out *p, const site_use *g)
{
    for (int i = 0; i < 2; i++) {
        put_text(p, i ? " [" : "");
        put_number(p, g->objects > 0 ? (uint64_t)g->objects : 0, 10);
        put_text(p, ": ");
        put_number(p, g->bytes > 0 ? (uint64_t)g->bytes : 0, 10);
    }
    put_text(p, "] @");
}

/* A comment for those who read the text: "#  0x50597f5d00001238  rows.load  /srv/app/rows.py:42". */
static void put_frame(text_out *p, uint64_t number)
{
    pprofdelta_frame frame = {.name = NULL};
    if (!p->name || !p->name(p->cookie, number, &frame))
        return;
    put_text(p, "#  0x");
    put_number(p, number + 1, 16);
    put_text(p, "  ");
    put_text(p, frame.name);
    put_text(p, "  ");
    put_text(p, frame.filename);
    put_text(p, ":");
    put_number(p, (uint64_t)frame.line, 10);
    put_text(p, "\n");
}

/* Readers of this format expect return addresses and subtract 1. A site may be removed or changed after it was
 * ranked. */
static void put_site(text_out *p, const pd_sites *sites, uint32_t number)
{
    const site_use g = read_site(sites, number);
    if (!g.trace || (!g.objects && !g.bytes))
        return;
    uint32_t depth = __atomic_load_n(&g.trace->depth, __ATOMIC_RELAXED);
    put_counts(p, &g);
    for (uint32_t i = 0; i < depth; i++) {
        put_text(p, " 0x");
        put_number(p, __atomic_load_n(&g.trace->stack[i], __ATOMIC_RELAXED) + 1, 16);
    }
    put_text(p, "\n");
    for (uint32_t i = 0; i < depth; i++)
        put_frame(p, __atomic_load_n(&g.trace->stack[i], __ATOMIC_RELAXED));
}

/* Readers take a dump without mappings for truncated, so a dump that has none says so. */
static void put_mappings(text_out *p, bool has_mappings)
{
    int fd = has_mappings ? pd_proc_open_maps() : -1;
    put_text(p, "\nMAPPED_LIBRARIES:\n");
    put_text(p, fd < 0 ? "# none\n" : "");
    flush_text(p);
    if (fd < 0)
        return;
    for (;;) {
        ssize_t got = read(fd, p->text, sizeof p->text);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        p->len = (size_t)got;
        flush_text(p);
    }
    close(fd);
}

/* A site in the ranking. Its stack is read when it is printed. */
typedef struct ranked {
    int64_t bytes;
    uint32_t number;
} ranked;

static size_t rank_sites(const pd_sites *sites, uint32_t made, ranked *out, size_t n)
{
    size_t len = 0;
    for (uint32_t number = 1; n && number <= made; number++) {
        site_use g = read_site(sites, number);
        if (!g.trace || g.bytes <= 0 || (len == n && out[n - 1].bytes >= g.bytes))
            continue;
        size_t at = len < n ? len++ : n - 1;
        for (; at && out[at - 1].bytes < g.bytes; at--)
            out[at] = out[at - 1];
        out[at] = (ranked){g.bytes, number};
    }
    return len;
}

static void put_sites(text_out *p, const pd_sites *sites, uint32_t made, size_t n)
{
    ranked top[PPROFDELTA_HEAP_DUMP_MAX];
    size_t len =
        rank_sites(sites, made, top, n < PPROFDELTA_HEAP_DUMP_MAX ? n : PPROFDELTA_HEAP_DUMP_MAX);
    for (size_t i = 0; i < len; i++)
        put_site(p, sites, top[i].number);
    for (uint32_t number = 1; !n && number <= made; number++)
        put_site(p, sites, number);
}

int pprofdelta_heap_dump(const pprofdelta_heap *heap, int fd, size_t n, pprofdelta_heap_namer *name,
                         void *cookie)
{
    text_out p;
    int kept = errno;
    p.fd = fd;
    p.trouble = 0;
    p.len = 0;
    p.name = name;
    p.cookie = cookie;
    const pd_sites *sites = &heap->sites;
    uint32_t made = __atomic_load_n(&sites->pool.made, __ATOMIC_ACQUIRE);
    site_use sum = {0};
    for (uint32_t number = 1; number <= made; number++) {
        site_use g = read_site(sites, number);
        pd_heap_add(&sum.objects, g.objects);
        pd_heap_add(&sum.bytes, g.bytes);
    }
    put_text(&p, "heap profile: ");
    put_counts(&p, &sum);
    put_text(&p, " heapprofile\n");
    put_sites(&p, sites, made, n);
    put_mappings(&p, !(heap->options.flags & PPROFDELTA_NO_MAPPINGS));
    errno = kept;
    return p.trouble;
}
