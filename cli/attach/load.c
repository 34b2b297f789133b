/* Loading the agent into a process: see attach.h and stub.h. */
#include "attach/attach.h"

#include "attach/stop.h"
#include "attach/stub.h"
#include "cli.h"
#include "message.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t page_len(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- where the code goes ----------------------------------------------------------------------- */

static size_t code_len(void)
{
    return (size_t)(cli_stub_end - cli_stub_begin);
}

typedef enum finding { IN_USE, LEFT_BEHIND, FREE } finding;

typedef struct places {
    const cli_target *t;
    uint64_t code;              /* 0: not found */
    finding found;              /* there */
    uint64_t first;             /* where the file of the area is mapped from its first byte on */
    uint64_t gap, gap_len, end; /* the largest one; the end of the area before */
} places;

/* Are there zeros, or what a run has left that was killed? */
static finding look_at(const cli_target *t, uint64_t at)
{
    const size_t slots = (size_t)STUB_SLOTS * 8;
    uint8_t bytes[2048] = {0};
    if (code_len() > sizeof bytes || !cli_target_read(t, at, bytes, code_len()))
        return IN_USE;
    if (!memcmp(bytes + slots, cli_stub_begin + slots, code_len() - slots))
        return LEFT_BEHIND;
    for (size_t i = 0; i < code_len(); i++)
        if (bytes[i])
            return IN_USE;
    return FREE;
}

/* Returns where the segment ends that is mapped there, of the file whose first byte is mapped at `first`; 0: not known. */
static uint64_t end_of_segment(const cli_target *t, uint64_t first, uint64_t begin)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    uint64_t bias = 0;
    if (!cli_target_read(t, first, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (!cli_target_read(t, first + header.e_phoff + i * sizeof segment, &segment,
                             sizeof segment))
            return 0;
        if (segment.p_type != PT_LOAD)
            continue;
        if (!segment.p_offset)
            bias = first - (segment.p_vaddr & ~(page_len() - 1));
        if (bias + (segment.p_vaddr & ~(page_len() - 1)) == begin)
            return bias + segment.p_vaddr + segment.p_memsz;
    }
    return 0;
}

/* The zeros are those behind the last byte of the code, up to the end of its last page. Best are those of the C library,
 * where most threads wait: a branch of arm64 reaches them. */
static bool note_area(void *cookie, const cli_area *area)
{
    places *p = cookie;
    if (p->end && area->begin - p->end > p->gap_len && area->begin < UINT64_C(1) << 63) {
        p->gap = p->end;
        p->gap_len = area->begin - p->end;
    }
    p->end = area->end;
    if (!area->off)
        p->first = area->begin;
    if (*area->name != '/' || strcmp(area->access, "r-xp") != 0)
        return false;
    const uint64_t end = end_of_segment(p->t, p->first, area->begin);
    const uint64_t at = (area->end - code_len()) & ~UINT64_C(63);
    const bool is_libc = strstr(area->name, "/libc.so") || strstr(area->name, "/libc-");
    const finding found = end && at >= end ? look_at(p->t, at) : IN_USE;
    if (found > p->found || (found && found == p->found && is_libc)) {
        p->found = found;
        p->code = at;
    }
    return false;
}

/* ---- loading the agent ------------------------------------------------------------------------- */

typedef struct loading {
    const cli_target *t;
    const cli_attach *how;
    cli_tls tls;
    cli_stop stop;
} loading;

static uint64_t aligned(uint64_t size)
{
    return (size + page_len() - 1) & ~(page_len() - 1);
}

static bool read_store(const loading *l, unsigned off, uint32_t *word)
{
    return cli_target_read(l->t, l->stop.storage + off, word, sizeof *word);
}

/* Waits until a word of the storage is set. */
static uint32_t await_store(const loading *l, unsigned off, unsigned milliseconds)
{
    uint32_t word = 0;
    for (unsigned i = 0; i < milliseconds && !(read_store(l, off, &word) && word); i++)
        cli_attach_rest(1);
    return word;
}

/* The functions that the stub calls: those of the C library. */
static bool write_functions(const loading *l)
{
    static const struct {
        const char *name;
        unsigned off;
    } functions[] = {{"pthread_create", STORE_CREATE},
                     {"pthread_detach", STORE_DETACH},
                     {"dlopen", STORE_DLOPEN},
                     {"dlsym", STORE_DLSYM},
                     {"dlerror", STORE_DLERROR}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        uint64_t at;
        if (!cli_target_definer(l->t, 1, functions[i].name, &at))
            return false;
        if (!cli_target_write(l->t, l->stop.storage + functions[i].off, &at, sizeof at))
            return false;
    }
    return true;
}

static bool write_text(const loading *l, unsigned off, const char *text)
{
    return cli_target_write(l->t, l->stop.storage + off, text, strlen(text) + 1);
}

