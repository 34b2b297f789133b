/* A delta on its way to its sink, compressed by two threads, or by one beside something else.
 *
 *     parts    0: the second half of the data, or all of them    1: the first half
 *     given    to whoever asks next: who finishes, who helps, or one of them for both
 *
 * Nobody waits for somebody who may never come: what no helper has begun, who finishes does. All
 * memory is taken at the beginning, so that the context may be used meanwhile for what leaves its
 * writer and its deflater alone. */
#include "base/monitor.h"
#include "parsed/context.h"

struct pprofdelta_pack {
    pprofdelta *pd;
    pd_deflate_two two;
    bool is_done; /* the bounded way has compressed it already */
    pd_monitor monitor;
    /* These belong to who is inside the monitor. */
    unsigned left;  /* parts that are not given to anybody */
    unsigned doing; /* that somebody is at */
};

/* What pd_window_of has left. */
static pprofdelta_status begin_parts(pprofdelta_pack *p, pprofdelta_error *err)
{
    pprofdelta *pd = p->pd;
    p->is_done = pd->cur.is_streamed;
    if (p->is_done)
        return PPROFDELTA_OK;
    pprofdelta_status status =
        pd_deflate_two_begin(&p->two, &pd->deflater, &pd->mem, pd->raw.ptr, pd->raw.len, err);
    if (!status)
        p->left = p->two.first_len ? 2 : 1;
    return status;
}

pprofdelta_status pd_pack_begin(pprofdelta *pd, pprofdelta_pack **out, pprofdelta_error *err)
{
    pprofdelta_pack *p = NULL;
    size_t none = 0;
    pprofdelta_status status = pd_mem_reserve(&pd->mem, &p, &none, 1, sizeof *p, err);
    if (!status) {
        *p = (pprofdelta_pack){.pd = pd};
        pd->pack = p;
        status = pd_monitor_init(&p->monitor, err);
    }
    if (!status)
        status = begin_parts(p, err);
    if (!status) {
        *out = p;
        return PPROFDELTA_OK;
    }
    pprofdelta_pack_free(p);
    pprofdelta_abandon(pd);
    return status;
}

pprofdelta_status pprofdelta_pack_window(pprofdelta *pd, const void *bytes, size_t len,
                                         pprofdelta_pack **out, pprofdelta_report *report,
                                         pprofdelta_error *err)
{
    pd_source source = {.bytes = bytes, .len = len};
    pprofdelta_report told;
    pprofdelta_status status = pd_window_of(pd, &source, NULL, report ? &told : NULL, err);
    if (!status)
        status = pd_pack_begin(pd, out, err);
    if (!status && report)
        *report = told;
    return status;
}

int pprofdelta_pack_is_large(const pprofdelta_pack *p)
{
    return !p->is_done && p->pd->deflater.compression != PPROFDELTA_PLAIN &&
           p->two.len >= PD_DEFLATE_LARGE;
}

void pprofdelta_pack_help(pprofdelta_pack *p)
{
    pd_monitor_enter(&p->monitor);
    while (p->left) {
        bool is_second = p->left == 2 || !p->two.first_len;
        p->left--;
        p->doing++;
        pd_monitor_leave(&p->monitor);
        if (is_second)
            pd_deflate_two_second(&p->two);
        else
            pd_deflate_two_first(&p->two);
        pd_monitor_enter(&p->monitor);
        p->doing--;
        pd_monitor_tell(&p->monitor);
    }
    pd_monitor_leave(&p->monitor);
}

static void wait_for_helper(pprofdelta_pack *p)
{
    pd_monitor_enter(&p->monitor);
    while (p->doing)
        pd_monitor_wait(&p->monitor);
    pd_monitor_leave(&p->monitor);
}

pprofdelta_status pprofdelta_pack_finish(pprofdelta_pack *p, const pprofdelta_sink *sink,
                                         pprofdelta_report *report, pprofdelta_error *err)
{
    if (!sink || !sink->write)
        return pd_refuse(err, "there is no sink to write to");
    pprofdelta_pack_help(p);
    wait_for_helper(p);
    uint64_t written = 0;
    pprofdelta_status status = p->is_done ? pd_deflate_write(&p->pd->deflater, sink, &written, err)
                                          : pd_deflate_two_finish(&p->two, sink, &written, err);
    if (!status && report)
        report->output_len = written;
    return status;
}

void pprofdelta_pack_free(pprofdelta_pack *p)
{
    if (!p)
        return;
    pprofdelta *pd = p->pd;
    size_t one = 1;
    pd->pack = NULL;
    if (p->two.mem)
        pd_deflate_two_end(&p->two);
    pd_monitor_fini(&p->monitor);
    pd_mem_release(&pd->mem, &p, &one, sizeof *p);
}
