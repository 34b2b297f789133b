/* Loading the agent into a process: see attach.h and stub.h. */
#include "attach/attach.h"

#include "attach/stop.h"
#include "attach/stub.h"
#include "cli.h"
#include "input.h"
#include "keep.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t page_len(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- where the code goes ----------------------------------------------------------------------- */

static size_t code_len(void)
{
    return (size_t)(__stop_cli_stub - __start_cli_stub);
}

typedef enum finding { IN_USE, LEFT_BEHIND, FREE } finding;

typedef struct places {
    const cli_target *t;
    uint64_t code;              /* 0: not found */
    finding found;              /* there */
    uint64_t gap, gap_len, end; /* the largest one; the end of the area before */
} places;

/* Are there zeros, or what a run has left that was killed? */
static finding look_at(const cli_target *t, uint64_t at)
{
    uint8_t bytes[2048] = {0}, zeros[sizeof bytes] = {0};
    if (code_len() > sizeof bytes || !cli_target_read(t, at, bytes, code_len()))
        return IN_USE;
    if (!memcmp(bytes, zeros, code_len()))
        return FREE;
    memset(bytes + STUB_PLACE(cli_stub_slots), 0, STUB_SLOTS * sizeof(uint64_t));
    return memcmp(bytes, __start_cli_stub, code_len()) ? IN_USE : LEFT_BEHIND;
}

/* Returns where the code ends that an object has from there on; 0: there is none. */
static uint64_t end_of_code(const cli_target *t, uint64_t begin)
{
    for (size_t i = 0; i < t->objects_len; i++)
        if ((t->objects[i].code & ~(page_len() - 1)) == begin)
            return t->objects[i].code_end;
    return 0;
}

/* The zeros are those behind the last byte of the code, up to the end of its last page. Best are those of the C library,
 * where most threads wait: a branch of arm64 reaches them. */
static void note_area(places *p, uint64_t begin, uint64_t end, const char *access, const char *name)
{
    if (p->end && begin - p->end > p->gap_len && begin < UINT64_C(1) << 63) {
        p->gap = p->end;
        p->gap_len = begin - p->end;
    }
    p->end = end;
    if (*name != '/' || strcmp(access, "r-xp") != 0)
        return;
    const uint64_t code_end = end_of_code(p->t, begin), at = (end - code_len()) & ~UINT64_C(63);
    const bool is_libc = strstr(name, "/libc.so") || strstr(name, "/libc-");
    const finding found = code_end && at >= code_end ? look_at(p->t, at) : IN_USE;
    if (found > p->found || (found && found == p->found && is_libc)) {
        p->found = found;
        p->code = at;
    }
}