/* The agent's file is not seen there: the new thread makes one without a name. */
static bool fill_file(const loading *l)
{
    char path[64], bytes[1 << 16];
    uint32_t fd = await_store(l, STORE_FILE, STORE_PATIENCE);
    if (!fd || (int32_t)fd < 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/fd/%u", (int)l->t->pid, fd);
    int from = open(l->how->agent, O_RDONLY | O_CLOEXEC), to = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t got = 1;
    while (from >= 0 && to >= 0 && (got = read(from, bytes, sizeof bytes)) > 0 &&
           write(to, bytes, (size_t)got) == got)
        continue;
    bool is_done = from >= 0 && to >= 0 && !got;
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    snprintf(path, sizeof path, "/proc/self/fd/%u", fd);
    const uint32_t yes = 1;
    return is_done && write_text(l, STORE_PATH, path) &&
           cli_target_write(l->t, l->stop.storage + STORE_FILLED, &yes, sizeof yes);
}

/* The raw thread waits. */
static bool complete_raw_thread(const loading *l, int tid, bool has_file)
{
    const uint32_t yes = 1, is_wanted = has_file;
    return write_functions(l) && write_text(l, STORE_SYMBOL, "pd_agent_start_late") &&
           write_text(l, STORE_NAME, "pprofdelta-agent") &&
           write_text(l, STORE_PATH, l->how->agent) &&
           cli_target_write(l->t, l->stop.storage + STORE_WANTS_FILE, &is_wanted,
                            sizeof is_wanted) &&
           cli_tls_write(l->t, &l->tls, l->stop.other, tid) &&
           cli_target_write(l->t, l->stop.storage + STORE_GO, &yes, sizeof yes);
}

static int not_loaded(const loading *l, const char *why)
{
    cli_error("process %d: the heap agent could not be loaded: %s", (int)l->t->pid, why);
    cli_hint("the process goes on as it was");
    return CLI_NOT_RUN;
}

static int explain_failure(const loading *l)
{
    uint32_t done = 0;
    uint64_t result = 0;
    char text[256] = "";
    read_store(l, STORE_DONE, &done);
    cli_target_read(l->t, l->stop.storage + STORE_RESULT, &result, sizeof result);
    for (size_t i = 0; done == 2 && i + 1 < sizeof text &&
                       cli_target_read(l->t, result + i, text + i, 1) && text[i];
         i++)
        text[i + 1] = '\0';
    return not_loaded(
        l, done == 2   ? text
           : done == 3 ? "the limit of threads or of memory is reached"
           : done == 1 ? strerror((int)result)
                       : "its new thread has not answered; the loader may be busy: try again");
}

static int load_agent(loading *l)
{
    char through[64];
    const bool is_apart = cli_attach_is_apart(l->t->pid, through);
    enum { MOST_MILLIS = 2000 };
    uint64_t cloned = 0;
    for (int i = 0; i < MOST_MILLIS && !cloned; i++, cli_attach_rest(1))
        cli_target_read(l->t, l->stop.storage + STORE_CLONED, &cloned, sizeof cloned);
    if ((int64_t)cloned <= 0)
        return not_loaded(l, cloned ? strerror(-(int)cloned)
                                    : "its thread has not come to it: try again");
    uint32_t result = 0;
    l->tls.number_off = l->stop.number_off;
    if (!complete_raw_thread(l, (int)cloned, is_apart) || (is_apart && !fill_file(l)))
        return explain_failure(l);
    uint32_t done = await_store(l, STORE_DONE, STORE_PATIENCE);
    read_store(l, STORE_RESULT, &result);
    return done == 1 && !result ? CLI_DONE : explain_failure(l);
}

static int refuse_filter(const loading *l)
{
    const bool is_read = *l->stop.forbidden;
    cli_error("process %d has a seccomp filter that %s%s", (int)l->t->pid,
              is_read ? "may end it for a call of the heap agent: " : "this process may not read",
              l->stop.forbidden);
    cli_hint("%s", is_read ? "start it under pprofdelta record, which does what the filter allows"
                           : "run this command as root, and outside of a container");
    return CLI_NOT_RUN;
}

/* Finds places, and stops a thread there. */
static int start_raw_thread(loading *l)
{
    const size_t slots = (size_t)STUB_SLOTS * 8;
    places p = {.t = l->t};
    cli_target_areas(l->t, note_area, &p);
    if (!p.code)
        return not_loaded(l, "there is no room behind the code of any of its objects");
    l->stop.code = p.code;
    l->stop.storage = (p.gap + p.gap_len / 2) & ~(page_len() - 1);
    l->stop.pointer = l->tls.pointer = l->stop.storage + aligned(STORE_STACK_END + l->tls.below);
    l->stop.storage_len = l->stop.pointer - l->stop.storage + aligned(l->tls.above);
    if (p.found == LEFT_BEHIND) /* in all of them: no thread is in one for so long */
        sleep(2);
    if (!cli_target_write(l->t, l->stop.code + slots, cli_stub_begin + slots, code_len() - slots))
        return not_loaded(l, strerror(errno));
    cli_stopped stopped = cli_stop_once(l->t, &l->stop);
    if (stopped == CLI_STOP_TRACED)
        return not_loaded(l, "another process traces it (a debugger, strace)");
    if (stopped == CLI_STOP_REFUSED)
        return not_loaded(l, strerror(l->stop.error));
    if (stopped == CLI_STOP_FILTERED)
        return refuse_filter(l);
    return stopped == CLI_STOP_DONE
               ? load_agent(l)
               : not_loaded(l, "none of its threads could be stopped at a good place: try again");
}

int cli_attach_load(const cli_target *t, const cli_attach *how, const cli_tls *tls)
{
    loading l = {.t = t, .how = how, .tls = *tls};
    int code = start_raw_thread(&l);
    if (!code && how->has_report)
        cli_note("one thread of process %d was stopped for %.2f ms", (int)t->pid, l.stop.millis);
    return code;
}
