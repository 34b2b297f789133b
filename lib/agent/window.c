/* One window on its way: see window.h. */
#include "agent/window.h"

#include "agent/agent.h"
#include "agent/await.h"
#include "agent/handover.h"
#include "agent/say.h"
#include "agent/spool.h"
#include "agent/symbols.h"
#include "agent/top.h"

#include <errno.h>
#include <unistd.h>

static _Atomic int is_busy;

static void add_failure(pd_text *text, pd_handed handed, int detail)
{
    if (handed == PD_HANDED_NOT_STARTED) {
        pd_text_add(text, "it could not be started: ");
        pd_text_add_error(text, detail);
    } else if (handed == PD_HANDED_FAILED) {
        pd_text_add(text, "it ended with status ");
        pd_text_add_number(text, (uint64_t)detail);
    } else {
        pd_text_add(text, "it took longer than ");
        pd_text_add_number(text, (uint64_t)detail);
        pd_text_add(text, " s");
    }
}

/* The command has as long as the next window takes, within reason. */
static unsigned patience(void)
{
    enum { LEAST = 5, MOST = 60 };
    uint64_t seconds = pd_the_agent.settings.interval_nanos / 1000000000;
    return seconds < LEAST ? LEAST : seconds > MOST ? MOST : (unsigned)seconds;
}

static int to_command(const void *data, size_t len, pd_text *why)
{
    int detail = 0;
    pd_handed handed = pd_hand_over(pd_the_agent.settings.command, data, len, patience(), &detail);
    if (handed == PD_HANDED)
        return 0;
    pd_text_add(why, "the command did not take a profile (it will get it with the next one): ");
    add_failure(why, handed, detail);
    return -1;
}

static int to_file(const void *data, size_t len, pd_text *why)
{
    const char *dir = pd_the_agent.settings.dir;
    pid_t pid = getpid();
    pd_spool_file file;
    int error = pd_spool_create(&file, dir, pid) < 0 ? errno : 0;
    if (!error) {
        error = pd_spool_write(file.fd, data, len);
        if (error) {
            pd_spool_discard(&file);
        } else {
            uint64_t number = atomic_load(&pd_the_agent.next_number);
            error = pd_spool_publish(&file, dir, pid, ".pb.gz", &number, NULL);
            if (!error)
                atomic_store(&pd_the_agent.next_number, number + 1);
        }
    }
    if (!error)
        return 0;
    pd_text_add(why, dir);
    pd_text_add(why, ": cannot write a profile (the next one will have its events): ");
    pd_text_add_error(why, error);
    return -1;
}

static int deliver(void *cookie, const void *data, size_t len)
{
    return pd_the_agent.settings.command ? to_command(data, len, cookie)
                                         : to_file(data, len, cookie);
}

static void send_batch(pprofdelta_heap *heap)
{
    pprofdelta_error err;
    pd_text why = {.len = 0};
    const pprofdelta_sink sink = {deliver, &why};
    const pprofdelta_heap_inuse inuse =
        pd_the_agent.settings.snapshot ? PPROFDELTA_HEAP_SNAPSHOT : PPROFDELTA_HEAP_CHANGES;
    if (pprofdelta_heap_begin(heap, pd_now(), NULL, &err) != PPROFDELTA_OK)
        return;
    pprofdelta_status status = pprofdelta_heap_write(heap, inuse, &sink, &err);
    pd_symbols_close();
    if (status == PPROFDELTA_OK) {
        pprofdelta_heap_acknowledge(heap);
        pd_top_again();
        return;
    }
    pprofdelta_heap_give_back(heap);
    if (!why.len) {
        pd_text_add(&why, "a profile could not be put together: ");
        pd_text_add(&why, err.text);
    }
    pd_say(PD_TOPIC_OUTPUT, &why);
}

bool pd_window_export(unsigned milliseconds)
{
    pprofdelta_heap *heap = atomic_load(&pd_the_agent.heap);
    if (!heap)
        return false;
    while (atomic_exchange(&is_busy, 1))
        if (!pd_await_change(&is_busy, 1, milliseconds))
            return false;
    send_batch(heap);
    return true;
}

void pd_window_release(void)
{
    atomic_store(&is_busy, 0);
}

void pd_window_forget(void)
{
    pd_window_release();
}