static void find_places(places *p)
{
    char *line = NULL, access[5], name[256]; /* cut */
    size_t room = 0;
    unsigned long begin, end;
    int fd = openat(p->t->folder, "maps", O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    while (file && getline(&line, &room, file) > 0) {
        *name = '\0';
        // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers
        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %255[^\n]", &begin, &end, access, name) >= 3)
            note_area(p, begin, end, access, name);
    }
    free(line);
    if (file)
        fclose(file);
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

static bool read_store(const loading *l, cli_store *store)
{
    return cli_target_read(l->t, l->stop.storage, store, offsetof(cli_store, given));
}

static bool write_store(const loading *l, size_t off, const void *from, size_t len)
{
    return cli_target_write(l->t, l->stop.storage + off, from, len);
}

/* Waits until a word of the storage is set. */
static uint32_t await_store(const loading *l, size_t off, unsigned milliseconds)
{
    uint32_t word = 0;
    for (unsigned i = 0; i < milliseconds && !word; i++, cli_attach_rest(word ? 0 : 1))
        cli_target_read(l->t, l->stop.storage + off, &word, sizeof word);
    return word;
}

/* Sets a pointer to the function of the C library. */
static bool find_function(const loading *l, const char *name, void *pointer)
{
    uint64_t at;
    bool is_there = cli_target_definer(l->t, 1, name, &at);
    memcpy(pointer, &at, sizeof at);
    return is_there;
}

static bool write_given(const loading *l, bool wants_file)
{
    static cli_given g;
    const uint64_t load = l->stop.code + STUB_PLACE(cli_stub_load);
    g = (cli_given){
        .wants_file = wants_file, .symbol = "pd_agent_start_late", .name = "pprofdelta-agent"};
    memcpy(&g.load, &load, sizeof load);
    snprintf(g.path, sizeof g.path, "%s", l->how->agent);
    return find_function(l, "pthread_create", &g.create) &&
           find_function(l, "pthread_detach", &g.detach) && find_function(l, "dlopen", &g.open) &&
           find_function(l, "dlsym", &g.find) && find_function(l, "dlerror", &g.error) &&
           write_store(l, offsetof(cli_store, given), &g, sizeof g);
}

/* The agent's file is not seen there: the new thread makes one without a name. */
static bool fill_file(const loading *l)
{
    char bytes[1 << 16];
    const uint32_t yes = 1, fd = await_store(l, offsetof(cli_store, file), STORE_PATIENCE);
    if (!fd || (int32_t)fd < 0)
        return false;
    int from = open(l->how->agent, O_RDONLY | O_CLOEXEC);
    int to = open(cli_keep_print("/proc/%d/fd/%u", (int)l->t->pid, fd), O_WRONLY | O_CLOEXEC);
    ssize_t got = 1;
    while (from >= 0 && to >= 0 && (got = read(from, bytes, sizeof bytes)) > 0 &&
           write(to, bytes, (size_t)got) == got)
        continue;
    bool is_done = from >= 0 && to >= 0 && !got;
    cli_close(from);
    cli_close(to);
    const char *path = cli_keep_print("/proc/self/fd/%u", fd);
    return is_done && write_store(l, offsetof(cli_store, given.path), path, strlen(path) + 1) &&
           write_store(l, offsetof(cli_store, is_filled), &yes, sizeof yes);
}

/* The raw thread waits. */
static bool complete_raw_thread(const loading *l, int tid, bool wants_file)
{
    const uint32_t yes = 1;
    return write_given(l, wants_file) && cli_tls_write(l->t, &l->tls, l->stop.other, tid) &&
           write_store(l, offsetof(cli_store, go), &yes, sizeof yes);
}

static int not_loaded(const loading *l, const char *why)
{
    cli_error("process %d: the heap agent could not be loaded: %s", (int)l->t->pid, why);
    cli_hint("the process goes on as it was");
    return CLI_NOT_RUN;
}

static int explain_failure(const loading *l)
{
    cli_store store = {0};
    char text[256] = "";
    read_store(l, &store);
    for (size_t i = 0; store.done == STORE_NOT_LOADED && i + 1 < sizeof text &&
                       cli_target_read(l->t, store.result + i, text + i, 1) && text[i];
         i++)
        text[i + 1] = '\0';
    return not_loaded(
        l, *text                           ? text
           : store.done == STORE_NO_THREAD ? "the limit of threads or of memory is reached"
           : store.done == STORE_LOADED
               ? strerror((int)store.result)
               : "its new thread has not answered; the loader may be busy: try again");
}

static int load_agent(loading *l)
{
    cli_store store = {0};
    enum { MOST_MILLIS = 2000 };
    const bool is_apart = cli_attach_is_apart(l->t->pid);
    await_store(l, offsetof(cli_store, cloned), MOST_MILLIS);
    read_store(l, &store);
    if (store.cloned <= 0)
        return not_loaded(l, store.cloned ? strerror(-(int)store.cloned)
                                          : "its thread has not come to it: try again");
    l->tls.number_off = l->stop.number_off;
    if (!complete_raw_thread(l, (int)store.cloned, is_apart) || (is_apart && !fill_file(l)))
        return explain_failure(l);
    await_store(l, offsetof(cli_store, done), STORE_PATIENCE);
    read_store(l, &store);
    return store.done == STORE_LOADED && !store.result ? CLI_DONE : explain_failure(l);
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
    places p = {.t = l->t};
    find_places(&p);
    if (!p.code)
        return not_loaded(l, "there is no room behind the code of any of its objects");
    l->stop.code = p.code;
    l->stop.storage = (p.gap + p.gap_len / 2) & ~(page_len() - 1);
    l->stop.pointer = l->tls.pointer = l->stop.storage + aligned(STORE_STACK_END + l->tls.below);
    l->stop.storage_len = l->stop.pointer - l->stop.storage + aligned(l->tls.above);
    if (p.found == LEFT_BEHIND) /* in all of them: no thread is in one for so long */
        sleep(2);
    if (!cli_target_write(l->t, l->stop.code, __start_cli_stub, code_len()))
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
